//! Deciding a summary: the contract's rules over what examining the contents has shown.

use super::{Decision, Reply, bound, unknown};
use crate::command::Summarize;
use crate::contract::{Case, Examination, Omitted, findings};
use crate::event::{Alert, AlertRaised, SummaryRecorded, SummaryStatus};
use crate::refusal::list;
use crate::{
    Claim, Context, Contract, Event, Finding, Handle, Refusal, SessionState, SpanId, suggest,
};

/// Attempts to summarise the same spans that may be refused before the mechanical prune is offered.
pub const SUMMARY_ATTEMPTS: u32 = 3;

/// Attempts that may still be refused over these spans.
fn attempts_left(state: &SessionState, covers: &[SpanId]) -> u32 {
    SUMMARY_ATTEMPTS.saturating_sub(state.refused_attempts(covers))
}

/// The reply to a summary.
#[derive(Debug, Clone, PartialEq)]
pub struct SummaryReply {
    /// What became of it.
    pub status: SummaryStatus,
    /// Its span id.
    pub summary: SpanId,
    /// Its handle.
    pub handle: Handle,
    /// The session's version.
    pub version: u64,
    /// What is wrong with it, each with the sentence that says what to change.
    pub findings: Vec<(Finding, String)>,
    /// Identifiers of the covered spans that it leaves out, most telling first; cut short.
    pub omitted: Vec<Omitted>,
    /// How many it leaves out in all.
    pub omitted_total: u32,
    /// How many summaries deep it is.
    pub depth: u32,
    /// Attempts over these spans that may still be refused.
    pub attempts_left: u32,
    /// Spans that a mechanical prune may take instead, once no attempt is left.
    pub fallback: Option<Vec<SpanId>>,
}

pub(super) fn decide(
    state: &SessionState,
    summarize: &Summarize,
    context: &Context,
) -> Result<Decision, Refusal> {
    bounds(summarize, context)?;
    unknown(state, &summarize.covers)?;
    let unexamined = Examination::unread(summarize);
    let facts = context.examination.as_ref().unwrap_or(&unexamined);
    if facts.too_much {
        return Err(Refusal::TooLarge {
            what: "claims times the text that they cite, in bytes",
            given: u64::MAX,
            limit: crate::contract::MOST_BYTES as u64,
            advice: "make fewer claims, or cite shorter spans",
        });
    }
    let case = Case::new(state, summarize, &context.principal, facts);
    let id = match &summarize.id {
        None => assign(state),
        Some(id) => match state.find(id) {
            None => id.clone(),
            // Of the same words over other spans it is another summary: what it covers decides
            // what it may replace.
            Some(span)
                if span.is_summary()
                    && span.digest == summarize.digest
                    && state.covers(span) == case.covers()
                    && span.stored_claims() == Some(&facts.stored) =>
            {
                let status = span.summary_status().unwrap_or(SummaryStatus::Accepted);
                let reply = reply(&case, id, status, &[], state.version);
                return Ok(Decision {
                    events: Vec::new(),
                    reply: Reply::Summarized(Box::new(reply)),
                });
            }
            Some(_) => return Err(Refusal::SpanConflict(id.clone())),
        },
    };
    let found = findings(&case);
    let enforced = state.contract == Contract::Enforce;
    let status = match (enforced, found.is_empty()) {
        (false, _) => SummaryStatus::Accepted,
        (true, false) => SummaryStatus::Rejected,
        (true, true) if state.workers.contains(&context.principal) => SummaryStatus::NeedsAudit,
        (true, true) => SummaryStatus::Accepted,
    };
    let left_before = attempts_left(state, &summarize.covers);
    let id = match status {
        SummaryStatus::Rejected => refused_id(state, summarize.id.as_ref()),
        SummaryStatus::Accepted | SummaryStatus::NeedsAudit => id,
    };
    let (identifiers, identifiers_kept) = facts.identifiers();
    let mut events = Vec::new();
    // What is refused again and again is not recorded again and again.
    if status != SummaryStatus::Rejected || left_before > 0 {
        events.push(Event::SummaryRecorded(SummaryRecorded {
            span: id.clone(),
            covers: case.covers(),
            digest: summarize.digest,
            bytes: summarize.text.len() as u64,
            tokens: case.tokens(),
            claims: facts.stored,
            cites: case.cites(),
            asked: summarize.id.clone().filter(|asked| *asked != id),
            status,
            findings: found.clone(),
            depth: case.depth(),
            tag_tokens: case.tag_tokens(),
            identifiers,
            identifiers_kept,
        }));
        if status == SummaryStatus::Rejected && left_before == 1 {
            events.push(alert(&summarize.covers));
        }
    }
    let version = state.version + events.len() as u64;
    let mut reply = reply(&case, &id, status, &found, version);
    // An attempt that is not recorded has no name of its own.
    if events.is_empty()
        && let Some(last) = state.last_refused(&summarize.covers)
    {
        (reply.summary, reply.handle) = (last.id.clone(), last.handle());
    }
    if status == SummaryStatus::Rejected {
        reply.attempts_left = left_before.saturating_sub(1);
        if reply.attempts_left == 0 {
            let (covers, unreadable) = (&summarize.covers, &facts.unreadable);
            reply.fallback =
                suggest::fallback(state, covers, &context.principal, unreadable, &context.limits);
        }
    }
    Ok(Decision { events, reply: Reply::Summarized(Box::new(reply)) })
}

