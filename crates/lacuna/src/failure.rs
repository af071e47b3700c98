//! Failures at the edge: what happened, what to do next, which exit code.

use std::process::ExitCode;

use lacuna_client::ClientError;
use lacuna_engine::{EngineError, StoreError};
use lacuna_wire::{Code, WireError};

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done = 0,
    Failed = 1,
    Usage = 2,
    /// A rule said no: not reversible, contract, held.
    Rejected = 3,
    /// Not found or lost; the output says which.
    Lost = 4,
    /// The journal is damaged.
    Damaged = 5,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Wire(#[from] WireError),
    #[error(transparent)]
    Client(ClientError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Connect(#[from] lacuna_nats::ConnectError),
    #[error("{source}; {go_on}")]
    Publish { source: lacuna_nats::PublishError, go_on: String },
    #[error("{doing}: {source}")]
    Io { doing: String, source: std::io::Error },
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Other(String),
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Refused(error) => Self::Wire(error),
            other => Self::Client(other),
        }
    }
}

impl From<lacuna_nats::PublishError> for Failure {
    fn from(source: lacuna_nats::PublishError) -> Self {
        Self::Publish { source, go_on: "try again".into() }
    }
}

impl Failure {
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Wire(error) => match error.code {
                Code::BadRequest => Exit::Usage,
                Code::NotPermitted | Code::ContractViolation => Exit::Rejected,
                Code::Unavailable if error.details["damaged"] == true => Exit::Damaged,
                Code::UnknownSession | Code::UnknownSpan | Code::NotRecoverable => Exit::Lost,
                _ => Exit::Failed,
            },
            Self::Store(StoreError::Damaged(_) | StoreError::LogDamaged(_))
            | Self::Engine(EngineError::Store(
                StoreError::Damaged(_) | StoreError::LogDamaged(_),
            )) => Exit::Damaged,
            Self::Usage(_) | Self::Client(ClientError::Name(_)) => Exit::Usage,
            _ => Exit::Failed,
        }
    }

    /// Tells what happened: to people on standard error, and with `--json` also as one object of
    /// the wire's form on standard output.
    pub(crate) fn print(&self, json: bool) {
        if json {
            let error = match self {
                Self::Wire(error) => serde_json::json!(error),
                other => {
                    let code = match other.exit() {
                        Exit::Usage => Code::BadRequest,
                        _ => Code::Unavailable,
                    };
                    let damaged = serde_json::json!({ "damaged": other.exit() == Exit::Damaged });
                    serde_json::json!(WireError::new(code, other.to_string()).with(damaged))
                }
            };
            anstream::println!("{}", serde_json::json!({ "error": error }));
        }
        // It may quote what somebody else wrote.
        let said = crate::output::lines(&self.to_string());
        anstream::eprintln!("{}: {said}", crate::output::warning("lacuna"));
    }
}
