//! `expand`: the typed answer about whatever an address leads to.

use lacuna_core::retention::outcome as standing;
use lacuna_core::{
    Address, CommandStamp, DirectiveNo, Outcome, Principal, Purpose, Refusal, SessionKey,
    SessionState, SpanId, SpanState, tombstone_text,
};
use lacuna_engine::{Expanded, Lookup, Slice};
use lacuna_wire::session::{
    ClaimBody, ExpandReply, ExpandRequest, HandledBody, Identified, span_id,
};
use lacuna_wire::{WireError, cause_json, fingerprint};

use super::{as_text, cause, evidence, expect_version, outcome_word};
use crate::error::wire_error;
use crate::fit::{as_many, encode, encode_within, fitting};
use crate::identity::stamp;
use crate::work::Inner;

/// An `expand` request, read.
pub(super) struct Question {
    address: Address,
    offset: u64,
    limit: u64,
    spans_from: usize,
    purpose: Purpose,
    command_id: Option<CommandStamp>,
    expected_version: Option<u64>,
}

impl Question {
    pub(super) fn read(mut request: ExpandRequest) -> Result<Self, WireError> {
        let (command_id, expected_version) = request.take_identity();
        let command_id = stamp(command_id, || fingerprint("expand", &request, &[]))?;
        let address = match (&request.handle, &request.span) {
            (Some(handle), None) => {
                handle.parse().map_err(|error| WireError::bad_request(format!("{error}")))?
            }
            (None, Some(span)) => Address::Span(span_id(span)?),
            _ => return Err(WireError::bad_request("give either handle or span")),
        };
        let purpose = match request.purpose.as_deref() {
            None => Purpose::Expand,
            Some(text) => Purpose::from_word(text)
                .ok_or_else(|| WireError::bad_request("purpose is expand, audit or reground"))?,
        };
        Ok(Self {
            address,
            offset: request.offset.unwrap_or(0),
            limit: request.limit.unwrap_or(u64::MAX),
            spans_from: usize::try_from(request.spans_from.unwrap_or(0)).unwrap_or(usize::MAX),
            purpose,
            command_id,
            expected_version,
        })
    }

    pub(super) fn answer(
        &self,
        inner: &Inner,
        key: &SessionKey,
        principal: &Principal,
        max: usize,
    ) -> Result<Vec<u8>, WireError> {
        if self.expected_version.is_some() {
            let state = inner.journal.state(key).map_err(wire_error)?;
            expect_version(&state, self.expected_version)?;
        }
        // A first guess that fits unless the content needs much escaping.
        let mut limit = self.limit.min(max as u64);
        // Content that comes in parts leaves the lists beside the first one a quarter.
        let mut reserved = 0;
        loop {
            let expanded =
                inner.journal.expand(key, &self.address, self.offset, limit).map_err(wire_error)?;
            let (mut reply, beside) = self.reply(inner, &expanded, max)?;
            let bare = encode(&reply)?.len();
            let room = max - beside.size()?.min(reserved);
            let given = expanded.content.as_ref().map_or(0, |slice| slice.bytes.len() as u64);
            if bare <= room || given <= 1 {
                reply.duplicate = self.record(inner, key, principal, &expanded)?;
                beside.put(&mut reply, max)?;
                return encode_within(&reply, max);
            }
            let excess = bare as u64 * 10 / 9 / room as u64 + 1;
            limit = (given / excess.max(2)).max(1);
            reserved = max / 4;
        }
    }

    /// Readings as evidence are recorded before the content leaves, once it has been given whole: in one
    /// reply, or in parts from the first byte on. Says whether this very command was recorded before.
    fn record(
        &self,
        inner: &Inner,
        key: &SessionKey,
        principal: &Principal,
        expanded: &Expanded,
    ) -> Result<bool, WireError> {
        let (Lookup::Span(span), Some(slice)) = (&expanded.lookup, &expanded.content) else {
            return Ok(false);
        };
        if self.purpose == Purpose::Expand {
            return Ok(false);
        }
        let reader = (key.clone(), principal.clone(), span.clone());
        let to = slice.offset + slice.bytes.len() as u64;
        if !inner.readings.given(reader, slice.offset, to, slice.total) {
            return Ok(false);
        }
        inner
            .journal
            .record_read(key, principal, self.command_id.clone(), span.clone(), self.purpose)
            .map_err(wire_error)
    }

    /// The reply without what stands beside a summary's text, and that.
    fn reply(
        &self,
        inner: &Inner,
        expanded: &Expanded,
        max: usize,
    ) -> Result<(ExpandReply, Beside), WireError> {
        let state = &expanded.state;
        let mut reply = ExpandReply {
            outcome: outcome_word(expanded.outcome),
            span: None,
            handle: None,
            digest: None,
            bytes: None,
            tokens: None,
            role: None,
            origin: None,
            kind: None,
            media_type: None,
            hedged: None,
            recorded_at: None,
            content: None,
            content_b64: None,
            offset: None,
            total_bytes: None,
            erases_at: expanded.erases_at.map(|time| time.to_string()),
            tombstone: None,
            cause: None,
            directive: None,
            status: None,
            claims: None,
            claims_omitted: 0,
            spans: None,
            spans_omitted: 0,
            next: None,
            duplicate: false,
            evidence: evidence(inner, state),
        };
        let mut beside = Beside::default();
        match &expanded.lookup {
            Lookup::NeverRecorded => {}
            Lookup::Directive(number, spans) => {
                describe_directive(&mut reply, expanded, *number, spans, self.offset, max)?;
            }
            Lookup::Span(id) => {
                let found = state.find(id).ok_or_else(|| Refusal::UnknownSpan(vec![id.clone()]))?;
                describe_span(&mut reply, state, found, expanded);
                if found.is_summary() && self.offset == 0 {
                    let covers = state.covers(found);
                    let covers = covers.iter().skip(self.spans_from);
                    beside.spans = covers.map(|id| handled(expanded, id)).collect();
                    reply.spans = Some(Vec::new());
                    if expanded.content.is_some() && self.spans_from == 0 {
                        let claims = inner.journal.claims(found).map_err(wire_error)?;
                        reply.claims = claims.as_ref().map(|_| Vec::new());
                        beside.claims = claims.iter().flatten().map(Into::into).collect();
                    }
                }
            }
        }
        Ok((reply, beside))
    }
}

