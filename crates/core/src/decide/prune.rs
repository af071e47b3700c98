//! Deciding a prune directive. Atomic: every span leaves, or none does.

use std::collections::{BTreeSet, HashSet};

use super::{Decision, Reply, bound, bound_remark, budget_after, pairing};
use crate::command::Prune;
use crate::contract::{Standing, disconfirming, kept_from, standing};
use crate::cost;
use crate::event::{
    Cause, Check, Cost, LossyCommitted, LostSpan, PruneExecuted, PruneRejected, PrunedSpan,
    RejectReason,
};
use crate::gate::{Gate, check, gate};
use crate::refusal::list;
use crate::retention::once_pruned;
use crate::stand_in::tombstone_text;
use crate::state::{Place, SpanIndex};
use crate::{
    Budget, Context, CopyEvidence, Digest, DirectiveNo, Event, Handle, Outcome, Principal, Refusal,
    SessionState, SpanId, SpanState, Timestamp,
};

/// The verdict on a directive as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Every span comes back through its handle.
    Reversible,
    /// No span does; the directive consented.
    Lossy,
    /// Some do.
    Mixed,
    /// Nothing happened.
    Rejected,
}

/// The verdict on one span of a directive.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanVerdict {
    /// The span, as named.
    pub span: SpanId,
    /// What the gate made of it; under a refused directive, `Rejected` for those that failed.
    pub gate: Gate,
    /// The handle that leads back to it.
    pub handle: Option<Handle>,
    /// The text that stands for it, if it is lost.
    pub tombstone: Option<String>,
    /// Until when its copy lives; none: for ever.
    pub durable_until: Option<Timestamp>,
    /// What was established.
    pub check: Check,
}

/// The reply to a prune directive.
#[derive(Debug, Clone, PartialEq)]
pub struct PruneReply {
    /// The verdict.
    pub verdict: Verdict,
    /// The directive's number; none for a dry run, which is not recorded.
    pub directive: Option<DirectiveNo>,
    /// The session's version after it.
    pub version: u64,
    /// The spans.
    pub spans: Vec<SpanVerdict>,
    /// Why it was refused.
    pub reason: Option<RejectReason>,
    /// What to do about it.
    pub advice: Option<String>,
    /// The spans for which it was refused, or that are missing from it.
    pub concerned: Vec<SpanId>,
    /// Window tokens freed.
    pub freed_tokens: i64,
    /// What it costs at the provider.
    pub cost: Cost,
    /// The budget after it.
    pub budget: Budget,
}

struct Rejection {
    why: RejectReason,
    advice: String,
    concerned: Vec<SpanId>,
}

pub(super) fn decide(
    state: &SessionState,
    prune: &Prune,
    context: &Context,
) -> Result<Decision, Refusal> {
    let limit = context.limits.spans_per_directive;
    bound("spans in one directive", prune.spans.len(), limit, "split it")?;
    bound_remark(prune.reason.as_deref(), context)?;
    let number = u32::try_from(state.directives.len()).unwrap_or(u32::MAX).saturating_add(1);
    let directive = DirectiveNo(number);
    let mut seen = HashSet::new();
    let named: Vec<&SpanId> = prune.spans.iter().filter(|id| seen.insert(*id)).collect();
    let checked = establish(state, &named, context);
    let events = match judge(state, prune, &named, &checked, context) {
        Ok(()) => execute(state, prune, directive, checked, context),
        Err(rejection) => vec![Event::PruneRejected(PruneRejected {
            directive,
            mode: prune.mode,
            spans: checked,
            why: rejection.why,
            advice: rejection.advice,
            concerned: rejection.concerned,
            replace_with: prune.replace_with.clone(),
            accept_lossy: prune.accept_lossy,
            reason: prune.reason.clone(),
        })],
    };
    let mut reply = match &events[0] {
        Event::PruneExecuted(event) => executed_reply(event, state),
        Event::PruneRejected(event) => rejected_reply(event, state),
        _ => unreachable!("a prune makes one of these two events first"),
    };
    if prune.dry_run {
        reply.directive = None;
        reply.version = state.version;
        return Ok(Decision { events: Vec::new(), reply: Reply::Pruned(Box::new(reply)) });
    }
    reply.version = state.version + events.len() as u64;
    Ok(Decision { events, reply: Reply::Pruned(Box::new(reply)) })
}

