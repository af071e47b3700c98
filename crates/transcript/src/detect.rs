//! Which format a file is in, from its beginning.

use crate::Format;
use crate::names;

/// Bytes of the head that are looked at.
const HEAD: usize = 256 << 10;
/// Nesting in which key names are collected.
const DEPTH: usize = 6;

/// The format of a file, judged by its first bytes; the name only decides where the content says
/// nothing. None if it is none of ours.
///
/// `head` may be cut anywhere; 64 KiB are plenty.
pub fn detect(path_name: &str, head: &[u8]) -> Option<Format> {
    let head = &head[..head.len().min(HEAD)];
    let keys = keys(head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head));
    by_content(&keys).or_else(|| by_name(path_name, &keys))
}

/// A key and the object that it stands in.
struct Key<'a> {
    object: usize,
    /// Nesting of objects only: lists around records do not count.
    depth: usize,
    name: &'a [u8],
    /// The value, where it is a string.
    text: Option<&'a [u8]>,
}

fn by_content(keys: &[Key<'_>]) -> Option<Format> {
    let objects = keys.iter().map(|key| key.object).max().map_or(0, |last| last + 1);
    let mut of: Vec<Vec<&Key<'_>>> = (0..objects).map(|_| Vec::new()).collect();
    for key in keys {
        of[key.object].push(key);
    }
    // Outer objects come first: the first that is telling decides. Chat messages are the least
    // telling: something more definite may follow.
    let mut chat = false;
    for fields in &of {
        let depth = fields.first().map_or(1, |key| key.depth);
        let has = |name: &str| fields.iter().any(|key| key.name == name.as_bytes());
        let text = |name: &str| {
            fields.iter().find(|key| key.name == name.as_bytes()).and_then(|key| key.text)
        };
        if depth == 1 && text("type").is_some() {
            if has("payload") {
                return None;
            }
            let pi_header = text("type") == Some(b"session") && has("id");
            if pi_header && (has("cwd") || has("version")) {
                return Some(Format::Pi);
            }
            if text("type") == Some(b"message") && has("parentId") && has("message") {
                return Some(Format::Pi);
            }
            if has("sessionId") || has("parentUuid") || has("leafUuid") {
                return Some(Format::ClaudeCode);
            }
            if text("type") == Some(b"file-history-snapshot") {
                return Some(Format::ClaudeCode);
            }
        }
        if depth <= 2 && has("source") && has("timestamp") {
            let word = text("action").is_some() || text("observation").is_some();
            let sdk = ["system_prompt", "llm_message", "tool_call_id", "llm_response_id"];
            if word || text("kind").is_some() || sdk.iter().any(|name| has(name)) {
                return Some(Format::Openhands);
            }
        }
        let atif = text("schema_version").is_some_and(|version| version.starts_with(b"ATIF"));
        if depth == 1 && (atif || (has("steps") && has("agent") && has("session_id"))) {
            return Some(Format::Atif);
        }
        if depth == 1 && (has("steps") || has("resourceSpans") || has("projectHash")) {
            return None;
        }
        // Messages as Anthropic's API has them are no chat completions.
        if text("type") == Some(b"tool_use") && has("input") {
            return None;
        }
        let speaks = has("content") || has("tool_calls") || has("function_call");
        let role = text("role").is_some_and(|role| {
            [&b"system"[..], b"developer", b"user", b"assistant", b"tool", b"function"]
                .contains(&role)
        });
        if !chat && role && speaks {
            let under_messages = keys.iter().any(|key| {
                key.depth < depth
                    && [&b"messages"[..], b"traj", b"conversation"].contains(&key.name)
            });
            if !(depth == 1 || under_messages) {
                return None;
            }
            chat = true;
        }
    }
    chat.then_some(Format::OpenaiChat)
}

fn by_name(path: &str, keys: &[Key<'_>]) -> Option<Format> {
    let base = path.rsplit('/').next().unwrap_or(path);
    let object = !keys.is_empty();
    if object && (base == "base_state.json" || base.starts_with("event-")) {
        return Some(Format::Openhands);
    }
    let agent = names::stem(base).starts_with("agent-") && base.ends_with(".jsonl");
    (object && agent && path.contains(".claude/")).then_some(Format::ClaudeCode)
}

/// The keys of a possibly cut JSON text, with a scanner that forgives everything.
fn keys(text: &[u8]) -> Vec<Key<'_>> {
    let mut keys: Vec<Key<'_>> = Vec::new();
    // Open brackets: the number of the object, or none for a list.
    let mut open: Vec<Option<usize>> = Vec::new();
    let (mut at, mut objects, mut after_colon) = (0, 0, false);
    while at < text.len() {
        match text[at] {
            b'{' => {
                open.push(Some(objects));
                (objects, after_colon) = (objects + 1, false);
            }
            b'[' => {
                open.push(None);
                after_colon = false;
            }
            b'}' | b']' => {
                open.pop();
                after_colon = false;
            }
            b',' | b'\n' => after_colon = false,
            b':' => after_colon = true,
            b'"' => {
                let start = at + 1;
                at = start;
                while at < text.len() && text[at] != b'"' {
                    at += if text[at] == b'\\' { 2 } else { 1 };
                }
                let string = &text[start.min(text.len())..at.min(text.len())];
                let depth = open.iter().flatten().count();
                match open.last() {
                    Some(Some(object)) if depth <= DEPTH && !after_colon => {
                        keys.push(Key { object: *object, depth, name: string, text: None });
                    }
                    Some(Some(object)) if after_colon => {
                        if let Some(key) = keys.last_mut().filter(|key| key.object == *object) {
                            key.text = Some(string);
                        }
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        at += 1;
    }
    keys
}
