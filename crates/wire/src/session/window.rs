//! `window`: what the model is shown.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::CauseBody;
use crate::common::request;
use crate::{BudgetBody, EvidenceBody};

request! {
    /// Read the live window, now or at a moment of the past.
    WindowRequest {
        /// The moment; now if not given.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            deserialize_with = "crate::json::object::optional"
        )]
        at: Option<AtBody>,
        /// `entries` (default), `text`, `openai` or `anthropic`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        render: Option<String>,
        /// Whether entries come with their contents; true unless given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<bool>,
        /// Where to go on reading: the `next` of the page before, with `at` that page's version.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<u64>,
    }
}

/// A moment: exactly one of these.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AtBody {
    /// Just after this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// At this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// At this turn: what its last receipt says was shown; without one, before the first span of a later
    /// turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// What this receipt says was shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<String>,
}

/// The window, as entries or rendered. That of a moment is the very reply that was given then, but for
/// what has been lost since.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WindowReply {
    /// The session's version.
    pub version: u64,
    /// The entries, in session order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries: Option<Vec<EntryBody>>,
    /// The window as plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The window as a provider's messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<Value>>,
    /// The provider's system blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<Vec<Value>>,
    /// Set if the reply would not fit into one message: where the next page begins. Entries and
    /// messages count in pieces, text in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// How full it is.
    pub budget: BudgetBody,
    /// What the answer rests on.
    pub evidence: EvidenceBody,
}

/// One entry of the window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EntryBody {
    /// `span`, `summary`, `stub` or `tombstone`.
    pub kind: String,
    /// The span's id, for an entry that stands for one span.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The spans that a stub or a summary stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spans: Option<Vec<String>>,
    /// Spans left out of `spans` because they would not fit into one message: `expand` of the
    /// handle lists them all.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub spans_omitted: u64,
    /// The span's role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Where the span's content came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// What the span is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span_kind: Option<String>,
    /// Whether the span may never leave.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// Size in tokens.
    pub tokens: u32,
    /// The handle: of the span itself, or to what the entry stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// The text of a stub or tombstone; what follows a summary; what stands for withheld content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// BLAKE3 of the content of a span or summary, or of the text of a stub or tombstone: what receipts
    /// are made of.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// The content of a span or summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The same as base64, where it is not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_b64: Option<String>,
    /// Set if the content does not fit into a message: read it in parts with expand.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub content_omitted: bool,
    /// Set if the content cannot be read now, and why: its store gave no answer. It is not lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
    /// In a window of the past, set if the content was shown then and has been lost since: why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_since: Option<CauseBody>,
    /// Tokens of the spans that it stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pruned_tokens: Option<u64>,
    /// Why a tombstone's span was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<CauseBody>,
}
