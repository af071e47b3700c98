//! Events: what happened, in the past tense. Immutable once recorded.

mod imported;
mod prune;
mod receipt;
mod retention;
mod summary;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::span::words;
use crate::{
    CommandId, Digest, Origin, Principal, Role, SessionKey, SessionNo, Source, SpanId, SpanKind,
    Storage, Timestamp, TokensFrom,
};

pub use imported::Imported;
pub use prune::{
    Cause, Check, Cost, LossyCommitted, LostSpan, PruneExecuted, PruneMode, PruneRejected,
    PrunedSpan, RejectReason,
};
pub use receipt::{Rendering, WindowReceipted};
pub use retention::{
    HoldPlaced, HoldReleased, Keep, LiveHandles, Match, NoticeGiven, Noticed, PolicySet, Rule,
    RunClosed, RunEnd, RunOpened, RunTally, Since,
};
pub use summary::{
    AuditNote, Claim, ClaimOrigin, ClaimSource, StoredClaims, SummaryAudited, SummaryRecorded,
    SummaryStatus,
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
    /// Where it was recorded first, if that was in another journal. Seq, version, time, session and hash
    /// are those that it has here; the principal is the one who acted there.
    pub imported: Option<Box<Imported>>,
}

impl Recorded {
    /// When it happened: for an imported event that was in another journal.
    pub fn happened_at(&self) -> Timestamp {
        self.imported.as_ref().map_or(self.at, |imported| imported.at)
    }

    /// The identity of the command behind it, wherever that was sent.
    pub fn stamp(&self) -> Option<&CommandStamp> {
        self.imported.as_ref().map_or(self.command.as_ref(), |imported| imported.command.as_ref())
    }
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
    SummaryAudited(SummaryAudited),
    AlertRaised(AlertRaised),
    PolicySet(PolicySet),
    HoldPlaced(HoldPlaced),
    HoldReleased(HoldReleased),
    NoticeGiven(NoticeGiven),
    RunOpened(RunOpened),
    RunClosed(RunClosed),
    WindowReceipted(WindowReceipted),
    SessionForked(SessionForked),
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
            Self::SummaryAudited(_) => "summary-audited",
            Self::AlertRaised(_) => "alert-raised",
            Self::PolicySet(_) => "policy-set",
            Self::HoldPlaced(_) => "hold-placed",
            Self::HoldReleased(_) => "hold-released",
            Self::NoticeGiven(_) => "notice-given",
            Self::RunOpened(_) => "run-opened",
            Self::RunClosed(_) => "run-closed",
            Self::WindowReceipted(_) => "window-receipted",
            Self::SessionForked(_) => "session-forked",
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

/// A session began as a fork: it has all that happened in another one up to a version, and goes its own
/// way from there.
///
/// Its versions go on from that one, and this event follows the parent's event there in the chain of
/// hashes: the parent's history up to it is the fork's own, and nothing of it is copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionForked {
    /// Its full name.
    pub key: SessionKey,
    /// The session that it was forked from.
    pub parent: SessionKey,
    /// The number of that session.
    pub parent_number: SessionNo,
    /// The last version that they share.
    pub at: u64,
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
    /// What an alert is about.
    Alert {
        /// Every attempt to summarise these spans was refused.
        SummariesRefused = "summaries_refused",
        /// A retention run would have removed more than one run may.
        RunOverLimit = "run_over_limit",
    }
}

/// Something happened that a person should look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertRaised {
    /// What it is about.
    pub alert: Alert,
    /// The spans concerned.
    pub spans: Vec<SpanId>,
    /// What happened and what to do; holds no content of spans.
    pub message: String,
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
