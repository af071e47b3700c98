//! `export`: pages of events in their stored form, with their payloads.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use lacuna_core::SessionKey;
use lacuna_engine::{Export, Exported, Payload};
use lacuna_wire::session::{EventLine, ExportReply, ExportRequest, GoneBody};
use lacuna_wire::{WireError, event_body};

use super::{as_text, expect_version};
use crate::error::wire_error;
use crate::fit::{encode, encode_within, fitting};
use crate::work::Inner;

/// The most events in one page.
const PAGE: u64 = 1_000;
/// Bytes of events and payloads that one page reads, at most about.
const READ: usize = 8 << 20;

pub(super) fn answer(
    inner: &Inner,
    key: &SessionKey,
    request: &ExportRequest,
    max: usize,
) -> Result<Vec<u8>, WireError> {
    let from = request.payload_of.or(request.from_version).unwrap_or(1).max(1);
    let limit = if request.payload_of.is_some() { 1 } else { request.limit.unwrap_or(PAGE) };
    let limit = usize::try_from(limit.min(PAGE)).unwrap_or(usize::MAX);
    let export = inner.journal.export(key, from, limit, READ.min(max)).map_err(wire_error)?;
    expect_version(&export.state, request.expected_version)?;
    if request.payload_of.is_some() {
        return part(&export, request.offset.unwrap_or(0), max);
    }
    if request.offset.is_some() {
        return Err(WireError::bad_request("offset goes with payload_of: name the event"));
    }
    let mut events = Vec::with_capacity(export.events.len());
    for event in &export.events {
        let mut line = line(&export, event);
        if encode(&line)?.len() > max / 2 {
            (line.content, line.content_b64, line.claims_b64) = (None, None, None);
            line.payload_bytes = event.payload.bytes().map(|bytes| bytes.len() as u64);
        }
        if encode(&line)?.len() > max / 2 {
            // Whoever needs them reads them from the stored form.
            line.event.fields.clear();
        }
        events.push(line);
    }
    let taken = fitting(&events, max)?;
    events.truncate(taken);
    let next_version = events.last().map_or(from, |line| line.event.version + 1);
    encode_within(&ExportReply { events, next_version, ..reply(&export) }, max)
}

/// A part of one event's payload.
fn part(export: &Export, offset: u64, max: usize) -> Result<Vec<u8>, WireError> {
    let payload = export.events.first().and_then(|event| event.payload.bytes());
    let payload = payload.ok_or_else(|| {
        WireError::bad_request("the event of that version has no payload that could be read")
    })?;
    let begin = usize::try_from(offset).unwrap_or(usize::MAX).min(payload.len());
    // Base64 takes four bytes for three.
    let room = (max / 2).max(4) / 4 * 3;
    let end = begin.saturating_add(room).min(payload.len());
    let next_version = export.events.first().map_or(0, |event| event.recorded.version + 1);
    encode(&ExportReply {
        next_version,
        payload_b64: Some(BASE64_STANDARD.encode(&payload[begin..end])),
        total_bytes: Some(payload.len() as u64),
        ..reply(export)
    })
}

fn reply(export: &Export) -> ExportReply {
    let head = export.state.imported().map_or(export.state.head, |imported| imported.head);
    ExportReply {
        journal: export.journal.clone(),
        tenant: export.key.tenant.to_string(),
        session: export.key.session.to_string(),
        version: export.state.version,
        head: head.to_string(),
        ..ExportReply::default()
    }
}

fn line(export: &Export, event: &Exported) -> EventLine {
    let mut line = EventLine {
        event: event_body(&export.journal, &export.key, &event.recorded),
        stored: BASE64_STANDARD.encode(&event.stored),
        content: None,
        content_b64: None,
        claims_b64: None,
        gone: None,
        payload_bytes: None,
    };
    match &event.payload {
        Payload::None => {}
        Payload::Gone { version } => line.gone = Some(GoneBody { version: *version }),
        Payload::Whole { bytes, text } => {
            let (content, claims) = bytes.split_at((*text).min(bytes.len()));
            match as_text(content) {
                Ok(text) => line.content = Some(text),
                Err(base64) => line.content_b64 = Some(base64),
            }
            if !claims.is_empty() {
                line.claims_b64 = Some(BASE64_STANDARD.encode(claims));
            }
        }
    }
    line
}
