//! Taking over a session of another journal, event by event, from its first one on.

use std::collections::BTreeSet;

use super::adopted::{provisional, still_here, unsound};
use super::{Decision, Reply, bound};
use crate::adopt::{Adopted, MAX_PASSED};
use crate::{Context, Digest, Event, Refusal, SessionState, Storage};

/// The place that the next event must follow.
#[derive(Clone, Copy)]
struct Place {
    version: u64,
    seq: u64,
    head: Digest,
}

pub(super) fn decide(
    state: Option<&SessionState>,
    journal: &str,
    events: &[Adopted],
    context: &Context,
) -> Result<Decision, Refusal> {
    let limit = context.limits.spans_per_append;
    bound("events in one import", events.len(), limit, "send fewer at a time")?;
    let imported = match state {
        None => None,
        Some(state) => Some(state.imported().ok_or_else(|| {
            Refusal::SessionExists(
                "it has events of its own: a session is imported under a new name".into(),
            )
        })?),
    };
    if imported.is_some_and(|imported| imported.journal != journal) {
        let why = "its events come from another journal: import under another name";
        return Err(Refusal::SessionExists(why.into()));
    }
    let mut at = imported.map_or(Place { version: 0, seq: 0, head: Digest::default() }, |known| {
        Place { version: known.version, seq: known.seq, head: known.head }
    });
    let session = imported.map(|imported| imported.session);
    let mut session = session.or_else(|| events.first().map(|first| first.recorded().session));
    let mut taken = Vec::new();
    // What the session becomes on the way.
    let mut after = state.cloned();
    let mut brought = BTreeSet::new();
    for adopted in events {
        let recorded = adopted.recorded();
        let refuse = |why: &str| {
            let version = recorded.version;
            Err(Refusal::BadRequest(format!("event {version} of the import: {why}")))
        };
        if Some(recorded.session) != session {
            // What a fork shares with its parent was recorded there.
            let forks = match &recorded.event {
                Event::SessionForked(fork) => Some(fork.parent_number) == session,
                _ => false,
            };
            if !forks || recorded.session.0 != recorded.seq {
                return refuse("it is of another session than those before it");
            }
            session = Some(recorded.session);
        }
        if recorded.version <= at.version && taken.is_empty() {
            // Sent again. Those further back hang on the last one.
            if recorded.version == at.version && recorded.hash != at.head {
                return refuse("another event was imported here; import under another name");
            }
            continue;
        }
        if recorded.version != at.version + 1 {
            let (expected, actual) = (recorded.version - 1, at.version);
            return Err(Refusal::VersionConflict { expected, actual });
        }
        if recorded.previous != at.head || recorded.seq <= at.seq {
            return refuse("it does not follow the one before it: the chain of hashes is broken");
        }
        let opens = matches!(recorded.event, Event::SessionOpened(_));
        if opens != (recorded.version == 1) || opens && recorded.session.0 != recorded.seq {
            return refuse("a session opens once, with its first event");
        }
        if recorded.imported.as_ref().is_some_and(|before| before.passed >= MAX_PASSED) {
            return refuse("it has passed too many journals: import it from one further back");
        }
        if let Event::SpanRecorded(span) = &recorded.event
            && span.storage == Storage::Journal
            && span.bytes > context.limits.span_bytes
        {
            let (given, limit) = (span.bytes, context.limits.span_bytes);
            let advice = "raise limits.span_mib to import this session";
            return Err(Refusal::TooLarge {
                what: "a span's content, in bytes",
                given,
                limit,
                advice,
            });
        }
        if let Some(state) = &after {
            if let Some(why) = unsound(state, &recorded.event) {
                return refuse(why);
            }
            if let Some(span) = still_here(state, &recorded.event, &brought, context) {
                return refuse(&format!(
                    "{span} went there after it was brought here with its content: import what there is now \
                     under another name, and erase it in this session"
                ));
            }
        }
        if adopted.lacks_content() && !adopted.is_gone() {
            return refuse(
                "its content is missing: send it, or tell with `gone` by which event it went there",
            );
        }
        let here = provisional(adopted, journal, taken.len() as u64, context);
        match &mut after {
            Some(state) => {
                if adopted.payload().is_some() {
                    brought.insert(state.next_index());
                }
                state.evolve(&here);
            }
            None => after = SessionState::open(&here),
        }
        at = Place { version: recorded.version, seq: recorded.seq, head: recorded.hash };
        taken.push(match &recorded.event {
            Event::SessionOpened(opened) => {
                let mut opened = opened.clone();
                opened.key = context.session.clone();
                Event::SessionOpened(opened)
            }
            event => event.clone(),
        });
    }
    let reply = Reply::Adopted { version: at.version, events: taken.len() };
    Ok(Decision { events: taken, reply })
}
