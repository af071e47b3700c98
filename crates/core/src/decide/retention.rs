//! Decisions about retention: a tenant's policy, its holds and its runs; and in a session what is
//! announced, removed and erased.

use std::collections::BTreeMap;

use super::{Decision, Reply, bound_remark, unknown};
use crate::command::{CloseRun, Command, Due, OpenRun};
use crate::event::{
    Alert, AlertRaised, Cause, Contract, Event, HoldPlaced, HoldReleased, LossyCommitted, LostSpan,
    NoticeGiven, Noticed, PolicySet, Rule, RunClosed, RunEnd, RunOpened, SessionOpened,
};
use crate::retention::{Disposition, RetentionState, STREAM, fault, held, hold_name, standing};
use crate::{Context, Match, Refusal, SessionState, SpanId, SpanIndex};

/// The most holds in force at once: each span is compared with all of them.
const HOLDS: usize = 1_000;

/// Refuses a reason that is missing or too long: it is what the ledger can say later.
fn given(reason: &str, context: &Context) -> Result<(), Refusal> {
    if reason.trim().is_empty() {
        return Err(Refusal::BadRequest("reason is empty: say why, it is recorded".into()));
    }
    bound_remark(Some(reason), context)
}

/// Decides what concerns the tenant's own stream; that is begun where it is missing.
pub(super) fn decide_tenant(
    state: Option<&SessionState>,
    command: &Command,
    context: &Context,
) -> Result<Decision, Refusal> {
    let none = RetentionState::default();
    let retention = state.and_then(|state| state.retention.as_deref()).unwrap_or(&none);
    let mut events = Vec::new();
    if state.is_none() {
        events.push(Event::SessionOpened(SessionOpened {
            key: context.session.clone(),
            window_tokens: 0,
            reserve_ppm: 0,
            contract: Contract::Enforce,
            labels: BTreeMap::new(),
        }));
    }
    let version = state.map_or(0, |state| state.version) + events.len() as u64;
    let reply = match command {
        Command::SetPolicy { rules } => set_policy(retention, rules, &mut events, version)?,
        Command::PlaceHold { matches, reason } => {
            place(retention, matches, reason, &mut events, version, context)?
        }
        Command::ReleaseHold { hold, reason } => {
            release(retention, *hold, reason, &mut events, version, context)?
        }
        Command::OpenRun(open) => open_run(retention, open, &mut events, version, context)?,
        Command::CloseRun(close) => close_run(retention, close, &mut events, version)?,
        _ => {
            return Err(Refusal::BadRequest(format!(
                "{STREAM} is the tenant's retention stream: only retention verbs write to it"
            )));
        }
    };
    Ok(Decision { events, reply })
}

fn set_policy(
    retention: &RetentionState,
    rules: &[Rule],
    events: &mut Vec<Event>,
    version: u64,
) -> Result<Reply, Refusal> {
    if let Some(fault) = fault(rules) {
        return Err(Refusal::BadRequest(fault));
    }
    let policy = retention.policy.saturating_add(1);
    events.push(Event::PolicySet(PolicySet { policy, rules: rules.to_vec() }));
    Ok(Reply::PolicySet { policy, version: version + 1 })
}

fn place(
    retention: &RetentionState,
    matches: &Match,
    reason: &str,
    events: &mut Vec<Event>,
    version: u64,
    context: &Context,
) -> Result<Reply, Refusal> {
    given(reason, context)?;
    if let Some(fault) = matches.fault() {
        return Err(Refusal::BadRequest(fault));
    }
    super::bound("holds in force", retention.holds().count() + 1, HOLDS, "release some")?;
    let hold = u32::try_from(retention.holds.len()).unwrap_or(u32::MAX).saturating_add(1);
    let (matches, reason) = (matches.clone(), reason.to_owned());
    events.push(Event::HoldPlaced(HoldPlaced { hold, matches, reason }));
    Ok(Reply::HoldPlaced { hold, version: version + 1 })
}

fn release(
    retention: &RetentionState,
    hold: u32,
    reason: &str,
    events: &mut Vec<Event>,
    version: u64,
    context: &Context,
) -> Result<Reply, Refusal> {
    given(reason, context)?;
    let name = hold_name(hold);
    match retention.hold(hold) {
        None => return Err(Refusal::BadRequest(format!("there is no hold {name}"))),
        Some(hold) if hold.released.is_some() => {
            return Err(Refusal::BadRequest(format!("hold {name} was released already")));
        }
        Some(_) => {}
    }
    events.push(Event::HoldReleased(HoldReleased { hold, reason: reason.to_owned() }));
    Ok(Reply::HoldReleased { hold, version: version + 1 })
}

fn open_run(
    retention: &RetentionState,
    open: &OpenRun,
    events: &mut Vec<Event>,
    version: u64,
    context: &Context,
) -> Result<Reply, Refusal> {
    if let Some(open) = &retention.open {
        return Err(Refusal::BadRequest(format!("run r{} goes on: wait for its end", open.run)));
    }
    let run = retention.runs.saturating_add(1);
    events.push(Event::RunOpened(RunOpened {
        run,
        cut: open.cut,
        effective_now: context.now,
        policy: retention.policy,
        unlimited: open.unlimited,
    }));
    Ok(Reply::RunOpened { run, version: version + 1 })
}

fn close_run(
    retention: &RetentionState,
    close: &CloseRun,
    events: &mut Vec<Event>,
    version: u64,
) -> Result<Reply, Refusal> {
    let CloseRun { run, end, tally, alert } = close;
    if retention.open.as_ref().is_none_or(|open| open.run != *run) {
        return Err(Refusal::BadRequest(format!("run r{run} is not going on")));
    }
    events.push(Event::RunClosed(RunClosed { run: *run, end: *end, tally: *tally }));
    if *end == RunEnd::OverLimit {
        events.push(Event::AlertRaised(AlertRaised {
            alert: Alert::RunOverLimit,
            spans: Vec::new(),
            message: alert.clone().unwrap_or_default(),
        }));
    }
    let version = version + events.len() as u64;
    Ok(Reply::RunClosed { run: *run, version })
}

