//! Errors on the wire: a code, a message that says what to do, and details for machines.

use lacuna_core::Refusal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Spans and holds that the details of a refusal name.
const NAMED: usize = 100;

/// The codes of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the contract names them, `number` orders them")]
pub enum Code {
    BadRequest,
    NotPermitted,
    UnknownSession,
    UnknownSpan,
    SessionExists,
    SessionClosed,
    SpanConflict,
    VersionConflict,
    CommandIdReused,
    HandleMismatch,
    NotRecoverable,
    TooLarge,
    ContractViolation,
    Overloaded,
    Unavailable,
}

impl Code {
    /// The number in the `Nats-Service-Error-Code` header: HTTP's, where HTTP has one.
    pub fn number(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::NotPermitted => 403,
            Self::UnknownSession | Self::UnknownSpan => 404,
            Self::SessionExists
            | Self::SessionClosed
            | Self::SpanConflict
            | Self::VersionConflict
            | Self::CommandIdReused
            | Self::HandleMismatch
            | Self::NotRecoverable => 409,
            Self::TooLarge => 413,
            Self::ContractViolation => 422,
            Self::Overloaded => 429,
            Self::Unavailable => 503,
        }
    }

    /// The word of the contract.
    pub fn word(self) -> &'static str {
        match self {
            Self::BadRequest => "bad_request",
            Self::NotPermitted => "not_permitted",
            Self::UnknownSession => "unknown_session",
            Self::UnknownSpan => "unknown_span",
            Self::SessionExists => "session_exists",
            Self::SessionClosed => "session_closed",
            Self::SpanConflict => "span_conflict",
            Self::VersionConflict => "version_conflict",
            Self::CommandIdReused => "command_id_reused",
            Self::HandleMismatch => "handle_mismatch",
            Self::NotRecoverable => "not_recoverable",
            Self::TooLarge => "too_large",
            Self::ContractViolation => "contract_violation",
            Self::Overloaded => "overloaded",
            Self::Unavailable => "unavailable",
        }
    }
}

/// An error reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{}: {message}", code.word())]
pub struct WireError {
    /// What kind of error.
    pub code: Code,
    /// What is wrong and what to do.
    pub message: String,
    /// Data for machines; its fields depend on the code.
    #[serde(default)]
    pub details: Value,
}

impl WireError {
    /// An error without details.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: json!({}) }
    }

    /// A `bad_request`.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(Code::BadRequest, message)
    }

    /// The same error in a body of at most about this many bytes: a refusal always arrives. What does
    /// not fit is left out, and `omitted` says so.
    pub fn within(mut self, max: usize) -> Self {
        if self.body().len() > max {
            self.details = json!({ "omitted": true });
        }
        if self.body().len() > max {
            // A character takes up to six bytes once it is escaped.
            self.message = self.message.chars().take(max / 12).collect();
        }
        self
    }

    /// The same error with details.
    pub fn with(mut self, details: Value) -> Self {
        self.details = details;
        self
    }

    /// The body of the error reply.
    pub fn body(&self) -> Vec<u8> {
        json!({ "error": self }).to_string().into_bytes()
    }

    /// The error in a reply's body, if it is an error reply.
    pub fn from_body(body: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Body {
            error: WireError,
        }
        serde_json::from_slice::<Body>(body).ok().map(|body| body.error)
    }
}

impl From<Refusal> for WireError {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.to_string();
        let (code, details) = match refusal {
            Refusal::BadRequest(_) => (Code::BadRequest, json!({})),
            Refusal::UnknownSession(session) => {
                (Code::UnknownSession, json!({ "session": session }))
            }
            Refusal::UnknownSpan(spans) => (Code::UnknownSpan, json!({ "spans": spans })),
            Refusal::SessionExists(differs) => {
                (Code::SessionExists, json!({ "open_with": differs }))
            }
            Refusal::SessionClosed(at) => {
                (Code::SessionClosed, json!({ "closed_at": at.to_string() }))
            }
            Refusal::SpanConflict(span) => (Code::SpanConflict, json!({ "span": span })),
            Refusal::VersionConflict { expected, actual } => {
                (Code::VersionConflict, json!({ "version": actual, "expected": expected }))
            }
            Refusal::CommandIdReused => (Code::CommandIdReused, json!({})),
            Refusal::HandleMismatch { span, actual } => {
                (Code::HandleMismatch, json!({ "span": span, "handle": actual }))
            }
            Refusal::NotRecoverable { span, outcome, .. } => {
                (Code::NotRecoverable, json!({ "span": span, "outcome": outcome }))
            }
            Refusal::Unanswered { span, why } => {
                (Code::Unavailable, json!({ "span": span, "why": why }))
            }
            Refusal::TooLarge { what, given, limit, .. } => {
                (Code::TooLarge, json!({ "what": what, "given": given, "limit": limit }))
            }
            Refusal::Held { spans, holds } => {
                let mut details = json!({
                    "spans": &spans[..spans.len().min(NAMED)],
                    "held_by": &holds[..holds.len().min(NAMED)],
                });
                for (name, all) in
                    [("spans_omitted", spans.len()), ("held_by_omitted", holds.len())]
                {
                    if all > NAMED {
                        details[name] = (all - NAMED).into();
                    }
                }
                (Code::NotPermitted, details)
            }
            Refusal::ContractViolation { spans, .. } => {
                (Code::ContractViolation, json!({ "spans": spans }))
            }
        };
        Self { code, message, details }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_read_back_and_words_are_those_of_serde() {
        let error = WireError::bad_request("no").with(json!({ "field": "spans" }));
        assert_eq!(WireError::from_body(&error.body()), Some(error.clone()));
        let body: Value = serde_json::from_slice(&error.body()).unwrap();
        assert_eq!(body["error"]["code"], error.code.word());
        assert_eq!(WireError::from_body(b"{\"version\":3}"), None);
    }
}
