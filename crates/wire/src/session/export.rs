//! `export`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::EventBody;
use crate::common::request;

request! {
    /// Read a part of the session in a form that another journal takes over.
    ExportRequest {
        /// The first version; 1 unless given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from_version: Option<u64>,
        /// The most events to give; 1,000 unless given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
        /// Give the payload of the event of this version instead, in parts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        payload_of: Option<u64>,
        /// Where the part begins, in bytes; 0 unless given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offset: Option<u64>,
    }
}

/// A part of a session. Of one that was imported and has no events of its own it is what was imported.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExportReply {
    /// The journal that recorded the events.
    pub journal: String,
    /// The tenant there.
    pub tenant: String,
    /// The session there.
    pub session: String,
    /// The session's version, which is the number of its events.
    pub version: u64,
    /// The hash of the last one.
    pub head: String,
    /// The events; with `payload_of` none.
    pub events: Vec<EventLine>,
    /// The version to go on from.
    pub next_version: u64,
    /// With `payload_of`: the part, as base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_b64: Option<String>,
    /// With `payload_of`: the length of all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_bytes: Option<u64>,
}

/// An event with the bytes that its hash is of, and with what it committed to: a line of an export.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventLine {
    /// The event, to be read.
    #[serde(flatten)]
    pub event: EventBody,
    /// Its stored form as base64: what counts.
    pub stored: String,
    /// The content of the span that it records, or the text of the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The same as base64, where it is not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_b64: Option<String>,
    /// The stored form of the summary's claims, as base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims_b64: Option<String>,
    /// Why there is no content any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<GoneBody>,
    /// In replies: the length of a payload that does not fit into the message; read it with `payload_of`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_bytes: Option<u64>,
}

/// Why an exported event has no content any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GoneBody {
    /// The version of the lossy commitment that says so.
    pub version: u64,
}
