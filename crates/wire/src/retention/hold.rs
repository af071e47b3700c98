//! `hold` and `release`.

use lacuna_core::Command;
use lacuna_core::retention::Hold;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MatchBody;
use crate::WireError;
use crate::common::request;

request! {
    /// Hold payloads: whatever a policy, a run or an erasure says, they stay until it is released.
    HoldRequest {
        /// What is held; everything if nothing is named.
        #[serde(rename = "match", default)]
        matches: MatchBody,
        /// Why.
        reason: String,
    }
}

impl HoldRequest {
    /// What is asked.
    pub fn command(&self) -> Result<Command, WireError> {
        let reason = self.reason.clone();
        Ok(Command::PlaceHold { matches: self.matches.matches()?, reason })
    }
}

/// The hold is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HoldReply {
    /// Its name: `h1`, `h2`, …
    pub hold: String,
    /// The version of the tenant's retention stream.
    pub version: u64,
    /// Set if this is the first reply again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

/// A hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HoldBody {
    /// Its name.
    pub hold: String,
    /// What is held.
    #[serde(rename = "match")]
    pub matches: MatchBody,
    /// Why.
    pub reason: String,
    /// When it was placed.
    pub placed_at: String,
    /// Who placed it.
    pub placed_by: String,
}

impl From<&Hold> for HoldBody {
    fn from(hold: &Hold) -> Self {
        Self {
            hold: hold.name(),
            matches: (&hold.matches).into(),
            reason: hold.reason.clone(),
            placed_at: hold.placed.0.to_string(),
            placed_by: hold.placed.1.to_string(),
        }
    }
}

request! {
    /// Release a hold. That removes nothing by itself: what is due goes with the next run, where a rule
    /// asks for it after a new notice.
    ReleaseRequest {
        /// The hold.
        hold: String,
        /// Why.
        reason: String,
    }
}

impl ReleaseRequest {
    /// What is asked.
    pub fn command(&self) -> Result<Command, WireError> {
        Ok(Command::ReleaseHold { hold: hold_number(&self.hold)?, reason: self.reason.clone() })
    }
}

/// The hold has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReleaseReply {
    /// Its name.
    pub hold: String,
    /// The version of the tenant's retention stream.
    pub version: u64,
    /// Set if this is the first reply again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

/// Reads the name of a hold.
pub fn hold_number(text: &str) -> Result<u32, WireError> {
    let number = text.strip_prefix('h').and_then(|digits| digits.parse().ok());
    number.ok_or_else(|| {
        let text: String = text.chars().take(40).collect();
        WireError::bad_request(format!("{text:?} is no hold: they are h1, h2, …"))
    })
}
