//! V1 events of the OpenHands SDK.

use lacuna_core::{Origin, Role, SpanId, SpanKind};
use serde_json::value::RawValue;

use super::session::{Current, Reader, speaker};
use crate::builder::Call;
use crate::content::{self, Answer, Labels, ResultOf};
use crate::fields::{self, Fields, Remainder, says_nothing};
use crate::record::{Draft, TEXT};

/// Fields that spans express in their source or their order.
const EXPRESSED: &[&str] = &["id", "timestamp", "kind", "parent_id"];

impl Reader {
    pub(super) fn v1_event(&mut self, current: &Current<'_, '_>, kind: &str) {
        match kind {
            "SystemPromptEvent" => self.system_prompt(current),
            "MessageEvent" => self.message_event(current),
            "ActionEvent" => self.action_event(current),
            "ObservationEvent" => self.observation_event(current),
            "UserRejectObservation" => self.refusal(current, "rejection_reason"),
            "AgentErrorEvent" => self.refusal(current, "error"),
            "Condensation" => {
                let mut rest = Remainder::default();
                rest.add("", current.fields.rest_but(EXPRESSED, &["summary"]));
                self.condense(current, current.fields, rest);
            }
            "CondensationSummaryEvent" if current.fields.text("summary").is_some() => {
                let text = current.fields.text("summary").unwrap_or_default();
                self.builder.understood();
                let who = (Role::User, Origin::Harness, SpanKind::Note);
                let draft = Draft::text(&current.wish, who, &current.source, text);
                let span = self.builder.push(draft.label("summary", "condensation by the agent"));
                self.became(current, std::slice::from_ref(&span));
                let mut rest = Remainder::default();
                rest.add("", current.fields.rest_but(EXPRESSED, &["summary"]));
                self.leftover(current, rest, kind, Some(&span));
            }
            kind => self.keep_raw(current, kind),
        }
    }

    fn leftover(
        &mut self,
        current: &Current<'_, '_>,
        rest: Remainder<'_>,
        kind: &str,
        first: Option<&SpanId>,
    ) {
        self.builder.remainder(rest, kind, &current.wish, first, &current.source);
    }

    fn system_prompt(&mut self, current: &Current<'_, '_>) {
        let prompt = current.fields.get("system_prompt");
        let Some(prompt) = prompt.filter(|value| !says_nothing(value)) else {
            self.keep_raw(current, "SystemPromptEvent");
            return;
        };
        self.builder.understood();
        let mut rest = Remainder::default();
        let known = ["system_prompt", "dynamic_context"];
        rest.add("", current.fields.rest_but(EXPRESSED, &known));
        let mut spans = vec![self.one_text(
            current,
            &current.wish,
            (Role::System, Origin::System),
            prompt,
            ("system_prompt", &mut rest),
        )];
        let context = current.fields.get("dynamic_context");
        if let Some(context) = context.filter(|value| !says_nothing(value)) {
            let wish = format!("{}.context", current.wish);
            let who = (Role::System, Origin::Harness);
            let path = ("dynamic_context", &mut rest);
            spans.push(self.one_text(current, &wish, who, context, path));
        }
        self.became(current, &spans);
        self.leftover(current, rest, "SystemPromptEvent", spans.first());
    }

    /// A text, bare or in a text part.
    fn one_text<'a>(
        &mut self,
        current: &Current<'_, '_>,
        wish: &str,
        (role, origin): (Role, Origin),
        value: &'a RawValue,
        (path, rest): (&str, &mut Remainder<'a>),
    ) -> SpanId {
        let who = (role, origin, SpanKind::Message);
        let part = Fields::of(value);
        let text = part.as_ref().and_then(|part| part.get("text"));
        if let (Some(part), Some(_)) = (&part, text) {
            let plain = part.text("type").as_deref() == Some("text");
            rest.add(path, part.rest(if plain { &["type", "text"] } else { &["text"] }));
        }
        let value = text.unwrap_or(value);
        let draft = content::text(&mut self.builder, wish, who, &current.source, value);
        self.builder.push(draft)
    }

