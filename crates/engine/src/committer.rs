//! Behind the writer: sealing and committing, each on a thread of its own, so that the writer decides what
//! comes next while packs are compressed and the disk is waited for.
//!
//! ```text
//!   writer                 decides; hands packs on as they fill, then the closed batch
//!     └─► sealer           compresses, encrypts, chains the block to the one before
//!           └─► committer  one transaction; when it is durable, the replies (I6)
//!                 ├─► flusher  now and then: has the database synced, behind the log
//!                 └─► writer   is told, and closes the next batch
//! ```
//!
//! Batches keep their order throughout. After a failure nothing more is written, and everybody who waits
//! is answered `unavailable`.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, OnceLock};
use std::thread::{Builder, JoinHandle};

use crossbeam_channel::{Receiver, SendError, Sender, bounded};
use lacuna_codec::block_hash;
use lacuna_core::SessionNo;
use lacuna_store::{Commit, Packs, Store, StoreError, Unsealed};

use crate::EngineError;
use crate::batch::{Batch, Closed, Replies};
use crate::intake::{Awaited, Intake};
use crate::stats::Counters;

/// Batches on their way at a time: one is written, another one waits for that.
const BATCHES: usize = 2;
/// Packs that may wait to be sealed.
const PACKS: usize = 64;

enum Work {
    Payloads(Unsealed),
    Close(Box<Closed>),
}

/// A batch that can be written, and whom to answer.
struct Sealed {
    /// None if nothing is to be written.
    commit: Result<Option<Commit>, StoreError>,
    replies: Replies,
}

/// What a batch on its way changes.
struct Flying {
    sessions: HashSet<SessionNo>,
    forks: bool,
}

/// Set once anything has failed: nothing is sealed or written from then on.
#[derive(Clone, Default)]
struct Failed(Arc<OnceLock<String>>);

impl Failed {
    fn set(&self, why: &str) {
        // The first reason is the one that counts.
        drop(self.0.set(why.to_owned()));
    }

    fn error(&self) -> Option<StoreError> {
        self.0.get().cloned().map(StoreError::Indeterminate)
    }
}

/// The writer's end of it.
pub(crate) struct Committing {
    intake: Intake,
    failed: Failed,
    flying: VecDeque<Flying>,
    /// Gone once the sealer, and with it the committer, is told to end.
    work: Option<Sender<Work>>,
    threads: Vec<JoinHandle<()>>,
}

impl Committing {
    pub(crate) fn start(store: &Arc<Store>, counters: &Arc<Counters>, intake: &Intake) -> Self {
        let (work, works) = bounded(PACKS);
        let (to_commit, commits) = bounded(BATCHES);
        let (to_flush, flushes) = bounded(1);
        let failed = Failed::default();
        let sealer = Sealer {
            store: Arc::clone(store),
            works,
            to_commit,
            failed: failed.clone(),
            intake: intake.clone(),
        };
        let committer = Committer {
            store: Arc::clone(store),
            counters: Arc::clone(counters),
            commits,
            flushes: to_flush,
            failed: failed.clone(),
            intake: intake.clone(),
        };
        let flusher = Flusher {
            store: Arc::clone(store),
            flushes,
            failed: failed.clone(),
            intake: intake.clone(),
        };
        let threads = vec![
            start("lacuna-seal", || sealer.run()),
            start("lacuna-commit", || committer.run()),
            start("lacuna-flush", || flusher.run()),
        ];
        let (intake, flying, work) = (intake.clone(), VecDeque::new(), Some(work));
        Self { intake, failed, flying, work, threads }
    }

    /// Has payloads of the batch in the making sealed.
    pub(crate) fn seal(&self, unsealed: Unsealed) -> Result<(), StoreError> {
        self.hand_on(Work::Payloads(unsealed))
    }

    /// Sends a batch on its way. Waits while as many as may be are on theirs. Who waits for one that is not
    /// taken is told so.
    pub(crate) fn close(&mut self, batch: Batch) -> Result<(), StoreError> {
        while self.flying.len() >= BATCHES {
            if let Err(error) = self.wait_for_some() {
                refuse(batch.into_replies(), &error.to_string());
                return Err(error);
            }
        }
        self.flying.push_back(Flying { sessions: batch.sessions(), forks: batch.forks() });
        self.hand_on(Work::Close(Box::new(batch.finish())))
    }

    fn hand_on(&self, work: Work) -> Result<(), StoreError> {
        // The other end is gone only if it has panicked, and then it says so.
        let sent = self.work.as_ref().map(|sender| sender.send(work));
        match sent {
            Some(Ok(())) => Ok(()),
            Some(Err(SendError(Work::Close(closed)))) => {
                let error = ended();
                refuse(closed.replies, &error.to_string());
                Err(error)
            }
            _ => Err(ended()),
        }
    }

    /// How many batches are on their way, as far as the writer was told.
    pub(crate) fn flying(&self) -> usize {
        self.flying.len()
    }

    /// Takes note of batches that are done. Once one has failed it fails every time.
    pub(crate) fn landed(&mut self, done: Vec<Result<(), StoreError>>) -> Result<(), StoreError> {
        for done in done {
            if let Err(error) = &done {
                self.failed.set(&error.to_string());
            }
            // One that has failed may be there or not: whatever rests on it never will.
            done?;
            self.flying.pop_front();
        }
        self.failed.error().map_or(Ok(()), Err)
    }

