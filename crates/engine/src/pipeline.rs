//! Behind the writer: sealing and committing, each on a thread of its own, so that the writer decides what
//! comes next while the disk is waited for.
//!
//! ```text
//!   writer             packs as they fill, then the closed batch
//!     └─► sealer       compresses, encrypts, chains the block to the one before
//!           └─► committer   one transaction; when it is durable, the replies (I6)
//!                 └─► writer   is told, and closes the next batch
//! ```
//!
//! Batches keep their order throughout. After a failure nothing more is written, and everybody who waits
//! is answered `unavailable`.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use lacuna_codec::{BlockBuilder, block_hash};
use lacuna_core::SessionNo;
use lacuna_store::{Commit, Packs, Store, StoreError, Unsealed};

use crate::EngineError;
use crate::batch::{Batch, Replies};
use crate::stats::Counters;

/// Packs that may wait to be sealed.
const PACKS: usize = 64;
/// Batches on their way at a time.
const BATCHES: usize = 2;

/// A batch to which nothing more is added.
pub(crate) struct Closed {
    /// All of the commit but its block and its payloads.
    pub(crate) commit: Commit,
    /// Its events; none if it only answers.
    pub(crate) block: Option<BlockBuilder>,
    pub(crate) replies: Replies,
}

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
pub(crate) struct Pipeline {
    /// Gone once it is told to end.
    work: Option<Sender<Work>>,
    done: Receiver<Result<(), StoreError>>,
    flying: VecDeque<Flying>,
    threads: Vec<JoinHandle<()>>,
}

impl Pipeline {
    pub(crate) fn start(store: &Arc<Store>, counters: &Arc<Counters>) -> Self {
        let (work, works) = bounded(PACKS);
        let (to_commit, commits) = bounded(1);
        // At most one for each batch on its way.
        let (finished, done) = unbounded();
        let sealer = Sealer { store: Arc::clone(store), works, to_commit };
        let committer = Committer {
            store: Arc::clone(store),
            counters: Arc::clone(counters),
            commits,
            finished,
        };
        let threads =
            vec![start("lacuna-seal", || sealer.run()), start("lacuna-commit", || committer.run())];
        Self { work: Some(work), done, flying: VecDeque::new(), threads }
    }

    /// Has payloads of the batch in the making sealed.
    pub(crate) fn seal(&self, unsealed: Unsealed) {
        self.send(Work::Payloads(unsealed));
    }

    /// Sends a batch on its way. Waits while as many as may be are on theirs.
    pub(crate) fn close(&mut self, batch: Batch) -> Result<(), StoreError> {
        while self.flying.len() >= BATCHES {
            self.wait_for_one()?;
        }
        let (sessions, forks) = (batch.sessions(), batch.forks());
        self.flying.push_back(Flying { sessions, forks });
        let (last, closed) = batch.finish();
        if let Some(last) = last {
            self.seal(last);
        }
        self.send(Work::Close(Box::new(closed)));
        Ok(())
    }

    fn send(&self, work: Work) {
        if let Some(sender) = &self.work {
            // A sealer that is gone has panicked: waiting for it, or joining it, says so.
            drop(sender.send(work));
        }
    }

    /// How many batches are on their way, as far as is known without waiting.
    pub(crate) fn flying(&mut self) -> Result<usize, StoreError> {
        while let Ok(done) = self.done.try_recv() {
            self.landed(done)?;
        }
        Ok(self.flying.len())
    }

    /// Tells when a batch is done; give what it says to [`Pipeline::landed`].
    pub(crate) fn done(&self) -> &Receiver<Result<(), StoreError>> {
        &self.done
    }

    /// Takes note of a batch that is done.
    pub(crate) fn landed(&mut self, done: Result<(), StoreError>) -> Result<(), StoreError> {
        self.flying.pop_front();
        done
    }

    /// Waits until everything that was sent is durable.
    pub(crate) fn settle(&mut self) -> Result<(), StoreError> {
        while !self.flying.is_empty() {
            self.wait_for_one()?;
        }
        Ok(())
    }

    fn wait_for_one(&mut self) -> Result<(), StoreError> {
        let done = self.done.recv().unwrap_or_else(|_| Err(ended()));
        self.landed(done)
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

impl Drop for Pipeline {
    fn drop(&mut self) {
        drop(self.work.take());
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread behind the writer panicked");
            }
        }
    }
}

/// A thread behind the writer is gone, which only a panic explains.
pub(crate) fn ended() -> StoreError {
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
}

impl Sealer {
    fn run(self) {
        let mut chain = self.store.head().block;
        let mut packs = Ok(Packs::default());
        while let Ok(work) = self.works.recv() {
            let closed = match work {
                Work::Payloads(unsealed) => {
                    if let Ok(sealed) = &mut packs
                        && let Err(error) = self.store.seal(unsealed, sealed)
                    {
                        packs = Err(error);
                    }
                    continue;
                }
                Work::Close(closed) => *closed,
            };
            let Closed { mut commit, block, replies } = closed;
            let packs = std::mem::replace(&mut packs, Ok(Packs::default()));
            let commit = packs.map(|packs| {
                let block = block?;
                (commit.block, commit.payloads) = (block.finish(&chain), packs);
                chain = block_hash(&commit.block);
                Some(commit)
            });
            if self.to_commit.send(Sealed { commit, replies }).is_err() {
                return;
            }
        }
    }
}

struct Committer {
    store: Arc<Store>,
    counters: Arc<Counters>,
    commits: Receiver<Sealed>,
    finished: Sender<Result<(), StoreError>>,
}

impl Committer {
    fn run(self) {
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
            // First, so that the next batch is sealed while this one is answered. A writer that has ended
            // needs nothing any more.
            drop(self.finished.send(done));
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
