//! Removing payloads: in slices, each with its lossy commitments in one transaction, so that commands
//! of others have their turn between them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crossbeam_channel::bounded;
use lacuna_core::retention::{residue, standing};
use lacuna_core::{Command, Due, SessionKey, SessionState, SpanId, SpanIndex};
use lacuna_store::{Removal, Stored, step_taken};

use crate::intake::closed;
use crate::writer::Message;
use crate::{Done, EngineError, Journal, Request};

/// How much one transaction takes out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slice {
    /// Spans, at most.
    spans: usize,
    /// Stored bytes that are rewritten, about.
    bytes: u64,
}

impl Slice {
    /// While nobody else writes: fewer transactions write less in all.
    pub(super) const LARGE: Self = Self { spans: 400, bytes: 512 << 10 };
    /// While others write: none of them waits long.
    const SMALL: Self = Self { spans: 32, bytes: 64 << 10 };
    /// A run beside others is to take about so many: at some ten in a second, ten minutes.
    const MANY: usize = 6_000;
    /// Windows that lose something in one transaction, for each of its spans.
    const WINDOWS: usize = 16;

    /// While others write, with so much left to do: more at a time if it is very much. What is recorded in
    /// the time of a run must not be more than a run removes, or nothing ever ends.
    pub(super) fn beside(left: usize) -> Self {
        let spans = (left / Self::MANY).clamp(Self::SMALL.spans, Self::LARGE.spans);
        let bytes = Self::SMALL.bytes * spans as u64 / Self::SMALL.spans as u64;
        Self { spans, bytes: bytes.min(Self::LARGE.bytes) }
    }

    /// The first payloads of these targets, as many as a transaction takes; at least one.
    fn of(self, targets: &[Target]) -> Vec<u64> {
        let (mut wanted, mut windows) = (Vec::new(), 0);
        for sharing in targets.chunk_by(|a, b| a.seq == b.seq) {
            windows += sharing.len();
            let full = wanted.len() >= self.spans || windows > self.spans * Self::WINDOWS;
            if full && !wanted.is_empty() {
                break;
            }
            wanted.push(sharing[0].seq);
        }
        wanted
    }
}

/// Residues by journal position; none of what is no text.
pub(crate) type Residues = Vec<(u64, Option<Vec<u8>>)>;

/// A removal on its way to the writer: commands of different sessions that take out exactly these
/// payloads together, and the packs rewritten without them.
pub(crate) struct Removing {
    pub(crate) requests: Vec<Request>,
    pub(crate) removal: Removal,
    /// The journal positions of the spans that the commands must lose, ascending.
    pub(crate) seqs: Vec<u64>,
    /// The sessions' states as read before: loading them is the longer part, and the writer is spared it.
    pub(crate) states: Vec<Arc<SessionState>>,
    /// The residues that stay of them, in the order of the journal.
    pub(crate) residues: Residues,
}

/// What the writer makes of it: none if the sessions, the policy or the holds have changed so that
/// other spans would go; then nothing was done.
pub(crate) type Removed = Result<Option<Vec<Done>>, EngineError>;

/// A payload that is to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Target {
    /// The journal position of its span.
    pub(super) seq: u64,
    /// Its length.
    pub(super) bytes: u64,
    /// Its session, as a place in a list.
    pub(super) session: u32,
    pub(super) due: Due,
}

/// How many payloads targets, which ascend, take out, and their bytes.
pub(super) fn payloads(targets: &[Target]) -> (u64, u64) {
    let each = targets.chunk_by(|a, b| a.seq == b.seq);
    each.fold((0, 0_u64), |(spans, bytes), sharing| {
        (spans + 1, bytes.saturating_add(sharing[0].bytes))
    })
}

/// How far a slice has come.
pub(super) enum Sliced {
    /// So many of the targets are dealt with.
    Taken(usize),
    /// What was found before no longer holds for some of this many: look again.
    Changed(usize),
}

