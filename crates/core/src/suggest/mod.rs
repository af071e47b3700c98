//! Prunes that are safe now, cheapest first: what a pruner that dares nothing may do.
//!
//! A unit leaves as a whole: a span, or a call with its results. Of all units those are taken whose
//! leaving frees the most (`most`); among them several ways to free what was asked are
//! compared by what they cost at the provider.

mod most;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use self::most::most;
use crate::contract::kept_from;
use crate::cost;
use crate::event::Cost;
use crate::state::{Plan, Slot, SpanState};
use crate::{
    DirectiveNo, Limits, Principal, Role, SessionState, SpanId, SpanIndex, SpanKind, Storage,
};

/// Candidates that are told.
const MOST: usize = 5;
/// Points of the window from which on a candidate may take spans.
const STARTS: usize = 8;

/// A prune that the rules allow. It is reversible if the copies of its spans can be read back.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The spans, in session order.
    pub spans: Vec<SpanId>,
    /// Window tokens that it frees.
    pub freed_tokens: i64,
    /// What it costs at the provider.
    pub cost: Cost,
}

/// Ways to free this many tokens of the window, cheapest first: by tokens that the provider reads
/// anew and tokens of reasoning that it may refuse. Each way frees what was asked by
/// itself. Where that is impossible there is one way, which frees the most; where nothing may leave
/// there is none. `without` names spans that are to stay; so do those that this pruner may not take.
pub fn candidates(
    state: &SessionState,
    free_tokens: u64,
    pruner: &Principal,
    without: &BTreeSet<SpanIndex>,
    limits: &Limits,
) -> Vec<Candidate> {
    let mut without = without.clone();
    without.extend(kept_from(state, pruner).into_keys());
    let without = &without;
    let asked = i64::try_from(free_tokens).unwrap_or(i64::MAX).max(1);
    let units = within(limits, most(state, next_directive(state), units(state, without)));
    let all = evaluate(state, &units.iter().collect::<Vec<_>>());
    if all.freed_tokens <= 0 {
        return Vec::new();
    }
    if all.freed_tokens < asked {
        return vec![all];
    }
    let pool = pool(state, &units, asked);
    let mut found: BTreeMap<Vec<SpanIndex>, Candidate> = BTreeMap::new();
    for start in starts(state, &pool, asked) {
        if let Some((spans, candidate)) = enough(state, &pool[start..], asked) {
            found.insert(spans, candidate);
        }
    }
    let mut candidates: Vec<Candidate> = found.into_values().collect();
    candidates.sort_by_key(|candidate| {
        let thinking = candidate.cost.thinking_invalidated.iter();
        let lost: u64 =
            thinking.filter_map(|id| state.find(id)).map(|span| u64::from(span.tokens)).sum();
        let cost = candidate.cost.prefix_rewritten_tokens.saturating_add(lost);
        // What is freed beyond what was asked is worth nothing to who asked.
        (cost, candidate.freed_tokens, candidate.spans.len())
    });
    candidates.truncate(MOST);
    candidates
}

/// What may leave mechanically in the place of spans that nobody manages to summarise: those of them
/// that may leave, else whatever frees as much. None if nothing may.
pub(crate) fn fallback(
    state: &SessionState,
    covers: &[SpanId],
    pruner: &Principal,
    unreadable: &BTreeMap<SpanId, String>,
    limits: &Limits,
) -> Option<Vec<SpanId>> {
    let mut without: BTreeSet<SpanIndex> =
        unreadable.keys().filter_map(|id| state.index(id)).collect();
    without.extend(kept_from(state, pruner).into_keys());
    let covered: BTreeSet<SpanIndex> = covers.iter().filter_map(|id| state.index(id)).collect();
    let units = units(state, &without);
    let inside = |unit: &Unit| unit.spans.iter().all(|index| covered.contains(index));
    let (inside, _): (Vec<Unit>, Vec<Unit>) = units.into_iter().partition(inside);
    let inside = within(limits, most(state, next_directive(state), inside));
    let all = evaluate(state, &inside.iter().collect::<Vec<_>>());
    if all.freed_tokens > 0 {
        return Some(all.spans);
    }
    let wanted: u64 = covered.iter().map(|&index| state.shown_tokens(index)).sum();
    candidates(state, wanted, pruner, &without, limits)
        .into_iter()
        .next()
        .map(|candidate| candidate.spans)
}

/// The largest units that one directive may name.
fn within(limits: &Limits, mut units: Vec<Unit>) -> Vec<Unit> {
    let all: usize = units.iter().map(|unit| unit.spans.len()).sum();
    if all <= limits.spans_per_directive {
        return units;
    }
    units.sort_by_key(|unit| Reverse(unit.tokens));
    let mut left = limits.spans_per_directive;
    units.retain(|unit| {
        let fits = unit.spans.len() <= left;
        left -= if fits { unit.spans.len() } else { 0 };
        fits
    });
    units.sort_by_key(|unit| unit.places[0]);
    units
}

/// Spans that leave together.
struct Unit {
    /// In session order.
    spans: Vec<SpanIndex>,
    /// Their positions in the window.
    places: Vec<usize>,
    /// What they take in the window.
    tokens: u64,
}

impl Unit {
    fn last(&self) -> usize {
        self.places.last().copied().unwrap_or(0)
    }

