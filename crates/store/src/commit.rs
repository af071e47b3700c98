//! Writing: one commit, one transaction.

use std::sync::{Arc, PoisonError};

use lacuna_codec::{PackBuilder, block_hash, encode_snapshot};
use lacuna_core::{Digest, SessionKey, SessionNo, SessionState, Timestamp};
use redb::WriteTransaction;

use crate::StoreError;
use crate::open::{Head, Store, defensively};
use crate::tables::{CHUNKS, EVENTS, PAYLOADS, SESSION_BLOCKS, SESSIONS, SNAPSHOTS};

/// Payloads up to this size share packs; larger ones are cut into chunks of it.
const CHUNK: usize = (256 << 10) - (1 << 10);

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
    /// The payloads, by the seq of the event that records them, ascending.
    pub payloads: Vec<(u64, Arc<[u8]>)>,
    /// States to keep as shortcuts, each as of a version committed before or with this commit.
    pub snapshots: Vec<Snapshot>,
}

/// A session's state, encoded to be stored.
#[derive(Debug)]
pub struct Snapshot {
    session: SessionNo,
    version: u64,
    stored: Vec<u8>,
}

impl Snapshot {
    /// Encodes a state.
    pub fn of(state: &SessionState) -> Result<Self, StoreError> {
        let stored = encode_snapshot(state)?;
        Ok(Self { session: state.number, version: state.version, stored })
    }

    /// Its size, in bytes.
    #[expect(clippy::len_without_is_empty, reason = "a header stands in the smallest of them")]
    pub fn len(&self) -> usize {
        self.stored.len()
    }
}

impl Store {
    /// Makes a commit durable. Panics if it does not begin right behind the head. On an error it may or may not have happened, every later call fails,
    /// and the process should end; the next open finds out.
    pub fn append(&self, commit: &Commit) -> Result<(), StoreError> {
        assert!(
            commit.first == self.head().seq + 1 && commit.first <= commit.last,
            "events {} to {} behind {}: a block never takes another one's place",
            commit.first,
            commit.last,
            self.head().seq
        );
        let result = self.write(|write| {
            write.open_table(EVENTS)?.insert(commit.first, commit.block.as_slice())?;
            write_payloads(write, &commit.payloads)?;
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
            put_snapshots(write, &commit.snapshots)
        });
        result?;
        let head = Head { seq: commit.last, block: block_hash(&commit.block), at: commit.at };
        *self.head.lock().unwrap_or_else(PoisonError::into_inner) = head;
        Ok(())
    }

    /// Stores sessions' states as shortcuts, replacing older ones.
    pub fn write_snapshots(&self, snapshots: &[Snapshot]) -> Result<(), StoreError> {
        self.write(|write| put_snapshots(write, snapshots))
    }

    /// Makes a commit after which the next open is fast, whatever happens to the process.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        defensively(|| {
            let mut write = self.db.begin_write()?;
            write.set_quick_repair(true);
            write.commit().map_err(|error| self.indeterminate(&error))
        })
    }

    fn write(
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

    fn indeterminate(&self, error: &redb::CommitError) -> StoreError {
        if let Some(folder) = &self.folder {
            folder.mark_failed(&error.to_string());
        }
        StoreError::Indeterminate(error.to_string())
    }
}

fn put_snapshots(write: &WriteTransaction, snapshots: &[Snapshot]) -> Result<(), StoreError> {
    if snapshots.is_empty() {
        return Ok(());
    }
    let mut table = write.open_table(SNAPSHOTS)?;
    for Snapshot { session, version, stored } in snapshots {
        table.retain_in((session.0, 0)..=(session.0, u64::MAX), |_, _| false)?;
        table.insert((session.0, *version), stored.as_slice())?;
    }
    Ok(())
}

fn write_payloads(
    write: &WriteTransaction,
    payloads: &[(u64, Arc<[u8]>)],
) -> Result<(), StoreError> {
    if payloads.is_empty() {
        return Ok(());
    }
    let mut packs = write.open_table(PAYLOADS)?;
    let mut pack = PackBuilder::default();
    for (seq, payload) in payloads {
        if payload.len() > CHUNK {
            write_chunks(write, *seq, payload)?;
            continue;
        }
        if pack.is_full_for(payload.len()) {
            let (base, stored) = std::mem::take(&mut pack).finish();
            packs.insert(base, stored.as_slice())?;
        }
        pack.push(*seq, payload);
    }
    if !pack.is_empty() {
        let (base, stored) = pack.finish();
        packs.insert(base, stored.as_slice())?;
    }
    Ok(())
}

fn write_chunks(write: &WriteTransaction, seq: u64, payload: &[u8]) -> Result<(), StoreError> {
    let mut chunks = write.open_table(CHUNKS)?;
    for (part, chunk) in (0_u32..).zip(payload.chunks(CHUNK)) {
        let mut pack = PackBuilder::default();
        pack.push(seq, chunk);
        chunks.insert((seq, part), pack.finish().1.as_slice())?;
    }
    Ok(())
}

impl Default for Head {
    fn default() -> Self {
        Self { seq: 0, block: Digest::default(), at: Timestamp(0) }
    }
}
