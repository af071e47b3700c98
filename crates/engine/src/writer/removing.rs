//! Removals: the events that say so, in the transaction that takes the payloads out.

use std::sync::Arc;

use lacuna_core::{Reply, SessionState};
use lacuna_store::StoreError;

use super::{Staged, Writer};
use crate::retention::removal::{Removed, Removing};

impl Writer {
    /// Commits a removal with the events that say so, if the commands lose exactly what it takes out.
    pub(super) fn remove(&mut self, removing: Removing) -> Result<Removed, StoreError> {
        let Removing { requests, removal, seqs, states, residues } = removing;
        self.adopt(states)?;
        let (mut decided, mut lost) = (Vec::with_capacity(requests.len()), Vec::new());
        let mut kept = Vec::new();
        for request in requests {
            let decision = match self.judge(&request.session.clone(), &request, None)? {
                Ok(decision) => decision,
                Err(error) => return Ok(Err(error)),
            };
            if let Reply::Removed { seqs, residues, .. } = &decision.reply {
                lost.extend_from_slice(seqs);
                kept.extend_from_slice(residues);
            }
            decided.push((request, decision));
        }
        if !self.goes_everywhere(&decided)? {
            return Ok(Ok(None));
        }
        for seqs in [&mut lost, &mut kept] {
            seqs.sort_unstable();
            seqs.dedup();
        }
        if lost != seqs || !kept.iter().eq(residues.iter().map(|(seq, _)| seq)) {
            return Ok(Ok(None));
        }
        let mut done = Vec::with_capacity(decided.len());
        for (request, decision) in decided {
            let key = request.session.clone();
            done.push(self.stage(&key, &request, decision)?);
        }
        if self.batch.events() > 0 {
            let text = |(seq, residue): (u64, Option<_>)| Some((seq, residue?));
            self.batch.remove(removal, residues.into_iter().filter_map(text).collect());
        }
        self.commit()?;
        Ok(Ok(Some(done)))
    }

    /// Takes over states that somebody else has read, where it has none of its own.
    fn adopt(&mut self, states: Vec<Arc<SessionState>>) -> Result<(), StoreError> {
        for mut state in states {
            let key = state.key.clone();
            if self.sessions.get_mut(&key).is_none() {
                self.store.catch_up(&mut state)?;
                let anchors = self.store.anchors(state.number)?;
                let state = Arc::unwrap_or_clone(state);
                self.sessions.insert(key, Staged::new(state, anchors));
            }
        }
        Ok(())
    }
}
