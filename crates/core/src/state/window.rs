//! The live window as slots in session order, and how prunes and restores change it.
//!
//! A span that was recorded at index `i` stands at key `(i, MAX)`. A summary stands where the first
//! span that it replaced stood, just before it: at `(first, MAX - 1 - own index)`, so that no two
//! ever share a key and a restored span finds its own place free.

use std::collections::BTreeSet;
use std::ops::Bound;

use serde::{Deserialize, Serialize};

use super::{Place, SessionState, SpanIndex, SummaryState};
use crate::stand_in::{
    FAILED_AUDIT, replaced_text, shared_stub_text, stand_in_tokens, stub_text, tombstone_text,
};
use crate::{DirectiveNo, SpanId};

/// A place in the window's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Key(pub(crate) SpanIndex, u32);

impl Key {
    /// The place of a span of its own.
    pub(crate) fn of(index: SpanIndex) -> Self {
        Self(index, u32::MAX)
    }

    /// The place of a summary that replaced this span first.
    pub(crate) fn before(first: Key, summary: SpanIndex) -> Self {
        Self(first.0, u32::MAX - 1 - summary.min(u32::MAX - 1))
    }
}

/// What stands at a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Slot {
    /// The span itself.
    Span(SpanIndex),
    /// A summary, in the place of what it replaced.
    Summary(SpanIndex),
    /// Consecutive spans that one directive pruned reversibly.
    Stub { directive: DirectiveNo, spans: Vec<SpanIndex> },
    /// A span that cannot be recovered.
    Tombstone(SpanIndex),
}

/// The kinds of the window's entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A live span.
    Span,
    /// A summary in the place of what it replaced.
    Summary,
    /// A handle to what was pruned reversibly.
    Stub,
    /// A mark for what cannot be recovered.
    Tombstone,
}

impl EntryKind {
    /// The word of the wire contract.
    pub fn word(self) -> &'static str {
        match self {
            Self::Span => "span",
            Self::Summary => "summary",
            Self::Stub => "stub",
            Self::Tombstone => "tombstone",
        }
    }
}

/// One entry of the live window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What stands there.
    pub kind: EntryKind,
    /// The span, the summary, or the spans behind a stub.
    pub spans: Vec<SpanIndex>,
    /// Its size in tokens.
    pub tokens: u32,
    /// The text of a stub or tombstone, or what follows a summary's text.
    pub text: Option<String>,
    /// The handle that a stub or a summary holds for what it stands for.
    pub handle: Option<String>,
    /// Tokens of the spans that it stands for.
    pub pruned_tokens: u64,
}

/// The change that a prune makes to the window.
pub(crate) struct Plan {
    /// The spans, in window order.
    pub(crate) order: Vec<SpanIndex>,
    pub(crate) insert: Vec<(Key, Slot)>,
    /// Tokens freed; negative if more comes than goes.
    pub(crate) freed: i64,
    /// The place of the first span that leaves.
    pub(crate) first: Key,
    /// The first place that changes: that one, or the replacement's if it stands further ahead.
    pub(crate) changed: Key,
}

