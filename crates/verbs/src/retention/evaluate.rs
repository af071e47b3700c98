//! `evaluate`: how long something is kept, and why.

use std::collections::BTreeMap;

use lacuna_core::event::{Rule, Since};
use lacuna_core::retention::{
    Disposition, Facts, RetentionState, Until, Verdict, disposition, scheduled, survey, until,
};
use lacuna_core::{Origin, SpanKind, Tenant, Timestamp};
use lacuna_wire::WireError;
use lacuna_wire::retention::{AttributesBody, EvaluateReply, EvaluateRequest, policy_name};
use lacuna_wire::session::span_id;

use super::session_key;
use crate::error::wire_error;
use crate::fit::encode_within;
use crate::work::Inner;

/// Holds that a sentence names, and characters of their reasons.
const HOLDS: usize = 8;
const REASON: usize = 200;

pub(super) fn answer(
    inner: &Inner,
    tenant: &Tenant,
    request: &EvaluateRequest,
    max: usize,
) -> Result<Vec<u8>, WireError> {
    let (retention, _) = inner.journal.retention(tenant).map_err(wire_error)?;
    let now = inner.journal.now();
    let reply = match (&request.span, &request.attributes) {
        (Some(span), None) => of_span(inner, tenant, request, span, &retention, now)?,
        (None, Some(attributes)) => of_attributes(&request.session, attributes, &retention, now)?,
        _ => return Err(WireError::bad_request("give either span or attributes")),
    };
    encode_within(&reply, max)
}

fn of_span(
    inner: &Inner,
    tenant: &Tenant,
    request: &EvaluateRequest,
    span: &str,
    retention: &RetentionState,
    now: Timestamp,
) -> Result<EvaluateReply, WireError> {
    let key = session_key(inner, tenant, &request.session, request.expected_version)?;
    let state = inner.journal.state(&key).map_err(wire_error)?;
    let id = span_id(span)?;
    let unknown = || lacuna_core::Refusal::UnknownSpan(vec![id.clone()]);
    let index = state.index(&id).ok_or_else(unknown)?;
    let span = state.span(index);
    let facts = Facts::of(&state, span);
    // Among which it is the newest is only seen beside all of them.
    let surveyed = survey(&state, retention, u64::MAX).into_iter().find(|(at, _)| *at == index);
    let Some((_, verdict)) = surveyed else {
        let outcome = state.outcome(span).word();
        let verdict = until(retention, &facts, false);
        let mut reply = reply(&verdict, retention, &facts);
        reply.why = format!("nothing of it is kept here ({outcome}); {}", reply.why);
        return Ok(reply);
    };
    let mut reply = reply(&verdict, retention, &facts);
    let what = disposition(&state, index, &verdict, retention, now);
    reply.removable = what == Disposition::Remove;
    reply.erases_at = scheduled(&state, span, Some(retention)).map(|time| time.to_string());
    if what == Disposition::Deferred {
        reply.why += "; an open window points at it, so it stays until that is closed";
    }
    Ok(reply)
}

fn of_attributes(
    session: &str,
    attributes: &AttributesBody,
    retention: &RetentionState,
    now: Timestamp,
) -> Result<EvaluateReply, WireError> {
    let time = |text: &Option<String>| -> Result<Option<Timestamp>, WireError> {
        let read = |text: &String| {
            text.parse().map_err(|error| WireError::bad_request(format!("{error}")))
        };
        text.as_ref().map(read).transpose()
    };
    let bad = |what: &str, text: &str| {
        let text: String = text.chars().take(40).collect();
        WireError::bad_request(format!("{text:?} is no {what}: the contract lists them"))
    };
    let origin = &attributes.origin;
    let origin = Origin::from_word(origin).ok_or_else(|| bad("origin", origin))?;
    let kind = attributes.kind.as_deref().unwrap_or("message");
    let kind = SpanKind::from_word(kind).ok_or_else(|| bad("kind", kind))?;
    let recorded_at = time(&attributes.recorded_at)?.unwrap_or(now);
    let pruned_at = match (time(&attributes.pruned_at)?, attributes.pruned) {
        (Some(_), Some(false)) => {
            return Err(WireError::bad_request("pruned is false, but pruned_at says when it was"));
        }
        (at @ Some(_), _) => at,
        // It has left the window by now; when is not said.
        (None, Some(true)) => Some(now),
        (None, _) => None,
    };
    let (labels, none) = (attributes.labels.clone().unwrap_or_default(), BTreeMap::new());
    let facts = Facts {
        session,
        session_labels: &none,
        labels: &labels,
        origin,
        kind,
        recorded_at,
        pruned_at,
        closed_at: time(&attributes.closed_at)?,
    };
    let verdict = until(retention, &facts, false);
    let mut reply = reply(&verdict, retention, &facts);
    reply.removable =
        reply.held_by.is_empty() && matches!(verdict.until, Until::At(time) if time <= now);
    Ok(reply)
}

fn reply(verdict: &Verdict<'_>, retention: &RetentionState, facts: &Facts<'_>) -> EvaluateReply {
    let holds: Vec<_> = retention.held_by(facts).collect();
    let policy = policy_name(retention.policy);
    let mut why = match (verdict.rule, &policy) {
        (None, None) => "no policy was ever set: everything is kept for ever".to_owned(),
        (None, Some(policy)) => format!("no rule of {policy} matches: it is kept for ever"),
        (Some(rule), Some(policy)) => {
            format!("rule {} of {policy} {}", rule.id, says(rule, verdict.until))
        }
        (Some(rule), None) => format!("rule {} {}", rule.id, says(rule, verdict.until)),
    };
    for hold in holds.iter().take(HOLDS) {
        let mut reason: String = hold.reason.chars().take(REASON).collect();
        if reason.len() < hold.reason.len() {
            reason.push('…');
        }
        why += &format!("; {} holds it ({reason})", hold.name());
    }
    if holds.len() > HOLDS {
        why += &format!("; and {} more holds", holds.len() - HOLDS);
    }
    EvaluateReply {
        keep_until: match verdict.until {
            Until::At(time) => Some(time.to_string()),
            _ => None,
        },
        removable: false,
        rule: verdict.rule.map(|rule| rule.id.clone()),
        policy,
        held_by: holds.iter().map(|hold| hold.name()).collect(),
        erases_at: None,
        why,
    }
}

/// What a rule says, in words.
fn says(rule: &Rule, until: Until) -> String {
    let newest = || {
        let spans = rule.keep.max_spans.map(|spans| format!("{spans} spans"));
        let bytes = rule.keep.max_bytes.map(|bytes| format!("{bytes} bytes"));
        let both: Vec<String> = spans.into_iter().chain(bytes).collect();
        format!("the newest {} of its session", both.join(" and "))
    };
    let period = |since: Since| {
        let period = rule.keep.period.map(|(period, _)| period.to_string()).unwrap_or_default();
        let event = match since {
            Since::Recorded => "was recorded",
            Since::Pruned => "left the window",
            Since::Closed => "saw its session closed",
        };
        (period, event)
    };
    let since = rule.keep.period.map_or(Since::Recorded, |(_, since)| since);
    match until {
        Until::Forever => "keeps it for ever".to_owned(),
        Until::At(time) => {
            let (period, event) = period(since);
            format!("keeps it for {period} since it {event}, until {time}")
        }
        Until::Begins(since) => {
            let (period, event) = period(since);
            format!("keeps it for {period} once it {event}, which it has not yet")
        }
        Until::WhileNewest => format!("keeps it as long as it is among {}", newest()),
        Until::Displaced => format!("no longer keeps it: it is not among {}", newest()),
    }
}
