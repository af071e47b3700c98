//! How many summaries stand between a summary and the primary spans.

use std::collections::BTreeSet;

use super::Case;
use crate::{SessionState, SpanIndex};

/// One more than the deepest covered summary; a covered summary counts nothing if its author has
/// read again every primary span behind it that the claims cite, after that summary was written.
pub(super) fn of(case: &Case<'_>) -> u32 {
    let state = case.state;
    let cited: BTreeSet<SpanIndex> = case.cited().collect();
    let depth = |index: SpanIndex| {
        let span = state.span(index);
        let own = span.summary.as_ref()?;
        let behind = state.primaries(index);
        let mut rests_on = behind.intersection(&cited).peekable();
        let regrounded = rests_on.peek().is_some()
            && rests_on.all(|&primary| {
                state.read_by(primary, case.author).is_some_and(|version| version > span.version)
            });
        Some(if regrounded { 0 } else { own.depth })
    };
    1 + case.covered().filter_map(depth).max().unwrap_or(0)
}

impl SessionState {
    /// The spans behind a summary, through the summaries that it covers or cites, and itself. Of
    /// another span: itself.
    pub(crate) fn behind(&self, index: SpanIndex) -> BTreeSet<SpanIndex> {
        let mut seen = BTreeSet::new();
        let mut open = vec![index];
        while let Some(index) = open.pop() {
            if seen.insert(index)
                && let Some(own) = &self.span(index).summary
            {
                open.extend(own.covers.iter().chain(&own.cites));
            }
        }
        seen
    }

    /// The primary spans behind a summary. Of another span: itself.
    pub(crate) fn primaries(&self, index: SpanIndex) -> BTreeSet<SpanIndex> {
        let behind = self.behind(index).into_iter();
        behind.filter(|&index| !self.span(index).is_summary()).collect()
    }
}