/// What the runtime knows of each span named.
fn establish(state: &SessionState, named: &[&SpanId], context: &Context) -> Vec<PrunedSpan> {
    named
        .iter()
        .map(|&id| {
            let Some(span) = state.find(id) else {
                let why = Some("this session never recorded it".to_owned());
                return PrunedSpan {
                    span: id.clone(),
                    digest: Digest::default(),
                    check: Check { why, ..Check::default() },
                    durable_until: None,
                };
            };
            let evidence = context.evidence.get(id);
            PrunedSpan {
                span: id.clone(),
                digest: span.digest,
                check: check(state, span, evidence),
                durable_until: durable_until(state, span, evidence, context),
            }
        })
        .collect()
}

/// Until when a span's copy lives once it is pruned: as long as its store says, and as the policy does.
fn durable_until(
    state: &SessionState,
    span: &SpanState,
    evidence: Option<&CopyEvidence>,
    context: &Context,
) -> Option<Timestamp> {
    let promised = once_pruned(state, span, context.retention.as_deref(), context.now);
    let stored = evidence.and_then(|evidence| evidence.durable_until);
    promised.into_iter().chain(stored).min()
}

/// Every rule in turn, each with its reason and what to do about it.
fn judge(
    state: &SessionState,
    prune: &Prune,
    named: &[&SpanId],
    checked: &[PrunedSpan],
    context: &Context,
) -> Result<(), Rejection> {
    let reject = |why, concerned: Vec<SpanId>, advice: String| {
        if concerned.is_empty() { Ok(()) } else { Err(Rejection { why, advice, concerned }) }
    };
    let those = |wanted: &dyn Fn(&SpanId) -> bool| -> Vec<SpanId> {
        named.iter().filter(|id| wanted(id)).map(|&id| id.clone()).collect()
    };
    if named.is_empty() {
        let advice = "name at least one span of the window".to_owned();
        let why = RejectReason::EmptyDirective;
        return Err(Rejection { why, advice, concerned: Vec::new() });
    }
    let found = those(&|id| state.index(id).is_none());
    let advice =
        format!("this session never recorded {}; ids are those the window shows", list(&found));
    reject(RejectReason::UnknownSpan, found, advice)?;

    let gone = |id: &SpanId| {
        let span = state.find(id);
        span.is_some_and(|s| matches!(s.place, Place::Pruned(_)) || s.loss.is_some())
    };
    let found = those(&gone);
    let advice = format!("{} left the window before; name only live spans", list(&found));
    reject(RejectReason::AlreadyPruned, found, advice)?;

    let found = those(&|id| state.find(id).is_some_and(|s| s.place == Place::Outside));
    let advice = format!("{} takes no place in the window", list(&found));
    reject(RejectReason::NotInWindow, found, advice)?;

    let found = those(&|id| state.find(id).is_some_and(|s| s.pinned));
    let advice = format!("{} is pinned and stays; prune around it", list(&found));
    reject(RejectReason::Pinned, found, advice)?;

    let leaving: Vec<SpanIndex> = named.iter().filter_map(|id| state.index(id)).collect();
    judge_disconfirming(state, prune.replace_with.as_ref(), &leaving)?;

    let found = those(&|id| state.find(id).is_some_and(|s| s.open_contradictions > 0));
    let advice = format!(
        "{} is a side of an open contradiction; resolve it first, or prune around it",
        list(&found)
    );
    reject(RejectReason::ContradictionProtected, found, advice)?;

    let orphans = pairing::orphans(state, &leaving);
    let advice = format!("a call leaves only with its results: add {}", list(&orphans.results));
    reject(RejectReason::WouldOrphan, orphans.results, advice)?;
    let advice = format!(
        "no result of {} is recorded yet; append the result (or one that says it was interrupted) first",
        list(&orphans.open_calls)
    );
    reject(RejectReason::WouldOrphan, orphans.open_calls, advice)?;

    if let Some(summary) = &prune.replace_with {
        judge_replacement(state, summary, &leaving, &context.principal)?;
    }
    judge_authorship(state, &leaving, &context.principal)?;
    if prune.accept_lossy {
        // Whoever consents to losing a span consents to its copy living less long than asked.
        return Ok(());
    }
    let failing: Vec<&PrunedSpan> = checked.iter().filter(|s| !s.check.holds()).collect();
    if let Some(first) = failing.first() {
        let advice = format!(
            "{}: {}. Keep it, or summarise it without removing it, or set accept_lossy to true to \
             lose it for good and leave a tombstone",
            first.span,
            first.check.why.as_deref().unwrap_or("a condition fails"),
        );
        let concerned = failing.iter().map(|s| s.span.clone()).collect();
        reject(RejectReason::NotReversible, concerned, advice)?;
    }
    let wanted = prune.min_durability_ms.map(|ms| Timestamp(context.now.0.saturating_add(ms)));
    let short = |s: &&PrunedSpan| matches!((wanted, s.durable_until), (Some(w), Some(u)) if u < w);
    let found: Vec<SpanId> = checked.iter().filter(short).map(|s| s.span.clone()).collect();
    let advice = format!("the copy of {} does not live that long; ask for less", list(&found));
    reject(RejectReason::DurabilityTooShort, found, advice)
}

