//! The writer: one thread that waits for a command, drains what has arrived meanwhile, decides all
//! of them on staged states, commits once, and only then replies.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_channel::Receiver;
use lacuna_core::{Command, Context, Examination, SessionKey, SessionState, decide, wanted};
use lacuna_store::{Snapshot, Store, StoreError};

use crate::again::{Again, Resent};
use crate::batch::{Author, Batch};
use crate::cache::{Cache, Holds};
use crate::evidence;
use crate::examine::{Examined, Examining, INLINE_BYTES};
use crate::stats::Counters;
use crate::{Callback, Done, EngineError, Options, Request};

/// Events behind the last snapshot from which on a new one is worth writing when a state leaves.
const SNAPSHOT_ON_LEAVING: u64 = 4;
/// Events behind the last snapshot from which on a state that stays gets one; grows with the state
/// so that the work stays in proportion.
const SNAPSHOT_WHILE_BUSY: u64 = 1_024;
/// Bytes of snapshots that one commit takes along.
const SNAPSHOT_BYTES: usize = 4 << 20;

/// Bytes of snapshots that may wait for a commit; beyond that none are made for sessions that leave,
/// they are only shortcuts.
const SNAPSHOTS_WAITING: usize = 16 << 20;

/// What reaches the writer.
pub(crate) enum Message {
    /// A command and where its answer goes.
    Command(Box<Request>, Callback),
    /// A summary that was examined apart from the writer.
    Examined(Box<Request>, Callback, Result<Examined, EngineError>),
    /// Write snapshots of everything, checkpoint, and end.
    Stop,
}

/// The writer's own copy of a session: ahead of what is committed by the batch in the making.
pub(crate) struct Staged {
    state: SessionState,
    snapshot: u64,
}

impl Holds for Staged {
    fn state(&self) -> &SessionState {
        &self.state
    }
}

pub(crate) struct Writer {
    store: Arc<Store>,
    options: Options,
    inbox: Receiver<Message>,
    waiting_bytes: Arc<AtomicUsize>,
    counters: Arc<Counters>,
    sessions: Cache<Staged>,
    /// Snapshots that go with the next commit.
    snapshots: Vec<Snapshot>,
    again: Again,
    examining: Examining,
    /// Summaries that are being examined and will come back.
    examined_apart: usize,
    /// Sessions that have grown far beyond their snapshot in the batch in the making.
    busy: BTreeSet<SessionKey>,
}

impl Writer {
    pub(crate) fn new(
        store: Arc<Store>,
        options: Options,
        inbox: Receiver<Message>,
        waiting_bytes: Arc<AtomicUsize>,
        counters: Arc<Counters>,
        again: Again,
        examining: Examining,
    ) -> Self {
        let sessions = Cache::new(options.cached_spans);
        Self {
            store,
            options,
            inbox,
            waiting_bytes,
            counters,
            sessions,
            snapshots: Vec::new(),
            again,
            examining,
            examined_apart: 0,
            busy: BTreeSet::new(),
        }
    }

    /// Runs until told to stop, until nobody can send any more, or until the store fails: then
    /// everything that waits is answered `unavailable`, and the process should end.
    pub(crate) fn run(mut self) -> Result<(), StoreError> {
        let result = self.serve();
        if let Err(error) = &result {
            tracing::error!(%error, "the writer ends; what was not acknowledged may be lost");
            let why = error.to_string();
            while let Ok(message) = self.inbox.try_recv() {
                if let Message::Command(_, callback) | Message::Examined(_, callback, _) = message {
                    callback(Err(EngineError::Unavailable(why.clone())));
                }
            }
        }
        result
    }

    fn serve(&mut self) -> Result<(), StoreError> {
        loop {
            let mut batch = Batch::after(self.store.head());
            let mut stop = match self.inbox.recv() {
                Ok(message) => self.take(message, &mut batch)?,
                Err(_) => true,
            };
            while !stop
                && batch.commands() < self.options.batch_commands
                && batch.bytes() < self.options.batch_bytes
            {
                match self.inbox.try_recv() {
                    Ok(message) => stop = self.take(message, &mut batch)?,
                    Err(_) => break,
                }
            }
            self.commit(batch)?;
            if stop {
                self.await_examined()?;
                return self.rest();
            }
        }
    }

