//! Putting pruned spans back: all or none.

use std::collections::HashSet;

use super::{Decision, Reply, bound, budget_after, pairing, unknown};
use crate::event::SpanRestored;
use crate::refusal::list;
use crate::state::{Place, SpanIndex};
use crate::{Context, Event, Outcome, Refusal, SessionState, SpanId};

pub(super) fn decide(
    state: &SessionState,
    spans: &[SpanId],
    context: &Context,
) -> Result<Decision, Refusal> {
    if spans.is_empty() {
        return Err(Refusal::BadRequest("spans is empty: give at least one".into()));
    }
    let limit = context.limits.spans_per_directive;
    bound("spans in one restore", spans.len(), limit, "split it")?;
    unknown(state, spans)?;
    let mut seen = HashSet::new();
    let mut returning: Vec<SpanIndex> = Vec::new();
    for index in spans.iter().filter_map(|id| state.index(id)) {
        if seen.insert(index) && comes_back(state, index, context)? {
            returning.push(index);
        }
    }
    let calls = pairing::missing_calls(state, &returning);
    if !calls.is_empty() {
        return Err(Refusal::ContractViolation {
            message: format!(
                "a tool result stands in the window only behind its call: restore {} with it",
                list(&calls)
            ),
            spans: calls,
        });
    }
    returning.sort_unstable();
    let restored: Vec<SpanId> = returning.iter().map(|&i| state.span(i).id.clone()).collect();
    let events: Vec<Event> = restored
        .iter()
        .map(|span| Event::SpanRestored(SpanRestored { span: span.clone() }))
        .collect();
    let version = state.version + events.len() as u64;
    let budget = budget_after(state, &events, context);
    Ok(Decision { events, reply: Reply::Restored { version, restored, budget } })
}

/// Whether this span has to come back: false if it stands in the window already.
fn comes_back(state: &SessionState, index: SpanIndex, context: &Context) -> Result<bool, Refusal> {
    let span = state.span(index);
    let refuse = |outcome: Outcome, why: String| Refusal::NotRecoverable {
        span: span.id.clone(),
        outcome: outcome.word(),
        why,
    };
    let outcome = state.outcome(span);
    match (outcome, span.place) {
        (Outcome::Lossy, _) => Err(refuse(
            outcome,
            "it was committed as lost; expand tells when, by whom and why".into(),
        )),
        (_, Place::Window) => Ok(false),
        (_, Place::Outside) => Err(Refusal::ContractViolation {
            message: format!("{} has no place in the window: read it with expand", span.id),
            spans: vec![span.id.clone()],
        }),
        (Outcome::Withheld, _) => Err(refuse(outcome, "its content was never stored".into())),
        (_, Place::Pruned(_)) => match context.evidence.get(&span.id) {
            None => Err(refuse(outcome, "its copy was not read back; try again".into())),
            Some(copy) => match &copy.existence {
                Ok(()) => Ok(true),
                Err(why) if copy.unanswered => {
                    Err(Refusal::Unanswered { span: span.id.clone(), why: why.clone() })
                }
                Err(found) => Err(refuse(Outcome::Lossy, found.clone())),
            },
        },
    }
}
