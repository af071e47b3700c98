//! `restore`.

use lacuna_core::Command;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::span_ids;
use crate::common::request;
use crate::{BudgetBody, WireError};

request! {
    /// Put pruned spans back, all or none.
    RestoreRequest {
        /// The spans.
        spans: Vec<String>,
    }
}

impl RestoreRequest {
    /// The command.
    pub fn command(&self) -> Result<Command, WireError> {
        Ok(Command::Restore { spans: span_ids(&self.spans)? })
    }
}

/// The spans stand in the window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RestoreReply {
    /// The session's version.
    pub version: u64,
    /// Those that had left it.
    pub restored: Vec<String>,
    /// The budget after it.
    pub budget: BudgetBody,
    /// Set if this is the first reply again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}
