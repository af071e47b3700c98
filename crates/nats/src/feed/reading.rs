//! The journal read for the feed: commit by commit, with the sessions' names, and with what cannot be read
//! in its place.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::Arc;

use lacuna_core::{Recorded, SessionKey, SessionNo};
use lacuna_engine::{EngineError, Journal};
use lru::LruCache;

/// Events that are read at a time, about: whole commits.
const EVENTS: usize = 256;
/// Names of sessions that are remembered.
const NAMES: NonZeroUsize = NonZeroUsize::new(4_096).expect("not zero");

/// What stands at some place of the journal.
#[derive(Debug, Clone)]
pub(super) enum Item {
    /// An event and its session's name.
    Event(Box<Recorded>, SessionKey),
    /// Nothing that can be read, from one seq to another.
    Gap(u64, u64, String),
}

/// Reads the journal in order.
pub(super) struct Reading {
    journal: Arc<Journal>,
    names: LruCache<SessionNo, SessionKey>,
    /// The seq to go on from.
    pub(super) next: u64,
    /// What was read and not taken yet.
    pub(super) items: VecDeque<Item>,
}

impl Reading {
    pub(super) fn new(journal: Arc<Journal>) -> Self {
        Self { journal, names: LruCache::new(NAMES), next: 1, items: VecDeque::new() }
    }

    /// Goes on from there.
    pub(super) fn restart(&mut self, next: u64) {
        self.items = VecDeque::new();
        self.next = next;
    }

    /// Reads on; says whether there was anything. Takes as long as reading a commit does.
    pub(super) fn read(&mut self) -> Result<bool, EngineError> {
        while self.items.len() < EVENTS {
            let Some(walked) = self.journal.events_from(self.next)? else { break };
            let why = walked.damaged.as_deref().unwrap_or("no block holds them");
            for recorded in walked.events {
                let seq = recorded.seq;
                if seq > self.next {
                    self.items.push_back(Item::Gap(self.next, seq - 1, why.to_owned()));
                }
                let item = match self.name(recorded.session) {
                    Ok(key) => Item::Event(Box::new(recorded), key),
                    Err(why) => Item::Gap(seq, seq, why),
                };
                self.items.push_back(item);
                self.next = seq + 1;
            }
            if walked.next > self.next {
                self.items.push_back(Item::Gap(self.next, walked.next - 1, why.to_owned()));
                self.next = walked.next;
            }
        }
        Ok(!self.items.is_empty())
    }

    fn name(&mut self, session: SessionNo) -> Result<SessionKey, String> {
        if let Some(key) = self.names.get(&session) {
            return Ok(key.clone());
        }
        let found = self.journal.session_key(session).map_err(|error| error.to_string())?;
        let key = found.ok_or_else(|| format!("session {} has no name", session.0))?;
        self.names.put(session, key.clone());
        Ok(key)
    }
}
