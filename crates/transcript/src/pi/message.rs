//! Messages: one span per content block.

use lacuna_core::{Origin, Role, SpanId, SpanKind};
use serde_json::value::RawValue;

use super::session::{Current, Reader};
use super::summary::{EXPRESSED, Of};
use crate::builder::Call;
use crate::content::{self, Answer, Labels, ResultOf};
use crate::fields::{self, Fields, Remainder, says_nothing};
use crate::record::Draft;

impl<'a> Reader<'a> {
    pub(super) fn message(&mut self, current: &Current<'_, 'a>, message: &Fields<'a>) {
        let role = message.text("role").unwrap_or_default();
        match role.as_str() {
            "user" => self.user(current, message),
            "assistant" => self.assistant(current, message),
            "toolResult" => self.result(current, message),
            "bashExecution" => self.bash(current, message),
            // Version 2 called extensions' messages by their older name.
            "custom" | "hookMessage" => self.injected(current, message, true),
            role => match Of::named(role, message) {
                Some(of) => self.summary(current, message, of),
                None => {
                    let role: String = role.chars().take(64).collect();
                    self.keep_raw(current, &format!("message:{role}"));
                }
            },
        }
    }

    /// The remainder of an entry with a message: what its spans do not express, and the labels for
    /// the first of them.
    fn around(
        current: &Current<'_, 'a>,
        message: &Fields<'a>,
        known: &[&str],
    ) -> (Remainder<'a>, Labels) {
        let mut rest = Remainder::default();
        let mut labels = Labels::new();
        rest.add("", current.fields.rest_but(EXPRESSED, &["message"]));
        rest.add("message", message.rest(&[&["role"], known].concat()));
        rest.lift("", "", &mut labels);
        rest.lift("message", "message.", &mut labels);
        (rest, labels)
    }

    fn done(
        &mut self,
        current: &Current<'_, 'a>,
        rest: Remainder<'a>,
        kind: &str,
        spans: &[SpanId],
    ) {
        self.became(spans);
        self.builder.remainder(rest, kind, &current.wish, spans.first(), &current.source);
    }

    fn user(&mut self, current: &Current<'_, 'a>, message: &Fields<'a>) {
        let Some(value) = message.get("content").filter(|value| !says_nothing(value)) else {
            self.keep_raw(current, "malformed:user");
            return;
        };
        self.builder.understood();
        self.builder.new_turn();
        let (mut rest, mut labels) = Self::around(current, message, &["content"]);
        let who = (Role::User, Origin::User);
        let spans = content::parts(
            &mut self.builder,
            &current.wish,
            who,
            &current.source,
            value,
            &mut labels,
            &mut rest,
        );
        self.done(current, rest, "user", &spans);
    }

    /// What an extension put into the conversation. `fields` are the entry's own or its message's.
    pub(super) fn injected(
        &mut self,
        current: &Current<'_, 'a>,
        fields: &Fields<'a>,
        in_message: bool,
    ) {
        let Some(value) = fields.get("content").filter(|value| !says_nothing(value)) else {
            self.keep_raw(current, "malformed:custom");
            return;
        };
        self.builder.understood();
        let (mut rest, mut labels) = if in_message {
            Self::around(current, fields, &["content"])
        } else {
            let mut rest = Remainder::default();
            let mut labels = Labels::new();
            rest.add("", fields.rest_but(EXPRESSED, &["content"]));
            rest.lift("", "", &mut labels);
            (rest, labels)
        };
        labels.insert("injected".to_owned(), "extension".to_owned());
        let who = (Role::User, Origin::Harness);
        let spans = content::parts(
            &mut self.builder,
            &current.wish,
            who,
            &current.source,
            value,
            &mut labels,
            &mut rest,
        );
        self.done(current, rest, "custom", &spans);
    }

    fn assistant(&mut self, current: &Current<'_, 'a>, message: &Fields<'a>) {
        let blocks = match message.get("content") {
            Some(value) if value.get().starts_with('"') => vec![value],
            Some(value) => fields::list(value).unwrap_or_default(),
            None => Vec::new(),
        };
        if blocks.is_empty() {
            // A response that failed or was stopped before it said anything.
            let why = message.text("stopReason").unwrap_or_default();
            let known = ["aborted", "error"].contains(&why.as_str());
            let kind =
                if known { format!("{why}:assistant") } else { "malformed:assistant".into() };
            self.keep_raw(current, &kind);
            return;
        }
        self.builder.understood();
        let (mut rest, mut labels) = Self::around(current, message, &["content"]);
        let mut spans = Vec::new();
        let many = blocks.len() > 1;
        for (at, block) in blocks.into_iter().enumerate() {
            let wish = if many { format!("{}.{at}", current.wish) } else { current.wish.clone() };
            let own = std::mem::take(&mut labels);
            let (found, unexpressed) = self.block(current, wish, own, block);
            rest.add(&format!("content.{at}"), unexpressed);
            spans.extend(found);
        }
        self.done(current, rest, "assistant", &spans);
    }

