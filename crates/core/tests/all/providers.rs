//! What two providers demand of a request, written from their documentation and not from our
//! renderers: a request that breaks a rule is refused whole, and the agent stands still.

use std::collections::BTreeSet;

use lacuna_core::render::{anthropic, openai, text};
use lacuna_core::{EntryKind, stub_text};
use serde_json::Value;

use crate::scenario::Scenario;

/// Renders the window in every form; each must be valid and leave nothing out.
pub(crate) fn accept(scenario: &Scenario) {
    let (state, shown) = (scenario.state(), scenario.shown());
    let messages = openai(state, &shown);
    if let Err(why) = openai_accepts(&messages) {
        panic!("{why} in {} of {}", Value::from(messages), scenario.window());
    }
    nothing_is_left_out(scenario, "openai", &strings(&Value::from(messages)));
    let (system, messages) = anthropic(state, &shown);
    if let Err(why) = anthropic_accepts(&system, &messages) {
        panic!("{why} in {} of {}", Value::from(messages), scenario.window());
    }
    let said = strings(&Value::from([system, messages].concat()));
    nothing_is_left_out(scenario, "anthropic", &said);
    nothing_is_left_out(scenario, "text", &text(state, &shown));
}

fn nothing_is_left_out(scenario: &Scenario, form: &str, said: &str) {
    let state = scenario.state();
    for shown in scenario.shown() {
        for &index in &shown.entry.spans {
            let span = state.span(index);
            let stand_in = shown.entry.text.as_deref().unwrap_or_default();
            let present = match shown.entry.kind {
                // A result's stub may stand behind its call, alone, though the window shares it.
                EntryKind::Stub => {
                    said.contains(stand_in) || said.contains(&stub_text(&span.handle()))
                }
                EntryKind::Tombstone => said.contains(stand_in),
                EntryKind::Summary => said.contains(stand_in) && said.contains(span.id.as_str()),
                // Only contents that name their span can be told apart.
                EntryKind::Span => {
                    let marked = format!("text of {}", span.id);
                    let content = shown.content.as_deref().and_then(|c| str::from_utf8(c).ok());
                    let image = span.media_type.starts_with("image/");
                    image || !content.is_some_and(|c| c.contains(&marked)) || said.contains(&marked)
                }
            };
            assert!(present, "{form} leaves out {}: {said}", span.id);
        }
    }
}

/// Every string of a value, one a line.
fn strings(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text}\n"),
        Value::Array(values) => values.iter().map(strings).collect(),
        Value::Object(map) => map.values().map(strings).collect(),
        _ => String::new(),
    }
}

fn need(holds: bool, rule: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(rule()) }
}

fn only_keys(object: &Value, allowed: &[&str]) -> Result<(), String> {
    let map = object.as_object().ok_or_else(|| format!("no object: {object}"))?;
    match map.keys().find(|key| !allowed.contains(&key.as_str())) {
        Some(key) => Err(format!("unknown field {key} in {object}")),
        None => Ok(()),
    }
}

fn name(value: &Value, max: usize) -> Result<String, String> {
    let text = value.as_str().ok_or_else(|| format!("{value} is no string"))?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    need((1..=max).contains(&text.len()) && text.bytes().all(plain), || {
        format!("{text:?} does not match ^[a-zA-Z0-9_-]{{1,{max}}}$")
    })?;
    Ok(text.to_owned())
}

fn spoken(value: &Value) -> Result<(), String> {
    let text = value.as_str().ok_or_else(|| format!("{value} is no text"))?;
    need(!text.trim().is_empty(), || format!("a blank text: {value}"))
}

