//! The embedded API: open a journal, send commands, ask questions, close.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use crossbeam_channel::{Sender, TrySendError, bounded};
use lacuna_core::{
    Command, CommandStamp, Limits, Principal, Purpose, Recorded, Refusal, SessionKey, SessionState,
    SpanId, Timestamp,
};
use lacuna_store::{BackupReport, Head, Store, StoreError, VerifyOptions, VerifyReport};

use crate::again::Again;
use crate::examine::Examining;
use crate::reader::{Moment, Reader};
use crate::stats::{Counters, Stats};
use crate::writer::{Message, Writer};
use crate::{Callback, Clock, Done, EngineError, Options, Request};

/// An open journal. Share it; commands and questions may come from any thread.
pub struct Journal {
    pub(crate) store: Arc<Store>,
    reader: Arc<Reader>,
    inbox: Sender<Message>,
    waiting_bytes: Arc<AtomicUsize>,
    queue_bytes: usize,
    counters: Arc<Counters>,
    pub(crate) clock: Clock,
    pub(crate) limits: Limits,
    writer: parking_lot::Mutex<Option<JoinHandle<Result<(), StoreError>>>>,
    /// Threads that end with the writer: resent commands, large summaries.
    beside: parking_lot::Mutex<Vec<JoinHandle<()>>>,
}

/// How a journal was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed {
    /// The seq of the last event.
    pub seq: u64,
}

impl Journal {
    /// Opens the journal in a folder and starts its writer.
    pub fn open(path: &Path, options: Options) -> Result<Self, StoreError> {
        Ok(Self::start(Store::open(path, &options.store)?, options))
    }

    /// Starts a writer on an open store.
    pub fn start(store: Store, options: Options) -> Self {
        let store = Arc::new(store);
        let (inbox, messages) = bounded(options.queue_commands);
        let (waiting_bytes, counters) = (Arc::default(), Arc::<Counters>::default());
        let reader = Arc::new(Reader::new(Arc::clone(&store), options.cached_spans / 2));
        let (queue_bytes, clock) = (options.queue_bytes, Arc::clone(&options.clock));
        let limits = options.limits.clone();
        let (again, answerer) = Again::new(Arc::clone(&store));
        let (examining, examination) =
            Examining::new(Arc::clone(&store), Arc::clone(&reader), inbox.clone());
        let writer = Writer::new(
            Arc::clone(&store),
            options,
            messages,
            Arc::clone(&waiting_bytes),
            Arc::clone(&counters),
            again,
            examining,
        );
        let beside = vec![
            start("lacuna-again", move || answerer.run()),
            start("lacuna-examine", move || examination.run()),
        ];
        let thread = start("lacuna-writer", move || writer.run());
        Self {
            store,
            reader,
            inbox,
            waiting_bytes,
            queue_bytes,
            counters,
            clock,
            limits,
            writer: parking_lot::Mutex::new(Some(thread)),
            beside: parking_lot::Mutex::new(beside),
        }
    }

    /// The journal's id.
    pub fn id(&self) -> &str {
        self.store.journal()
    }

    /// Where the journal ends, as committed.
    pub fn head(&self) -> Head {
        self.store.head()
    }

