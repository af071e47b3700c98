//! The writer: one thread that decides commands on staged states, one batch after the other. While one is
//! made durable the next is filled; as soon as it is, what has come together meanwhile goes on its way.

mod judging;
mod removing;
mod shared;
mod snapshots;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use lacuna_core::{Command, Reply, SessionKey, SessionNo, SessionState, Tenant};
use lacuna_store::{Anchors, Snapshot, Store, StoreError};

use crate::again::{Again, Resent};
use crate::batch::Batch;
use crate::cache::{Cache, Holds};
use crate::committer::{Committing, refuse};
use crate::examine::{Examined, Examining, lane};
use crate::intake::{Awaited, Intake, closed};
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
    /// Write the snapshots that are worth it, checkpoint, and end.
    Stop,
}

impl Message {
    /// Answers that nothing will come of it.
    fn refuse(self, error: EngineError) {
        match self {
            Self::Command(_, callback) | Self::Examined(_, callback, _) => callback(Err(error)),
            Self::Remove(_, answer) => answer(Err(error)),
            Self::Stop => {}
        }
    }
}

/// Ends the way to the writer when the writer ends, however it does.
struct Ends(Intake);

impl Drop for Ends {
    fn drop(&mut self) {
        for message in self.0.end() {
            message.refuse(EngineError::Unavailable("the writer has ended".into()));
        }
    }
}

/// The writer's own copy of a session: ahead of what is committed by the batches on their way and the one in
/// the making.
pub(crate) struct Staged {
    state: SessionState,
    anchors: Anchors,
    /// Blocks that have events of it which no snapshot holds, at most: what reading it again costs.
    blocks: u64,
}

impl Staged {
    /// One whose last events may each stand in a block of their own.
    fn new(state: SessionState, anchors: Anchors) -> Self {
        let blocks = anchors.distance(&state);
        Self { state, anchors, blocks }
    }
}

impl Holds for Staged {
    fn state(&self) -> &SessionState {
        &self.state
    }
}

