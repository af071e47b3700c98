//! The readers' side: states of what is committed, shared, brought up to date on each use.

use std::sync::Arc;

use lacuna_core::{SessionKey, SessionState};
use lacuna_store::{Store, StoreError};
use parking_lot::Mutex;

use crate::cache::{Cache, Holds, weight};

impl Holds for Arc<SessionState> {
    fn state(&self) -> &SessionState {
        self
    }
}

/// Committed states by session.
pub(crate) struct Reader {
    store: Arc<Store>,
    states: Mutex<Cache<Arc<SessionState>>>,
}

impl Reader {
    pub(crate) fn new(store: Arc<Store>, cached_spans: usize) -> Self {
        Self { store, states: Mutex::new(Cache::new(cached_spans)) }
    }

    pub(crate) fn cached(&self) -> usize {
        self.states.lock().len()
    }

    /// The state of a session as of the last commit; none if it was never opened.
    ///
    /// The lock is held only to look up and to put back, never while the file is read: two readers
    /// may fold the same events, and the newer state stays.
    pub(crate) fn state(&self, key: &SessionKey) -> Result<Option<Arc<SessionState>>, StoreError> {
        let cached = self.states.lock().get_mut(key).map(|state| Arc::clone(state));
        let (mut state, fresh) = match cached {
            Some(state) => (state, false),
            None => {
                let Some(number) = self.store.session(key)? else { return Ok(None) };
                let Some(state) = self.store.load(number)? else { return Ok(None) };
                (Arc::new(state), true)
            }
        };
        let changed = self.store.catch_up(&mut state)?;
        if fresh || changed {
            let mut states = self.states.lock();
            match states.get_mut(key) {
                Some(held) if held.version >= state.version => {}
                Some(held) => {
                    let grown = weight(&state).saturating_sub(weight(held));
                    *held = Arc::clone(&state);
                    states.grown(grown);
                }
                None => states.insert(key.clone(), Arc::clone(&state)),
            }
            states.shrink();
        }
        Ok(Some(state))
    }
}
