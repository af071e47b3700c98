//! The window as a neutral conversation: what both providers' renderings start from.
//!
//! Results are hoisted behind their calls wherever they stand in the window; a result that left
//! the window is represented there by its stub or tombstone.

use std::collections::{BTreeSet, HashMap};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::Shown;
use crate::state::Place;
use crate::{
    EntryKind, Role, SessionState, SpanIndex, SpanKind, SpanState, Storage, lost_since_text,
    stub_text, tombstone_text, unreadable_text, withheld_text,
};

/// One message of the conversation.
#[derive(Debug)]
pub(super) enum Item {
    /// A standing instruction, with its role.
    System(Role, String),
    /// The user's side.
    User(Vec<Part>),
    /// The model's side: parts, then calls with their results.
    Assistant(Vec<Part>, Vec<Call>),
}

/// One part of a message.
#[derive(Debug)]
pub(super) enum Part {
    /// Text.
    Text(String),
    /// An image of a type that providers take.
    Image { media_type: String, base64: String },
    /// Reasoning: a provider's own block where it was recorded as one.
    Thinking { text: String, block: Option<Value> },
}

/// A tool call with what stands for its result.
#[derive(Debug)]
pub(super) struct Call {
    /// An id that both providers accept, unique in the window.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: Value,
    pub(super) results: Vec<String>,
}

const IMAGES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Turns the window into a conversation.
///
/// `merge` puts neighbouring parts of the user's side into one message, for providers that want
/// roles to alternate; apart they page better.
pub(super) fn items(state: &SessionState, window: &[Shown], merge: bool) -> Vec<Item> {
    let contents: HashMap<SpanIndex, &Shown> = window
        .iter()
        .filter(|shown| shown.entry.kind == EntryKind::Span)
        .filter_map(|shown| Some((*shown.entry.spans.first()?, shown)))
        .collect();
    let hoisted: BTreeSet<SpanIndex> = contents
        .keys()
        .filter(|&&index| state.span(index).kind == SpanKind::ToolCall)
        .flat_map(|&index| state.span(index).results.iter().copied())
        .collect();
    let mut builder = Builder { state, contents, items: Vec::new(), open: false, merge };
    for shown in window {
        let spans = &shown.entry.spans;
        if spans.iter().all(|index| hoisted.contains(index)) {
            // The result (or its stand-in) has been shown behind its call; what the model says
            // next is another message.
            builder.open = false;
            continue;
        }
        builder.add(shown);
    }
    builder.items
}

struct Builder<'a> {
    state: &'a SessionState,
    contents: HashMap<SpanIndex, &'a Shown>,
    items: Vec<Item>,
    /// Whether the last message may still grow.
    open: bool,
    /// Whether the user's side grows at all.
    merge: bool,
}

impl Builder<'_> {
    fn add(&mut self, shown: &Shown) {
        let stand_in = shown.entry.text.as_deref();
        let Some(&index) = shown.entry.spans.first() else { return };
        let span = self.state.span(index);
        match shown.entry.kind {
            EntryKind::Stub | EntryKind::Tombstone => {
                self.user(Part::Text(stand_in.unwrap_or_default().to_owned()));
            }
            EntryKind::Summary => {
                let mut text = content_text(span, shown);
                if let Some(handles) = stand_in {
                    text.push('\n');
                    text.push_str(handles);
                }
                self.user(Part::Text(format!("[summary {}]\n{text}", span.handle())));
            }
            EntryKind::Span => self.add_span(span, shown),
        }
    }

    fn add_span(&mut self, span: &SpanState, shown: &Shown) {
        match (span.kind, span.role) {
            (SpanKind::ToolCall, _) => {
                let call = self.call(span, shown);
                self.assistant().1.push(call);
            }
            (SpanKind::ToolResult, _) => {
                let text = content_text(span, shown);
                self.user(Part::Text(format!("[result of a call outside the window]\n{text}")));
            }
            (SpanKind::Thinking, _) => {
                self.behind_calls();
                let part = thinking(content_text(span, shown));
                self.assistant().0.push(part);
            }
            (_, Role::System | Role::Developer) => {
                self.items.push(Item::System(span.role, content_text(span, shown)));
                self.open = false;
            }
            (_, Role::Assistant) => {
                let part = Part::Text(content_text(span, shown));
                self.behind_calls();
                self.assistant().0.push(part);
            }
            (_, Role::User | Role::Tool) => {
                let part = content_part(span, shown);
                self.user(part);
            }
        }
    }

    fn user(&mut self, part: Part) {
        match self.items.last_mut() {
            Some(Item::User(parts)) if self.open && self.merge => parts.push(part),
            _ => self.items.push(Item::User(vec![part])),
        }
        self.open = true;
    }

    /// What the model says behind calls belongs to its next message: providers put calls last.
    fn behind_calls(&mut self) {
        if matches!(self.items.last(), Some(Item::Assistant(_, calls)) if !calls.is_empty()) {
            self.open = false;
        }
    }

    fn assistant(&mut self) -> (&mut Vec<Part>, &mut Vec<Call>) {
        if !(self.open && matches!(self.items.last(), Some(Item::Assistant(..)))) {
            self.items.push(Item::Assistant(Vec::new(), Vec::new()));
        }
        self.open = true;
        match self.items.last_mut() {
            Some(Item::Assistant(parts, calls)) => (parts, calls),
            _ => unreachable!("an assistant message was pushed just before"),
        }
    }

    fn call(&self, span: &SpanState, shown: &Shown) -> Call {
        let text = content_text(span, shown);
        let (name, arguments) = match serde_json::from_str::<Value>(&text) {
            Ok(Value::Object(mut call)) if call.get("name").is_some_and(Value::is_string) => {
                let name = call["name"].as_str().unwrap_or_default().to_owned();
                let arguments = call.remove("arguments").or_else(|| call.remove("input"));
                (name, arguments.unwrap_or_else(|| json!({})))
            }
            _ => ("tool".to_owned(), json!({ "content": text })),
        };
        let results = span.results.iter().map(|&index| self.result(index)).collect::<Vec<_>>();
        Call {
            id: provider_id(span, self.state),
            name: provider_name(&name),
            arguments,
            results: if results.is_empty() {
                vec!["[no result recorded]".to_owned()]
            } else {
                results
            },
        }
    }

    fn result(&self, index: SpanIndex) -> String {
        let span = self.state.span(index);
        if span.loss.is_some() {
            return tombstone_text(&span.id);
        }
        match (span.place, self.contents.get(&index)) {
            (Place::Window, Some(shown)) => content_text(span, shown),
            _ => stub_text(&span.handle()),
        }
    }
}

