//! `expand`: the typed answer about a span.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::summarize::ClaimBody;
use crate::EvidenceBody;
use crate::common::request;

request! {
    /// Look a span up, by handle or by id; a directive's id lists its spans.
    ExpandRequest {
        /// A handle, a directive's id or a span id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        handle: Option<String>,
        /// A span id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        span: Option<String>,
        /// Where the content asked for begins, in bytes; for a directive, how many spans to skip.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offset: Option<u64>,
        /// The most bytes of content to give.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
        /// Of a summary: skip this many of the spans that it covers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spans_from: Option<u64>,
        /// `expand` (default); `audit` and `reground` are recorded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        purpose: Option<String>,
    }
}

/// The typed answer. Never empty: `outcome` always says what holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExpandReply {
    /// `live`, `recoverable`, `scheduled`, `lossy`, `withheld` or `never_recorded`.
    pub outcome: String,
    /// The span's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<String>,
    /// Its handle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// BLAKE3 of its content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Length of its content, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Its size in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u32>,
    /// Its role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Where its content came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Media type of its content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Whether its author hedges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hedged: Option<bool>,
    /// When it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_at: Option<String>,
    /// The content, or the part asked for, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The same as base64, where it is not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_b64: Option<String>,
    /// Where that part begins, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Length of the whole content. The part may be shorter than asked for: go on behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_bytes: Option<u64>,
    /// When a scheduled span will be removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erases_at: Option<String>,
    /// The text that stands for a lost span.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tombstone: Option<String>,
    /// Why it was lost, or why it is withheld.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<CauseBody>,
    /// The directive's id, if that is what was looked up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directive: Option<String>,
    /// Whether that directive was `executed` or `rejected`; of a summary what became of it:
    /// `accepted`, `needs_audit` or `rejected`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The claims of a summary with their origins; beside the first part of its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<Vec<ClaimBody>>,
    /// Claims left out because the reply would not fit into one message.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub claims_omitted: u64,
    /// The spans of a directive; beside the first part of a summary's text those that it covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spans: Option<Vec<HandledBody>>,
    /// Covered spans behind these, left out because the reply would not fit into one message: ask
    /// again with `spans_from`.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub spans_omitted: u64,
    /// Set if the `spans` of a directive are more than fit: ask again with `offset` set to this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// Set if this reading was recorded before, under the same `command_id`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
    /// What the answer rests on.
    pub evidence: EvidenceBody,
}

/// Why a span cannot be recovered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CauseBody {
    /// `directive`, `retention`, `erasure`, `damage`; `withheld` for content never stored.
    pub kind: String,
    /// When.
    pub at: String,
    /// By whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Under which directive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directive: Option<String>,
    /// By which retention run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Under which policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// By which of its rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What was found, or the reason given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A span of a list, with what is needed to look it up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HandledBody {
    /// The span.
    pub id: String,
    /// Its handle.
    pub handle: String,
    /// The typed answer about it.
    pub outcome: String,
    /// Its size in tokens.
    pub tokens: u32,
}