/// A summary in the window keeps something beside it that could disprove it, as long as something
/// contradicts it at all.
fn judge_disconfirming(
    state: &SessionState,
    replace_with: Option<&SpanId>,
    leaving: &[SpanIndex],
) -> Result<(), Rejection> {
    if state.contradictions.iter().all(|c| !c.open) {
        return Ok(());
    }
    let leaving: HashSet<SpanIndex> = leaving.iter().copied().collect();
    let new = replace_with.and_then(|id| state.index(id));
    let shown = state.shown_summaries().filter(|index| !leaving.contains(index));
    for summary in shown.chain(new) {
        let against = disconfirming(state, summary);
        let standing: Vec<SpanIndex> =
            against.iter().copied().filter(|&index| state.stands(index)).collect();
        // Where nothing stood beside it before, this prune takes nothing away.
        let bare = standing.is_empty() && Some(summary) != new;
        if against.is_empty() || bare || standing.iter().any(|index| !leaving.contains(index)) {
            continue;
        }
        let concerned: Vec<SpanId> =
            against.iter().map(|&index| state.span(index).id.clone()).collect();
        let advice = format!(
            "{} is all that contradicts the summary {} and would be out of the window: keep one of \
             them, or resolve the contradiction",
            list(&concerned),
            state.span(summary).id,
        );
        return Err(Rejection { why: RejectReason::DisconfirmingRemoved, advice, concerned });
    }
    Ok(())
}

/// Who wrote the summary that stands in the window takes nothing more of what it covers away before
/// somebody else has passed it.
fn judge_authorship(
    state: &SessionState,
    leaving: &[SpanIndex],
    pruner: &Principal,
) -> Result<(), Rejection> {
    let mut kept = kept_from(state, pruner);
    kept.retain(|span, summary| leaving.contains(span) && !leaving.contains(summary));
    let Some(summary) = kept.values().next().map(|&index| &state.span(index).id) else {
        return Ok(());
    };
    let concerned: Vec<SpanId> = kept.keys().map(|&index| state.span(index).id.clone()).collect();
    let advice = format!(
        "you wrote {summary}, which stands in the window over {}, and nobody else has passed it: let \
         another principal audit it, or prune these",
        list(&concerned)
    );
    Err(Rejection { why: RejectReason::SummaryNotAudited, advice, concerned })
}

fn judge_replacement(
    state: &SessionState,
    summary: &SpanId,
    leaving: &[SpanIndex],
    pruner: &Principal,
) -> Result<(), Rejection> {
    let reject =
        |why, advice: String, concerned: Vec<SpanId>| Err(Rejection { why, advice, concerned });
    let Some((span, own)) =
        state.find(summary).and_then(|span| Some((span, span.summary.as_ref()?)))
    else {
        let advice = format!("{summary} is no summary of this session; record it with summarize");
        return reject(RejectReason::UnknownReplacement, advice, vec![summary.clone()]);
    };
    if state.outcome(span) == Outcome::Lossy || matches!(span.place, Place::Pruned(_)) {
        let advice = format!("{summary} has left the window itself; restore it, or write another");
        return reject(RejectReason::SummaryNotAccepted, advice, vec![summary.clone()]);
    }
    let (why, advice) = match standing(state, span, pruner) {
        Standing::Usable => (None, String::new()),
        Standing::Refused => (
            Some(RejectReason::SummaryNotAccepted),
            format!("{summary} was refused when it was written: write another (explain tells why)"),
        ),
        Standing::Failed(by) => (
            Some(RejectReason::SummaryNotAccepted),
            format!(
                "{summary} failed the audit of {by}: write another, or have {by} audit it again"
            ),
        ),
        Standing::Unaudited => (
            Some(RejectReason::SummaryNotAudited),
            format!(
                "you wrote {summary} and nobody else has passed it: let another principal audit it, \
                 or prune with it"
            ),
        ),
    };
    if let Some(why) = why {
        return reject(why, advice, vec![summary.clone()]);
    }
    let covered: HashSet<SpanIndex> = own.covers.iter().copied().collect();
    let uncovered: Vec<SpanId> = leaving
        .iter()
        .filter(|index| !covered.contains(index))
        .map(|&index| state.span(index).id.clone())
        .collect();
    if uncovered.is_empty() {
        return Ok(());
    }
    let advice = format!("{summary} does not cover {}; prune those apart", list(&uncovered));
    reject(RejectReason::SummaryNotAccepted, advice, uncovered)
}

