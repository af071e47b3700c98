//! Writing: one commit, one transaction.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use lacuna_codec::block_hash;
use lacuna_core::{Digest, SessionKey, SessionNo, Timestamp};
use redb::WriteTransaction;

use crate::forks::ForkRow;
use crate::ledger::Loss;
use crate::open::{Head, Store, defensively};
use crate::packing::{self, Packs};
use crate::removal::Removal;
use crate::snapshots::{self, Snapshot};
use crate::steps::step_taken;
use crate::tables::{EVENTS, RESIDUES, SESSION_BLOCKS, SESSIONS};
use crate::{StoreError, forks, ledger};

/// What one transaction writes.
#[derive(Debug, Default)]
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
    pub fn append(&self, commit: &Commit) -> Result<(), StoreError> {
        assert!(
            commit.first == self.head().seq + 1 && commit.first <= commit.last,
            "events {} to {} behind {}: a block never takes another one's place",
            commit.first,
            commit.last,
            self.head().seq
        );
        self.write(|write| {
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
        })?;
        if !commit.forks.is_empty() {
            self.forked.store(true, Ordering::Relaxed);
        }
        if let Some(removal) = &commit.removal {
            self.freed.fetch_add(removal.freed(), Ordering::Relaxed);
            step_taken("removal-committed");
        }
        let head = Head { seq: commit.last, block: block_hash(&commit.block), at: commit.at };
        *self.head.lock().unwrap_or_else(PoisonError::into_inner) = head;
        Ok(())
    }

    /// Stores sessions' states as shortcuts.
    pub fn write_snapshots(&self, snapshots: &[Snapshot]) -> Result<(), StoreError> {
        self.write(|write| snapshots::put(write, snapshots))
    }

    /// Makes a commit after which the next open is fast, whatever happens to the process.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        self.give_back(|write| write.set_quick_repair(true))
    }

    pub(crate) fn write(
        &self,
        body: impl FnOnce(&WriteTransaction) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let result = defensively(|| {
            let write = self.db.begin_write()?;
            body(&write)?;
            write.commit().map_err(|error| self.indeterminate(&error))
        });
        if let Some(folder) = &self.folder
            && let Err(error @ (StoreError::Database(_) | StoreError::Damaged(_))) = &result
        {
            folder.mark_failed(&error.to_string());
        }
        result
    }

    pub(crate) fn indeterminate(&self, error: &redb::CommitError) -> StoreError {
        if let Some(folder) = &self.folder {
            folder.mark_failed(&error.to_string());
        }
        StoreError::Indeterminate(error.to_string())
    }
}

impl Default for Head {
    fn default() -> Self {
        Self { seq: 0, block: Digest::default(), at: Timestamp(0) }
    }
}
