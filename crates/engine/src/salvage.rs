//! Salvage: what can still be read of a damaged journal, taken over by a new one. Sessions keep their names,
//! events their stored form and hashes; a content that is not there any more is recorded as lost.

use lacuna_core::retention::STREAM;
use lacuna_core::{Command, Principal, SessionKey, SessionNo, SessionState, SpanId};
use lacuna_store::{FoundEvent, Remains};

use crate::questions::damage_report;
use crate::transfer::{committed, lost, origin, told};
use crate::{Carried, EngineError, Journal, Request};

/// Events and bytes that are taken over at once.
const EVENTS: usize = 500;
const BYTES: usize = 8 << 20;

/// What was saved, and what was not.
#[derive(Debug, Default)]
pub struct Salvaged {
    /// Sessions of which something was saved.
    pub sessions: usize,
    /// Their events.
    pub events: u64,
    /// Contents of theirs.
    pub contents: u64,
    /// Contents that are not there, or not whole, although no event says so; now one does.
    pub lost: Vec<(SessionKey, SpanId)>,
    /// Sessions of which events are left behind.
    pub left: Vec<Left>,
    /// Sessions that were forks, and are sessions of their own now.
    pub forks: usize,
}

/// Events that verify by themselves, and that the new journal could not take over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The session's number.
    pub number: SessionNo,
    /// Its name, if the event that gives it was found.
    pub key: Option<SessionKey>,
    /// The version up to which it was saved; those behind are left.
    pub version: u64,
    /// How many those are.
    pub events: u64,
    /// Why they are.
    pub why: String,
}

/// Has a new journal take over what there is of a damaged one. `progress` gets the sessions done.
/// After an error the new journal has a part of them.
pub fn salvage(
    remains: &Remains,
    into: &Journal,
    by: &Principal,
    mut progress: impl FnMut(usize),
) -> Result<Salvaged, EngineError> {
    let mut salvaged = Salvaged::default();
    for (done, (number, key)) in remains.sessions().into_iter().enumerate() {
        progress(done);
        let (mut whole, mut behind) = (0, 0);
        let state = remains.events::<EngineError>(number, |found| {
            *(if found.follows { &mut whole } else { &mut behind }) += 1;
            Ok(())
        })?;
        let forked = state.as_ref().is_some_and(|state| state.forked_from().is_some());
        let (saved, why) = match (&key, state) {
            (Some(key), _) if key.session.as_str() == STREAM => {
                let why = "policies, holds and runs are not carried over: set them again";
                (0, Some(why.to_owned()))
            }
            (Some(key), Some(state)) => {
                let mut taking = Taking::new(remains, into, by, key, &state);
                remains.events(number, |found| taking.event(found))?;
                taking.end(&mut salvaged)?
            }
            _ => (0, Some("its beginning was not found".into())),
        };
        salvaged.sessions += usize::from(saved > 0);
        salvaged.forks += usize::from(saved > 0 && forked);
        salvaged.events += saved;
        // Another session of that name may have brought it further.
        let saved = saved.min(whole);
        let left = whole + behind - saved;
        if left > 0 {
            let missing = || format!("what should stand behind version {saved} was not found");
            let why = why.unwrap_or_else(missing);
            salvaged.left.push(Left { number, key, version: saved, events: left, why });
        }
    }
    Ok(salvaged)
}

/// A session on its way into the new journal.
struct Taking<'a> {
    remains: &'a Remains,
    into: &'a Journal,
    by: &'a Principal,
    key: &'a SessionKey,
    /// As of its last event.
    state: &'a SessionState,
    journal: String,
    batch: Vec<Carried>,
    bytes: usize,
    /// The version that the new journal has reached, and why it went no further.
    saved: u64,
    refused: Option<String>,
    contents: Vec<u64>,
    missing: Vec<(u64, SpanId)>,
}

impl<'a> Taking<'a> {
    fn new(
        remains: &'a Remains,
        into: &'a Journal,
        by: &'a Principal,
        key: &'a SessionKey,
        state: &'a SessionState,
    ) -> Self {
        let (journal, _) = origin(state, remains.journal());
        let (batch, contents, missing) = (Vec::new(), Vec::new(), Vec::new());
        let (bytes, saved, refused) = (0, 0, None);
        Self {
            remains,
            into,
            by,
            key,
            state,
            journal,
            batch,
            bytes,
            saved,
            refused,
            contents,
            missing,
        }
    }

    fn event(&mut self, found: FoundEvent) -> Result<(), EngineError> {
        let FoundEvent { recorded, stored, follows } = found;
        if !follows || self.refused.is_some() {
            return Ok(());
        }
        let version = recorded.version;
        let (mut payload, mut gone) = (None, false);
        if let Some((span, _)) = committed(self.state, &recorded) {
            gone = lost(self.state, &span).is_some();
            if !gone {
                payload = self.remains.content(&recorded)?;
                match &payload {
                    Some(_) => self.contents.push(version),
                    None => self.missing.push((version, span)),
                }
                gone = payload.is_none();
            }
        }
        self.bytes += stored.len() + payload.as_ref().map_or(0, |payload| payload.len());
        let (_, stored) = told(self.state.imported().is_some(), recorded, stored)?;
        self.batch.push(Carried { stored, payload, gone });
        if self.batch.len() >= EVENTS || self.bytes >= BYTES {
            self.send()?;
        }
        Ok(())
    }

    fn send(&mut self) -> Result<(), EngineError> {
        let batch = std::mem::take(&mut self.batch);
        self.bytes = 0;
        if batch.is_empty() || self.refused.is_some() {
            return Ok(());
        }
        match self.adopt(batch.clone()) {
            Err(EngineError::Refused(_)) => {}
            done => return done,
        }
        // One of them: those before it are saved all the same.
        for one in batch {
            match self.adopt(vec![one]) {
                Err(EngineError::Refused(why)) => {
                    self.refused = Some(why.to_string());
                    break;
                }
                done => done?,
            }
        }
        Ok(())
    }

    fn adopt(&mut self, events: Vec<Carried>) -> Result<(), EngineError> {
        self.saved = self.into.adopt(self.key, self.by, None, &self.journal, events)?.0;
        Ok(())
    }

    /// Records what is lost; gives the version up to which the session was saved.
    fn end(mut self, salvaged: &mut Salvaged) -> Result<(u64, Option<String>), EngineError> {
        self.send()?;
        let saved = self.saved;
        salvaged.contents +=
            self.contents.iter().filter(|version| **version <= saved).count() as u64;
        let missing = self.missing.into_iter().filter(|(version, _)| *version <= saved);
        let missing: Vec<SpanId> = missing.map(|(_, span)| span).collect();
        for spans in missing.chunks(EVENTS) {
            let report = Command::ReportDamage { spans: spans.to_vec(), ended: true };
            self.into
                .execute(Request { command: report, ..damage_report(self.key, Vec::new()) })?;
        }
        salvaged.lost.extend(missing.into_iter().map(|span| (self.key.clone(), span)));
        Ok((saved, self.refused))
    }
}