    /// Takes one message into the batch; says whether it is the last.
    fn take(&mut self, message: Message, batch: &mut Batch) -> Result<bool, StoreError> {
        match message {
            Message::Command(request, callback) => {
                self.waiting_bytes.fetch_sub(request.size(), Ordering::Relaxed);
                self.handle(request, callback, None, batch)?;
            }
            Message::Examined(request, callback, examined) => {
                self.examined_apart -= 1;
                self.waiting_bytes.fetch_sub(request.size(), Ordering::Relaxed);
                match examined {
                    Ok(examined) => self.handle(request, callback, Some(examined), batch)?,
                    Err(error) => batch.reply(callback, Err(error)),
                }
            }
            Message::Stop => return Ok(true),
        }
        Ok(false)
    }

    /// What is still being examined comes back and is answered before the writer ends.
    fn await_examined(&mut self) -> Result<(), StoreError> {
        while self.examined_apart > 0 {
            let Ok(message) = self.inbox.recv() else { break };
            let mut batch = Batch::after(self.store.head());
            self.take(message, &mut batch)?;
            self.commit(batch)?;
        }
        Ok(())
    }

    /// Decides one command within the batch. Where its decision must rest on what is committed,
    /// the batch is committed first and another one begun. A session that cannot be read is its own
    /// trouble: the request gets the typed error and everybody else goes on.
    fn handle(
        &mut self,
        request: Box<Request>,
        callback: Callback,
        examined: Option<Examined>,
        batch: &mut Batch,
    ) -> Result<(), StoreError> {
        let key = request.session.clone();
        let stamp = request.command_id.as_ref().map(|stamp| stamp.id.key());
        let (known, again) = match self.staged(&key) {
            Ok(None) => (None, None),
            Ok(Some(Staged { state, .. })) => {
                (Some(state.number), stamp.and_then(|stamp| state.command(&stamp)))
            }
            Err(error) => {
                batch.reply(callback, Err(error.into()));
                return Ok(());
            }
        };
        let summarizes = matches!(request.command, Command::Summarize(_));
        let rests_on_committed =
            again.is_some() || summarizes || !request.command.needs_evidence().is_empty();
        if let Some(session) = known
            && rests_on_committed
            && batch.touches(session)
        {
            let full = std::mem::replace(batch, Batch::after(self.store.head()));
            self.commit(full)?;
            *batch = Batch::after(self.store.head());
        }
        if let (Some(session), Some(version)) = (known, again) {
            self.again.hand_in(Resent { session, version, request: *request, callback });
            return Ok(());
        }
        if let Command::Summarize(summarize) = &request.command
            && let Ok(Some(Staged { state, .. })) = self.staged(&key)
            && match &examined {
                None => evidence::examined_bytes(state, summarize) > INLINE_BYTES,
                // Each time it names at least one more span that is recorded by now.
                Some(examined) => examined.read != wanted(state, summarize),
            }
        {
            let size = request.size();
            if self.examining.hand_in(request, callback) {
                self.waiting_bytes.fetch_add(size, Ordering::Relaxed);
                self.examined_apart += 1;
            }
            return Ok(());
        }
        let examined = examined.map(|examined| *examined.examination);
        let answer = self.decide(&key, &request, examined, batch)?;
        batch.reply(callback, answer);
        Ok(())
    }

    fn decide(
        &mut self,
        key: &SessionKey,
        request: &Request,
        examined: Option<Examination>,
        batch: &mut Batch,
    ) -> Result<Result<Done, EngineError>, StoreError> {
        let now = batch.tick((self.options.clock)());
        let named = request.command.needs_evidence();
        let limits = self.options.limits.clone();
        // Committing may have thrown the session out of memory: it is looked up again.
        let store = Arc::clone(&self.store);
        let staged = match self.staged(key) {
            Ok(staged) => staged,
            Err(error) => return Ok(Err(error.into())),
        };
        let evidence = match &staged {
            Some(staged) if !named.is_empty() => {
                match evidence::gather(&store, &staged.state, named) {
                    Ok(evidence) => evidence,
                    Err(error) => return Ok(Err(error.into())),
                }
            }
            _ => Default::default(),
        };
        let examination = match (&staged, &request.command, examined) {
            (Some(staged), Command::Summarize(summarize), None) => {
                match evidence::examine(&store, &staged.state, summarize, None) {
                    Ok(examination) => Some(examination),
                    Err(error) => return Ok(Err(error.into())),
                }
            }
            (_, _, examined) => examined,
        };
        let context = Context {
            now,
            next_seq: batch.next_seq(),
            session: key.clone(),
            principal: request.principal.clone(),
            command: request.command_id.clone(),
            expected_version: request.expected_version,
            limits,
            evidence,
            examination,
        };
        let state = staged.as_ref().map(|staged| &staged.state);
        let decision = match decide(state, &request.command, &context) {
            Ok(decision) => decision,
            Err(refusal) => return Ok(Err(refusal.into())),
        };
        let first_seq = batch.next_seq();
        if !decision.events.is_empty() {
            let author =
                Author { principal: &request.principal, command: request.command_id.as_ref() };
            match self.sessions.get_mut(key) {
                Some(staged) => {
                    let before = staged.state.spans().len();
                    batch.stage(&mut staged.state, &author, decision.events)?;
                    let grown = staged.state.spans().len() - before;
                    let behind = staged.state.version - staged.snapshot;
                    if behind > SNAPSHOT_WHILE_BUSY.max(staged.state.version / 2) {
                        self.busy.insert(key.clone());
                    }
                    self.sessions.grown(grown);
                }
                None => {
                    if let Some(state) = batch.open(key, &author, decision.events)? {
                        self.sessions.insert(key.clone(), Staged { state, snapshot: 0 });
                    }
                }
            }
            batch.file_payloads(&request.command, &decision.reply, first_seq)?;
        }
        Ok(Ok(Done { reply: decision.reply, again: false }))
    }

