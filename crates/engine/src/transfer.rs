//! Sessions on their way from one journal into another: events in their stored form, with what they
//! committed to.

use std::sync::Arc;

use lacuna_codec::decode_event;
use lacuna_core::{
    Adopted, Cause, Command, Event, Principal, Recorded, Refusal, Reply, SessionKey, SessionState,
    SpanId, Storage,
};
use lacuna_store::Stored;

use crate::{EngineError, Journal, Request};

/// A part of a session, to be taken elsewhere. Of a session that was imported as a whole it is what was
/// imported: the journal and the events are those of its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct Export {
    /// The journal that recorded it.
    pub journal: String,
    /// The session's name there.
    pub key: SessionKey,
    /// The state here, as of which it is told.
    pub state: Arc<SessionState>,
    /// The events.
    pub events: Vec<Exported>,
}

/// An event in its stored form.
#[derive(Debug, Clone, PartialEq)]
pub struct Exported {
    /// What it says.
    pub recorded: Recorded,
    /// The bytes that its hash is of.
    pub stored: Arc<[u8]>,
    /// What it committed to.
    pub payload: Payload,
}

/// An event's stored form as another journal has it, with its payload.
#[derive(Debug, Clone)]
pub struct Carried {
    /// Its stored form.
    pub stored: Arc<[u8]>,
    /// Its payload; none if it is gone there, or was never in the journal.
    pub payload: Option<Arc<[u8]>>,
    /// Whether a later event of the session tells that the payload is gone.
    pub gone: bool,
}

/// What an event committed to.
#[derive(Debug, Clone, PartialEq)]
pub enum Payload {
    /// Nothing that was ever in the journal.
    None,
    /// A span's content, or a summary's text and behind it, from `text` on, its claims.
    Whole {
        /// All of it.
        bytes: Arc<[u8]>,
        /// The length of the content or text.
        text: usize,
    },
    /// It is lost; the event of this version says why.
    Gone {
        /// That version.
        version: u64,
    },
}

impl Payload {
    /// All of it, if it can be read.
    pub fn bytes(&self) -> Option<&Arc<[u8]>> {
        match self {
            Self::Whole { bytes, .. } => Some(bytes),
            Self::None | Self::Gone { .. } => None,
        }
    }
}

impl Journal {
    /// Up to `limit` events of a session from a version on, with their payloads, as many as fit into about
    /// `bytes`, but at least one if there is one. A damaged copy that is met is recorded as lost first.
    pub fn export(
        &self,
        key: &SessionKey,
        from_version: u64,
        limit: usize,
        bytes: usize,
    ) -> Result<Export, EngineError> {
        loop {
            let state = self.state(key)?;
            match self.export_at(&state, from_version, limit, bytes)? {
                Ok(export) => return Ok(export),
                Err((span, found)) => {
                    let after = self.report_damage(key, std::slice::from_ref(&span), &found)?;
                    if after.version == state.version {
                        let why = format!("{span} cannot be read: {found}");
                        return Err(EngineError::Store(lacuna_store::StoreError::Damaged(why)));
                    }
                }
            }
        }
    }

    /// The same at a state; or the span whose copy turned out damaged.
    fn export_at(
        &self,
        state: &Arc<SessionState>,
        from: u64,
        limit: usize,
        bytes: usize,
    ) -> Result<Result<Export, (SpanId, String)>, EngineError> {
        let imported = state.imported();
        let stored = self.store.stored_history(state.number, from, limit, bytes)?;
        let mut payloads = self.store.payloads()?;
        let (mut events, mut taken) = (Vec::new(), 0);
        for (recorded, stored) in stored {
            if recorded.version > state.version {
                break;
            }
            let payload = match committed(state, &recorded) {
                None => Payload::None,
                Some((span, _)) if let Some(version) = lost(state, &span) => {
                    Payload::Gone { version }
                }
                Some((span, text)) => match payloads.read_filed(&recorded)? {
                    Some(Stored::Whole(bytes)) => Payload::Whole { bytes, text },
                    Some(Stored::Damaged(found)) => return Ok(Err((span, found))),
                    Some(Stored::Missing) | None => {
                        return Ok(Err((span, "its copy is missing".into())));
                    }
                },
            };
            let size = match &payload {
                Payload::Whole { bytes, .. } => bytes.len(),
                _ => 0,
            };
            taken += stored.len() + size;
            if taken > bytes && !events.is_empty() {
                break;
            }
            let (recorded, stored) = told(imported.is_some(), recorded, stored)?;
            events.push(Exported { recorded, stored, payload });
        }
        let (journal, key) = origin(state, self.id());
        Ok(Ok(Export { journal, key, state: Arc::clone(state), events }))
    }