pub(crate) struct Writer {
    store: Arc<Store>,
    options: Options,
    intake: Intake,
    /// What is decided and not on its way yet.
    batch: Batch,
    committing: Committing,
    sessions: Cache<Staged>,
    /// Sessions that were thrown out of memory while events of theirs were on their way.
    left: HashMap<SessionKey, SessionNo>,
    /// What it has taken off the list and not begun with.
    messages: VecDeque<Message>,
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
        intake: Intake,
        counters: &Arc<Counters>,
        again: Again,
        examining: Examining,
    ) -> Self {
        let sessions = Cache::new(options.cached_spans);
        let head = store.head();
        let batch = Batch::after(head.seq, head.at, store.packing());
        let committing = Committing::start(&store, counters, &intake);
        Self {
            store,
            options,
            intake,
            batch,
            committing,
            sessions,
            left: HashMap::new(),
            messages: VecDeque::new(),
            snapshots: Vec::new(),
            again,
            examining,
            examined_apart: 0,
            without_retention: HashSet::new(),
        }
    }

    /// Runs until told to stop, or until the store fails: then everything that waits is answered
    /// `unavailable`, and the process should end.
    pub(crate) fn run(mut self) -> Result<(), StoreError> {
        // Also if it panics: nobody is to wait for a writer that is gone.
        let _ends = Ends(self.intake.clone());
        let result = self.serve();
        let why = result.as_ref().err().map(ToString::to_string);
        if let Some(why) = &why {
            tracing::error!(error = why, "the writer ends; what was not acknowledged may be lost");
            refuse(self.batch.take().into_replies(), why);
        }
        let unavailable = || why.clone().map_or_else(closed, EngineError::Unavailable);
        let waiting = self.intake.end();
        for message in std::mem::take(&mut self.messages).into_iter().chain(waiting) {
            message.refuse(unavailable());
        }
        result
    }

    fn serve(&mut self) -> Result<(), StoreError> {
        loop {
            let busy = self.committing.flying() > 0;
            let awaited = if busy { Awaited::Many } else { Awaited::Message };
            let landed = self.intake.wait(awaited, &mut self.messages);
            self.committing.landed(landed)?;
            if self.take_all()? {
                return self.rest();
            }
            if self.committing.flying() == 0 && !self.batch.is_empty() {
                self.close_batch()?;
            }
        }
    }

    /// Takes what has arrived into the batch, and sends it on its way whenever it is full. Says whether the
    /// order to end was among it; then everything is answered.
    fn take_all(&mut self) -> Result<bool, StoreError> {
        let mut last = false;
        while let Some(message) = self.messages.pop_front() {
            last |= self.take(message)?;
            if self.is_full() {
                self.close_batch()?;
            }
        }
        if last {
            self.commit()?;
            // What is being examined comes back and is answered, too.
            while self.examined_apart > 0 {
                let landed = self.intake.wait(Awaited::Message, &mut self.messages);
                self.committing.landed(landed)?;
                while let Some(message) = self.messages.pop_front() {
                    self.take(message)?;
                    if self.is_full() {
                        self.close_batch()?;
                    }
                }
                self.commit()?;
            }
        }
        Ok(last)
    }

    fn is_full(&self) -> bool {
        self.batch.commands() >= self.options.batch_commands
            || self.batch.bytes() >= self.options.batch_bytes
    }

    /// Takes one message into the batch; says whether it is the last.
    fn take(&mut self, message: Message) -> Result<bool, StoreError> {
        match message {
            Message::Command(request, callback) => {
                self.intake.begun(request.size());
                self.handle(request, callback, None)?;
            }
            Message::Examined(request, callback, examined) => {
                self.examined_apart -= 1;
                self.intake.begun(request.size());
                match examined {
                    Ok(examined) => self.handle(request, callback, Some(examined))?,
                    Err(error) => self.batch.reply(callback, Err(error)),
                }
            }
            Message::Remove(removing, answer) => {
                self.intake.begun(0);
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
        let mut callback = or_told(self.bring_back(&key), callback)?;
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
            let waited = if self.batch.touches(session) || self.batch.forks() {
                self.commit()
            } else if self.committing.touches(session) || self.committing.forks() {
                self.settle()
            } else {
                Ok(())
            };
            callback = or_told(waited, callback)?;
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
                self.intake.waits_again(size);
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

    /// The session's staged state, loaded if it is not in memory; none if it was never opened. For another
    /// session than that of the command in hand see [`Writer::bring_back`] first.
    fn staged(&mut self, key: &SessionKey) -> Result<Option<&mut Staged>, StoreError> {
        if self.sessions.get_mut(key).is_none() {
            let Some(number) = self.store.session(key)? else { return Ok(None) };
            let Some((state, anchors)) = self.store.load_anchored(number)? else { return Ok(None) };
            self.sessions.insert(key.clone(), Staged::new(state, anchors));
        }
        Ok(self.sessions.get_mut(key))
    }

    /// Waits until the file has all of a session that was thrown out of memory. An error is the journal's
    /// end, where one of reading the session is only its own.
    fn bring_back(&mut self, key: &SessionKey) -> Result<(), StoreError> {
        match self.left.get(key) {
            Some(number) if self.committing.touches(*number) => self.settle(),
            _ => Ok(()),
        }
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
        self.committing.close(self.batch.take())?;
        self.evict()
    }

    /// Waits until everything that is on its way is durable.
    fn settle(&mut self) -> Result<(), StoreError> {
        self.committing.settle()?;
        self.left.clear();
        Ok(())
    }

    /// Waits until everything that was decided is durable.
    fn commit(&mut self) -> Result<(), StoreError> {
        self.close_batch()?;
        self.settle()
    }
}

/// The callback, or the failure once it was told of it.
fn or_told(waited: Result<(), StoreError>, callback: Callback) -> Result<Callback, StoreError> {
    match waited {
        Ok(()) => Ok(callback),
        Err(error) => {
            callback(Err(EngineError::Unavailable(error.to_string())));
            Err(error)
        }
    }
}
