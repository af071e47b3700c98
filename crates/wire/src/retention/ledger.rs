//! `ledger`: every lossy commitment of the tenant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::common::request;
use crate::session::CauseBody;

request! {
    /// Read the tenant's tombstone ledger, oldest entry first.
    LedgerRequest {
        /// The first entry, counted from 0; the `next` of the page before. An entry keeps its number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<u64>,
        /// The most entries to give; 1,000 unless given. Fewer come if more would not fit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
    }
}

/// A page of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerReply {
    /// The entries.
    pub entries: Vec<LedgerEntryBody>,
    /// Set if there are more: the entry with which the next page begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// A lossy commitment to one span.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerEntryBody {
    /// The journal position of the event.
    pub seq: u64,
    /// The session.
    pub session: String,
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
    /// Whether a filter of its identifiers is kept, if it was text: a search can still say what was
    /// certainly not in there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub residue: bool,
}
