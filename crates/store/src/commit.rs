//! Writing: one commit, one transaction. It is durable in the log first; see there.

use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

use lacuna_codec::block_hash;
use lacuna_core::{Digest, SessionKey, SessionNo, Timestamp};
use redb::{Durability, WriteTransaction};

use crate::forks::ForkRow;
use crate::ledger::Loss;
use crate::log::Log;
use crate::open::{Head, Store, defensively};
use crate::packing::{self, Packs};
use crate::removal::Removal;
use crate::snapshots::{self, Snapshot};
use crate::steps::step_taken;
use crate::tables::{EVENTS, META, META_LOG, RESIDUES, SESSION_BLOCKS, SESSIONS};
use crate::{StoreError, forks, ledger};

/// What one transaction writes.
#[derive(Debug, Clone, Default)]
pub struct Commit {
    /// The seq of the first event.
    pub first: u64,
    /// The seq of the last event.
    pub last: u64,
    /// The record time of the last event.
    pub at: Timestamp,
    /// The events: a stored block that names [`Head::block`] as the one before it.
    pub block: Vec<u8>,
    /// For every session touched, the version of its first event in the block.
    pub sessions: Vec<(SessionNo, u64)>,
    /// The sessions that begin in the block.
    pub opened: Vec<(SessionKey, SessionNo)>,
    /// Those of them that are forks.
    pub forks: Vec<ForkRow>,
    /// The payloads of the events.
    pub payloads: Packs,
    /// The lossy commitments among the events.
    pub losses: Vec<Loss>,
    /// Payloads that go in the same transaction.
    pub removal: Option<Removal>,
    /// Filters of the identifiers of removed payloads, by the seq of these.
    pub residues: Vec<(u64, Vec<u8>)>,
    /// States to keep as shortcuts, each as of a version committed before or with this commit.
    pub snapshots: Vec<Snapshot>,
}

impl Store {
    /// Makes a commit durable. Panics if it does not begin right behind the head.
    ///
    /// [`StoreError::StaleRemoval`] says that nothing was written. After any other error it may or may
    /// not have happened, every later call fails, and the process should end; the next open finds out.
    pub fn append(&self, commit: Commit) -> Result<(), StoreError> {
        assert!(
            commit.first == self.head().seq + 1 && commit.first <= commit.last,
            "events {} to {} behind {}: a block never takes another one's place",
            commit.first,
            commit.last,
            self.head().seq
        );
        let head = Head { seq: commit.last, block: block_hash(&commit.block), at: commit.at };
        let (forks, freed) =
            (!commit.forks.is_empty(), commit.removal.as_ref().map(Removal::freed));
        if commit.is_logged(self.log().largest()) {
            self.append_logged(commit)?;
        } else {
            self.append_at_once(&commit)?;
        }
        if forks {
            self.forked.store(true, Ordering::Relaxed);
        }
        if let Some(freed) = freed {
            self.freed.fetch_add(freed, Ordering::Relaxed);
            step_taken("removal-committed");
        }
        *self.head.lock().unwrap_or_else(PoisonError::into_inner) = head;
        Ok(())
    }

    fn append_logged(&self, commit: Commit) -> Result<(), StoreError> {
        let mut log = self.log();
        loop {
            if !log.named {
                self.name(&mut log)?;
            }
            if log.prepare(&commit.record())? {
                break;
            }
            // Nobody has synced the database in time: whoever appends does it, or waits for who does.
            if !log.flushing {
                drop(log);
                self.flush()?;
                log = self.log();
            } else {
                log = self.flushed.wait(log).unwrap_or_else(PoisonError::into_inner);
            }
        }
        if let Err(gone) = log.looked_after() {
            drop(log);
            return self.go_on_without_it(gone);
        }
        log.write().inspect_err(|error| self.mark_failed(error))?;
        let last = commit.last;
        if log.flushing {
            log.waiting.push_back(commit);
        } else {
            // It stands in the log: a second one in its place must never.
            self.put(&commit, Durability::None).map_err(|error| log.fail(&error.cause()))?;
            self.db.apply(last);
        }
        self.db.acknowledge(last);
        Ok(())
    }

    /// From now on the database needs this log, and says which.
    fn name(&self, log: &mut Log) -> Result<(), StoreError> {
        let id = log.begin()?;
        let named = self.write(|write| {
            write.open_table(META)?.insert(META_LOG, id.as_slice())?;
            Ok(())
        });
        named.map_err(|error| log.fail(&error.cause()))?;
        log.named = true;
        Ok(())
    }

    /// The log was taken away, and with it what the database has not kept yet: it keeps it now, and
    /// needs no log at the next open. Gives why nothing else happens any more.
    fn go_on_without_it(&self, gone: StoreError) -> Result<(), StoreError> {
        tracing::error!(error = %gone, "the log of the journal in use is gone");
        let kept = self.checkpoint();
        self.log().fail(&gone.to_string());
        kept.and(Err(gone))
    }

    fn append_at_once(&self, commit: &Commit) -> Result<(), StoreError> {
        let mut log = self.settled();
        log.usable()?;
        self.put(commit, Durability::Immediate).inspect_err(|error| {
            if !matches!(error, StoreError::StaleRemoval { .. }) {
                log.fail(&error.cause());
            }
        })?;
        let mark = log.mark();
        log.kept(mark);
        self.db.apply(commit.last);
        self.db.acknowledge(commit.last);
        Ok(())
    }

