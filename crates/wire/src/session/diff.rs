//! `diff`: what is different between two moments.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AtBody, StoryBody};
use crate::common::request;
use crate::{BudgetBody, EvidenceBody};

request! {
    /// Ask what is different between two moments of a session.
    DiffRequest {
        /// The earlier moment; just after the session was opened if not given.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            deserialize_with = "crate::json::object::optional"
        )]
        from: Option<AtBody>,
        /// The later moment; now if not given.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            deserialize_with = "crate::json::object::optional"
        )]
        to: Option<AtBody>,
        /// Where to go on reading: the `next` of the page before, with both moments as that page has
        /// them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        skip: Option<u64>,
    }
}

/// What is different, in the order of recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiffReply {
    /// The earlier moment.
    pub from: EndBody,
    /// The later one.
    pub to: EndBody,
    /// Each span that stood otherwise. Empty if nothing did: the counts say how many there were.
    pub changes: Vec<ChangeBody>,
    /// How many changes there are of each kind, on all pages.
    pub counts: ChangeCounts,
    /// Set if there are more: where the next page begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// One of the two moments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EndBody {
    /// The session's version.
    pub version: u64,
    /// The moment's time.
    pub at: String,
    /// Entries of the window.
    pub entries: u64,
    /// How full it was.
    pub budget: BudgetBody,
    /// What this rests on.
    pub evidence: EvidenceBody,
}

/// How many spans changed, and how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeCounts {
    /// Came into the window for the first time.
    pub entered: u64,
    /// Were recorded and are not read in the window.
    pub recorded: u64,
    /// Left the window and can come back.
    pub left: u64,
    /// Came back.
    pub returned: u64,
    /// Cannot be recovered any more.
    pub lost: u64,
    /// Their removal is announced.
    pub scheduled: u64,
    /// Stand otherwise in another way.
    pub changed: u64,
    /// Stand as before.
    pub unchanged: u64,
}

/// A span that stood otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeBody {
    /// The span.
    pub span: String,
    /// Its handle.
    pub handle: String,
    /// `entered`, `recorded`, `left`, `returned`, `lost`, `scheduled` or `changed`.
    pub what: String,
    /// How it stood at the earlier moment; not there if it was not recorded then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<StoodBody>,
    /// How it stood at the later one.
    pub after: StoodBody,
    /// Its size in tokens.
    pub tokens: u32,
    /// The last event of the session that made it so, told from the span's side; not there where the
    /// tenant's retention alone did: a policy, a hold or its release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<StoryBody>,
}

/// How a span stood at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoodBody {
    /// How the window showed it: `span`, `summary`, `stub`, `tombstone`; or not at all: `behind` a
    /// summary, or `outside`.
    pub form: String,
    /// The directive of the stub, or the summary that it is behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under: Option<String>,
    /// The typed answer about it.
    pub state: String,
}
