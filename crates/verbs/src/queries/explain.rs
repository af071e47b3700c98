//! `explain`: what happened to a span, from the events that name it.

use lacuna_core::event::{Event, PrunedSpan, Recorded};
use lacuna_core::{Cause, KindCount, Outcome, SessionKey, SessionState, SpanId, SpanState};
use lacuna_wire::WireError;
use lacuna_wire::session::{
    ExplainReply, ExplainRequest, KindBody, StoryBody, SummaryBody, contradiction_id, span_id,
};

use super::{evidence, expect_version, outcome_word};
use crate::error::wire_error;
use crate::fit::{encode, encode_within, fitting};
use crate::work::Inner;

/// Events read at a time.
const PAGE: usize = 4_096;

pub(super) fn answer(
    inner: &Inner,
    key: &SessionKey,
    request: &ExplainRequest,
    max: usize,
) -> Result<Vec<u8>, WireError> {
    let id = span_id(&request.span)?;
    let state = inner.journal.state(key).map_err(wire_error)?;
    expect_version(&state, request.expected_version)?;
    let span = state.find(&id);
    let mut reply = ExplainReply {
        span: id.to_string(),
        outcome: outcome_word(span.map_or(Outcome::NeverRecorded, |span| state.outcome(span))),
        handle: span.map(|span| span.handle().to_string()),
        story: Vec::new(),
        next: None,
        summary: None,
        evidence: evidence(inner, &state),
    };
    let from = usize::try_from(request.from.unwrap_or(0)).unwrap_or(usize::MAX);
    if let Some(span) = span.filter(|_| from == 0) {
        reply.summary = summary(inner, &state, span)?;
        let omitted_from = request.omitted_from.unwrap_or(0);
        // The claims and what is left out share the message with the story.
        fit_summary(&mut reply, omitted_from, max / 2)?;
    }
    let mut story = story(inner, key, &state, &id)?;
    let rest = story.split_off(from.min(story.len()));
    let room = max.saturating_sub(encode(&reply)?.len());
    let taken = fitting(&rest, room)?;
    reply.next = (taken < rest.len()).then_some((from + taken) as u64);
    reply.story = rest;
    reply.story.truncate(taken);
    encode_within(&reply, max)
}

/// Every event of the session that concerns the span, told from its side.
fn story(
    inner: &Inner,
    key: &SessionKey,
    state: &SessionState,
    id: &SpanId,
) -> Result<Vec<StoryBody>, WireError> {
    let mut story = Vec::new();
    let mut from = 1;
    while from <= state.version {
        let events = inner.journal.history(key, from, PAGE).map_err(wire_error)?;
        let Some(last) = events.last() else { break };
        from = last.version + 1;
        let until = events.iter().take_while(|recorded| recorded.version <= state.version);
        story.extend(until.filter_map(|recorded| entry(recorded, id)));
    }
    Ok(story)
}

fn entry(recorded: &Recorded, id: &SpanId) -> Option<StoryBody> {
    let (what, why) = tell(&recorded.event, id)?;
    Some(StoryBody {
        version: recorded.version,
        at: recorded.at.to_string(),
        by: recorded.principal.to_string(),
        what,
        why,
    })
}

