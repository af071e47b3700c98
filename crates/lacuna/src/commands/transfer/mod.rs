//! Sessions as files: one JSON line for the session, then one for each event, whole enough for another
//! journal to take over. What counts in a line are the stored bytes and the content; the rest of it says the
//! same for people and scripts, and is compared.

mod export;
mod import;

use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use lacuna_codec::decode_event;
use lacuna_core::{Adopted, SessionKey};
use lacuna_wire::event_body;
use lacuna_wire::session::{EventLine, GoneBody};
use serde::{Deserialize, Serialize};

pub(super) use export::export;
pub(super) use import::{import, is_export};

/// How the first line begins.
const FORMAT: &str = "lacuna-events";
/// The version of the form that is written, and the newest that is read.
const VERSION: u32 = 1;

/// The first line of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    format: String,
    version: u32,
    /// The journal that recorded the session, and its name there.
    journal: String,
    tenant: String,
    session: String,
    /// How many events follow.
    events: u64,
    /// The hash of the last one.
    head: String,
}

impl Header {
    fn key(&self) -> Result<SessionKey, String> {
        let tenant = self.tenant.parse().map_err(|error| format!("tenant: {error}"))?;
        let session = self.session.parse().map_err(|error| format!("session: {error}"))?;
        Ok(SessionKey { tenant, session })
    }
}

/// An event of a file, as far as it can be told to be itself: its stored bytes say what it is, and its
/// content is what they commit to.
fn event(stored: &str, payload: Option<Vec<u8>>) -> Result<Adopted, String> {
    let stored: Arc<[u8]> = base64("stored", stored)?.into();
    let recorded = decode_event(&stored).map_err(|error| error.to_string())?;
    Adopted::new(recorded, stored, payload.map(Into::into)).map_err(|error| error.to_string())
}

/// The line of an event that no journal takes over.
pub(super) fn left(journal: &str, key: &SessionKey, adopted: &Adopted) -> String {
    serde_json::json!(line_of(journal, key, adopted, None)).to_string()
}

fn line(header: &Header, key: &SessionKey, adopted: &Adopted, gone: Option<GoneBody>) -> EventLine {
    line_of(&header.journal, key, adopted, gone)
}

/// The line of an event.
fn line_of(
    journal: &str,
    key: &SessionKey,
    adopted: &Adopted,
    gone: Option<GoneBody>,
) -> EventLine {
    let recorded = adopted.recorded();
    let mut line = EventLine {
        event: event_body(journal, key, recorded),
        stored: BASE64_STANDARD.encode(adopted.stored()),
        content: None,
        content_b64: None,
        claims_b64: None,
        gone,
        payload_bytes: None,
    };
    let Some(payload) = adopted.payload() else { return line };
    let text = match &recorded.event {
        lacuna_core::Event::SummaryRecorded(summary) => summary.bytes,
        _ => payload.len() as u64,
    };
    let text = usize::try_from(text).unwrap_or(usize::MAX).min(payload.len());
    let (content, claims) = payload.split_at(text);
    match std::str::from_utf8(content) {
        Ok(text) => line.content = Some(text.to_owned()),
        Err(_) => line.content_b64 = Some(BASE64_STANDARD.encode(content)),
    }
    if !claims.is_empty() {
        line.claims_b64 = Some(BASE64_STANDARD.encode(claims));
    }
    line
}

/// The payload that stands in a line.
fn payload(line: &EventLine) -> Result<Option<Vec<u8>>, String> {
    let mut payload = match (&line.content, &line.content_b64) {
        (Some(text), None) => text.clone().into_bytes(),
        (None, Some(encoded)) => base64("content_b64", encoded)?,
        (Some(_), Some(_)) => return Err("it has content and content_b64".into()),
        (None, None) if line.claims_b64.is_some() => {
            return Err("it has claims without a text".into());
        }
        (None, None) => return Ok(None),
    };
    if let Some(claims) = &line.claims_b64 {
        payload.extend(base64("claims_b64", claims)?);
    }
    Ok(Some(payload))
}

fn base64(what: &str, text: &str) -> Result<Vec<u8>, String> {
    BASE64_STANDARD.decode(text).map_err(|error| format!("{what}: {error}"))
}
