//! What a run would do: a pass over the tenant's sessions that changes nothing. A run begins with the
//! same.

use std::collections::{BTreeSet, HashSet};

use lacuna_core::event::RunTally;
use lacuna_core::retention::{Disposition, RetentionState, STREAM, Until, disposition, survey};
use lacuna_core::{Due, SessionKey, SessionState, SpanId, Tenant, Timestamp};

use super::removal::{Target, payloads};
use crate::{EngineError, Journal};

/// Names of sessions that are read at once.
const NAMES: usize = 1_000;
/// Spans of one session that a plan tells.
const TOLD: usize = 1_000;

/// What a run would do.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// The number of the policy in force.
    pub policy: u32,
    /// Spans recorded behind this journal position are not looked at.
    pub cut: u64,
    /// The time that it goes by.
    pub effective_now: Timestamp,
    /// What it would do in all.
    pub tally: RunTally,
    /// Payloads that the journal keeps for the tenant.
    pub kept: u64,
    /// The sessions concerned, by name.
    pub sessions: Vec<PlannedSession>,
}

/// What a run would do in one session.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedSession {
    /// Its name.
    pub session: SessionKey,
    /// Whether its window would show other entries afterwards.
    pub window: bool,
    /// The first of the spans concerned.
    pub spans: Vec<PlannedSpan>,
    /// How many more there are.
    pub omitted: u64,
}

/// What a run would do with one span.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedSpan {
    /// The span.
    pub span: SpanId,
    /// The rule that says so.
    pub rule: String,
    /// What would be done.
    pub what: Disposition,
    /// Length of its content, in bytes.
    pub bytes: u64,
}

/// What a pass over one session has found: the spans that are not simply kept.
pub(super) struct Found {
    pub(super) spans: Vec<(Due, String, Disposition)>,
    /// Payloads that the journal keeps of it.
    pub(super) kept: u64,
}

/// Looks at one session as a run with this cut does that goes by `now`.
pub(super) fn look(
    state: &SessionState,
    retention: &RetentionState,
    cut: u64,
    now: Timestamp,
) -> Found {
    let surveyed = survey(state, retention, cut);
    let kept = surveyed.len() as u64;
    let spans = surveyed.into_iter().filter_map(|(span, verdict)| {
        let what = disposition(state, span, &verdict, retention, now);
        let rule = verdict.rule.filter(|_| what != Disposition::Keep)?;
        let due = Due { span, displaced: verdict.until == Until::Displaced };
        Some((due, rule.id.clone(), what))
    });
    Found { spans: spans.collect(), kept }
}

/// Adds what a run does with one span.
pub(super) fn count(tally: &mut RunTally, what: Disposition, bytes: u64) {
    match what {
        Disposition::Remove => {
            tally.removed_spans += 1;
            tally.removed_bytes = tally.removed_bytes.saturating_add(bytes);
        }
        Disposition::Notice { .. } => tally.noticed += 1,
        Disposition::Deferred => tally.deferred += 1,
        Disposition::Held => tally.held += 1,
        Disposition::Keep | Disposition::Waiting { .. } => {}
    }
}

impl Journal {
    /// What a run would do now, or at `now`, with the rules in force, or with `rules`. Reads every
    /// session of the tenant.
    pub fn plan(
        &self,
        tenant: &Tenant,
        now: Option<Timestamp>,
        rules: Option<Vec<lacuna_core::event::Rule>>,
    ) -> Result<Plan, EngineError> {
        let (retention, _) = self.retention(tenant)?;
        let mut retention = RetentionState::clone(&retention);
        let policy = retention.policy;
        if let Some(rules) = rules {
            retention.try_rules(rules).map_err(lacuna_core::Refusal::BadRequest)?;
        }
        let head = self.head();
        let effective_now = now.unwrap_or_else(|| self.now());
        let mut plan = Plan { policy, cut: head.seq, effective_now, ..Plan::default() };
        let mut targets = Vec::new();
        self.each_session(tenant, |key, state| {
            let found = look(state, &retention, plan.cut, effective_now);
            plan.kept += found.kept;
            let mut session =
                PlannedSession { session: key, window: false, spans: Vec::new(), omitted: 0 };
            for (due, rule, what) in found.spans {
                let span = state.span(due.span);
                count(&mut plan.tally, what, span.bytes);
                if what == Disposition::Remove {
                    session.window |= state.shows(due.span);
                    let number = u32::try_from(plan.sessions.len()).unwrap_or(u32::MAX);
                    targets.push(Target { seq: span.seq, bytes: span.bytes, session: number, due });
                }
                if session.spans.len() < TOLD {
                    let (bytes, span) = (span.bytes, span.id.clone());
                    session.spans.push(PlannedSpan { span, rule, what, bytes });
                } else {
                    session.omitted += 1;
                }
            }
            if !session.spans.is_empty() {
                plan.sessions.push(session);
            }
            Ok(())
        })?;
        targets.sort_unstable();
        self.plan_shared(&mut plan, targets)?;
        Ok(plan)
    }

    /// What another session keeps still is deferred; what several let go counts once.
    fn plan_shared(&self, plan: &mut Plan, targets: Vec<Target>) -> Result<(), EngineError> {
        let names: Vec<SessionKey> = plan.sessions.iter().map(|s| s.session.clone()).collect();
        let (going, kept) = self.let_go(&names, targets)?;
        plan.tally.deferred += kept.len() as u64;
        (plan.tally.removed_spans, plan.tally.removed_bytes) = payloads(&going);
        let concerned: BTreeSet<u32> = kept.iter().map(|target| target.session).collect();
        for number in concerned {
            let session = &mut plan.sessions[number as usize];
            let state = self.state(&session.session)?;
            let own = |target: &&Target| target.session == number;
            let ids: HashSet<&SpanId> =
                kept.iter().filter(own).map(|t| &state.span(t.due.span).id).collect();
            for span in session.spans.iter_mut().filter(|span| ids.contains(&span.span)) {
                span.what = Disposition::Deferred;
            }
            session.window = going.iter().filter(own).any(|t| state.shows(t.due.span));
        }
        Ok(())
    }

    /// Looks at every session of a tenant, by name, as of the last commit.
    pub(super) fn each_session(
        &self,
        tenant: &Tenant,
        mut look: impl FnMut(SessionKey, &SessionState) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let mut after = String::new();
        loop {
            let names = self.store.session_names(tenant.as_str(), &after, NAMES)?;
            let Some(last) = names.last() else { return Ok(()) };
            after.clone_from(last);
            for name in names.iter().filter(|name| *name != STREAM) {
                let session = name.parse().map_err(|error| {
                    lacuna_store::StoreError::Damaged(format!("a session's name: {error}"))
                })?;
                let key = SessionKey { tenant: tenant.clone(), session };
                if let Some(state) = self.reader.state(&key)? {
                    look(key, &state)?;
                }
            }
        }
    }
}