    fn message_event(&mut self, current: &Current<'_, '_>) {
        let message = current.fields.object("llm_message");
        let role = message.as_ref().and_then(|message| message.text("role"));
        let role = role.as_deref().and_then(Role::from_word);
        let (Some(message), Some(role)) = (message, role) else {
            self.keep_raw(current, "malformed:MessageEvent");
            return;
        };
        self.builder.understood();
        let origin = match role {
            Role::System | Role::Developer => Origin::System,
            Role::Tool => Origin::Tool,
            Role::User | Role::Assistant => speaker(current.fields),
        };
        let mut rest = Remainder::default();
        let known = ["llm_message", "extended_content"];
        rest.add("", current.fields.rest_but(EXPRESSED, &known));
        let mut labels = Labels::new();
        rest.lift("", "", &mut labels);
        let thinking = ["reasoning_content", "thinking_blocks", "responses_reasoning_item"];
        let known = [&["role", "content", "tool_call_id"][..], &thinking].concat();
        rest.add("llm_message", message.rest(&known));
        if role == Role::User && origin == Origin::User {
            self.builder.new_turn();
        }
        let mut spans = self.thinking(current, &message, &mut labels, &mut rest);
        if role == Role::Tool {
            let id = message.text("tool_call_id").filter(|id| !id.is_empty());
            let answer = Answer::of(message.get("content"));
            spans.extend(self.result(current, id.as_deref(), answer, false, labels, &mut rest));
        } else {
            let content = message.get("content").filter(|value| !says_nothing(value));
            match content {
                Some(content) => spans.extend(content::parts(
                    &mut self.builder,
                    &current.wish,
                    (role, origin),
                    &current.source,
                    content,
                    &mut labels,
                    &mut rest,
                )),
                None if spans.is_empty() => {
                    let who = (role, origin, SpanKind::Message);
                    let mut draft = Draft::text(&current.wish, who, &current.source, "");
                    draft.labels = labels;
                    spans.push(self.builder.push(draft));
                }
                None => {}
            }
            if let Some(id) = message.get("tool_call_id").filter(|value| !says_nothing(value)) {
                rest.add("llm_message", vec![("tool_call_id".to_owned(), id)]);
            }
        }
        spans.extend(self.extended(current, &mut rest));
        self.became(current, &spans);
        self.leftover(current, rest, "MessageEvent", spans.first());
    }

