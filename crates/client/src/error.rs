//! Why a call did not succeed.

use lacuna_wire::WireError;

/// A failed call.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The daemon refused it.
    #[error(transparent)]
    Refused(#[from] WireError),
    /// Nobody listens: the daemon is not running, or on another broker.
    #[error("no daemon answers on this broker: is `lacuna serve` running?")]
    NoDaemon,
    /// No answer came in time. A command may have happened: call again with the same `command_id`.
    #[error(
        "no answer within {seconds} s; a command may have happened, so retry it with the same command_id"
    )]
    Timeout {
        /// How long was waited, all attempts together.
        seconds: u64,
    },
    /// The request cannot be sent.
    #[error("the request cannot be sent: {0}")]
    Send(String),
    /// The reply is not what the contract says.
    #[error("the reply does not fit the contract: {0}")]
    Reply(String),
    /// There is no connection.
    #[error("no broker answers ({0}): is nats-server running there?")]
    Connect(String),
    /// A name of tenant, principal or session is not allowed.
    #[error(transparent)]
    Name(#[from] lacuna_wire::SubjectError),
}
