//! Behind the writer: sealing and committing, each on a thread of its own, so that the writer decides what
//! comes next while packs are compressed and the disk is waited for.
//!
//! ```text
//!   writer                 decides; hands packs on as they fill, then the closed batch
//!     └─► sealer           compresses, encrypts, chains the block to the one before
//!           └─► committer  one transaction; when it is durable, the replies (I6)
//!                 └─► writer   is told, and closes the next batch
//! ```
//!
//! Batches keep their order throughout. After a failure nothing more is written, and everybody who waits
//! is answered `unavailable`.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use crossbeam_channel::{Receiver, Sender, bounded};
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

/// The writer's end of it.
pub(crate) struct Committing {
    intake: Intake,
    flying: VecDeque<Flying>,
    /// Gone once the sealer, and with it the committer, is told to end.
    work: Option<Sender<Work>>,
    threads: Vec<JoinHandle<()>>,
}

impl Committing {
    pub(crate) fn start(store: &Arc<Store>, counters: &Arc<Counters>, intake: &Intake) -> Self {
        let (work, works) = bounded(PACKS);
        let (to_commit, commits) = bounded(BATCHES);
        let sealer = Sealer { store: Arc::clone(store), works, to_commit, intake: intake.clone() };
        let committer = Committer {
            store: Arc::clone(store),
            counters: Arc::clone(counters),
            commits,
            intake: intake.clone(),
        };
        let threads =
            vec![start("lacuna-seal", || sealer.run()), start("lacuna-commit", || committer.run())];
        Self { intake: intake.clone(), flying: VecDeque::new(), work: Some(work), threads }
    }

    /// Has payloads of the batch in the making sealed.
    pub(crate) fn seal(&self, unsealed: Unsealed) -> Result<(), StoreError> {
        self.hand_on(Work::Payloads(unsealed))
    }

    /// Sends a batch on its way. Waits while as many as may be are on theirs.
    pub(crate) fn close(&mut self, batch: Batch) -> Result<(), StoreError> {
        while self.flying.len() >= BATCHES {
            self.wait_for_some()?;
        }
        self.flying.push_back(Flying { sessions: batch.sessions(), forks: batch.forks() });
        self.hand_on(Work::Close(Box::new(batch.finish())))
    }

    fn hand_on(&self, work: Work) -> Result<(), StoreError> {
        // The other end is gone only if it has panicked, and then it says so.
        let sent = self.work.as_ref().is_some_and(|sender| sender.send(work).is_ok());
        if sent { Ok(()) } else { Err(ended()) }
    }

    /// How many batches are on their way, as far as the writer was told.
    pub(crate) fn flying(&self) -> usize {
        self.flying.len()
    }

    /// Takes note of batches that are done.
    pub(crate) fn landed(&mut self, done: Vec<Result<(), StoreError>>) -> Result<(), StoreError> {
        for done in done {
            self.flying.pop_front();
            done?;
        }
        Ok(())
    }

    /// Waits until everything that was closed is durable.
    pub(crate) fn settle(&mut self) -> Result<(), StoreError> {
        while !self.flying.is_empty() {
            self.wait_for_some()?;
        }
        Ok(())
    }

    fn wait_for_some(&mut self) -> Result<(), StoreError> {
        let landed = self.intake.wait(Awaited::Landing, &mut Vec::new());
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
                    continue;
                }
                Work::Close(closed) => *closed,
            };
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
        self.store.seal(unsealed, &mut packs)?;
        Ok(packs)
    }
}

struct Committer {
    store: Arc<Store>,
    counters: Arc<Counters>,
    commits: Receiver<Sealed>,
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
        let mut failed: Option<String> = None;
        while let Ok(Sealed { commit, replies }) = self.commits.recv() {
            if let Some(why) = &failed {
                refuse(replies, why);
                continue;
            }
            let done = commit.and_then(|commit| {
                let Some(commit) = commit else { return Ok(()) };
                self.store.append(&commit)?;
                self.counters.committed(commit.last - commit.first + 1, replies.len());
                Ok(())
            });
            failed = done.as_ref().err().map(ToString::to_string);
            // First, so that the next batch is made ready while this one is answered.
            self.intake.landed(done);
            match &failed {
                None => replies.into_iter().for_each(|(callback, answer)| callback(answer)),
                Some(why) => refuse(replies, why),
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
