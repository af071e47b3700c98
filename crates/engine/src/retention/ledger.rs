//! The tenant's ledger: its lossy commitments in the order of the journal.

use std::collections::{HashMap, HashSet};

use lacuna_core::event::{Event, LossyCommitted};
use lacuna_core::retention::OpenRun;
use lacuna_core::{Cause, SessionName, Tenant, Timestamp};

use crate::{EngineError, Journal};

/// Events of the ledger that are read at once.
const PAGE: usize = 1_000;

/// A lossy commitment of one session.
#[derive(Debug, Clone, PartialEq)]
pub struct Loss {
    /// The journal position of the event.
    pub seq: u64,
    /// Its record time.
    pub at: Timestamp,
    /// The session.
    pub session: SessionName,
    /// What was lost, and why.
    pub event: LossyCommitted,
}

impl Journal {
    /// The entries of a tenant's ledger from this one on, counted from 0, at most so many: the events that
    /// hold them, with these spans only. An entry keeps its number for ever.
    pub fn ledger(
        &self,
        tenant: &Tenant,
        from: u64,
        entries: usize,
    ) -> Result<Vec<Loss>, EngineError> {
        let mut losses = Vec::new();
        let place = self.store.ledger_entry(tenant.as_str(), from)?;
        let Some((mut seq, skip)) = place else { return Ok(losses) };
        let (mut left, mut skip) = (entries, usize::try_from(skip).unwrap_or(usize::MAX));
        while left > 0 {
            let rows = self.store.losses(tenant.as_str(), seq, PAGE.min(left))?;
            let Some(last) = rows.last() else { break };
            seq = last.seq.saturating_add(1);
            for recorded in rows {
                let Event::LossyCommitted(mut event) = recorded.event else { continue };
                let name = self.store.session_key(recorded.session)?;
                let Some(session) = name.map(|key| key.session) else { continue };
                event.spans.drain(..skip.min(event.spans.len()));
                event.spans.truncate(left);
                (skip, left) = (0, left - event.spans.len());
                losses.push(Loss { seq: recorded.seq, at: recorded.at, session, event });
                if left == 0 {
                    break;
                }
            }
        }
        Ok(losses)
    }

    /// How many payloads a run has removed so far, and their bytes: one that several windows shared counts
    /// once.
    pub(super) fn removed_by(
        &self,
        tenant: &Tenant,
        run: &OpenRun,
    ) -> Result<(u64, u64), EngineError> {
        let (mut spans, mut bytes, mut from) = (0, 0_u64, run.cut);
        let (mut counted, mut states) = (HashSet::new(), HashMap::new());
        loop {
            let rows = self.store.losses(tenant.as_str(), from, PAGE)?;
            let Some(last) = rows.last() else { return Ok((spans, bytes)) };
            from = last.seq.saturating_add(1);
            for recorded in rows {
                if let Event::LossyCommitted(event) = recorded.event
                    && matches!(event.cause, Cause::Retention { run: by, .. } if by == run.run)
                {
                    let shares = !self.store.relatives(recorded.session)?.is_empty();
                    if shares && !states.contains_key(&recorded.session) {
                        let key = self.store.session_key(recorded.session)?;
                        let state = key.map(|key| self.state(&key)).transpose()?;
                        states.insert(recorded.session, state);
                    }
                    let state = states.get(&recorded.session).and_then(Option::as_ref);
                    for span in &event.spans {
                        let seq = state.and_then(|state| Some(state.find(&span.span)?.seq));
                        if seq.is_none_or(|seq| counted.insert(seq)) {
                            spans += 1;
                            bytes = bytes.saturating_add(span.bytes);
                        }
                    }
                }
            }
        }
    }
}
