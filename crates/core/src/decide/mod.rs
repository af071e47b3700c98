//! Decisions: `(state, command, context) -> events and a reply, or a refusal`. Functions without
//! effects; nothing happens until their events are committed.

mod adopt;
mod adopted;
mod again;
mod append;
mod audit;
mod fork;
mod notes;
mod open;
mod pairing;
mod prune;
mod receipt;
mod restore;
mod retention;
mod summarize;

use crate::command::Command;
use crate::event::WindowReceipted;
use crate::retention::STREAM;
use crate::{
    Budget, Context, Digest, Event, Handle, Refusal, SessionState, SpanId, Timestamp, TokensFrom,
};

pub use again::reply_again;
pub use audit::AuditReply;
pub use prune::{PruneReply, SpanVerdict, Verdict};
pub use summarize::{SUMMARY_ATTEMPTS, SummaryReply};

/// What a decision comes to: events to commit and the reply to give once they are durable.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The events, in order; none if nothing changes.
    pub events: Vec<Event>,
    /// The reply.
    pub reply: Reply,
}

/// The reply to a command that was not refused.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The session is open.
    Opened {
        /// Its version.
        version: u64,
        /// When it was opened.
        opened_at: Timestamp,
        /// Whether it was open before.
        duplicate: bool,
    },
    /// The spans are recorded.
    Appended {
        /// The session's version.
        version: u64,
        /// The spans, in the order of the request.
        spans: Vec<AppendedSpan>,
        /// The budget after them.
        budget: Budget,
    },
    /// The summary is checked, and recorded.
    Summarized(Box<SummaryReply>),
    /// The audit is recorded, whether it counts or not.
    Audited(Box<AuditReply>),
    /// The directive is decided, and carried out unless it was refused or a dry run.
    Pruned(Box<PruneReply>),
    /// The spans are back.
    Restored {
        /// The session's version.
        version: u64,
        /// Those that had left the window.
        restored: Vec<SpanId>,
        /// The budget after them.
        budget: Budget,
    },
    /// The reading is recorded, if its purpose asks for it.
    Read {
        /// The session's version.
        version: u64,
    },
    /// The damage that was confirmed is recorded.
    DamageReported {
        /// The session's version.
        version: u64,
        /// The spans lost.
        lost: Vec<SpanId>,
    },
    /// The contradiction is recorded.
    Contradicted {
        /// Its number.
        contradiction: u32,
        /// The session's version.
        version: u64,
    },
    /// The contradiction is settled.
    Resolved {
        /// The session's version.
        version: u64,
    },
    /// The policy is in force.
    PolicySet {
        /// Its number.
        policy: u32,
        /// The version of the tenant's retention stream.
        version: u64,
    },
    /// The hold is in force.
    HoldPlaced {
        /// Its number.
        hold: u32,
        /// The version of the tenant's retention stream.
        version: u64,
    },
    /// The hold has ended.
    HoldReleased {
        /// Its number.
        hold: u32,
        /// The version of the tenant's retention stream.
        version: u64,
    },
    /// The retention run has begun.
    RunOpened {
        /// Its number.
        run: u32,
        /// The version of the tenant's retention stream.
        version: u64,
    },
    /// The retention run has ended.
    RunClosed {
        /// Its number.
        run: u32,
        /// The version of the tenant's retention stream.
        version: u64,
    },
    /// Removals are announced.
    NoticeGiven {
        /// Of how many spans.
        spans: usize,
        /// The session's version.
        version: u64,
    },
    /// Payloads are to go with the commit of the events.
    Removed {
        /// The journal positions of the spans.
        seqs: Vec<u64>,
        /// Those of which a residue stays.
        residues: Vec<u64>,
        /// The session's version.
        version: u64,
    },
    /// Events of another journal are taken over.
    Adopted {
        /// The session's version.
        version: u64,
        /// How many of the events were new: the last ones.
        events: usize,
    },
    /// What was shown to the model is recorded.
    Receipted {
        /// What the event says.
        receipt: Box<WindowReceipted>,
        /// The session's version.
        version: u64,
    },
    /// The session is open, as a fork.
    Forked {
        /// The last version that it shares with its parent.
        at: u64,
        /// Its version.
        version: u64,
        /// When it was forked.
        opened_at: Timestamp,
        /// Whether it was open before.
        duplicate: bool,
    },
    /// The session is closed.
    Closed {
        /// Its version.
        version: u64,
        /// Whether it was closed before.
        duplicate: bool,
    },
}

/// One span of the reply to an append.
#[derive(Debug, Clone, PartialEq)]
pub struct AppendedSpan {
    /// Its id.
    pub id: SpanId,
    /// Journal position of the event that recorded it.
    pub seq: u64,
    /// Its handle.
    pub handle: Handle,
    /// BLAKE3 of its content.
    pub digest: Digest,
    /// Size in tokens.
    pub tokens: u32,
    /// Where the token count came from.
    pub tokens_from: TokensFrom,
    /// Until when its copy lives; none: for ever. For a withheld span, the moment of recording.
    pub durable_until: Option<Timestamp>,
    /// Whether it was recorded before.
    pub duplicate: bool,
}

