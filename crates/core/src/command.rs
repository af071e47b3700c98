//! Commands: what a client asks for, in the imperative. Nothing of them is trusted.

use std::collections::BTreeMap;

use crate::{AuditNote, Claim, Contract, Digest, NewSpan, PruneMode, Purpose, SpanId};

/// A change that a client asks for in one session.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Begin the session.
    Open(Open),
    /// Record spans, all or none.
    Append {
        /// The spans, in order.
        spans: Vec<NewSpan>,
    },
    /// Record a summary of spans.
    Summarize(Summarize),
    /// Judge a summary.
    Audit(Audit),
    /// Take spans out of the window, all or none.
    Prune(Prune),
    /// Put pruned spans back, all or none.
    Restore {
        /// The spans.
        spans: Vec<SpanId>,
    },
    /// Record that the sender has just read a span for this purpose.
    Read {
        /// The span.
        span: SpanId,
        /// Why; `Expand` records nothing.
        purpose: Purpose,
    },
    /// Record that stored copies turned out missing or damaged. Sent by the runtime itself, and
    /// acted on only where the context's evidence confirms it.
    ReportDamage {
        /// The spans.
        spans: Vec<SpanId>,
    },
    /// Declare that spans contradict each other.
    Contradict {
        /// Two spans.
        spans: Vec<SpanId>,
        /// A remark.
        note: Option<String>,
    },
    /// Settle a contradiction.
    Resolve {
        /// Its number.
        contradiction: u32,
        /// How.
        note: String,
    },
    /// End the session: it stays readable and takes no more commands.
    Close,
}

/// Begin a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Open {
    /// The size of the model's window, in tokens.
    pub window_tokens: u64,
    /// The share of the window kept for re-reading primary spans, in millionths.
    pub reserve_ppm: u32,
    /// How strictly summaries are held to their contract.
    pub contract: Contract,
    /// Free labels.
    pub labels: BTreeMap<String, String>,
}

/// Record a summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summarize {
    /// Its span id, or none to have one assigned.
    pub id: Option<SpanId>,
    /// The spans that it summarises.
    pub covers: Vec<SpanId>,
    /// Its text.
    pub text: String,
    /// BLAKE3 of its text.
    pub digest: Digest,
    /// Its claims.
    pub claims: Vec<Claim>,
}

/// Judge a summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audit {
    /// The summary.
    pub summary: SpanId,
    /// Whether it may stand for its spans.
    pub pass: bool,
    /// What the auditor remarks.
    pub notes: Vec<AuditNote>,
}

/// Take spans out of the window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prune {
    /// The spans, in any order.
    pub spans: Vec<SpanId>,
    /// How the pruner describes it.
    pub mode: PruneMode,
    /// The summary that takes their place.
    pub replace_with: Option<SpanId>,
    /// Whether the pruner consents to loss.
    pub accept_lossy: bool,
    /// How long the copies must live, in milliseconds.
    pub min_durability_ms: Option<u64>,
    /// The pruner's words: recorded, never an input to the verdict.
    pub reason: Option<String>,
    /// Whether only the verdict is wanted.
    pub dry_run: bool,
}

impl Summarize {
    /// The bytes of its text and of its claims, with their quotes and the names of their sources.
    pub fn words(&self) -> usize {
        self.text.len() + self.claims.iter().map(Claim::words).sum::<usize>()
    }
}

impl Command {
    /// The spans whose stored copies must be read back before this command can be decided. A summary
    /// is examined apart: what it rests on can be large.
    pub fn needs_evidence(&self) -> &[SpanId] {
        match self {
            Self::Prune(Prune { spans, .. })
            | Self::Restore { spans }
            | Self::ReportDamage { spans } => spans,
            _ => &[],
        }
    }
}
