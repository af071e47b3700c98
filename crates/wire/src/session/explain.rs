//! `explain`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::summarize::{ClaimBody, FindingBody, OmittedBody};
use super::{AtBody, CauseBody};
use crate::common::{EvidenceBody, request};

request! {
    /// Ask what happened to a span.
    ExplainRequest {
        /// The span.
        span: String,
        /// Tell also how it stood at this moment, and whether it could have been recovered then.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            deserialize_with = "crate::json::object::optional"
        )]
        at: Option<AtBody>,
        /// Skip this many entries of the story.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<u64>,
        /// Of a summary: skip this many of the identifiers that it leaves out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        omitted_from: Option<u64>,
    }
}

/// What happened to a span.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainReply {
    /// The span.
    pub span: String,
    /// The typed answer that `expand` gives.
    pub outcome: String,
    /// Its handle, if it was ever recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// Everything that happened to it, in order.
    pub story: Vec<StoryBody>,
    /// Set if the story goes on: ask again with this `from`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// How it stood at the moment that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<ThenBody>,
    /// Of a summary: what it says and what it leaves out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<SummaryBody>,
    /// What the answer rests on.
    pub evidence: EvidenceBody,
}

/// How a span stood at a moment of the past, as events say: nothing was read back for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThenBody {
    /// The moment's time.
    pub at: String,
    /// The typed answer that `expand` gave then.
    pub outcome: String,
    /// Whether it could have been recovered then.
    pub recoverable: bool,
    /// One sentence about that.
    pub why: String,
    /// When an event had last said that its copy was read back whole; none before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified_at: Option<String>,
    /// Until when its copy was to live; null: for ever where there was one.
    pub durable_until: Option<String>,
    /// When its removal was announced for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erases_at: Option<String>,
    /// The holds on it.
    pub holds: Vec<String>,
    /// Why it had been lost, or was withheld.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<CauseBody>,
    /// What this rests on.
    pub evidence: EvidenceBody,
}

/// Something that happened to a span.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoryBody {
    /// The session's version.
    pub version: u64,
    /// Record time.
    pub at: String,
    /// Who caused it.
    pub by: String,
    /// What happened.
    pub what: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What a summary says and what it leaves out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SummaryBody {
    /// `accepted`, `needs_audit` or `rejected`: by its check and by the audits since.
    pub status: String,
    /// How many summaries deep it is: 1 over primary spans.
    pub depth: u32,
    /// How many spans it covers.
    pub covers: u64,
    /// Its claims; not there if they cannot be read any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<Vec<ClaimBody>>,
    /// Claims left out because the reply would not fit into one message.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub claims_omitted: u64,
    /// Set if it cannot be read any more: what it said is not known, and its identifiers are as they
    /// were counted when it was written, without a list.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreadable: bool,
    /// What was found when it was written.
    pub findings: Vec<FindingBody>,
    /// Findings left out because the reply would not fit into one message.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub findings_omitted: u64,
    /// How many identifiers the covered spans hold.
    pub identifiers: u32,
    /// How many of them it keeps.
    pub identifiers_kept: u32,
    /// The same by kind, the most telling kinds first.
    pub kinds: Vec<KindBody>,
    /// Those that it leaves out, most telling first, from `omitted_from` on.
    pub omitted_identifiers: Vec<OmittedBody>,
    /// Set if the list goes on: ask again with this `omitted_from`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted_next: Option<u64>,
}

/// Identifiers of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KindBody {
    /// What they look like.
    pub kind: String,
    /// How many the covered spans hold.
    pub identifiers: u32,
    /// How many of them the summary keeps.
    pub kept: u32,
}
