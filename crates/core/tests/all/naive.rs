//! A second, simple account of a session, kept from commands and replies alone: no events, no
//! window, only where each span stands and what it stands behind.

use std::collections::{BTreeMap, BTreeSet};

use lacuna_core::{
    Command, Content, Gate, NewSpan, Outcome, Prune, PruneReply, Reply, SessionState, SpanId,
    SummaryStatus,
};

/// Where a span stands: exactly one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Live,
    Pruned,
    Lossy,
    Withheld,
    Outside,
}

#[derive(Debug, Clone)]
struct Known {
    standing: Standing,
    /// Whether it, its stub or its tombstone stands in the window, if nothing hides it.
    placed: bool,
    /// The place of its first appearance in the session's order.
    position: usize,
    is_summary: bool,
    /// The summary that took its place, while it is pruned.
    replaced_by: Option<SpanId>,
    /// For a summary: the spans behind it that can come back, and those that cannot.
    behind: BTreeSet<SpanId>,
    lost_behind: BTreeSet<SpanId>,
}

/// The account.
#[derive(Debug, Clone, Default)]
pub(crate) struct Naive {
    spans: BTreeMap<SpanId, Known>,
    /// Summaries refused since the last that was not, by what they cover.
    refused: BTreeMap<BTreeSet<SpanId>, u32>,
}

impl Naive {
    /// Takes in what a command was told.
    pub(crate) fn note(&mut self, command: &Command, reply: &Reply) {
        match (command, reply) {
            (Command::Append { spans }, Reply::Appended { spans: replies, .. }) => {
                for (span, reply) in spans.iter().zip(replies) {
                    assert_eq!(reply.duplicate, self.spans.contains_key(&reply.id), "{}", reply.id);
                    if !reply.duplicate {
                        self.recorded(span, &reply.id);
                    }
                }
            }
            (Command::Summarize(summarize), Reply::Summarized(reply))
                if !self.spans.contains_key(&reply.summary) =>
            {
                let refused = self.refused.entry(summarize.covers.iter().cloned().collect());
                let refused = refused.or_default();
                let before = *refused;
                *refused = match reply.status {
                    SummaryStatus::Rejected => before + 1,
                    SummaryStatus::Accepted | SummaryStatus::NeedsAudit => 0,
                };
                assert_eq!(reply.attempts_left, 3_u32.saturating_sub(*refused), "{summarize:?}");
                // What is refused again and again is not recorded again and again.
                if reply.status != SummaryStatus::Rejected || before < 3 {
                    self.insert(&reply.summary, Standing::Outside, false, true);
                }
            }
            (Command::Prune(prune), Reply::Pruned(reply))
                if !prune.dry_run && reply.reason.is_none() =>
            {
                self.pruned(prune, reply);
            }
            (Command::Restore { .. }, Reply::Restored { restored, .. }) => {
                restored.iter().for_each(|id| self.restored(id));
            }
            (Command::ReportDamage { .. }, Reply::DamageReported { lost, .. }) => {
                lost.iter().for_each(|id| self.lost(id));
            }
            _ => {}
        }
    }

    fn recorded(&mut self, span: &NewSpan, id: &SpanId) {
        let standing = match (&span.content, span.in_window) {
            (Content::Withheld { .. }, _) => Standing::Withheld,
            (_, true) => Standing::Live,
            (_, false) => Standing::Outside,
        };
        self.insert(id, standing, span.in_window, false);
    }

    fn insert(&mut self, id: &SpanId, standing: Standing, placed: bool, is_summary: bool) {
        let known = Known {
            standing,
            placed,
            position: self.spans.len(),
            is_summary,
            replaced_by: None,
            behind: BTreeSet::new(),
            lost_behind: BTreeSet::new(),
        };
        let before = self.spans.insert(id.clone(), known);
        assert!(before.is_none(), "{id} was recorded twice");
    }

    fn at(&mut self, id: &SpanId) -> &mut Known {
        self.spans.get_mut(id).unwrap_or_else(|| panic!("{id} was never recorded"))
    }

