//! Folding: how each event changes the state. Total for events that decisions produced; what an
//! event names but the state does not know is passed over, so that no journal can make it panic.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{
    Contradiction, DirectiveState, ImportState, Key, NoticeState, Place, ReceiptState,
    SessionState, Slot, SpanIndex, SpanState, Tombstone,
};
use crate::event::{
    ContradictionNoted, Event, Imported, LossyCommitted, NoticeGiven, PruneExecuted, PruneRejected,
    Recorded, SessionOpened, SpanRecorded, SpanRestored,
};
use crate::{DirectiveNo, Principal, SpanId};

impl SessionState {
    /// The state after a session's first event; none if that event opens no session.
    pub fn open(first: &Recorded) -> Option<Self> {
        let Event::SessionOpened(SessionOpened {
            key,
            window_tokens,
            reserve_ppm,
            contract,
            labels,
        }) = &first.event
        else {
            return None;
        };
        let mut state = Self {
            number: first.session,
            key: key.clone(),
            window_tokens: *window_tokens,
            reserve_ppm: *reserve_ppm,
            contract: *contract,
            labels: labels.clone(),
            opened_at: first.at,
            closed_at: None,
            version: 0,
            seq: 0,
            at: first.at,
            head: first.previous,
            spans: Vec::new(),
            directives: Vec::new(),
            ledger: Vec::new(),
            contradictions: Vec::new(),
            window: BTreeMap::new(),
            used_tokens: 0,
            readings: BTreeMap::new(),
            attempts: BTreeMap::new(),
            refused: BTreeMap::new(),
            workers: BTreeSet::new(),
            next_assigned: 1,
            forked_from: None,
            receipts: Vec::new(),
            retention: (key.session.as_str() == crate::retention::STREAM).then(Default::default),
            imported: None,
            known: Arc::default(),
        };
        state.stamp(first);
        Some(state)
    }

    /// Folds the next event in. The caller sees to it that versions follow one another.
    pub fn evolve(&mut self, recorded: &Recorded) {
        match &recorded.event {
            // A session opens once; `open` has folded it.
            Event::SessionOpened(_) => {}
            Event::SpanRecorded(event) => self.span_recorded(recorded, event),
            Event::SummaryRecorded(event) => self.summary_recorded(recorded, event),
            Event::PruneExecuted(event) => self.prune_executed(recorded, event),
            Event::PruneRejected(event) => self.prune_rejected(recorded, event),
            Event::LossyCommitted(event) => self.lossy_committed(recorded, event),
            Event::SpanRestored(event) => self.span_restored(recorded, event),
            Event::ContradictionNoted(event) => self.contradiction_noted(event),
            Event::ContradictionResolved(event) => self.contradiction_resolved(event.contradiction),
            Event::SpanRead(event) => self.span_read(recorded, event),
            Event::SummaryAudited(event) => self.summary_audited(recorded, event),
            Event::AlertRaised(_) => {}
            // Announced by the retention of another journal: nothing is due here.
            Event::NoticeGiven(_) if recorded.imported.is_some() => {}
            Event::NoticeGiven(event) => self.notice_given(recorded, event),
            Event::PolicySet(_)
            | Event::HoldPlaced(_)
            | Event::HoldReleased(_)
            | Event::RunOpened(_)
            | Event::RunClosed(_) => {
                if let Some(retention) = &mut self.retention {
                    Arc::make_mut(retention).evolve(recorded);
                }
            }
            Event::SessionClosed => self.closed_at = Some(recorded.at),
            Event::WindowReceipted(event) => self.receipts.push(ReceiptState {
                version: recorded.version,
                window_version: event.window_version,
                turn: event.turn,
            }),
            // It was a fork there; here it has all of its past itself.
            Event::SessionForked(_) if recorded.imported.is_some() => self.goes_its_own_way(),
            Event::SessionForked(event) => self.forked(recorded, event),
        }
        self.stamp(recorded);
    }

    fn stamp(&mut self, recorded: &Recorded) {
        self.version = recorded.version;
        self.seq = recorded.seq;
        self.at = recorded.at;
        self.head = recorded.hash;
        if let Some(imported) = &recorded.imported {
            self.follow_import(recorded, imported);
        }
        if let Some(command) = &recorded.command {
            let key = command.id.key();
            // A state of the past may share what a later one knows.
            if !self.known.commands.contains_key(&key) {
                Arc::make_mut(&mut self.known).commands.insert(key, recorded.version);
            }
        }
    }

