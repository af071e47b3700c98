//! `window`: what the model is shown, now or then.

use lacuna_core::render::{self, Shown, entry_digest};
use lacuna_core::{EntryKind, SessionKey, SessionState, Storage, withheld_text};
use lacuna_wire::session::{EntryBody, WindowReply, WindowRequest};
use lacuna_wire::{WireError, cause_json};
use serde_json::Value;

use super::moment::moment;
use super::{as_text, cause, evidence, expect_version, piece_too_large};
use crate::error::wire_error;
use crate::fit::{encode, encode_within, fitting, headroom};
use crate::work::Inner;

pub(super) fn answer(
    inner: &Inner,
    key: &SessionKey,
    request: &WindowRequest,
    max: usize,
) -> Result<Vec<u8>, WireError> {
    let render = request.render.as_deref().unwrap_or("entries");
    if !matches!(render, "entries" | "text" | "openai" | "anthropic") {
        return Err(WireError::bad_request("render is entries, text, openai or anthropic"));
    }
    let current = inner.journal.state(key).map_err(wire_error)?;
    expect_version(&current, request.expected_version)?;
    // A moment of the past is answered as it would have been then, to the last field.
    let state = match &request.at {
        None => current,
        Some(at) => {
            let until = moment(inner, key, &current, at)?;
            inner.journal.state_until(key, until).map_err(wire_error)?
        }
    };
    let content = request.content.unwrap_or(true);
    // Rendered forms are whole or nothing; contents of entries may be left out one by one.
    let byte_limit = match (render, content) {
        ("entries", false) => 0,
        _ => inner.settings.window_bytes,
    };
    let (state, shown, cut) = inner.journal.window(key, state, byte_limit).map_err(wire_error)?;
    if cut && render != "entries" {
        let given = usize::try_from(state.budget().used_tokens * 4).unwrap_or(usize::MAX);
        let limit = usize::try_from(byte_limit).unwrap_or(usize::MAX);
        return Err(piece_too_large("the rendered window", given, limit));
    }
    let from = usize::try_from(request.from.unwrap_or(0)).unwrap_or(usize::MAX);
    let mut reply = WindowReply {
        version: state.version,
        entries: None,
        text: None,
        messages: None,
        system: None,
        next: None,
        budget: state.budget().into(),
        evidence: evidence(inner, &state),
    };
    match render {
        "entries" => {
            let entries = entries(&state, &shown, content, from, max)?;
            (reply.entries, reply.next) = (Some(entries.0), entries.1);
        }
        "text" => {
            let text = text_page(&render::text(&state, &shown), from, max)?;
            (reply.text, reply.next) = (Some(text.0), text.1);
        }
        "openai" => {
            let messages = pieces_page(render::openai(&state, &shown), from, max)?;
            (reply.messages, reply.next) = (Some(messages.0), messages.1);
        }
        _ => {
            let (system, messages) = render::anthropic(&state, &shown);
            let room = max.saturating_sub(encode(&system)?.len());
            let messages = pieces_page(messages, from, room)?;
            (reply.messages, reply.next) = (Some(messages.0), messages.1);
            reply.system = Some(system);
        }
    }
    encode_within(&reply, max)
}

fn entries(
    state: &SessionState,
    shown: &[Shown],
    content: bool,
    from: usize,
    max: usize,
) -> Result<(Vec<EntryBody>, Option<u64>), WireError> {
    let start = from.min(shown.len());
    let mut bodies = Vec::new();
    let mut room = max;
    for shown in &shown[start..] {
        let mut body = entry(state, shown, content);
        // A single piece that fills the message would keep paging from ever going on.
        if encode(&body)?.len() > max / 2 {
            let had = body.content.is_some() || body.content_b64.is_some();
            (body.content, body.content_b64) = (None, None);
            body.content_omitted |= had;
        }
        if let Some(spans) = &mut body.spans {
            let kept = fitting(spans, max / 2)?;
            body.spans_omitted = (spans.len() - kept) as u64;
            spans.truncate(kept);
        }
        room = room.saturating_sub(encode(&body)?.len());
        bodies.push(body);
        if room == 0 {
            break;
        }
    }
    let taken = fitting(&bodies, max)?;
    bodies.truncate(taken);
    let end = start + taken;
    Ok((bodies, (end < shown.len()).then_some(end as u64)))
}

