//! The story of a span: the events that concern it, told from its side.

use std::collections::BTreeMap;

use lacuna_core::event::{Event, PrunedSpan, Recorded};
use lacuna_core::{Cause, Finding, SessionState, SpanId};
use lacuna_wire::WireError;
use lacuna_wire::retention::{policy_name, run_name};
use lacuna_wire::session::{StoryBody, contradiction_id};

use crate::error::wire_error;
use crate::work::Inner;

/// Every event of the session that concerns the span, told from its side.
pub(super) fn story(
    inner: &Inner,
    state: &SessionState,
    id: &SpanId,
) -> Result<Vec<StoryBody>, WireError> {
    let mut contradictions = BTreeMap::new();
    let events = inner.journal.naming(state, id).map_err(wire_error)?;
    let span = state.find(id);
    // A fork takes over what was recorded before it.
    let concerns = |recorded: &&Recorded| match recorded.event {
        Event::SessionForked(_) => span.is_some_and(|span| span.version < recorded.version),
        _ => true,
    };
    let mut forked: Option<&Recorded> = None;
    let mut story = Vec::new();
    for recorded in events.iter().filter(concerns) {
        if matches!(recorded.event, Event::SessionForked(_)) {
            forked = Some(recorded);
        }
        let Some(mut told) = entry(recorded, id, &mut contradictions) else { continue };
        // What had gone before a fork began is recorded with its beginning, by nobody who removed it.
        let with_the_fork = forked.is_some_and(|fork| {
            fork.principal == recorded.principal
                && fork.at == recorded.at
                && recorded.version > fork.version
                && recorded.seq - fork.seq == recorded.version - fork.version
        });
        if with_the_fork && matches!(recorded.event, Event::LossyCommitted(_)) {
            told.what = format!("was gone already when this fork began: {}", told.what);
            told.by = RUNTIME.to_owned();
        }
        story.push(told);
    }
    if span.is_none() {
        story.push(StoryBody {
            version: state.version,
            at: state.at.to_string(),
            by: RUNTIME.to_owned(),
            what: "never recorded".to_owned(),
            why: Some(format!(
                "none of the {} spans that the session has recorded up to here is of this name",
                state.spans().len()
            )),
        });
    }
    Ok(story)
}

/// The runtime's own name.
const RUNTIME: &str = "lacuna";

/// An event of which nothing is to be told from the span's side but that it happened.
pub(super) fn bare(recorded: &Recorded) -> StoryBody {
    StoryBody {
        version: recorded.version,
        at: recorded.at.to_string(),
        by: recorded.principal.to_string(),
        what: format!("{} beside it", recorded.event.kind()),
        why: None,
    }
}

/// Contradictions that concern the span: their numbers, and what it is said to contradict.
type Contradictions = BTreeMap<u32, SpanId>;

/// An event told from a span's side; none if it does not concern the span.
pub(super) fn entry(
    recorded: &Recorded,
    id: &SpanId,
    contradictions: &mut Contradictions,
) -> Option<StoryBody> {
    let (what, why) = match &recorded.event {
        Event::ContradictionNoted(e) if e.spans.contains(id) => {
            let other = e.spans.iter().find(|other| *other != id)?;
            contradictions.insert(e.contradiction, other.clone());
            let number = contradiction_id(e.contradiction);
            (format!("declared to contradict {other} ({number})"), e.note.clone())
        }
        // Its event names no spans.
        Event::ContradictionResolved(e) => {
            let other = contradictions.get(&e.contradiction)?;
            let number = contradiction_id(e.contradiction);
            (
                format!("its contradiction with {other} was resolved ({number})"),
                Some(e.note.clone()),
            )
        }
        event => tell(event, id)?,
    };
    Some(StoryBody {
        version: recorded.version,
        at: recorded.happened_at().to_string(),
        by: recorded.principal.to_string(),
        what,
        why,
    })
}