    fn block(
        &mut self,
        current: &Current<'_, 'a>,
        wish: String,
        labels: Labels,
        block: &'a RawValue,
    ) -> (Vec<SpanId>, Vec<(String, &'a RawValue)>) {
        let source = &current.source;
        let who = |kind| (Role::Assistant, Origin::Model, kind);
        let fields = Fields::of(block);
        let kind = fields.as_ref().and_then(|fields| fields.text("type")).unwrap_or_default();
        let (mut draft, rest) = match (&fields, kind.as_str()) {
            (Some(fields), "text") if is_text(fields.get("text")) => {
                let Some(text) = fields.get("text") else { return (Vec::new(), Vec::new()) };
                let draft =
                    content::text(&mut self.builder, &wish, who(SpanKind::Message), source, text);
                (draft, fields.rest(&["type", "text"]))
            }
            (Some(fields), "thinking") => {
                let signed = fields.get("thinkingSignature").is_some_and(|v| !says_nothing(v));
                match fields.get("thinking").filter(|text| !signed && is_text(Some(text))) {
                    Some(text) => {
                        let who = who(SpanKind::Thinking);
                        let draft = content::text(&mut self.builder, &wish, who, source, text);
                        (draft, fields.rest(&["type", "thinking"]))
                    }
                    // Signed thinking stays what the provider will check.
                    None => {
                        let who = who(SpanKind::Thinking);
                        (Draft::json(&wish, who, source, block.get()), Vec::new())
                    }
                }
            }
            (Some(fields), "toolCall") => {
                let id = fields.text("id").filter(|id| !id.is_empty());
                let wish = id.clone().unwrap_or_else(|| format!("{wish}.call"));
                let mut draft = Draft::json(wish, who(SpanKind::ToolCall), source, "");
                draft.labels = labels;
                draft.in_window = !self.abandoned(id.as_deref());
                let call = Call {
                    id: fields.get("id"),
                    name: fields.get("name"),
                    arguments: fields.get("arguments"),
                };
                let rest = fields.rest(&["type", "id", "name", "arguments"]);
                return (vec![self.builder.call(call, draft)], rest);
            }
            (Some(fields), "image") => {
                let side = (Role::Assistant, Origin::Model);
                let part = (block, fields);
                let (spans, known) =
                    content::images(&mut self.builder, &wish, side, source, part, labels);
                return (spans, content::unexpressed(fields, known));
            }
            (None, _) if is_text(Some(block)) => {
                let who = who(SpanKind::Message);
                (content::text(&mut self.builder, &wish, who, source, block), Vec::new())
            }
            // Blocks not known here took part in the conversation all the same.
            _ => {
                let kind: String = kind.chars().take(64).collect();
                let draft = Draft::json(&wish, who(SpanKind::Message), source, block.get());
                (draft.label("block", kind), Vec::new())
            }
        };
        for (name, value) in labels {
            draft.labels.entry(name).or_insert(value);
        }
        (vec![self.builder.push(draft)], rest)
    }

    fn result(&mut self, current: &Current<'_, 'a>, message: &Fields<'a>) {
        self.builder.understood();
        let id = message.text("toolCallId").filter(|id| !id.is_empty());
        let mut known = vec!["content"];
        known.extend(id.as_ref().map(|_| "toolCallId"));
        // Anything but true says no error by its absence, or is kept.
        let odd = message.get("isError").filter(|value| value.get() != "true");
        if odd.is_none_or(says_nothing) {
            known.push("isError");
        }
        let (mut rest, labels) = Self::around(current, message, &known);
        let wish = format!("{}.result", id.as_deref().unwrap_or(&current.wish));
        let call = self.builder.answer(id.as_deref(), &wish);
        let result = ResultOf {
            wish,
            origin: Origin::Tool,
            source: &current.source,
            provider_id: id.as_deref(),
            call,
            is_error: message.flag("isError"),
            labels,
        };
        let answer = Answer::of(message.get("content"));
        let (spans, unexpressed) = content::tool_result(&mut self.builder, result, answer);
        rest.add("content", unexpressed);
        self.done(current, rest, "toolResult", &spans);
    }

    /// A command that the user ran beside the conversation, and what it printed.
    fn bash(&mut self, current: &Current<'_, 'a>, message: &Fields<'a>) {
        let Some(command) = message.get("command").filter(|value| is_text(Some(value))) else {
            self.keep_raw(current, "malformed:bashExecution");
            return;
        };
        self.builder.understood();
        let (rest, labels) = Self::around(current, message, &["command", "output"]);
        let shown = !message.flag("excludeFromContext");
        let source = &current.source;
        let who = (Role::User, Origin::User, SpanKind::Message);
        let mut draft = content::text(&mut self.builder, &current.wish, who, source, command);
        draft.labels.extend(labels);
        draft = draft.label("block", "bashExecution");
        draft.in_window = shown;
        let mut spans = vec![self.builder.push(draft)];
        if let Some(output) = message.get("output").filter(|value| !says_nothing(value)) {
            let wish = format!("{}.output", current.wish);
            let who = (Role::User, Origin::Tool, SpanKind::Note);
            let mut draft = content::text(&mut self.builder, &wish, who, source, output);
            draft.in_window = shown;
            spans.push(self.builder.push(draft));
        }
        self.done(current, rest, "bashExecution", &spans);
    }
}

fn is_text(value: Option<&RawValue>) -> bool {
    value.is_some_and(|value| value.get().starts_with('"'))
}