/// The rules of chat completions.
pub(crate) fn openai_accepts(messages: &[Value]) -> Result<(), String> {
    let mut used = BTreeSet::new();
    // Calls that the messages to come must answer before anything else is said.
    let mut open: BTreeSet<String> = BTreeSet::new();
    for message in messages {
        let role = message["role"].as_str().unwrap_or_default();
        if role == "tool" {
            only_keys(message, &["role", "content", "tool_call_id"])?;
            need(message["content"].is_string(), || format!("a result of no text: {message}"))?;
            let answered = message["tool_call_id"].as_str().unwrap_or_default();
            need(open.remove(answered), || format!("no open call {answered:?}"))?;
            continue;
        }
        need(open.is_empty(), || format!("{open:?} are not answered before {message}"))?;
        match role {
            "system" | "developer" => {
                only_keys(message, &["role", "content"])?;
                need(message["content"].is_string(), || format!("no text: {message}"))?;
            }
            "user" => openai_user(message)?,
            "assistant" => {
                only_keys(message, &["role", "content", "tool_calls"])?;
                let calls = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
                let silent = message["content"].is_null();
                need(silent || message["content"].is_string(), || format!("content of {message}"))?;
                need(!silent || !calls.is_empty(), || {
                    format!("neither text nor calls: {message}")
                })?;
                let named = message.get("tool_calls").is_some();
                need(!named || !calls.is_empty(), || "tool_calls is empty".into())?;
                for call in calls {
                    let id = openai_call(call)?;
                    need(used.insert(id.clone()), || format!("the call id {id} is used twice"))?;
                    open.insert(id);
                }
            }
            _ => return Err(format!("role of {message}")),
        }
    }
    need(open.is_empty(), || format!("{open:?} are never answered"))
}

fn openai_user(message: &Value) -> Result<(), String> {
    only_keys(message, &["role", "content"])?;
    if message["content"].is_string() {
        return Ok(());
    }
    let parts = message["content"].as_array().filter(|parts| !parts.is_empty());
    for part in parts.ok_or_else(|| format!("no content: {message}"))? {
        match part["type"].as_str() {
            Some("text") => {
                only_keys(part, &["type", "text"])?;
                need(part["text"].is_string(), || format!("no text: {part}"))?;
            }
            Some("image_url") => {
                only_keys(part, &["type", "image_url"])?;
                let url = part["image_url"]["url"].as_str().unwrap_or_default();
                need(url.starts_with("data:image/"), || format!("no image: {part}"))?;
            }
            _ => return Err(format!("type of {part}")),
        }
    }
    Ok(())
}

fn openai_call(call: &Value) -> Result<String, String> {
    only_keys(call, &["id", "type", "function"])?;
    only_keys(&call["function"], &["name", "arguments"])?;
    need(call["type"] == "function", || format!("type of {call}"))?;
    name(&call["function"]["name"], 64)?;
    need(call["function"]["arguments"].is_string(), || format!("arguments of {call}"))?;
    name(&call["id"], 40)
}

/// The rules of messages.
pub(crate) fn anthropic_accepts(system: &[Value], messages: &[Value]) -> Result<(), String> {
    for block in system {
        only_keys(block, &["type", "text"])?;
        spoken(&block["text"])?;
    }
    let mut used = BTreeSet::new();
    let mut open: BTreeSet<String> = BTreeSet::new();
    for (number, message) in messages.iter().enumerate() {
        only_keys(message, &["role", "content"])?;
        let expected = if number % 2 == 0 { "user" } else { "assistant" };
        need(message["role"] == expected, || format!("message {number} is not {expected}'s"))?;
        let blocks = message["content"].as_array().filter(|blocks| !blocks.is_empty());
        let blocks = blocks.ok_or_else(|| format!("message {number} has no content"))?;
        if expected == "user" {
            let heads = blocks.iter().take_while(|block| block["type"] == "tool_result");
            for block in heads {
                only_keys(block, &["type", "tool_use_id", "content"])?;
                let answered = block["tool_use_id"].as_str().unwrap_or_default();
                need(open.remove(answered), || format!("no open call {answered:?}"))?;
                if block.get("content").is_some() {
                    spoken(&block["content"])?;
                }
            }
            need(open.is_empty(), || format!("{open:?} are not answered at once"))?;
            let rest = blocks.iter().skip_while(|block| block["type"] == "tool_result");
            rest.into_iter().try_for_each(anthropic_user)?;
            continue;
        }
        for block in blocks {
            if block["type"] == "tool_use" {
                let id = anthropic_call(block)?;
                need(used.insert(id.clone()), || format!("the call id {id} is used twice"))?;
                open.insert(id);
            } else {
                need(open.is_empty(), || format!("{block} stands behind a call"))?;
                anthropic_assistant(block)?;
            }
        }
    }
    need(open.is_empty(), || format!("{open:?} are never answered"))
}

