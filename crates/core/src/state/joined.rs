//! Putting a state together from its parts. Whatever the parts hold, nothing panics: parts that do not
//! fit together give no state.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::known::Known;
use super::parts::{Extent, Fixed, Grown, Rest, Shown, StandingSummary};
use super::{
    DirectiveState, Key, Place, ReceiptState, SessionState, Slot, SpanIndex, SpanState,
    SummaryState, Tombstone,
};
use crate::Principal;

impl SessionState {
    /// Puts a state together from everything that it has gained, in order from the very beginning, and
    /// the rest. None if they do not fit together.
    pub fn assembled(grown: Vec<Grown>, rest: Rest) -> Option<Self> {
        let mut reached = Extent::default();
        let until = rest.extent;
        let count: usize = grown.iter().map(|part| part.spans.len()).sum();
        if count != until.spans as usize {
            return None;
        }
        let (mut spans, mut known) = (Vec::with_capacity(count), Known::default());
        let (mut directives, mut ledger, mut receipts) = (Vec::new(), Vec::new(), Vec::new());
        known.spans.reserve(count);
        for part in grown {
            if part.since != reached {
                return None;
            }
            reached = part.until;
            for fixed in part.spans {
                let index = SpanIndex::try_from(spans.len()).ok()?;
                known.spans.insert(fixed.id.clone(), index);
                spans.push(fixed.bare(index, &part.principals, &part.media_types, &part.labels)?);
            }
            directives.extend(part.directives);
            ledger.extend(part.ledger);
            receipts.extend(part.receipts);
            known.commands.extend(part.commands.into_iter().map(|(version, key)| (key, version)));
        }
        rest.complete(spans, directives, ledger, receipts, Arc::new(known))
    }

    /// The state of this session at an earlier version, of which this is the rest: what only grows is
    /// taken from this one. None if they do not fit together.
    pub fn earlier(&self, rest: Rest) -> Option<Self> {
        fn begin<T>(list: &[T], length: u32) -> Option<&[T]> {
            list.get(..length as usize)
        }
        if rest.number != self.number || rest.extent.version > self.version {
            return None;
        }
        let spans = begin(&self.spans, rest.extent.spans)?.iter().zip(0..);
        let spans = spans.map(|(span, index)| span.bare(index)).collect();
        let directives = begin(&self.directives, rest.extent.directives)?.to_vec();
        let ledger = begin(&self.ledger, rest.extent.ledger)?.to_vec();
        let until = self.receipts.partition_point(|r| r.version <= rest.extent.version);
        let receipts = self.receipts[..until].to_vec();
        rest.complete(spans, directives, ledger, receipts, Arc::clone(&self.known))
    }
}

impl Fixed {
    /// The span before anything happened to it.
    fn bare(
        self,
        index: SpanIndex,
        principals: &[Principal],
        media_types: &[Arc<str>],
        labels: &[Arc<BTreeMap<String, String>>],
    ) -> Option<SpanState> {
        Some(SpanState {
            id: self.id,
            seq: self.seq,
            version: self.version,
            at: self.at,
            by: principals.get(self.by as usize)?.clone(),
            role: self.role,
            origin: self.origin,
            kind: self.kind,
            storage: self.storage,
            digest: self.digest,
            bytes: self.bytes,
            media_type: media_types.get(self.media_type as usize)?.clone(),
            tokens: self.tokens,
            tokens_from: self.tokens_from,
            hedged: self.hedged,
            pinned: self.pinned,
            turn: self.turn,
            answers: self.answers,
            results: Vec::new(),
            open_contradictions: 0,
            verified_at: None,
            loss: None,
            notice: None,
            labels: labels.get(self.labels as usize)?.clone(),
            place: Place::Outside,
            key: Key::of(index),
            slot: None,
            summary: self.summary.map(|own| {
                Box::new(SummaryState {
                    covers: own.covers,
                    cites: own.cites,
                    claims: own.claims,
                    status: own.status,
                    findings: own.findings,
                    depth: own.depth,
                    tag_tokens: own.tag_tokens,
                    audits: Vec::new(),
                    directives: Vec::new(),
                    standing_for: 0,
                })
            }),
        })
    }
}

impl SpanState {
    /// The same span before anything happened to it.
    fn bare(&self, index: SpanIndex) -> Self {
        Self {
            id: self.id.clone(),
            by: self.by.clone(),
            storage: self.storage.clone(),
            media_type: Arc::clone(&self.media_type),
            results: Vec::new(),
            open_contradictions: 0,
            verified_at: None,
            loss: None,
            notice: None,
            labels: Arc::clone(&self.labels),
            place: Place::Outside,
            key: Key::of(index),
            slot: None,
            summary: self.summary.clone(),
            ..*self
        }
    }
}