/// What follows a summary's text: that it failed an audit, and the way to what it replaced. If that
/// is all lost, there is nothing to expand.
fn behind_text(own: &SummaryState, directives: &[DirectiveNo], spans: usize) -> Option<String> {
    let failed = own.failed_by().map(|_| FAILED_AUDIT.to_owned());
    let replaced = (spans > 0).then(|| replaced_text(directives, spans));
    let lines: Vec<String> = failed.into_iter().chain(replaced).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

impl SessionState {
    /// The live window's entries, in session order.
    pub fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        self.window.values().map(|slot| self.entry(slot))
    }

    /// How many entries the live window has.
    pub fn window_len(&self) -> usize {
        self.window.len()
    }

    /// The summaries that the window shows.
    pub(crate) fn shown_summaries(&self) -> impl Iterator<Item = SpanIndex> + '_ {
        self.window.values().filter_map(|slot| match slot {
            Slot::Summary(index) => Some(*index),
            Slot::Span(_) | Slot::Stub { .. } | Slot::Tombstone(_) => None,
        })
    }

    fn entry(&self, slot: &Slot) -> Entry {
        let (text, handle) = self.stand_in(slot);
        let (kind, spans, pruned_tokens) = match slot {
            Slot::Span(index) => (EntryKind::Span, vec![*index], 0),
            Slot::Summary(index) => {
                (EntryKind::Summary, vec![*index], self.replaced(*index).map(|s| s.1).sum())
            }
            Slot::Stub { spans, .. } => (EntryKind::Stub, spans.clone(), self.tokens_of(spans)),
            Slot::Tombstone(index) => {
                (EntryKind::Tombstone, vec![*index], self.tokens_of(&[*index]))
            }
        };
        Entry { kind, spans, tokens: self.slot_tokens(slot), text, handle, pruned_tokens }
    }

    fn tokens_of(&self, spans: &[SpanIndex]) -> u64 {
        spans.iter().map(|&index| u64::from(self.span(index).tokens)).sum()
    }

    /// The spans that a summary stands for now, with their tokens.
    pub(crate) fn replaced(
        &self,
        summary: SpanIndex,
    ) -> impl Iterator<Item = (SpanIndex, u64)> + '_ {
        let directives = self.span(summary).summary.iter().flat_map(|s| s.directives.iter());
        directives.flat_map(move |&number| {
            let spans = self.directive(number).map(|d| d.spans.as_slice()).unwrap_or_default();
            spans.iter().filter_map(move |&index| {
                let span = self.span(index);
                (span.place == Place::Pruned(number) && span.loss.is_none())
                    .then_some((index, u64::from(span.tokens)))
            })
        })
    }

    /// The stand-in text of a slot and the handle in it.
    fn stand_in(&self, slot: &Slot) -> (Option<String>, Option<String>) {
        match slot {
            Slot::Span(_) => (None, None),
            Slot::Summary(index) => {
                let Some(summary) = &self.span(*index).summary else { return (None, None) };
                let standing_for = summary.standing_for as usize;
                let text = behind_text(summary, &summary.directives, standing_for);
                let last = summary.directives.last().filter(|_| standing_for > 0);
                (text, last.map(ToString::to_string))
            }
            Slot::Stub { directive, spans } => match spans.as_slice() {
                [only] => {
                    let handle = self.span(*only).handle();
                    (Some(stub_text(&handle)), Some(handle.to_string()))
                }
                _ => {
                    let text = shared_stub_text(*directive, spans.len());
                    (Some(text), Some(directive.to_string()))
                }
            },
            Slot::Tombstone(index) => (Some(tombstone_text(&self.span(*index).id)), None),
        }
    }

    pub(crate) fn slot_tokens(&self, slot: &Slot) -> u32 {
        let stand_in = self.stand_in(slot).0.map_or(0, |text| stand_in_tokens(&text));
        match slot {
            Slot::Span(index) => self.span(*index).tokens,
            Slot::Summary(index) => {
                let span = self.span(*index);
                let tags = span.summary.as_ref().map_or(0, |own| own.tag_tokens);
                span.tokens.saturating_add(tags).saturating_add(stand_in)
            }
            Slot::Stub { .. } | Slot::Tombstone(_) => stand_in,
        }
    }

    /// Tokens of the window before this place.
    pub(crate) fn tokens_before(&self, key: Key) -> u64 {
        self.window.range(..key).map(|(_, slot)| u64::from(self.slot_tokens(slot))).sum()
    }

    /// Plans what a directive does to the window: its spans leave, stubs, tombstones and the
    /// replacement come. All spans must stand in the window.
    pub(crate) fn plan_prune(
        &self,
        directive: DirectiveNo,
        spans: impl IntoIterator<Item = SpanIndex>,
        lossy: &BTreeSet<SpanIndex>,
        replacement: Option<SpanIndex>,
    ) -> Plan {
        let mut order: Vec<SpanIndex> = spans.into_iter().collect();
        order.sort_by_key(|&index| self.span(index).key);
        let mut freed: i64 = 0;
        let mut insert: Vec<(Key, Slot)> = Vec::new();
        let mut run: Vec<SpanIndex> = Vec::new();
        let mut previous: Option<Key> = None;
        let flush = |run: &mut Vec<SpanIndex>, insert: &mut Vec<(Key, Slot)>| {
            if let Some(&first) = run.first() {
                let spans = std::mem::take(run);
                insert.push((self.span(first).key, Slot::Stub { directive, spans }));
            }
        };
        for &index in &order {
            let key = self.span(index).key;
            if let Some(slot) = self.window.get(&key) {
                freed += i64::from(self.slot_tokens(slot));
            }
            let adjacent = previous.is_some_and(|previous| {
                self.window
                    .range((Bound::Excluded(previous), Bound::Excluded(key)))
                    .next()
                    .is_none()
            });
            previous = Some(key);
            if lossy.contains(&index) {
                flush(&mut run, &mut insert);
                insert.push((key, Slot::Tombstone(index)));
            } else if replacement.is_none() {
                if !adjacent {
                    flush(&mut run, &mut insert);
                }
                run.push(index);
            }
        }
        flush(&mut run, &mut insert);
        for (_, slot) in &insert {
            freed -= i64::from(self.slot_tokens(slot));
        }
        let first = order.first().map_or(Key::of(0), |&index| self.span(index).key);
        let mut changed = first;
        if let Some(summary) = replacement {
            let replaced = order.len() - lossy.len();
            freed -= self.replacement_tokens(summary, directive, replaced);
            let key = self.replacement_key(summary, first);
            // Named for nothing that comes back, a summary that stands for nothing stays as it is.
            let own = self.span(summary);
            let idle = own.summary.as_ref().is_some_and(|own| own.standing_for == 0);
            changed = if replaced == 0 && idle && own.slot == Some(key) { first } else { key };
        }
        Plan { order, insert, freed, first, changed }
    }

    /// Where a summary will stand once it has replaced the span that stands at `first`.
    pub(crate) fn replacement_key(&self, summary: SpanIndex, first: Key) -> Key {
        let new = Key::before(first, summary);
        self.span(summary).slot.map_or(new, |old| old.min(new))
    }

    /// What a summary's slot will take more than it does now, once this directive uses it.
    fn replacement_tokens(&self, summary: SpanIndex, directive: DirectiveNo, spans: usize) -> i64 {
        let span = self.span(summary);
        let Some(state) = &span.summary else { return 0 };
        let mut directives = state.directives.clone();
        directives.push(directive);
        let behind = behind_text(state, &directives, state.standing_for as usize + spans);
        let stand_in = behind.map_or(0, |text| stand_in_tokens(&text));
        let own = span.tokens.saturating_add(state.tag_tokens);
        let after = i64::from(own.saturating_add(stand_in));
        let now =
            span.slot.and_then(|key| self.window.get(&key)).map_or(0, |s| self.slot_tokens(s));
        after - i64::from(now)
    }

    pub(crate) fn insert_slot(&mut self, key: Key, slot: Slot) {
        self.used_tokens += u64::from(self.slot_tokens(&slot));
        match &slot {
            Slot::Span(index) | Slot::Summary(index) | Slot::Tombstone(index) => {
                self.spans[*index as usize].slot = Some(key);
            }
            Slot::Stub { spans, .. } => {
                for &index in spans {
                    self.spans[index as usize].slot = Some(key);
                }
            }
        }
        // No decision puts two entries into one place; whoever writes a journal by hand may.
        if let Some(before) = self.window.insert(key, slot) {
            self.used_tokens -= u64::from(self.slot_tokens(&before)).min(self.used_tokens);
        }
    }

    pub(crate) fn remove_slot(&mut self, key: Key) -> Option<Slot> {
        let slot = self.window.remove(&key)?;
        self.used_tokens -= u64::from(self.slot_tokens(&slot)).min(self.used_tokens);
        Some(slot)
    }

    /// Takes one span out of the slot that shows it, splitting a shared stub around it.
    pub(crate) fn leave_slot(&mut self, index: SpanIndex) {
        let Some(key) = self.spans[index as usize].slot.take() else { return };
        let Some(slot) = self.remove_slot(key) else { return };
        if let Slot::Stub { directive, spans } = slot {
            let own = self.span(index).key;
            let (before, after): (Vec<_>, Vec<_>) = spans
                .into_iter()
                .filter(|&other| other != index)
                .partition(|&other| self.span(other).key < own);
            for part in [before, after] {
                if let Some(&first) = part.first() {
                    let key = self.span(first).key;
                    self.insert_slot(key, Slot::Stub { directive, spans: part });
                }
            }
        }
    }

    /// The spans that some handle in the window leads to, following directives and summaries.
    pub fn addressable(&self) -> BTreeSet<&SpanId> {
        let mut found = BTreeSet::new();
        let mut open: Vec<SpanIndex> = Vec::new();
        for slot in self.window.values() {
            match slot {
                Slot::Span(index) | Slot::Summary(index) | Slot::Tombstone(index) => {
                    open.push(*index);
                }
                Slot::Stub { spans, .. } => open.extend(spans),
            }
        }
        while let Some(index) = open.pop() {
            let span = self.span(index);
            if found.insert(&span.id) && span.loss.is_none() {
                open.extend(self.replaced(index).map(|(index, _)| index));
            }
        }
        found
    }
}
