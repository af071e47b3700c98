//! The events of all of a tenant's sessions in the journal's order: what a follower reads.

use std::num::NonZeroUsize;

use lacuna_core::{Recorded, SessionKey, SessionNo, Tenant};
use lacuna_store::{Store, StoreError};
use lru::LruCache;
use parking_lot::Mutex;

use crate::{EngineError, Journal};

/// Names of sessions that are kept in memory.
const NAMES: NonZeroUsize = NonZeroUsize::new(16_384).expect("it is not zero");
/// Events that one page looks at, whosever they are: a tenant that is quiet among busy ones must not
/// make a question long.
const LOOKED_AT: u64 = 65_536;

/// The names of sessions by number, those asked for last kept in memory.
pub(crate) struct Names(Mutex<LruCache<SessionNo, SessionKey>>);

impl Names {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(LruCache::new(NAMES)))
    }

    fn find(&self, store: &Store, number: SessionNo) -> Result<SessionKey, StoreError> {
        if let Some(key) = self.0.lock().get(&number) {
            return Ok(key.clone());
        }
        let key = store.session_key(number)?.ok_or_else(|| {
            StoreError::Damaged(format!("no session was opened at seq {}", number.0))
        })?;
        self.0.lock().put(number, key.clone());
        Ok(key)
    }
}

/// A part of a tenant's events.
#[derive(Debug, Clone, PartialEq)]
pub struct TenantEvents {
    /// The events with their sessions, in the order of their seqs.
    pub events: Vec<(SessionKey, Recorded)>,
    /// The seq to go on from.
    pub next: u64,
    /// Whether the journal goes on there.
    pub more: bool,
}

impl Journal {
    /// A tenant's events from a seq on, at most `limit`; fewer, or none, where those of others lie
    /// between. A block that cannot be read is an error, once everything before it was given.
    pub fn tenant_events(
        &self,
        tenant: &Tenant,
        from: u64,
        limit: usize,
    ) -> Result<TenantEvents, EngineError> {
        let mut page = TenantEvents { events: Vec::new(), next: from.max(1), more: true };
        let end = page.next.saturating_add(LOOKED_AT);
        while page.next < end {
            let Some(walked) = self.store.walk(page.next)? else {
                page.more = false;
                break;
            };
            for recorded in walked.events {
                if page.events.len() == limit {
                    return Ok(page);
                }
                let seq = recorded.seq;
                match self.names.find(&self.store, recorded.session) {
                    Ok(key) if key.tenant == *tenant => page.events.push((key, recorded)),
                    Ok(_) => {}
                    Err(error) => return page.before(error),
                }
                page.next = seq + 1;
            }
            if let Some(why) = walked.damaged {
                let (from, behind) = (page.next, walked.next);
                return page.before(StoreError::Damaged(format!(
                    "the events from seq {from} on cannot be read ({why}); those behind them can, \
                     from seq {behind} on"
                )));
            }
            page.next = walked.next;
        }
        Ok(page)
    }
}

impl TenantEvents {
    /// What was read before something that cannot be, if that is anything.
    fn before(self, error: StoreError) -> Result<Self, EngineError> {
        if self.events.is_empty() { Err(error.into()) } else { Ok(self) }
    }
}