    /// Whether its spans stand side by side.
    fn in_one_piece(&self) -> bool {
        self.places.windows(2).all(|pair| pair[0] + 1 == pair[1])
    }
}

/// Every unit that may leave, in session order.
fn units(state: &SessionState, without: &BTreeSet<SpanIndex>) -> Vec<Unit> {
    let positions: BTreeMap<SpanIndex, usize> = state
        .window
        .values()
        .enumerate()
        .filter_map(|(position, slot)| match slot {
            Slot::Span(index) | Slot::Summary(index) => Some((*index, position)),
            Slot::Stub { .. } | Slot::Tombstone(_) => None,
        })
        .collect();
    let free = |index: &SpanIndex| !without.contains(index) && may_leave(state.span(*index));
    let standing_call = |span: &SpanState| span.answers.filter(|call| positions.contains_key(call));
    let mut units: Vec<Unit> = Vec::new();
    for &index in positions.keys() {
        let span = state.span(index);
        let mut spans = vec![index];
        if span.kind == SpanKind::ToolCall {
            if span.results.is_empty() {
                continue;
            }
            spans.extend(span.results.iter().filter(|result| positions.contains_key(result)));
        } else if standing_call(span).is_some() {
            // It leaves with its call.
            continue;
        }
        if !spans.iter().all(free) {
            continue;
        }
        spans.sort_by_key(|index| positions[index]);
        let tokens = spans.iter().map(|&index| state.shown_tokens(index)).sum();
        let places = spans.iter().map(|index| positions[index]).collect();
        units.push(Unit { spans, places, tokens });
    }
    units.sort_by_key(|unit| unit.places[0]);
    units
}

fn may_leave(span: &SpanState) -> bool {
    let stored = !matches!(span.storage, Storage::Withheld { .. });
    stored && !span.pinned && span.open_contradictions == 0
}

/// The units among which to choose: what the model needs least, as far as that is enough. Standing
/// instructions go last, before them what it is working on.
fn pool<'a>(state: &SessionState, units: &'a [Unit], asked: i64) -> Vec<&'a Unit> {
    let instructs = |unit: &Unit| {
        let roles = unit.spans.iter().map(|&index| state.span(index).role);
        roles.into_iter().any(|role| matches!(role, Role::System | Role::Developer))
    };
    for until in [current_turn(state), usize::MAX] {
        let pool: Vec<&Unit> =
            units.iter().filter(|unit| unit.last() < until && !instructs(unit)).collect();
        if plan(state, &pool).freed >= asked {
            return pool;
        }
    }
    units.iter().collect()
}

/// The position from which on the window is about what the model is doing now: what the user said
/// last.
fn current_turn(state: &SessionState) -> usize {
    let begins = |slot: &Slot| match slot {
        Slot::Span(index) => {
            let span = state.span(*index);
            span.role == Role::User && span.kind == SpanKind::Message
        }
        _ => false,
    };
    let slots: Vec<&Slot> = state.window.values().collect();
    slots.iter().rposition(|slot| begins(slot)).unwrap_or(slots.len())
}

/// Where to begin: at the latest unit from which on there is enough, and at points before it.
fn starts(state: &SessionState, pool: &[&Unit], asked: i64) -> Vec<usize> {
    let (mut low, mut high) = (0, pool.len());
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        match plan(state, &pool[middle..]).freed >= asked {
            true => low = middle,
            false => high = middle,
        }
    }
    let mut starts: Vec<usize> = (0..=STARTS).map(|part| low * part / STARTS).collect();
    starts.dedup();
    starts
}

/// As few of the largest units as free what was asked.
fn enough(state: &SessionState, pool: &[&Unit], asked: i64) -> Option<(Vec<SpanIndex>, Candidate)> {
    let mut largest: Vec<&Unit> = pool.to_vec();
    largest.sort_by_key(|unit| Reverse(unit.tokens));
    let (mut low, mut high) = (0, largest.len());
    while low < high {
        let middle = low + (high - low) / 2;
        match plan(state, &largest[..middle]).freed >= asked {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    let taken = &largest[..low];
    let candidate = evaluate(state, taken);
    let mut spans: Vec<SpanIndex> = taken.iter().flat_map(|unit| &unit.spans).copied().collect();
    spans.sort_unstable();
    (candidate.freed_tokens >= asked).then_some((spans, candidate))
}

/// What leaving these units would do.
fn evaluate(state: &SessionState, units: &[&Unit]) -> Candidate {
    let plan = plan(state, units);
    Candidate {
        freed_tokens: plan.freed,
        cost: cost::of(state, &plan),
        spans: ids(state, plan.order),
    }
}

fn plan(state: &SessionState, units: &[&Unit]) -> Plan {
    let spans = units.iter().flat_map(|unit| &unit.spans).copied();
    state.plan_prune(next_directive(state), spans, &BTreeSet::new(), None)
}

fn next_directive(state: &SessionState) -> DirectiveNo {
    DirectiveNo(u32::try_from(state.directives.len()).unwrap_or(u32::MAX).saturating_add(1))
}

fn ids(state: &SessionState, spans: Vec<SpanIndex>) -> Vec<SpanId> {
    spans.into_iter().map(|index| state.span(index).id.clone()).collect()
}
