//! The embedded API: open a journal, send commands, ask questions, close.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crossbeam_channel::{Sender, bounded};
use lacuna_core::retention::STREAM;
use lacuna_core::{
    Command, CommandStamp, Limits, Principal, Purpose, Recorded, Refusal, Reply, SessionKey,
    SessionNo, SessionState, SpanId, Tenant, Timestamp,
};
use lacuna_store::{BackupReport, Head, Store, StoreError, VerifyOptions, VerifyReport, Walked};

use crate::again::Again;
use crate::checkpoints::{Listener, Notary};
use crate::examine::Examining;
use crate::external::Stores;
use crate::follow::Names;
use crate::intake::Intake;
use crate::questions::damage_report;
use crate::reader::Reader;
use crate::room::Room;
use crate::scrub::{Progress, Scrub};
use crate::stats::{Counters, Stats};
use crate::writer::{Message, Writer};
use crate::{Callback, Clock, Done, EngineError, Options, Request, RunLimit, ScrubOptions};

/// An open journal. Share it; commands and questions may come from any thread.
pub struct Journal {
    pub(crate) store: Arc<Store>,
    pub(crate) stores: Stores,
    pub(crate) reader: Arc<Reader>,
    pub(crate) intake: Intake,
    pub(crate) counters: Arc<Counters>,
    pub(crate) clock: Clock,
    pub(crate) limits: Limits,
    pub(crate) run_limit: RunLimit,
    pub(crate) names: Names,
    /// Held while a removal is in the making: it rests on the packs as they are.
    pub(crate) removing: parking_lot::Mutex<()>,
    /// Whether it is being closed: a run stops at its next step.
    pub(crate) closing: AtomicBool,
    /// The tenants whose retention runs go on here.
    pub(crate) running: parking_lot::Mutex<HashSet<Tenant>>,
    writer: parking_lot::Mutex<Option<JoinHandle<Result<(), StoreError>>>>,
    /// Threads that end with the writer: resent commands, large summaries, external stores.
    beside: parking_lot::Mutex<Vec<JoinHandle<()>>>,
    /// What the scrub has passed, where there is one.
    pub(crate) scrubbed: Option<Arc<Progress>>,
    /// The scrub ends when this is gone.
    scrubbing: parking_lot::Mutex<Option<Sender<()>>>,
    /// Signs checkpoints.
    pub(crate) notary: Notary,
    /// Gets every checkpoint that is signed.
    pub(crate) listener: parking_lot::Mutex<Option<Listener>>,
}

/// Where the scrub keeps its place, in the journal's folder.
const SCRUB: &str = "journal.scrub";

/// How a journal was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed {
    /// The seq of the last event.
    pub seq: u64,
}

impl Journal {
    /// Opens the journal in a folder and starts its writer.
    pub fn open(path: &Path, options: Options) -> Result<Self, StoreError> {
        let store = Store::open(path, &options.store)?;
        Ok(Self::start_in(store, options, Some(path)))
    }

    /// Starts a writer on an open store.
    pub fn start(store: Store, options: Options) -> Self {
        Self::start_in(store, options, None)
    }

    /// The same with a folder for the files beside the journal.
    fn start_in(store: Store, mut options: Options, folder: Option<&Path>) -> Self {
        let notary = Notary::new(store.journal(), folder, options.signing_key.take());
        let store = Arc::new(store);
        let counters = Arc::<Counters>::default();
        let room = Arc::new(Room::new(Arc::clone(&store), options.keep_free));
        let intake = Intake::new(room, options.queue_commands, options.queue_bytes);
        let reader = Arc::new(Reader::new(Arc::clone(&store), options.cached_spans / 2));
        let clock = Arc::clone(&options.clock);
        let (limits, run_limit) = (options.limits.clone(), options.run_limit);
        let (stores, scrub) = (options.stores.opened(), options.scrub);
        let (again, answerer) = Again::new(Arc::clone(&store), stores.clone());
        let (examining, lanes) = Examining::new(&store, &stores, &reader, &intake);
        let writer =
            Writer::new(Arc::clone(&store), options, intake.clone(), &counters, again, examining);
        let mut beside = vec![start("lacuna-again", move || answerer.run())];
        beside.extend(lanes.into_iter().map(|lane| start("lacuna-examine", move || lane.run())));
        let thread = start("lacuna-writer", move || writer.run());
        let mut journal = Self {
            store,
            stores,
            reader,
            intake,
            counters,
            clock,
            limits,
            run_limit,
            names: Names::new(),
            removing: parking_lot::Mutex::new(()),
            closing: AtomicBool::new(false),
            running: parking_lot::Mutex::new(HashSet::new()),
            writer: parking_lot::Mutex::new(Some(thread)),
            beside: parking_lot::Mutex::new(beside),
            scrubbed: None,
            scrubbing: parking_lot::Mutex::new(None),
            notary,
            listener: parking_lot::Mutex::new(None),
        };
        if let Some(options) = scrub {
            journal.start_scrub(options, folder.map(|folder| folder.join(SCRUB)));
        }
        journal
    }

