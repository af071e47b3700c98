//! Prune directives with what was established for them, and what stopped being recoverable.

use serde::{Deserialize, Serialize};

use crate::span::words;
use crate::{Digest, DirectiveNo, Principal, SpanId, Timestamp};

words! {
    /// How the pruner describes its prune; data, never an input to the verdict.
    PruneMode {
        /// Leave nothing but the handle.
        Drop = "drop",
        /// A summary takes the place.
        Summarize = "summarize",
        /// A shorter form takes the place.
        Compress = "compress",
    }
}

words! {
    /// Why a prune was refused.
    RejectReason {
        /// The runtime could not establish that the span comes back.
        NotReversible = "not_reversible",
        /// The span takes no place in the window.
        NotInWindow = "not_in_window",
        /// The session never recorded it.
        UnknownSpan = "unknown_span",
        /// It has left the window before.
        AlreadyPruned = "already_pruned",
        /// It may never leave.
        Pinned = "pinned",
        /// A call would leave without its result.
        WouldOrphan = "would_orphan",
        /// It is one side of an open contradiction.
        ContradictionProtected = "contradiction_protected",
        /// A summary would stay without anything that could disprove it.
        DisconfirmingRemoved = "disconfirming_removed",
        /// The copy does not live as long as was asked.
        DurabilityTooShort = "durability_too_short",
        /// It names no span.
        EmptyDirective = "empty_directive",
        /// `replace_with` names no summary.
        UnknownReplacement = "unknown_replacement",
        /// The summary does not stand for these spans, or was refused.
        SummaryNotAccepted = "summary_not_accepted",
        /// Its author may not use it before somebody else has audited it.
        SummaryNotAudited = "summary_not_audited",
    }
}

/// What the runtime established about one span at the moment of a prune.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Check {
    /// A durable copy was read back and its digest matched.
    pub existence: bool,
    /// The window after the prune holds a handle that resolves to that copy.
    pub addressability: bool,
    /// Looking the handle up is distinguishable from "no such thing".
    pub provenance: bool,
    /// What failed.
    pub why: Option<String>,
}

impl Check {
    /// Whether all three conditions hold.
    pub fn holds(&self) -> bool {
        self.existence && self.addressability && self.provenance
    }
}

/// One span of a prune.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrunedSpan {
    /// The span.
    pub span: SpanId,
    /// Its content's digest, which its handle is made of; zero if the span is unknown.
    pub digest: Digest,
    /// What was established.
    pub check: Check,
    /// Until when the copy lives under the policy in force; none: for ever.
    pub durable_until: Option<Timestamp>,
}

/// What a prune costs at the provider.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cost {
    /// Tokens before the first change: a provider's prefix cache keeps them.
    pub prefix_kept_tokens: u64,
    /// Tokens of the new window after that: they are read anew.
    pub prefix_rewritten_tokens: u64,
    /// Reasoning that stays in a turn from which something else leaves; a provider that signs
    /// reasoning may refuse it.
    pub thinking_invalidated: Vec<SpanId>,
}

/// A prune directive was carried out. Spans whose check holds left reversibly; the others left with
/// the consent of the directive, and a lossy commitment follows in the same transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PruneExecuted {
    /// Its number in the session.
    pub directive: DirectiveNo,
    /// How the pruner describes it.
    pub mode: PruneMode,
    /// The spans, in session order.
    pub spans: Vec<PrunedSpan>,
    /// The summary that takes their place.
    pub replace_with: Option<SpanId>,
    /// Whether the directive consented to loss.
    pub accept_lossy: bool,
    /// How long it asked the copies to live, in milliseconds.
    pub min_durability_ms: Option<u64>,
    /// The pruner's words.
    pub reason: Option<String>,
    /// Window tokens freed; negative if the replacement is larger.
    pub freed_tokens: i64,
    /// What it costs at the provider.
    pub cost: Cost,
}

/// A prune directive was refused; nothing left the window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PruneRejected {
    /// Its number in the session.
    pub directive: DirectiveNo,
    /// How the pruner describes it.
    pub mode: PruneMode,
    /// The spans as named, with what was established.
    pub spans: Vec<PrunedSpan>,
    /// Why.
    pub why: RejectReason,
    /// What to do about it.
    pub advice: String,
    /// The spans for which it was refused, or that are missing from it.
    pub concerned: Vec<SpanId>,
    /// The summary that should have taken their place, as named.
    pub replace_with: Option<SpanId>,
    /// Whether the directive consented to loss.
    pub accept_lossy: bool,
    /// The pruner's words.
    pub reason: Option<String>,
}

/// Why a span stopped being recoverable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// A directive that consented to loss.
    Directive {
        /// The directive.
        directive: DirectiveNo,
        /// Who sent it.
        by: Principal,
    },
    /// The stored copy was found missing or damaged.
    Damage {
        /// What was found.
        found: String,
    },
    /// A retention run.
    Retention {
        /// The run.
        run: u32,
        /// The policy in force.
        policy: u32,
        /// The rule.
        rule: String,
    },
    /// Somebody asked for it.
    Erasure {
        /// Who.
        by: Principal,
        /// Why.
        reason: String,
    },
}

impl Cause {
    /// The word of the wire contract for its kind.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Directive { .. } => "directive",
            Self::Damage { .. } => "damage",
            Self::Retention { .. } => "retention",
            Self::Erasure { .. } => "erasure",
        }
    }
}

/// A span that stopped being recoverable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostSpan {
    /// The span.
    pub span: SpanId,
    /// BLAKE3 of its content.
    pub digest: Digest,
    /// Length of its content, in bytes.
    pub bytes: u64,
    /// Its size in tokens.
    pub tokens: u32,
}

/// Spans stopped being recoverable: an entry of the tombstone ledger for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LossyCommitted {
    /// The spans.
    pub spans: Vec<LostSpan>,
    /// Why.
    pub cause: Cause,
    /// Whether filters of the identifiers of those that were text are kept.
    pub residue: bool,
}
