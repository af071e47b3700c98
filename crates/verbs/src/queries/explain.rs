//! `explain`: what happened to a span, and what a summary says and leaves out.

use lacuna_core::retention::outcome as standing;
use lacuna_core::{KindCount, Outcome, SessionKey, SessionState, SpanId, SpanState};
use lacuna_engine::Then;
use lacuna_wire::WireError;
use lacuna_wire::session::{
    ClaimBody, ExplainReply, ExplainRequest, FindingBody, KindBody, OmittedBody, SummaryBody,
    ThenBody, span_id,
};

use super::moment::moment;
use super::story::story;
use super::{cause, evidence, expect_version, outcome_word};
use crate::error::wire_error;
use crate::fit::{as_many, encode, encode_within};
use crate::work::Inner;

pub(super) fn answer(
    inner: &Inner,
    key: &SessionKey,
    request: &ExplainRequest,
    max: usize,
) -> Result<Vec<u8>, WireError> {
    let id = span_id(&request.span)?;
    let state = inner.journal.state(key).map_err(wire_error)?;
    expect_version(&state, request.expected_version)?;
    let (retention, _) = inner.journal.retention(&key.tenant).map_err(wire_error)?;
    let span = state.find(&id);
    let mut reply = ExplainReply {
        span: id.to_string(),
        outcome: outcome_word(
            span.map_or(Outcome::NeverRecorded, |span| standing(&state, span, Some(&retention)).0),
        ),
        handle: span.map(|span| span.handle().to_string()),
        story: Vec::new(),
        next: None,
        then: match &request.at {
            Some(at) => {
                let until = moment(inner, key, &state, at)?;
                let then = inner.journal.then(key, until).map_err(wire_error)?;
                Some(then_body(inner, &then, &id))
            }
            None => None,
        },
        summary: None,
        evidence: evidence(inner, &state),
    };
    let from = usize::try_from(request.from.unwrap_or(0)).unwrap_or(usize::MAX);
    let omitted_from = request.omitted_from.unwrap_or(0);
    if let Some(span) = span.filter(|_| from == 0) {
        reply.summary = summary(inner, &state, span, omitted_from)?;
    }
    let mut story = story(inner, &state, &id)?;
    reply.story = story.split_off(from.min(story.len()));
    let whole = encode(&reply)?;
    if whole.len() <= max {
        return Ok(whole);
    }
    fit(&mut reply, from as u64, omitted_from, max)?;
    encode_within(&reply, max)
}

/// How a span stood at a moment, and whether it could have been recovered then.
fn then_body(inner: &Inner, then: &Then, id: &SpanId) -> ThenBody {
    let state = &then.state;
    let found = then.durability(id);
    let span = state.find(id);
    let erases_at = span.and_then(|span| then.outcome(span).1);
    let recoverable =
        matches!(found.outcome, Outcome::Live | Outcome::Recoverable | Outcome::Scheduled);
    let verified_at = found.copy.as_ref().and_then(|copy| copy.verified_at);
    let read = match verified_at {
        Some(at) => format!("it was last read back whole at {at}"),
        None => "it had not been read back since it was recorded".to_owned(),
    };
    let held = if found.holds.is_empty() { "" } else { ", and a hold kept it" };
    let why = match found.outcome {
        Outcome::Live => format!("it stood in the window, and its copy was kept: {read}{held}"),
        Outcome::Recoverable => {
            format!("it was out of the window, and its copy was kept: {read}{held}")
        }
        Outcome::Scheduled => format!("its copy was kept still, and its removal announced: {read}"),
        Outcome::Lossy => "it had been lost before".to_owned(),
        Outcome::Withheld => "its content was never stored, by request".to_owned(),
        Outcome::NeverRecorded => {
            let recorded = state.spans().len();
            format!("it had not been recorded: {recorded} spans had been, none of this name")
        }
    };
    ThenBody {
        at: then.time.to_string(),
        outcome: outcome_word(found.outcome),
        recoverable,
        why,
        verified_at: verified_at.map(|time| time.to_string()),
        durable_until: found.durable_until.map(|time| time.to_string()),
        erases_at: erases_at.map(|time| time.to_string()),
        holds: found.holds,
        cause: span.and_then(|span| cause(state, span)),
        evidence: evidence(inner, state),
    }
}