impl Rest {
    /// Puts everything that may change into what only grows.
    fn complete(
        self,
        mut spans: Vec<SpanState>,
        directives: Vec<DirectiveState>,
        ledger: Vec<Tombstone>,
        receipts: Vec<ReceiptState>,
        known: Arc<Known>,
    ) -> Option<SessionState> {
        let count = spans.len();
        let extent = self.extent;
        if count != extent.spans as usize
            || directives.len() != extent.directives as usize
            || ledger.len() != extent.ledger as usize
        {
            return None;
        }
        let within = |indexes: &[SpanIndex]| indexes.iter().all(|&index| (index as usize) < count);
        let sound =
            directives.iter().all(|d| within(&d.spans) && within(d.replace_with.as_slice()))
                && self.contradictions.iter().all(|c| within(&c.spans))
                && self.readings.keys().all(|index| within(&[*index]))
                && self.attempts.values().all(|(_, index)| within(&[*index]))
                && self.refused.values().all(|index| within(&[*index]));
        if !sound {
            return None;
        }
        for index in 0..count {
            let span = &spans[index];
            if let Some(own) = &span.summary
                && !(within(&own.covers) && within(&own.cites))
            {
                return None;
            }
            if let Some(call) = span.answers {
                spans.get_mut(call as usize)?.results.push(SpanIndex::try_from(index).ok()?);
            }
        }
        for (entry, number) in ledger.iter().zip(0..) {
            spans.get_mut(entry.span as usize)?.loss = Some(number);
        }
        self.places.give(&mut spans, |span, place| span.place = *place)?;
        self.verified.give(&mut spans, |span, at| span.verified_at = *at)?;
        self.notices.give(&mut spans, |span, notice| span.notice = notice.clone().map(Box::new))?;
        for (index, open) in self.open_contradictions {
            spans.get_mut(index as usize)?.open_contradictions = open;
        }
        for (index, key) in self.keys {
            spans.get_mut(index as usize)?.key = key;
        }
        for (index, standing) in self.summaries {
            let own = spans.get_mut(index as usize)?.summary.as_mut()?;
            let StandingSummary { audits, directives, standing_for } = standing;
            (own.audits, own.directives, own.standing_for) = (audits, directives, standing_for);
        }
        let window = window(&mut spans, self.window)?;
        Some(SessionState {
            number: self.number,
            key: self.key,
            window_tokens: self.window_tokens,
            reserve_ppm: self.reserve_ppm,
            contract: self.contract,
            labels: self.labels,
            opened_at: self.opened_at,
            closed_at: self.closed_at,
            version: extent.version,
            seq: self.seq,
            at: self.at,
            head: self.head,
            spans,
            directives,
            ledger,
            contradictions: self.contradictions,
            window,
            used_tokens: self.used_tokens,
            readings: self.readings,
            attempts: self.attempts,
            refused: self.refused,
            workers: self.workers,
            next_assigned: self.next_assigned,
            forked_from: self.forked_from,
            imported: self.imported,
            receipts,
            retention: self.retention,
            known,
        })
    }
}

/// Tells a span which slot shows it: one at the most, so that slots are no more than spans.
fn give(spans: &mut [SpanState], index: SpanIndex, key: Key) -> Option<()> {
    let slot = &mut spans.get_mut(index as usize)?.slot;
    slot.replace(key).is_none().then_some(())
}

/// The window's slots; each span is told which one shows it.
fn window(spans: &mut [SpanState], shown: Vec<Shown>) -> Option<BTreeMap<Key, Slot>> {
    let mut slots: Vec<(Key, Slot)> = Vec::with_capacity(shown.len());
    for shown in shown {
        let own = |index: SpanIndex| spans.get(index as usize).map(|span| span.key);
        let (key, slot) = match shown {
            Shown::Spans(first, count) => {
                for index in first..first.checked_add(count)? {
                    give(spans, index, Key::of(index))?;
                    slots.push((Key::of(index), Slot::Span(index)));
                }
                continue;
            }
            Shown::Summary(index) => (own(index)?, Slot::Summary(index)),
            Shown::Tombstone(index) => (own(index)?, Slot::Tombstone(index)),
            Shown::Stub(directive, runs) => {
                let key = own(runs.first()?.0)?;
                let mut members = Vec::new();
                for (first, count) in runs {
                    for index in first..first.checked_add(count)? {
                        give(spans, index, key)?;
                        members.push(index);
                    }
                }
                slots.push((key, Slot::Stub { directive, spans: members }));
                continue;
            }
            Shown::At(key, slot) => (key, slot),
        };
        let members = match &slot {
            Slot::Span(index) | Slot::Summary(index) | Slot::Tombstone(index) => {
                std::slice::from_ref(index)
            }
            Slot::Stub { spans, .. } => spans.as_slice(),
        };
        for &index in members {
            give(spans, index, key)?;
        }
        slots.push((key, slot));
    }
    Some(slots.into_iter().collect())
}
