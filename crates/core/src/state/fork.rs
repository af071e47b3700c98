//! Forks: sessions that share a past, and with it payloads.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{SessionState, SpanIndex, SpanState};
use crate::event::{Recorded, SessionForked};
use crate::{Cause, SessionKey, SessionNo};

/// Where a fork began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkedFrom {
    /// The session that it was forked from.
    pub parent: SessionKey,
    /// The number of that session.
    pub number: SessionNo,
    /// The last version that they share.
    pub at: u64,
    /// How many forks lie on the way from a session that is none: 1 for a fork of such a one.
    pub depth: u32,
}

impl SessionState {
    /// Where the session began, if it is a fork.
    pub fn forked_from(&self) -> Option<&ForkedFrom> {
        self.forked_from.as_ref()
    }

    /// The span whose payload is filed under this journal position, if this session has it.
    pub fn at_seq(&self, seq: u64) -> Option<(SpanIndex, &SpanState)> {
        // A fork comes behind all that it shares, so positions ascend in every session.
        let index = self.spans.binary_search_by_key(&seq, |span| span.seq).ok()?;
        Some((SpanIndex::try_from(index).ok()?, &self.spans[index]))
    }

    /// What stopped being recoverable for every window between a moment of this session's past and this
    /// state: not what only its own window gave up.
    pub fn lost_since(&self, then: &Self) -> Vec<(SpanIndex, Cause)> {
        let lost = |(index, span): (SpanIndex, &SpanState)| {
            let now = self.spans.get(index as usize).filter(|_| span.loss.is_none())?;
            match &self.tombstone(now)?.cause {
                Cause::Directive { .. } => None,
                cause => Some((index, cause.clone())),
            }
        };
        (0..).zip(then.spans()).filter_map(lost).collect()
    }

    /// The session goes its own way from here.
    pub(super) fn forked(&mut self, recorded: &Recorded, event: &SessionForked) {
        self.forked_from = Some(ForkedFrom {
            parent: event.parent.clone(),
            number: event.parent_number,
            at: event.at,
            depth: self.forked_from.as_ref().map_or(0, |from| from.depth).saturating_add(1),
        });
        self.number = recorded.session;
        self.key = event.key.clone();
        self.opened_at = recorded.at;
        self.goes_its_own_way();
    }

    /// Nothing of what was asked of its past, or told about it, holds for it.
    pub(super) fn goes_its_own_way(&mut self) {
        self.closed_at = None;
        // Whoever sends commands here has sent none yet. Removals that were announced stay so: the notice is
        // part of the history, and forking again and again must not put them off.
        let known = Arc::make_mut(&mut self.known);
        known.commands.clear();
        // What the other session recorded since may stand for something else here.
        known.spans.retain(|_, index| (*index as usize) < self.spans.len());
    }
}
