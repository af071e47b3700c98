//! Summaries and their audits.

use serde::{Deserialize, Serialize};

use crate::span::words;
use crate::{Digest, Finding, SpanId};

words! {
    /// What a claim of a summary rests on.
    ClaimOrigin {
        /// A user said so.
        UserSaid = "user-said",
        /// A tool printed so.
        ToolOutput = "tool-output",
        /// The author concluded so.
        Inferred = "inferred",
        /// Somebody said so with a hedge.
        Hedged = "hedged",
    }
}

/// Where a claim rests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimSource {
    /// The span.
    pub span: SpanId,
    /// The words in it.
    pub quote: Option<String>,
}

/// One sentence of a summary with its origin tag and its sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The sentence.
    pub text: String,
    /// What it rests on.
    pub origin: ClaimOrigin,
    /// The spans that it cites.
    pub sources: Vec<ClaimSource>,
}

impl Claim {
    /// The bytes of its text, its quotes and the names of its sources.
    pub fn words(&self) -> usize {
        let source =
            |s: &ClaimSource| s.span.as_str().len() + s.quote.as_ref().map_or(0, String::len);
        self.text.len() + self.sources.iter().map(source).sum::<usize>()
    }
}

/// Where a summary's claims are kept: behind its text, in the same payload. They are content, so
/// the event commits to them and does not hold them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StoredClaims {
    /// How many there are.
    pub count: u32,
    /// The length of their stored form, in bytes; 0 where none is stored.
    pub bytes: u64,
    /// BLAKE3 of their stored form.
    pub digest: Digest,
}

words! {
    /// What became of a summary when it was checked.
    SummaryStatus {
        /// Any principal but its author may prune with it.
        Accepted = "accepted",
        /// The same, and its author works in the session itself: for its own prunes somebody else
        /// must have audited it.
        NeedsAudit = "needs_audit",
        /// It breaks the contract; nobody may prune with it.
        Rejected = "rejected",
    }
}

/// A summary was recorded. It is a span of origin `summary`; it stands in the window only while it
/// replaces spans that were pruned. A rejected one is kept for the investigator and never stands
/// there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryRecorded {
    /// The summary's span id.
    pub span: SpanId,
    /// The spans that it summarises.
    pub covers: Vec<SpanId>,
    /// BLAKE3 of its text.
    pub digest: Digest,
    /// Length of its text, in bytes.
    pub bytes: u64,
    /// Size of its text in tokens, estimated.
    pub tokens: u32,
    /// Its claims.
    pub claims: StoredClaims,
    /// The recorded spans that its claims cite, each once.
    pub cites: Vec<SpanId>,
    /// The id that a rejected one asked for, and left free.
    pub asked: Option<SpanId>,
    /// What became of it.
    pub status: SummaryStatus,
    /// What is wrong with it.
    pub findings: Vec<Finding>,
    /// How many summaries deep it is: 1 over primary spans.
    pub depth: u32,
    /// Tokens of the tags that the window shows behind its text.
    pub tag_tokens: u32,
    /// Identifiers of the covered spans: how many there are.
    pub identifiers: u32,
    /// How many of them its text or its claims hold.
    pub identifiers_kept: u32,
}

/// Something that an auditor remarks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditNote {
    /// A finding code, or a word of the auditor's own.
    pub code: Option<String>,
    /// The claim, counted from 0.
    pub claim: Option<u32>,
    /// The span.
    pub span: Option<SpanId>,
    /// The auditor's sentence.
    pub message: Option<String>,
}

/// Somebody audited a summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryAudited {
    /// The summary.
    pub summary: SpanId,
    /// The auditor's verdict: whether it may stand for its spans.
    pub pass: bool,
    /// Whether the audit counts.
    pub accepted: bool,
    /// Why it does not.
    pub findings: Vec<Finding>,
    /// What the auditor remarks.
    pub notes: Vec<AuditNote>,
}