fn entry(state: &SessionState, shown: &Shown, content: bool) -> EntryBody {
    let entry = &shown.entry;
    let mut body = EntryBody {
        digest: entry_digest(state, entry).to_string(),
        kind: entry.kind.word().to_owned(),
        tokens: entry.tokens,
        handle: entry.handle.clone(),
        text: entry.text.clone(),
        ..EntryBody::default()
    };
    let Some(&first) = entry.spans.first() else { return body };
    let span = state.span(first);
    if entry.kind == EntryKind::Stub {
        let ids = entry.spans.iter().map(|&index| state.span(index).id.to_string());
        body.spans = Some(ids.collect());
        body.pruned_tokens = Some(entry.pruned_tokens);
        if let [_] = entry.spans.as_slice() {
            body.id = Some(span.id.to_string());
        }
        return body;
    }
    body.id = Some(span.id.to_string());
    body.role = Some(span.role.word().to_owned());
    body.origin = Some(span.origin.word().to_owned());
    body.span_kind = Some(span.kind.word().to_owned());
    body.pinned = span.pinned;
    match entry.kind {
        EntryKind::Tombstone => {
            body.pruned_tokens = Some(entry.pruned_tokens);
            body.cause = cause(state, span);
        }
        EntryKind::Summary => {
            body.spans = Some(state.replaced_by(span).iter().map(ToString::to_string).collect());
            body.pruned_tokens = Some(entry.pruned_tokens);
            // Back in the window for itself, it has only its own handle.
            body.handle = body.handle.or_else(|| Some(span.handle().to_string()));
        }
        _ => body.handle = Some(span.handle().to_string()),
    }
    match &shown.content {
        Some(bytes) if content => match as_text(bytes) {
            Ok(text) => body.content = Some(text),
            Err(base64) => body.content_b64 = Some(base64),
        },
        _ => {
            if let (EntryKind::Span, Storage::Withheld { reason }) = (entry.kind, &span.storage) {
                body.text = Some(withheld_text(&span.id, span.bytes, reason));
            } else if let Some(lost) = &shown.lost_since {
                body.lost_since = Some(cause_json(&lost.cause, lost.at));
            } else if content && shown.unreadable.is_some() {
                body.unreadable = shown.unreadable.clone();
            } else if content && matches!(entry.kind, EntryKind::Span | EntryKind::Summary) {
                body.content_omitted = true;
            }
        }
    }
    body
}

fn pieces_page(
    pieces: Vec<Value>,
    from: usize,
    max: usize,
) -> Result<(Vec<Value>, Option<u64>), WireError> {
    let start = from.min(pieces.len());
    let taken = fitting(&pieces[start..], max)?;
    if taken == 1 {
        let size = encode(&pieces[start])?.len();
        if size > max {
            return Err(piece_too_large("a message of the window", size, max));
        }
    }
    let end = start + taken;
    let next = (end < pieces.len()).then_some(end as u64);
    Ok((pieces.into_iter().skip(start).take(taken).collect(), next))
}

/// A part of a text that fits once it is escaped, cut between characters. At least one character is
/// taken, so that paging always goes on.
fn text_page(text: &str, from: usize, max: usize) -> Result<(String, Option<u64>), WireError> {
    let room = max.saturating_sub(headroom(max));
    let start = text.floor_char_boundary(from);
    let mut end = text.len();
    loop {
        let page = &text[start..end];
        let encoded = encode(&page)?.len();
        let shortest = page.chars().next().map_or(0, char::len_utf8);
        if encoded <= room || page.len() <= shortest {
            return Ok((page.to_owned(), (end < text.len()).then_some(end as u64)));
        }
        let length = (page.len() * room / encoded).min(page.len() - 1);
        end = text.floor_char_boundary(start + length).max(start + shortest);
    }
}
