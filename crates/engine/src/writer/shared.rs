//! Payloads that several windows share: they go for all of them, or for none.

use std::collections::{HashMap, HashSet};

use lacuna_core::{
    CopyEvidence, Decision, LostSince, Reply, SessionKey, SessionNo, SessionState, SpanId,
};
use lacuna_store::StoreError;

use super::Writer;
use crate::Request;
use crate::examine::Examined;
use crate::questions::damage_report;

impl Writer {
    /// What a session has lost for every window since a moment of its past.
    pub(super) fn lost_since(&mut self, then: &SessionState) -> Result<Vec<LostSince>, StoreError> {
        self.bring_back(&then.key)?;
        let Some(now) = self.staged(&then.key)? else { return Ok(Vec::new()) };
        let lost = now.state.lost_since(then);
        let with_residue = |(span, cause)| {
            let residue = self.store.residue(then.span(span).seq)?.is_some();
            Ok(LostSince { span, cause, residue })
        };
        lost.into_iter().map(with_residue).collect()
    }

    /// Whether every session that has one of the payloads which these decisions take out loses it by one of
    /// them.
    pub(super) fn goes_everywhere(
        &mut self,
        decided: &[(Request, Decision)],
    ) -> Result<bool, StoreError> {
        if !self.store.has_forks() {
            return Ok(true);
        }
        let mut losing: HashMap<SessionNo, HashSet<u64>> = HashMap::new();
        for (request, decision) in decided {
            if let (Some(staged), Reply::Removed { seqs, .. }) =
                (self.staged(&request.session)?, &decision.reply)
            {
                losing.insert(staged.state.number, seqs.iter().copied().collect());
            }
        }
        let seqs: HashSet<u64> = losing.values().flatten().copied().collect();
        // Sessions of one family are asked once, however many of them lose something.
        let mut asked: HashSet<SessionNo> = HashSet::new();
        for number in losing.keys() {
            if asked.contains(number) {
                continue;
            }
            asked.insert(*number);
            for key in self.relatives(*number)? {
                let Some(staged) = self.staged(&key)? else { continue };
                asked.insert(staged.state.number);
                let own = losing.get(&staged.state.number);
                let keeps = |seq: &u64| {
                    own.is_none_or(|own| !own.contains(seq))
                        && staged.state.at_seq(*seq).is_some_and(|(_, span)| span.can_be_erased())
                };
                if seqs.iter().any(keeps) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Records a loss in every other session that has the spans, too. `copies`: what was found out about
    /// those that are in stores outside the journal.
    pub(super) fn lose_everywhere(
        &mut self,
        key: &SessionKey,
        lost: &[SpanId],
        copies: Option<HashMap<SpanId, CopyEvidence>>,
    ) -> Result<(), StoreError> {
        if lost.is_empty() || !self.store.has_forks() {
            return Ok(());
        }
        let Some(staged) = self.staged(key)? else { return Ok(()) };
        let number = staged.state.number;
        let seqs = lost.iter().filter_map(|id| Some(staged.state.find(id)?.seq));
        let seqs: Vec<u64> = seqs.collect();
        for relative in self.relatives(number)? {
            self.bring_back(&relative)?;
            let Some(staged) = self.staged(&relative)? else { continue };
            let spans = seqs.iter().filter_map(|seq| Some(staged.state.at_seq(*seq)?.1.id.clone()));
            let spans: Vec<SpanId> = spans.collect();
            if spans.is_empty() {
                continue;
            }
            let request = damage_report(&relative, spans);
            let examined = copies.clone().map(Examined::Copies);
            // A session that cannot be read finds its loss out by itself.
            if let Err(error) = self.decide(&relative, &request, examined)? {
                tracing::warn!(session = %relative, %error, "a shared loss was not recorded here");
            }
        }
        Ok(())
    }

    fn relatives(&self, session: SessionNo) -> Result<Vec<SessionKey>, StoreError> {
        let numbers = self.store.relatives(session)?;
        let mut keys = Vec::with_capacity(numbers.len());
        for number in numbers {
            keys.extend(self.store.session_key(number)?);
        }
        Ok(keys)
    }
}
