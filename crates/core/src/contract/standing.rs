//! Who may prune with a summary. Nobody is both its only author and its only auditor.

use std::collections::BTreeMap;

use crate::event::SummaryStatus;
use crate::state::SummaryState;
use crate::{Contract, Principal, SessionState, SpanId, SpanIndex, SpanState};

/// What stands against pruning with a summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing: it may be used.
    Usable,
    /// It was refused when it was written.
    Refused,
    /// This auditor failed it and has not taken that back.
    Failed(Principal),
    /// The pruner wrote it, and nobody else has passed it.
    Unaudited,
}

/// Whether this pruner may put a summary into the place of spans.
pub(crate) fn standing(state: &SessionState, summary: &SpanState, pruner: &Principal) -> Standing {
    let Some(own) = &summary.summary else { return Standing::Refused };
    if own.refused() {
        return Standing::Refused;
    }
    if state.contract == Contract::Record {
        return Standing::Usable;
    }
    // A fail wins, whatever others say, until its auditor says otherwise.
    if let Some(failed) = own.failed_by() {
        return Standing::Failed(failed.clone());
    }
    if *pruner == summary.by && !own.audited() {
        return Standing::Unaudited;
    }
    Standing::Usable
}

/// The spans that this principal may not take out of the window, with the summary of its own that
/// stands for what was beside them and that nobody else has passed: else it would be author and pruner
/// of what nobody but itself has judged.
pub(crate) fn kept_from(
    state: &SessionState,
    pruner: &Principal,
) -> BTreeMap<SpanIndex, SpanIndex> {
    let shown = state.shown_summaries().filter(|&index| {
        let summary = state.span(index);
        summary.by == *pruner && standing(state, summary, pruner) != Standing::Usable
    });
    let behind = |summary: SpanIndex| {
        let own = state.span(summary).summary.iter();
        own.flat_map(|own| &own.covers).map(move |&covered| (covered, summary))
    };
    shown.flat_map(behind).collect()
}

impl SessionState {
    /// Whether somebody else than this auditor has failed a summary; fails of earlier summaries end with
    /// the first pass.
    pub(crate) fn failed_by_another(&self, summary: &SpanId, auditor: &Principal) -> bool {
        let own = self.find_summary(summary).and_then(|span| span.summary.as_ref());
        let mut audits = own.into_iter().flat_map(|own| &own.audits);
        audits.any(|audit| audit.by != *auditor && !audit.pass && !audit.inherited)
    }
}

impl SummaryState {
    /// Whether it was refused when it was written.
    pub(crate) fn refused(&self) -> bool {
        self.status == SummaryStatus::Rejected
    }

    /// The auditor whose last counting verdict is a fail.
    pub(crate) fn failed_by(&self) -> Option<&Principal> {
        self.audits.iter().find(|audit| !audit.pass).map(|audit| &audit.by)
    }

    /// Whether somebody has passed it; audits by its author never count.
    pub(crate) fn audited(&self) -> bool {
        self.failed_by().is_none() && !self.audits.is_empty()
    }
}
