//! Examining large summaries apart from the writer. Reading megabytes for one of them must not hold
//! everybody else's writes up; small ones are examined by the writer itself, so that a client's
//! commands keep their order.

use std::collections::BTreeSet;
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use lacuna_core::{Command, Refusal, SpanIndex, wanted};
use lacuna_store::Store;

use crate::reader::Reader;
use crate::writer::Message;
use crate::{Callback, EngineError, Request, evidence};

/// Summaries that may wait; further ones are answered `overloaded`.
const WAITING: usize = 64;
/// Up to this many bytes, of spans, text and claims together, the writer examines by itself: some
/// milliseconds.
pub(crate) const INLINE_BYTES: u64 = 256 << 10;

/// What examining a summary apart has shown.
pub(crate) struct Examined {
    pub(crate) examination: Box<lacuna_core::Examination>,
    /// The spans that were read. One that was recorded since is missing: then it is done again.
    pub(crate) read: BTreeSet<SpanIndex>,
}

/// A summary to examine.
pub(crate) struct Job {
    request: Box<Request>,
    callback: Callback,
}

/// Where summaries are handed in.
pub(crate) struct Examining(Sender<Job>);

impl Examining {
    /// The place to hand summaries in, and what examines them: run it on a thread. It ends when the
    /// place is gone.
    pub(crate) fn new(
        store: Arc<Store>,
        reader: Arc<Reader>,
        inbox: Sender<Message>,
    ) -> (Self, Examination) {
        let (sender, jobs) = bounded(WAITING);
        (Self(sender), Examination { store, reader, jobs, inbox })
    }

    /// Hands one in. Never blocks; says whether it was taken, and answers it if it was not.
    pub(crate) fn hand_in(&self, request: Box<Request>, callback: Callback) -> bool {
        match self.0.try_send(Job { request, callback }) {
            Ok(()) => true,
            Err(TrySendError::Full(job) | TrySendError::Disconnected(job)) => {
                (job.callback)(Err(EngineError::Overloaded { waiting: WAITING }));
                false
            }
        }
    }
}

/// Examines one summary after the other and gives them back to the writer.
pub(crate) struct Examination {
    store: Arc<Store>,
    reader: Arc<Reader>,
    jobs: Receiver<Job>,
    inbox: Sender<Message>,
}

impl Examination {
    pub(crate) fn run(self) {
        while let Ok(Job { request, callback }) = self.jobs.recv() {
            let examined = self.examine(&request);
            let message = Message::Examined(request, callback, examined);
            // A writer that has ended takes nothing any more.
            if let Err(refused) = self.inbox.send(message)
                && let Message::Examined(_, callback, _) = refused.into_inner()
            {
                callback(Err(EngineError::Unavailable("the journal is closed".into())));
            }
        }
    }

    fn examine(&self, request: &Request) -> Result<Examined, EngineError> {
        let Command::Summarize(summarize) = &request.command else {
            return Err(Refusal::BadRequest("only summaries are examined".into()).into());
        };
        let state = self.reader.state(&request.session)?;
        let unknown = || Refusal::UnknownSession(request.session.to_string());
        let state = state.ok_or_else(unknown)?;
        let read = wanted(&state, summarize);
        let examination = evidence::examine(&self.store, &state, summarize, None)?;
        Ok(Examined { examination: Box::new(examination), read })
    }
}
