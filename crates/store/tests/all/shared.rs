//! A storage backend in memory that outlives the store which has it open, as a disk does.

use std::io;
use std::sync::{Arc, Condvar, Mutex};

use redb::StorageBackend;

const PAGE: usize = 4_096;

/// One file of a disk: that of the database, or its log.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shared {
    disk: Arc<Mutex<Disk>>,
    /// Told when syncs of the database may go on, and when one begins to wait.
    turned: Arc<Condvar>,
    file: usize,
}

#[derive(Debug, Clone, Default)]
struct Disk {
    files: [File; 2],
    syncs: u64,
    /// Syncs of the database wait, and how many do.
    held: bool,
    waiting: u64,
    /// The sync that fails, and with it every later one.
    fail_at: Option<u64>,
    failed: bool,
}

#[derive(Debug, Clone, Default)]
struct File {
    now: Vec<u8>,
    /// What stood there at the last sync.
    synced: Vec<u8>,
}

impl Shared {
    /// The log on the same disk.
    pub(crate) fn log(&self) -> Self {
        Self { file: 1, ..self.clone() }
    }

    /// What is stored now, in both files.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let disk = self.disk.lock().unwrap();
        disk.files.iter().flat_map(|file| file.now.clone()).collect()
    }

    /// Another disk with the same on it.
    pub(crate) fn copy(&self) -> Self {
        let disk = self.disk.lock().unwrap().clone();
        Self::holding(Disk { held: false, waiting: 0, ..disk })
    }

    /// How often it was asked to sync either file.
    pub(crate) fn syncs(&self) -> u64 {
        self.disk.lock().unwrap().syncs
    }

    /// Takes the power away when it is asked for this sync, counted from the first ever.
    pub(crate) fn fail_at(&self, sync: u64) {
        self.disk.lock().unwrap().fail_at = Some(sync);
    }

    /// Whether the power was taken away.
    pub(crate) fn failed(&self) -> bool {
        self.disk.lock().unwrap().failed
    }

    /// The disk as a power cut may leave it: what stood there at the last sync and, if `pages`, what
    /// was written behind it as well, but for what would make it count: the header of the database, and
    /// the first page of a record in the log.
    pub(crate) fn after_the_cut(&self, pages: bool) -> Self {
        let disk = self.disk.lock().unwrap();
        let files = [0, 1].map(|which| {
            let File { now, synced } = &disk.files[which];
            let mut left = synced.clone();
            if pages {
                left.clone_from(now);
                // The first page that was written; of the database the header, which is the first of all.
                let page = |bytes: &[u8], at: usize| bytes.get(at..at + PAGE).map(<[u8]>::to_vec);
                let first =
                    (0..now.len()).step_by(PAGE).find(|at| page(now, *at) != page(synced, *at));
                if let Some(at) = if which == 0 { Some(0) } else { first } {
                    left[at..at + PAGE].copy_from_slice(&page(synced, at).unwrap_or(vec![0; PAGE]));
                }
            }
            File { now: left.clone(), synced: left }
        });
        Self::holding(Disk { files, ..Disk::default() })
    }

    fn holding(disk: Disk) -> Self {
        Self { disk: Arc::new(Mutex::new(disk)), ..Self::default() }
    }

    /// Changes what is stored in this file.
    pub(crate) fn edit<T>(&self, edit: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let file = &mut self.disk.lock().unwrap().files[self.file];
        let result = edit(&mut file.now);
        file.synced.clone_from(&file.now);
        result
    }

    /// Holds up syncs of the database, or lets them go on.
    pub(crate) fn hold(&self, held: bool) {
        self.disk.lock().unwrap().held = held;
        self.turned.notify_all();
    }

    /// Waits until a sync of the database is held up.
    pub(crate) fn until_one_waits(&self) {
        let disk = self.disk.lock().unwrap();
        drop(self.turned.wait_while(disk, |disk| disk.waiting == 0).unwrap());
    }
}

impl StorageBackend for Shared {
    fn len(&self) -> io::Result<u64> {
        Ok(self.disk.lock().unwrap().files[self.file].now.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let disk = self.disk.lock().unwrap();
        let from = disk.files[self.file].now.get(offset as usize..).unwrap_or_default();
        let from = from.get(..out.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(from);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.disk.lock().unwrap().files[self.file].now.resize(len as usize, 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut disk = self.disk.lock().unwrap();
        if self.file == 0 && disk.held {
            disk.waiting += 1;
            self.turned.notify_all();
            disk = self.turned.wait_while(disk, |disk| disk.held).unwrap();
            disk.waiting -= 1;
        }
        let disk = &mut *disk;
        disk.syncs += 1;
        if disk.fail_at.is_some_and(|at| at <= disk.syncs) {
            disk.failed = true;
            return Err(io::Error::other("the power is off"));
        }
        let File { now, synced } = &mut disk.files[self.file];
        synced.clone_from(now);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let disk = &mut *self.disk.lock().unwrap();
        let at = offset as usize;
        disk.files[self.file].now[at..at + data.len()].copy_from_slice(data);
        Ok(())
    }
}
