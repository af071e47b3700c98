//! Events: what happened, in the past tense. Immutable once recorded.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::span::words;
use crate::{
    CommandId, Digest, DirectiveNo, Origin, Principal, Role, SessionKey, SessionNo, Source, SpanId,
    SpanKind, Storage, Timestamp, TokensFrom,
};

/// A command's identity as its events carry it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandStamp {
    /// The idempotency key that the client gave.
    pub id: CommandId,
    /// Digest prefix of the request, to tell a resent request from another one.
    pub request: [u8; 16],
}

/// An event with its place in the journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// Position in the journal: from 1, no gaps.
    pub seq: u64,
    /// Position in the session: from 1, no gaps.
    pub version: u64,
    /// Record time.
    pub at: Timestamp,
    /// The session.
    pub session: SessionNo,
    /// Who sent the command.
    pub principal: Principal,
    /// The command's identity, if it had one.
    pub command: Option<CommandStamp>,
    /// The hash of the session's previous event; zero for the first.
    pub previous: Digest,
    /// The hash of this event's stored bytes.
    pub hash: Digest,
    /// What happened.
    pub event: Event,
}

/// What happened in a session.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "each variant is documented at its body")]
pub enum Event {
    SessionOpened(SessionOpened),
    SpanRecorded(SpanRecorded),
    SummaryRecorded(SummaryRecorded),
    PruneExecuted(PruneExecuted),
    PruneRejected(PruneRejected),
    LossyCommitted(LossyCommitted),
    SpanRestored(SpanRestored),
    SpanRead(SpanRead),
    ContradictionNoted(ContradictionNoted),
    ContradictionResolved(ContradictionResolved),
    SessionClosed,
}

impl Event {
    /// The kind, as the wire contract and the feed's subjects write it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::SessionOpened(_) => "session-opened",
            Self::SpanRecorded(_) => "span-recorded",
            Self::SummaryRecorded(_) => "summary-recorded",
            Self::PruneExecuted(_) => "prune-executed",
            Self::PruneRejected(_) => "prune-rejected",
            Self::LossyCommitted(_) => "lossy-committed",
            Self::SpanRestored(_) => "span-restored",
            Self::SpanRead(_) => "span-read",
            Self::ContradictionNoted(_) => "contradiction-noted",
            Self::ContradictionResolved(_) => "contradiction-resolved",
            Self::SessionClosed => "session-closed",
        }
    }
}

words! {
    /// Whether the summary contract refuses or only records.
    Contract {
        /// Findings refuse.
        Enforce = "enforce",
        /// Findings are recorded and nothing is refused.
        Record = "record",
    }
}

/// A session began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionOpened {
    /// Its full name.
    pub key: SessionKey,
    /// The size of the model's window, in tokens.
    pub window_tokens: u64,
    /// The share of the window kept for re-reading primary spans, in millionths.
    pub reserve_ppm: u32,
    /// How strictly summaries are held to their contract.
    pub contract: Contract,
    /// Free labels.
    pub labels: BTreeMap<String, String>,
}

/// A span was recorded; its payload, if stored here, is durable with this event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanRecorded {
    /// The span.
    pub span: SpanId,
    /// Role towards the provider.
    pub role: Role,
    /// Where the content came from.
    pub origin: Origin,
    /// What it is.
    pub kind: SpanKind,
    /// Where the content is kept.
    pub storage: Storage,
    /// BLAKE3 of the content.
    pub digest: Digest,
    /// Length of the content, in bytes.
    pub bytes: u64,
    /// Media type of the content.
    pub media_type: String,
    /// Size in tokens.
    pub tokens: u32,
    /// Where the token count came from.
    pub tokens_from: TokensFrom,
    /// Whether its author hedges.
    pub hedged: bool,
    /// Whether it may never leave the window.
    pub pinned: bool,
    /// The turn, as the client counts turns.
    pub turn: Option<u64>,
    /// The tool call that it answers.
    pub answers: Option<SpanId>,
    /// The span that it takes the place of.
    pub supersedes: Option<SpanId>,
    /// Free labels.
    pub labels: BTreeMap<String, String>,
    /// Where it stood before.
    pub source: Option<Source>,
    /// Whether it took a place in the window.
    pub in_window: bool,
}

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

/// A summary was recorded. It is a span of origin `summary`; it stands in the window only while it
/// replaces spans that were pruned.
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
    /// Size in tokens, estimated.
    pub tokens: u32,
    /// Its claims.
    pub claims: Vec<Claim>,
}

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
}

/// A pruned span came back into the window; its copy was read back first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanRestored {
    /// The span.
    pub span: SpanId,
}

words! {
    /// Why somebody reads a pruned span.
    Purpose {
        /// To go on working; not recorded.
        Expand = "expand",
        /// To judge a summary.
        Audit = "audit",
        /// To write from the primary span again.
        Reground = "reground",
    }
}

/// Somebody read a span for a purpose that counts as evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanRead {
    /// The span.
    pub span: SpanId,
    /// Why.
    pub purpose: Purpose,
}

/// Two spans contradict each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContradictionNoted {
    /// Its number in the session.
    pub contradiction: u32,
    /// The spans.
    pub spans: Vec<SpanId>,
    /// A remark.
    pub note: Option<String>,
}

/// A contradiction was settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContradictionResolved {
    /// Its number in the session.
    pub contradiction: u32,
    /// How it was settled.
    pub note: String,
}
