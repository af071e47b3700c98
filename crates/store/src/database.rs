//! The database behind the store: transactions, and what needs it alone.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError, RwLock};
use std::time::Duration;

use redb::{
    CompactionError, Database, DatabaseError, ReadTransaction, ReadableDatabase,
    ReadableTableMetadata, TableStats, WriteTransaction,
};

use crate::StoreError;
use crate::open::{Store, defensively};
use crate::tables::{CHUNKS, EVENTS, FORKS, LEDGER, PAYLOADS, SESSION_BLOCKS, SESSIONS, SNAPSHOTS};

/// How often the database is asked for alone, and how long to wait in between.
const ATTEMPTS: usize = 50;
const WAIT: Duration = Duration::from_millis(20);
/// A larger file is not compacted while others wait: it takes about a second for each GiB.
const MOST: u64 = 4 << 30;

/// The database. Closing it writes, which can panic if the file is damaged: caught here.
#[derive(Debug)]
pub(crate) struct Guarded {
    db: RwLock<Option<Database>>,
    /// The seq up to which events are acknowledged, and that up to which they are in the database: it
    /// lags behind while it is synced.
    acknowledged: AtomicU64,
    applied: AtomicU64,
    failed: Mutex<Option<String>>,
    moved: Condvar,
}

impl Guarded {
    pub(crate) fn new(db: Database) -> Self {
        Self {
            db: RwLock::new(Some(db)),
            acknowledged: AtomicU64::new(0),
            applied: AtomicU64::new(0),
            failed: Mutex::new(None),
            moved: Condvar::new(),
        }
    }

    /// Events up to this seq are acknowledged: whoever begins to read from now on sees them.
    pub(crate) fn acknowledge(&self, seq: u64) {
        self.acknowledged.store(seq, Ordering::Release);
    }

    /// Events up to this seq are in the database.
    pub(crate) fn apply(&self, seq: u64) {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        self.applied.store(seq, Ordering::Release);
        drop(failed);
        self.moved.notify_all();
    }

    /// What is acknowledged will not come into the database any more: nobody is to wait for it.
    pub(crate) fn fail(&self, why: &str) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.get_or_insert_with(|| why.to_owned());
        drop(failed);
        self.moved.notify_all();
    }

    /// Begins to read what is acknowledged; waits until it is in the database.
    pub(crate) fn begin_read(&self) -> Result<ReadTransaction, StoreError> {
        let seq = self.acknowledged.load(Ordering::Acquire);
        if self.applied() < seq {
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            while self.applied() < seq {
                if let Some(why) = &*failed {
                    return Err(StoreError::Indeterminate(why.clone()));
                }
                failed = self.moved.wait(failed).unwrap_or_else(PoisonError::into_inner);
            }
        }
        self.begin_read_applied()
    }

    /// Begins to read what is in the database already: at least everything up to [`Guarded::applied`].
    pub(crate) fn begin_read_applied(&self) -> Result<ReadTransaction, StoreError> {
        self.with(|db| Ok(db.begin_read()?))
    }

    /// The seq up to which events are in the database.
    pub(crate) fn applied(&self) -> u64 {
        self.applied.load(Ordering::Acquire)
    }

    /// Begins to write. Waits for another writer to end.
    pub(crate) fn begin_write(&self) -> Result<WriteTransaction, StoreError> {
        self.with(|db| Ok(db.begin_write()?))
    }

    fn with<T>(
        &self,
        work: impl FnOnce(&Database) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let db = self.db.read().unwrap_or_else(PoisonError::into_inner);
        work(db.as_ref().expect("it is taken when closing only"))
    }

    /// Moves pages to the front of the file and gives the rest back; none if somebody reads or writes just
    /// now. Nobody begins to until it is done.
    pub(crate) fn compact(&self) -> Result<Option<bool>, StoreError> {
        let Ok(mut db) = self.db.try_write() else { return Ok(None) };
        match db.as_mut().expect("it is taken when closing only").compact() {
            Ok(compacted) => Ok(Some(compacted)),
            Err(CompactionError::TransactionInProgress) => Ok(None),
            Err(CompactionError::Storage(error)) => Err(error.into()),
            Err(error) => Err(StoreError::Database(error.into())),
        }
    }

    pub(crate) fn close(self) -> Result<(), StoreError> {
        let db = self.db.write().unwrap_or_else(PoisonError::into_inner).take();
        let db = db.expect("it is taken here only");
        defensively(|| {
            db.close().map_err(|error| match error {
                DatabaseError::Storage(error) => error.into(),
                other => StoreError::Database(other.into()),
            })
        })
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if let Some(db) = self.db.get_mut().unwrap_or_else(PoisonError::into_inner).take()
            && let Err(error) = defensively(|| {
                drop(db);
                Ok(())
            })
        {
            tracing::error!(%error, "the journal could not be closed");
        }
    }
}

impl Store {
    /// Gives back the room of what was removed, if a sixth of the file or more is free. Looking reads the file's
    /// tables; giving back keeps readers and the writer waiting, about a second for each GiB of the file.
    /// A file of more than 4 GiB stays as it is, and its room is used again by what comes. Says whether
    /// it was done.
    pub fn compact_if_worth(&self) -> Result<bool, StoreError> {
        let Some(folder) = &self.folder else { return Ok(false) };
        let freed = self.freed.swap(0, Ordering::Relaxed);
        let length = folder.journal().metadata().map_or(0, |meta| meta.len());
        if freed == 0 || length > MOST || self.used()?.saturating_mul(6) / 5 > length {
            return Ok(false);
        }
        for _ in 0..ATTEMPTS {
            if let Some(compacted) = defensively(|| self.db.compact())? {
                // It does not write down which pages are free.
                self.flush()?;
                return Ok(compacted);
            }
            std::thread::sleep(WAIT);
        }
        self.freed.fetch_add(freed, Ordering::Relaxed);
        tracing::info!("the journal is too busy to be compacted; the next run tries again");
        Ok(false)
    }

    /// Bytes of pages in use.
    fn used(&self) -> Result<u64, StoreError> {
        let of = |stats: TableStats| {
            stats.stored_bytes() + stats.metadata_bytes() + stats.fragmented_bytes()
        };
        defensively(|| {
            let read = self.db.begin_read()?;
            Ok(of(read.open_table(EVENTS)?.stats()?)
                + of(read.open_table(PAYLOADS)?.stats()?)
                + of(read.open_table(CHUNKS)?.stats()?)
                + of(read.open_table(SNAPSHOTS)?.stats()?)
                + of(read.open_table(SESSION_BLOCKS)?.stats()?)
                + of(read.open_table(SESSIONS)?.stats()?)
                + of(read.open_table(LEDGER)?.stats()?)
                + of(read.open_table(FORKS)?.stats()?))
        })
    }
}
