//! `durability`, `tombstones`, `history`: pages of the journal's projections.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use lacuna_core::{SessionKey, SpanId, tombstone_text};
use lacuna_engine::SpanDurability;
use lacuna_wire::session::{
    CopyBody, DurabilityReply, DurabilityRequest, DurableSpanBody, HistoryReply, HistoryRequest,
    TombstoneBody, TombstonesReply, TombstonesRequest, span_ids,
};
use lacuna_wire::{WireError, cause_json, event_body};

use super::{expect_version, outcome_word};
use crate::error::wire_error;
use crate::fit::{encode_within, fitting, longest_event, shorten};
use crate::work::Inner;

/// Where a copy is that no external store holds.
const JOURNAL: &str = "journal";
/// The most that one page looks at.
const PAGE: usize = 1_000;

fn page(from: Option<u64>, of: usize) -> (usize, usize) {
    let start = usize::try_from(from.unwrap_or(0)).unwrap_or(usize::MAX).min(of);
    (start, start.saturating_add(PAGE).min(of))
}

pub(super) fn durability(
    inner: &Inner,
    key: &SessionKey,
    request: &DurabilityRequest,
    max: usize,
) -> Result<Vec<u8>, WireError> {
    let state = inner.journal.state(key).map_err(wire_error)?;
    expect_version(&state, request.expected_version)?;
    let (ids, all): (Vec<SpanId>, usize) = match &request.spans {
        Some(texts) => {
            let (start, end) = page(request.from, texts.len());
            (span_ids(&texts[start..end])?, texts.len())
        }
        None => {
            let (start, end) = page(request.from, state.spans().len());
            let ids = state.spans()[start..end].iter().map(|span| span.id.clone());
            (ids.collect(), state.spans().len())
        }
    };
    let (state, found) = inner.journal.durability(key, &ids).map_err(wire_error)?;
    let bodies: Vec<DurableSpanBody> = found.iter().map(durable).collect();
    let taken = fitting(&bodies, max)?;
    let end = page(request.from, all).0 + taken;
    let spans = bodies.into_iter().take(taken).collect();
    let next = (end < all).then_some(end as u64);
    encode_within(&DurabilityReply { version: state.version, spans, next }, max)
}

fn durable(span: &SpanDurability) -> DurableSpanBody {
    let copy = span.digest.zip(span.copy.as_ref()).map(|(digest, copy)| CopyBody {
        place: copy.store.clone().unwrap_or_else(|| JOURNAL.to_owned()),
        digest: digest.to_string(),
        verified_at: copy.verified_at.map(|time| time.to_string()),
        unanswered: copy.unanswered.clone(),
    });
    DurableSpanBody {
        id: span.span.to_string(),
        state: outcome_word(span.outcome),
        copies: copy.into_iter().collect(),
        durable_until: span.durable_until.map(|time| time.to_string()),
        holds: span.holds.clone(),
    }
}

pub(super) fn tombstones(
    inner: &Inner,
    key: &SessionKey,
    request: &TombstonesRequest,
    max: usize,
) -> Result<Vec<u8>, WireError> {
    let state = inner.journal.state(key).map_err(wire_error)?;
    expect_version(&state, request.expected_version)?;
    let ledger = state.ledger();
    let (start, end) = page(request.from, ledger.len());
    let bodies: Vec<TombstoneBody> = ledger[start..end]
        .iter()
        .map(|entry| {
            let span = state.span(entry.span);
            TombstoneBody {
                span: span.id.to_string(),
                tombstone: tombstone_text(&span.id),
                cause: cause_json(&entry.cause, entry.at),
                digest: span.digest.to_string(),
                bytes: span.bytes,
                tokens: span.tokens,
            }
        })
        .collect();
    let taken = fitting(&bodies, max)?;
    let end = start + taken;
    let next = (end < ledger.len()).then_some(end as u64);
    let tombstones = bodies.into_iter().take(taken).collect();
    encode_within(&TombstonesReply { version: state.version, tombstones, next }, max)
}

pub(super) fn history(
    inner: &Inner,
    key: &SessionKey,
    request: &HistoryRequest,
    max: usize,
) -> Result<Vec<u8>, WireError> {
    let from = request.from_version.unwrap_or(1).max(1);
    let limit = usize::try_from(request.limit.unwrap_or(PAGE as u64)).unwrap_or(PAGE);
    if limit == 0 {
        return Err(WireError::bad_request("limit is 0: ask for at least one event"));
    }
    if request.expected_version.is_some() {
        let state = inner.journal.state(key).map_err(wire_error)?;
        expect_version(&state, request.expected_version)?;
    }
    // No event is shorter than this as JSON: reading more than can fit would be for nothing.
    const SHORTEST: usize = 256;
    let limit = limit.min(PAGE).min(max / SHORTEST + 1);
    let recorded = inner.journal.history(key, from, limit).map_err(wire_error)?;
    let mut events = Vec::with_capacity(recorded.len());
    let mut names = HashMap::new();
    for event in &recorded {
        // A fork's history begins with what other sessions recorded.
        let name = match names.entry(event.session) {
            Entry::Occupied(name) => name.into_mut(),
            Entry::Vacant(vacant) => {
                let name = inner.journal.session_key(event.session).map_err(wire_error)?;
                vacant.insert(name.unwrap_or_else(|| key.clone()))
            }
        };
        let mut event = event_body(inner.journal.id(), name, event);
        shorten(&mut event, longest_event(max))?;
        events.push(event);
    }
    let taken = fitting(&events, max)?;
    events.truncate(taken);
    let next_version = events.last().map_or(from, |event| event.version + 1);
    encode_within(&HistoryReply { events, next_version }, max)
}
