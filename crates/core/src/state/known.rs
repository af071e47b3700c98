//! Where a session's spans and commands are found by their names.

use foldhash::HashMap;

use super::{SessionState, SpanIndex};
use crate::SpanId;

/// What names lead to. A state of the past shares it with a later one of its session, so it may
/// know more than the state that asks: what lies beyond that is not found.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    pub(crate) spans: HashMap<SpanId, SpanIndex>,
    /// First event of every command that bore an id.
    pub(crate) commands: HashMap<[u8; 16], u64>,
}

impl SessionState {
    /// The index of this id.
    pub fn index(&self, id: &SpanId) -> Option<SpanIndex> {
        self.index_of(id.as_str())
    }

    /// The same of a text that may be an id.
    pub(crate) fn index_of(&self, id: &str) -> Option<SpanIndex> {
        let index = self.known.spans.get(id).copied();
        index.filter(|&index| (index as usize) < self.spans.len())
    }

    /// The first event of the command that bore this id, if one did.
    pub fn command(&self, key: &[u8; 16]) -> Option<u64> {
        self.known.commands.get(key).copied().filter(|&version| version <= self.version)
    }

    /// The commands that bore an id, by the version of their first event, behind this one.
    pub(crate) fn commands_since(&self, version: u64) -> Vec<(u64, [u8; 16])> {
        let commands = self.known.commands.iter().map(|(key, at)| (*at, *key));
        let mut since: Vec<_> =
            commands.filter(|(at, _)| *at > version && *at <= self.version).collect();
        since.sort_unstable();
        since
    }
}

/// What a state knows by name follows from its spans; what it knows of commands is compared as far
/// as it reaches.
impl PartialEq for SessionState {
    fn eq(&self, other: &Self) -> bool {
        // Whoever adds a field is made to think of it here.
        let Self {
            number,
            key,
            window_tokens,
            reserve_ppm,
            contract,
            labels,
            opened_at,
            closed_at,
            version,
            seq,
            at,
            head,
            spans,
            directives,
            ledger,
            contradictions,
            window,
            used_tokens,
            readings,
            attempts,
            refused,
            workers,
            next_assigned,
            forked_from,
            imported,
            receipts,
            retention,
            known: _,
        } = self;
        *number == other.number
            && *key == other.key
            && *window_tokens == other.window_tokens
            && *reserve_ppm == other.reserve_ppm
            && *contract == other.contract
            && *labels == other.labels
            && *opened_at == other.opened_at
            && *closed_at == other.closed_at
            && *version == other.version
            && *seq == other.seq
            && *at == other.at
            && *head == other.head
            && *spans == other.spans
            && *directives == other.directives
            && *ledger == other.ledger
            && *contradictions == other.contradictions
            && *window == other.window
            && *used_tokens == other.used_tokens
            && *readings == other.readings
            && *attempts == other.attempts
            && *refused == other.refused
            && *workers == other.workers
            && *next_assigned == other.next_assigned
            && *forked_from == other.forked_from
            && *imported == other.imported
            && *receipts == other.receipts
            && *retention == other.retention
            && spans.iter().all(|span| self.index(&span.id) == other.index(&span.id))
            && self.commands_since(0) == other.commands_since(0)
    }
}