impl Journal {
    /// Removes the first of these payloads, which ascend, as many as one transaction takes. `request` makes
    /// the command by which a session loses some of its spans.
    pub(super) fn remove_slice(
        &self,
        targets: &[Target],
        slice: Slice,
        request: impl Fn(u32, Vec<Due>) -> Request,
    ) -> Result<Sliced, EngineError> {
        // Two removals must not rewrite the same pack.
        let _alone = self.removing.lock();
        let wanted = slice.of(targets);
        let removal = self.store.prepare_removal(&wanted, slice.bytes)?;
        // What several windows share has a target in each.
        let taken = match removal.taken() {
            0 => 0,
            payloads => targets.partition_point(|target| target.seq <= wanted[payloads - 1]),
        };
        let stays = removal.unparted().to_vec();
        let goes = |target: &&Target| stays.binary_search(&target.seq).is_err();
        let going: Vec<&Target> = targets[..taken].iter().filter(goes).collect();
        if !going.is_empty() {
            let mut by_session: BTreeMap<u32, Vec<Due>> = Default::default();
            for target in &going {
                by_session.entry(target.session).or_default().push(target.due);
            }
            let requests: Vec<Request> =
                by_session.into_iter().map(|(session, due)| request(session, due)).collect();
            let states = requests.iter().map(|request| self.state(&request.session));
            let states: Vec<Arc<SessionState>> = states.collect::<Result<_, _>>()?;
            let mut seqs: Vec<u64> = going.iter().map(|target| target.seq).collect();
            seqs.dedup();
            let residues = self.residues(&states, &requests)?;
            let removing = Removing { requests, removal, seqs, states, residues };
            step_taken("removal-prepared");
            if self.hand_over(removing)?.is_none() {
                return Ok(Sliced::Changed(taken));
            }
        }
        let mut damaged: BTreeMap<u32, Vec<SpanIndex>> = Default::default();
        for target in targets[..taken].iter().filter(|target| !goes(target)) {
            damaged.entry(target.session).or_default().push(target.due.span);
        }
        for (session, spans) in damaged {
            let key = request(session, Vec::new()).session;
            self.lose_damaged(&key, &spans)?;
        }
        Ok(Sliced::Taken(taken))
    }

    /// The residues of those spans whose rules keep one.
    fn residues(
        &self,
        states: &[Arc<SessionState>],
        requests: &[Request],
    ) -> Result<Residues, EngineError> {
        let Some(first) = states.first() else { return Ok(Vec::new()) };
        let (retention, _) = self.retention(&first.key.tenant)?;
        let mut residues = Vec::new();
        if !retention.rules.iter().any(|rule| rule.residue) {
            return Ok(residues);
        }
        let mut payloads = self.store.payloads()?;
        for (state, request) in states.iter().zip(requests) {
            let Command::Remove { spans } = &request.command else { continue };
            for due in spans {
                let Some((rule, _)) = standing(state, *due, &retention) else { continue };
                if !retention.rules.iter().any(|own| own.id == rule && own.residue) {
                    continue;
                }
                let span = state.span(due.span);
                let kept = match payloads.read_span(span)? {
                    Stored::Whole(content) => std::str::from_utf8(&content).ok().map(residue),
                    Stored::Missing | Stored::Damaged(_) => None,
                };
                residues.push((span.seq, kept));
            }
        }
        residues.sort_unstable();
        residues.dedup();
        Ok(residues)
    }

    /// Has the writer commit a removal, and waits for it.
    pub(super) fn hand_over(&self, removing: Removing) -> Removed {
        let (sender, receiver) = bounded(1);
        let answer = Box::new(move |answer| drop(sender.send(answer)));
        self.intake.send(Message::Remove(Box::new(removing), answer)).map_err(|_| closed())?;
        receiver
            .recv()
            .unwrap_or_else(|_| Err(EngineError::Unavailable("the writer has ended".into())))
    }

    /// What cannot be taken apart any more is lost already: the loss is recorded as damage.
    pub(super) fn lose_damaged(
        &self,
        key: &SessionKey,
        spans: &[SpanIndex],
    ) -> Result<(), EngineError> {
        let state: Arc<SessionState> = self.state(key)?;
        let spans: Vec<SpanId> = spans.iter().map(|&index| state.span(index).id.clone()).collect();
        self.report_damage(key, &spans, "found by a removal")?;
        Ok(())
    }
}

/// A command that removes spans of a session for a run.
pub(super) fn remove(spans: Vec<Due>) -> Command {
    Command::Remove { spans }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_beside_others_takes_more_at_a_time_the_more_there_is() {
        let of = |left| {
            let Slice { spans, bytes } = Slice::beside(left);
            (spans, bytes)
        };
        assert_eq!(of(0), (32, 64 << 10));
        assert_eq!(of(100_000), (32, 64 << 10));
        assert_eq!(of(600_000), (100, 200 << 10));
        assert_eq!(of(100_000_000), (400, 512 << 10));
    }
}
