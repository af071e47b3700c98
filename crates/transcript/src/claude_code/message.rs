//! User and assistant records: one span per content block.

use lacuna_core::{Origin, Role, SpanId, SpanKind};
use serde_json::value::RawValue;

use super::origin;
use super::session::{Current, Reader};
use crate::builder::Call;
use crate::content::{self, Answer, Labels, ResultOf};
use crate::fields::{self, Fields, Remainder};
use crate::record::Draft;

/// The text of a message: a string, or its text blocks joined by line ends.
pub(super) fn plain_text(message: &Fields<'_>) -> Option<String> {
    let value = message.get("content")?;
    if let Some(text) = fields::text(value) {
        return Some(text);
    }
    let texts: Option<Vec<String>> =
        fields::list(value)?.into_iter().map(|block| Fields::of(block)?.text("text")).collect();
    texts.filter(|texts| !texts.is_empty()).map(|texts| texts.join("\n"))
}

/// A message's fields beside its content. Role and type are left out where they say what the
/// record's own type says.
pub(super) fn beside_content<'a>(message: &Fields<'a>, kind: &str) -> Vec<(String, &'a RawValue)> {
    let mut known = vec!["content"];
    if message.text("role").as_deref() == Some(kind) {
        known.push("role");
    }
    if message.text("type").as_deref() == Some("message") {
        known.push("type");
    }
    message.rest(&known)
}

/// What holds for all blocks of one message.
struct Side {
    assistant: bool,
    /// Who speaks on the assistant's side: the model, or the harness in its place.
    speaker: Origin,
    /// False for an error notice, which is never sent to the model.
    shown: bool,
}

impl Reader {
    pub(super) fn message(&mut self, current: &Current<'_, '_>, message: &Fields<'_>) {
        let blocks = match message.get("content") {
            Some(value) if value.get().starts_with('"') => vec![value],
            Some(value) => fields::list(value).unwrap_or_default(),
            None => Vec::new(),
        };
        if blocks.is_empty() {
            self.keep_raw(current, &format!("malformed:{}", current.kind));
            return;
        }
        self.envelope(current);
        self.builder.understood();
        let synthetic = message.text("model").as_deref() == Some("<synthetic>");
        let side = Side {
            assistant: current.kind == "assistant",
            speaker: if synthetic { Origin::Harness } else { Origin::Model },
            shown: !current.fields.flag("isApiErrorMessage"),
        };
        if !side.assistant && blocks.iter().any(|block| self.is_prompt(current, block)) {
            self.builder.new_turn();
        }
        let mut rest = Remainder::default();
        rest.add("", current.rest(&["message"]));
        rest.add("message", beside_content(message, &current.kind));
        let mut labels = Labels::new();
        rest.lift("", "", &mut labels);
        rest.lift("message", "message.", &mut labels);

        let mut spans = Vec::new();
        let many = blocks.len() > 1;
        for (at, block) in blocks.into_iter().enumerate() {
            let wish = if many { format!("{}.{at}", current.wish) } else { current.wish.clone() };
            let of = Block { current, side: &side, wish, labels: std::mem::take(&mut labels) };
            let (recorded, unexpressed) = self.block(of, block);
            rest.add(&format!("content.{at}"), unexpressed);
            spans.extend(recorded);
        }
        if let Some(uuid) = &current.source.id {
            self.spans.entry(uuid.clone()).or_default().extend(spans.iter().cloned());
        }
        let (wish, source) = (&current.wish, &current.source);
        self.builder.remainder(rest, &current.kind, wish, spans.first(), source);
    }

    /// Whether a block on the user's side is somebody's speech, and so begins a turn.
    fn is_prompt(&self, current: &Current<'_, '_>, block: &RawValue) -> bool {
        let fields = Fields::of(block);
        let kind = fields.as_ref().and_then(|fields| fields.text("type"));
        let text = match (&fields, kind.as_deref()) {
            (Some(fields), Some("text")) => fields.text("text").unwrap_or_default(),
            (Some(_), Some("image")) => String::new(),
            (Some(_), _) => return false,
            (None, _) => fields::text(block).unwrap_or_default(),
        };
        let (origin, _) = origin::of_prompt(&text, current.fields, self.sub_agent);
        origin != Origin::Harness
    }

