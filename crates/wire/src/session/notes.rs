//! `contradict` and `resolve`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::WireError;
use crate::common::request;

request! {
    /// Declare that two spans contradict each other: both are protected while it is open.
    ContradictRequest {
        /// The two spans.
        spans: Vec<String>,
        /// A remark.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    }
}

/// The contradiction is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContradictReply {
    /// Its id.
    pub contradiction: String,
    /// The session's version.
    pub version: u64,
    /// Set if this is the first reply again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

request! {
    /// Settle a contradiction.
    ResolveRequest {
        /// Its id.
        contradiction: String,
        /// How it was settled.
        note: String,
    }
}

/// The session's version after a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VersionReply {
    /// The session's version.
    pub version: u64,
    /// Set if this is the first reply again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

/// The id of a contradiction: `c1`, `c2`, …
pub fn contradiction_id(number: u32) -> String {
    format!("c{number}")
}

/// Reads a contradiction's id.
pub fn contradiction_number(text: &str) -> Result<u32, WireError> {
    let number = text.strip_prefix('c').and_then(|digits| digits.parse().ok());
    number.ok_or_else(|| {
        let text: String = text.chars().take(40).collect();
        WireError::bad_request(format!("{text:?} is no contradiction: they are c1, c2, …"))
    })
}
