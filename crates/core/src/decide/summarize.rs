//! Recording a summary of spans.

use super::{Decision, Reply, bound, unknown};
use crate::command::Summarize;
use crate::event::SummaryRecorded;
use crate::{Context, Event, Handle, Refusal, SessionState, SpanId, estimate_tokens};

pub(super) fn decide(
    state: &SessionState,
    summarize: &Summarize,
    context: &Context,
) -> Result<Decision, Refusal> {
    let limits = &context.limits;
    if summarize.covers.is_empty() {
        return Err(Refusal::BadRequest("covers is empty: name the spans it summarises".into()));
    }
    bound(
        "spans in covers",
        summarize.covers.len(),
        limits.spans_per_directive,
        "summarise in steps",
    )?;
    let claim_bytes = summarize
        .claims
        .iter()
        .map(|claim| {
            let quotes = claim
                .sources
                .iter()
                .map(|s| s.span.as_str().len() + s.quote.as_ref().map_or(0, String::len));
            claim.text.len() + quotes.sum::<usize>()
        })
        .sum();
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
    if summarize.text.trim().is_empty() {
        return Err(Refusal::BadRequest("text is empty: a summary says something".into()));
    }
    let cited = summarize.claims.iter().flat_map(|claim| claim.sources.iter().map(|s| &s.span));
    unknown(state, summarize.covers.iter().chain(cited))?;
    let id = match &summarize.id {
        Some(id) => match state.find(id) {
            None => id.clone(),
            // Of the same words over other spans it is another summary: what it covers decides
            // what it may replace.
            Some(span)
                if span.is_summary()
                    && span.digest == summarize.digest
                    && state.covers(span) == summarize.covers =>
            {
                let (handle, version) = (span.handle(), state.version);
                return Ok(Decision {
                    events: Vec::new(),
                    reply: Reply::Summarized { summary: id.clone(), handle, version },
                });
            }
            Some(_) => return Err(Refusal::SpanConflict(id.clone())),
        },
        None => assign(state),
    };
    let handle = Handle::new(&id, &summarize.digest);
    Ok(Decision {
        events: vec![Event::SummaryRecorded(SummaryRecorded {
            span: id.clone(),
            covers: summarize.covers.clone(),
            digest: summarize.digest,
            bytes: text_bytes,
            tokens: estimate_tokens(text_bytes),
            claims: summarize.claims.clone(),
        })],
        reply: Reply::Summarized { summary: id, handle, version: state.version + 1 },
    })
}

fn assign(state: &SessionState) -> SpanId {
    (1_u64..)
        .map(|n| format!("sum{n}").parse().expect("letters and digits are a valid span id"))
        .find(|id: &SpanId| state.index(id).is_none())
        .expect("a session holds fewer spans than there are numbers")
}
