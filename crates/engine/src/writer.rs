//! The writer: one thread that waits for a command, drains what has arrived meanwhile, decides all
//! of them on staged states, commits once, and only then replies.

mod shared;
mod snapshots;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_channel::Receiver;
use lacuna_core::retention::RetentionState;
use lacuna_core::{Command, Context, Decision, Reply, SessionKey, SessionState, Tenant, decide};
use lacuna_store::{Anchors, Snapshot, Store, StoreError};

use crate::again::{Again, Resent};
use crate::batch::{Author, Batch};
use crate::cache::{Cache, Holds};
use crate::copies::{Copies, is_outside};
use crate::evidence;
use crate::examine::{Examined, Examining, lane};
use crate::retention::removal::{Removed, Removing};
use crate::retention::stream_of;
use crate::stats::Counters;
use crate::{Callback, Done, EngineError, Options, Request};

/// Tenants without retention that are remembered as such.
const TENANTS: usize = 10_000;

/// What reaches the writer.
pub(crate) enum Message {
    /// A command and where its answer goes.
    Command(Box<Request>, Callback),
    /// A command that comes back with what was looked at apart from the writer.
    Examined(Box<Request>, Callback, Result<Examined, EngineError>),
    /// Payloads to remove, and where the answer goes.
    Remove(Box<Removing>, Box<dyn FnOnce(Removed) + Send>),
    /// Write snapshots of everything, checkpoint, and end.
    Stop,
}

