//! The first reply again, from the events that it rested on: what a resent command gets.

use super::{AppendedSpan, Reply, audit, prune, summarize};
use crate::command::Command;
use crate::event::Recorded;
use crate::retention::{RetentionState, promised};
use crate::{Context, Event, Examination, SessionState, SpanId, Storage, Timestamp};

/// Rebuilds the reply that a command got when it was carried out.
///
/// `before` is the session's state just before the command's first event, `after` just after its
/// last one, `events` are that command's events; `examination` is made anew for a summary, and
/// without it the identifiers that it left out are not told again; `retention` is that of the tenant
/// just before the command. None if they are not what this command makes, which a matching request
/// digest rules out.
pub fn reply_again(
    command: &Command,
    before: Option<&SessionState>,
    after: &SessionState,
    events: &[Recorded],
    examination: Option<&Examination>,
    retention: Option<&RetentionState>,
) -> Option<Reply> {
    let first = &events.first()?.event;
    let version = after.version;
    Some(match (command, first) {
        (Command::Open(_), Event::SessionOpened(_)) => {
            Reply::Opened { version, opened_at: after.opened_at, duplicate: false }
        }
        (Command::Append { spans }, Event::SpanRecorded(_)) => {
            let mut fresh = events.iter().filter_map(|recorded| match &recorded.event {
                Event::SpanRecorded(event) => Some(&event.span),
                _ => None,
            });
            let mut next = fresh.next();
            let mut replies = Vec::with_capacity(spans.len());
            for span in spans {
                // Spans without an id took the next assigned one; named ones may be older.
                let id = span.id.as_ref().or(next)?;
                let duplicate = next != Some(id);
                if !duplicate {
                    next = fresh.next();
                }
                replies.push(appended(after, id, duplicate, retention, events.first()?.at)?);
            }
            Reply::Appended { version, spans: replies, budget: after.budget() }
        }
        (Command::Summarize(command), Event::SummaryRecorded(event)) => {
            let by = &events.first()?.principal;
            let facts = examination;
            let reply = summarize::reply_again(event, before?, command, by, facts, version);
            Reply::Summarized(Box::new(reply))
        }
        (Command::Audit(_), Event::SummaryAudited(event)) => {
            let by = &events.first()?.principal;
            let failed = before?.failed_by_another(&event.summary, by);
            Reply::Audited(Box::new(audit::reply(event, failed, version)))
        }
        (Command::Prune(_), Event::PruneExecuted(event)) => {
            let mut reply = prune::executed_reply(event, before?);
            reply.version = version;
            Reply::Pruned(Box::new(reply))
        }
        (Command::Prune(_), Event::PruneRejected(event)) => {
            let mut reply = prune::rejected_reply(event, before?);
            reply.version = version;
            Reply::Pruned(Box::new(reply))
        }
        (Command::Restore { .. }, Event::SpanRestored(_)) => Reply::Restored {
            version,
            restored: events
                .iter()
                .filter_map(|recorded| match &recorded.event {
                    Event::SpanRestored(event) => Some(event.span.clone()),
                    _ => None,
                })
                .collect(),
            budget: after.budget(),
        },
        (Command::Read { .. }, Event::SpanRead(_)) => Reply::Read { version },
        (Command::ReportDamage { .. }, Event::LossyCommitted(_)) => Reply::DamageReported {
            version,
            lost: events
                .iter()
                .filter_map(|recorded| match &recorded.event {
                    Event::LossyCommitted(event) => Some(&event.spans),
                    _ => None,
                })
                .flatten()
                .map(|lost| lost.span.clone())
                .collect(),
        },
        (Command::Contradict { .. }, Event::ContradictionNoted(event)) => {
            Reply::Contradicted { contradiction: event.contradiction, version }
        }
        (Command::Resolve { .. }, Event::ContradictionResolved(_)) => Reply::Resolved { version },
        (Command::Receipt(_), Event::WindowReceipted(event)) => {
            Reply::Receipted { receipt: Box::new(event.clone()), version }
        }
        (Command::Fork(_), Event::SessionForked(event)) => {
            Reply::Forked { at: event.at, version, opened_at: after.opened_at, duplicate: false }
        }
        (Command::Close, Event::SessionClosed) => Reply::Closed { version, duplicate: false },
        (Command::Erase { .. }, Event::LossyCommitted(event)) => {
            let seqs = event.spans.iter().filter_map(|lost| Some(before?.find(&lost.span)?.seq));
            Reply::Removed { seqs: seqs.collect(), residues: Vec::new(), version }
        }
        _ => events.iter().find_map(|recorded| tenants(command, &recorded.event, version))?,
    })
}

/// The reply to a command for the tenant's retention stream, from its event: that may stand behind
/// the one that began the stream.
fn tenants(command: &Command, event: &Event, version: u64) -> Option<Reply> {
    Some(match (command, event) {
        (Command::SetPolicy { .. }, Event::PolicySet(event)) => {
            Reply::PolicySet { policy: event.policy, version }
        }
        (Command::PlaceHold { .. }, Event::HoldPlaced(event)) => {
            Reply::HoldPlaced { hold: event.hold, version }
        }
        (Command::ReleaseHold { .. }, Event::HoldReleased(event)) => {
            Reply::HoldReleased { hold: event.hold, version }
        }
        (Command::OpenRun(_), Event::RunOpened(event)) => {
            Reply::RunOpened { run: event.run, version }
        }
        _ => return None,
    })
}

fn appended(
    state: &SessionState,
    id: &SpanId,
    duplicate: bool,
    retention: Option<&RetentionState>,
    at: Timestamp,
) -> Option<AppendedSpan> {
    let span = state.find(id)?;
    Some(AppendedSpan {
        id: id.clone(),
        seq: span.seq,
        handle: span.handle(),
        digest: span.digest,
        tokens: span.tokens,
        tokens_from: span.tokens_from,
        durable_until: match span.storage {
            Storage::Withheld { .. } => Some(span.at),
            Storage::Journal | Storage::External { .. } => promised(state, span, retention, at),
        },
        duplicate,
    })
}

/// An event as it would be recorded next, for asking the state what it would then be.
pub(super) fn provisional(state: &SessionState, event: Event, context: &Context) -> Recorded {
    Recorded {
        seq: context.next_seq,
        version: state.version + 1,
        at: Timestamp(context.now.0),
        session: state.number,
        principal: context.principal.clone(),
        command: None,
        previous: state.head,
        hash: state.head,
        event,
        imported: None,
    }
}
