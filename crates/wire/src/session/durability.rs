//! `durability`, `tombstones`, `history`: the journal's projections.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AtBody, CauseBody};
use crate::common::request;
use crate::{EventBody, EvidenceBody};

request! {
    /// Ask which copies of spans exist. Each is read back for the answer; of a moment of the past it is
    /// told what events say, and nothing is read back.
    DurabilityRequest {
        /// The moment; now if not given.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            deserialize_with = "crate::json::object::optional"
        )]
        at: Option<AtBody>,
        /// The spans; all of the session if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spans: Option<Vec<String>>,
        /// Where to go on reading: the `next` of the page before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<u64>,
    }
}

/// The durability index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DurabilityReply {
    /// The session's version.
    pub version: u64,
    /// The spans.
    pub spans: Vec<DurableSpanBody>,
    /// Set if there are more: where the next page begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// Set for a moment of the past: its time. All of it is what events said then:
    /// no copy was read back for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<String>,
    /// What the answer rests on.
    pub evidence: EvidenceBody,
}

/// What is known of one span's copies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DurableSpanBody {
    /// The span.
    pub id: String,
    /// `live`, `recoverable`, `scheduled`, `lossy`, `withheld` or `never_recorded`.
    pub state: String,
    /// The copies that exist.
    pub copies: Vec<CopyBody>,
    /// Until when; null: for ever where there is a copy.
    pub durable_until: Option<String>,
    /// The holds on it.
    pub holds: Vec<String>,
    /// Of a moment of the past: why it was lost since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_since: Option<CauseBody>,
}

/// A copy of a span's content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CopyBody {
    /// `journal`, or the name of an external store.
    #[serde(rename = "where")]
    pub place: String,
    /// BLAKE3 of the content.
    pub digest: String,
    /// When it was last read back whole, as far as is known: now, unless its store gave no answer. At a
    /// moment of the past: when an event had last said so.
    pub verified_at: Option<String>,
    /// Set if its store gave no answer now, and why: whether the copy is there is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<String>,
}

request! {
    /// Read the tombstone ledger.
    TombstonesRequest {
        /// The moment; now if not given.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            deserialize_with = "crate::json::object::optional"
        )]
        at: Option<AtBody>,
        /// Where to go on reading: the `next` of the page before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<u64>,
    }
}

/// The tombstone ledger, oldest entry first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TombstonesReply {
    /// The session's version.
    pub version: u64,
    /// The entries.
    pub tombstones: Vec<TombstoneBody>,
    /// Set if there are more: where the next page begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// Set for a moment of the past: its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<String>,
    /// What the answer rests on.
    pub evidence: EvidenceBody,
}

/// A lossy commitment to one span.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TombstoneBody {
    /// The span.
    pub span: String,
    /// The text that stands for it.
    pub tombstone: String,
    /// Why it was lost.
    pub cause: CauseBody,
    /// BLAKE3 of its content.
    pub digest: String,
    /// Length of its content, in bytes.
    pub bytes: u64,
    /// Its size in tokens.
    pub tokens: u32,
}

request! {
    /// Read a session's events.
    HistoryRequest {
        /// The first version; 1 unless given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from_version: Option<u64>,
        /// The most events to give; 1,000 unless given. Fewer come if more would not fit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
        /// The hash of the event before the first version, as it was read: a journal that does not go on
        /// from there, since it was restored from an older copy, is a `version_conflict`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        follows: Option<String>,
    }
}

/// A session's events, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryReply {
    /// The events.
    pub events: Vec<EventBody>,
    /// The version to go on from.
    pub next_version: u64,
    /// What the answer rests on.
    pub evidence: EvidenceBody,
}
