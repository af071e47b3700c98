//! The body of an imported event: the stored form that it had where it was recorded first.

use lacuna_core::{Event, Imported, MAX_PASSED, Principal, Recorded, SessionKey};

use super::v1::EventImportedV1;
use super::{encoded, read};
use crate::registry::{EVENT_IMPORTED, Kind};
use crate::{CodecError, event};

/// Encodes what is stored of an imported event.
pub(crate) fn encode(
    recorded: &Recorded,
    imported: &Imported,
) -> Result<(Kind, Vec<u8>), CodecError> {
    let key = match &recorded.event {
        Event::SessionOpened(opened) => Some(&opened.key),
        _ => None,
    };
    let body = EventImportedV1 {
        journal: imported.journal.clone(),
        tenant: key.map(|key| key.tenant.to_string()),
        session: key.map(|key| key.session.to_string()),
        stored: imported.stored.to_vec(),
    };
    encoded(EVENT_IMPORTED, bincode::encode_to_vec(body, bincode::config::standard()))
}

/// Decodes such a body: what happened, who did it, and where it stood. `by` is who brought it here,
/// `depth` how many such bodies it lies in.
pub(crate) fn decode(
    body: &[u8],
    by: Principal,
    depth: u32,
) -> Result<(Event, Principal, Imported), CodecError> {
    let damaged = |why: &str| CodecError::damaged(EVENT_IMPORTED.name, why);
    if depth >= MAX_PASSED {
        return Err(damaged("it has passed too many journals"));
    }
    let body: EventImportedV1 = read(EVENT_IMPORTED, body)?;
    let inner = event::decode_within(&body.stored, depth + 1)?;
    let passed = inner.imported.as_ref().map_or(0, |before| before.passed) + 1;
    let here = match (body.tenant, body.session) {
        (Some(tenant), Some(session)) => Some(SessionKey {
            tenant: tenant.parse().map_err(|_| damaged("its tenant is no name"))?,
            session: session.parse().map_err(|_| damaged("its session is no name"))?,
        }),
        (None, None) => None,
        _ => return Err(damaged("it names half a session")),
    };
    let (event, key) = match (inner.event, here) {
        (Event::SessionOpened(mut opened), Some(here)) => {
            let there = std::mem::replace(&mut opened.key, here);
            (Event::SessionOpened(opened), Some(there))
        }
        (event, None) if !matches!(event, Event::SessionOpened(_)) => (event, None),
        _ => return Err(damaged("the name of its session does not fit its kind")),
    };
    let imported = Imported {
        journal: body.journal,
        key,
        stored: body.stored.into(),
        seq: inner.seq,
        at: inner.at,
        session: inner.session,
        command: inner.command,
        previous: inner.previous,
        hash: inner.hash,
        by,
        passed,
    };
    Ok((event, inner.principal, imported))
}
