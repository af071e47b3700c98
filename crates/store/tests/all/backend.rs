//! A storage backend that notes what the database asks of it, and can fail a sync.

use std::io;
use std::ops::Bound;
use std::sync::{Arc, Mutex};

use redb::{BackendError, StorageBackend};

/// What was asked of the backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    Write,
    SetLen,
    Sync,
}

/// The notes, shared between the backend and the test.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notes {
    asked: Arc<Mutex<Vec<Asked>>>,
    fail_syncs: Arc<Mutex<bool>>,
}

impl Notes {
    /// What was asked since the last call.
    pub(crate) fn take(&self) -> Vec<Asked> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    pub(crate) fn fail_syncs(&self) {
        *self.fail_syncs.lock().unwrap() = true;
    }

    fn note(&self, asked: Asked) {
        self.asked.lock().unwrap().push(asked);
    }
}

#[derive(Debug)]
pub(crate) struct Noting<B> {
    pub(crate) inner: B,
    pub(crate) notes: Notes,
}

impl<B: StorageBackend> StorageBackend for Noting<B> {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.notes.note(Asked::SetLen);
        self.inner.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.notes.note(Asked::Sync);
        if *self.notes.fail_syncs.lock().unwrap() {
            return Err(io::Error::other("the disk is on fire"));
        }
        self.inner.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.notes.note(Asked::Write);
        self.inner.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.inner.close()
    }

    // A wrapper that forgets these loses the file's lock, and with it the guard against a second
    // daemon.
    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.try_lock_range(start, end)
    }

    fn try_lock_shared_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> Result<bool, BackendError> {
        self.inner.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.query_lock_range(start, end)
    }
}
