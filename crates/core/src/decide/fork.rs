//! Forking a session: another window from a moment of its past on.

use super::{Decision, Reply};
use crate::command::Fork;
use crate::event::{LossyCommitted, LostSpan, SessionForked};
use crate::retention::STREAM;
use crate::{Context, Event, LostSince, Refusal, SessionState};

/// How deep forks of forks may lie: whoever loads one goes the whole way up.
const DEEPEST: u32 = 64;

pub(super) fn decide(
    state: Option<&SessionState>,
    fork: &Fork,
    context: &Context,
) -> Result<Decision, Refusal> {
    let parent = fork.parent.as_ref();
    if parent.key.session.as_str() == STREAM {
        let why = "the tenant's retention stream is no window: it cannot be forked";
        return Err(Refusal::BadRequest(why.into()));
    }
    if parent.key == context.session {
        let why = "a session cannot be a fork of itself: name another one to begin";
        return Err(Refusal::BadRequest(why.into()));
    }
    let depth = parent.forked_from().map_or(0, |from| from.depth);
    if state.is_none() && depth >= DEEPEST {
        return Err(Refusal::BadRequest(format!(
            "{} is a fork {depth} deep already: fork one of the sessions that it was forked from, at a \
             version that both share",
            parent.key.session
        )));
    }
    let Some(state) = state else { return Ok(begin(parent, context)) };
    if let Some(closed_at) = state.closed_at {
        return Err(Refusal::SessionClosed(closed_at));
    }
    match state.forked_from() {
        Some(from) if from.number == parent.number && from.at == parent.version => Ok(Decision {
            events: Vec::new(),
            reply: Reply::Forked {
                at: from.at,
                version: state.version,
                opened_at: state.opened_at,
                duplicate: true,
            },
        }),
        Some(from) => Err(Refusal::SessionExists(format!(
            "a fork of {} at version {}",
            from.parent.session, from.at
        ))),
        None => Err(Refusal::SessionExists("it is no fork".into())),
    }
}

/// The session begins with what it shares; what went since then is lost here, too, and said so.
fn begin(parent: &SessionState, context: &Context) -> Decision {
    let mut events = vec![Event::SessionForked(SessionForked {
        key: context.session.clone(),
        parent: parent.key.clone(),
        parent_number: parent.number,
        at: parent.version,
    })];
    let alike = |a: &LostSince, b: &LostSince| a.cause == b.cause && a.residue == b.residue;
    for lost in context.lost_since.chunk_by(alike) {
        let spans = lost.iter().map(|lost| {
            let span = parent.span(lost.span);
            let (digest, bytes, tokens) = (span.digest, span.bytes, span.tokens);
            LostSpan { span: span.id.clone(), digest, bytes, tokens }
        });
        let (spans, cause, residue) = (spans.collect(), lost[0].cause.clone(), lost[0].residue);
        events.push(Event::LossyCommitted(LossyCommitted { spans, cause, residue }));
    }
    let version = parent.version + events.len() as u64;
    let reply =
        Reply::Forked { at: parent.version, version, opened_at: context.now, duplicate: false };
    Decision { events, reply }
}
