//! `open` and `close`.

use std::collections::BTreeMap;

use lacuna_core::{Command, Contract, Open};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::word;
use crate::WireError;
use crate::common::request;

const DEFAULT_RESERVE: f64 = 0.15;

request! {
    /// Begin a session. Opening an open session again with the same parameters changes nothing.
    OpenRequest {
        /// The size of the model's window, in tokens.
        window_tokens: u64,
        /// The share of the window kept for re-reading primary spans; 0.15 unless given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reserve_ratio: Option<f64>,
        /// `enforce` (default) refuses summaries with findings, `record` only records them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        contract: Option<String>,
        /// Free labels.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        labels: BTreeMap<String, String>,
    }
}

impl OpenRequest {
    /// The command.
    pub fn command(&self) -> Result<Command, WireError> {
        let ratio = self.reserve_ratio.unwrap_or(DEFAULT_RESERVE);
        if !(0.0..1.0).contains(&ratio) {
            return Err(WireError::bad_request("reserve_ratio must be at least 0 and below 1"));
        }
        let contract = match &self.contract {
            None => Contract::Enforce,
            Some(text) => word("contract", text, Contract::from_word)?,
        };
        // In range by the check above: 0 to 999,999.
        let reserve_ppm = (ratio * 1e6).round().min(999_999.0) as u32;
        Ok(Command::Open(Open {
            window_tokens: self.window_tokens,
            reserve_ppm,
            contract,
            labels: self.labels.clone(),
        }))
    }
}

/// The session is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenReply {
    /// Its name.
    pub session: String,
    /// Its version.
    pub version: u64,
    /// The journal's id.
    pub journal: String,
    /// When it was opened.
    pub opened_at: String,
    /// Set if it was open before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

request! {
    /// End the session: it stays readable and takes no more commands.
    CloseRequest {}
}

/// The session is closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CloseReply {
    /// Its version.
    pub version: u64,
    /// Set if it was closed before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}
