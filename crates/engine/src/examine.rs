//! Work apart from the writer, on which a command's decision rests. Reading megabytes for a summary, or
//! asking a store that may hang, must not hold everybody else's writes up; small summaries are examined
//! by the writer itself, so that a client's commands keep their order.
//!
//! One lane examines large summaries one after the other. Others ask external stores: all that a session
//! asks for goes through the same one, so that it keeps its order there, and a store that hangs holds up
//! few others.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use lacuna_core::{
    Command, CopyEvidence, Refusal, SessionKey, SessionState, SpanId, SpanIndex, wanted,
};
use lacuna_store::Store;

use crate::copies::{Copies, is_outside};
use crate::external::Stores;
use crate::intake::{Intake, closed};
use crate::reader::Reader;
use crate::writer::Message;
use crate::{Callback, EngineError, Request, evidence};

/// Commands that may wait in one lane; further ones are answered `overloaded`.
const WAITING: usize = 64;
/// Lanes that ask external stores.
const OUTSIDE: usize = 4;
/// Up to this many bytes, of spans, text and claims together, the writer examines by itself: some
/// milliseconds.
const INLINE_BYTES: u64 = 256 << 10;

/// What looking at things apart has shown.
pub(crate) enum Examined {
    /// What a summary rests on was read.
    Summary {
        examination: Box<lacuna_core::Examination>,
        /// The spans that were read. One that was recorded since is missing: then it is done again.
        read: BTreeSet<SpanIndex>,
    },
    /// External stores were asked. What the journal itself holds is read by the writer, at the end.
    Copies(HashMap<SpanId, CopyEvidence>),
}

/// Which kind of lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Large summaries.
    Large,
    /// External stores.
    Outside,
}

/// The lane that a command takes before it can be decided; none if it can be now.
pub(crate) fn lane(
    state: &SessionState,
    command: &Command,
    examined: Option<&Examined>,
) -> Option<Lane> {
    let Command::Summarize(summarize) = command else {
        let asked = |id: &SpanId| match examined {
            Some(Examined::Copies(copies)) => copies.contains_key(id),
            _ => false,
        };
        // Each time at least one more span is recorded by now.
        let named = command.needs_evidence().iter().filter_map(|id| state.find(id));
        let mut open = named.filter(|span| is_outside(span) && !asked(&span.id));
        return open.next().map(|_| Lane::Outside);
    };
    let wanted = wanted(state, summarize);
    let outside = wanted.iter().any(|&index| is_outside(state.span(index)));
    let done = match examined {
        Some(Examined::Summary { read, .. }) => *read == wanted,
        _ => !outside && evidence::examined_bytes(state, summarize) <= INLINE_BYTES,
    };
    (!done).then_some(if outside { Lane::Outside } else { Lane::Large })
}

/// A command whose decision waits.
pub(crate) struct Job {
    request: Box<Request>,
    callback: Callback,
}

/// Where such commands are handed in.
pub(crate) struct Examining {
    large: Sender<Job>,
    outside: Vec<Sender<Job>>,
}

impl Examining {
    /// The place to hand commands in, and what works on them: run each on a thread. They end when the
    /// place is gone.
    pub(crate) fn new(
        store: &Arc<Store>,
        stores: &Stores,
        reader: &Arc<Reader>,
        intake: &Intake,
    ) -> (Self, Vec<Examination>) {
        let mut lanes = Vec::with_capacity(1 + OUTSIDE);
        let mut lane = || {
            let (sender, jobs) = bounded(WAITING);
            lanes.push(Examination {
                store: Arc::clone(store),
                stores: stores.clone(),
                reader: Arc::clone(reader),
                jobs,
                intake: intake.clone(),
            });
            sender
        };
        let large = lane();
        let outside = (0..OUTSIDE).map(|_| lane()).collect();
        (Self { large, outside }, lanes)
    }

    /// Hands one in. Never blocks; says whether it was taken, and answers it if it was not.
    pub(crate) fn hand_in(&self, lane: Lane, request: Box<Request>, callback: Callback) -> bool {
        let sender = match lane {
            Lane::Large => &self.large,
            Lane::Outside => &self.outside[place(&request.session) % self.outside.len()],
        };
        match sender.try_send(Job { request, callback }) {
            Ok(()) => true,
            Err(TrySendError::Full(job) | TrySendError::Disconnected(job)) => {
                (job.callback)(Err(EngineError::Overloaded { waiting: WAITING }));
                false
            }
        }
    }
}

fn place(session: &SessionKey) -> usize {
    let mut hasher = DefaultHasher::new();
    session.hash(&mut hasher);
    hasher.finish() as usize
}

/// Works on one command after the other and gives them back to the writer.
pub(crate) struct Examination {
    store: Arc<Store>,
    stores: Stores,
    reader: Arc<Reader>,
    jobs: Receiver<Job>,
    intake: Intake,
}

impl Examination {
    pub(crate) fn run(self) {
        while let Ok(Job { request, callback }) = self.jobs.recv() {
            let examined = self.examine(&request);
            let message = Message::Examined(request, callback, examined);
            // A writer that has ended takes nothing any more.
            if let Err(Message::Examined(_, callback, _)) = self.intake.send(message) {
                callback(Err(closed()));
            }
        }
    }

    fn examine(&self, request: &Request) -> Result<Examined, EngineError> {
        let state = self.reader.state(&request.session)?;
        let unknown = || Refusal::UnknownSession(request.session.to_string());
        let state = state.ok_or_else(unknown)?;
        let Command::Summarize(summarize) = &request.command else {
            let named = request.command.needs_evidence().iter();
            let outside = named.filter(|&id| state.find(id).is_some_and(is_outside));
            let mut copies = Copies::anywhere(&self.store, &self.stores);
            let evidence = evidence::gather(&mut copies, &state, outside)?;
            // Consent to losing what is gone is none to losing what nobody has looked at.
            if matches!(&request.command, Command::Prune(prune) if prune.accept_lossy)
                && let Some((span, why)) = copies.unasked()
            {
                return Err(Refusal::Unanswered { span, why }.into());
            }
            return Ok(Examined::Copies(evidence));
        };
        let read = wanted(&state, summarize);
        let stores = Some(&self.stores);
        let examination = evidence::examine(&self.store, stores, &state, summarize, None)?;
        Ok(Examined::Summary { examination: Box::new(examination), read })
    }
}
