//! Refusals: commands that change nothing and say why. The codes are the wire contract's.

use crate::{SpanId, Timestamp};

/// A command was refused; nothing happened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The request contradicts itself or exceeds what the contract allows.
    #[error("{0}")]
    BadRequest(String),
    /// No session of this name was ever opened.
    #[error("no session {0:?} was ever opened here: open it first, or check its name")]
    UnknownSession(String),
    /// A span is named that the session never recorded.
    #[error("this session never recorded {}: check the id against the window", list(.0))]
    UnknownSpan(Vec<SpanId>),
    /// The session is open with other parameters.
    #[error("the session is open with other parameters ({0}): use them, or another session name")]
    SessionExists(String),
    /// The session takes no more commands.
    #[error("the session was closed at {0}: it can be read, not changed; open another")]
    SessionClosed(Timestamp),
    /// The span id is taken by other content.
    #[error("{0} is recorded already with other content or attributes: use another id")]
    SpanConflict(SpanId),
    /// The session is at another version.
    #[error("the session is at version {actual}, not {expected}: read it again and retry")]
    VersionConflict {
        /// What the client believes.
        expected: u64,
        /// What is.
        actual: u64,
    },
    /// The command id was used for another request.
    #[error("this command_id was used for another request: use a fresh one for each request")]
    CommandIdReused,
    /// The handle's digest prefix is not that of the span.
    #[error("the handle's digest does not match {span}: its handle is {actual}")]
    HandleMismatch {
        /// The span.
        span: SpanId,
        /// The handle that it really has.
        actual: String,
    },
    /// A span cannot come back.
    #[error("{span} cannot come back ({outcome}): {why}")]
    NotRecoverable {
        /// The span.
        span: SpanId,
        /// The typed answer that `expand` gives.
        outcome: &'static str,
        /// What was found.
        why: String,
    },
    /// The store that holds a span's content gave no answer: nothing is known, and nothing is lost.
    #[error("{span} cannot be read now: {why}; this says nothing about its copy, so try again")]
    Unanswered {
        /// The span.
        span: SpanId,
        /// Which store, and what came instead of an answer.
        why: String,
    },
    /// A limit is exceeded.
    #[error("{what}: {given} is over the limit of {limit}; {advice}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size.
        given: u64,
        /// The most allowed.
        limit: u64,
        /// What to do.
        advice: &'static str,
    },
    /// A hold keeps spans that were to go.
    #[error(
        "{} stays: {} {} it; release the hold first, or leave the span out",
        list(.spans), list(.holds), if .holds.len() == 1 { "keeps" } else { "keep" }
    )]
    Held {
        /// The spans.
        spans: Vec<SpanId>,
        /// The holds, as the wire contract names them.
        holds: Vec<String>,
    },
    /// The change would break the window's own rules.
    #[error("{message}")]
    ContractViolation {
        /// What it would break, and what to do.
        message: String,
        /// The spans concerned.
        spans: Vec<SpanId>,
    },
}

impl Refusal {
    /// The code of the wire contract.
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadRequest(_) => "bad_request",
            Self::UnknownSession(_) => "unknown_session",
            Self::UnknownSpan(_) => "unknown_span",
            Self::SessionExists(_) => "session_exists",
            Self::SessionClosed(_) => "session_closed",
            Self::SpanConflict(_) => "span_conflict",
            Self::VersionConflict { .. } => "version_conflict",
            Self::CommandIdReused => "command_id_reused",
            Self::HandleMismatch { .. } => "handle_mismatch",
            Self::NotRecoverable { .. } => "not_recoverable",
            Self::Unanswered { .. } => "unavailable",
            Self::TooLarge { .. } => "too_large",
            Self::Held { .. } => "not_permitted",
            Self::ContractViolation { .. } => "contract_violation",
        }
    }
}

/// Names the first few ids and counts the rest.
pub(crate) fn list(ids: &[impl ToString]) -> String {
    const SHOWN: usize = 8;
    let mut text = ids.iter().take(SHOWN).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if ids.len() > SHOWN {
        text.push_str(&format!(" and {} more", ids.len() - SHOWN));
    }
    text
}
