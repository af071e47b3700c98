//! Payloads that several windows share: they go when the last of them lets go.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use lacuna_core::{SessionKey, SessionState};

use super::removal::Target;
use crate::{EngineError, Journal};

impl Journal {
    /// The other sessions that share payloads with this one, as of the last commit.
    pub(super) fn relatives(
        &self,
        state: &SessionState,
    ) -> Result<Vec<Arc<SessionState>>, EngineError> {
        let mut found = Vec::new();
        for number in self.store.relatives(state.number)? {
            let Some(key) = self.store.session_key(number)? else { continue };
            found.push(self.state(&key)?);
        }
        Ok(found)
    }

    /// Parts targets, which ascend, into those whose payload every session that has it lets go, and those
    /// that another one keeps still.
    pub(super) fn let_go(
        &self,
        sessions: &[SessionKey],
        targets: Vec<Target>,
    ) -> Result<(Vec<Target>, Vec<Target>), EngineError> {
        if !self.store.has_forks() {
            return Ok((targets, Vec::new()));
        }
        let mut relatives: HashMap<u32, Vec<Arc<SessionState>>> = HashMap::new();
        let (mut going, mut kept) = (Vec::with_capacity(targets.len()), Vec::new());
        for sharing in targets.chunk_by(|a, b| a.seq == b.seq) {
            let first = sharing[0];
            let relatives = match relatives.entry(first.session) {
                Entry::Occupied(relatives) => relatives.into_mut(),
                Entry::Vacant(vacant) => {
                    let state = self.state(&sessions[first.session as usize])?;
                    vacant.insert(self.relatives(&state)?)
                }
            };
            let others = relatives.iter().filter(|state| {
                state.at_seq(first.seq).is_some_and(|(_, span)| span.can_be_erased())
            });
            match others.count() + 1 == sharing.len() {
                true => going.extend_from_slice(sharing),
                false => kept.extend_from_slice(sharing),
            }
        }
        Ok((going, kept))
    }
}