    fn pruned(&mut self, prune: &Prune, reply: &PruneReply) {
        let leaving: Vec<&SpanId> = reply.spans.iter().map(|verdict| &verdict.span).collect();
        let first = leaving.iter().map(|id| self.spans[*id].position).min().unwrap();
        for verdict in &reply.spans {
            let known = self.at(&verdict.span);
            assert!(known.placed, "{} left without standing there", verdict.span);
            known.standing = Standing::Pruned;
            known.replaced_by = prune.replace_with.clone();
            if let Some(summary) = &prune.replace_with {
                self.at(summary).behind.insert(verdict.span.clone());
            }
            if verdict.gate == Gate::Lossy {
                self.lost(&verdict.span);
            }
        }
        if let Some(summary) = &prune.replace_with {
            let summary = self.at(summary);
            summary.position = if summary.placed { summary.position.min(first) } else { first };
            summary.placed = true;
            summary.standing = Standing::Live;
        }
    }

    fn lost(&mut self, id: &SpanId) {
        let known = self.at(id);
        assert_ne!(known.standing, Standing::Lossy, "{id} was lost twice");
        known.standing = Standing::Lossy;
        if let Some(summary) = known.replaced_by.take() {
            let summary = self.at(&summary);
            summary.behind.remove(id);
            summary.lost_behind.insert(id.clone());
        }
    }

    fn restored(&mut self, id: &SpanId) {
        let known = self.at(id);
        assert_eq!(known.standing, Standing::Pruned, "{id} came back from elsewhere");
        known.standing = Standing::Live;
        let Some(summary) = known.replaced_by.take() else { return };
        let summary = self.at(&summary);
        summary.behind.remove(id);
        let idle = summary.behind.is_empty() && summary.lost_behind.is_empty();
        if idle && summary.standing == Standing::Live {
            summary.standing = Standing::Outside;
            summary.placed = false;
        }
    }

    /// Compares the account with the folded state.
    pub(crate) fn compare(&self, state: &SessionState) {
        assert_eq!(state.spans().len(), self.spans.len(), "spans recorded");
        for (id, known) in &self.spans {
            let span = state.find(id).unwrap_or_else(|| panic!("{id} is not found"));
            let found = (state.outcome(span), span.pruned_under().is_some());
            let expected = match known.standing {
                Standing::Live => (Outcome::Live, false),
                Standing::Pruned => (Outcome::Recoverable, true),
                Standing::Outside => (Outcome::Recoverable, false),
                Standing::Withheld => (Outcome::Withheld, false),
                Standing::Lossy => (Outcome::Lossy, found.1),
            };
            assert_eq!(found, expected, "{id}, {known:?}");
            let replaced: BTreeSet<SpanId> = state.replaced_by(span).into_iter().collect();
            assert_eq!(replaced, known.behind, "behind {id}");
        }
        self.compare_order(state);
    }

    /// The window shows what the account places there, in the account's order.
    fn compare_order(&self, state: &SessionState) {
        let shown: Vec<&SpanId> = state
            .entries()
            .flat_map(|entry| entry.spans)
            .map(|index| &state.span(index).id)
            .collect();
        for pair in shown.windows(2) {
            let [before, after] = [pair[0], pair[1]].map(|id| &self.spans[id]);
            // A summary shares the place of what it replaced first, and stands before it.
            let ordered = before.position < after.position
                || before.position == after.position && before.is_summary;
            assert!(ordered, "{} stands before {}", pair[0], pair[1]);
        }
        let shown: BTreeSet<&SpanId> = shown.into_iter().collect();
        let expected: BTreeSet<&SpanId> =
            self.spans.iter().filter(|(_, known)| self.is_shown(known)).map(|(id, _)| id).collect();
        assert_eq!(shown, expected, "what the window shows");
    }

    /// A span behind a summary is hidden until the summary itself is lost.
    fn is_shown(&self, known: &Known) -> bool {
        let hidden = known.replaced_by.as_ref().is_some_and(|summary| {
            known.standing == Standing::Pruned && self.spans[summary].standing != Standing::Lossy
        });
        known.placed && !hidden
    }
}