/// The writer's own copy of a session: ahead of what is committed by the batch in the making.
pub(crate) struct Staged {
    state: SessionState,
    anchors: Anchors,
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
    /// Commands that wait for something apart from the writer and will come back.
    examined_apart: usize,
    /// Tenants that never asked anything of retention.
    without_retention: HashSet<Tenant>,
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
            without_retention: HashSet::new(),
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
                let unavailable = EngineError::Unavailable(why.clone());
                match message {
                    Message::Command(_, callback) | Message::Examined(_, callback, _) => {
                        callback(Err(unavailable));
                    }
                    Message::Remove(_, answer) => answer(Err(unavailable)),
                    Message::Stop => {}
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
            Message::Remove(removing, answer) => {
                // It rests on what is committed.
                let full = std::mem::replace(batch, Batch::after(self.store.head()));
                self.commit(full)?;
                let removed = self.remove(*removing);
                *batch = Batch::after(self.store.head());
                let failed = removed.as_ref().err().map(ToString::to_string);
                answer(removed.unwrap_or_else(|error| Err(EngineError::Store(error))));
                if let Some(why) = failed {
                    return Err(StoreError::Indeterminate(why));
                }
            }
            Message::Stop => return Ok(true),
        }
        Ok(false)
    }

    /// Commits a removal with the events that say so, if the commands lose exactly what it takes out.
    fn remove(&mut self, removing: Removing) -> Result<Removed, StoreError> {
        let Removing { requests, removal, seqs, states, residues } = removing;
        self.adopt(states)?;
        let mut batch = Batch::after(self.store.head());
        let (mut decided, mut lost) = (Vec::with_capacity(requests.len()), Vec::new());
        let mut kept = Vec::new();
        for request in requests {
            let decision = match self.judge(&request.session.clone(), &request, None, &mut batch)? {
                Ok(decision) => decision,
                Err(error) => return Ok(Err(error)),
            };
            if let Reply::Removed { seqs, residues, .. } = &decision.reply {
                lost.extend_from_slice(seqs);
                kept.extend_from_slice(residues);
            }
            decided.push((request, decision));
        }
        if !self.goes_everywhere(&decided)? {
            return Ok(Ok(None));
        }
        for seqs in [&mut lost, &mut kept] {
            seqs.sort_unstable();
            seqs.dedup();
        }
        if lost != seqs || !kept.iter().eq(residues.iter().map(|(seq, _)| seq)) {
            return Ok(Ok(None));
        }
        let mut done = Vec::with_capacity(decided.len());
        for (request, decision) in decided {
            let key = request.session.clone();
            done.push(self.stage(&key, &request, decision, &mut batch)?);
        }
        if batch.events() > 0 {
            let text = |(seq, residue): (u64, Option<_>)| Some((seq, residue?));
            batch.remove(removal, residues.into_iter().filter_map(text).collect());
        }
        self.commit(batch)?;
        Ok(Ok(Some(done)))
    }

    /// Takes over states that somebody else has read, where it has none of its own.
    fn adopt(&mut self, states: Vec<Arc<SessionState>>) -> Result<(), StoreError> {
        for mut state in states {
            let key = state.key.clone();
            if self.sessions.get_mut(&key).is_none() {
                self.store.catch_up(&mut state)?;
                let anchors = self.store.anchors(state.number)?;
                let state = Arc::unwrap_or_clone(state);
                self.sessions.insert(key, Staged { state, anchors });
            }
        }
        Ok(())
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
            && (batch.touches(session) || batch.forks())
        {
            let full = std::mem::replace(batch, Batch::after(self.store.head()));
            self.commit(full)?;
            *batch = Batch::after(self.store.head());
        }
        if let (Some(session), Some(version)) = (known, again) {
            self.again.hand_in(Resent { session, version, request: *request, callback });
            return Ok(());
        }
        if let Ok(Some(Staged { state, .. })) = self.staged(&key)
            && let Some(lane) = lane(state, &request.command, examined.as_ref())
        {
            let size = request.size();
            if self.examining.hand_in(lane, request, callback) {
                self.waiting_bytes.fetch_add(size, Ordering::Relaxed);
                self.examined_apart += 1;
            }
            return Ok(());
        }
        let copies = match (&request.command, &examined) {
            (Command::ReportDamage { .. }, Some(Examined::Copies(copies))) => Some(copies.clone()),
            _ => None,
        };
        let answer = self.decide(&key, &request, examined, batch)?;
        if let Ok(Done { reply: Reply::DamageReported { lost, .. }, .. }) = &answer {
            self.lose_everywhere(&key, lost, copies, batch)?;
        }
        batch.reply(callback, answer);
        Ok(())
    }

    fn decide(
        &mut self,
        key: &SessionKey,
        request: &Request,
        examined: Option<Examined>,
        batch: &mut Batch,
    ) -> Result<Result<Done, EngineError>, StoreError> {
        match self.judge(key, request, examined, batch)? {
            Ok(decision) => self.stage(key, request, decision, batch).map(Ok),
            Err(error) => Ok(Err(error)),
        }
    }

    /// What becomes of a command; nothing is changed yet.
    fn judge(
        &mut self,
        key: &SessionKey,
        request: &Request,
        examined: Option<Examined>,
        batch: &mut Batch,
    ) -> Result<Result<Decision, EngineError>, StoreError> {
        let now = batch.tick((self.options.clock)());
        let named = request.command.needs_evidence();
        let limits = self.options.limits.clone();
        let store = Arc::clone(&self.store);
        let retention = match self.retention(&key.tenant) {
            Ok(retention) => retention,
            Err(error) => return Ok(Err(error.into())),
        };
        // Committing may have thrown the session out of memory: it is looked up again.
        let staged = match self.staged(key) {
            Ok(staged) => staged,
            Err(error) => return Ok(Err(error.into())),
        };
        let (examined, outside) = match examined {
            Some(Examined::Summary { examination, .. }) => (Some(*examination), None),
            Some(Examined::Copies(copies)) => (None, Some(copies)),
            None => (None, None),
        };
        let mut evidence = match &staged {
            Some(Staged { state, .. }) if !named.is_empty() => {
                let here = named.iter().filter(|&id| !state.find(id).is_some_and(is_outside));
                match evidence::gather(&mut Copies::here(&store), state, here) {
                    Ok(evidence) => evidence,
                    Err(error) => return Ok(Err(error)),
                }
            }
            _ => Default::default(),
        };
        evidence.extend(outside.into_iter().flatten());
        let examination = match (&staged, &request.command, examined) {
            (Some(staged), Command::Summarize(summarize), None) => {
                match evidence::examine(&store, None, &staged.state, summarize, None) {
                    Ok(examination) => Some(examination),
                    Err(error) => return Ok(Err(error)),
                }
            }
            (_, _, examined) => examined,
        };
        let begins = staged.is_none();
        let lost_since = match &request.command {
            Command::Fork(fork) if begins => match self.lost_since(&fork.parent) {
                Ok(lost) => lost,
                Err(error) => return Ok(Err(error.into())),
            },
            _ => Vec::new(),
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
            lost_since,
            retention,
        };
        let staged = match self.staged(key) {
            Ok(staged) => staged,
            Err(error) => return Ok(Err(error.into())),
        };
        let state = staged.as_ref().map(|staged| &staged.state);
        Ok(decide(state, &request.command, &context).map_err(Into::into))
    }

    /// Takes a decision's events into the batch and folds them into the staged state.
    fn stage(
        &mut self,
        key: &SessionKey,
        request: &Request,
        decision: Decision,
        batch: &mut Batch,
    ) -> Result<Done, StoreError> {
        let first_seq = batch.next_seq();
        if !decision.events.is_empty() {
            let new = decision.events.len();
            let adopted = match &request.command {
                Command::Adopt { journal, events, .. } => {
                    Some((journal.as_str(), &events[events.len().saturating_sub(new)..]))
                }
                _ => None,
            };
            let command = request.command_id.as_ref();
            let author = Author { principal: &request.principal, command, adopted };
            match self.sessions.get_mut(key) {
                Some(staged) => {
                    let before = staged.state.spans().len();
                    batch.stage(&mut staged.state, &author, decision.events)?;
                    let grown = staged.state.spans().len() - before;
                    // The staged state is what this batch will make true: its snapshot goes along with it.
                    if staged.anchors.is_due(&staged.state) {
                        self.snapshots.push(staged.anchors.snapshot(&staged.state)?);
                    }
                    self.sessions.grown(grown);
                }
                None => {
                    let parent = match &request.command {
                        Command::Fork(fork) => Some(fork.parent.as_ref()),
                        _ => None,
                    };
                    if let Some(state) = batch.open(key, &author, decision.events, parent)? {
                        let anchors = Anchors::begun(parent.map_or(0, |parent| parent.version));
                        self.sessions.insert(key.clone(), Staged { state, anchors });
                        self.without_retention.remove(&key.tenant);
                    }
                }
            }
            batch.file_payloads(&request.command, &decision.reply, first_seq)?;
        }
        Ok(Done { reply: decision.reply, again: false })
    }

    /// The tenant's retention as staged; none if nothing was ever asked of it.
    fn retention(&mut self, tenant: &Tenant) -> Result<Option<Arc<RetentionState>>, StoreError> {
        if self.without_retention.contains(tenant) {
            return Ok(None);
        }
        if let Some(staged) = self.staged(&stream_of(tenant))? {
            return Ok(staged.state.retention().cloned());
        }
        if self.without_retention.len() >= TENANTS {
            self.without_retention.clear();
        }
        self.without_retention.insert(tenant.clone());
        Ok(None)
    }

    /// The session's staged state, loaded if it is not in memory; none if it was never opened.
    fn staged(&mut self, key: &SessionKey) -> Result<Option<&mut Staged>, StoreError> {
        if self.sessions.get_mut(key).is_none() {
            let Some(number) = self.store.session(key)? else { return Ok(None) };
            let Some((state, anchors)) = self.store.load_anchored(number)? else { return Ok(None) };
            self.sessions.insert(key.clone(), Staged { state, anchors });
        }
        Ok(self.sessions.get_mut(key))
    }

    fn commit(&mut self, batch: Batch) -> Result<(), StoreError> {
        let events = batch.events();
        let (mut commit, replies) = batch.finish();
        if events > 0 {
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
}
