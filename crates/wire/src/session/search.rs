//! `search`: where something stands, or that it is certainly nowhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::EvidenceBody;
use crate::common::request;

request! {
    /// Search the contents of the session's spans.
    SearchRequest {
        /// These very words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        literal: Option<String>,
        /// A regular expression; one without look-around and back references.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        regex: Option<String>,
        /// `all` unless given, `window` (what stands in it) or `pruned` (what does not).
        #[serde(default, rename = "in", skip_serializing_if = "Option::is_none")]
        among: Option<String>,
        /// The most matches to give; 50 unless given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
        /// Where to go on: the `next` of a search that did not reach all spans in time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<u64>,
    }
}

/// What was found. Never merely empty: `verdict` says what that means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SearchReply {
    /// `found`; `absent`: every span was searched, and it is in none; or `inconclusive`: it was not
    /// found, but some spans could not be searched, or not by this search alone: `unsearchable`,
    /// `not_reached` and `passed_over` say which. Of a summary its text is searched; its claims rest on
    /// spans that are searched themselves.
    pub verdict: String,
    /// The places, in the order of recording.
    pub matches: Vec<MatchBody>,
    /// Whether there are more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// How much was searched.
    pub scanned: ScannedBody,
    /// The spans that could not be searched.
    pub unsearchable: Vec<UnsearchableBody>,
    /// Further ones, left out because the reply would not fit into one message.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub unsearchable_omitted: u64,
    /// Set if the time was over before all spans were searched: those that were not reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_reached: Option<NotReachedBody>,
    /// Spans before `from`, which this search has passed over.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub passed_over: u64,
    /// Set with `not_reached`: ask again with this `from`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// What the answer rests on.
    pub evidence: EvidenceBody,
}

/// The spans that a search has not reached: the last ones, in the order of recording.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotReachedBody {
    /// The first of them.
    pub first: String,
    /// How many they are.
    pub spans: u64,
    /// Bytes of their contents.
    pub bytes: u64,
}

/// A place where it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MatchBody {
    /// The span.
    pub span: String,
    /// Its handle.
    pub handle: String,
    /// The typed answer about it.
    pub state: String,
    /// Where it begins in the content, in bytes.
    pub offset: u64,
    /// The words there with some around them.
    pub excerpt: String,
}

/// How much was searched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScannedBody {
    /// Spans; those of which a residue tells count.
    pub spans: u64,
    /// Bytes of their contents.
    pub bytes: u64,
    /// Those of the spans that were removed, and whose residues say that what was looked for was
    /// certainly not in there as whole words; a part of a longer word they cannot tell of.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub by_residue: u64,
}

/// A span that could not be searched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnsearchableBody {
    /// The span.
    pub span: String,
    /// Why.
    pub cause: String,
}