fn tell(event: &Event, id: &SpanId) -> Option<(String, Option<String>)> {
    let plain = |what: String| Some((what, None));
    match event {
        Event::SpanRecorded(e) if e.span == *id => {
            let turn = e.turn.map(|turn| format!(" in turn {turn}")).unwrap_or_default();
            let hedged = if e.hedged { ", hedged" } else { "" };
            plain(format!("recorded as {} of origin {}{hedged}{turn}", e.kind, e.origin))
        }
        Event::SpanRecorded(e) if e.supersedes.as_ref() == Some(id) => {
            plain(format!("superseded by {}", e.span))
        }
        Event::SpanRecorded(e) if e.answers.as_ref() == Some(id) => {
            plain(format!("answered by {}", e.span))
        }
        Event::SummaryRecorded(e) if e.span == *id => {
            let codes: Vec<&str> = e.findings.iter().map(|finding| finding.code.word()).collect();
            let what = format!(
                "recorded as a summary of {} spans, depth {}: {}",
                e.covers.len(),
                e.depth,
                e.status
            );
            Some((what, (!codes.is_empty()).then(|| codes.join(", "))))
        }
        Event::SummaryRecorded(e) => {
            let word = match (e.covers.contains(id), e.cites.contains(id)) {
                (true, true) => "covered and cited",
                (true, false) => "covered",
                (false, true) => "cited",
                (false, false) => return None,
            };
            plain(format!("{word} by the summary {} ({})", e.span, e.status))
        }
        Event::SummaryAudited(e) if e.summary == *id => {
            let verdict = if e.pass { "passed" } else { "failed" };
            let counts = if e.accepted { "" } else { "; the audit does not count" };
            let remarks = e.notes.iter().filter_map(|note| note.message.clone());
            let codes = e.findings.iter().map(|finding| finding.code.word().to_owned());
            let why: Vec<String> = codes.chain(remarks).collect();
            Some((format!("{verdict} an audit{counts}"), (!why.is_empty()).then(|| why.join("; "))))
        }
        Event::PruneExecuted(e) => {
            if e.replace_with.as_ref() == Some(id) {
                return plain(format!(
                    "put in the place of {} spans by {}",
                    e.spans.len(),
                    e.directive
                ));
            }
            let own = e.spans.iter().find(|pruned| pruned.span == *id)?;
            let with = e.replace_with.as_ref().map(|with| format!(", replaced by {with}"));
            let with = with.unwrap_or_default();
            Some((format!("pruned under {}{with}: {}", e.directive, checks(own)), e.reason.clone()))
        }
        Event::PruneRejected(e) => {
            let own = e.spans.iter().find(|pruned| pruned.span == *id)?;
            Some((
                format!("kept: {} was refused ({}): {}", e.directive, e.why, checks(own)),
                Some(e.advice.clone()),
            ))
        }
        Event::LossyCommitted(e) => {
            e.spans.iter().find(|lost| lost.span == *id)?;
            Some(match &e.cause {
                Cause::Directive { directive, by } => (
                    format!("lost for good under {directive}"),
                    Some(format!("{by} consented to the loss")),
                ),
                Cause::Damage { found } => {
                    ("lost for good: its copy is damaged".to_owned(), Some(found.clone()))
                }
            })
        }
        Event::SpanRestored(e) if e.span == *id => plain("restored into the window".to_owned()),
        Event::SpanRead(e) if e.span == *id => plain(format!("read, purpose {}", e.purpose)),
        Event::ContradictionNoted(e) => {
            let other = e.spans.iter().find(|other| *other != id)?;
            e.spans.contains(id).then(|| {
                let number = contradiction_id(e.contradiction);
                (format!("declared to contradict {other} ({number})"), e.note.clone())
            })
        }
        Event::AlertRaised(e) if e.spans.contains(id) => {
            Some((format!("an alert was raised: {}", e.alert), Some(e.message.clone())))
        }
        _ => None,
    }
}

fn checks(pruned: &PrunedSpan) -> String {
    let word = |holds| if holds { "holds" } else { "fails" };
    let check = &pruned.check;
    let why = check.why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
    format!(
        "existence {}, addressability {}, provenance {}{why}",
        word(check.existence),
        word(check.addressability),
        word(check.provenance)
    )
}

fn summary(
    inner: &Inner,
    state: &SessionState,
    span: &SpanState,
) -> Result<Option<SummaryBody>, WireError> {
    let (Some(status), Some(depth)) = (span.summary_status(), span.depth()) else {
        return Ok(None);
    };
    let account = inner.journal.account(state, span).map_err(wire_error)?;
    Ok(account.map(|account| SummaryBody {
        status: status.word().to_owned(),
        depth,
        covers: state.covers(span).len() as u64,
        claims: account.claims.iter().map(Into::into).collect(),
        findings: account.findings.iter().map(Into::into).collect(),
        identifiers: account.examined.identifiers().0,
        identifiers_kept: account.examined.identifiers().1,
        kinds: account.examined.kinds.iter().map(kind).collect(),
        omitted_identifiers: account.examined.omitted.iter().map(Into::into).collect(),
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

/// Cuts a summary's lists so that it leaves room for the story; of the identifiers left out it tells
/// a page.
fn fit_summary(reply: &mut ExplainReply, omitted_from: u64, max: usize) -> Result<(), WireError> {
    let Some(body) = &mut reply.summary else { return Ok(()) };
    let skipped = usize::try_from(omitted_from).unwrap_or(usize::MAX);
    body.omitted_identifiers.drain(..skipped.min(body.omitted_identifiers.len()));
    if encode(body)?.len() <= max {
        return Ok(());
    }
    let part = max / 4;
    body.claims.truncate(fitting(&body.claims, part)?);
    body.findings.truncate(fitting(&body.findings, part)?);
    let taken = fitting(&body.omitted_identifiers, part)?;
    if taken < body.omitted_identifiers.len() {
        body.omitted_next = Some(omitted_from.saturating_add(taken as u64));
        body.omitted_identifiers.truncate(taken);
    }
    Ok(())
}