fn anthropic_user(block: &Value) -> Result<(), String> {
    match block["type"].as_str() {
        Some("text") => {
            only_keys(block, &["type", "text"])?;
            spoken(&block["text"])
        }
        Some("image") => {
            only_keys(&block["source"], &["type", "media_type", "data"])?;
            let media_type = block["source"]["media_type"].as_str().unwrap_or_default();
            let known = ["image/png", "image/jpeg", "image/gif", "image/webp"];
            need(known.contains(&media_type), || format!("media type of {block}"))?;
            spoken(&block["source"]["data"])
        }
        _ => Err(format!("type of {block} in a user message")),
    }
}

fn anthropic_assistant(block: &Value) -> Result<(), String> {
    match block["type"].as_str() {
        Some("text") => {
            only_keys(block, &["type", "text"])?;
            spoken(&block["text"])
        }
        Some("thinking") => {
            only_keys(block, &["type", "thinking", "signature"])?;
            need(block["thinking"].is_string() && block["signature"].is_string(), || {
                format!("thinking without its signature: {block}")
            })
        }
        Some("redacted_thinking") => {
            only_keys(block, &["type", "data"])?;
            need(block["data"].is_string(), || format!("nothing redacted: {block}"))
        }
        _ => Err(format!("type of {block} in an assistant message")),
    }
}

fn anthropic_call(block: &Value) -> Result<String, String> {
    only_keys(block, &["type", "id", "name", "input"])?;
    need(block["input"].is_object(), || format!("input of {block}"))?;
    name(&block["name"], 64)?;
    name(&block["id"], 64)
}

#[test]
fn the_rules_refuse_what_the_providers_refuse() {
    use serde_json::json;
    let call = json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": "c", "type": "function", "function": { "name": "f", "arguments": "{}" } } ] });
    let answer = json!({ "role": "tool", "tool_call_id": "c", "content": "" });
    let user = json!({ "role": "user", "content": "u" });
    assert_eq!(openai_accepts(&[call.clone(), answer.clone(), user.clone()]), Ok(()));
    for bad in [
        vec![call.clone()],
        vec![answer.clone()],
        vec![call.clone(), user.clone(), answer.clone()],
        vec![call.clone(), answer.clone(), answer.clone()],
        vec![call.clone(), answer.clone(), call.clone(), answer.clone()],
        vec![json!({ "role": "assistant", "content": null })],
        vec![json!({ "role": "user", "content": [] })],
    ] {
        assert!(openai_accepts(&bad).is_err(), "accepted {bad:?}");
    }
    let user = json!({ "role": "user", "content": [{ "type": "text", "text": "u" }] });
    let used = json!({ "role": "assistant", "content": [
        { "type": "tool_use", "id": "c", "name": "f", "input": {} }] });
    let answer =
        json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "c" }] });
    let late = json!({ "role": "user", "content": [
        { "type": "text", "text": "u" }, { "type": "tool_result", "tool_use_id": "c" }] });
    let blank = json!({ "role": "user", "content": [{ "type": "text", "text": " \n" }] });
    let unsigned =
        json!({ "role": "assistant", "content": [{ "type": "thinking", "thinking": "t" }] });
    assert_eq!(anthropic_accepts(&[], &[user.clone(), used.clone(), answer.clone()]), Ok(()));
    for bad in [
        vec![used.clone(), answer.clone()],
        vec![user.clone(), used.clone()],
        vec![user.clone(), used.clone(), user.clone()],
        vec![user.clone(), used.clone(), late],
        vec![user.clone(), user.clone()],
        vec![answer],
        vec![blank],
        vec![user, unsigned],
    ] {
        assert!(anthropic_accepts(&[], &bad).is_err(), "accepted {bad:?}");
    }
}