    /// Waits until everything that was closed is durable.
    pub(crate) fn settle(&mut self) -> Result<(), StoreError> {
        while !self.flying.is_empty() {
            self.wait_for_some()?;
        }
        self.failed.error().map_or(Ok(()), Err)
    }

    fn wait_for_some(&mut self) -> Result<(), StoreError> {
        if let Some(error) = self.failed.error() {
            return Err(error);
        }
        let landed = self.intake.wait(Awaited::Landing, &mut VecDeque::new());
        self.landed(landed)
    }

    /// Whether a batch on its way has events of this session.
    pub(crate) fn touches(&self, session: SessionNo) -> bool {
        self.flying.iter().any(|batch| batch.sessions.contains(&session))
    }

    /// Whether a fork begins in a batch on its way.
    pub(crate) fn forks(&self) -> bool {
        self.flying.iter().any(|batch| batch.forks)
    }
}

impl Drop for Committing {
    fn drop(&mut self) {
        drop(self.work.take());
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread behind the writer panicked");
            }
        }
    }
}

fn ended() -> StoreError {
    StoreError::Indeterminate("a thread behind the writer has ended".into())
}

fn start(name: &str, run: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    Builder::new()
        .name(name.into())
        .spawn(run)
        .expect("a process that opens a journal can start its threads")
}

struct Sealer {
    store: Arc<Store>,
    works: Receiver<Work>,
    to_commit: Sender<Sealed>,
    failed: Failed,
    intake: Intake,
}

impl Sealer {
    fn run(self) {
        let _gone = Gone(self.intake.clone());
        let mut chain = self.store.head().block;
        let mut packs = Ok(Packs::default());
        while let Ok(work) = self.works.recv() {
            let closed = match work {
                Work::Payloads(unsealed) => {
                    packs = packs.and_then(|packs| self.seal(unsealed, packs));
                    if let Err(error) = &packs {
                        self.failed.set(&error.to_string());
                    }
                    continue;
                }
                Work::Close(closed) => *closed,
            };
            if self.failed.error().is_some() && packs.is_ok() {
                packs = Err(self.failed.error().unwrap_or_else(ended));
            }
            let Closed { commit, block, last_pack, replies } = closed;
            let packs = std::mem::replace(&mut packs, Ok(Packs::default()));
            let packs = match last_pack {
                Some(last) => packs.and_then(|packs| self.seal(last, packs)),
                None => packs,
            };
            let commit = packs.map(|payloads| {
                let block = block?.finish(&chain);
                chain = block_hash(&block);
                Some(Commit { block, payloads, ..commit })
            });
            if self.to_commit.send(Sealed { commit, replies }).is_err() {
                return;
            }
        }
    }

    fn seal(&self, unsealed: Unsealed, mut packs: Packs) -> Result<Packs, StoreError> {
        if let Some(error) = self.failed.error() {
            return Err(error);
        }
        self.store.seal(unsealed, &mut packs)?;
        Ok(packs)
    }
}

struct Committer {
    store: Arc<Store>,
    counters: Arc<Counters>,
    commits: Receiver<Sealed>,
    flushes: Sender<()>,
    failed: Failed,
    intake: Intake,
}

/// Tells the writer that nothing comes any more, should the thread panic.
struct Gone(Intake);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.landed(Err(ended()));
    }
}

impl Committer {
    fn run(self) {
        let _gone = Gone(self.intake.clone());
        while let Ok(Sealed { commit, replies }) = self.commits.recv() {
            let done = match self.failed.error() {
                Some(error) => Err(error),
                None => commit.and_then(|commit| self.commit(commit, replies.len())),
            };
            let failed = done.as_ref().err().map(ToString::to_string);
            if let Some(why) = &failed {
                self.failed.set(why);
            }
            // First, so that the next batch is made ready while this one is answered.
            self.intake.landed(done);
            match &failed {
                None => replies.into_iter().for_each(|(callback, answer)| callback(answer)),
                Some(why) => refuse(replies, why),
            }
            if self.store.is_flush_due(self.commits.is_empty()) {
                // Full: it is told already.
                let _told = self.flushes.try_send(());
            }
        }
    }

    fn commit(&self, commit: Option<Commit>, commands: usize) -> Result<(), StoreError> {
        let Some(commit) = commit else { return Ok(()) };
        let events = commit.last - commit.first + 1;
        self.store.append(commit)?;
        self.counters.committed(events, commands);
        Ok(())
    }
}

/// Has the database synced when the committer says so, beside the commits that go on.
struct Flusher {
    store: Arc<Store>,
    flushes: Receiver<()>,
    failed: Failed,
    intake: Intake,
}

impl Flusher {
    fn run(self) {
        while self.flushes.recv().is_ok() {
            if let Err(error) = self.store.flush() {
                self.failed.set(&error.to_string());
                self.intake.landed(Err(error));
            }
        }
    }
}

/// Answers that the journal has failed: what was asked may or may not have happened.
pub(crate) fn refuse(replies: Replies, why: &str) {
    for (callback, _) in replies {
        callback(Err(EngineError::Unavailable(why.to_owned())));
    }
}