    /// Takes over events of another journal's session, in order, from its first one on: each in its stored
    /// form, with its payload where there is one. What was taken over before may come again. Gives the
    /// session's version, and how many were new.
    pub fn adopt(
        &self,
        key: &SessionKey,
        principal: &Principal,
        expected_version: Option<u64>,
        journal: &str,
        events: Vec<Carried>,
    ) -> Result<(u64, usize), EngineError> {
        let mut adopted = Vec::with_capacity(events.len());
        let mut lost = Vec::new();
        for (place, Carried { stored, payload, gone }) in (1..).zip(events) {
            let refuse =
                |why: String| Refusal::BadRequest(format!("event {place} of these: {why}"));
            let recorded = decode_event(&stored).map_err(|error| refuse(error.to_string()))?;
            let whole = Adopted::new(recorded, stored, payload);
            let whole = whole.map_err(|error| refuse(error.to_string()))?;
            if let Event::LossyCommitted(event) = &whole.recorded().event
                && !matches!(event.cause, Cause::Directive { .. })
            {
                lost.extend(event.spans.iter().map(|lost| lost.span.clone()));
            }
            adopted.push(if gone { whole.without_content() } else { whole });
        }
        let done = self.execute(Request {
            session: key.clone(),
            principal: principal.clone(),
            command_id: None,
            expected_version,
            command: Command::Adopt { journal: journal.to_owned(), events: adopted, lost },
        })?;
        match done.reply {
            Reply::Adopted { version, events } => Ok((version, events)),
            _ => Err(EngineError::Unavailable("the import got another command's answer".into())),
        }
    }
}

/// Where a session is from, if this is the journal's id and it was not imported: journal and name there.
pub(crate) fn origin(state: &SessionState, journal: &str) -> (String, SessionKey) {
    match state.imported() {
        Some(imported) => (imported.journal.clone(), imported.key.clone()),
        None => (journal.to_owned(), state.key.clone()),
    }
}

/// An event as it is told elsewhere: of a session that was `imported` as it was recorded at its origin.
pub(crate) fn told(
    imported: bool,
    recorded: Recorded,
    stored: Arc<[u8]>,
) -> Result<(Recorded, Arc<[u8]>), EngineError> {
    match &recorded.imported {
        Some(origin) if imported => {
            let there = decode_event(&origin.stored).map_err(damaged)?;
            Ok((there, Arc::clone(&origin.stored)))
        }
        _ => Ok((recorded, stored)),
    }
}

fn damaged(error: lacuna_codec::CodecError) -> EngineError {
    EngineError::Store(error.into())
}

/// The span whose content or text an event committed to, if that was in the journal, and its length.
pub(crate) fn committed(state: &SessionState, recorded: &Recorded) -> Option<(SpanId, usize)> {
    let (span, bytes) = match &recorded.event {
        Event::SpanRecorded(e) if e.storage == Storage::Journal => (&e.span, e.bytes),
        Event::SummaryRecorded(e) => (&e.span, e.bytes),
        _ => return None,
    };
    // Filed under it, whatever a fork or a later span of that name says.
    state.find(span)?;
    Some((span.clone(), usize::try_from(bytes).unwrap_or(usize::MAX)))
}

/// The version of the event that says that a span is lost.
pub(crate) fn lost(state: &SessionState, span: &SpanId) -> Option<u64> {
    state.tombstone(state.find(span)?).map(|tombstone| tombstone.version)
}