    /// What the harness appended to a message or a result.
    fn extended<'a>(&mut self, current: &Current<'_, 'a>, rest: &mut Remainder<'a>) -> Vec<SpanId> {
        let parts = current.fields.get("extended_content").filter(|value| !says_nothing(value));
        let Some(parts) = parts else { return Vec::new() };
        let wish = format!("{}.extended", current.wish);
        let who = (Role::User, Origin::Harness);
        let mut labels = Labels::new();
        let mut extended = Remainder::default();
        let spans = content::parts(
            &mut self.builder,
            &wish,
            who,
            &current.source,
            parts,
            &mut labels,
            &mut extended,
        );
        rest.merge("extended_content", extended);
        spans
    }

    /// Thinking: signed blocks exactly as they are, else the plain text.
    fn thinking<'a>(
        &mut self,
        current: &Current<'_, '_>,
        fields: &Fields<'a>,
        labels: &mut Labels,
        rest: &mut Remainder<'a>,
    ) -> Vec<SpanId> {
        let who = (Role::Assistant, Origin::Model, SpanKind::Thinking);
        let source = &current.source;
        let mut drafts = Vec::new();
        let blocks = fields.list("thinking_blocks").unwrap_or_default();
        for (at, block) in blocks.iter().enumerate() {
            let wish = format!("{}.think{at}", current.wish);
            drafts.push(Draft::json(wish, who, source, block.get()));
        }
        if let (true, Some(odd)) = (blocks.is_empty(), fields.get("thinking_blocks"))
            && !says_nothing(odd)
        {
            rest.add("", vec![("thinking_blocks".to_owned(), odd)]);
        }
        let item = fields.get("responses_reasoning_item").filter(|value| !says_nothing(value));
        if let Some(item) = item {
            let wish = format!("{}.reasoning", current.wish);
            drafts.push(Draft::json(wish, who, source, item.get()));
        }
        let plain = fields.get("reasoning_content").filter(|value| !says_nothing(value));
        match plain {
            // Beside blocks, the plain text is a copy of theirs.
            Some(plain) if !drafts.is_empty() => {
                rest.add("", vec![("reasoning_content".to_owned(), plain)]);
            }
            Some(plain) => {
                let wish = format!("{}.think", current.wish);
                drafts.push(content::text(&mut self.builder, &wish, who, source, plain));
            }
            None => {}
        }
        let mut spans = Vec::new();
        for mut draft in drafts {
            for (name, value) in std::mem::take(labels) {
                draft.labels.entry(name).or_insert(value);
            }
            spans.push(self.builder.push(draft));
        }
        spans
    }

    fn action_event(&mut self, current: &Current<'_, '_>) {
        let fields = current.fields;
        self.builder.understood();
        let mut rest = Remainder::default();
        let known = [
            "thought",
            "reasoning_content",
            "thinking_blocks",
            "responses_reasoning_item",
            "tool_call",
            "tool_call_id",
            "tool_name",
        ];
        rest.add("", fields.rest_but(EXPRESSED, &known));
        let mut labels = Labels::new();
        rest.lift("", "", &mut labels);
        let mut spans = self.thinking(current, fields, &mut labels, &mut rest);
        if let Some(thought) = fields.get("thought").filter(|value| !says_nothing(value)) {
            let wish = format!("{}.thought", current.wish);
            let who = (Role::Assistant, Origin::Model);
            let source = &current.source;
            let mut inner = Remainder::default();
            let builder = &mut self.builder;
            let said =
                content::parts(builder, &wish, who, source, thought, &mut labels, &mut inner);
            spans.extend(said);
            rest.merge("thought", inner);
        }
        // The call as the model made it; without it, the action that the harness made of it.
        let call = fields.object("tool_call");
        let id = call.as_ref().and_then(|call| call.get("id")).or(fields.get("tool_call_id"));
        let name = call.as_ref().and_then(|call| call.get("name")).or(fields.get("tool_name"));
        let arguments = call.as_ref().and_then(|call| call.get("arguments"));
        match &call {
            Some(call) => rest.add("tool_call", call.rest(&["id", "name", "arguments"])),
            None => rest.keep(fields, "tool_call"),
        }
        let key = id.and_then(fields::text).filter(|id| !id.is_empty());
        for (field, used) in [("tool_call_id", id), ("tool_name", name)] {
            let value = fields.get(field);
            if value.map(RawValue::get) != used.map(RawValue::get) {
                let value = value.filter(|value| !says_nothing(value));
                rest.add("", value.map(|value| (field.to_owned(), value)).into_iter().collect());
            }
        }
        let wish = key.clone().unwrap_or_else(|| format!("{}.call", current.wish));
        let who = (Role::Assistant, Origin::Model, SpanKind::ToolCall);
        let mut draft = Draft::json(wish, who, &current.source, "");
        draft.labels = labels;
        let arguments = arguments.or(fields.get("action"));
        let span = self.builder.call(Call { id, name, arguments }, draft);
        let key = id.and_then(fields::text).unwrap_or_else(|| span.to_string());
        if let Some(event) = &current.id {
            self.calls.insert(event.clone(), key);
        }
        spans.push(span);
        self.became(current, &spans);
        self.leftover(current, rest, "ActionEvent", spans.first());
    }

    fn observation_event(&mut self, current: &Current<'_, '_>) {
        let value = current.fields.get("observation").filter(|value| !says_nothing(value));
        let Some(value) = value else {
            self.keep_raw(current, "malformed:ObservationEvent");
            return;
        };
        self.builder.understood();
        let mut rest = Remainder::default();
        let known = ["observation", "extended_content", "tool_call_id"];
        rest.add("", current.fields.rest_but(EXPRESSED, &known));
        let mut labels = Labels::new();
        rest.lift("", "", &mut labels);
        let observation = Fields::of(value);
        let content = observation.as_ref().and_then(|observation| observation.get("content"));
        let (answer, is_error) = match (&observation, content) {
            (Some(observation), Some(content)) => {
                let told = observation.get("is_error").is_none_or(|v| v.get() == "true");
                let known: &[&str] = if told { &["content", "is_error"] } else { &["content"] };
                rest.add("observation", observation.rest(known));
                (Answer::of(Some(content)), observation.flag("is_error"))
            }
            // Older observations name their content otherwise: all of it stays.
            _ => (Answer::of(Some(value)), false),
        };
        let mut spans = self.result(current, None, answer, is_error, labels, &mut rest);
        spans.extend(self.extended(current, &mut rest));
        self.became(current, &spans);
        self.leftover(current, rest, "ObservationEvent", spans.first());
    }

    /// A call that was not carried out: the harness says why.
    fn refusal(&mut self, current: &Current<'_, '_>, reason: &str) {
        let kind = current.fields.text("kind").unwrap_or_default();
        let Some(value) = current.fields.get(reason) else {
            self.keep_raw(current, &format!("malformed:{kind}"));
            return;
        };
        self.builder.understood();
        let mut rest = Remainder::default();
        let known = [reason, "tool_call_id"];
        rest.add("", current.fields.rest_but(EXPRESSED, &known));
        let mut labels = Labels::new();
        rest.lift("", "", &mut labels);
        let mut answer = Answer::of(Some(value));
        if fields::text(value).is_some_and(|text| text.is_empty()) {
            answer = Answer::new("", TEXT);
        }
        let spans =
            self.result_by(current, None, answer, (true, Origin::Harness), labels, &mut rest);
        self.became(current, &spans);
        self.leftover(current, rest, &kind, spans.first());
    }

    fn result<'a>(
        &mut self,
        current: &Current<'_, 'a>,
        id: Option<&str>,
        answer: Answer<'a>,
        is_error: bool,
        labels: Labels,
        rest: &mut Remainder<'a>,
    ) -> Vec<SpanId> {
        self.result_by(current, id, answer, (is_error, Origin::Tool), labels, rest)
    }

    fn result_by<'a>(
        &mut self,
        current: &Current<'_, 'a>,
        id: Option<&str>,
        answer: Answer<'a>,
        (is_error, origin): (bool, Origin),
        labels: Labels,
        rest: &mut Remainder<'a>,
    ) -> Vec<SpanId> {
        let fields = current.fields;
        let own = fields.text("tool_call_id").filter(|id| !id.is_empty());
        if own.is_none() {
            rest.keep(fields, "tool_call_id");
        }
        let action = fields.text("action_id").and_then(|id| self.calls.get(&id).cloned());
        let id = id.map(str::to_owned).or(own).or(action);
        let wish = format!("{}.result", id.as_deref().unwrap_or(&current.wish));
        let call = self.builder.answer(id.as_deref(), &wish);
        let provider_id = id.as_deref();
        let source = &current.source;
        let result = ResultOf { wish, origin, source, provider_id, call, is_error, labels };
        let (spans, unexpressed) = content::tool_result(&mut self.builder, result, answer);
        rest.add("content", unexpressed);
        spans
    }
}