/// What the run that goes on does with these spans by now, and by which rule.
fn dispositions<'a>(
    state: &'a SessionState,
    spans: &'a [Due],
    retention: &'a RetentionState,
) -> Result<impl Iterator<Item = (SpanIndex, &'a str, Disposition)>, Refusal> {
    if retention.open.is_none() {
        return Err(Refusal::BadRequest("no retention run goes on".into()));
    }
    Ok(spans.iter().filter_map(|due| {
        let (rule, what) = standing(state, *due, retention)?;
        Some((due.span, rule, what))
    }))
}

fn retention_of(context: &Context) -> Result<&RetentionState, Refusal> {
    let retention = context.retention.as_deref();
    retention.ok_or_else(|| Refusal::BadRequest("this tenant has no policy".into()))
}

/// Announces the removal of those of the spans that are to be announced still.
pub(super) fn notice(
    state: &SessionState,
    spans: &[Due],
    context: &Context,
) -> Result<Decision, Refusal> {
    let retention = retention_of(context)?;
    let noticed =
        dispositions(state, spans, retention)?.filter_map(|(index, rule, what)| match what {
            Disposition::Notice { erases_at } => {
                let (span, rule) = (state.span(index).id.clone(), rule.to_owned());
                Some(Noticed { span, rule, erases_at })
            }
            _ => None,
        });
    let spans: Vec<Noticed> = noticed.collect();
    let count = spans.len();
    let run = retention.open.as_ref().map_or(0, |open| open.run);
    let events = match count {
        0 => Vec::new(),
        _ => vec![Event::NoticeGiven(NoticeGiven { run, policy: retention.policy, spans })],
    };
    let version = state.version + events.len() as u64;
    Ok(Decision { events, reply: Reply::NoticeGiven { spans: count, version } })
}

/// Whether a rule of the policy keeps residues.
fn keeps_residue(retention: &RetentionState, rule: &str) -> bool {
    retention.rules.iter().any(|own| own.id == rule && own.residue)
}

fn lost(state: &SessionState, index: SpanIndex) -> LostSpan {
    let span = state.span(index);
    LostSpan { span: span.id.clone(), digest: span.digest, bytes: span.bytes, tokens: span.tokens }
}

/// Removes those of the spans that are to go still: an event for each rule.
pub(super) fn remove(
    state: &SessionState,
    spans: &[Due],
    context: &Context,
) -> Result<Decision, Refusal> {
    let retention = retention_of(context)?;
    let run = retention.open.as_ref().map_or(0, |open| open.run);
    let mut by_rule: BTreeMap<&str, Vec<LostSpan>> = BTreeMap::new();
    let (mut removed, mut residues) = (Vec::new(), Vec::new());
    for (index, rule, what) in dispositions(state, spans, retention)? {
        if what == Disposition::Remove {
            by_rule.entry(rule).or_default().push(lost(state, index));
            removed.push(state.span(index).seq);
            if keeps_residue(retention, rule) {
                residues.push(state.span(index).seq);
            }
        }
    }
    let event = |(rule, spans): (&str, _)| {
        let cause = Cause::Retention { run, policy: retention.policy, rule: rule.to_owned() };
        let residue = keeps_residue(retention, rule);
        Event::LossyCommitted(LossyCommitted { spans, cause, residue })
    };
    let events: Vec<Event> = by_rule.into_iter().map(event).collect();
    let version = state.version + events.len() as u64;
    Ok(Decision { events, reply: Reply::Removed { seqs: removed, residues, version } })
}

/// Erases spans, or all, at somebody's request. What is gone already, or was never stored, stays as
/// it is; one that is held refuses them all.
pub(super) fn erase(
    state: &SessionState,
    spans: Option<&[SpanId]>,
    cut: u64,
    reason: &str,
    context: &Context,
) -> Result<Decision, Refusal> {
    given(reason, context)?;
    unknown(state, spans.unwrap_or_default())?;
    let mut indexes: Vec<SpanIndex> = match spans {
        Some(spans) => spans.iter().filter_map(|id| state.index(id)).collect(),
        None => (0..state.next_index()).filter(|&index| state.span(index).seq <= cut).collect(),
    };
    indexes.sort_unstable();
    indexes.dedup();
    indexes.retain(|&index| state.span(index).can_be_erased());
    let mut kept = Vec::new();
    let mut holds = std::collections::BTreeSet::new();
    for &index in &indexes {
        let found = held(state, state.span(index), context.retention.as_deref());
        if !found.is_empty() {
            kept.push(state.span(index).id.clone());
            holds.extend(found.iter().map(|hold| hold.name()));
        }
    }
    if !kept.is_empty() {
        return Err(Refusal::Held { spans: kept, holds: holds.into_iter().collect() });
    }
    let cause = Cause::Erasure { by: context.principal.clone(), reason: reason.to_owned() };
    let gone: Vec<LostSpan> = indexes.iter().map(|&index| lost(state, index)).collect();
    let events = match gone.is_empty() {
        true => Vec::new(),
        false => {
            let residue = false;
            vec![Event::LossyCommitted(LossyCommitted { spans: gone, cause, residue })]
        }
    };
    let version = state.version + events.len() as u64;
    let seqs = indexes.iter().map(|&index| state.span(index).seq).collect();
    Ok(Decision { events, reply: Reply::Removed { seqs, residues: Vec::new(), version } })
}
