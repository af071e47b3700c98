//! One conversation's messages, as spans.

use std::collections::VecDeque;

use lacuna_core::{Origin, Role, SessionName, Source, SpanId, SpanKind};
use serde_json::value::RawValue;

use super::find::{Conversation, Item};
use crate::builder::{Builder, Call};
use crate::content::{self, Answer, Labels, ResultOf};
use crate::fields::{self, Fields, Remainder};
use crate::lines::Shape;
use crate::names;
use crate::record::Draft;
use crate::{Format, Session};

struct Reader {
    builder: Builder,
    messages: u64,
    /// Calls of the latest message with calls that have no result yet, by the key under which the
    /// window knows them. Results without an id answer them in order.
    waiting: VecDeque<String>,
}

/// The fields that make a call.
const FUNCTION: &[&str] = &["name", "arguments"];

/// One message being read.
struct Current<'a> {
    fields: Fields<'a>,
    wish: String,
    source: Source,
    labels: Labels,
    rest: Remainder<'a>,
    spans: Vec<SpanId>,
}

pub(super) fn read(conversation: Conversation<'_>, name: SessionName) -> Session {
    let mut reader =
        Reader { builder: Builder::new(Format::OpenaiChat), messages: 0, waiting: VecDeque::new() };
    reader.builder.report.source_session = conversation.id;
    let mut around = 0;
    for item in conversation.items {
        match item {
            Item::Message(value) => reader.message(value),
            Item::Around { kind, json } => {
                let source = reader.builder.source(None);
                reader.builder.extra(&json, kind, format!("around{around}"), None, &source);
                around += 1;
            }
            Item::Stray(piece) => {
                reader.builder.record(piece.bytes.len());
                if matches!(piece.shape, Shape::Value(_)) {
                    let source = reader.builder.source(None);
                    let wish = names::of_bytes(piece.bytes);
                    reader.builder.keep_raw(piece.bytes, "not-a-message", wish, &source);
                } else {
                    reader.builder.keep_broken(&piece);
                }
            }
        }
    }
    reader.builder.finish(name)
}

impl Reader {
    fn message(&mut self, value: &RawValue) {
        self.builder.record(value.get().len());
        let wish = format!("m{}", self.messages);
        self.messages += 1;
        let who = Fields::of(value).and_then(|fields| {
            let who = match fields.text("role")?.as_str() {
                "system" => (Role::System, Origin::System),
                "developer" => (Role::Developer, Origin::System),
                "user" => (Role::User, Origin::User),
                "assistant" => (Role::Assistant, Origin::Model),
                "tool" | "function" => (Role::Tool, Origin::Tool),
                _ => return None,
            };
            Some((who, fields))
        });
        let Some((who, fields)) = who else {
            let source = self.builder.source(None);
            let bytes = value.get().as_bytes();
            self.builder.keep_raw(bytes, "not-a-message", names::of_bytes(bytes), &source);
            return;
        };
        self.builder.understood();
        let time = ["timestamp", "created_at", "created"].iter().find_map(|name| fields.word(name));
        let source = Source { time, ..self.builder.source(fields.text("id")) };
        let mut current = Current {
            fields,
            wish,
            source,
            labels: Labels::new(),
            rest: Remainder::default(),
            spans: Vec::new(),
        };
        if who.0 == Role::Tool {
            self.result(&mut current);
        } else {
            self.speech(&mut current, who);
        }
        let Current { wish, source, rest, spans, .. } = current;
        self.builder.remainder(rest, "message", &wish, spans.first(), &source);
    }