    /// The log, while nobody syncs the database: it has everything that stands in the log.
    fn settled(&self) -> MutexGuard<'_, Log> {
        let mut log = self.log();
        while log.flushing {
            log = self.flushed.wait(log).unwrap_or_else(PoisonError::into_inner);
        }
        log
    }

    fn put(&self, commit: &Commit, durability: Durability) -> Result<(), StoreError> {
        self.write_with(durability, |write| put(write, commit))
    }

    /// Stores sessions' states as shortcuts.
    pub fn write_snapshots(&self, snapshots: &[Snapshot]) -> Result<(), StoreError> {
        // Behind those of commits that wait for a sync.
        let _log = self.settled();
        self.write(|write| snapshots::put(write, snapshots))
    }

    /// Whether it is time for [`Store::flush`]; sooner if nobody waits for a commit now.
    pub fn is_flush_due(&self, idle: bool) -> bool {
        let log = self.log();
        log.is_due(idle) && !log.flushing
    }

    /// Syncs the database: then its file has, without the log, all that was appended before. Commits go on
    /// meanwhile; whoever begins to read waits for those to be put in behind it. Takes some
    /// milliseconds for each MiB of the log. After an error every later call fails.
    pub fn flush(&self) -> Result<(), StoreError> {
        let mut log = self.settled();
        log.usable()?;
        log.flushing = true;
        let mark = log.mark();
        drop(log);
        let why = Some("the thread that syncs the database has ended".into());
        let mut flushing = Flushing { store: self, why };
        let synced = self.sync_up_to(mark);
        flushing.why = synced.as_ref().err().map(StoreError::cause);
        synced
    }

    fn sync_up_to(&self, mark: u64) -> Result<(), StoreError> {
        self.write(|_| Ok(()))?;
        let mut log = self.log();
        log.kept(mark);
        // Whoever waits for room has it now.
        self.flushed.notify_all();
        while let Some(commit) = log.waiting.pop_front() {
            drop(log);
            self.put(&commit, Durability::None)?;
            self.db.apply(commit.last);
            log = self.log();
        }
        // While it is held: another sync may begin as soon as it is not.
        log.flushing = false;
        Ok(())
    }

    /// Leaves the journal as a clean stop does: the database has everything, and no number of a key is
    /// reserved any more.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        let mut log = self.settled();
        log.usable()?;
        self.give_back()?;
        let mark = log.mark();
        log.kept(mark);
        log.named = false;
        Ok(())
    }

    /// One durable transaction. It makes durable what stands in the log, too; but only who holds the log
    /// can know that nothing comes to it meanwhile.
    pub(crate) fn write(
        &self,
        body: impl FnOnce(&WriteTransaction) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.write_with(Durability::Immediate, body)
    }

    fn write_with(
        &self,
        durability: Durability,
        body: impl FnOnce(&WriteTransaction) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let result = defensively(|| {
            let mut write = self.db.begin_write()?;
            match durability {
                // It writes down which pages are free: the next open need not walk the file for that.
                Durability::Immediate => write.set_quick_repair(true),
                _ => write
                    .set_durability(durability)
                    .map_err(|error| StoreError::Database(redb::Error::from(error)))?,
            }
            body(&write)?;
            write.commit().map_err(|error| StoreError::Indeterminate(error.to_string()))
        });
        result.inspect_err(|error| self.mark_failed(error))
    }

    /// Has the next open look at everything, where this failure gives reason to.
    fn mark_failed(&self, error: &StoreError) {
        let telling = matches!(
            error,
            StoreError::Database(_) | StoreError::Damaged(_) | StoreError::Indeterminate(_)
        );
        if let Some(folder) = self.folder.as_ref().filter(|_| telling) {
            folder.mark_failed(&error.to_string());
        }
    }
}

/// The database is being synced. If that ends otherwise than well, nobody is to wait for it.
struct Flushing<'a> {
    store: &'a Store,
    /// Why it has failed, unless it has not.
    why: Option<String>,
}

impl Drop for Flushing<'_> {
    fn drop(&mut self) {
        if let Some(why) = &self.why {
            let mut log = self.store.log();
            log.fail(why);
            self.store.db.fail(why);
            log.flushing = false;
        }
        self.store.flushed.notify_all();
    }
}

/// Writes all of a commit.
pub(crate) fn put(write: &WriteTransaction, commit: &Commit) -> Result<(), StoreError> {
    if let Some(removal) = &commit.removal {
        removal.apply(write)?;
    }
    write.open_table(EVENTS)?.insert(commit.first, commit.block.as_slice())?;
    packing::put(write, &commit.payloads)?;
    ledger::put(write, &commit.losses)?;
    forks::put(write, &commit.forks)?;
    if !commit.residues.is_empty() {
        let mut residues = write.open_table(RESIDUES)?;
        for (seq, residue) in &commit.residues {
            residues.insert(seq, residue.as_slice())?;
        }
    }
    let mut index = write.open_table(SESSION_BLOCKS)?;
    for (session, version) in &commit.sessions {
        index.insert((session.0, *version), commit.first)?;
    }
    if !commit.opened.is_empty() {
        let mut names = write.open_table(SESSIONS)?;
        for (key, number) in &commit.opened {
            names.insert(key.to_string().as_str(), number.0)?;
        }
    }
    snapshots::put(write, &commit.snapshots)
}

impl Default for Head {
    fn default() -> Self {
        Self { seq: 0, block: Digest::default(), at: Timestamp(0) }
    }
}
