//! Giving out the numbers of keys, each for one pack and never again.
//!
//! A commit that is cut off leaves what it wrote in free pages of the file. Were its numbers given
//! again, those bytes could be read for as long as the new pack lives, whatever is removed. So numbers
//! are reserved before any is used, in a commit of their own, and those that an earlier run has
//! reserved and not kept are destroyed when the journal is opened.

use std::sync::{MutexGuard, PoisonError};

use lacuna_codec::PackHeader;
use redb::{ReadTransaction, ReadableTable, Table};

use crate::StoreError;
use crate::keys::Keys;
use crate::open::Store;
use crate::tables::{CHUNKS, META, META_LEAVES, META_LOG, META_REWRITTEN, PAYLOADS};

/// Numbers reserved at once. More are reserved less often; what is left of them when the process is
/// killed is destroyed at the next open, which costs one node of the cover whatever their number.
pub(crate) const RESERVE: u64 = 1 << 16;

/// Numbers that are reserved and not given yet.
#[derive(Debug)]
pub(crate) struct Leaves {
    next: u64,
    end: u64,
}

impl Leaves {
    /// None, before it is known which.
    pub(crate) fn none() -> Self {
        Self { next: 0, end: 0 }
    }

    /// Gives a number. They are given in ascending order.
    pub(crate) fn take(&mut self) -> u64 {
        assert!(self.next < self.end, "numbers are reserved before they are given");
        self.next += 1;
        self.next - 1
    }
}

impl Store {
    /// The numbers, with at least this many to give. While it is held nobody else gets any.
    pub(crate) fn leaves(&self, count: usize) -> Result<MutexGuard<'_, Leaves>, StoreError> {
        let mut leaves = self.leaves.lock().unwrap_or_else(PoisonError::into_inner);
        if leaves.end - leaves.next < count as u64 {
            let end = leaves.end.checked_add(RESERVE.max(count as u64));
            let end = end.ok_or_else(|| StoreError::Damaged("its keys are used up".into()))?;
            self.write(|write| put(&mut write.open_table(META)?, META_LEAVES, end))?;
            leaves.end = end;
        }
        Ok(leaves)
    }

    /// Writes that nothing is reserved any more, then nothing is left to destroy at the next open; and that
    /// no log is needed.
    pub(crate) fn give_back(&self) -> Result<(), StoreError> {
        // Before the transaction, as everywhere: whoever waits for the numbers may hold none.
        let mut leaves = self.leaves.lock().unwrap_or_else(PoisonError::into_inner);
        leaves.end = leaves.next;
        self.write(|write| {
            let mut meta = write.open_table(META)?;
            meta.remove(META_LOG)?;
            put(&mut meta, META_LEAVES, leaves.end)
        })
    }

    pub(crate) fn has_reserved(&self) -> bool {
        let leaves = self.leaves.lock().unwrap_or_else(PoisonError::into_inner);
        leaves.next < leaves.end
    }

    /// None yet, and from which on: behind everything that was ever reserved. Beside keys from which
    /// more was destroyed than this file knows of, as after an older copy was put back, behind that.
    pub(crate) fn first_leaves(&self) -> Result<Leaves, StoreError> {
        let reserved = number(&self.db.begin_read()?, META_LEAVES)?;
        let untouched = self.ring.keys.tree().untouched_from().unwrap_or(u64::MAX);
        let next = reserved.max(untouched);
        Ok(Leaves { next, end: next })
    }

    /// Destroys the keys of the numbers that were reserved by an earlier run and are in no pack.
    pub(crate) fn destroy_unused(&self) -> Result<(), StoreError> {
        let read = self.db.begin_read()?;
        let reserved = number(&read, META_LEAVES)?;
        let unused = match used_up_to(&read, &self.ring.keys) {
            Ok(used) => used.max(number(&read, META_REWRITTEN)?),
            Err(StoreError::Damaged(why)) => {
                tracing::warn!(
                    why,
                    "keys that a commit cut off may have used are kept: the last payloads are damaged"
                );
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        drop(read);
        if unused < reserved && self.ring.keys.tree().has_any(unused, reserved - 1) {
            self.ring.puncture(&[(unused, reserved - 1)], || Ok(()))?;
        }
        Ok(())
    }
}

/// The number behind the greatest that an ordinary commit has used and kept. They ascend with the
/// rows, so the last row that has one tells; what stands there is believed only if its key opens it,
/// as a lower number would destroy keys that are in use.
fn used_up_to(read: &ReadTransaction, keys: &Keys) -> Result<u64, StoreError> {
    let mut used = 0;
    let packs = read.open_table(PAYLOADS)?;
    for row in packs.iter()?.rev() {
        if let Some(leaf) = confirmed(row?.1.value(), keys)? {
            used = used.max(leaf + 1);
            break;
        }
    }
    let chunks = read.open_table(CHUNKS)?;
    for row in chunks.iter()?.rev() {
        if let Some(leaf) = confirmed(row?.1.value(), keys)? {
            used = used.max(leaf + 1);
            break;
        }
    }
    Ok(used)
}

/// The number of a pack's key; none if it is plain.
fn confirmed(stored: &[u8], keys: &Keys) -> Result<Option<u64>, StoreError> {
    let leaf = PackHeader::read(stored)?.leaf();
    if leaf.is_some() {
        keys.open_pack(stored)?;
    }
    Ok(leaf)
}

/// A number of `meta`; 0 where there is none.
pub(crate) fn number(read: &ReadTransaction, name: &str) -> Result<u64, StoreError> {
    let meta = read.open_table(META)?;
    let Some(value) = meta.get(name)? else { return Ok(0) };
    value
        .value()
        .try_into()
        .map(u64::from_le_bytes)
        .map_err(|_| StoreError::Damaged(format!("`{name}` of its table `meta` is no number")))
}

/// Sets a number of `meta`.
pub(crate) fn put(
    meta: &mut Table<'_, &'static str, &'static [u8]>,
    name: &'static str,
    number: u64,
) -> Result<(), StoreError> {
    meta.insert(name, number.to_le_bytes().as_slice())?;
    Ok(())
}
