//! Erasing at somebody's request: the payloads go at once, with their keys.

use std::collections::BTreeSet;
use std::sync::Arc;

use lacuna_core::event::Event;
use lacuna_core::{
    Command, Reply, SessionName, SessionState, SpanId, SpanIndex, SpanState, Storage,
};

use lacuna_store::step_taken;

use super::removal::Removing;
use crate::{EngineError, Journal, Request};

/// Stored bytes that one transaction rewrites; an erasure is one transaction.
const ALL: u64 = u64::MAX;
/// How often an erasure is prepared anew because somebody else changed the session meanwhile.
const ATTEMPTS: usize = 8;

/// What was erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erased {
    /// The session's version.
    pub version: u64,
    /// Spans whose payloads went.
    pub spans: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Summaries that cover or cite some of these and are kept.
    pub summaries: Vec<SpanId>,
    /// The other sessions that shared some of these: they have lost them, too.
    pub shared_with: Vec<SessionName>,
    /// Those whose content is in another store: nobody is given it here any more, and there it stays.
    pub elsewhere: Vec<SpanId>,
    /// Whether this very command was carried out before.
    pub again: bool,
}

impl Journal {
    /// Carries an erasure out: lossy commitments and the removal in one transaction, then the keys. It
    /// returns once nothing in the journal's folder leads to the bytes any more.
    pub fn erase(&self, request: Request) -> Result<Erased, EngineError> {
        let mut request = request;
        // What is recorded from here on is not meant: else a busy worker could keep it from ever ending.
        let here = self.head().seq;
        let Command::Erase { spans, cut, .. } = &mut request.command else {
            return Err(lacuna_core::Refusal::BadRequest("this is no erasure".into()).into());
        };
        *cut = (*cut).min(here);
        let (spans, cut) = (spans.clone(), *cut);
        let stamp = request.command_id.as_ref().map(|stamp| stamp.id.key());
        for _ in 0..ATTEMPTS {
            let state = self.state(&request.session)?;
            if stamp.is_some_and(|stamp| state.command(&stamp).is_some()) {
                let done = self.execute(request.clone())?;
                self.store.destroy_keys()?;
                return self.erased(&request, &done.reply, true);
            }
            let _alone = self.removing.lock();
            let seqs = stored(&state, spans.as_deref(), cut);
            let mut removal = self.store.prepare_removal(&seqs, ALL)?;
            if !removal.unparted().is_empty() {
                let damaged: Vec<SpanIndex> = (0..)
                    .zip(state.spans())
                    .filter(|(_, span)| removal.unparted().binary_search(&span.seq).is_ok())
                    .map(|(index, _)| index)
                    .collect();
                self.lose_damaged(&request.session, &damaged)?;
                let state = self.state(&request.session)?;
                let seqs = stored(&state, spans.as_deref(), cut);
                removal = self.store.prepare_removal(&seqs, ALL)?;
            }
            let state = self.state(&request.session)?;
            let seqs = stored(&state, spans.as_deref(), cut);
            let (mut requests, mut states) = (vec![request.clone()], vec![Arc::clone(&state)]);
            for other in self.relatives(&state)? {
                let shared = seqs.iter().filter_map(|seq| Some(other.at_seq(*seq)?.1));
                let shared = shared.filter(|span| span.can_be_erased());
                let spans: Vec<SpanId> = shared.map(|span| span.id.clone()).collect();
                if !spans.is_empty() {
                    requests.push(elsewhere(&request, &other, spans));
                    states.push(other);
                }
            }
            let removing = Removing { requests, removal, seqs, states, residues: Vec::new() };
            step_taken("removal-prepared");
            let Some(done) = self.hand_over(removing)? else { continue };
            step_taken("slice-removed");
            self.store.destroy_keys()?;
            self.store.forget_residues(&meant(&state, spans.as_deref(), cut))?;
            let done = done.into_iter().next().expect("one answer for one request");
            return self.erased(&request, &done.reply, done.again);
        }
        Err(EngineError::Overloaded { waiting: ATTEMPTS })
    }

    fn erased(&self, request: &Request, reply: &Reply, again: bool) -> Result<Erased, EngineError> {
        let Reply::Removed { seqs, version, .. } = reply else {
            return Err(lacuna_core::Refusal::CommandIdReused.into());
        };
        let state = self.state(&request.session)?;
        let gone: BTreeSet<u64> = seqs.iter().copied().collect();
        let gone = state.spans().iter().filter(|span| gone.contains(&span.seq));
        let (mut bytes, mut ids, mut elsewhere) = (0_u64, BTreeSet::new(), Vec::new());
        for span in gone {
            bytes = bytes.saturating_add(span.bytes);
            ids.insert(span.id.clone());
            if matches!(span.storage, Storage::External { .. }) {
                elsewhere.push(span.id.clone());
            }
        }
        let mut shared_with = Vec::new();
        for other in self.relatives(&state)? {
            if seqs.iter().any(|seq| other.at_seq(*seq).is_some()) {
                shared_with.push(other.key.session.clone());
            }
        }
        Ok(Erased {
            version: *version,
            spans: ids.len() as u64,
            bytes,
            summaries: self.telling(&state, &ids)?,
            shared_with,
            elsewhere,
            again,
        })
    }

    /// The summaries that cover or cite some of these spans and are kept themselves.
    fn telling(
        &self,
        state: &SessionState,
        gone: &BTreeSet<SpanId>,
    ) -> Result<Vec<SpanId>, EngineError> {
        let kept = state.spans().iter().filter(|span| {
            span.is_summary() && !gone.contains(&span.id) && state.tombstone(span).is_none()
        });
        let mut telling = Vec::new();
        for summary in kept {
            let recorded = self.store.history(state.number, summary.version, 1)?;
            if let Some(Event::SummaryRecorded(event)) = recorded.first().map(|r| &r.event)
                && event.covers.iter().chain(&event.cites).any(|id| gone.contains(id))
            {
                telling.push(summary.id.clone());
            }
        }
        Ok(telling)
    }
}

/// The same erasure for the spans that another session shares.
fn elsewhere(request: &Request, other: &SessionState, spans: Vec<SpanId>) -> Request {
    let Command::Erase { reason, .. } = &request.command else {
        unreachable!("an erasure is asked for")
    };
    Request {
        session: other.key.clone(),
        principal: request.principal.clone(),
        command_id: None,
        expected_version: None,
        command: Command::Erase { spans: Some(spans), cut: u64::MAX, reason: reason.clone() },
    }
}

/// The journal positions of these spans, or of all up to a cut, as far as there is something to erase.
fn stored(state: &SessionState, spans: Option<&[SpanId]>, cut: u64) -> Vec<u64> {
    let kept = |span: &&SpanState| span.can_be_erased();
    let mut seqs: Vec<u64> = match spans {
        Some(spans) => {
            spans.iter().filter_map(|id| state.find(id)).filter(kept).map(|s| s.seq).collect()
        }
        None => {
            let meant = state.spans().iter().filter(|span| span.seq <= cut);
            meant.filter(kept).map(|span| span.seq).collect()
        }
    };
    seqs.sort_unstable();
    seqs.dedup();
    seqs
}

/// The journal positions of these spans, or of all up to a cut, whatever became of them.
fn meant(state: &SessionState, spans: Option<&[SpanId]>, cut: u64) -> Vec<u64> {
    match spans {
        Some(spans) => spans.iter().filter_map(|id| state.find(id)).map(|s| s.seq).collect(),
        None => state.spans().iter().map(|span| span.seq).filter(|seq| *seq <= cut).collect(),
    }
}
