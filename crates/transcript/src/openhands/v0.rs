//! V0 events: a word under `action` or `observation`, integer ids, `cause` from observation to
//! action.

use lacuna_core::{Digest, Origin, Role, SpanId, SpanKind};
use serde_json::value::RawValue;

use super::session::{Current, Reader, speaker};
use crate::builder::Call;
use crate::content::{self, Answer, Labels, ResultOf};
use crate::fields::{self, Fields, Remainder, says_nothing};
use crate::record::Draft;

/// Fields that spans express in their source or their order, `message` apart: see
/// [`Reader::v0_rest`].
const EXPRESSED: &[&str] = &["id", "timestamp", "cause"];
const HANDLED: &[&str] =
    &["action", "observation", "args", "content", "message", "tool_call_metadata"];

/// Actions and observations that the model does not see.
const UNSEEN_ACTIONS: &[&str] =
    &["change_agent_state", "null", "recall", "condensation_request", "loop_recovery"];
const UNSEEN_OBSERVATIONS: &[&str] =
    &["agent_state_changed", "null", "agent_condensation", "condense", "loop_detection"];

impl Reader {
    pub(super) fn v0_action(&mut self, current: &Current<'_, '_>, action: &str) {
        let args = current.fields.object("args");
        match (action, args) {
            (action, _) if UNSEEN_ACTIONS.contains(&action) => {
                self.keep_raw(current, &format!("action:{action}"));
            }
            ("condensation", Some(args)) => {
                let mut rest = self.v0_rest(current, None);
                rest.add("args", args.rest(&["summary"]));
                self.condense(current, &args, rest);
            }
            ("message", Some(args)) if args.get("content").is_some() => {
                let origin = speaker(current.fields);
                let role = match origin {
                    Origin::Model => Role::Assistant,
                    _ => Role::User,
                };
                self.v0_message(current, &args, (role, origin));
            }
            ("system", Some(args)) if args.get("content").is_some() => {
                self.v0_message(current, &args, (Role::System, Origin::System));
            }
            (_, args) => self.v0_call(current, args),
        }
    }

    /// What an event's spans do not express. The event's `message` is a rendering for people,
    /// unless it repeats the content.
    fn v0_rest<'a>(&mut self, current: &Current<'_, 'a>, content: Option<&str>) -> Remainder<'a> {
        let mut rest = Remainder::default();
        rest.add("", current.fields.rest_but(EXPRESSED, HANDLED));
        // Fields of the other kind of event, and fields that are not what they should be.
        let action = current.fields.text("action").is_some();
        let strangers: &[&str] =
            if action { &["content", "observation"] } else { &["args", "action"] };
        let odd = ["args", "tool_call_metadata"];
        let odd = odd.iter().filter(|name| current.fields.object(name).is_none());
        for name in strangers.iter().chain(odd) {
            rest.keep(current.fields, name);
        }
        let message = current.fields.get("message").filter(|value| !says_nothing(value));
        if let Some(message) = message
            && (content.is_none() || fields::text(message).as_deref() != content)
        {
            rest.add("message", vec![("text".to_owned(), message)]);
        }
        if let Some(metadata) = current.fields.object("tool_call_metadata") {
            let mut fields = metadata.rest(&["function_name", "tool_call_id"]);
            fields.retain(|(name, value)| {
                let response = name == "model_response";
                !response || self.responses.insert(Digest::of(value.get().as_bytes()))
            });
            rest.add("tool_call_metadata", fields);
        }
        rest
    }

