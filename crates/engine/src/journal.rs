//! The embedded API: open a journal, send commands, ask questions, close.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use crossbeam_channel::{Sender, TrySendError, bounded};
use lacuna_core::render::Shown;
use lacuna_core::{
    Address, Command, CommandStamp, EntryKind, Event, Outcome, Principal, Purpose, Recorded,
    Refusal, Reply, SessionKey, SessionState, SpanId, Timestamp,
};
use lacuna_store::{BackupReport, Head, Store, StoreError, VerifyOptions, VerifyReport};

use crate::again::Again;
use crate::answers::{self, Expanded, Lookup, SpanDurability};
use crate::evidence::read_back;
use crate::reader::{Moment, Reader};
use crate::stats::{Counters, Stats};
use crate::writer::{Message, Writer};
use crate::{Callback, Clock, Done, EngineError, Options, Request};

/// An open journal. Share it; commands and questions may come from any thread.
pub struct Journal {
    store: Arc<Store>,
    reader: Reader,
    inbox: Sender<Message>,
    waiting_bytes: Arc<AtomicUsize>,
    queue_bytes: usize,
    counters: Arc<Counters>,
    clock: Clock,
    writer: parking_lot::Mutex<Option<JoinHandle<Result<(), StoreError>>>>,
    resent: parking_lot::Mutex<Option<JoinHandle<()>>>,
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
        let reader = Reader::new(Arc::clone(&store), options.cached_spans / 2);
        let (queue_bytes, clock) = (options.queue_bytes, Arc::clone(&options.clock));
        let (again, answerer) = Again::new(Arc::clone(&store));
        let writer = Writer::new(
            Arc::clone(&store),
            options,
            messages,
            Arc::clone(&waiting_bytes),
            Arc::clone(&counters),
            again,
        );
        let resent = std::thread::Builder::new()
            .name("lacuna-again".into())
            .spawn(move || answerer.run())
            .expect("a process that opens a journal can start one thread");
        let thread = std::thread::Builder::new()
            .name("lacuna-writer".into())
            .spawn(move || writer.run())
            .expect("a process that opens a journal can start one thread");
        Self {
            store,
            reader,
            inbox,
            waiting_bytes,
            queue_bytes,
            counters,
            clock,
            writer: parking_lot::Mutex::new(Some(thread)),
            resent: parking_lot::Mutex::new(Some(resent)),
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

    /// Answers what an address leads to, with up to `limit` bytes of content from `offset` on.
    /// A copy that turns out damaged is recorded as lost, and the answer says so.
    pub fn expand(
        &self,
        key: &SessionKey,
        address: &Address,
        offset: u64,
        limit: u64,
    ) -> Result<Expanded, EngineError> {
        let state = self.state(key)?;
        let mut lookup = answers::look_up(&state, address)?;
        if let Lookup::Directive(number, spans) = &mut lookup
            && let Some(refused) = state.directive(*number).filter(|d| !d.executed)
        {
            *spans = self.refused_spans(&state, refused.version)?;
        }
        let span = match &lookup {
            Lookup::NeverRecorded => {
                let outcome = Outcome::NeverRecorded;
                return Ok(Expanded { state, lookup, outcome, content: None });
            }
            Lookup::Directive(_, spans) => {
                let outcome = answers::directive_outcome(&state, spans);
                return Ok(Expanded { state, lookup, outcome, content: None });
            }
            Lookup::Span(id) => state.find(id).expect("it was looked up in this state"),
        };
        if !answers::stored_here(&state, span) {
            let outcome = state.outcome(span);
            return Ok(Expanded { state, lookup, outcome, content: None });
        }
        let read = answers::slice(&mut self.store.payloads()?, span, offset, limit)?;
        match read {
            Ok(content) => {
                let outcome = state.outcome(span);
                Ok(Expanded { state, lookup, outcome, content: Some(content) })
            }
            Err(found) => {
                let id = span.id.clone();
                let state = self.report_damage(key, std::slice::from_ref(&id), &found)?;
                let outcome = state.find(&id).map_or(Outcome::Lossy, |span| state.outcome(span));
                Ok(Expanded { state, lookup, outcome, content: None })
            }
        }
    }

    /// The spans that a refused directive named; the state keeps only its version.
    fn refused_spans(
        &self,
        state: &SessionState,
        version: u64,
    ) -> Result<Vec<SpanId>, EngineError> {
        let recorded = self.store.history(state.number, version, 1)?;
        Ok(match recorded.first().map(|recorded| &recorded.event) {
            Some(Event::PruneRejected(event)) => {
                event.spans.iter().map(|span| span.span.clone()).collect()
            }
            _ => Vec::new(),
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

    /// The window's entries at this state, with the contents of spans and summaries until
    /// `byte_limit` bytes are read; entries that would exceed it come without, and the flag says so.
    /// Damaged copies are recorded as lost, and the window is read again; if the session has moved
    /// on meanwhile, they come without content and the next reading records them.
    pub fn window(
        &self,
        key: &SessionKey,
        mut state: Arc<SessionState>,
        byte_limit: u64,
    ) -> Result<(Arc<SessionState>, Vec<Shown>, bool), EngineError> {
        let current = state.version;
        loop {
            let (shown, damaged, cut) = self.show(&state, byte_limit)?;
            let Some((span, found)) = damaged.first() else { return Ok((state, shown, cut)) };
            let newest = self.state(key)?;
            if newest.version != current && newest.version != state.version {
                // A moment of the past: what was lost since then is shown as unreadable.
                return Ok((state, shown, cut));
            }
            tracing::error!(session = %key, %span, %found, "a copy is damaged");
            let spans: Vec<SpanId> = damaged.iter().map(|(span, _)| span.clone()).collect();
            let after = self.report_damage(key, &spans, found)?;
            if after.version == state.version {
                return Ok((state, shown, cut));
            }
            state = after;
        }
    }

    #[allow(clippy::type_complexity, reason = "a local triple, named where it is bound")]
    fn show(
        &self,
        state: &SessionState,
        byte_limit: u64,
    ) -> Result<(Vec<Shown>, Vec<(SpanId, String)>, bool), EngineError> {
        let mut payloads = self.store.payloads()?;
        let (mut shown, mut damaged, mut bytes, mut cut) = (Vec::new(), Vec::new(), 0_u64, false);
        for entry in state.entries() {
            let mut content = None;
            if matches!(entry.kind, EntryKind::Span | EntryKind::Summary)
                && let Some(&index) = entry.spans.first()
            {
                let span = state.span(index);
                if answers::stored_here(state, span) {
                    if bytes + span.bytes > byte_limit {
                        cut = true;
                    } else {
                        bytes += span.bytes;
                        match read_back(&mut payloads, span)? {
                            Ok(read) => content = Some(read),
                            Err(found) => damaged.push((span.id.clone(), found)),
                        }
                    }
                }
            }
            shown.push(Shown { entry, content });
        }
        Ok((shown, damaged, cut))
    }

    /// Reads the copies of these spans back and says what is there now.
    pub fn durability(
        &self,
        key: &SessionKey,
        spans: &[SpanId],
    ) -> Result<(Arc<SessionState>, Vec<SpanDurability>), EngineError> {
        let state = self.state(key)?;
        let mut payloads = self.store.payloads()?;
        let now = (self.clock)();
        let mut found = Vec::with_capacity(spans.len());
        let mut damaged = Vec::new();
        for id in spans {
            let Some(span) = state.find(id) else {
                found.push(SpanDurability {
                    span: id.clone(),
                    outcome: Outcome::NeverRecorded,
                    digest: None,
                    verified_at: None,
                    stored: false,
                });
                continue;
            };
            let mut outcome = state.outcome(span);
            let mut stored = answers::stored_here(&state, span);
            if stored && let Err(found) = read_back(&mut payloads, span)? {
                tracing::error!(session = %key, span = %id, %found, "a copy is damaged");
                damaged.push(id.clone());
                (outcome, stored) = (Outcome::Lossy, false);
            }
            found.push(SpanDurability {
                span: id.clone(),
                outcome,
                digest: Some(span.digest),
                verified_at: if stored { Some(now) } else { span.verified_at },
                stored,
            });
        }
        let state = match damaged.is_empty() {
            true => state,
            false => self.report_damage(key, &damaged, "found by a durability check")?,
        };
        Ok((state, found))
    }

    /// Has the writer confirm damage and record the loss; returns the state after it.
    fn report_damage(
        &self,
        key: &SessionKey,
        spans: &[SpanId],
        found: &str,
    ) -> Result<Arc<SessionState>, EngineError> {
        let done = self.execute(Request {
            session: key.clone(),
            principal: runtime(),
            command_id: None,
            expected_version: None,
            command: Command::ReportDamage { spans: spans.to_vec() },
        })?;
        if let Reply::DamageReported { lost, .. } = &done.reply {
            tracing::error!(session = %key, lost = lost.len(), %found, "copies were lost");
        }
        self.state(key)
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
        if let Some(resent) = self.resent.lock().take() {
            // It ends with the writer, once it has answered what waits.
            resent.join().map_err(|_| StoreError::Damaged("a thread panicked".into()))?;
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

/// The runtime's own name as a sender of commands.
fn runtime() -> Principal {
    "lacuna".parse().expect("a valid principal")
}
