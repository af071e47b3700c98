//! The importer's own picture of the source agent's window: which spans are in it, which results
//! answer which calls. It decides what may be pruned, so that the steps are valid in sequence.

use std::collections::{BTreeMap, HashMap, HashSet};

use lacuna_core::SpanId;

/// What happened to a list of spans that were to leave the window.
#[derive(Debug, Default)]
pub(crate) struct Leaving {
    /// Those that can leave, in window order.
    pub(crate) spans: Vec<SpanId>,
    /// Calls that stay, because no result of theirs was ever recorded.
    pub(crate) open_calls: Vec<SpanId>,
    /// Calls that stay, because a result of theirs stays.
    pub(crate) kept_with_results: Vec<SpanId>,
}

#[derive(Debug, Default)]
pub(crate) struct Window {
    order: BTreeMap<u64, SpanId>,
    place: HashMap<SpanId, u64>,
    next: u64,
    /// Calls by the provider's call id, in order of appearance; ids may repeat.
    calls: HashMap<String, Vec<SpanId>>,
    /// Results by the call that they answer. Every call has an entry.
    results: HashMap<SpanId, Vec<SpanId>>,
    /// Results without a call, by the provider's call id.
    orphans: HashSet<String>,
}

impl Window {
    /// A span takes its place at the end of the window.
    pub(crate) fn enter(&mut self, span: &SpanId) {
        self.order.insert(self.next, span.clone());
        self.place.insert(span.clone(), self.next);
        self.next += 1;
    }

    /// Everything in the window, in order.
    pub(crate) fn live(&self) -> Vec<SpanId> {
        self.order.values().cloned().collect()
    }

    pub(crate) fn holds(&self, span: &SpanId) -> bool {
        self.place.contains_key(span)
    }

    /// A call was recorded; says whether a result for this provider id stood before it.
    pub(crate) fn called(&mut self, provider_id: &str, span: &SpanId) -> bool {
        self.calls.entry(provider_id.to_owned()).or_default().push(span.clone());
        self.results.insert(span.clone(), Vec::new());
        self.orphans.contains(provider_id)
    }

    /// The call that a result with this provider id answers: the first open one of that id, or
    /// the latest if all have been answered.
    pub(crate) fn call_for(&self, provider_id: &str) -> Option<&SpanId> {
        let calls = self.calls.get(provider_id)?;
        calls.iter().find(|call| self.is_open(call)).or(calls.last())
    }

    /// Whether no result answers this call.
    pub(crate) fn is_open(&self, call: &SpanId) -> bool {
        self.results.get(call).is_none_or(Vec::is_empty)
    }

    /// Whether a span is a call that could not leave together with these: no result answers it, or
    /// one that does would stay.
    pub(crate) fn held_back(&self, span: &SpanId, going: &HashSet<SpanId>) -> bool {
        let Some(results) = self.results.get(span) else { return false };
        let stays = |result: &SpanId| self.holds(result) && !going.contains(result);
        results.is_empty() || results.iter().any(stays)
    }

    pub(crate) fn answered(&mut self, call: &SpanId, result: &SpanId) {
        self.results.entry(call.clone()).or_default().push(result.clone());
    }

    pub(crate) fn orphan(&mut self, provider_id: &str) {
        self.orphans.insert(provider_id.to_owned());
    }

    /// The results that answer calls of this provider id.
    pub(crate) fn results_for(&self, provider_id: &str) -> Vec<SpanId> {
        let calls = self.calls.get(provider_id).into_iter().flatten();
        calls.filter_map(|call| self.results.get(call)).flatten().cloned().collect()
    }

    /// Takes out of the window what can leave of this list.
    pub(crate) fn leave(&mut self, spans: &[SpanId]) -> Leaving {
        let asked: HashSet<&SpanId> = spans.iter().filter(|span| self.holds(span)).collect();
        let mut leaving = Leaving::default();
        let mut places = Vec::new();
        for &span in &asked {
            if let Some(results) = self.results.get(span) {
                if results.is_empty() {
                    leaving.open_calls.push(span.clone());
                    continue;
                }
                if results.iter().any(|result| self.holds(result) && !asked.contains(result)) {
                    leaving.kept_with_results.push(span.clone());
                    continue;
                }
            }
            places.extend(self.place.get(span));
        }
        places.sort_unstable();
        for place in places {
            if let Some(span) = self.order.remove(&place) {
                self.place.remove(&span);
                leaving.spans.push(span);
            }
        }
        leaving.open_calls.sort();
        leaving.kept_with_results.sort();
        leaving
    }
}
