//! The rules that the steps of an import keep: a journal would refuse steps that break them.

use std::collections::{BTreeSet, HashMap, HashSet};

use lacuna_core::{Content, Digest, NewSpan, Origin, SpanId, SpanKind};
use lacuna_transcript::{Session, Step};

/// Carries the steps of a session out, and asserts that none breaks a rule.
pub fn carried_out(session: &Session) {
    let mut window = Window::default();
    session.steps.iter().for_each(|step| window.step(step));
    let report = &session.report;
    assert_eq!(report.records, report.understood + report.kept_raw, "{report:?}");
    assert_eq!(report.spans as usize, window.recorded.len(), "{report:?}");
    // A record may bear the name of what is left of another one, and is counted with those.
    let left = |kind: &str| kind.starts_with("remainder:") || kind == "envelope";
    let all: u64 = report.raw.values().sum();
    let raw: u64 = report.raw.iter().filter(|(kind, _)| !left(kind)).map(|(_, n)| n).sum();
    assert!(raw <= report.kept_raw && report.kept_raw <= all, "{report:?}");
}

#[derive(Default)]
struct Window<'a> {
    recorded: HashSet<&'a SpanId>,
    live: HashSet<&'a SpanId>,
    /// Summaries that no prune has given a place yet.
    waiting: HashSet<&'a SpanId>,
    /// Results by their call.
    results: HashMap<&'a SpanId, Vec<&'a SpanId>>,
}

impl<'a> Window<'a> {
    fn step(&mut self, step: &'a Step) {
        match step {
            Step::Append(spans) => {
                assert!((1..=200).contains(&spans.len()));
                let bytes: u64 = spans.iter().map(NewSpan::bytes).sum();
                assert!(bytes <= 4 << 20 || spans.len() == 1, "{bytes} bytes in one append");
                spans.iter().for_each(|span| self.append(span));
            }
            Step::Summarize { id, covers, .. } => {
                assert!(!covers.is_empty() && covers.iter().all(|span| self.live.contains(span)));
                assert!(self.recorded.insert(id), "{id} twice");
                self.waiting.insert(id);
            }
            Step::Prune { spans, replace_with, .. } => self.prune(spans, replace_with.as_ref()),
        }
    }

    fn prune(&mut self, spans: &'a [SpanId], replace_with: Option<&'a SpanId>) {
        let leaving: BTreeSet<&SpanId> = spans.iter().collect();
        assert!(!spans.is_empty() && leaving.len() == spans.len());
        if let Some(summary) = replace_with {
            if self.waiting.remove(summary) {
                self.live.insert(summary);
            }
            assert!(self.live.contains(summary) && !leaving.contains(summary));
        }
        for span in spans {
            assert!(self.live.contains(span), "{span} is not in the window");
            let Some(results) = self.results.get(span) else { continue };
            assert!(!results.is_empty(), "the open call {span} is pruned");
            let stays = results.iter().find(|r| self.live.contains(*r) && !leaving.contains(*r));
            assert_eq!(stays, None, "left behind by {span}");
        }
        self.live.retain(|span| !leaving.contains(span));
    }

    fn append(&mut self, span: &'a NewSpan) {
        let id = span.id.as_ref().expect("every span has an id");
        assert!(self.recorded.insert(id), "{id} twice");
        assert_ne!(span.origin, Origin::Summary);
        if span.labels.contains_key("raw") {
            assert!(!span.in_window && span.kind == SpanKind::Note);
        }
        if let Some(call) = &span.answers {
            assert_eq!(span.kind, SpanKind::ToolResult);
            self.results.get_mut(call).expect("it answers an earlier call").push(id);
        }
        if span.kind == SpanKind::ToolCall {
            self.results.insert(id, Vec::new());
        }
        if let Content::Bytes(content) = &span.content {
            assert_eq!(Digest::of(content), span.digest);
        }
        if span.in_window {
            self.live.insert(id);
        }
    }
}
