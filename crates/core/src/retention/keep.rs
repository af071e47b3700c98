//! How long a policy keeps a span, and what a run does with it now.

use super::{Facts, Hold, RetentionState};
use crate::event::{LiveHandles, Rule, Since};
use crate::state::{Place, SpanState};
use crate::{Due, Outcome, SessionState, SpanIndex, Storage, Timestamp};

/// Until when a policy keeps something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// For ever.
    Forever,
    /// Until then.
    At(Timestamp),
    /// A period follows that has not begun: it begins with this.
    Begins(Since),
    /// As long as it is among the newest of its session.
    WhileNewest,
    /// It is no longer among the newest of its session.
    Displaced,
}

/// What a policy says of one span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict<'a> {
    /// The first rule that matches; none if none does.
    pub rule: Option<&'a Rule>,
    /// Until when it is kept.
    pub until: Until,
}

/// What a run does with a span now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// It stays: its time is not over.
    Keep,
    /// Its time is over, or nearly; a hold keeps it.
    Held,
    /// Its time is over, or nearly; an open window points at it.
    Deferred,
    /// Its removal is to be announced.
    Notice {
        /// It goes not before then.
        erases_at: Timestamp,
    },
    /// Its removal was announced; the time is not over.
    Waiting {
        /// It goes not before then.
        erases_at: Timestamp,
    },
    /// It goes.
    Remove,
}

/// What the policy says of a thing by its attributes. `displaced`: whether it is no longer among the
/// newest of its session, as far as the rule asks for that.
pub fn until<'a>(retention: &'a RetentionState, facts: &Facts<'_>, displaced: bool) -> Verdict<'a> {
    let rule = retention.rules.iter().find(|rule| rule.matches.takes(facts));
    Verdict { rule, until: rule.map_or(Until::Forever, |rule| kept(rule, facts, displaced)) }
}

fn kept(rule: &Rule, facts: &Facts<'_>, displaced: bool) -> Until {
    if rule.keep.forever {
        return Until::Forever;
    }
    if displaced && rule.keep.is_ranked() {
        return Until::Displaced;
    }
    let Some((period, since)) = rule.keep.period else { return Until::WhileNewest };
    let begun = match since {
        Since::Recorded => Some(facts.recorded_at),
        Since::Pruned => facts.pruned_at,
        Since::Closed => facts.closed_at,
    };
    begun.map_or(Until::Begins(since), |begun| Until::At(after(begun, period.0)))
}

fn after(time: Timestamp, milliseconds: u64) -> Timestamp {
    Timestamp(time.0.saturating_add(milliseconds))
}

/// Until when a copy surely lives, whatever is recorded from now on: none for ever.
///
/// `announced`: when its removal is announced for. A policy set later may say otherwise, but its
/// runs give notice, too, where its rules ask for it.
pub fn promise(
    retention: Option<&RetentionState>,
    facts: &Facts<'_>,
    announced: Option<Timestamp>,
    now: Timestamp,
) -> Option<Timestamp> {
    let retention = retention?;
    let Verdict { rule, until } = until(retention, facts, false);
    let rule = rule?;
    let soonest = announced.unwrap_or(after(now, rule.notice.0));
    if rule.keep.is_ranked() {
        return Some(soonest);
    }
    match until {
        Until::Forever => None,
        Until::At(time) => Some(time.max(soonest)),
        Until::Begins(_) => {
            let period = rule.keep.period.map_or(0, |(period, _)| period.0);
            Some(after(now, period).max(soonest))
        }
        Until::WhileNewest | Until::Displaced => Some(soonest),
    }
}

/// Until when the copy of a span surely lives as it stands now.
pub fn promised(
    state: &SessionState,
    span: &SpanState,
    retention: Option<&RetentionState>,
    now: Timestamp,
) -> Option<Timestamp> {
    // What the journal does not keep it does not remove.
    let retention = retention.filter(|_| span.storage == Storage::Journal);
    let announced = scheduled(state, span, retention);
    promise(retention, &Facts::of(state, span), announced, now)
}

/// Until when the copy of a span surely lives if it leaves the window now.
pub fn once_pruned(
    state: &SessionState,
    span: &SpanState,
    retention: Option<&RetentionState>,
    now: Timestamp,
) -> Option<Timestamp> {
    let retention = retention.filter(|_| span.storage == Storage::Journal);
    let facts = Facts { pruned_at: Some(now), ..Facts::of(state, span) };
    promise(retention, &facts, scheduled(state, span, retention), now)
}

/// When the announced removal of a span comes; none if none is announced, or if a restore, a hold or
/// another policy has taken it out since.
pub fn scheduled(
    state: &SessionState,
    span: &SpanState,
    retention: Option<&RetentionState>,
) -> Option<Timestamp> {
    let notice = span.notice.as_deref().filter(|_| span.loss.is_none())?;
    let retention = retention.filter(|retention| retention.policy == notice.policy)?;
    let facts = Facts::of(state, span);
    let held = retention.held_by(&facts).next().is_some();
    (!held && !retention.was_held_since(notice.at, &facts)).then_some(notice.erases_at)
}

