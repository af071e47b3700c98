//! Whether a session could have come to an event that is brought from another journal. Its chain of hashes
//! proves that nobody changed it on the way, not that decisions like ours made it.

use std::collections::BTreeSet;

use crate::adopt::Adopted;
use crate::event::{Cause, Event, Imported, Recorded};
use crate::state::Place;
use crate::{Context, DirectiveNo, SessionState, SpanId, SpanIndex, Storage};

/// The event as it would be recorded here, for asking the state what it would then be.
pub(super) fn provisional(
    adopted: &Adopted,
    journal: &str,
    place: u64,
    context: &Context,
) -> Recorded {
    let there = adopted.recorded();
    let opens = matches!(there.event, Event::SessionOpened(_));
    Recorded {
        seq: context.next_seq.saturating_add(place),
        at: context.now,
        command: None,
        imported: Some(Box::new(Imported {
            journal: journal.to_owned(),
            key: opens.then(|| context.session.clone()),
            stored: adopted.stored().clone(),
            seq: there.seq,
            at: there.at,
            session: there.session,
            command: None,
            previous: there.previous,
            hash: there.hash,
            by: context.principal.clone(),
            passed: 1,
        })),
        ..there.clone()
    }
}

/// Why no session in this state could have come to this event; none if one could.
pub(super) fn unsound(state: &SessionState, event: &Event) -> Option<&'static str> {
    let known = |id: &SpanId| state.index(id).is_some();
    let all_known = |ids: &[SpanId]| ids.iter().all(known);
    let fresh = |id: &SpanId| !known(id);
    let once = |ids: Vec<&SpanId>| {
        let mut seen = BTreeSet::new();
        ids.into_iter().all(|id| known(id) && seen.insert(id))
    };
    let next = |directive: DirectiveNo| directive.0 as usize == state.directives.len() + 1;
    let over = state.closed_at.is_some()
        && !matches!(
            event,
            Event::SpanRead(_)
                | Event::LossyCommitted(_)
                | Event::NoticeGiven(_)
                | Event::SessionForked(_)
        );
    if over {
        return Some("the session was closed before");
    }
    let holds = match event {
        Event::SessionOpened(_)
        | Event::SessionForked(_)
        | Event::SessionClosed
        | Event::AlertRaised(_) => true,
        Event::SpanRecorded(e) => fresh(&e.span) && e.answers.as_ref().is_none_or(known),
        Event::SummaryRecorded(e) => fresh(&e.span) && all_known(&e.covers) && all_known(&e.cites),
        Event::SummaryAudited(e) => state.find(&e.summary).is_some_and(|s| s.is_summary()),
        Event::PruneExecuted(e) => {
            let stands = |id: &SpanId| state.index(id).is_some_and(|index| state.stands(index));
            let replaces = |id: &SpanId| state.find(id).is_some_and(|summary| summary.is_summary());
            next(e.directive)
                && once(e.spans.iter().map(|pruned| &pruned.span).collect())
                && e.spans.iter().all(|pruned| stands(&pruned.span))
                && e.replace_with.as_ref().is_none_or(replaces)
        }
        Event::PruneRejected(e) => next(e.directive),
        Event::LossyCommitted(e) => {
            let there = |id: &SpanId| state.find(id).is_some_and(|span| span.loss.is_none());
            once(e.spans.iter().map(|lost| &lost.span).collect())
                && e.spans.iter().all(|lost| there(&lost.span))
        }
        Event::SpanRestored(e) => state
            .find(&e.span)
            .is_some_and(|span| matches!(span.place, Place::Pruned(_)) && span.loss.is_none()),
        Event::SpanRead(e) => known(&e.span),
        Event::ContradictionNoted(e) => {
            e.contradiction as usize == state.contradictions.len() + 1 && all_known(&e.spans)
        }
        Event::ContradictionResolved(e) => (e.contradiction as usize)
            .checked_sub(1)
            .and_then(|place| state.contradictions.get(place))
            .is_some_and(|contradiction| contradiction.open),
        Event::NoticeGiven(e) => e.spans.iter().all(|noticed| known(&noticed.span)),
        Event::WindowReceipted(e) => {
            e.receipt as usize == state.receipts.len() + 1
                && (1..=state.version).contains(&e.window_version)
        }
        Event::PolicySet(_)
        | Event::HoldPlaced(_)
        | Event::HoldReleased(_)
        | Event::RunOpened(_)
        | Event::RunClosed(_) => {
            return Some(
                "policies, holds and runs belong to a tenant's retention stream, which is not carried over",
            );
        }
    };
    (!holds).then_some(
        "no session could have come to it: it names what is not there, or is there already",
    )
}

/// A span of this event whose content is here although the event says that it is gone; `brought`: those of
/// the same import with contents.
pub(super) fn still_here(
    state: &SessionState,
    event: &Event,
    brought: &BTreeSet<SpanIndex>,
    context: &Context,
) -> Option<SpanId> {
    let Event::LossyCommitted(lossy) = event else { return None };
    if matches!(lossy.cause, Cause::Directive { .. }) {
        // A window gave it up; that says nothing about the content.
        return None;
    }
    let here = |id: &&SpanId| {
        let Some(index) = state.index(id) else { return false };
        let stored = state.span(index).storage == Storage::Journal;
        let copy = context.evidence.get(*id);
        stored && (brought.contains(&index) || copy.is_some_and(|copy| copy.existence.is_ok()))
    };
    lossy.spans.iter().map(|lost| &lost.span).find(here).cloned()
}
