//! `diff`: what is different between two moments, and which events made it so.

use std::collections::BTreeMap;

use lacuna_core::{Form, Outcome, SessionKey, SessionState};
use lacuna_engine::{Change, Moment, Stood, Then};
use lacuna_wire::WireError;
use lacuna_wire::session::{ChangeBody, ChangeCounts, DiffReply, DiffRequest, EndBody, StoodBody};

use super::moment::moment;
use super::{evidence, expect_version, outcome_word, story};
use crate::error::wire_error;
use crate::fit::{as_many, encode, encode_within};
use crate::work::Inner;

pub(super) fn answer(
    inner: &Inner,
    key: &SessionKey,
    request: &DiffRequest,
    max: usize,
) -> Result<Vec<u8>, WireError> {
    let current = inner.journal.state(key).map_err(wire_error)?;
    expect_version(&current, request.expected_version)?;
    let then = |until: Moment| inner.journal.then(key, until).map_err(wire_error);
    let from = match &request.from {
        Some(at) => then(moment(inner, key, &current, at)?)?,
        None => then(Moment::version(1))?,
    };
    let to = match &request.to {
        Some(at) => then(moment(inner, key, &current, at)?)?,
        None => {
            then(Moment { version: current.version, time: inner.journal.now(), ..Moment::NOW })?
        }
    };
    if from.state.version > to.state.version || from.time > to.time {
        return Err(WireError::bad_request(format!(
            "from is version {} and to is version {}: give the earlier moment as from",
            from.state.version, to.state.version
        )));
    }
    let changes = inner.journal.diff(key, &from, &to).map_err(wire_error)?;
    let skip = usize::try_from(request.skip.unwrap_or(0)).unwrap_or(usize::MAX);
    let skip = skip.min(changes.len());
    let mut reply = DiffReply {
        counts: counts(&changes, &to.state),
        from: end(inner, &from),
        to: end(inner, &to),
        changes: Vec::new(),
        next: Some(u64::MAX),
    };
    let room = max.saturating_sub(encode(&reply)?.len());
    // More than fits is not told only to be cut off again: no change is shorter than this as JSON.
    const SHORTEST: usize = 100;
    let told = changes[skip..].iter().take(room / SHORTEST + 1);
    let mut told: Vec<ChangeBody> =
        told.map(|change| body(&from.state, &to.state, change)).collect();
    let mut kept = as_many(&told, room)?.0;
    if kept == 0
        && let Some(first) = told.first_mut()
    {
        // Paging always goes on: what made it so is also told by `explain`.
        first.made_by = None;
        kept = 1;
    }
    let end = skip + kept;
    reply.next = (end < changes.len()).then_some(end as u64);
    told.truncate(kept);
    reply.changes = told;
    encode_within(&reply, max)
}

fn end(inner: &Inner, then: &Then) -> EndBody {
    EndBody {
        version: then.state.version,
        at: then.time.to_string(),
        entries: then.state.window_len() as u64,
        budget: then.state.budget().into(),
        evidence: evidence(inner, &then.state),
    }
}

/// What kind of change it is.
fn what(change: &Change) -> &'static str {
    let (form, outcome) = change.after;
    let before = change.before;
    let lost = |stood: Stood| stood.1 == Outcome::Lossy || stood.0 == Form::Tombstone;
    if lost(change.after) && !before.is_some_and(lost) {
        return "lost";
    }
    match (before, form.is_read()) {
        (None, true) => "entered",
        (None, false) => "recorded",
        (Some((before, _)), true) if !before.is_read() => "returned",
        (Some((before, _)), false) if before.is_read() => "left",
        (Some((_, before)), _) if outcome == Outcome::Scheduled && before != outcome => "scheduled",
        _ => "changed",
    }
}

fn counts(changes: &[Change], to: &SessionState) -> ChangeCounts {
    let mut counts = ChangeCounts {
        unchanged: (to.spans().len() - changes.len()) as u64,
        ..ChangeCounts::default()
    };
    for change in changes {
        let count = match what(change) {
            "entered" => &mut counts.entered,
            "recorded" => &mut counts.recorded,
            "left" => &mut counts.left,
            "returned" => &mut counts.returned,
            "lost" => &mut counts.lost,
            "scheduled" => &mut counts.scheduled,
            _ => &mut counts.changed,
        };
        *count += 1;
    }
    counts
}

fn body(from: &SessionState, to: &SessionState, change: &Change) -> ChangeBody {
    let span = to.span(change.span);
    let told = change.made_by.as_ref().map(|recorded| {
        story::entry(recorded, &span.id, &mut BTreeMap::new())
            .unwrap_or_else(|| story::bare(recorded))
    });
    ChangeBody {
        span: span.id.to_string(),
        handle: span.handle().to_string(),
        what: what(change).to_owned(),
        before: change.before.map(|stood| stood_body(from, stood)),
        after: stood_body(to, change.after),
        tokens: span.tokens,
        made_by: told,
    }
}

fn stood_body(state: &SessionState, (form, outcome): Stood) -> StoodBody {
    StoodBody {
        form: form.word().to_owned(),
        under: match form {
            Form::Stub(directive) => Some(directive.to_string()),
            Form::Behind(summary) => Some(state.span(summary).id.to_string()),
            _ => None,
        },
        state: outcome_word(outcome),
    }
}
