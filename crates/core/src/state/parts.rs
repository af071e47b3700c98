//! A state in two parts, as it is stored: what it has gained and keeps unchanged, and the rest.
//!
//! ```text
//!   version      0 ──────── 2,100 ───────── 4,300 ───── 5,000
//!   grown          [spans …) [spans …)       [spans …)          once each, never again
//!   rest                   rest            rest       rest      whole each time, small
//! ```
//!
//! The state at 4,300 is what was gained up to there, and the rest at 4,300. So many moments of a long
//! session are kept for little more than one costs; and who holds a later state needs the rest only.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::runs::Runs;
use super::{
    AuditState, Contradiction, DirectiveState, ForkedFrom, ImportState, Key, NoticeState, Place,
    Reading, ReceiptState, SessionState, Slot, SpanIndex, SummaryState, Tombstone,
};
use crate::retention::RetentionState;
use crate::{
    Contract, Digest, DirectiveNo, Finding, Origin, Principal, Role, SessionKey, SessionNo, SpanId,
    SpanKind, Storage, StoredClaims, SummaryStatus, Timestamp, TokensFrom,
};

/// How much of what only grows a state holds, and at which version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Extent {
    /// The version.
    pub version: u64,
    /// Spans recorded.
    pub spans: u32,
    /// Directives, carried out or refused.
    pub directives: u32,
    /// Entries of the tombstone ledger.
    pub ledger: u32,
}

/// What a state has gained since an earlier one of its session, and keeps unchanged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grown {
    /// The earlier state.
    pub since: Extent,
    /// The later one.
    pub until: Extent,
    pub(super) principals: Vec<Principal>,
    pub(super) media_types: Vec<Arc<str>>,
    pub(super) labels: Vec<Arc<BTreeMap<String, String>>>,
    pub(super) spans: Vec<Fixed>,
    pub(super) directives: Vec<DirectiveState>,
    pub(super) ledger: Vec<Tombstone>,
    pub(super) commands: Vec<(u64, [u8; 16])>,
    pub(super) receipts: Vec<ReceiptState>,
}

/// What never changes of a span. Names that many spans share stand beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Fixed {
    pub(super) id: SpanId,
    pub(super) seq: u64,
    pub(super) version: u64,
    pub(super) at: Timestamp,
    pub(super) by: u32,
    pub(super) role: Role,
    pub(super) origin: Origin,
    pub(super) kind: SpanKind,
    pub(super) storage: Storage,
    pub(super) digest: Digest,
    pub(super) bytes: u64,
    pub(super) media_type: u32,
    pub(super) tokens: u32,
    pub(super) tokens_from: TokensFrom,
    pub(super) hedged: bool,
    pub(super) pinned: bool,
    pub(super) turn: Option<u64>,
    pub(super) answers: Option<SpanIndex>,
    pub(super) labels: u32,
    pub(super) summary: Option<Box<FixedSummary>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct FixedSummary {
    pub(super) covers: Vec<SpanIndex>,
    pub(super) cites: Vec<SpanIndex>,
    pub(super) claims: StoredClaims,
    pub(super) status: SummaryStatus,
    pub(super) findings: Vec<Finding>,
    pub(super) depth: u32,
    pub(super) tag_tokens: u32,
}

/// Everything of a state that may change with any event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rest {
    /// The session.
    pub number: SessionNo,
    /// How much it has gained up to here.
    pub extent: Extent,
    /// The record time of the last event folded.
    pub at: Timestamp,
    pub(super) key: SessionKey,
    pub(super) window_tokens: u64,
    pub(super) reserve_ppm: u32,
    pub(super) contract: Contract,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) opened_at: Timestamp,
    pub(super) closed_at: Option<Timestamp>,
    pub(super) seq: u64,
    pub(super) head: Digest,
    pub(super) places: Runs<Place>,
    pub(super) verified: Runs<Option<Timestamp>>,
    pub(super) notices: Runs<Option<NoticeState>>,
    pub(super) open_contradictions: Vec<(SpanIndex, u32)>,
    /// Places of their own in the window's order that differ from the usual ones.
    pub(super) keys: Vec<(SpanIndex, Key)>,
    pub(super) summaries: Vec<(SpanIndex, StandingSummary)>,
    pub(super) window: Vec<Shown>,
    pub(super) used_tokens: u64,
    pub(super) contradictions: Vec<Contradiction>,
    pub(super) readings: BTreeMap<SpanIndex, Vec<Reading>>,
    pub(super) attempts: BTreeMap<[u8; 16], (u32, SpanIndex)>,
    pub(super) refused: BTreeMap<SpanId, SpanIndex>,
    pub(super) workers: BTreeSet<Principal>,
    pub(super) next_assigned: u64,
    pub(super) forked_from: Option<ForkedFrom>,
    pub(super) imported: Option<Box<ImportState>>,
    pub(super) retention: Option<Arc<RetentionState>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct StandingSummary {
    pub(super) audits: Vec<AuditState>,
    pub(super) directives: Vec<DirectiveNo>,
    pub(super) standing_for: u32,
}

/// Slots of the window, as few words as they take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Shown {
    /// This many spans from this one on, each at its own place.
    Spans(SpanIndex, u32),
    Summary(SpanIndex),
    Tombstone(SpanIndex),
    /// The spans as runs: the first of each, and how many.
    Stub(DirectiveNo, Vec<(SpanIndex, u32)>),
    /// Any other.
    At(Key, Slot),
}

