//! What random histories came to, so that a generator that stopped reaching something is noticed.

use std::collections::BTreeMap;

use lacuna_core::{Contract, EntryKind, Event, Outcome, RejectReason, SessionState, SummaryStatus};

use crate::scenario::Scenario;

/// Events, entries and what else a history holds, counted.
#[derive(Debug, Default)]
pub(crate) struct Reached(pub(crate) BTreeMap<&'static str, usize>);

impl Reached {
    pub(crate) fn count(&mut self, scenario: &Scenario, refused: usize) {
        for recorded in &scenario.log {
            *self.0.entry(recorded.event.kind()).or_default() += 1;
        }
        *self.0.entry("refused").or_default() += refused;
        let state = scenario.state();
        for entry in state.entries() {
            let word = match entry.kind {
                EntryKind::Stub if entry.spans.len() > 1 => "shared stub",
                kind => kind.word(),
            };
            *self.0.entry(word).or_default() += 1;
        }
        for recorded in &scenario.log {
            let word = match &recorded.event {
                Event::SummaryRecorded(event) if state.contract == Contract::Enforce => {
                    event.status.word()
                }
                Event::SummaryAudited(event) if !event.accepted => "audit that does not count",
                Event::SummaryAudited(event) if event.pass => "pass",
                Event::SummaryAudited(_) => "fail",
                Event::PruneRejected(event) => match event.why {
                    RejectReason::SummaryNotAudited => "not audited",
                    RejectReason::SummaryNotAccepted => "not accepted",
                    _ => continue,
                },
                Event::PruneExecuted(event) if event.replace_with.is_some() => {
                    if state.contract == Contract::Record {
                        continue;
                    }
                    "replaced under contract"
                }
                _ => continue,
            };
            *self.0.entry(word).or_default() += 1;
        }
        for entry in state.entries().filter(|entry| entry.kind == EntryKind::Summary) {
            let shown = state.span(entry.spans[0]).summary_status();
            let failed = shown == Some(SummaryStatus::Rejected);
            *self.0.entry("failed summary in the window").or_default() += usize::from(failed);
        }
        for span in state.spans().iter().filter(|span| span.is_summary()) {
            let behind = state.replaced_by(span);
            let behind: Vec<_> = behind.iter().filter_map(|id| state.find(id)).collect();
            let lost = state.outcome(span) == Outcome::Lossy;
            for (word, holds) in [
                ("summary of a summary", behind.iter().any(|span| span.is_summary())),
                (
                    "pruned summary that hides spans",
                    span.pruned_under().is_some() && !lost && !behind.is_empty(),
                ),
                ("lost summary whose spans remain", lost && !behind.is_empty()),
                ("summary used twice", state.stands_for(span).len() > 1),
                (
                    "retired summary",
                    span.pruned_under().is_none()
                        && state.outcome(span) == Outcome::Recoverable
                        && once_used(state, span),
                ),
            ] {
                *self.0.entry(word).or_default() += usize::from(holds);
            }
        }
    }
}

/// Whether some directive once put this summary in the place of spans.
fn once_used(state: &SessionState, span: &lacuna_core::SpanState) -> bool {
    (1..)
        .map_while(|number| state.directive(lacuna_core::DirectiveNo(number)))
        .any(|directive| directive.replace_with == state.index(&span.id))
}
