//! What a decision may know of the world besides the session's state: who, when, where in the
//! journal, within which limits, and what reading the stored copies back has shown.

use std::collections::HashMap;
use std::sync::Arc;

use crate::retention::RetentionState;
use crate::{
    Cause, CommandStamp, Examination, Principal, SessionKey, SpanId, SpanIndex, Timestamp,
};

/// Everything impure that a decision needs, gathered beforehand.
#[derive(Debug, Clone)]
pub struct Context {
    /// Record time of the events to come.
    pub now: Timestamp,
    /// The journal position of the first event to come.
    pub next_seq: u64,
    /// The session's full name.
    pub session: SessionKey,
    /// Who sent the command.
    pub principal: Principal,
    /// The command's identity, if it has one.
    pub command: Option<CommandStamp>,
    /// The version that the client believes the session to have.
    pub expected_version: Option<u64>,
    /// The limits in force.
    pub limits: Limits,
    /// What was established about the stored copies of the spans that the command names.
    pub evidence: HashMap<SpanId, CopyEvidence>,
    /// What the contents of the spans have shown, for a command that records a summary.
    pub examination: Option<Examination>,
    /// What the parent of a fork has lost, for every window, since the version to fork at.
    pub lost_since: Vec<LostSince>,
    /// The tenant's retention; none where it never set a policy nor placed a hold.
    pub retention: Option<Arc<RetentionState>>,
}

/// A payload that went between the moment at which a session is forked and now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostSince {
    /// Its span, in the parent.
    pub span: SpanIndex,
    /// Why it went.
    pub cause: Cause,
    /// Whether a residue of it is kept.
    pub residue: bool,
}

/// What the runtime has just established about one span's copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyEvidence {
    /// The copy was read back whole and its digest matches; else what was found instead.
    pub existence: Result<(), String>,
    /// The store that holds the copy answers "removed" otherwise than "never had it"; else why not.
    pub provenance: Result<(), String>,
    /// Until when the copy lives under the policy in force; none: for ever.
    pub durable_until: Option<Timestamp>,
    /// Whether its store gave no answer: existence is not established, and neither is a loss.
    pub unanswered: bool,
}

impl CopyEvidence {
    /// A copy in the journal itself that was read back whole.
    pub fn verified() -> Self {
        Self { existence: Ok(()), provenance: Ok(()), durable_until: None, unanswered: false }
    }

    /// No copy, in a place that can tell so.
    pub fn missing(found: impl Into<String>) -> Self {
        Self { existence: Err(found.into()), ..Self::verified() }
    }

    /// A store that gave no answer about its copy, and why.
    pub fn unanswered(why: impl Into<String>) -> Self {
        Self { unanswered: true, ..Self::missing(why) }
    }
}

/// Bounds on what one command may carry. Every refusal names the limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Spans in one append.
    pub spans_per_append: usize,
    /// Bytes of one span's content.
    pub span_bytes: u64,
    /// Spans in one directive.
    pub spans_per_directive: usize,
    /// Bytes of one summary's claims, text and quotes together.
    pub claim_bytes: usize,
    /// Entries and bytes of one set of labels.
    pub label_bytes: usize,
    /// Bytes of a free remark: a reason, a note.
    pub remark_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            spans_per_append: 1_000,
            span_bytes: 64 << 20,
            spans_per_directive: 10_000,
            claim_bytes: 1 << 20,
            label_bytes: 16 << 10,
            remark_bytes: 16 << 10,
        }
    }
}
