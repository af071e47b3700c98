//! Retention: how long payloads are kept, what ends that, and what was announced and removed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::retention::Period;
use crate::span::words;
use crate::{Origin, SpanId, SpanKind, Timestamp};

/// What a rule or a hold applies to. What is left out does not matter; the rest must all fit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Match {
    /// Names of sessions, with `*` for any characters and `?` for one.
    pub sessions: Option<String>,
    /// Origins; none for all.
    pub origins: Vec<Origin>,
    /// Kinds; none for all.
    pub kinds: Vec<SpanKind>,
    /// Labels that the span or its session bears; the span's own come first.
    pub labels: BTreeMap<String, String>,
    /// Whether it has left the window.
    pub pruned: Option<bool>,
}

words! {
    /// What a time of keeping is counted from.
    Since {
        /// The moment at which the span was recorded.
        Recorded = "recorded",
        /// The moment at which it left the window; in the window it is kept.
        Pruned = "pruned",
        /// The moment at which its session was closed; in an open one it is kept.
        Closed = "closed",
    }
}

/// How long a rule keeps what it applies to. A span goes as soon as one of the bounds says so.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Keep {
    /// For ever: no other bound stands beside it.
    pub forever: bool,
    /// For a time, and from when on.
    pub period: Option<(Period, Since)>,
    /// Of each session only the newest that have so many bytes together.
    pub max_bytes: Option<u64>,
    /// Of each session only so many of the newest.
    pub max_spans: Option<u64>,
}

words! {
    /// What becomes of payloads to which an open window still points.
    LiveHandles {
        /// They stay until the window is closed.
        Defer = "defer",
        /// They go, and the window shows tombstones.
        Commit = "commit",
    }
}

/// One rule of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// Its name within the policy.
    pub id: String,
    /// What it applies to.
    pub matches: Match,
    /// How long that is kept.
    pub keep: Keep,
    /// How long before the removal it is announced; zero: not at all.
    pub notice: Period,
    /// What becomes of payloads to which an open window still points.
    pub live_handles: LiveHandles,
    /// Whether a filter of a payload's identifiers stays when it goes.
    pub residue: bool,
}

/// A tenant's policy was set: it takes the place of the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicySet {
    /// Its number: the first of a tenant is 1.
    pub policy: u32,
    /// Its rules; the first that matches decides.
    pub rules: Vec<Rule>,
}

/// Payloads are held, whatever policies, runs and erasures say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldPlaced {
    /// Its number.
    pub hold: u32,
    /// What is held.
    pub matches: Match,
    /// Why.
    pub reason: String,
}

/// A hold ended; that removes nothing by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldReleased {
    /// Its number.
    pub hold: u32,
    /// Why.
    pub reason: String,
}

/// A span whose removal is announced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noticed {
    /// The span.
    pub span: SpanId,
    /// The rule by which it goes.
    pub rule: String,
    /// Not before then.
    pub erases_at: Timestamp,
}

/// Spans of a session are going to be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeGiven {
    /// The run that says so.
    pub run: u32,
    /// The policy in force.
    pub policy: u32,
    /// The spans.
    pub spans: Vec<Noticed>,
}

/// A retention run began: what it looks at and the time that it goes by are fixed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOpened {
    /// Its number.
    pub run: u32,
    /// Spans recorded behind this journal position are not looked at.
    pub cut: u64,
    /// The time by which periods are over.
    pub effective_now: Timestamp,
    /// The policy in force.
    pub policy: u32,
    /// Whether an officer has lifted the limit on how much may go.
    pub unlimited: bool,
}

words! {
    /// How a run ended.
    RunEnd {
        /// It went through all sessions.
        Done = "done",
        /// It would have removed more than one run may.
        OverLimit = "over_limit",
    }
}

/// What a run did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunTally {
    /// Spans whose payloads it removed.
    pub removed_spans: u64,
    /// Bytes of these.
    pub removed_bytes: u64,
    /// Spans whose removal it announced.
    pub noticed: u64,
    /// Spans that would go, but an open window points at them.
    pub deferred: u64,
    /// Spans that would go, but are held.
    pub held: u64,
}

/// A retention run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunClosed {
    /// Its number.
    pub run: u32,
    /// How it ended.
    pub end: RunEnd,
    /// What it did.
    pub tally: RunTally,
}