    fn start_scrub(&mut self, options: ScrubOptions, file: Option<PathBuf>) {
        let progress = Arc::<Progress>::default();
        let (running, stop) = bounded(0);
        let intake = self.intake.clone();
        let scrub = Scrub {
            store: Arc::clone(&self.store),
            stores: self.stores.clone(),
            reader: Arc::clone(&self.reader),
            clock: Arc::clone(&self.clock),
            options,
            file,
            progress: Arc::clone(&progress),
            report: Box::new(move |state, span| {
                let reply = intake.execute(damage_report(&state.key, vec![span.clone()]))?.reply;
                Ok(matches!(reply, Reply::DamageReported { lost, .. } if !lost.is_empty()))
            }),
            stop,
        };
        self.scrubbed = Some(progress);
        *self.scrubbing.lock() = Some(running);
        self.beside.lock().push(start("lacuna-scrub", move || scrub.run()));
    }

    /// The journal's id.
    pub fn id(&self) -> &str {
        self.store.journal()
    }

    /// The external stores that are configured.
    pub fn stores(&self) -> &Stores {
        &self.stores
    }

    /// The time by which the next event would be recorded.
    pub fn now(&self) -> Timestamp {
        (self.clock)().max(self.head().at)
    }

    /// Where the journal ends, as committed.
    pub fn head(&self) -> Head {
        self.store.head()
    }

    /// Sends a command. The callback gets the answer once it is durable; it runs on one of the
    /// journal's own threads. An error here means that nothing happened and nothing will.
    pub fn submit(&self, request: Request, callback: Callback) -> Result<(), EngineError> {
        self.intake.submit(request, callback).map_err(|(error, _)| error)
    }

    /// The same for who wants to be told by the callback in any case, here and now where nothing will happen.
    pub fn hand_in(&self, request: Request, callback: Callback) {
        if let Err((error, callback)) = self.intake.submit(request, callback) {
            callback(Err(error));
        }
    }

    /// Sends a command and waits for its answer.
    pub fn execute(&self, request: Request) -> Result<Done, EngineError> {
        self.intake.execute(request)
    }

    /// A session's state as of the last commit.
    pub fn state(&self, key: &SessionKey) -> Result<Arc<SessionState>, EngineError> {
        let state = self.reader.state(key)?;
        state.ok_or_else(|| Refusal::UnknownSession(key.to_string()).into())
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

    /// Up to `limit` of the events of a session's history from a version on: a fork's begins with those of
    /// the session that it was forked from.
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

    /// The events of the commit that holds this seq, from there on; else of the next one. None where the
    /// journal has ended. Reading again from [`Walked::next`] goes through all of it, in order.
    pub fn events_from(&self, seq: u64) -> Result<Option<Walked>, EngineError> {
        Ok(self.store.walk(seq)?)
    }

    /// The name of the session of this number.
    pub fn session_key(&self, session: SessionNo) -> Result<Option<SessionKey>, EngineError> {
        Ok(self.store.session_key(session)?)
    }

    /// Has `told` called behind every commit, on the thread that commits, which it must not keep waiting. Only
    /// the first one who asks is told.
    pub fn on_commit(&self, told: impl Fn() + Send + Sync + 'static) {
        drop(self.counters.told.set(Box::new(told)));
    }

    /// The names of a tenant's sessions behind `after`, in order, at most `limit`.
    pub fn session_names(
        &self,
        tenant: &str,
        after: &str,
        limit: usize,
    ) -> Result<Vec<String>, EngineError> {
        // The tenant's retention stream is no window of anybody.
        let mut names = self.store.session_names(tenant, after, limit.saturating_add(1))?;
        names.retain(|name| name != STREAM);
        names.truncate(limit);
        Ok(names)
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
            waiting: self.intake.waiting() as u64,
            cached_sessions: self.reader.cached() as u64,
            scrub: self.scrubbed.as_ref().map(|scrubbed| scrubbed.stats()),
        })
    }

    /// Whether the writer has ended: the journal takes no more commands.
    pub fn failed(&self) -> bool {
        self.writer.lock().as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Lets the writer finish what waits, writes snapshots and a checkpoint, and closes the file
    /// once nobody else holds this journal.
    pub fn close(&self) -> Result<Closed, StoreError> {
        self.closing.store(true, Ordering::Relaxed);
        let Some(thread) = self.writer.lock().take() else {
            return Ok(Closed { seq: self.store.head().seq });
        };
        // Whoever still waits for an external store is told to come again.
        self.stores.close();
        drop(self.scrubbing.lock().take());
        // A writer that has failed takes no message; joining tells why.
        drop(self.intake.send(Message::Stop));
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