/// The typed answer about a span; when its removal comes, if that is announced.
pub fn outcome(
    state: &SessionState,
    span: &SpanState,
    retention: Option<&RetentionState>,
) -> (Outcome, Option<Timestamp>) {
    match state.outcome(span) {
        plain @ (Outcome::Live | Outcome::Recoverable) => {
            let erases_at = scheduled(state, span, retention);
            (if erases_at.is_some() { Outcome::Scheduled } else { plain }, erases_at)
        }
        plain => (plain, None),
    }
}

/// The holds that keep a span now.
pub fn held<'a>(
    state: &SessionState,
    span: &SpanState,
    retention: Option<&'a RetentionState>,
) -> Vec<&'a Hold> {
    let facts = Facts::of(state, span);
    let holds = retention.into_iter().flat_map(RetentionState::holds);
    holds.filter(|hold| hold.matches.takes(&facts)).collect()
}

/// What the policy says of every payload of a session that the journal keeps, oldest first. Spans
/// recorded behind `cut` are not looked at.
pub fn survey<'a>(
    state: &SessionState,
    retention: &'a RetentionState,
    cut: u64,
) -> Vec<(SpanIndex, Verdict<'a>)> {
    let name = state.key.session.as_str();
    let rules = retention.rules.iter().filter(|rule| rule.matches.takes_session(name));
    // The newest of each rule so far: how many, and their bytes.
    let mut ranks: Vec<(&Rule, u64, u64)> = rules.map(|rule| (rule, 0, 0)).collect();
    let mut found = Vec::new();
    for index in (0..state.next_index()).rev() {
        let span = state.span(index);
        if span.seq > cut || !is_kept_here(span) {
            continue;
        }
        let facts = Facts::of(state, span);
        let matching = ranks.iter_mut().find(|(rule, ..)| rule.matches.takes_span(&facts));
        let verdict = match matching {
            None => Verdict { rule: None, until: Until::Forever },
            Some((rule, spans, bytes)) => {
                *spans += 1;
                *bytes = bytes.saturating_add(span.bytes);
                let displaced = rule.keep.max_spans.is_some_and(|most| *spans > most)
                    || rule.keep.max_bytes.is_some_and(|most| *bytes > most);
                Verdict { rule: Some(*rule), until: kept(rule, &facts, displaced) }
            }
        };
        found.push((index, verdict));
    }
    found.reverse();
    found
}

/// Whether the journal itself keeps a payload of this span that has not gone yet.
pub(crate) fn is_kept_here(span: &SpanState) -> bool {
    span.loss.is_none() && span.storage == Storage::Journal
}

/// What the run that goes on does with a span by now, and by which rule; none for what is behind its cut
/// or not kept here.
pub fn standing<'a>(
    state: &SessionState,
    due: Due,
    retention: &'a RetentionState,
) -> Option<(&'a str, Disposition)> {
    let run = retention.open.as_ref()?;
    let span = state.spans.get(due.span as usize)?;
    if span.seq > run.cut || !is_kept_here(span) {
        return None;
    }
    let verdict = until(retention, &Facts::of(state, span), due.displaced);
    let what = disposition(state, due.span, &verdict, retention, run.effective_now);
    Some((verdict.rule.map_or("", |rule| rule.id.as_str()), what))
}

/// What a run that goes by `now` does with a span of which the policy says this.
pub fn disposition(
    state: &SessionState,
    index: SpanIndex,
    verdict: &Verdict<'_>,
    retention: &RetentionState,
    now: Timestamp,
) -> Disposition {
    let Some(rule) = verdict.rule else { return Disposition::Keep };
    let over = match verdict.until {
        Until::At(time) => time,
        Until::Displaced => Timestamp(0),
        Until::Forever | Until::Begins(_) | Until::WhileNewest => return Disposition::Keep,
    };
    // Announced so early that it can go when its time is over.
    if over > after(now, rule.notice.0) {
        return Disposition::Keep;
    }
    let span = state.span(index);
    if retention.held_by(&Facts::of(state, span)).next().is_some() {
        return Disposition::Held;
    }
    // A stub or the summary of an open session leads to whatever was pruned.
    let pointed_at = state.closed_at.is_none() && span.place != Place::Outside;
    if pointed_at && rule.live_handles == LiveHandles::Defer {
        return Disposition::Deferred;
    }
    if rule.notice.0 == 0 {
        return if over <= now { Disposition::Remove } else { Disposition::Keep };
    }
    match scheduled(state, span, Some(retention)) {
        None => Disposition::Notice { erases_at: over.max(after(now, rule.notice.0)) },
        Some(erases_at) if erases_at > now || over > now => Disposition::Waiting { erases_at },
        Some(_) => Disposition::Remove,
    }
}