fn execute(
    state: &SessionState,
    prune: &Prune,
    directive: DirectiveNo,
    checked: Vec<PrunedSpan>,
    context: &Context,
) -> Vec<Event> {
    let index = |span: &PrunedSpan| state.index(&span.span);
    let lossy: BTreeSet<SpanIndex> =
        checked.iter().filter(|s| !s.check.holds()).filter_map(index).collect();
    let replacement = prune.replace_with.as_ref().and_then(|id| state.index(id));
    let mut plan =
        state.plan_prune(directive, checked.iter().filter_map(index), &lossy, replacement);
    let mut spans = checked;
    spans.sort_by_key(|span| index(span).map(|i| state.span(i).key));
    let lost: Vec<LostSpan> = plan
        .order
        .iter()
        .filter(|index| lossy.contains(index))
        .map(|&index| {
            let span = state.span(index);
            LostSpan {
                span: span.id.clone(),
                digest: span.digest,
                bytes: span.bytes,
                tokens: span.tokens,
            }
        })
        .collect();
    let mut events = vec![Event::PruneExecuted(PruneExecuted {
        directive,
        mode: prune.mode,
        spans,
        replace_with: prune.replace_with.clone(),
        accept_lossy: prune.accept_lossy,
        min_durability_ms: prune.min_durability_ms,
        reason: prune.reason.clone(),
        freed_tokens: 0,
        cost: Cost::default(),
    })];
    if !lost.is_empty() {
        let cause = Cause::Directive { directive, by: context.principal.clone() };
        events.push(Event::LossyCommitted(LossyCommitted { spans: lost, cause, residue: false }));
    }
    if lossy.iter().any(|&index| state.span(index).is_summary()) {
        // The spans behind a summary that is given up get stubs of their own.
        let [before, after] =
            [state.budget(), budget_after(state, &events, context)].map(|b| b.used_tokens);
        plan.freed =
            i64::try_from(before).unwrap_or(i64::MAX) - i64::try_from(after).unwrap_or(i64::MAX);
    }
    if let Event::PruneExecuted(event) = &mut events[0] {
        event.freed_tokens = plan.freed;
        event.cost = cost::of(state, &plan);
    }
    events
}

/// The reply to a directive that was carried out; `before` is the state it was decided on.
pub(super) fn executed_reply(event: &PruneExecuted, before: &SessionState) -> PruneReply {
    let used = before.budget().used_tokens;
    let used_after = used.saturating_add_signed(-event.freed_tokens);
    let spans: Vec<SpanVerdict> =
        event.spans.iter().map(|s| verdict(s, event.accept_lossy)).collect();
    let lossy = spans.iter().filter(|s| s.gate == Gate::Lossy).count();
    PruneReply {
        verdict: match lossy {
            0 => Verdict::Reversible,
            all if all == spans.len() => Verdict::Lossy,
            _ => Verdict::Mixed,
        },
        directive: Some(event.directive),
        version: before.version,
        spans,
        reason: None,
        advice: None,
        concerned: Vec::new(),
        freed_tokens: event.freed_tokens,
        cost: event.cost.clone(),
        budget: Budget::at(before, used_after),
    }
}

/// The reply to a directive that was refused; `before` is the state it was decided on.
pub(super) fn rejected_reply(event: &PruneRejected, before: &SessionState) -> PruneReply {
    let mut spans: Vec<SpanVerdict> =
        event.spans.iter().map(|s| verdict(s, event.accept_lossy)).collect();
    for span in &mut spans {
        span.gate = Gate::Rejected;
        span.tombstone = None;
    }
    PruneReply {
        verdict: Verdict::Rejected,
        directive: Some(event.directive),
        version: before.version,
        spans,
        reason: Some(event.why),
        advice: Some(event.advice.clone()),
        concerned: event.concerned.clone(),
        freed_tokens: 0,
        cost: Cost::default(),
        budget: before.budget(),
    }
}

fn verdict(span: &PrunedSpan, accept_lossy: bool) -> SpanVerdict {
    let gate = gate(&span.check, accept_lossy);
    let known = span.digest != Digest::default();
    SpanVerdict {
        span: span.span.clone(),
        gate,
        handle: (known && gate != Gate::Lossy).then(|| Handle::new(&span.span, &span.digest)),
        tombstone: (gate == Gate::Lossy).then(|| tombstone_text(&span.span)),
        durable_until: span.durable_until.filter(|_| gate == Gate::Reversible),
        check: span.check.clone(),
    }
}
