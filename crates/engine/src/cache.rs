//! A bounded cache of session states: the least recently used goes first.

use lacuna_core::{SessionKey, SessionState};
use lru::LruCache;

/// What a session costs besides its spans, in spans.
const BASE: usize = 8;

/// States by session name, bounded by the number of spans in them all.
pub(crate) struct Cache<S> {
    states: LruCache<SessionKey, S>,
    spans: usize,
    limit: usize,
}

/// Something that holds a session's state.
pub(crate) trait Holds {
    fn state(&self) -> &SessionState;
}

impl<S: Holds> Cache<S> {
    pub(crate) fn new(limit: usize) -> Self {
        Self { states: LruCache::unbounded(), spans: 0, limit }
    }

    pub(crate) fn get_mut(&mut self, key: &SessionKey) -> Option<&mut S> {
        self.states.get_mut(key)
    }

    pub(crate) fn insert(&mut self, key: SessionKey, state: S) {
        self.spans += weight(state.state());
        if let Some((_, old)) = self.states.push(key, state) {
            self.spans = self.spans.saturating_sub(weight(old.state()));
        }
    }

    /// Tells the cache that a state has grown by this many spans.
    pub(crate) fn grown(&mut self, spans: usize) {
        self.spans += spans;
    }

    /// Takes out least recently used states until the rest is within the limit. The most recent
    /// one stays, however large.
    pub(crate) fn shrink(&mut self) -> Vec<S> {
        let mut gone = Vec::new();
        while self.spans > self.limit && self.states.len() > 1 {
            let Some((_, state)) = self.states.pop_lru() else { break };
            self.spans = self.spans.saturating_sub(weight(state.state()));
            gone.push(state);
        }
        gone
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &S> {
        self.states.iter().map(|(_, state)| state)
    }

    pub(crate) fn len(&self) -> usize {
        self.states.len()
    }
}

pub(crate) fn weight(state: &SessionState) -> usize {
    BASE + state.spans().len()
}
