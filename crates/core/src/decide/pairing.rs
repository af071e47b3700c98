//! Tool calls and their results stay together: a provider refuses one without the other.

use std::collections::{BTreeSet, HashSet};

use crate::state::{Place, SpanIndex};
use crate::{SessionState, SpanId, SpanKind};

/// What keeps the calls among these spans from leaving.
pub(super) struct Orphans {
    /// Results that stand in the window and would lose their call.
    pub(super) results: Vec<SpanId>,
    /// Calls whose result is not recorded yet.
    pub(super) open_calls: Vec<SpanId>,
}

/// Finds the results that would stay behind, and the calls that are still open.
pub(super) fn orphans(state: &SessionState, leaving: &[SpanIndex]) -> Orphans {
    let set: HashSet<SpanIndex> = leaving.iter().copied().collect();
    let mut found = Orphans { results: Vec::new(), open_calls: Vec::new() };
    for &index in leaving {
        let call = state.span(index);
        if call.kind != SpanKind::ToolCall {
            continue;
        }
        if call.results.is_empty() {
            found.open_calls.push(call.id.clone());
        }
        for &result in &call.results {
            if !set.contains(&result) && in_window(state, result) {
                found.results.push(state.span(result).id.clone());
            }
        }
    }
    found
}

/// The calls that must come back together with these results. A call that is lost, or never stood
/// in the window, keeps no result away: it could never come with it.
pub(super) fn missing_calls(state: &SessionState, returning: &[SpanIndex]) -> Vec<SpanId> {
    let set: HashSet<SpanIndex> = returning.iter().copied().collect();
    let calls = returning.iter().filter_map(|&index| state.span(index).answers);
    let pruned = |call: SpanIndex| {
        let call = state.span(call);
        matches!(call.place, Place::Pruned(_)) && call.loss.is_none()
    };
    let missing: BTreeSet<SpanIndex> =
        calls.filter(|call| !set.contains(call) && pruned(*call)).collect();
    missing.into_iter().map(|call| state.span(call).id.clone()).collect()
}

fn in_window(state: &SessionState, index: SpanIndex) -> bool {
    let span = state.span(index);
    span.place == Place::Window && span.loss.is_none()
}
