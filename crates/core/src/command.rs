//! Commands: what a client asks for, in the imperative. Nothing of them is trusted.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::adopt::Adopted;
use crate::event::{Match, Rule, RunEnd, RunTally};
use crate::{
    AuditNote, Claim, Contract, Digest, NewSpan, PruneMode, Purpose, Rendering, SessionState,
    SpanId, SpanIndex,
};

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
        /// Whether it is known that nothing more of the session is imported: else what is missing of one
        /// that was may be told by its next events, and is not recorded.
        ended: bool,
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
    /// Record what was shown to the model.
    Receipt(Receipt),
    /// Begin the session as a fork of another one.
    Fork(Fork),
    /// End the session: it stays readable and takes no more commands.
    Close,
    /// Take over events of a session of another journal, from its first one on.
    Adopt {
        /// The id of that journal.
        journal: String,
        /// The events, in order.
        events: Vec<Adopted>,
        /// The spans that these events say are gone, for whatever reason but a directive's: whether their
        /// contents are here is looked at.
        lost: Vec<SpanId>,
    },
    /// Set the tenant's policy.
    SetPolicy {
        /// Its rules, in order.
        rules: Vec<Rule>,
    },
    /// Hold payloads of the tenant.
    PlaceHold {
        /// What to hold.
        matches: Match,
        /// Why.
        reason: String,
    },
    /// End a hold.
    ReleaseHold {
        /// Its number.
        hold: u32,
        /// Why.
        reason: String,
    },
    /// Begin a retention run. Sent by the runtime itself, as are the next three.
    OpenRun(OpenRun),
    /// End a retention run.
    CloseRun(CloseRun),
    /// Announce removals, of those of these spans that are to be announced when this is decided.
    GiveNotice {
        /// The spans.
        spans: Vec<Due>,
    },
    /// Remove payloads, of those of these spans that are to go when this is decided.
    Remove {
        /// The spans.
        spans: Vec<Due>,
    },
    /// Erase payloads at once.
    Erase {
        /// The spans; none for all.
        spans: Option<Vec<SpanId>>,
        /// Spans recorded behind this journal position are not meant by all.
        cut: u64,
        /// Why.
        reason: String,
    },
}

/// A span whose time is over, or nearly, as a run found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Due {
    /// The span.
    pub span: SpanIndex,
    /// Whether it is no longer among the newest of its session, at the run's cut.
    pub displaced: bool,
}

/// Begin a retention run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenRun {
    /// Spans recorded behind this journal position are not looked at.
    pub cut: u64,
    /// Whether it may remove any share of the tenant's spans.
    pub unlimited: bool,
}

/// End a retention run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloseRun {
    /// Its number.
    pub run: u32,
    /// How it ended.
    pub end: RunEnd,
    /// What it did.
    pub tally: RunTally,
    /// What to tell a person, if it did not go through.
    pub alert: Option<String>,
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

/// Begin a session as a fork.
#[derive(Debug, Clone, PartialEq)]
pub struct Fork {
    /// The parent as it was at the version to fork at; read before, as the past does not change.
    pub parent: Arc<SessionState>,
}

/// Record what was shown to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The version whose window was shown.
    pub window_version: u64,
    /// The turn.
    pub turn: Option<u64>,
    /// How many entries that window has.
    pub entries: u32,
    /// BLAKE3 over the digests of its entries.
    pub entries_digest: Digest,
    /// How it was shown, and the digest of it in that form.
    pub rendered: Option<(Rendering, Digest)>,
    /// What the worker says that it sent.
    pub sent_digest: Option<Digest>,
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
            | Self::ReportDamage { spans, .. } => spans,
            Self::Adopt { lost, .. } => lost,
            _ => &[],
        }
    }
}
