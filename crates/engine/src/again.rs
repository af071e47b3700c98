//! Answering commands that were sent before. The first reply is rebuilt from the log, which can mean
//! folding a long session, so it happens on a thread of its own: a worker that resends its backlog
//! after an outage must not hold everybody else's writes up.

use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use lacuna_core::retention::RetentionState;
use lacuna_core::{Command, Recorded, Refusal, SessionNo, SessionState, Timestamp, reply_again};
use lacuna_store::{Store, StoreError};

use crate::external::Stores;
use crate::retention::stream_of;
use crate::{Callback, Done, EngineError, Request, evidence};

/// Resent commands that may wait; further ones are answered `overloaded`.
const WAITING: usize = 4_096;
/// Events looked at first; most commands made fewer.
const FEW: usize = 16;

/// A resent command whose events are committed.
pub(crate) struct Resent {
    pub(crate) session: SessionNo,
    /// The version of its first event.
    pub(crate) version: u64,
    pub(crate) request: Request,
    pub(crate) callback: Callback,
}

/// Where resent commands are handed in.
pub(crate) struct Again(Sender<Resent>);

impl Again {
    /// The place to hand resent commands in, and what answers them: run it on a thread. It ends
    /// when the place is gone.
    pub(crate) fn new(store: Arc<Store>, stores: Stores) -> (Self, Answerer) {
        let (sender, inbox) = bounded(WAITING);
        (Self(sender), Answerer { store, stores, inbox, folded: None })
    }

    /// Hands one in. Never blocks.
    pub(crate) fn hand_in(&self, resent: Resent) {
        if let Err(TrySendError::Full(resent) | TrySendError::Disconnected(resent)) =
            self.0.try_send(resent)
        {
            (resent.callback)(Err(EngineError::Overloaded { waiting: WAITING }));
        }
    }
}

/// Answers resent commands, one after the other.
pub(crate) struct Answerer {
    store: Arc<Store>,
    stores: Stores,
    inbox: Receiver<Resent>,
    /// The state that the last answer was folded to: a backlog comes in the order in which it was
    /// first sent, so the next one goes on from here.
    folded: Option<SessionState>,
}

impl Answerer {
    pub(crate) fn run(mut self) {
        while let Ok(resent) = self.inbox.recv() {
            let answer = self.answer(&resent);
            (resent.callback)(answer);
            if self.inbox.is_empty() {
                self.folded = None;
            }
        }
    }

    fn answer(&mut self, resent: &Resent) -> Result<Done, EngineError> {
        let reused = || EngineError::Refused(Refusal::CommandIdReused);
        let events = self.own_events(resent)?;
        let last = events.last().ok_or_else(reused)?.version;
        let command = &resent.request.command;
        // Only the replies of these speak of the state before them.
        let before = match command {
            Command::Prune(_)
            | Command::Summarize(_)
            | Command::Audit(_)
            | Command::Erase { .. } => self.state_at(resent.session, resent.version - 1)?.cloned(),
            _ => None,
        };
        let examination = match (command, &before) {
            (Command::Summarize(summarize), Some(before)) => {
                Some(evidence::examine(&self.store, Some(&self.stores), before, summarize, None)?)
            }
            _ => None,
        };
        let retention = match command {
            Command::Append { .. } => self.retention_at(&resent.request, events[0].at)?,
            _ => None,
        };
        let after = self.state_at(resent.session, last)?.ok_or_else(reused)?;
        let facts = examination.as_ref();
        let retention = retention.as_deref();
        let reply = reply_again(command, before.as_ref(), after, &events, facts, retention)
            .ok_or_else(reused)?;
        Ok(Done { reply, again: true })
    }

    /// The tenant's retention as it was at this moment: replies to appends tell how long copies live.
    fn retention_at(
        &self,
        request: &Request,
        at: Timestamp,
    ) -> Result<Option<Arc<RetentionState>>, StoreError> {
        let Some(stream) = self.store.session(&stream_of(&request.session.tenant))? else {
            return Ok(None);
        };
        let state = self.store.load_at(stream, u64::MAX, at)?;
        Ok(state.and_then(|state| state.retention().cloned()))
    }

    /// The events that this very request made: same id, same fingerprint.
    fn own_events(&self, resent: &Resent) -> Result<Vec<Recorded>, StoreError> {
        let id = resent.request.command_id.as_ref();
        let own = |event: &Recorded| event.command.as_ref() == id;
        let mut events = self.store.history(resent.session, resent.version, FEW)?;
        if events.len() == FEW && events.iter().all(own) {
            let most = self.most_events(&resent.request.command);
            events = self.store.history(resent.session, resent.version, most)?;
        }
        let count = events.iter().take_while(|event| own(event)).count();
        events.truncate(count);
        Ok(events)
    }

    /// No command makes more events than this: one for each span and contradiction it names.
    fn most_events(&self, command: &Command) -> usize {
        match command {
            Command::Append { spans } => {
                spans.iter().map(|span| 1 + span.contradicts.len()).sum::<usize>() + FEW
            }
            other => 2 * other.needs_evidence().len() + FEW,
        }
    }

    fn state_at(
        &mut self,
        session: SessionNo,
        version: u64,
    ) -> Result<Option<&SessionState>, StoreError> {
        let near = self.folded.take().filter(|s| s.number == session && s.version <= version);
        self.folded = match near {
            None => self.store.load_at(session, version, Timestamp(u64::MAX))?,
            Some(mut state) => {
                let missing = usize::try_from(version - state.version).unwrap_or(usize::MAX);
                for event in self.store.history(session, state.version + 1, missing)? {
                    state.evolve(&event);
                }
                Some(state)
            }
        };
        Ok(self.folded.as_ref().filter(|state| state.version == version))
    }
}