/// The reply that a summary got when it was recorded; `before` is the state it was decided on.
pub(super) fn reply_again(
    event: &SummaryRecorded,
    before: &SessionState,
    command: &Summarize,
    by: &crate::Principal,
    facts: Option<&Examination>,
    version: u64,
) -> SummaryReply {
    let unexamined = Examination::unread(command);
    let facts = facts.unwrap_or(&unexamined);
    let case = Case::new(before, command, by, facts);
    let mut reply = reply(&case, &event.span, event.status, &event.findings, version);
    reply.depth = event.depth;
    // What was counted then, whatever can still be read.
    reply.omitted_total = event.identifiers - event.identifiers_kept;
    if event.status == SummaryStatus::Rejected {
        let left = attempts_left(before, &command.covers);
        reply.attempts_left = left.saturating_sub(1);
        if reply.attempts_left == 0 {
            reply.fallback = suggest::fallback(
                before,
                &command.covers,
                by,
                &facts.unreadable,
                &crate::Limits::default(),
            );
        }
    }
    reply
}

fn reply(
    case: &Case<'_>,
    id: &SpanId,
    status: SummaryStatus,
    found: &[Finding],
    version: u64,
) -> SummaryReply {
    let said = found.iter().map(|finding| (finding.clone(), case.sentence(finding)));
    let (identifiers, kept) = case.facts.identifiers();
    SummaryReply {
        status,
        summary: id.clone(),
        handle: Handle::new(id, &case.summarize.digest),
        version,
        findings: said.collect(),
        omitted: case.facts.omitted.clone(),
        omitted_total: identifiers - kept,
        depth: case.depth(),
        attempts_left: SUMMARY_ATTEMPTS,
        fallback: None,
    }
}

fn alert(covers: &[SpanId]) -> Event {
    Event::AlertRaised(AlertRaised {
        alert: Alert::SummariesRefused,
        spans: covers.to_vec(),
        message: format!(
            "{SUMMARY_ATTEMPTS} summaries of {} were refused: look at their findings (history), or \
             prune mechanically as the reply offers",
            list(covers)
        ),
    })
}

fn bounds(summarize: &Summarize, context: &Context) -> Result<(), Refusal> {
    let limits = &context.limits;
    if summarize.covers.is_empty() {
        return Err(Refusal::BadRequest("covers is empty: name the spans it summarises".into()));
    }
    let covers = summarize.covers.len();
    bound("spans in covers", covers, limits.spans_per_directive, "summarise in steps")?;
    let claim_bytes = summarize.claims.iter().map(Claim::words).sum();
    bound("claims, in bytes", claim_bytes, limits.claim_bytes, "make fewer or shorter claims")?;
    let text_bytes = summarize.text.len() as u64;
    if text_bytes > limits.span_bytes {
        return Err(Refusal::TooLarge {
            what: "a summary's text, in bytes",
            given: text_bytes,
            limit: limits.span_bytes,
            advice: "shorten it",
        });
    }
    Ok(())
}

/// A refused attempt gets an id of its own, so that the id it asked for stays free for the next one.
fn refused_id(state: &SessionState, asked: Option<&SpanId>) -> SpanId {
    const ROOM: usize = 100;
    let base = asked.map_or("sum", |id| &id.as_str()[..id.as_str().len().min(ROOM)]);
    (1_u64..)
        .map(|n| format!("{base}:refused{n}").parse().expect("short and of a span id's characters"))
        .find(|id: &SpanId| state.index(id).is_none())
        .expect("a session holds fewer spans than there are numbers")
}

fn assign(state: &SessionState) -> SpanId {
    (1_u64..)
        .map(|n| format!("sum{n}").parse().expect("letters and digits are a valid span id"))
        .find(|id: &SpanId| state.index(id).is_none())
        .expect("a session holds fewer spans than there are numbers")
}
