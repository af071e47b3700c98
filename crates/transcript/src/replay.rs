//! Test support: carries steps out against the journal's rules, and looks for what got lost.

use std::collections::{HashMap, HashSet};

use lacuna_core::{Content, NewSpan, Origin, SpanId, SpanKind};
use serde_json::Value;

use crate::{Session, Step};

/// A window that steps are carried out against; panics at the first step that breaks a rule.
#[derive(Default)]
pub(crate) struct Replay {
    recorded: HashSet<SpanId>,
    pub(crate) live: Vec<SpanId>,
    results: HashMap<SpanId, Vec<SpanId>>,
    pub(crate) spans: Vec<NewSpan>,
    pub(crate) summaries: Vec<String>,
    placeless: HashSet<SpanId>,
}

impl Replay {
    pub(crate) fn of(session: &Session) -> Self {
        let mut replay = Self::default();
        for step in &session.steps {
            replay.step(step);
        }
        let report = &session.report;
        assert_eq!(report.records, report.understood + report.kept_raw, "{report:?}");
        assert_eq!(report.spans as usize, replay.recorded.len(), "{}", session.name);
        let whole = |kind: &&String| !kind.starts_with("remainder:") && *kind != "envelope";
        let raw: u64 = report.raw.iter().filter(|(kind, _)| whole(kind)).map(|(_, n)| n).sum();
        assert_eq!(raw, report.kept_raw, "{report:?}");
        replay
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Append(spans) => {
                assert!((1..=200).contains(&spans.len()));
                let bytes: u64 = spans.iter().map(NewSpan::bytes).sum();
                assert!(bytes <= 4 << 20 || spans.len() == 1, "a batch of {bytes} bytes");
                spans.iter().for_each(|span| self.append(span));
            }
            Step::Summarize { id, covers, .. } => {
                assert!(!covers.is_empty());
                covers.iter().for_each(|span| assert!(self.live.contains(span), "{span}"));
                assert!(self.recorded.insert(id.clone()), "{id} twice");
                if let Step::Summarize { text, .. } = step {
                    self.summaries.push(text.clone());
                }
                self.placeless.insert(id.clone());
            }
            Step::Prune { spans, replace_with, .. } => {
                assert!(!spans.is_empty());
                if let Some(summary) = replace_with {
                    // A summary takes its place by the first prune that it replaces.
                    if self.placeless.remove(summary) {
                        self.live.push(summary.clone());
                    }
                    assert!(self.live.contains(summary) && !spans.contains(summary));
                }
                let leaving: HashSet<&SpanId> = spans.iter().collect();
                assert_eq!(leaving.len(), spans.len());
                for span in spans {
                    assert!(self.live.contains(span), "{span} is not in the window");
                    let Some(results) = self.results.get(span) else { continue };
                    assert!(!results.is_empty(), "open call {span} pruned");
                    let stays = |result: &&SpanId| {
                        self.live.contains(*result) && !leaving.contains(*result)
                    };
                    assert_eq!(results.iter().find(stays), None, "orphaned by {span}");
                }
                self.live.retain(|span| !leaving.contains(span));
            }
        }
    }

    fn append(&mut self, span: &NewSpan) {
        let id = span.id.clone().expect("every span has an id");
        assert!(self.recorded.insert(id.clone()), "{id} twice");
        assert_ne!(span.origin, Origin::Summary);
        if span.labels.contains_key("raw") {
            assert!(!span.in_window);
            assert_eq!((span.kind, span.origin), (SpanKind::Note, Origin::Harness));
        }
        if span.labels.contains_key("summary") {
            assert_eq!(span.origin, Origin::Harness);
        }
        if let Some(call) = &span.answers {
            assert_eq!(span.kind, SpanKind::ToolResult);
            let results = self.results.get_mut(call);
            results.expect("answers an earlier call").push(id.clone());
        }
        if span.kind == SpanKind::ToolCall {
            self.results.insert(id.clone(), Vec::new());
        }
        if let Content::Bytes(content) = &span.content {
            assert_eq!(lacuna_core::Digest::of(content), span.digest);
        }
        if span.in_window {
            self.live.push(id);
        }
        self.spans.push(span.clone());
    }

    pub(crate) fn span(&self, id: &str) -> &NewSpan {
        let found = self.spans.iter().find(|span| span.id.as_ref().unwrap().as_str() == id);
        let ids: Vec<_> = self.spans.iter().map(|span| span.id.clone().unwrap()).collect();
        found.unwrap_or_else(|| panic!("{id} is not among {ids:?}"))
    }

    /// The id of the n-th record (from 1) that the source gave no id.
    pub(crate) fn nameless(&self, n: usize) -> String {
        let ids = self.spans.iter().map(|span| span.id.as_ref().unwrap().to_string());
        ids.filter(|id| id.starts_with("r-")).nth(n - 1).unwrap()
    }

    pub(crate) fn content(&self, id: &str) -> String {
        String::from_utf8(bytes(self.span(id)).to_vec()).unwrap()
    }

    pub(crate) fn live(&self) -> Vec<&str> {
        self.live.iter().map(SpanId::as_str).collect()
    }

    /// Every string that can be found again, in contents, labels and sources.
    pub(crate) fn strings(&self, into: &mut HashSet<String>) {
        into.extend(self.summaries.iter().cloned());
        for span in &self.spans {
            into.extend(span.labels.values().cloned());
            into.extend(span.id.iter().map(ToString::to_string));
            if let Some(source) = &span.source {
                into.extend(source.id.iter().chain(&source.parent).chain(&source.time).cloned());
            }
            let content = bytes(span);
            match std::str::from_utf8(content) {
                Ok(text) => {
                    if let Ok(value) = serde_json::from_str::<Value>(text) {
                        leaves(&value, &mut |leaf| {
                            into.insert(leaf.to_owned());
                        });
                    }
                    into.insert(text.to_owned());
                }
                Err(_) => {
                    use base64::Engine;
                    let engine = base64::engine::general_purpose::STANDARD;
                    into.insert(engine.encode(content));
                }
            }
        }
    }
}

pub(crate) fn bytes(span: &NewSpan) -> &[u8] {
    match &span.content {
        Content::Bytes(content) => content,
        _ => &[],
    }
}

/// Calls back for every string in a value.
pub(crate) fn leaves(value: &Value, found: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => found(text),
        Value::Array(list) => list.iter().for_each(|value| leaves(value, found)),
        Value::Object(map) => map.values().for_each(|value| leaves(value, found)),
        _ => {}
    }
}