impl SessionState {
    /// How much of what only grows it holds.
    pub fn extent(&self) -> Extent {
        let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        Extent {
            version: self.version,
            spans: count(self.spans.len()),
            directives: count(self.directives.len()),
            ledger: count(self.ledger.len()),
        }
    }

    /// What it has gained since it was of this extent.
    pub fn grown(&self, since: Extent) -> Grown {
        fn behind<T>(list: &[T], from: u32) -> &[T] {
            list.get(from as usize..).unwrap_or_default()
        }
        let (mut principals, mut media_types, mut labels) =
            (Names::default(), Names::default(), Names::default());
        let spans = behind(&self.spans, since.spans).iter().map(|span| Fixed {
            id: span.id.clone(),
            seq: span.seq,
            version: span.version,
            at: span.at,
            by: principals.number(&span.by),
            role: span.role,
            origin: span.origin,
            kind: span.kind,
            storage: span.storage.clone(),
            digest: span.digest,
            bytes: span.bytes,
            media_type: media_types.number(&span.media_type),
            tokens: span.tokens,
            tokens_from: span.tokens_from,
            hedged: span.hedged,
            pinned: span.pinned,
            turn: span.turn,
            answers: span.answers,
            labels: labels.number(&span.labels),
            summary: span.summary.as_ref().map(|own| {
                Box::new(FixedSummary {
                    covers: own.covers.clone(),
                    cites: own.cites.clone(),
                    claims: own.claims,
                    status: own.status,
                    findings: own.findings.clone(),
                    depth: own.depth,
                    tag_tokens: own.tag_tokens,
                })
            }),
        });
        Grown {
            since,
            until: self.extent(),
            spans: spans.collect(),
            principals: principals.list,
            media_types: media_types.list,
            labels: labels.list,
            directives: behind(&self.directives, since.directives).to_vec(),
            ledger: behind(&self.ledger, since.ledger).to_vec(),
            commands: self.commands_since(since.version),
            receipts: {
                let behind = self.receipts.partition_point(|r| r.version <= since.version);
                self.receipts[behind..].to_vec()
            },
        }
    }

    /// Everything of it that may change with any event.
    pub fn rest(&self) -> Rest {
        let spans = || self.spans.iter().zip(0..);
        Rest {
            number: self.number,
            extent: self.extent(),
            at: self.at,
            key: self.key.clone(),
            window_tokens: self.window_tokens,
            reserve_ppm: self.reserve_ppm,
            contract: self.contract,
            labels: self.labels.clone(),
            opened_at: self.opened_at,
            closed_at: self.closed_at,
            seq: self.seq,
            head: self.head,
            places: self.spans.iter().map(|span| span.place).collect(),
            verified: self.spans.iter().map(|span| span.verified_at).collect(),
            notices: self.spans.iter().map(|span| span.notice.as_deref().cloned()).collect(),
            open_contradictions: spans()
                .filter(|(span, _)| span.open_contradictions > 0)
                .map(|(span, index)| (index, span.open_contradictions))
                .collect(),
            keys: spans()
                .filter(|(span, index)| span.key != Key::of(*index))
                .map(|(span, index)| (index, span.key))
                .collect(),
            summaries: spans()
                .filter_map(|(span, index)| {
                    Some((index, StandingSummary::of(span.summary.as_ref()?)))
                })
                .collect(),
            window: self.shown(),
            used_tokens: self.used_tokens,
            contradictions: self.contradictions.clone(),
            readings: self.readings.clone(),
            attempts: self.attempts.clone(),
            refused: self.refused.clone(),
            workers: self.workers.clone(),
            next_assigned: self.next_assigned,
            forked_from: self.forked_from.clone(),
            imported: self.imported.clone(),
            retention: self.retention.clone(),
        }
    }

    fn shown(&self) -> Vec<Shown> {
        let mut shown: Vec<Shown> = Vec::new();
        for (&key, slot) in &self.window {
            let own = |index: SpanIndex| self.span(index).key == key;
            let next = match slot {
                Slot::Span(index) if key == Key::of(*index) => {
                    if let Some(Shown::Spans(first, count)) = shown.last_mut()
                        && first.checked_add(*count) == Some(*index)
                    {
                        *count += 1;
                        continue;
                    }
                    Shown::Spans(*index, 1)
                }
                Slot::Summary(index) if own(*index) => Shown::Summary(*index),
                Slot::Tombstone(index) if own(*index) => Shown::Tombstone(*index),
                Slot::Stub { directive, spans } if spans.first().is_some_and(|i| own(*i)) => {
                    let mut runs: Vec<(SpanIndex, u32)> = Vec::new();
                    for &index in spans {
                        match runs.last_mut() {
                            Some((first, count)) if first.checked_add(*count) == Some(index) => {
                                *count += 1;
                            }
                            _ => runs.push((index, 1)),
                        }
                    }
                    Shown::Stub(*directive, runs)
                }
                other => Shown::At(key, other.clone()),
            };
            shown.push(next);
        }
        shown
    }
}

/// Names by number, in the order in which they came up.
struct Names<T> {
    numbers: BTreeMap<T, u32>,
    list: Vec<T>,
}

impl<T> Default for Names<T> {
    fn default() -> Self {
        Self { numbers: BTreeMap::new(), list: Vec::new() }
    }
}

impl<T: Ord + Clone> Names<T> {
    fn number(&mut self, name: &T) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        self.numbers.insert(name.clone(), number);
        self.list.push(name.clone());
        number
    }
}

impl StandingSummary {
    fn of(own: &SummaryState) -> Self {
        Self {
            audits: own.audits.clone(),
            directives: own.directives.clone(),
            standing_for: own.standing_for,
        }
    }
}