/// Cuts the lists so that they fit; the story, which is told in pages, has half of the room if it
/// needs it.
fn fit(
    reply: &mut ExplainReply,
    from: u64,
    omitted_from: u64,
    max: usize,
) -> Result<(), WireError> {
    let mut story = std::mem::take(&mut reply.story);
    reply.next = Some(u64::MAX);
    let told = as_many(&story, usize::MAX)?.1;
    if let Some(mut body) = reply.summary.take() {
        let lists = Lists::take(&mut body);
        reply.summary = Some(body);
        let room = max.saturating_sub(encode(reply)?.len());
        let room = room - told.min(room / 2);
        if let Some(body) = &mut reply.summary {
            lists.put(body, room, omitted_from)?;
        }
    }
    let room = max.saturating_sub(encode(reply)?.len());
    let mut kept = as_many(&story, room)?.0;
    if kept == 0
        && let Some(first) = story.first_mut()
    {
        // Paging always goes on: an entry that is longer than a message comes without the rest of
        // its reason.
        while encode(first)?.len() > room && first.why.as_mut().is_some_and(shorten) {}
        kept = 1;
    }
    reply.next = (kept < story.len()).then_some(from.saturating_add(kept as u64));
    story.truncate(kept);
    reply.story = story;
    Ok(())
}

/// The lists beside a summary's standing.
struct Lists {
    claims: Vec<ClaimBody>,
    findings: Vec<FindingBody>,
    identifiers: Vec<OmittedBody>,
}

impl Lists {
    /// Takes them out; what is left is the smallest reply.
    fn take(body: &mut SummaryBody) -> Self {
        let lists = Self {
            claims: body.claims.as_mut().map(std::mem::take).unwrap_or_default(),
            findings: std::mem::take(&mut body.findings),
            identifiers: std::mem::take(&mut body.omitted_identifiers),
        };
        body.claims_omitted = lists.claims.len() as u64;
        body.findings_omitted = lists.findings.len() as u64;
        body.omitted_next = Some(u64::MAX);
        lists
    }

    /// Puts back what fits into this many bytes, and counts the rest.
    fn put(mut self, body: &mut SummaryBody, room: usize, from: u64) -> Result<(), WireError> {
        let taken = |bytes: usize, of: usize| bytes.min(of);
        let identifiers = as_many(&self.identifiers, usize::MAX)?.1;
        let findings = as_many(&self.findings, usize::MAX)?.1;
        let mut left = room;
        // Each list may take what those behind it do not need of their equal shares.
        let behind = taken(findings, left / 3) + taken(identifiers, left / 3);
        let (kept, bytes) = as_many(&self.claims, left - behind)?;
        body.claims_omitted = (self.claims.len() - kept) as u64;
        self.claims.truncate(kept);
        left -= bytes;
        let (kept, bytes) = as_many(&self.findings, left - taken(identifiers, left / 2))?;
        body.findings_omitted = (self.findings.len() - kept) as u64;
        self.findings.truncate(kept);
        left -= bytes;
        let mut kept = as_many(&self.identifiers, left)?.0;
        if kept == 0
            && let Some(first) = self.identifiers.first_mut()
        {
            while encode(first)?.len() > left && shorten(&mut first.text) {}
            kept = 1;
        }
        let more = kept < self.identifiers.len();
        body.omitted_next = more.then_some(from.saturating_add(kept as u64));
        self.identifiers.truncate(kept);
        if let Some(claims) = &mut body.claims {
            *claims = self.claims;
        }
        body.findings = self.findings;
        body.omitted_identifiers = self.identifiers;
        Ok(())
    }
}

/// Halves a text and says that it did; says whether there is more to take.
fn shorten(text: &mut String) -> bool {
    const CUT: char = '…';
    let half = text.trim_end_matches(CUT).len() / 2;
    text.truncate(text.floor_char_boundary(half));
    text.push(CUT);
    half > 0
}

fn summary(
    inner: &Inner,
    state: &SessionState,
    span: &SpanState,
    omitted_from: u64,
) -> Result<Option<SummaryBody>, WireError> {
    let (Some(status), Some(depth)) = (span.summary_status(), span.depth()) else {
        return Ok(None);
    };
    let account = inner.journal.account(state, span).map_err(wire_error)?;
    let skipped = usize::try_from(omitted_from).unwrap_or(usize::MAX);
    Ok(account.map(|account| SummaryBody {
        status: status.word().to_owned(),
        depth,
        covers: state.covers(span).len() as u64,
        unreadable: account.claims.is_none(),
        claims: account.claims.map(|claims| claims.iter().map(Into::into).collect()),
        claims_omitted: 0,
        findings: account.findings.iter().map(Into::into).collect(),
        findings_omitted: 0,
        identifiers: account.identifiers.0,
        identifiers_kept: account.identifiers.1,
        kinds: account.examined.kinds.iter().map(kind).collect(),
        omitted_identifiers: account
            .examined
            .omitted
            .iter()
            .skip(skipped)
            .map(Into::into)
            .collect(),
        omitted_next: None,
    }))
}

fn kind(count: &KindCount) -> KindBody {
    KindBody {
        kind: count.kind.word().to_owned(),
        identifiers: count.identifiers,
        kept: count.kept,
    }
}
