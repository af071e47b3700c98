//! The spans that contradict a summary: those with an open contradiction against it or against
//! something that it covers or cites. While one of them stands in the window, the window can still
//! disprove the summary. (The seed's condition: contradiction is protected.)

use std::collections::BTreeSet;

use crate::{SessionState, SpanIndex};

/// The spans that contradict a recorded summary.
pub(crate) fn of_summary(state: &SessionState, summary: SpanIndex) -> BTreeSet<SpanIndex> {
    let mut basis = state.behind(summary);
    basis.remove(&summary);
    of_basis(state, &basis, Some(summary))
}

/// The spans that contradict what rests on these spans, or on what is behind them. Where both sides belong to the basis each
/// contradicts the other.
pub(super) fn of_basis(
    state: &SessionState,
    basis: &BTreeSet<SpanIndex>,
    summary: Option<SpanIndex>,
) -> BTreeSet<SpanIndex> {
    if state.contradictions.iter().all(|contradiction| !contradiction.open) {
        return BTreeSet::new();
    }
    let basis: BTreeSet<SpanIndex> = basis.iter().flat_map(|&index| state.behind(index)).collect();
    let belongs = |index: &SpanIndex| basis.contains(index) || Some(*index) == summary;
    let mut against = BTreeSet::new();
    for contradiction in state.contradictions.iter().filter(|c| c.open) {
        for (at, side) in contradiction.spans.iter().enumerate() {
            let others = contradiction.spans.iter().enumerate().filter(|(other, _)| *other != at);
            if belongs(side) {
                against.extend(others.map(|(_, other)| *other).filter(|o| Some(*o) != summary));
            }
        }
    }
    against
}
