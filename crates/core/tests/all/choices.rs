//! How a random history chooses what its next command names.

use lacuna_core::{EntryKind, NewSpan, Role, SpanId, SpanKind};

use crate::ops::{NAMES, Picks, Piece};
use crate::property::Run;
use crate::scenario::{assistant, call, id, result, saying, span, thinking, withheld};

impl Run {
    pub(crate) fn any(&self, pick: usize) -> SpanId {
        let spans = self.scenario.state().spans();
        match spans.get(pick % spans.len().max(1)) {
            Some(span) if !pick.is_multiple_of(8) => span.id.clone(),
            _ => id(NAMES[pick / 4 % NAMES.len()]),
        }
    }

    pub(crate) fn pick(&self, picks: &Picks, from: &[SpanId]) -> Vec<SpanId> {
        let choose = |&pick: &usize| {
            if picks.blind || from.is_empty() {
                self.any(pick)
            } else {
                from[pick % from.len()].clone()
            }
        };
        picks.which.iter().map(choose).collect()
    }

    /// Spans that stand in the window, and that nothing but the gate keeps there.
    pub(crate) fn live(&self) -> Vec<SpanId> {
        let state = self.scenario.state();
        let spans = state
            .entries()
            .filter(|entry| matches!(entry.kind, EntryKind::Span | EntryKind::Summary))
            .map(|entry| state.span(entry.spans[0]));
        let free = spans.filter(|span| {
            let open = span.kind == SpanKind::ToolCall && span.results.is_empty();
            !span.pinned && span.open_contradictions == 0 && !open
        });
        free.map(|span| span.id.clone()).collect()
    }

    pub(crate) fn summaries(&self) -> Vec<SpanId> {
        let spans = self.scenario.state().spans().iter();
        spans.filter(|span| span.is_summary()).map(|span| span.id.clone()).collect()
    }

    pub(crate) fn pruned(&self) -> Vec<SpanId> {
        let spans = self.scenario.state().spans().iter();
        spans.filter(|span| span.pruned_under().is_some()).map(|span| span.id.clone()).collect()
    }

    /// These spans and the results of the calls among them.
    pub(crate) fn with_results(&self, mut spans: Vec<SpanId>) -> Vec<SpanId> {
        let state = self.scenario.state();
        let calls: Vec<_> = spans.iter().filter_map(|id| state.find(id)).collect();
        let live = self.live();
        let results = calls.iter().flat_map(|call| &call.results);
        let results = results.map(|&index| state.span(index).id.clone());
        let results: Vec<SpanId> = results.filter(|id| live.contains(id)).collect();
        spans.extend(results);
        spans
    }

    pub(crate) fn new_span(&self, piece: &Piece) -> NewSpan {
        let name = piece.name.map_or("unnamed", |name| NAMES[name]);
        let signed =
            format!(r#"{{"type":"thinking","thinking":"text of {name}","signature":"c2ln"}}"#);
        let calls = self.scenario.state().spans().iter().filter(|s| s.kind == SpanKind::ToolCall);
        let calls: Vec<&SpanId> = calls.map(|span| &span.id).collect();
        let shape = match piece.name {
            Some(name) if piece.variant != 4 => (name % 12) as u8,
            _ => piece.shape,
        };
        let made = match shape {
            0 | 1 => call(name),
            2..=4 if !calls.is_empty() => {
                result(name, calls[piece.other.unwrap_or_default() % calls.len()].as_str())
            }
            5 => assistant(name),
            6 => thinking(name, &signed),
            7 => thinking(name, &format!("text of {name}")),
            8 => withheld(name),
            9 => NewSpan { media_type: "image/png".into(), ..saying(name, [0xff, piece.variant]) },
            10 => NewSpan { role: Role::System, ..span(name) },
            _ => span(name),
        };
        let varied = match piece.variant {
            1 => saying(name, ""),
            2 => saying(name, r#"{"name":"é","arguments":"{"}"#),
            3 => saying(name, [0xff, 0xfe]),
            _ => made.clone(),
        };
        NewSpan {
            id: piece.name.map(|_| id(name)),
            content: varied.content,
            digest: varied.digest,
            in_window: !piece.hidden,
            pinned: piece.pinned,
            contradicts: piece
                .other
                .filter(|n| n.is_multiple_of(16))
                .map(|n| self.any(n / 4))
                .into_iter()
                .collect(),
            ..made
        }
    }

    /// Those of these spans that are no summaries.
    pub(crate) fn primary(&self, spans: &[SpanId]) -> Vec<SpanId> {
        let primary =
            |id: &&SpanId| self.scenario.state().find(id).is_some_and(|s| !s.is_summary());
        spans.iter().filter(primary).cloned().collect()
    }

    /// A summary in the window with what else it covers there.
    pub(crate) fn used_again(&self) -> Option<(Vec<SpanId>, SpanId)> {
        let state = self.scenario.state();
        let live = self.live();
        let standing = live.iter().filter_map(|id| state.find(id));
        // One that stands for nothing: see `cost::an_idle_summary_used_for_what_is_lost`.
        let standing = standing.filter(|summary| !state.replaced_by(summary).is_empty());
        let more = standing.filter_map(|summary| {
            let covers = state.covers(summary).into_iter().filter(|id| live.contains(id));
            Some((vec![covers.last()?], summary.id.clone()))
        });
        more.min()
    }
}