    fn follow_import(&mut self, recorded: &Recorded, imported: &Imported) {
        let known = self.imported.take();
        let key = match &recorded.event {
            Event::SessionForked(event) => Some(event.key.clone()),
            _ => imported.key.clone().or_else(|| known.map(|known| known.key)),
        };
        // Without a beginning there is nothing to follow.
        self.imported = key.map(|key| {
            Box::new(ImportState {
                journal: imported.journal.clone(),
                key,
                session: imported.session,
                version: recorded.version,
                seq: imported.seq,
                head: imported.hash,
            })
        });
    }

    fn works_here(&mut self, principal: &Principal) {
        if !self.workers.contains(principal) {
            self.workers.insert(principal.clone());
        }
    }

    fn span_recorded(&mut self, recorded: &Recorded, event: &SpanRecorded) {
        self.works_here(&recorded.principal);
        let index = self.next_index();
        let answers = event.answers.as_ref().and_then(|id| self.index(id));
        self.register(SpanState {
            id: event.span.clone(),
            seq: recorded.seq,
            version: recorded.version,
            at: recorded.at,
            by: recorded.principal.clone(),
            role: event.role,
            origin: event.origin,
            kind: event.kind,
            storage: event.storage.clone(),
            digest: event.digest,
            bytes: event.bytes,
            media_type: event.media_type.as_str().into(),
            tokens: event.tokens,
            tokens_from: event.tokens_from,
            hedged: event.hedged,
            pinned: event.pinned,
            turn: event.turn,
            answers,
            results: Vec::new(),
            open_contradictions: 0,
            verified_at: None,
            loss: None,
            notice: None,
            labels: event.labels.clone().into(),
            place: if event.in_window { Place::Window } else { Place::Outside },
            key: Key::of(index),
            slot: None,
            summary: None,
        });
        if let Some(call) = answers {
            self.spans[call as usize].results.push(index);
        }
        if event.in_window {
            self.insert_slot(Key::of(index), Slot::Span(index));
        }
    }

    pub(crate) fn next_index(&self) -> SpanIndex {
        SpanIndex::try_from(self.spans.len()).unwrap_or(SpanIndex::MAX)
    }

    pub(super) fn register(&mut self, mut span: SpanState) {
        // Neighbours mostly share these: one allocation for all of them.
        if let Some(last) = self.spans.last() {
            if last.by == span.by {
                span.by = last.by.clone();
            }
            if last.labels == span.labels {
                span.labels = last.labels.clone();
            }
            if last.media_type == span.media_type {
                span.media_type = last.media_type.clone();
            }
        }
        let index = self.next_index();
        if self.known.spans.get(&span.id) != Some(&index) {
            Arc::make_mut(&mut self.known).spans.insert(span.id.clone(), index);
        }
        let may_be_assigned = span.id.as_str().starts_with('s');
        self.spans.push(span);
        while may_be_assigned && self.index_of(&format!("s{}", self.next_assigned)).is_some() {
            self.next_assigned += 1;
        }
    }

    pub(super) fn verified(&mut self, id: &SpanId, recorded: &Recorded) {
        if let Some(index) = self.index(id) {
            self.spans[index as usize].verified_at = Some(recorded.at);
        }
    }

    fn prune_executed(&mut self, recorded: &Recorded, event: &PruneExecuted) {
        self.works_here(&recorded.principal);
        let (mut lossy, mut leaving) = (BTreeSet::new(), BTreeSet::new());
        let mut spans = Vec::with_capacity(event.spans.len());
        for pruned in &event.spans {
            let Some(index) = self.index(&pruned.span) else { continue };
            if !self.stands(index) || !leaving.insert(index) {
                continue;
            }
            spans.push(index);
            if pruned.check.holds() {
                self.spans[index as usize].verified_at = Some(recorded.at);
            } else {
                lossy.insert(index);
            }
        }
        let replacement = event
            .replace_with
            .as_ref()
            .and_then(|id| self.index(id))
            .filter(|index| self.span(*index).is_summary() && !leaving.contains(index))
            .filter(|&index| self.stands(index) || self.waits(index));
        // Registered first: stubs and summaries read their texts from it.
        self.directives.push(DirectiveState {
            version: recorded.version,
            at: recorded.at,
            executed: true,
            spans: spans.clone(),
            replace_with: replacement,
        });
        let plan = self.plan_prune(event.directive, spans, &lossy, replacement);
        for &index in &plan.order {
            let key = self.span(index).key;
            self.remove_slot(key);
            let span = &mut self.spans[index as usize];
            span.slot = None;
            span.place = Place::Pruned(event.directive);
        }
        for (key, slot) in plan.insert {
            self.insert_slot(key, slot);
        }
        if let Some(summary) = replacement {
            let replaced = u32::try_from(plan.order.len() - lossy.len()).unwrap_or(u32::MAX);
            self.place_summary(summary, event.directive, replaced, plan.first);
        }
    }

