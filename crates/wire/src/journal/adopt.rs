//! `adopt`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::common::request;

request! {
    /// Take over events of a session of another journal, in order, from its first one on.
    AdoptRequest {
        /// The session that they become here: a new one, or one that holds those before them and no others.
        session: String,
        /// The id of the journal that they come from.
        journal: String,
        /// The events. Those that were taken over before may come again: sent twice, they are there once,
        /// with a `command_id` or without.
        events: Vec<AdoptedBody>,
    }
}

/// An event of another journal.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdoptedBody {
    /// Its stored form, as base64.
    pub stored: String,
    /// What it committed to, as base64: a span's content, or a summary's text and claims. Left out where
    /// that is gone, or was never in the journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_b64: Option<String>,
    /// The version of the event that tells that it is gone, as the export has it, where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<u64>,
    /// The name of an upload into this session that holds it instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload: Option<String>,
}

/// The events are part of this journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AdoptReply {
    /// The session.
    pub session: String,
    /// Its version: the next event to send is that behind it.
    pub version: u64,
    /// How many of these events were new.
    pub adopted: u64,
}
