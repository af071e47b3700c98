//! What a prune costs at the provider: the prefix cache from the first change on, and reasoning
//! that loses its surroundings.

use std::collections::HashSet;

use crate::event::Cost;
use crate::state::{Plan, Slot, SpanIndex};
use crate::{Role, SessionState, SpanId, SpanKind};

pub(crate) fn of(state: &SessionState, plan: &Plan) -> Cost {
    let before = state.budget().used_tokens;
    let kept = state.tokens_before(plan.changed);
    let after = before.saturating_add_signed(-plan.freed);
    Cost {
        prefix_kept_tokens: kept,
        prefix_rewritten_tokens: after.saturating_sub(kept),
        thinking_invalidated: invalidated(state, &plan.order),
    }
}

/// Reasoning that stays while another part of its turn leaves. A turn runs from one user message to
/// the next; providers verify signed reasoning against the turn that it belongs to.
fn invalidated(state: &SessionState, leaving: &[SpanIndex]) -> Vec<SpanId> {
    let Some(&first) = leaving.first() else { return Vec::new() };
    let set: HashSet<SpanIndex> = leaving.iter().copied().collect();
    let (mut found, mut turn) = (Vec::new(), Vec::new());
    let mut changed = false;
    let starts_turn = |index: SpanIndex| {
        let span = state.span(index);
        span.role == Role::User && span.kind == SpanKind::Message
    };
    // From the start of the first span's turn; turns before it are untouched.
    let key = state.span(first).key;
    let begin = state
        .window
        .range(..=key)
        .rev()
        .find(|(_, slot)| matches!(slot, Slot::Span(index) if starts_turn(*index)))
        .map_or_else(|| state.window.keys().next().copied().unwrap_or(key), |(key, _)| *key);
    for slot in state.window.range(begin..).map(|(_, slot)| slot) {
        let (Slot::Span(index) | Slot::Summary(index)) = slot else { continue };
        if starts_turn(*index) {
            settle(&mut turn, &mut changed, &mut found);
        }
        if set.contains(index) {
            changed = true;
        } else if state.span(*index).kind == SpanKind::Thinking {
            turn.push(state.span(*index).id.clone());
        }
    }
    settle(&mut turn, &mut changed, &mut found);
    found
}

fn settle(turn: &mut Vec<SpanId>, changed: &mut bool, found: &mut Vec<SpanId>) {
    if std::mem::take(changed) {
        found.append(turn);
    }
    turn.clear();
}