/// A call id that every provider takes. Plain ids below the greatest length stay as they are; all
/// others are rewritten to just that length, with the span's index at the end: so no rewritten id
/// meets a plain one, nor another rewritten one.
fn provider_id(span: &SpanState, state: &SessionState) -> String {
    const MAX: usize = 40;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let id = span.id.as_str();
    if id.chars().all(plain) && id.len() < MAX {
        return id.to_owned();
    }
    let end = format!("_{}", state.index(&span.id).unwrap_or_default());
    let length = MAX - end.len();
    let rewritten: String =
        id.chars().take(length).map(|c| if plain(c) { c } else { '_' }).collect();
    format!("{rewritten:_<length$}{end}")
}

fn provider_name(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name: String = name.chars().take(64).map(|c| if plain(c) { c } else { '_' }).collect();
    if name.is_empty() { "tool".to_owned() } else { name }
}

fn thinking(text: String) -> Part {
    match serde_json::from_str::<Value>(&text) {
        Ok(block) if is_providers_own(&block) => {
            let text = block["thinking"].as_str().unwrap_or("[redacted]").to_owned();
            Part::Thinking { text, block: Some(block) }
        }
        _ => Part::Thinking { text, block: None },
    }
}

/// Whether this is a block of reasoning as its provider signed it; it refuses any other.
fn is_providers_own(block: &Value) -> bool {
    match block["type"].as_str() {
        Some("thinking") => block["thinking"].is_string() && block["signature"].is_string(),
        Some("redacted_thinking") => block["data"].is_string(),
        _ => false,
    }
}

fn content_part(span: &SpanState, shown: &Shown) -> Part {
    let media_type = span.media_type.as_ref();
    match &shown.content {
        Some(content) if IMAGES.contains(&media_type) && !content.is_empty() => Part::Image {
            media_type: media_type.to_owned(),
            base64: BASE64_STANDARD.encode(content),
        },
        _ => Part::Text(content_text(span, shown)),
    }
}

/// A span's content as text, or a text that stands for it.
pub(super) fn content_text(span: &SpanState, shown: &Shown) -> String {
    let Some(content) = &shown.content else {
        if let Some(lost) = &shown.lost_since {
            return lost_since_text(&span.handle(), lost);
        }
        return match (&span.storage, &shown.unreadable) {
            (Storage::Withheld { reason }, _) => withheld_text(&span.id, span.bytes, reason),
            (_, Some(why)) => unreadable_text(&span.handle(), why),
            (Storage::Journal | Storage::External { .. }, None) => {
                format!("[{}: {} bytes, not shown]", span.handle(), span.bytes)
            }
        };
    };
    match std::str::from_utf8(content) {
        Ok(text) => text.to_owned(),
        Err(_) => format!("[{}: {} bytes of {}]", span.handle(), span.bytes, span.media_type),
    }
}
