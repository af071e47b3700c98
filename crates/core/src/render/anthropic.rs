//! The window as system and messages of an Anthropic messages request.

use serde_json::{Value, json};

use super::Shown;
use super::items::{Call, Item, Part, items};
use crate::SessionState;

/// Renders the window as the `system` blocks and `messages` of a messages request: roles alternate
/// from `user` on, every `tool_use` is answered by a `tool_result` at the head of the next message,
/// no text block is blank.
pub fn anthropic(state: &SessionState, window: &[Shown]) -> (Vec<Value>, Vec<Value>) {
    let mut system = Vec::new();
    let mut messages = Messages(Vec::new());
    for item in items(state, window, true) {
        match item {
            Item::System(_, text) => system.extend(text_block(&text)),
            Item::User(parts) => {
                messages.add("user", parts.into_iter().filter_map(user_block).collect());
            }
            Item::Assistant(parts, calls) => {
                let results: Vec<Value> = calls.iter().map(result_block).collect();
                let mut blocks: Vec<Value> =
                    parts.into_iter().filter_map(assistant_block).collect();
                blocks.extend(calls.into_iter().map(call_block));
                messages.add("assistant", blocks);
                messages.add("user", results);
            }
        }
    }
    (
        system,
        messages
            .0
            .into_iter()
            .map(|(role, blocks)| json!({ "role": role, "content": blocks }))
            .collect(),
    )
}

struct Messages(Vec<(&'static str, Vec<Value>)>);

impl Messages {
    fn add(&mut self, role: &'static str, blocks: Vec<Value>) {
        if blocks.is_empty() {
            return;
        }
        if self.0.is_empty() && role == "assistant" {
            let opening = json!({ "type": "text", "text": "[the window begins here]" });
            self.0.push(("user", vec![opening]));
        }
        match self.0.last_mut() {
            Some((last, content)) if *last == role => content.extend(blocks),
            _ => self.0.push((role, blocks)),
        }
    }
}

fn text_block(text: &str) -> Option<Value> {
    // A blank block is refused by the provider and says nothing.
    (!text.trim().is_empty()).then(|| json!({ "type": "text", "text": text }))
}

fn user_block(part: Part) -> Option<Value> {
    match part {
        Part::Text(text) | Part::Thinking { text, .. } => text_block(&text),
        Part::Image { media_type, base64 } => Some(json!({
            "type": "image",
            "source": { "type": "base64", "media_type": media_type, "data": base64 },
        })),
    }
}

fn assistant_block(part: Part) -> Option<Value> {
    match part {
        Part::Text(text) => text_block(&text),
        // The provider's own block goes back as it came: it is signed.
        Part::Thinking { block: Some(block), .. } => Some(block),
        Part::Thinking { text, block: None } if text.trim().is_empty() => None,
        Part::Thinking { text, block: None } => {
            text_block(&format!("<thinking>\n{text}\n</thinking>"))
        }
        Part::Image { media_type, .. } => text_block(&format!("[an image of type {media_type}]")),
    }
}

fn call_block(call: Call) -> Value {
    let input = match call.arguments {
        Value::Object(map) => Value::Object(map),
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Object(map)) => Value::Object(map),
            _ => json!({ "arguments": text }),
        },
        other => json!({ "arguments": other }),
    };
    json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": input })
}

fn result_block(call: &Call) -> Value {
    let content = call.results.join("\n");
    let mut block = json!({ "type": "tool_result", "tool_use_id": call.id });
    if !content.trim().is_empty() {
        block["content"] = Value::from(content);
    }
    block
}
