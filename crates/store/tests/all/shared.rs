//! A storage backend in memory that outlives the store which has it open, as a disk does.

use std::io;
use std::sync::{Arc, Mutex};

use redb::StorageBackend;

/// The part of a database's file that says which pages count.
const HEADER: usize = 4_096;

#[derive(Debug, Clone, Default)]
pub(crate) struct Shared {
    bytes: Arc<Mutex<Disk>>,
}

#[derive(Debug, Clone, Default)]
struct Disk {
    now: Vec<u8>,
    /// What stood there at the last sync.
    synced: Vec<u8>,
    syncs: u64,
    /// The sync that fails, and with it every later one.
    fail_at: Option<u64>,
    failed: bool,
}

impl Shared {
    /// What is stored now.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.bytes.lock().unwrap().now.clone()
    }

    /// Another disk with the same on it.
    pub(crate) fn copy(&self) -> Self {
        let disk = self.bytes.lock().unwrap().clone();
        Self { bytes: Arc::new(Mutex::new(disk)) }
    }

    /// How often it was asked to sync.
    pub(crate) fn syncs(&self) -> u64 {
        self.bytes.lock().unwrap().syncs
    }

    /// Takes the power away when it is asked for this sync, counted from the first ever.
    pub(crate) fn fail_at(&self, sync: u64) {
        self.bytes.lock().unwrap().fail_at = Some(sync);
    }

    /// Whether the power was taken away.
    pub(crate) fn failed(&self) -> bool {
        self.bytes.lock().unwrap().failed
    }

    /// The disk as a power cut may leave it: what stood there at the last sync and, if `pages`, what
    /// was written behind it as well, but for the header that would make it count.
    pub(crate) fn after_the_cut(&self, pages: bool) -> Self {
        let disk = self.bytes.lock().unwrap();
        let mut now = disk.synced.clone();
        if pages {
            now.clone_from(&disk.now);
            now[..HEADER].copy_from_slice(&disk.synced[..HEADER]);
        }
        let synced = now.clone();
        Self { bytes: Arc::new(Mutex::new(Disk { now, synced, ..Disk::default() })) }
    }
}

impl StorageBackend for Shared {
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes.lock().unwrap().now.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let disk = self.bytes.lock().unwrap();
        let from = disk.now.get(offset as usize..).unwrap_or_default();
        let from = from.get(..out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(from);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.bytes.lock().unwrap().now.resize(len as usize, 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let disk = &mut *self.bytes.lock().unwrap();
        disk.syncs += 1;
        if disk.fail_at.is_some_and(|at| at <= disk.syncs) {
            disk.failed = true;
            return Err(io::Error::other("the power is off"));
        }
        disk.synced.clone_from(&disk.now);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let disk = &mut *self.bytes.lock().unwrap();
        let at = offset as usize;
        disk.now[at..at + data.len()].copy_from_slice(data);
        Ok(())
    }
}
