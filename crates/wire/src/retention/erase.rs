//! `erase`: payloads go at once, at somebody's request.

use lacuna_core::Command;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RemovedBody;
use crate::WireError;
use crate::common::request;
use crate::session::span_ids;

request! {
    /// Erase spans of a session, or all: their payloads go at once, and nothing brings them back.
    EraseRequest {
        /// The session.
        session: String,
        /// The spans; all of the session if this is left out, which null does not do.
        #[serde(
            default,
            deserialize_with = "crate::common::present",
            skip_serializing_if = "Option::is_none"
        )]
        spans: Option<Vec<String>>,
        /// Why: it is recorded with who asked.
        reason: String,
    }
}

impl EraseRequest {
    /// What is asked.
    pub fn command(&self) -> Result<Command, WireError> {
        let spans = self.spans.as_deref().map(span_ids).transpose()?;
        if spans.as_ref().is_some_and(Vec::is_empty) {
            return Err(WireError::bad_request(
                "spans names none: leave it out to erase the whole session",
            ));
        }
        Ok(Command::Erase { spans, cut: u64::MAX, reason: self.reason.clone() })
    }
}

/// The payloads are gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EraseReply {
    /// The session's version.
    pub version: u64,
    /// What went; what had gone before, or was never stored, does not count.
    pub removed: RemovedBody,
    /// Summaries that cover or cite what went and are kept: their words may tell of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub summaries: Vec<String>,
    /// The other sessions that shared some of these spans: they have lost them, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_with: Vec<String>,
    /// Spans whose content is in another store: nobody is given it here any more, and there it stays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<String>,
    /// Set if this is the first reply again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}
