//! The verbs that look at a session's past first and then change one: `receipt`, `fork`.

use lacuna_core::{Principal, Reply, SessionKey};
use lacuna_engine::{ReceiptRequest as Asked, Sender};
use lacuna_wire::session::{ForkReply, ForkRequest, Identified, ReceiptReply, ReceiptRequest};
use lacuna_wire::{Code, WireError, fingerprint, parse};
use serde::Serialize;

use crate::call::Call;
use crate::error::wire_error;
use crate::fit::encode_within;
use crate::identity::stamp;
use crate::queries::state_at;
use crate::work::{Inner, Work};

/// Prepares such a verb.
pub(crate) fn begin(call: &Call<'_>, key: SessionKey) -> Work {
    let (max, body) = (call.max_reply, call.body.to_vec());
    let principal = call.subject.principal.clone();
    Work::Deed(match call.subject.verb.as_str() {
        "receipt" => Box::new(move |inner| receipt(inner, &key, principal, parse(&body)?, max)),
        _ => Box::new(move |inner| fork(inner, &key, principal, parse(&body)?, max)),
    })
}

fn receipt(
    inner: &Inner,
    key: &SessionKey,
    principal: Principal,
    mut request: ReceiptRequest,
    max: usize,
) -> Result<Vec<u8>, WireError> {
    let sender = sender("receipt", principal, &mut request)?;
    let window_version = match &request.at {
        None => None,
        Some(at) => Some(state_at(inner, key, at)?.version),
    };
    let asked = Asked {
        window_version,
        turn: request.turn,
        rendering: request.rendering()?,
        sent_digest: request.sent()?,
    };
    let done = inner.journal.receipt(key, sender, &asked, inner.settings.window_bytes);
    let done = done.map_err(wire_error)?;
    let Reply::Receipted { receipt, version } = &done.reply else { return Err(unexpected()) };
    encode_within(&ReceiptReply::of(receipt, *version, done.again), max)
}

fn fork(
    inner: &Inner,
    key: &SessionKey,
    principal: Principal,
    mut request: ForkRequest,
    max: usize,
) -> Result<Vec<u8>, WireError> {
    let sender = sender("fork", principal, &mut request)?;
    let session =
        request.from.parse().map_err(|error| WireError::bad_request(format!("from: {error}")))?;
    let from = SessionKey { tenant: key.tenant.clone(), session };
    let parent = match &request.at {
        None => inner.journal.state(&from).map_err(wire_error)?,
        Some(at) => state_at(inner, &from, at)?,
    };
    let done = inner.journal.fork(key, sender, parent).map_err(wire_error)?;
    let Reply::Forked { at, version, opened_at, duplicate } = done.reply else {
        return Err(unexpected());
    };
    let reply = ForkReply {
        session: key.session.to_string(),
        version,
        journal: inner.journal.id().to_owned(),
        from: request.from,
        at,
        opened_at: opened_at.to_string(),
        duplicate: duplicate || done.again,
    };
    encode_within(&reply, max)
}

fn sender(
    verb: &str,
    principal: Principal,
    request: &mut (impl Identified + Serialize),
) -> Result<Sender, WireError> {
    let (command_id, expected_version) = request.take_identity();
    let command_id = stamp(command_id, || fingerprint(verb, request, &[]))?;
    Ok(Sender { principal, command_id, expected_version })
}

/// A reply to another command: only a command id used twice could bring one, and that is refused.
fn unexpected() -> WireError {
    WireError::new(Code::CommandIdReused, "this command_id was used for another request")
}