    fn v0_message<'a>(
        &mut self,
        current: &Current<'_, 'a>,
        args: &Fields<'a>,
        (role, origin): (Role, Origin),
    ) {
        let Some(value) = args.get("content") else { return };
        self.builder.understood();
        if role == Role::User && origin == Origin::User {
            self.builder.new_turn();
        }
        let mut rest = self.v0_rest(current, fields::text(value).as_deref());
        rest.add("args", args.rest(&["content", "image_urls"]));
        let who = (role, origin, SpanKind::Message);
        let (wish, source) = (&current.wish, &current.source);
        let mut draft = content::text(&mut self.builder, wish, who, source, value);
        rest.lift("", "", &mut draft.labels);
        let mut spans = vec![self.builder.push(draft)];
        if let Some(urls) = args.get("image_urls").filter(|value| !says_nothing(value)) {
            let wish = format!("{wish}.image");
            let side = (role, origin);
            let part = (urls, args);
            let found =
                content::images(&mut self.builder, &wish, side, source, part, Labels::new());
            spans.extend(found.0);
        }
        self.became(current, &spans);
        let kind = current.fields.text("action").unwrap_or_default();
        self.builder.remainder(rest, &format!("action:{kind}"), wish, spans.first(), source);
    }

    /// Any other action is a tool call: as the model made it where that was kept, else as the
    /// harness carried it out.
    fn v0_call<'a>(&mut self, current: &Current<'_, 'a>, args: Option<Fields<'a>>) {
        self.builder.understood();
        let origin = speaker(current.fields);
        let role = if origin == Origin::Model { Role::Assistant } else { Role::User };
        let metadata = current.fields.object("tool_call_metadata");
        let id = metadata.as_ref().and_then(|metadata| metadata.get("tool_call_id"));
        let made = metadata.as_ref().and_then(|metadata| made(metadata, id?));
        let thought = args.as_ref().and_then(|args| args.get("thought"));
        let thought = thought.filter(|value| !says_nothing(value) && value.get().starts_with('"'));
        let mut rest = self.v0_rest(current, None);
        let mut labels = Labels::new();
        rest.lift("", "", &mut labels);
        if let (Some(args), true) = (&args, made.is_some()) {
            rest.add("args", args.rest(if thought.is_some() { &["thought"] } else { &[] }));
        }
        let (wish, source) = (&current.wish, &current.source);
        let mut spans = Vec::new();
        if let Some(thought) = thought {
            let wish = format!("{wish}.thought");
            let who = (role, origin, SpanKind::Message);
            let mut draft = content::text(&mut self.builder, &wish, who, source, thought);
            draft.labels.append(&mut labels);
            spans.push(self.builder.push(draft));
        }
        let provider_id = id.and_then(fields::text).filter(|id| !id.is_empty());
        let call_wish = provider_id.unwrap_or_else(|| format!("{wish}.call"));
        let name = metadata.as_ref().and_then(|metadata| metadata.get("function_name"));
        let mut draft = Draft::json(call_wish, (role, origin, SpanKind::ToolCall), source, "");
        draft.labels = labels;
        let call = Call {
            id,
            name: name.or(current.fields.get("action")),
            arguments: made.or(current.fields.get("args")),
        };
        let span = self.builder.call(call, draft);
        if let Some(event) = &current.id {
            let key = id.and_then(fields::text).unwrap_or_else(|| span.to_string());
            self.calls.insert(event.clone(), key);
        }
        spans.push(span);
        self.became(current, &spans);
        let kind = current.fields.text("action").unwrap_or_default();
        if name.is_some() {
            let action = current.fields.get("action").filter(|value| !says_nothing(value));
            rest.add(
                "action",
                action.map(|value| ("name".to_owned(), value)).into_iter().collect(),
            );
        }
        self.builder.remainder(rest, &format!("action:{kind}"), wish, spans.first(), source);
    }

    pub(super) fn v0_observation(&mut self, current: &Current<'_, '_>, observation: &str) {
        if UNSEEN_OBSERVATIONS.contains(&observation) {
            self.keep_raw(current, &format!("observation:{observation}"));
            return;
        }
        self.builder.understood();
        let content = current.fields.get("content");
        let mut rest = self.v0_rest(current, content.and_then(fields::text).as_deref());
        let mut labels = Labels::new();
        labels.insert("observation".to_owned(), observation.chars().take(64).collect());
        rest.lift("", "", &mut labels);
        let metadata = current.fields.object("tool_call_metadata");
        let id = metadata.as_ref().and_then(|metadata| metadata.text("tool_call_id"));
        let cause = current.fields.word("cause");
        let caused = cause.and_then(|cause| self.calls.get(&cause).cloned());
        let key = id.filter(|id| !id.is_empty()).or(caused);
        let spans = match (observation, key) {
            // Knowledge and errors that answer no call are said by the harness.
            ("recall", _) | ("error", None) => {
                self.v0_note(current, observation, labels, &mut rest)
            }
            (_, key) => {
                let wish = format!("{}.result", key.as_deref().unwrap_or(&current.wish));
                let call = self.builder.answer(key.as_deref(), &wish);
                let result = ResultOf {
                    wish,
                    origin: if observation == "user_rejected" {
                        Origin::Harness
                    } else {
                        Origin::Tool
                    },
                    source: &current.source,
                    provider_id: key.as_deref(),
                    call,
                    is_error: observation == "error",
                    labels,
                };
                let (spans, unexpressed) =
                    content::tool_result(&mut self.builder, result, Answer::of(content));
                rest.add("content", unexpressed);
                spans
            }
        };
        self.became(current, &spans);
        let kind = format!("observation:{observation}");
        self.builder.remainder(rest, &kind, &current.wish, spans.first(), &current.source);
    }

    /// What was recalled stands in `extras`; the content is only its headline.
    fn v0_note<'a>(
        &mut self,
        current: &Current<'_, 'a>,
        observation: &str,
        mut labels: Labels,
        rest: &mut Remainder<'a>,
    ) -> Vec<SpanId> {
        let who = (Role::User, Origin::Harness, SpanKind::Note);
        let (wish, source) = (&current.wish, &current.source);
        let content = current.fields.get("content");
        let mut draft = match (observation, current.fields.get("extras")) {
            ("recall", Some(extras)) => {
                rest.remove("", "extras");
                if let Some(content) = content.filter(|value| !says_nothing(value)) {
                    rest.add("content", vec![("text".to_owned(), content)]);
                }
                Draft::json(wish, who, source, extras.get())
            }
            _ => match content {
                Some(content) => content::text(&mut self.builder, wish, who, source, content),
                None => Draft::text(wish, who, source, ""),
            },
        };
        draft.labels.append(&mut labels);
        vec![self.builder.push(draft)]
    }
}

/// The arguments of the call with this id, as the model wrote them.
fn made<'a>(metadata: &Fields<'a>, id: &RawValue) -> Option<&'a RawValue> {
    let response = metadata.object("model_response")?;
    let choice = Fields::of(response.list("choices")?.first()?)?;
    let calls = choice.object("message")?.list("tool_calls")?;
    let mut calls = calls.into_iter().filter_map(Fields::of);
    let call = calls.find(|call| call.get("id").is_some_and(|own| own.get() == id.get()))?;
    call.object("function")?.get("arguments")
}
