//! `evaluate`: how long something is kept, and why.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::common::request;

request! {
    /// Ask how long a span is kept, or a thing elsewhere by its attributes alone.
    EvaluateRequest {
        /// The session, which rules name by patterns. It need not exist for attributes.
        session: String,
        /// The span.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        span: Option<String>,
        /// The attributes of something that need not be a span.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attributes: Option<AttributesBody>,
    }
}

/// What rules look at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttributesBody {
    /// Where the content came from.
    pub origin: String,
    /// What it is; `message` unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its labels and its session's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    /// When it was recorded; now unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_at: Option<String>,
    /// Whether it has left the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pruned: Option<bool>,
    /// When it left the window; that it has follows from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pruned_at: Option<String>,
    /// When its session was closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<String>,
}

/// How long it is kept, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EvaluateReply {
    /// Until then; null for ever, or if it is not known yet: `why` says which.
    pub keep_until: Option<String>,
    /// Whether it may be removed now.
    pub removable: bool,
    /// The rule that decides; null if none matches.
    pub rule: Option<String>,
    /// The policy in force; null if none was ever set.
    pub policy: Option<String>,
    /// The holds that keep it, whatever the rule says.
    pub held_by: Vec<String>,
    /// When its announced removal comes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erases_at: Option<String>,
    /// A sentence for people.
    pub why: String,
}
