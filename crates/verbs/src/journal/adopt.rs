//! `adopt`: sessions of other journals.

use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use lacuna_core::{Principal, SessionKey, Tenant};
use lacuna_engine::Carried;
use lacuna_wire::WireError;
use lacuna_wire::journal::{AdoptReply, AdoptRequest, AdoptedBody};

use crate::error::wire_error;
use crate::fit::encode;
use crate::work::Inner;

pub(super) fn adopt(
    inner: &Inner,
    tenant: &Tenant,
    principal: &Principal,
    request: AdoptRequest,
) -> Result<Vec<u8>, WireError> {
    let session = request.session.parse();
    let session = session.map_err(|error| WireError::bad_request(format!("session: {error}")))?;
    let key = SessionKey { tenant: tenant.clone(), session };
    let hex = request.journal.len() == 32 && request.journal.bytes().all(|b| b.is_ascii_hexdigit());
    if !hex {
        return Err(WireError::bad_request(
            "journal: an id of 32 hex digits, as the export has it",
        ));
    }
    if request.events.is_empty() {
        return Err(WireError::bad_request("events: there is nothing to take over"));
    }
    let read = |event: AdoptedBody| {
        let stored = decode("stored", &event.stored)?;
        let payload = match (&event.payload_b64, &event.upload) {
            (None, None) => None,
            (Some(base64), None) => Some(decode("payload_b64", base64)?),
            (None, Some(upload)) => Some(inner.uploads.content(upload, &key)?),
            (Some(_), Some(_)) => {
                return Err(WireError::bad_request("give payload_b64 or upload, not both"));
            }
        };
        Ok(Carried { stored, payload, gone: event.gone.is_some() })
    };
    let events = request.events.into_iter().map(read).collect::<Result<Vec<_>, WireError>>()?;
    let expected = request.expected_version;
    let adopted = inner.journal.adopt(&key, principal, expected, &request.journal, events);
    let (version, adopted) = adopted.map_err(wire_error)?;
    encode(&AdoptReply { session: key.session.to_string(), version, adopted: adopted as u64 })
}

fn decode(what: &str, base64: &str) -> Result<Arc<[u8]>, WireError> {
    let bytes = BASE64_STANDARD.decode(base64);
    bytes.map(Into::into).map_err(|error| WireError::bad_request(format!("{what}: {error}")))
}