    /// Records one content block; gives its spans and what they do not express.
    fn block<'a>(
        &mut self,
        of: Block<'_, '_>,
        block: &'a RawValue,
    ) -> (Vec<SpanId>, Vec<(String, &'a RawValue)>) {
        let source = &of.current.source;
        let Some(fields) = Fields::of(block) else {
            return (vec![self.text(of, block)], Vec::new());
        };
        let kind = fields.text("type").unwrap_or_default();
        match (kind.as_str(), of.side.assistant) {
            ("text", _) if fields.get("text").is_some_and(|t| t.get().starts_with('"')) => {
                let Some(text) = fields.get("text") else { return (Vec::new(), Vec::new()) };
                (vec![self.text(of, text)], fields.rest(&["type", "text"]))
            }
            ("thinking" | "redacted_thinking", true) => {
                let signed = fields.get("signature").is_some() || kind == "redacted_thinking";
                let who = (Role::Assistant, of.side.speaker, SpanKind::Thinking);
                match fields.get("thinking").filter(|_| !signed) {
                    Some(text) => {
                        let draft = content::text(&mut self.builder, &of.wish, who, source, text);
                        let span = self.push_block(of, draft);
                        (vec![span], fields.rest(&["type", "thinking"]))
                    }
                    None => {
                        let draft = Draft::json(&of.wish, who, source, block.get());
                        (vec![self.push_block(of, draft)], Vec::new())
                    }
                }
            }
            ("tool_use", true) => {
                let wish = fields.text("id").filter(|id| !id.is_empty());
                let wish = wish.unwrap_or_else(|| format!("{}.call", of.wish));
                let who = (Role::Assistant, of.side.speaker, SpanKind::ToolCall);
                let mut draft = Draft::json(wish, who, source, "");
                draft.labels = of.labels;
                draft.in_window = of.side.shown;
                let call = Call {
                    id: fields.get("id"),
                    name: fields.get("name"),
                    arguments: fields.get("input"),
                };
                (
                    vec![self.builder.call(call, draft)],
                    fields.rest(&["type", "id", "name", "input"]),
                )
            }
            ("tool_result", false) => {
                let id = fields.text("tool_use_id").filter(|id| !id.is_empty());
                let wish = id.as_ref().map_or(of.wish.clone(), |id| format!("{id}.result"));
                let call = self.builder.answer(id.as_deref(), &wish);
                let result = ResultOf {
                    wish,
                    origin: Origin::Tool,
                    source,
                    provider_id: id.as_deref(),
                    call,
                    is_error: fields.flag("is_error"),
                    labels: of.labels,
                };
                let answer = Answer::of(fields.get("content"));
                let (spans, mut rest) = content::tool_result(&mut self.builder, result, answer);
                let known: &[&str] =
                    if fields.get("tool_use_id").is_none_or(|v| fields::text(v).is_some()) {
                        &["type", "tool_use_id", "content", "is_error"]
                    } else {
                        &["type", "content", "is_error"]
                    };
                rest.extend(fields.rest(known));
                let odd = fields.get("is_error").filter(|value| value.get() != "true");
                let odd = odd.filter(|value| !fields::says_nothing(value));
                rest.extend(odd.map(|value| ("is_error".to_owned(), value)));
                (spans, rest)
            }
            ("image", assistant) => {
                let (role, origin) = if assistant {
                    (Role::Assistant, of.side.speaker)
                } else {
                    (Role::User, origin::of_prompt("", of.current.fields, self.sub_agent).0)
                };
                let part = (block, &fields);
                let (spans, known) = content::images(
                    &mut self.builder,
                    &of.wish,
                    (role, origin),
                    source,
                    part,
                    of.labels,
                );
                (spans, content::unexpressed(&fields, known))
            }
            // Blocks not known here took part in the conversation all the same.
            _ => {
                let (role, origin) = if of.side.assistant {
                    (Role::Assistant, of.side.speaker)
                } else {
                    (Role::User, Origin::Harness)
                };
                let who = (role, origin, SpanKind::Message);
                let draft = Draft::json(&of.wish, who, source, block.get());
                let draft = draft.label("block", kind.chars().take(64).collect::<String>());
                (vec![self.push_block(of, draft)], Vec::new())
            }
        }
    }

    fn text(&mut self, of: Block<'_, '_>, value: &RawValue) -> SpanId {
        let source = &of.current.source;
        let (role, origin, mark) = if of.side.assistant {
            (Role::Assistant, of.side.speaker, None)
        } else {
            let text =
                fields::text(value).unwrap_or_else(|| value.get().trim_matches('"').to_owned());
            let (origin, mark) = origin::of_prompt(&text, of.current.fields, self.sub_agent);
            (Role::User, origin, mark)
        };
        let who = (role, origin, SpanKind::Message);
        let mut draft = content::text(&mut self.builder, &of.wish, who, source, value);
        if let Some(mark) = mark {
            draft = draft.label("injected", mark);
        }
        self.push_block(of, draft)
    }

    fn push_block(&mut self, of: Block<'_, '_>, mut draft: Draft) -> SpanId {
        for (name, value) in of.labels {
            draft.labels.entry(name).or_insert(value);
        }
        draft.in_window = of.side.shown;
        self.builder.push(draft)
    }
}

/// One content block's place.
struct Block<'r, 'a> {
    current: &'r Current<'r, 'a>,
    side: &'r Side,
    wish: String,
    /// Labels of the record, for its first span.
    labels: Labels,
}