    /// The session's staged state, loaded if it is not in memory; none if it was never opened.
    fn staged(&mut self, key: &SessionKey) -> Result<Option<&mut Staged>, StoreError> {
        if self.sessions.get_mut(key).is_none() {
            let Some(number) = self.store.session(key)? else { return Ok(None) };
            let Some(state) = self.store.load(number)? else { return Ok(None) };
            let snapshot = state.version;
            self.sessions.insert(key.clone(), Staged { state, snapshot });
        }
        Ok(self.sessions.get_mut(key))
    }

    fn commit(&mut self, batch: Batch) -> Result<(), StoreError> {
        let events = batch.events();
        let (mut commit, replies) = batch.finish();
        if events > 0 {
            self.snapshot_busy()?;
            commit.snapshots = self.due_snapshots();
            if let Err(error) = self.store.append(&commit) {
                let why = error.to_string();
                for (callback, _) in replies {
                    callback(Err(EngineError::Unavailable(why.clone())));
                }
                return Err(error);
            }
            self.counters.committed(events, replies.len());
        }
        for (callback, answer) in replies {
            callback(answer);
        }
        self.evict()
    }

    /// The staged states are what the commit will make true, so their snapshots go along with it.
    fn snapshot_busy(&mut self) -> Result<(), StoreError> {
        for key in std::mem::take(&mut self.busy) {
            if let Some(staged) = self.sessions.get_mut(&key) {
                self.snapshots.push(Snapshot::of(&staged.state)?);
                staged.snapshot = staged.state.version;
            }
        }
        Ok(())
    }

    fn due_snapshots(&mut self) -> Vec<Snapshot> {
        let mut bytes = 0;
        let within = self.snapshots.iter().take_while(|snapshot| {
            bytes += snapshot.len();
            bytes <= SNAPSHOT_BYTES
        });
        let count = within.count().max(1).min(self.snapshots.len());
        self.snapshots.drain(..count).collect()
    }

    fn evict(&mut self) -> Result<(), StoreError> {
        let mut waiting: usize = self.snapshots.iter().map(Snapshot::len).sum();
        for staged in self.sessions.shrink() {
            let worth = staged.state.version - staged.snapshot >= SNAPSHOT_ON_LEAVING;
            if worth && waiting < SNAPSHOTS_WAITING {
                let snapshot = Snapshot::of(&staged.state)?;
                waiting += snapshot.len();
                self.snapshots.push(snapshot);
            }
        }
        Ok(())
    }

    /// Leaves the journal so that the next start is fast.
    fn rest(&mut self) -> Result<(), StoreError> {
        let mut bytes = self.snapshots.iter().map(Snapshot::len).sum::<usize>();
        let states = self.sessions.iter().map(|staged| (&staged.state, staged.snapshot));
        let worth = states.filter(|(state, at)| state.version - at >= SNAPSHOT_ON_LEAVING);
        for (state, _) in worth {
            let snapshot = Snapshot::of(state)?;
            bytes += snapshot.len();
            self.snapshots.push(snapshot);
            if bytes > SNAPSHOT_BYTES {
                self.store.write_snapshots(&std::mem::take(&mut self.snapshots))?;
                bytes = 0;
            }
        }
        if !self.snapshots.is_empty() {
            self.store.write_snapshots(&std::mem::take(&mut self.snapshots))?;
        }
        self.store.checkpoint()
    }
}