    /// Sends a command. The callback gets the answer once it is durable; it runs on one of the
    /// journal's own threads. An error here means that nothing happened and nothing will.
    pub fn submit(&self, request: Request, callback: Callback) -> Result<(), EngineError> {
        let size = request.size();
        let waiting = self.waiting_bytes.fetch_add(size, Ordering::Relaxed);
        let overloaded = || EngineError::Overloaded { waiting: self.inbox.len() };
        let refuse = |error| {
            self.waiting_bytes.fetch_sub(size, Ordering::Relaxed);
            Err(error)
        };
        // A single command larger than the queue still passes when nothing else waits.
        if waiting > 0 && waiting.saturating_add(size) > self.queue_bytes {
            return refuse(overloaded());
        }
        match self.inbox.try_send(Message::Command(Box::new(request), callback)) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(_)) => refuse(overloaded()),
            Err(TrySendError::Disconnected(_)) => {
                refuse(EngineError::Unavailable("the journal is closed".into()))
            }
        }
    }

    /// Sends a command and waits for its answer.
    pub fn execute(&self, request: Request) -> Result<Done, EngineError> {
        let (sender, receiver) = bounded(1);
        // The receiver may be gone only if this thread is; then nobody misses the answer.
        self.submit(request, Box::new(move |answer| drop(sender.send(answer))))?;
        receiver
            .recv()
            .unwrap_or_else(|_| Err(EngineError::Unavailable("the writer has ended".into())))
    }

    /// A session's state as of the last commit.
    pub fn state(&self, key: &SessionKey) -> Result<Arc<SessionState>, EngineError> {
        let state = self.reader.state(key)?;
        state.ok_or_else(|| Refusal::UnknownSession(key.to_string()).into())
    }

    /// A session's state at a version or time of its past; at the version before it, where nothing
    /// happened just then.
    pub fn state_at(
        &self,
        key: &SessionKey,
        version: u64,
        time: Timestamp,
    ) -> Result<Arc<SessionState>, EngineError> {
        self.state(key)?;
        let state = self.reader.state_at(key, Moment { version, time })?;
        state.ok_or_else(|| {
            Refusal::BadRequest("the session was not open yet at that moment".into()).into()
        })
    }

    /// Records that somebody has just read a span as evidence. Says whether this very command had
    /// been recorded before.
    pub fn record_read(
        &self,
        key: &SessionKey,
        principal: &Principal,
        command_id: Option<CommandStamp>,
        span: SpanId,
        purpose: Purpose,
    ) -> Result<bool, EngineError> {
        if purpose == Purpose::Expand {
            return Ok(false);
        }
        let done = self.execute(Request {
            session: key.clone(),
            principal: principal.clone(),
            command_id,
            expected_version: None,
            command: Command::Read { span, purpose },
        })?;
        Ok(done.again)
    }

    /// Up to `limit` of a session's events from a version on.
    pub fn history(
        &self,
        key: &SessionKey,
        from_version: u64,
        limit: usize,
    ) -> Result<Vec<Recorded>, EngineError> {
        let number = self.store.session(key)?;
        let number = number.ok_or_else(|| Refusal::UnknownSession(key.to_string()))?;
        Ok(self.store.history(number, from_version, limit)?)
    }

    /// The names of a tenant's sessions behind `after`, in order, at most `limit`.
    pub fn session_names(
        &self,
        tenant: &str,
        after: &str,
        limit: usize,
    ) -> Result<Vec<String>, EngineError> {
        Ok(self.store.session_names(tenant, after, limit)?)
    }

    /// Verifies the journal or a range of it. Takes as long as reading it does.
    pub fn verify(
        &self,
        options: &VerifyOptions,
        progress: impl FnMut(u64),
    ) -> Result<VerifyReport, EngineError> {
        Ok(self.store.verify(options, progress)?)
    }

    /// Copies the journal as of now into another folder.
    pub fn backup(
        &self,
        to: &Path,
        progress: impl FnMut(u64),
    ) -> Result<BackupReport, EngineError> {
        Ok(self.store.backup(to, progress)?)
    }

    /// Figures about the journal.
    pub fn stats(&self) -> Result<Stats, EngineError> {
        let (commits, commands, events) = self.counters.read();
        Ok(Stats {
            seq: self.store.head().seq,
            store: self.store.stats()?,
            commits,
            commands,
            events,
            waiting: self.inbox.len() as u64,
            cached_sessions: self.reader.cached() as u64,
        })
    }

    /// Whether the writer has ended: the journal takes no more commands.
    pub fn failed(&self) -> bool {
        self.writer.lock().as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Lets the writer finish what waits, writes snapshots and a checkpoint, and closes the file
    /// once nobody else holds this journal.
    pub fn close(&self) -> Result<Closed, StoreError> {
        let Some(thread) = self.writer.lock().take() else {
            return Ok(Closed { seq: self.store.head().seq });
        };
        // A writer that has failed takes no message; joining tells why.
        drop(self.inbox.send(Message::Stop));
        let ended = thread.join();
        for thread in self.beside.lock().drain(..) {
            // They end with the writer, once they have answered what waits.
            thread.join().map_err(|_| StoreError::Damaged("a thread panicked".into()))?;
        }
        ended.map_err(|_| StoreError::Damaged("the writer panicked".into()))??;
        Ok(Closed { seq: self.store.head().seq })
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            tracing::error!(%error, "the journal was not closed cleanly");
        }
    }
}

fn start<T: Send + 'static>(name: &str, run: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    std::thread::Builder::new()
        .name(name.into())
        .spawn(run)
        .expect("a process that opens a journal can start its threads")
}
