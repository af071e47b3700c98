//! `plan` and `run`.

use lacuna_core::event::RunTally;
use lacuna_core::retention::ClosedRun;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RuleBody, policy_name};
use crate::common::request;

request! {
    /// Ask what a run would do; nothing changes.
    PlanRequest {
        /// As of this moment; now unless given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        now: Option<String>,
        /// With these rules; those in force unless given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rules: Option<Vec<RuleBody>>,
        /// Tell of the sessions behind this one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<String>,
    }
}

/// Spans and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemovedBody {
    /// How many spans.
    pub spans: u64,
    /// Bytes of their contents.
    pub bytes: u64,
}

impl RemovedBody {
    /// What a run removed.
    pub fn of(tally: &RunTally) -> Self {
        Self { spans: tally.removed_spans, bytes: tally.removed_bytes }
    }
}

/// What a run would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanReply {
    /// The policy in force; null if none was ever set.
    pub policy: Option<String>,
    /// Spans recorded behind this journal position are not looked at.
    pub cut: u64,
    /// The time that it goes by.
    pub effective_now: String,
    /// What would be removed.
    pub removed: RemovedBody,
    /// Spans whose removal would be announced.
    pub noticed: u64,
    /// Spans whose time is over, but an open window points at them.
    pub deferred: u64,
    /// Spans whose time is over, but are held.
    pub held: u64,
    /// Whether it would stop: more would go than one run may remove.
    pub over_limit: bool,
    /// The sessions that it would touch, by name.
    pub sessions: Vec<PlannedSessionBody>,
    /// Set if there are more: ask again with `after`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// What a run would do in one session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedSessionBody {
    /// The session.
    pub session: String,
    /// Whether its window would show other entries afterwards.
    pub window: bool,
    /// Spans concerned; at most 1,000 are told.
    pub spans: Vec<PlannedSpanBody>,
    /// How many more there are.
    #[serde(default, skip_serializing_if = "crate::session::is_zero")]
    pub spans_omitted: u64,
}

/// What a run would do with one span.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedSpanBody {
    /// The span.
    pub id: String,
    /// `remove`, `notice`, `wait`, `defer` or `hold`.
    pub what: String,
    /// The rule that says so.
    pub rule: String,
    /// Length of its content, in bytes.
    pub bytes: u64,
    /// When its removal comes, where that is announced or would be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erases_at: Option<String>,
}

request! {
    /// Run the policy: announce what is soon over, remove what is.
    RunRequest {
        /// `true` to let this run remove any share of the tenant's spans.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unlimited: Option<bool>,
    }
}

/// A run, ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunReply {
    /// Its name: `r1`, `r2`, …
    pub run: String,
    /// The policy that it went by; null if none was ever set: nothing is removed.
    pub policy: Option<String>,
    /// Spans recorded behind this journal position were not looked at.
    pub cut: u64,
    /// The time that it went by.
    pub effective_now: String,
    /// What it removed.
    pub removed: RemovedBody,
    /// Spans whose removal it announced.
    pub noticed: u64,
    /// Spans whose time is over, but an open window points at them.
    pub deferred: u64,
    /// Spans whose time is over, but are held.
    pub held: u64,
    /// `done`, or `over_limit`: more would have gone than one run may remove, and nothing went.
    pub status: String,
    /// Set if this is the first reply again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

impl RunReply {
    /// The reply about a run that has ended.
    pub fn of(closed: &ClosedRun, duplicate: bool) -> Self {
        let ClosedRun { run, end, tally, .. } = closed;
        Self {
            run: run_name(run.run),
            policy: policy_name(run.policy),
            cut: run.cut,
            effective_now: run.effective_now.to_string(),
            removed: RemovedBody::of(tally),
            noticed: tally.noticed,
            deferred: tally.deferred,
            held: tally.held,
            status: end.to_string(),
            duplicate,
        }
    }
}

/// The name of a run.
pub fn run_name(number: u32) -> String {
    format!("r{number}")
}