/// What stands beside the first part of a summary's text: as much of it as the message has room for.
#[derive(Default)]
struct Beside {
    claims: Vec<ClaimBody>,
    spans: Vec<HandledBody>,
}

impl Beside {
    /// The bytes that all of it takes.
    fn size(&self) -> Result<usize, WireError> {
        let claims = as_many(&self.claims, usize::MAX)?.1;
        Ok(claims + as_many(&self.spans, usize::MAX)?.1)
    }

    /// Puts what fits into the reply. Neither list takes more than half as long as the other one
    /// needs it.
    fn put(mut self, reply: &mut ExpandReply, max: usize) -> Result<(), WireError> {
        let mut room = max.saturating_sub(encode(reply)?.len());
        if self.size()? > room {
            reply.claims_omitted = self.claims.len() as u64;
            reply.spans_omitted = self.spans.len() as u64;
            room = max.saturating_sub(encode(reply)?.len());
        }
        let half = as_many(&self.spans, room / 2)?.1;
        let (claims, taken) = as_many(&self.claims, room - half)?;
        let spans = as_many(&self.spans, room - taken)?.0;
        reply.claims_omitted = (self.claims.len() - claims) as u64;
        reply.spans_omitted = (self.spans.len() - spans) as u64;
        self.claims.truncate(claims);
        self.spans.truncate(spans);
        if let Some(list) = &mut reply.claims {
            *list = self.claims;
        }
        if let Some(list) = &mut reply.spans
            && !self.spans.is_empty()
        {
            *list = self.spans;
        }
        Ok(())
    }
}

fn describe_span(
    reply: &mut ExpandReply,
    state: &SessionState,
    span: &SpanState,
    expanded: &Expanded,
) {
    reply.span = Some(span.id.to_string());
    reply.handle = Some(span.handle().to_string());
    reply.digest = Some(span.digest.to_string());
    reply.bytes = Some(span.bytes);
    reply.tokens = Some(span.tokens);
    reply.role = Some(span.role.word().to_owned());
    reply.origin = Some(span.origin.word().to_owned());
    reply.kind = Some(span.kind.word().to_owned());
    reply.media_type = Some(span.media_type.to_string());
    reply.hedged = Some(span.hedged);
    reply.recorded_at = Some(span.at.to_string());
    if expanded.outcome == Outcome::Lossy {
        reply.tombstone = Some(tombstone_text(&span.id));
    }
    if matches!(expanded.outcome, Outcome::Lossy | Outcome::Withheld) {
        reply.cause = cause(state, span);
    }
    if span.is_summary() {
        reply.status = span.summary_status().map(|status| status.word().to_owned());
    }
    if let Some(Slice { offset, bytes, total }) = &expanded.content {
        match as_text(bytes) {
            Ok(text) => reply.content = Some(text),
            Err(base64) => reply.content_b64 = Some(base64),
        }
        reply.offset = Some(*offset);
        reply.total_bytes = Some(*total);
    }
}

fn describe_directive(
    reply: &mut ExpandReply,
    expanded: &Expanded,
    number: DirectiveNo,
    spans: &[SpanId],
    skip: u64,
    max: usize,
) -> Result<(), WireError> {
    let state = &expanded.state;
    reply.directive = Some(number.to_string());
    reply.handle = Some(number.to_string());
    let Some(directive) = state.directive(number) else { return Ok(()) };
    reply.recorded_at = Some(directive.at.to_string());
    reply.status = Some(if directive.executed { "executed" } else { "rejected" }.to_owned());
    let skip = usize::try_from(skip).unwrap_or(usize::MAX).min(spans.len());
    let rest: Vec<HandledBody> = spans[skip..].iter().map(|id| handled(expanded, id)).collect();
    let taken = fitting(&rest, max)?;
    if taken < rest.len() {
        reply.next = Some((skip + taken) as u64);
    }
    reply.spans = Some(rest.into_iter().take(taken).collect());
    let lost = directive.spans.iter().find_map(|&index| state.tombstone(state.span(index)));
    if let Some(entry) = lost.filter(|_| reply.outcome == Outcome::Lossy.word()) {
        reply.cause = Some(cause_json(&entry.cause, entry.at));
    }
    Ok(())
}

fn handled(expanded: &Expanded, id: &SpanId) -> HandledBody {
    let (state, retention) = (&expanded.state, Some(&*expanded.retention));
    match state.find(id) {
        Some(span) => HandledBody {
            id: id.to_string(),
            handle: span.handle().to_string(),
            outcome: outcome_word(standing(state, span, retention).0),
            tokens: span.tokens,
        },
        // A refused directive may name what was never there.
        None => HandledBody {
            id: id.to_string(),
            handle: id.to_string(),
            outcome: outcome_word(Outcome::NeverRecorded),
            tokens: 0,
        },
    }
}
