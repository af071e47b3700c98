//! Steps: what was said, called and observed.

use std::collections::VecDeque;

use lacuna_core::{Origin, Role, SpanId, SpanKind};
use serde_json::value::RawValue;

use super::find;
use super::session::{Current, Reader};
use crate::builder::Call;
use crate::content::{self, Answer, Labels, ResultOf};
use crate::fields::{self, Fields, Remainder, says_nothing};
use crate::record::Draft;

/// Step fields that spans express in their source, their order or their origin.
const EXPRESSED: &[&str] = &["step_id", "timestamp", "source"];

/// A step in the making: what of it no span expresses, and labels for its first span.
#[derive(Default)]
pub(super) struct Parts<'a> {
    pub(super) rest: Remainder<'a>,
    pub(super) labels: Labels,
    pub(super) spans: Vec<SpanId>,
}

impl Reader {
    /// Begins an understood step. The `known` fields become spans.
    pub(super) fn begin<'a>(&mut self, current: &Current<'_, 'a>, known: &[&str]) -> Parts<'a> {
        let mut parts = self.begin_bare(current, known);
        parts.rest.lift("", "", &mut parts.labels);
        parts
    }

    /// The same without labels: a summary has none.
    pub(super) fn begin_bare<'a>(
        &mut self,
        current: &Current<'_, 'a>,
        known: &[&str],
    ) -> Parts<'a> {
        self.builder.understood();
        let fields = current.fields;
        let mut parts = Parts::default();
        let copied: &[&str] =
            if fields.flag("is_copied_context") { &["is_copied_context"] } else { &[] };
        parts.rest.add("", fields.rest_but(EXPRESSED, &[known, copied].concat()));
        match fields.object("observation").filter(|inner| inner.list("results").is_some()) {
            Some(inner) => parts.rest.add("observation", inner.rest(&["results"])),
            None => parts.rest.keep(fields, "observation"),
        }
        parts
    }

    pub(super) fn end(&mut self, current: &Current<'_, '_>, kind: &str, parts: Parts<'_>) {
        self.since.extend(parts.spans.iter().cloned());
        let first = parts.spans.first();
        self.builder.remainder(parts.rest, kind, &current.wish, first, &current.source);
    }

    /// The step's message. An empty one beside something else says nothing.
    pub(super) fn words<'a>(
        &mut self,
        current: &Current<'_, 'a>,
        who: (Role, Origin),
        alone: bool,
        parts: &mut Parts<'a>,
    ) {
        let message = current.fields.get("message");
        let source = &current.source;
        match message.filter(|value| !says_nothing(value)) {
            Some(message) => parts.spans.extend(content::parts(
                &mut self.builder,
                &current.wish,
                who,
                source,
                message,
                &mut parts.labels,
                &mut parts.rest,
            )),
            None if alone => {
                let who = (who.0, who.1, SpanKind::Message);
                let mut draft = Draft::text(&current.wish, who, source, "");
                draft.labels = std::mem::take(&mut parts.labels);
                parts.spans.push(self.builder.push(draft));
            }
            None => {}
        }
    }

    pub(super) fn agent<'a>(&mut self, current: &Current<'_, 'a>) {
        self.begun = true;
        let fields = current.fields;
        let known = ["message", "reasoning_content", "tool_calls", "observation"];
        let mut parts = self.begin(current, &known);
        let thought = fields.get("reasoning_content").filter(|value| !says_nothing(value));
        if let Some(thought) = thought {
            let wish = format!("{}.think", current.wish);
            let who = (Role::Assistant, Origin::Model, SpanKind::Thinking);
            let mut draft = content::text(&mut self.builder, &wish, who, &current.source, thought);
            draft.labels.append(&mut parts.labels);
            parts.spans.push(self.builder.push(draft));
        }
        let calls = fields.list("tool_calls").unwrap_or_default();
        if fields.get("tool_calls").is_some_and(|value| fields::list(value).is_none()) {
            parts.rest.keep(fields, "tool_calls");
        }
        let alone = calls.is_empty() && thought.is_none();
        self.words(current, (Role::Assistant, Origin::Model), alone, &mut parts);
        // Keys under which the window knows this step's calls, those without a result yet.
        let mut open = VecDeque::new();
        for (at, call) in calls.into_iter().enumerate() {
            open.extend(self.call(current, at, call, &mut parts));
        }
        self.observed(current, &mut open, &mut parts);
        self.end(current, "agent", parts);
    }

    fn call<'a>(
        &mut self,
        current: &Current<'_, 'a>,
        at: usize,
        value: &'a RawValue,
        parts: &mut Parts<'a>,
    ) -> Option<String> {
        let wish = format!("{}.call{at}", current.wish);
        let source = &current.source;
        let Some(call) = Fields::of(value) else {
            let who = (Role::Assistant, Origin::Model, SpanKind::Message);
            let mut draft = Draft::json(wish, who, source, value.get()).label("block", "tool_call");
            draft.labels.append(&mut parts.labels);
            parts.spans.push(self.builder.push(draft));
            return None;
        };
        parts.rest.add(
            &format!("tool_calls.{at}"),
            call.rest(&["tool_call_id", "function_name", "arguments"]),
        );
        let id = call.get("tool_call_id");
        let key = id.and_then(fields::text).filter(|id| !id.is_empty());
        let who = (Role::Assistant, Origin::Model, SpanKind::ToolCall);
        let mut draft = Draft::json(key.clone().unwrap_or(wish), who, source, "");
        draft.labels.append(&mut parts.labels);
        let arguments = call.get("arguments");
        let span =
            self.builder.call(Call { id, name: call.get("function_name"), arguments }, draft);
        parts.spans.push(span.clone());
        Some(id.and_then(fields::text).unwrap_or_else(|| span.to_string()))
    }

    /// The results of the step's own calls. Those that name no call are paired by position if
    /// there are as many as calls without a result; a single one for several calls is the last
    /// one's, as a terminal shows it.
    pub(super) fn observed<'a>(
        &mut self,
        current: &Current<'_, 'a>,
        open: &mut VecDeque<String>,
        parts: &mut Parts<'a>,
    ) {
        let results = find::results(current.fields);
        let call_of = |value: &RawValue| {
            Fields::of(value)?.text("source_call_id").filter(|id| !id.is_empty())
        };
        let named: Vec<_> = results.iter().filter_map(|value| call_of(value)).collect();
        open.retain(|key| !named.contains(key));
        let nameless = results.len() - named.len();
        if nameless == 1 && open.len() > 1 {
            self.builder.note(
                "observations of several calls at once, taken as the result of the last",
                &current.wish,
            );
            open.drain(..open.len() - 1);
        } else if nameless != open.len() && !open.is_empty() && nameless > 0 {
            self.builder.note(
                "observations without a call id, not as many as calls: not paired",
                &current.wish,
            );
            open.clear();
        }
        for (at, value) in results.into_iter().enumerate() {
            let id = call_of(value);
            let key = id.clone().or_else(|| open.pop_front());
            let path = format!("observation.results.{at}");
            let Some(result) = Fields::of(value) else {
                parts.rest.add(&path, vec![("value".to_owned(), value)]);
                continue;
            };
            if key.is_none() && result.get("content").is_none_or(says_nothing) {
                // It only names sub-agents: there is nothing that the model was shown.
                parts.rest.add(&path, result.rest(&[]));
                continue;
            }
            let known: &[&str] =
                if id.is_some() { &["content", "source_call_id"] } else { &["content"] };
            parts.rest.add(&path, result.rest(known));
            let wish = match &key {
                Some(key) => format!("{key}.result"),
                None => format!("{}.result{at}", current.wish),
            };
            let call = self.builder.answer(key.as_deref(), &wish);
            let mut labels = std::mem::take(&mut parts.labels);
            if id.is_none() && call.is_some() {
                labels.insert("paired".to_owned(), "position".to_owned());
            }
            let of = ResultOf {
                wish,
                origin: Origin::Tool,
                source: &current.source,
                provider_id: id.as_deref(),
                call,
                is_error: false,
                labels,
            };
            let answer = Answer::of(result.get("content"));
            let (spans, unexpressed) = content::tool_result(&mut self.builder, of, answer);
            parts.rest.add(&format!("{path}.content"), unexpressed);
            parts.spans.extend(spans);
        }
    }
}
