//! The writer: one thread that decides commands on staged states, one batch after the other. While one is
//! made durable the next is filled; as soon as it is, what has come together meanwhile goes on its way.

mod judging;
mod removing;
mod shared;
mod snapshots;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_channel::{Receiver, TryRecvError, select};
use lacuna_core::{Command, Reply, SessionKey, SessionState, Tenant};
use lacuna_store::{Anchors, Snapshot, Store, StoreError};

use crate::again::{Again, Resent};
use crate::batch::Batch;
use crate::cache::{Cache, Holds};
use crate::examine::{Examined, Examining, lane};
use crate::pipeline::{Pipeline, ended, refuse};
use crate::retention::removal::{Removed, Removing};
use crate::stats::Counters;
use crate::{Callback, Done, EngineError, Options, Request};

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
    /// What is decided and not on its way yet.
    batch: Batch,
    pipeline: Pipeline,
    sessions: Cache<Staged>,
    /// Sessions that were thrown out of memory while events of theirs were on their way.
    left: HashSet<SessionKey>,
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
        counters: &Arc<Counters>,
        again: Again,
        examining: Examining,
    ) -> Self {
        let sessions = Cache::new(options.cached_spans);
        let head = store.head();
        let pipeline = Pipeline::start(&store, counters);
        Self {
            store,
            options,
            inbox,
            waiting_bytes,
            batch: Batch::after(head.seq, head.at),
            pipeline,
            sessions,
            left: HashSet::new(),
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
            refuse(self.batch.take().into_replies(), &why);
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
        // Of what had arrived when nothing was on its way any more, how much to take along still.
        let mut along = 0_usize;
        loop {
            let idle = self.pipeline.flying()? == 0;
            if idle {
                self.left.clear();
            }
            if self.is_full() || (idle && along == 0 && !self.batch.is_empty()) {
                self.close_batch()?;
                along = 0;
                continue;
            }
            let message = match self.inbox.try_recv() {
                Ok(message) => message,
                Err(TryRecvError::Empty) if idle && !self.batch.is_empty() => {
                    along = 0;
                    continue;
                }
                Err(TryRecvError::Empty) => match self.wait()? {
                    Some(message) => message,
                    None => {
                        along = self.inbox.len();
                        continue;
                    }
                },
                Err(TryRecvError::Disconnected) => Message::Stop,
            };
            let first = idle && self.batch.is_empty();
            along = if first { self.inbox.len() } else { along.saturating_sub(1) };
            if self.take(message)? {
                self.commit()?;
                self.await_examined()?;
                return self.rest();
            }
        }
    }

    fn is_full(&self) -> bool {
        self.batch.commands() >= self.options.batch_commands
            || self.batch.bytes() >= self.options.batch_bytes
    }

    /// Waits for a message, or until a batch is done: then none.
    fn wait(&mut self) -> Result<Option<Message>, StoreError> {
        select! {
            recv(self.inbox) -> message => Ok(Some(message.unwrap_or(Message::Stop))),
            recv(self.pipeline.done()) -> done => {
                self.pipeline.landed(done.unwrap_or_else(|_| Err(ended())))?;
                Ok(None)
            }
        }
    }

    /// Takes one message into the batch; says whether it is the last.
    fn take(&mut self, message: Message) -> Result<bool, StoreError> {
        match message {
            Message::Command(request, callback) => {
                self.waiting_bytes.fetch_sub(request.size(), Ordering::Relaxed);
                self.handle(request, callback, None)?;
            }
            Message::Examined(request, callback, examined) => {
                self.examined_apart -= 1;
                self.waiting_bytes.fetch_sub(request.size(), Ordering::Relaxed);
                match examined {
                    Ok(examined) => self.handle(request, callback, Some(examined))?,
                    Err(error) => self.batch.reply(callback, Err(error)),
                }
            }
            Message::Remove(removing, answer) => {
                // It rests on what is committed.
                self.commit()?;
                let removed = self.remove(*removing);
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

    /// What is still being examined comes back and is answered before the writer ends.
    fn await_examined(&mut self) -> Result<(), StoreError> {
        while self.examined_apart > 0 {
            let Ok(message) = self.inbox.recv() else { break };
            self.take(message)?;
            self.commit()?;
        }
        Ok(())
    }

    /// Decides one command within the batch. Where its decision must rest on what is committed,
    /// that is waited for first. A session that cannot be read is its own trouble: the request gets the
    /// typed error and everybody else goes on.
    fn handle(
        &mut self,
        request: Box<Request>,
        callback: Callback,
        examined: Option<Examined>,
    ) -> Result<(), StoreError> {
        let key = request.session.clone();
        let stamp = request.command_id.as_ref().map(|stamp| stamp.id.key());
        let (known, again) = match self.staged(&key) {
            Ok(None) => (None, None),
            Ok(Some(Staged { state, .. })) => {
                (Some(state.number), stamp.and_then(|stamp| state.command(&stamp)))
            }
            Err(error) => {
                self.batch.reply(callback, Err(error.into()));
                return Ok(());
            }
        };
        let summarizes = matches!(request.command, Command::Summarize(_));
        let rests_on_committed =
            again.is_some() || summarizes || !request.command.needs_evidence().is_empty();
        if let Some(session) = known
            && rests_on_committed
        {
            if self.batch.touches(session) || self.batch.forks() {
                self.commit()?;
            } else if self.pipeline.touches(session) || self.pipeline.forks() {
                self.settle()?;
            }
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
        let answer = self.decide(&key, &request, examined)?;
        if let Ok(Done { reply: Reply::DamageReported { lost, .. }, .. }) = &answer {
            self.lose_everywhere(&key, lost, copies)?;
        }
        self.batch.reply(callback, answer);
        Ok(())
    }

    /// The session's staged state, loaded if it is not in memory; none if it was never opened.
    fn staged(&mut self, key: &SessionKey) -> Result<Option<&mut Staged>, StoreError> {
        if self.sessions.get_mut(key).is_none() {
            if self.left.contains(key) {
                // The file does not have all of it yet.
                self.settle()?;
            }
            let Some(number) = self.store.session(key)? else { return Ok(None) };
            let Some((state, anchors)) = self.store.load_anchored(number)? else { return Ok(None) };
            self.sessions.insert(key.clone(), Staged { state, anchors });
        }
        Ok(self.sessions.get_mut(key))
    }

    /// Sends the batch on its way and begins another one.
    fn close_batch(&mut self) -> Result<(), StoreError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        if self.batch.events() > 0 {
            let snapshots = self.due_snapshots();
            self.batch.keep(snapshots);
        }
        self.pipeline.close(self.batch.take())?;
        self.evict()
    }

    /// Waits until everything that is on its way is durable.
    fn settle(&mut self) -> Result<(), StoreError> {
        self.pipeline.settle()?;
        self.left.clear();
        Ok(())
    }

    /// Waits until everything that was decided is durable.
    fn commit(&mut self) -> Result<(), StoreError> {
        self.close_batch()?;
        self.settle()
    }
}
