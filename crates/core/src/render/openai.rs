//! The window as messages of an OpenAI chat-completions request.

use serde_json::{Value, json};

use super::Shown;
use super::items::{Call, Item, Part, items};
use crate::SessionState;

/// Renders the window as the `messages` of a chat-completions request: every assistant message
/// with `tool_calls` is followed at once by one `tool` message for each of them.
pub fn openai(state: &SessionState, window: &[Shown]) -> Vec<Value> {
    let mut messages = Vec::new();
    for item in items(state, window, false) {
        match item {
            Item::System(role, text) => {
                messages.push(json!({ "role": role.word(), "content": text }));
            }
            Item::User(parts) => messages.push(json!({ "role": "user", "content": user(parts) })),
            Item::Assistant(parts, calls) => assistant(parts, calls, &mut messages),
        }
    }
    messages
}

fn user(parts: Vec<Part>) -> Value {
    if let [Part::Text(text)] = parts.as_slice() {
        return Value::from(text.as_str());
    }
    let parts = parts.into_iter().map(|part| match part {
        Part::Text(text) | Part::Thinking { text, .. } => json!({ "type": "text", "text": text }),
        Part::Image { media_type, base64 } => {
            let url = format!("data:{media_type};base64,{base64}");
            json!({ "type": "image_url", "image_url": { "url": url } })
        }
    });
    Value::Array(parts.collect())
}

fn assistant(parts: Vec<Part>, calls: Vec<Call>, messages: &mut Vec<Value>) {
    let texts: Vec<String> = parts
        .into_iter()
        .map(|part| match part {
            Part::Text(text) => text,
            // Chat completions have no place for reasoning; the window shows it, so it is said.
            Part::Thinking { text, .. } => format!("<thinking>\n{text}\n</thinking>"),
            Part::Image { media_type, .. } => format!("[an image of type {media_type}]"),
        })
        .collect();
    let content = if texts.is_empty() { Value::Null } else { Value::from(texts.join("\n")) };
    let mut message = json!({ "role": "assistant", "content": content });
    if !calls.is_empty() {
        message["tool_calls"] = calls.iter().map(call).collect();
    }
    messages.push(message);
    for call in calls {
        messages.push(json!({
            "role": "tool",
            "tool_call_id": call.id,
            "content": call.results.join("\n"),
        }));
    }
}

fn call(call: &Call) -> Value {
    let arguments = match &call.arguments {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    json!({
        "id": call.id,
        "type": "function",
        "function": { "name": call.name, "arguments": arguments },
    })
}