    /// Whether a span is recorded without a place in the window, and can be read.
    fn waits(&self, index: SpanIndex) -> bool {
        let span = self.span(index);
        span.place == Place::Outside && span.loss.is_none()
    }

    /// Puts a summary into the place of spans that a directive has just taken out.
    fn place_summary(&mut self, summary: SpanIndex, by: DirectiveNo, replaced: u32, first: Key) {
        let key = self.replacement_key(summary, first);
        if let Some(old) = self.span(summary).slot {
            self.remove_slot(old);
        }
        let span = &mut self.spans[summary as usize];
        span.key = key;
        span.place = Place::Window;
        if let Some(state) = &mut span.summary {
            state.directives.push(by);
            state.standing_for = state.standing_for.saturating_add(replaced);
        }
        self.insert_slot(key, Slot::Summary(summary));
    }

    fn prune_rejected(&mut self, recorded: &Recorded, _event: &PruneRejected) {
        self.directives.push(DirectiveState {
            version: recorded.version,
            at: recorded.at,
            executed: false,
            spans: Vec::new(),
            replace_with: None,
        });
    }

    fn lossy_committed(&mut self, recorded: &Recorded, event: &LossyCommitted) {
        for lost in &event.spans {
            let Some(index) = self.index(&lost.span) else { continue };
            if self.span(index).loss.is_some() {
                continue;
            }
            let entry = u32::try_from(self.ledger.len()).unwrap_or(u32::MAX);
            self.ledger.push(Tombstone {
                span: index,
                at: recorded.happened_at(),
                version: recorded.version,
                cause: event.cause.clone(),
            });
            let span = &mut self.spans[index as usize];
            (span.loss, span.notice) = (Some(entry), None);
            self.bury(index);
        }
    }

    fn notice_given(&mut self, recorded: &Recorded, event: &NoticeGiven) {
        for noticed in &event.spans {
            let Some(index) = self.index(&noticed.span) else { continue };
            let span = &mut self.spans[index as usize];
            span.notice = span.loss.is_none().then(|| {
                Box::new(NoticeState {
                    run: event.run,
                    policy: event.policy,
                    rule: noticed.rule.clone(),
                    at: recorded.at,
                    erases_at: noticed.erases_at,
                })
            });
        }
    }

    /// Makes the window show a tombstone for a span, and the spans behind a lost summary again.
    fn bury(&mut self, index: SpanIndex) {
        let span = self.span(index);
        let shown = span.slot.and_then(|key| self.window.get(&key));
        let already = matches!(shown, Some(Slot::Tombstone(_)));
        let outside = span.place == Place::Outside && span.slot.is_none();
        if outside {
            return;
        }
        if !already {
            let (key, place) = (span.key, span.place);
            self.leave_slot(index);
            self.part_stub(key);
            self.insert_slot(key, Slot::Tombstone(index));
            if let Place::Pruned(directive) = place
                && let Some(summary) = self.directive(directive).and_then(|d| d.replace_with)
            {
                self.stand_for_one_less(summary);
            }
        }
        self.expose(index);
    }

    /// Gives the spans that a lost summary stood for stubs of their own.
    fn expose(&mut self, summary: SpanIndex) {
        let hidden: Vec<SpanIndex> = self
            .replaced(summary)
            .map(|(index, _)| index)
            .filter(|&index| self.span(index).slot.is_none())
            .collect();
        for index in hidden {
            let (Place::Pruned(directive), key) = (self.span(index).place, self.span(index).key)
            else {
                continue;
            };
            self.part_stub(key);
            self.insert_slot(key, Slot::Stub { directive, spans: vec![index] });
        }
    }