fn tell(event: &Event, id: &SpanId) -> Option<(String, Option<String>)> {
    let plain = |what: String| Some((what, None));
    match event {
        Event::SpanRecorded(e) if e.span == *id => {
            let turn = e.turn.map(|turn| format!(" in turn {turn}")).unwrap_or_default();
            let hedged = if e.hedged { ", hedged" } else { "" };
            plain(format!("recorded as {} of origin {}{hedged}{turn}", e.kind, e.origin))
        }
        Event::SessionForked(e) => {
            let from = format!("from {} at version {}", e.parent.session, e.at);
            Some((format!("taken over by {}, a fork", e.key.session), Some(from)))
        }
        Event::SpanRecorded(e) if e.supersedes.as_ref() == Some(id) => {
            plain(format!("superseded by {}", e.span))
        }
        Event::SpanRecorded(e) if e.answers.as_ref() == Some(id) => {
            plain(format!("answered by {}", e.span))
        }
        Event::SummaryRecorded(e) if e.span == *id => {
            let codes = codes(&e.findings);
            let what = format!(
                "recorded as a summary of {} spans, depth {}: {}",
                e.covers.len(),
                e.depth,
                e.status
            );
            Some((what, (!codes.is_empty()).then(|| codes.join(", "))))
        }
        Event::SummaryRecorded(e) => {
            let word = match (e.covers.contains(id), e.cites.contains(id)) {
                (true, true) => "covered and cited",
                (true, false) => "covered",
                (false, true) => "cited",
                (false, false) => return None,
            };
            plain(format!("{word} by the summary {} ({})", e.span, e.status))
        }
        Event::SummaryAudited(e) if e.summary == *id => {
            let verdict = if e.pass { "passed" } else { "failed" };
            let counts = if e.accepted { "" } else { "; the audit does not count" };
            let remarks = e.notes.iter().filter_map(|note| note.message.clone());
            let why: Vec<String> = codes(&e.findings).into_iter().chain(remarks).collect();
            Some((format!("{verdict} an audit{counts}"), (!why.is_empty()).then(|| why.join("; "))))
        }
        Event::PruneExecuted(e) => {
            if e.replace_with.as_ref() == Some(id) {
                return plain(format!(
                    "put in the place of {} spans by {}",
                    e.spans.len(),
                    e.directive
                ));
            }
            let own = e.spans.iter().find(|pruned| pruned.span == *id)?;
            let with = e.replace_with.as_ref().map(|with| format!(", replaced by {with}"));
            let with = with.unwrap_or_default();
            Some((format!("pruned under {}{with}: {}", e.directive, checks(own)), e.reason.clone()))
        }
        Event::PruneRejected(e) => {
            let own = e.spans.iter().find(|pruned| pruned.span == *id)?;
            Some((
                format!("kept: {} was refused ({}): {}", e.directive, e.why, checks(own)),
                Some(e.advice.clone()),
            ))
        }
        Event::LossyCommitted(e) => {
            e.spans.iter().find(|lost| lost.span == *id)?;
            Some(match &e.cause {
                Cause::Directive { directive, by } => (
                    format!("lost for good under {directive}"),
                    Some(format!("{by} consented to the loss")),
                ),
                Cause::Damage { found } => {
                    ("lost for good: its copy is damaged".to_owned(), Some(found.clone()))
                }
                Cause::Retention { run, policy, rule } => (
                    format!("removed by the retention run {}", run_name(*run)),
                    Some(format!(
                        "rule {rule} of {} no longer kept it",
                        policy_name(*policy).unwrap_or_default()
                    )),
                ),
                Cause::Erasure { by, reason } => {
                    (format!("erased at the request of {by}"), Some(reason.clone()))
                }
            })
        }
        Event::NoticeGiven(e) => {
            let noticed = e.spans.iter().find(|noticed| noticed.span == *id)?;
            Some((
                format!("its removal was announced for {}", noticed.erases_at),
                Some(format!("rule {} of {}", noticed.rule, policy_name(e.policy)?)),
            ))
        }
        Event::SpanRestored(e) if e.span == *id => plain("restored into the window".to_owned()),
        Event::SpanRead(e) if e.span == *id => plain(format!("read, purpose {}", e.purpose)),
        Event::AlertRaised(e) if e.spans.contains(id) => {
            Some((format!("an alert was raised: {}", e.alert), Some(e.message.clone())))
        }
        _ => None,
    }
}

/// The codes of findings in the order of their first, each told once and counted.
fn codes(findings: &[Finding]) -> Vec<String> {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for code in findings.iter().map(|finding| finding.code.word()) {
        match counted.iter_mut().find(|(told, _)| *told == code) {
            Some((_, count)) => *count += 1,
            None => counted.push((code, 1)),
        }
    }
    let word = |(code, count): (&str, usize)| match count {
        1 => code.to_owned(),
        _ => format!("{code} ×{count}"),
    };
    counted.into_iter().map(word).collect()
}

fn checks(pruned: &PrunedSpan) -> String {
    let word = |holds| if holds { "holds" } else { "fails" };
    let check = &pruned.check;
    let why = check.why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
    format!(
        "existence {}, addressability {}, provenance {}{why}",
        word(check.existence),
        word(check.addressability),
        word(check.provenance)
    )
}
