//! A bounded cache of session states: the least recently used goes first, and a few always stay.

use lacuna_core::{SessionKey, SessionState};
use lru::LruCache;

/// What a session costs besides its spans, in spans.
const BASE: usize = 8;

/// The most recently used states, which stay however large: one large session in use beside others
/// would be loaded anew for each of its commands.
const STAY: usize = 4;

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

    /// Takes out least recently used states until the rest is within the limit. The few most recent
    /// ones stay, however large.
    pub(crate) fn shrink(&mut self) -> Vec<S> {
        let mut gone = Vec::new();
        while self.spans > self.limit && self.states.len() > STAY {
            let Some((_, state)) = self.states.pop_lru() else { break };
            self.spans = self.spans.saturating_sub(weight(state.state()));
            gone.push(state);
        }
        gone
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut S> {
        self.states.iter_mut().map(|(_, state)| state)
    }

    pub(crate) fn len(&self) -> usize {
        self.states.len()
    }
}

pub(crate) fn weight(state: &SessionState) -> usize {
    BASE + state.spans().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sized(SessionState);

    impl Holds for Sized {
        fn state(&self) -> &SessionState {
            &self.0
        }
    }

    fn sized(name: &str) -> (SessionKey, Sized) {
        use lacuna_core::event::SessionOpened;
        use lacuna_core::{Contract, Digest, Event, Recorded, SessionNo, Timestamp};
        let key = SessionKey { tenant: "t".parse().unwrap(), session: name.parse().unwrap() };
        let opened = SessionOpened {
            key: key.clone(),
            window_tokens: 1,
            reserve_ppm: 0,
            contract: Contract::Record,
            labels: Default::default(),
        };
        let state = SessionState::open(&Recorded {
            seq: 1,
            version: 1,
            at: Timestamp(1),
            session: SessionNo(1),
            principal: "p".parse().unwrap(),
            command: None,
            previous: Digest::default(),
            hash: Digest::default(),
            imported: None,
            event: Event::SessionOpened(opened),
        });
        (key, Sized(state.unwrap()))
    }

    #[test]
    fn a_session_larger_than_the_cache_stays_while_it_is_among_the_most_recent() {
        let mut cache = Cache::new(10 * BASE);
        let (large, state) = sized("large");
        cache.insert(large.clone(), state);
        cache.grown(1_000_000);
        // It alone is far beyond the limit, and so it goes on while others are used beside it.
        for round in 0..10 {
            for other in 1..STAY {
                let (key, state) = sized(&format!("other{other}"));
                if cache.get_mut(&key).is_none() {
                    cache.insert(key, state);
                }
            }
            assert!(cache.get_mut(&large).is_some(), "round {round}");
            assert!(cache.shrink().is_empty(), "round {round}");
        }
        // The least recent one makes room for a fifth; the large one goes once it is that.
        let (fifth, state) = sized("fifth");
        cache.insert(fifth, state);
        let gone: Vec<String> =
            cache.shrink().iter().map(|gone| gone.0.key.session.as_str().to_owned()).collect();
        assert_eq!(gone, ["other1"]);
        for name in ["sixth", "seventh", "eighth"] {
            let (key, state) = sized(name);
            cache.insert(key, state);
            cache.shrink();
        }
        assert!(cache.get_mut(&large).is_none());
    }
}
