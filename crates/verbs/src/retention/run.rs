//! `plan`, `run` and `erase`.

use lacuna_core::retention::Disposition;
use lacuna_core::{Principal, SessionKey, Tenant};
use lacuna_engine::{PlannedSession, Request};
use lacuna_wire::retention::{
    EraseReply, EraseRequest, PlanReply, PlanRequest, PlannedSessionBody, PlannedSpanBody,
    RemovedBody, RuleBody, RunReply, RunRequest, policy_name,
};
use lacuna_wire::session::Identified;
use lacuna_wire::{WireError, fingerprint};

use super::{expect_version, session_key};
use crate::error::wire_error;
use crate::fit::{encode, encode_within, fitting};
use crate::identity::stamp;
use crate::work::Inner;

pub(super) fn plan(
    inner: &Inner,
    tenant: &Tenant,
    request: &PlanRequest,
    max: usize,
) -> Result<Vec<u8>, WireError> {
    let now = request.now.as_ref().map(|text| text.parse());
    let now = now.transpose().map_err(|error| WireError::bad_request(format!("{error}")))?;
    let rules = request.rules.as_ref();
    let rules = rules.map(|rules| rules.iter().map(RuleBody::rule).collect());
    let rules = rules.transpose()?;
    if request.expected_version.is_some() {
        let (_, version) = inner.journal.retention(tenant).map_err(wire_error)?;
        expect_version(version, request.expected_version)?;
    }
    let plan = inner.journal.plan(tenant, now, rules).map_err(wire_error)?;
    let over_limit = inner.journal.is_over_limit(&plan.tally, plan.kept);
    let mut reply = PlanReply {
        policy: policy_name(plan.policy),
        cut: plan.cut,
        effective_now: plan.effective_now.to_string(),
        removed: RemovedBody::of(&plan.tally),
        noticed: plan.tally.noticed,
        deferred: plan.tally.deferred,
        held: plan.tally.held,
        over_limit,
        sessions: Vec::new(),
        next: None,
    };
    let after = request.after.as_deref().unwrap_or_default();
    let behind = |planned: &&PlannedSession| planned.session.session.as_str() > after;
    let sessions: Vec<PlannedSessionBody> =
        plan.sessions.iter().filter(behind).map(|planned| session(planned, max)).collect();
    let taken = fitting(&sessions, max)?;
    if taken < sessions.len() {
        reply.next = sessions.get(taken - 1).map(|session| session.session.clone());
    }
    reply.sessions = sessions.into_iter().take(taken).collect();
    encode_within(&reply, max)
}

/// What a plan tells of one session: not more than half a message.
fn session(planned: &PlannedSession, max: usize) -> PlannedSessionBody {
    let told = planned.spans.iter().map(|span| PlannedSpanBody {
        id: span.span.to_string(),
        what: word(span.what).to_owned(),
        rule: span.rule.clone(),
        bytes: span.bytes,
        erases_at: match span.what {
            Disposition::Notice { erases_at } | Disposition::Waiting { erases_at } => {
                Some(erases_at.to_string())
            }
            _ => None,
        },
    });
    let mut spans: Vec<PlannedSpanBody> = told.collect();
    let kept = fitting(&spans, max / 2).unwrap_or(0);
    let omitted = planned.omitted + (spans.len() - kept.min(spans.len())) as u64;
    spans.truncate(kept);
    PlannedSessionBody {
        session: planned.session.session.to_string(),
        window: planned.window,
        spans,
        spans_omitted: omitted,
    }
}

fn word(what: Disposition) -> &'static str {
    match what {
        Disposition::Keep => "keep",
        Disposition::Held => "hold",
        Disposition::Deferred => "defer",
        Disposition::Notice { .. } => "notice",
        Disposition::Waiting { .. } => "wait",
        Disposition::Remove => "remove",
    }
}

pub(super) fn run(
    inner: &Inner,
    tenant: &Tenant,
    principal: Principal,
    mut request: RunRequest,
    max: usize,
) -> Result<Vec<u8>, WireError> {
    let (command_id, expected_version) = request.take_identity();
    let command_id = stamp(command_id, || fingerprint("run", &request, &[]))?;
    let unlimited = request.unlimited.unwrap_or(false);
    let run = lacuna_engine::RunRequest { principal, command_id, expected_version, unlimited };
    let (closed, again) = inner.journal.run(tenant, run).map_err(wire_error)?;
    encode_within(&RunReply::of(&closed, again), max)
}

pub(super) fn erase(
    inner: &Inner,
    tenant: &Tenant,
    principal: Principal,
    mut request: EraseRequest,
    max: usize,
) -> Result<Vec<u8>, WireError> {
    let (command_id, expected_version) = request.take_identity();
    let command_id = stamp(command_id, || fingerprint("erase", &request, &[]))?;
    let key: SessionKey = session_key(inner, tenant, &request.session, None)?;
    let request = Request {
        session: key,
        principal,
        command_id,
        expected_version,
        command: request.command()?,
    };
    let erased = inner.journal.erase(request).map_err(wire_error)?;
    let mut reply = EraseReply {
        version: erased.version,
        removed: RemovedBody { spans: erased.spans, bytes: erased.bytes },
        summaries: erased.summaries.iter().map(ToString::to_string).collect(),
        shared_with: erased.shared_with.iter().map(ToString::to_string).collect(),
        elsewhere: erased.elsewhere.iter().map(ToString::to_string).collect(),
        duplicate: erased.again,
    };
    // What was done travels always.
    let listed = |reply: &EraseReply| {
        reply.summaries.len() + reply.shared_with.len() + reply.elsewhere.len()
    };
    while encode(&reply)?.len() > max && listed(&reply) > 0 {
        reply.shared_with.truncate(reply.shared_with.len() / 2);
        reply.summaries.truncate(reply.summaries.len() / 2);
        reply.elsewhere.truncate(reply.elsewhere.len() / 2);
    }
    encode_within(&reply, max)
}
