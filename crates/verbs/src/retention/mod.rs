//! The retention verbs.

mod evaluate;
mod ledger;
mod run;

use lacuna_core::SessionKey;
use lacuna_core::retention::STREAM;
use lacuna_wire::retention::{
    EraseRequest, EvaluateRequest, LedgerRequest, PlanRequest, PolicyGetReply, PolicyGetRequest,
    RunRequest, hold_number,
};
use lacuna_wire::{WireError, parse};

use crate::call::Call;
use crate::error::wire_error;
use crate::fit::{encode, encode_within, fitting};
use crate::work::{Inner, Work};
use crate::{commands, queries};

/// Parses a retention verb.
pub(crate) fn begin(call: &Call<'_>) -> Result<Work, WireError> {
    let (max, body) = (call.max_reply, call.body);
    let (tenant, principal) = (call.subject.tenant.clone(), call.subject.principal.clone());
    let session = STREAM.parse().expect("the reserved name is a valid one");
    let stream = SessionKey { tenant: tenant.clone(), session };
    Ok(Work::Question(match call.subject.verb.as_str() {
        "policy-get" => {
            let request: PolicyGetRequest = parse(body)?;
            Box::new(move |inner| policy_get(inner, &tenant, &request, max))
        }
        "evaluate" => {
            let request: EvaluateRequest = parse(body)?;
            Box::new(move |inner| evaluate::answer(inner, &tenant, &request, max))
        }
        "plan" => {
            let request: PlanRequest = parse(body)?;
            Box::new(move |inner| run::plan(inner, &tenant, &request, max))
        }
        "ledger" => {
            let request: LedgerRequest = parse(body)?;
            Box::new(move |inner| ledger::answer(inner, &tenant, &request, max))
        }
        "run" => {
            let request: RunRequest = parse(body)?;
            return Ok(Work::Deed(Box::new(move |inner| {
                run::run(inner, &tenant, principal, request, max)
            })));
        }
        "erase" => {
            let request: EraseRequest = parse(body)?;
            return Ok(Work::Deed(Box::new(move |inner| {
                run::erase(inner, &tenant, principal, request, max)
            })));
        }
        _ => return commands::begin_tenant(call, stream),
    }))
}

/// The policy whole, and as many holds as fit beside it: their reasons may be long.
fn policy_get(
    inner: &Inner,
    tenant: &lacuna_core::Tenant,
    request: &PolicyGetRequest,
    max: usize,
) -> Result<Vec<u8>, WireError> {
    let after = request.after.as_deref().map_or(Ok(0), hold_number)?;
    let (retention, version) = inner.journal.retention(tenant).map_err(wire_error)?;
    expect_version(version, request.expected_version)?;
    let mut reply = PolicyGetReply::of(&retention, version, after);
    let holds = std::mem::take(&mut reply.holds);
    let taken = fitting(&holds, max.saturating_sub(encode(&reply)?.len()))?;
    if taken < holds.len() {
        reply.next = holds.get(taken - 1).map(|hold| hold.hold.clone());
    }
    reply.holds = holds.into_iter().take(taken).collect();
    encode_within(&reply, max)
}

/// Refuses if the tenant's stream is not at the version that the client believes.
fn expect_version(actual: u64, expected: Option<u64>) -> Result<(), WireError> {
    match expected {
        Some(expected) if expected != actual => {
            Err(lacuna_core::Refusal::VersionConflict { expected, actual }.into())
        }
        _ => Ok(()),
    }
}

/// The state of a session of the tenant, by its name as given.
fn session_key(
    inner: &Inner,
    tenant: &lacuna_core::Tenant,
    session: &str,
    expected_version: Option<u64>,
) -> Result<SessionKey, WireError> {
    let session = session.parse().map_err(|error| WireError::bad_request(format!("{error}")))?;
    let key = SessionKey { tenant: tenant.clone(), session };
    if expected_version.is_some() {
        let state = inner.journal.state(&key).map_err(wire_error)?;
        queries::expect_version(&state, expected_version)?;
    }
    Ok(key)
}