    /// Splits a shared stub that stands before this place but holds spans after it, so that the
    /// window stays in session order once something is put here.
    fn part_stub(&mut self, key: Key) {
        let Some((&at, Slot::Stub { spans, .. })) = self.window.range(..key).next_back() else {
            return;
        };
        if spans.iter().all(|&index| self.span(index).key < key) {
            return;
        }
        let Some(Slot::Stub { directive, spans }) = self.remove_slot(at) else { return };
        let (before, after): (Vec<_>, Vec<_>) =
            spans.into_iter().partition(|&index| self.span(index).key < key);
        for part in [before, after] {
            if let Some(&first) = part.first() {
                let key = self.span(first).key;
                self.insert_slot(key, Slot::Stub { directive, spans: part });
            }
        }
    }

    fn span_restored(&mut self, recorded: &Recorded, event: &SpanRestored) {
        let Some(index) = self.index(&event.span) else { return };
        let Place::Pruned(directive) = self.span(index).place else { return };
        if self.span(index).loss.is_some() {
            return;
        }
        self.verified(&event.span, recorded);
        self.leave_slot(index);
        let key = self.span(index).key;
        self.part_stub(key);
        // Somebody works with it again.
        let span = &mut self.spans[index as usize];
        (span.place, span.notice) = (Place::Window, None);
        let slot =
            if self.span(index).is_summary() { Slot::Summary(index) } else { Slot::Span(index) };
        self.insert_slot(key, slot);
        if let Some(summary) = self.directive(directive).and_then(|d| d.replace_with) {
            self.retire(summary);
        }
    }

    /// One span that a summary stood for is back; the last one takes the summary out, unless the
    /// summary is all that is left of something lost.
    fn retire(&mut self, summary: SpanIndex) {
        self.stand_for_one_less(summary);
        let span = self.span(summary);
        let Some(state) = &span.summary else { return };
        if state.standing_for > 0 || !self.stands(summary) || self.outlives(summary) {
            return;
        }
        if let Some(key) = self.span(summary).slot {
            self.remove_slot(key);
        }
        let span = &mut self.spans[summary as usize];
        span.slot = None;
        span.place = Place::Outside;
        if let Some(state) = &mut span.summary {
            // Should it be used again, it speaks only of what it stands for then.
            state.directives.clear();
        }
    }

    /// A span behind a summary is back or lost: the summary's own text says how many are left.
    fn stand_for_one_less(&mut self, summary: SpanIndex) {
        let shown = self.span(summary).slot.filter(
            |key| matches!(self.window.get(key), Some(Slot::Summary(index)) if *index == summary),
        );
        if let Some(key) = shown {
            self.remove_slot(key);
        }
        if let Some(state) = &mut self.spans[summary as usize].summary {
            state.standing_for = state.standing_for.saturating_sub(1);
        }
        if let Some(key) = shown {
            self.insert_slot(key, Slot::Summary(summary));
        }
    }

    /// Whether something that a summary replaced was lost behind it.
    fn outlives(&self, summary: SpanIndex) -> bool {
        let directives = self.span(summary).summary.iter().flat_map(|s| s.directives.iter());
        let mut replaced = directives.filter_map(|&number| Some((number, self.directive(number)?)));
        replaced.any(|(number, directive)| {
            directive.spans.iter().any(|&index| {
                let span = self.span(index);
                span.place == Place::Pruned(number) && span.loss.is_some()
            })
        })
    }

    fn contradiction_noted(&mut self, event: &ContradictionNoted) {
        let spans: Vec<SpanIndex> = event.spans.iter().filter_map(|id| self.index(id)).collect();
        for &index in &spans {
            self.spans[index as usize].open_contradictions += 1;
        }
        self.contradictions.push(Contradiction { spans, open: true });
    }

    fn contradiction_resolved(&mut self, number: u32) {
        let entry = (number as usize).checked_sub(1).and_then(|i| self.contradictions.get_mut(i));
        let Some(contradiction) = entry.filter(|c| c.open) else { return };
        contradiction.open = false;
        for index in contradiction.spans.clone() {
            let open = &mut self.spans[index as usize].open_contradictions;
            *open = open.saturating_sub(1);
        }
    }
}