/// Decides a command. `state` is none where no session of this name was ever opened.
pub fn decide(
    state: Option<&SessionState>,
    command: &Command,
    context: &Context,
) -> Result<Decision, Refusal> {
    let version = state.map_or(0, |state| state.version);
    if context.session.session.as_str() == STREAM {
        expect_version(version, context)?;
        return retention::decide_tenant(state, command, context);
    }
    if let Command::Open(open) = command {
        expect_version(version, context)?;
        return open::decide(state, open, context);
    }
    if let Command::Adopt { journal, events, .. } = command {
        expect_version(version, context)?;
        return adopt::decide(state, journal, events, context);
    }
    if let Command::Fork(fork) = command {
        expect_version(version, context)?;
        return fork::decide(state, fork, context);
    }
    let state = state.ok_or_else(|| Refusal::UnknownSession(context.session.to_string()))?;
    if let Some(closed_at) = state.closed_at {
        return match command {
            Command::Close => {
                expect_version(version, context)?;
                let reply = Reply::Closed { version, duplicate: true };
                Ok(Decision { events: Vec::new(), reply })
            }
            // What somebody read, or what the disk lost, is true of a closed session too.
            Command::Read { span, purpose } => notes::read(state, span, *purpose),
            Command::ReportDamage { spans, ended } => notes::damage(state, spans, *ended, context),
            // And payloads go when their time is over.
            Command::GiveNotice { spans } => retention::notice(state, spans, context),
            Command::Remove { spans } => retention::remove(state, spans, context),
            Command::Erase { spans, cut, reason } => {
                expect_version(version, context)?;
                retention::erase(state, spans.as_deref(), *cut, reason, context)
            }
            _ => Err(Refusal::SessionClosed(closed_at)),
        };
    }
    expect_version(version, context)?;
    match command {
        Command::Open(open) => open::decide(Some(state), open, context),
        Command::Adopt { journal, events, .. } => {
            adopt::decide(Some(state), journal, events, context)
        }
        Command::Fork(fork) => fork::decide(Some(state), fork, context),
        Command::Receipt(receipt) => receipt::decide(state, receipt),
        Command::Append { spans } => append::decide(state, spans, context),
        Command::Summarize(summarize) => summarize::decide(state, summarize, context),
        Command::Audit(audit) => audit::decide(state, audit, context),
        Command::Prune(prune) => prune::decide(state, prune, context),
        Command::Restore { spans } => restore::decide(state, spans, context),
        Command::Read { span, purpose } => notes::read(state, span, *purpose),
        Command::ReportDamage { spans, ended } => notes::damage(state, spans, *ended, context),
        Command::Contradict { spans, note } => notes::contradict(state, spans, note, context),
        Command::Resolve { contradiction, note } => {
            notes::resolve(state, *contradiction, note, context)
        }
        Command::GiveNotice { spans } => retention::notice(state, spans, context),
        Command::Remove { spans } => retention::remove(state, spans, context),
        Command::Erase { spans, cut, reason } => {
            retention::erase(state, spans.as_deref(), *cut, reason, context)
        }
        Command::SetPolicy { .. }
        | Command::PlaceHold { .. }
        | Command::ReleaseHold { .. }
        | Command::OpenRun(_)
        | Command::CloseRun(_) => Err(Refusal::BadRequest(format!(
            "policies, holds and runs belong to the tenant's stream {STREAM}"
        ))),
        Command::Close => Ok(Decision {
            events: vec![Event::SessionClosed],
            reply: Reply::Closed { version: version + 1, duplicate: false },
        }),
    }
}

fn expect_version(actual: u64, context: &Context) -> Result<(), Refusal> {
    match context.expected_version {
        Some(expected) if expected != actual => Err(Refusal::VersionConflict { expected, actual }),
        _ => Ok(()),
    }
}

/// The budget once these events are folded. Where stubs split and summaries come or go it is
/// folded, not guessed; the fold runs on a copy, whose cost is that of the session, so this is for
/// what is rare.
fn budget_after(state: &SessionState, events: &[Event], context: &Context) -> Budget {
    let mut after = state.clone();
    for event in events {
        after.evolve(&again::provisional(state, event.clone(), context));
    }
    after.budget()
}

/// Refuses a remark that is too long.
fn bound_remark(remark: Option<&str>, context: &Context) -> Result<(), Refusal> {
    let limit = context.limits.remark_bytes;
    bound("reason or note, in bytes", remark.map_or(0, str::len), limit, "shorten it")
}

/// Refuses what is over a limit.
fn bound(
    what: &'static str,
    given: usize,
    limit: usize,
    advice: &'static str,
) -> Result<(), Refusal> {
    if given <= limit {
        return Ok(());
    }
    Err(Refusal::TooLarge { what, given: given as u64, limit: limit as u64, advice })
}

/// The ids that the session never recorded.
fn unknown<'a>(
    state: &SessionState,
    ids: impl IntoIterator<Item = &'a SpanId>,
) -> Result<(), Refusal> {
    let unknown: Vec<SpanId> =
        ids.into_iter().filter(|id| state.index(id).is_none()).cloned().collect();
    if unknown.is_empty() { Ok(()) } else { Err(Refusal::UnknownSpan(unknown)) }
}
