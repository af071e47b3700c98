//! What two providers demand of a request, from their documentation: one that breaks a rule is
//! refused whole. Made for real transcripts, whose calls may carry any name their agents gave them.

use std::collections::BTreeSet;

use serde_json::Value;

type Verdict = Result<(), String>;

fn need(holds: bool, rule: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(rule()) }
}

fn only(object: &Value, allowed: &[&str]) -> Verdict {
    let map = object.as_object().ok_or_else(|| format!("no object: {object}"))?;
    let unknown = map.keys().find(|key| !allowed.contains(&key.as_str()));
    need(unknown.is_none(), || format!("unknown field {unknown:?} in {object}"))
}

fn name(value: &Value, longest: usize) -> Result<String, String> {
    let text = value.as_str().ok_or_else(|| format!("{value} is no string"))?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let fits = (1..=longest).contains(&text.len()) && text.bytes().all(plain);
    need(fits, || format!("{text:?} does not match ^[a-zA-Z0-9_-]{{1,{longest}}}$"))?;
    Ok(text.to_owned())
}

fn spoken(value: &Value) -> Verdict {
    let text = value.as_str().ok_or_else(|| format!("{value} is no text"))?;
    need(!text.trim().is_empty(), || format!("a blank text: {value}"))
}

fn list<'a>(value: &'a Value, what: &str) -> Result<&'a [Value], String> {
    match value.as_array() {
        Some(items) if !items.is_empty() => Ok(items),
        _ => Err(format!("{what}: {value}")),
    }
}

/// Messages of a chat-completions request.
pub(crate) fn openai_accepts(messages: &[Value]) -> Verdict {
    let mut used = BTreeSet::new();
    // Calls that must be answered before anything else is said.
    let mut open = BTreeSet::new();
    for message in messages {
        if message["role"] == "tool" {
            only(message, &["role", "content", "tool_call_id"])?;
            need(message["content"].is_string(), || format!("a result of no text: {message}"))?;
            let answered = message["tool_call_id"].as_str().unwrap_or_default();
            need(open.remove(answered), || format!("no open call {answered:?}"))?;
            continue;
        }
        need(open.is_empty(), || format!("{open:?} are not answered before {message}"))?;
        match message["role"].as_str() {
            Some("system" | "developer") => {
                only(message, &["role", "content"])?;
                need(message["content"].is_string(), || format!("no text: {message}"))?;
            }
            Some("user") => openai_user(message)?,
            Some("assistant") => {
                only(message, &["role", "content", "tool_calls"])?;
                let content = &message["content"];
                need(content.is_null() || content.is_string(), || format!("content: {message}"))?;
                if message.get("tool_calls").is_none() {
                    need(content.is_string(), || format!("neither text nor calls: {message}"))?;
                    continue;
                }
                for call in list(&message["tool_calls"], "tool_calls")? {
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

fn openai_user(message: &Value) -> Verdict {
    only(message, &["role", "content"])?;
    if message["content"].is_string() {
        return Ok(());
    }
    for part in list(&message["content"], "content of a user")? {
        match part["type"].as_str() {
            Some("text") => {
                only(part, &["type", "text"])?;
                need(part["text"].is_string(), || format!("no text: {part}"))?;
            }
            Some("image_url") => {
                only(part, &["type", "image_url"])?;
                let url = part["image_url"]["url"].as_str().unwrap_or_default();
                need(url.starts_with("data:image/"), || format!("no image: {part}"))?;
            }
            _ => return Err(format!("type of {part}")),
        }
    }
    Ok(())
}

fn openai_call(call: &Value) -> Result<String, String> {
    only(call, &["id", "type", "function"])?;
    only(&call["function"], &["name", "arguments"])?;
    need(call["type"] == "function", || format!("type of {call}"))?;
    need(call["function"]["arguments"].is_string(), || format!("arguments of {call}"))?;
    name(&call["function"]["name"], 64)?;
    name(&call["id"], 40)
}

/// System blocks and messages of an Anthropic request.
pub(crate) fn anthropic_accepts(system: &[Value], messages: &[Value]) -> Verdict {
    for block in system {
        only(block, &["type", "text"])?;
        need(block["type"] == "text", || format!("type of {block}"))?;
        spoken(&block["text"])?;
    }
    let mut used = BTreeSet::new();
    let mut open = BTreeSet::new();
    for (number, message) in messages.iter().enumerate() {
        only(message, &["role", "content"])?;
        let speaker = if number % 2 == 0 { "user" } else { "assistant" };
        need(message["role"] == speaker, || format!("message {number} is not {speaker}'s"))?;
        let blocks = list(&message["content"], "content")?;
        let results = blocks.iter().take_while(|block| block["type"] == "tool_result").count();
        for block in &blocks[..results] {
            only(block, &["type", "tool_use_id", "content"])?;
            let answered = block["tool_use_id"].as_str().unwrap_or_default();
            need(open.remove(answered), || format!("no open call {answered:?}"))?;
            if block.get("content").is_some() {
                spoken(&block["content"])?;
            }
        }
        need(open.is_empty(), || format!("{open:?} are not answered at once"))?;
        for block in &blocks[results..] {
            if block["type"] == "tool_use" {
                need(speaker == "assistant", || format!("a user calls: {block}"))?;
                let id = anthropic_call(block)?;
                need(used.insert(id.clone()), || format!("the call id {id} is used twice"))?;
                open.insert(id);
            } else {
                need(open.is_empty(), || format!("{block} stands behind a call"))?;
                anthropic_block(block, speaker)?;
            }
        }
    }
    need(open.is_empty(), || format!("{open:?} are never answered"))
}

fn anthropic_block(block: &Value, speaker: &str) -> Verdict {
    match (speaker, block["type"].as_str()) {
        (_, Some("text")) => {
            only(block, &["type", "text"])?;
            spoken(&block["text"])
        }
        ("user", Some("image")) => {
            only(block, &["type", "source"])?;
            only(&block["source"], &["type", "media_type", "data"])?;
            let media_type = block["source"]["media_type"].as_str().unwrap_or_default();
            let known = ["image/png", "image/jpeg", "image/gif", "image/webp"];
            need(known.contains(&media_type), || format!("media type {media_type:?}"))?;
            spoken(&block["source"]["data"])
        }
        ("assistant", Some("thinking")) => {
            only(block, &["type", "thinking", "signature"])?;
            let whole = block["thinking"].is_string() && block["signature"].is_string();
            need(whole, || format!("thinking without its signature: {block}"))
        }
        ("assistant", Some("redacted_thinking")) => {
            only(block, &["type", "data"])?;
            need(block["data"].is_string(), || format!("nothing redacted: {block}"))
        }
        _ => Err(format!("type of {block} in a message of the {speaker}")),
    }
}

fn anthropic_call(block: &Value) -> Result<String, String> {
    only(block, &["type", "id", "name", "input"])?;
    need(block["input"].is_object(), || format!("input of {block}"))?;
    name(&block["name"], 64)?;
    name(&block["id"], 64)
}
