//! `durability`, `tombstones`, `history`: pages of the journal's projections.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use lacuna_core::{SessionKey, SpanId, tombstone_text};
use lacuna_engine::SpanDurability;
use lacuna_wire::session::{
    CopyBody, DurabilityReply, DurabilityRequest, DurableSpanBody, HistoryReply, HistoryRequest,
    TombstoneBody, TombstonesReply, TombstonesRequest, span_ids,
};
use lacuna_wire::{Code, WireError, cause_json, event_body};
use serde_json::json;

use super::moment::{moment, time_of};
use super::{evidence, expect_version, outcome_word};
use crate::error::wire_error;
use crate::fit::{encode_within, fit_events, fitting};
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
    let current = inner.journal.state(key).map_err(wire_error)?;
    expect_version(&current, request.expected_version)?;
    let then = match &request.at {
        None => None,
        Some(at) => {
            let until = moment(inner, key, &current, at)?;
            Some(inner.journal.then(key, until).map_err(wire_error)?)
        }
    };
    let state = then.as_ref().map_or(&current, |then| &then.state);
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
    let (state, found) = match &then {
        None => inner.journal.durability(key, &ids).map_err(wire_error)?,
        Some(then) => (Arc::clone(&then.state), ids.iter().map(|id| then.durability(id)).collect()),
    };
    let mut bodies: Vec<DurableSpanBody> = found.iter().map(durable).collect();
    for (body, found) in bodies.iter_mut().zip(&found).filter(|_| then.is_some()) {
        if found.copy.is_some() {
            let now = current.find(&found.span).and_then(|span| current.tombstone(span));
            body.lost_since = now.map(|lost| cause_json(&lost.cause, lost.at));
        }
    }
    let taken = fitting(&bodies, max)?;
    let end = page(request.from, all).0 + taken;
    let reply = DurabilityReply {
        version: state.version,
        spans: bodies.into_iter().take(taken).collect(),
        next: (end < all).then_some(end as u64),
        as_of: then.map(|then| then.time.to_string()),
        evidence: evidence(inner, &state),
    };
    encode_within(&reply, max)
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
        lost_since: None,
    }
}

pub(super) fn tombstones(
    inner: &Inner,
    key: &SessionKey,
    request: &TombstonesRequest,
    max: usize,
) -> Result<Vec<u8>, WireError> {
    let current = inner.journal.state(key).map_err(wire_error)?;
    expect_version(&current, request.expected_version)?;
    let (state, as_of) = match &request.at {
        None => (current, None),
        Some(at) => {
            let until = moment(inner, key, &current, at)?;
            let state = inner.journal.state_until(key, until).map_err(wire_error)?;
            let as_of = time_of(until, &state).to_string();
            (state, Some(as_of))
        }
    };
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
    let reply = TombstonesReply {
        version: state.version,
        tombstones: bodies.into_iter().take(taken).collect(),
        next,
        as_of,
        evidence: evidence(inner, &state),
    };
    encode_within(&reply, max)
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
    let state = inner.journal.state(key).map_err(wire_error)?;
    expect_version(&state, request.expected_version)?;
    // No event is shorter than this as JSON: reading more than can fit would be for nothing.
    const SHORTEST: usize = 256;
    let limit = limit.min(PAGE).min(max / SHORTEST + 1);
    if let (Some(hash), true) = (&request.follows, from > 1) {
        let before = inner.journal.history(key, from - 1, 1).map_err(wire_error)?;
        if before.first().is_none_or(|event| event.hash.to_string() != *hash) {
            return Err(does_not_follow(&format!("version {}", from - 1)));
        }
    }
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
        events.push(event_body(inner.journal.id(), name, event));
    }
    // What was committed since the state was read is for the next page: the evidence is of this one.
    events.retain(|event| event.version <= state.version);
    fit_events(&mut events, max)?;
    let next_version = events.last().map_or(from, |event| event.version + 1);
    let evidence = evidence(inner, &state);
    encode_within(&HistoryReply { events, next_version, evidence }, max)
}

/// The refusal to go on behind an event that is not there as it was read.
pub(crate) fn does_not_follow(place: &str) -> WireError {
    WireError::new(
        Code::VersionConflict,
        format!(
            "the journal does not hold {place} as it was read: it was restored from an older copy, or is \
             another one; read it anew from the beginning"
        ),
    )
    .with(json!({ "follows": false }))
}
