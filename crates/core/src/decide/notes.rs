//! Small facts about spans: that somebody read one, that a copy is damaged, that two contradict.

use super::{Decision, Reply, bound_remark, unknown};
use crate::event::{
    Cause, ContradictionNoted, ContradictionResolved, LossyCommitted, LostSpan, Purpose, SpanRead,
};
use crate::{Context, Event, Outcome, Refusal, SessionState, SpanId};

pub(super) fn read(
    state: &SessionState,
    span: &SpanId,
    purpose: Purpose,
) -> Result<Decision, Refusal> {
    unknown(state, [span])?;
    let events = match purpose {
        Purpose::Expand => Vec::new(),
        Purpose::Audit | Purpose::Reground => {
            vec![Event::SpanRead(SpanRead { span: span.clone(), purpose })]
        }
    };
    let version = state.version + events.len() as u64;
    Ok(Decision { events, reply: Reply::Read { version } })
}

pub(super) fn damage(
    state: &SessionState,
    spans: &[SpanId],
    ended: bool,
    context: &Context,
) -> Result<Decision, Refusal> {
    // One event per finding, so that each ledger entry says what was found of its own span.
    let mut lost = Vec::new();
    let mut events = Vec::new();
    // What is missing of a session that is being imported may be told by its next events.
    let spans = if state.imported().is_some() && !ended { &[] } else { spans };
    for span in spans.iter().filter_map(|id| state.find(id)) {
        let stored = matches!(state.outcome(span), Outcome::Live | Outcome::Recoverable);
        let copy = context.evidence.get(&span.id).filter(|copy| !copy.unanswered);
        let finding = copy.and_then(|copy| copy.existence.as_ref().err());
        let (true, Some(found)) = (stored && !lost.contains(&span.id), finding) else { continue };
        lost.push(span.id.clone());
        events.push(Event::LossyCommitted(LossyCommitted {
            spans: vec![LostSpan {
                span: span.id.clone(),
                digest: span.digest,
                bytes: span.bytes,
                tokens: span.tokens,
            }],
            residue: false,
            cause: Cause::Damage { found: found.clone() },
        }));
    }
    let version = state.version + events.len() as u64;
    Ok(Decision { events, reply: Reply::DamageReported { version, lost } })
}

pub(super) fn contradict(
    state: &SessionState,
    spans: &[SpanId],
    note: &Option<String>,
    context: &Context,
) -> Result<Decision, Refusal> {
    bound_remark(note.as_deref(), context)?;
    match spans {
        [a, b] if a != b => {}
        _ => return Err(Refusal::BadRequest("spans names two different spans".into())),
    }
    unknown(state, spans)?;
    // Two declarations of one contradiction are two: each has its own author and its own end.
    let number = u32::try_from(state.contradictions.len()).unwrap_or(u32::MAX).saturating_add(1);
    Ok(Decision {
        events: vec![Event::ContradictionNoted(ContradictionNoted {
            contradiction: number,
            spans: spans.to_vec(),
            note: note.clone(),
        })],
        reply: Reply::Contradicted { contradiction: number, version: state.version + 1 },
    })
}

pub(super) fn resolve(
    state: &SessionState,
    number: u32,
    note: &str,
    context: &Context,
) -> Result<Decision, Refusal> {
    bound_remark(Some(note), context)?;
    let index = (number as usize).checked_sub(1);
    let Some(contradiction) = index.and_then(|i| state.contradictions.get(i)) else {
        return Err(Refusal::BadRequest(format!("this session has no contradiction c{number}")));
    };
    if !contradiction.open {
        return Err(Refusal::BadRequest(format!("contradiction c{number} is resolved already")));
    }
    Ok(Decision {
        events: vec![Event::ContradictionResolved(ContradictionResolved {
            contradiction: number,
            note: note.to_owned(),
        })],
        reply: Reply::Resolved { version: state.version + 1 },
    })
}