    fn known<'a>(current: &mut Current<'a>, known: &[&str]) {
        let always = ["role", "id", "timestamp", "created_at", "created"];
        let mut fields = current.fields.rest(&[known, &always].concat());
        // Those of the three times that did not become the source's time, and ids that are no
        // text, are not expressed.
        for name in always.iter().skip(1) {
            let value = current.fields.get(name);
            let word = current.fields.word(name);
            let used = word.is_some() && (word == current.source.time || word == current.source.id);
            if let (Some(value), false) = (value, used)
                && !fields::says_nothing(value)
            {
                fields.push(((*name).to_owned(), value));
            }
        }
        current.rest.add("", fields);
        let mut labels = std::mem::take(&mut current.labels);
        current.rest.lift("", "", &mut labels);
        current.labels = labels;
    }

    fn speech(&mut self, current: &mut Current<'_>, (role, origin): (Role, Origin)) {
        Self::known(
            current,
            &[
                "content",
                "refusal",
                "reasoning_content",
                "reasoning",
                "thinking_blocks",
                "tool_calls",
                "function_call",
            ],
        );
        if role == Role::Assistant {
            self.thinking(current);
        } else {
            for name in ["reasoning_content", "reasoning", "thinking_blocks"] {
                Self::keep(current, name);
            }
        }
        let calls = current.fields.list("tool_calls").unwrap_or_default();
        if current.fields.get("tool_calls").is_some_and(|value| fields::list(value).is_none()) {
            Self::keep(current, "tool_calls");
        }
        let old_call = current.fields.object("function_call");
        let alone = calls.is_empty() && old_call.is_none();
        let content = current.fields.get("content");
        let speaks = content.is_some_and(|value| !fields::says_nothing(value));
        if role == Role::User && (speaks || alone) {
            self.builder.new_turn();
        }
        // An empty text beside calls says nothing; alone it is the message.
        if let (true, Some(content)) = (speaks, content) {
            let spans = content::parts(
                &mut self.builder,
                &current.wish,
                (role, origin),
                &current.source,
                content,
                &mut current.labels,
                &mut current.rest,
            );
            current.spans.extend(spans);
        }
        let refusal = current.fields.get("refusal").filter(|value| !fields::says_nothing(value));
        if let Some(refusal) = refusal {
            let who = (role, origin, SpanKind::Message);
            let wish = format!("{}.refusal", current.wish);
            let draft = content::text(&mut self.builder, &wish, who, &current.source, refusal);
            self.push(current, draft.label("refusal", "true"));
        }
        if !alone {
            self.waiting.clear();
        }
        for (at, call) in calls.into_iter().enumerate() {
            self.call(current, at, call, (role, origin));
        }
        if let Some(function) = old_call {
            let wish = format!("{}.call", current.wish);
            current.rest.add("function_call", function.rest(FUNCTION));
            self.function(current, &function, None, wish, (role, origin));
        } else if current.fields.get("function_call").is_some() {
            Self::keep(current, "function_call");
        }
        if current.spans.is_empty() {
            let who = (role, origin, SpanKind::Message);
            let draft = Draft::text(current.wish.clone(), who, &current.source, "");
            self.push(current, draft);
        }
    }

    /// Puts a field that no span expresses with the remainder.
    fn keep(current: &mut Current<'_>, name: &str) {
        current.rest.keep(&current.fields, name);
    }

    fn thinking(&mut self, current: &mut Current<'_>) {
        let who = (Role::Assistant, Origin::Model, SpanKind::Thinking);
        let blocks = current.fields.list("thinking_blocks").unwrap_or_default();
        for (at, block) in blocks.iter().enumerate() {
            let wish = format!("{}.think{at}", current.wish);
            let draft = Draft::json(wish, who, &current.source, block.get());
            self.push(current, draft);
        }
        if blocks.is_empty() {
            Self::keep(current, "thinking_blocks");
        }
        // Beside blocks, the plain text is a copy of theirs.
        let mut told = !blocks.is_empty();
        for name in ["reasoning_content", "reasoning"] {
            let value = current.fields.get(name).filter(|value| !fields::says_nothing(value));
            let Some(value) = value else { continue };
            if told {
                Self::keep(current, name);
                continue;
            }
            told = true;
            let wish = format!("{}.think", current.wish);
            let draft = content::text(&mut self.builder, &wish, who, &current.source, value);
            self.push(current, draft);
        }
    }

    fn call<'a>(
        &mut self,
        current: &mut Current<'a>,
        at: usize,
        call: &'a RawValue,
        who: (Role, Origin),
    ) {
        let wish = format!("{}.call{at}", current.wish);
        let Some(call) = Fields::of(call) else {
            let who = (who.0, who.1, SpanKind::Message);
            let draft = Draft::json(wish, who, &current.source, call.get());
            self.push(current, draft.label("block", "tool_call"));
            return;
        };
        let path = format!("tool_calls.{at}");
        let mut known = vec!["id"];
        if call.text("type").as_deref() == Some("function") {
            known.push("type");
        }
        // Some sources put name and arguments beside the id.
        let function = call.object("function");
        known.extend_from_slice(if function.is_some() { &["function"] } else { FUNCTION });
        current.rest.add(&path, call.rest(&known));
        if let Some(function) = &function {
            current.rest.add(&format!("{path}.function"), function.rest(FUNCTION));
        }
        self.function(current, function.as_ref().unwrap_or(&call), call.get("id"), wish, who);
    }

    fn function<'a>(
        &mut self,
        current: &mut Current<'a>,
        function: &Fields<'a>,
        id: Option<&'a RawValue>,
        wish: String,
        (role, origin): (Role, Origin),
    ) {
        let provider_id = id.and_then(fields::text).filter(|id| !id.is_empty());
        let wish = provider_id.clone().unwrap_or(wish);
        let mut draft = Draft::json(wish, (role, origin, SpanKind::ToolCall), &current.source, "");
        draft.labels.append(&mut current.labels);
        let call = Call { id, name: function.get("name"), arguments: function.get("arguments") };
        let span = self.builder.call(call, draft);
        self.waiting.push_back(id.and_then(fields::text).unwrap_or_else(|| span.to_string()));
        current.spans.push(span);
    }

    fn result(&mut self, current: &mut Current<'_>) {
        let given = current.fields.text("tool_call_id").filter(|id| !id.is_empty());
        let known: &[&str] =
            if given.is_some() { &["content", "tool_call_id"] } else { &["content"] };
        Self::known(current, known);
        let key = match &given {
            Some(id) => {
                self.waiting.retain(|waiting| waiting != id);
                Some(id.clone())
            }
            None => {
                let next = self.waiting.pop_front();
                if next.is_some() {
                    current.labels.insert("paired".to_owned(), "position".to_owned());
                    self.builder
                        .note("tool results without a call id, paired by position", &current.wish);
                }
                next
            }
        };
        let wish = format!("{}.result", given.as_deref().unwrap_or(&current.wish));
        let call = self.builder.answer(key.as_deref(), &wish);
        let result = ResultOf {
            wish,
            origin: Origin::Tool,
            source: &current.source,
            provider_id: given.as_deref(),
            call,
            is_error: false,
            labels: std::mem::take(&mut current.labels),
        };
        let answer = Answer::of(current.fields.get("content"));
        let (spans, rest) = content::tool_result(&mut self.builder, result, answer);
        current.rest.add("content", rest);
        current.spans.extend(spans);
    }

    fn push(&mut self, current: &mut Current<'_>, mut draft: Draft) {
        for (name, value) in std::mem::take(&mut current.labels) {
            draft.labels.entry(name).or_insert(value);
        }
        current.spans.push(self.builder.push(draft));
    }
}
