//! Opening and closing the journal.

use std::cell::Cell;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;

use lacuna_codec::{Block, block_hash};
use lacuna_core::{Digest, Timestamp};
use redb::{Builder, Database, DatabaseError, ReadableDatabase, ReadableTable, StorageBackend};

use crate::StoreError;
use crate::folder::Folder;
use crate::tables::{
    CHUNKS, EVENTS, FORMAT, META, META_FORMAT, META_JOURNAL, PAYLOADS, SESSION_BLOCKS, SESSIONS,
    SNAPSHOTS,
};

/// How to open a journal.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Bytes of database pages kept in memory.
    pub cache_bytes: usize,
    /// Whether a missing journal is made.
    pub create: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { cache_bytes: 32 << 20, create: true }
    }
}

/// Where the journal ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The seq of the last event; 0 in an empty journal.
    pub seq: u64,
    /// The hash of the last block; zero in an empty journal.
    pub block: Digest,
    /// The record time of the last event.
    pub at: Timestamp,
}

/// An open journal.
#[derive(Debug)]
pub struct Store {
    pub(crate) db: Guarded,
    pub(crate) folder: Option<Folder>,
    pub(crate) head: Mutex<Head>,
    journal: String,
}

/// The database. Closing it writes, which can panic if the file is damaged: caught here.
#[derive(Debug)]
pub(crate) struct Guarded(Option<Database>);

impl Guarded {
    fn close(mut self) -> Result<(), StoreError> {
        let db = self.0.take().expect("it is taken here only");
        defensively(|| {
            db.close().map_err(|error| match error {
                DatabaseError::Storage(error) => error.into(),
                other => StoreError::Database(other.into()),
            })
        })
    }
}

impl Deref for Guarded {
    type Target = Database;
    fn deref(&self) -> &Database {
        self.0.as_ref().expect("it is taken when closing only")
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if let Some(db) = self.0.take()
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
    /// Opens the journal in a folder. After an I/O failure in the last run every page is checked.
    pub fn open(path: &Path, options: &StoreOptions) -> Result<Self, StoreError> {
        let folder = if options.create { Folder::create(path)? } else { Folder::existing(path)? };
        let suspicious = folder.failed_before() && folder.journal().exists();
        if suspicious {
            tracing::warn!("the last run met an I/O failure: every page of the journal is checked");
            folder.drop_cached_pages()?;
        }
        let mut builder = Builder::new();
        builder.set_cache_size(options.cache_bytes);
        builder.set_check_integrity_on_open(suspicious);
        builder.set_repair_callback(|session| {
            tracing::info!(progress = session.progress(), "repairing after an unclean stop");
        });
        let file = folder.journal();
        let store = defensively(|| {
            let db = builder.create(&file).map_err(|error| refused(error, path))?;
            Self::start(db, Some(folder.clone()))
        })?;
        folder.sync().map_err(|source| StoreError::Folder { folder: path.to_owned(), source })?;
        if suspicious {
            folder.clear_failed()?;
        }
        Ok(store)
    }

    /// Opens a journal on a storage backend: memory, or one that injects faults.
    pub fn open_backend(
        backend: impl StorageBackend,
        options: &StoreOptions,
    ) -> Result<Self, StoreError> {
        let mut builder = Builder::new();
        builder.set_cache_size(options.cache_bytes);
        defensively(|| {
            let db = builder
                .create_with_backend(backend)
                .map_err(|error| refused(error, Path::new("(backend)")))?;
            Self::start(db, None)
        })
    }

    fn start(db: Database, folder: Option<Folder>) -> Result<Self, StoreError> {
        let db = Guarded(Some(db));
        let fresh = {
            let read = db.begin_read()?;
            read.list_tables()?.next().is_none()
        };
        if fresh {
            initialise(&db)?;
        }
        let read = db.begin_read()?;
        let meta = read.open_table(META)?;
        let format = meta
            .get(META_FORMAT)?
            .and_then(|value| value.value().try_into().ok().map(u32::from_le_bytes))
            .ok_or_else(|| StoreError::Damaged("it names no format".into()))?;
        if format > FORMAT {
            return Err(StoreError::newer("journal", format, FORMAT));
        }
        let journal = meta
            .get(META_JOURNAL)?
            .and_then(|value| String::from_utf8(value.value().to_vec()).ok())
            .ok_or_else(|| StoreError::Damaged("it names no journal id".into()))?;
        let head = {
            let events = read.open_table(EVENTS)?;
            match events.last()? {
                None => Head { seq: 0, block: Digest::default(), at: Timestamp(0) },
                Some((_, value)) => {
                    let block = Block::open(value.value())?;
                    let last = block
                        .events()
                        .last()
                        .ok_or_else(|| StoreError::Damaged("its last block is empty".into()))??;
                    Head { seq: last.seq, block: block_hash(value.value()), at: last.at }
                }
            }
        };
        drop(meta);
        drop(read);
        Ok(Self { db, folder, head: Mutex::new(head), journal })
    }

    /// The journal's id: 32 hex digits, given when it was made.
    pub fn journal(&self) -> &str {
        &self.journal
    }

    /// Where the journal ends, as committed.
    pub fn head(&self) -> Head {
        *self.head.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Closes the journal. The next open needs no repair.
    pub fn close(self) -> Result<(), StoreError> {
        self.db.close()
    }
}

fn initialise(db: &Database) -> Result<(), StoreError> {
    let mut id = [0_u8; 16];
    rustix::rand::getrandom(&mut id, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| StoreError::Io { doing: "making an id".into(), source: error.into() })?;
    let journal: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let write = db.begin_write()?;
    {
        let mut meta = write.open_table(META)?;
        meta.insert(META_FORMAT, FORMAT.to_le_bytes().as_slice())?;
        meta.insert(META_JOURNAL, journal.as_bytes())?;
        write.open_table(EVENTS)?;
        write.open_table(PAYLOADS)?;
        write.open_table(CHUNKS)?;
        write.open_table(SESSIONS)?;
        write.open_table(SESSION_BLOCKS)?;
        write.open_table(SNAPSHOTS)?;
    }
    write.commit().map_err(|error| StoreError::Indeterminate(error.to_string()))
}

/// A damaged file can make the database panic, whatever it is asked: that is damage to be reported,
/// not a crash of ours. Everything that reads or writes the file goes through here.
pub(crate) fn defensively<T>(
    work: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let before = GUARDING.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    GUARDING.set(before);
    result.unwrap_or_else(|panic| {
        let why = panic.downcast_ref::<String>().map(String::as_str);
        let why = why.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown");
        tracing::debug!(panic = why, "the database panicked");
        Err(StoreError::Damaged("the database cannot make sense of its file".into()))
    })
}

thread_local! {
    static GUARDING: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread, here and now, would be caught by the store and answered as
/// [`StoreError::Damaged`].
///
/// For a panic hook, which runs on the thread that panics, before anything is caught: it can stay
/// silent where this says true, as the error tells the caller, and report every other panic. The
/// store itself sets no hook; it leaves what the panic said in its log, at level debug.
pub fn guarding() -> bool {
    GUARDING.get()
}

fn refused(error: DatabaseError, path: &Path) -> StoreError {
    match error {
        DatabaseError::DatabaseAlreadyOpen => StoreError::InUse(path.to_owned()),
        DatabaseError::UpgradeRequired(version) => {
            StoreError::Damaged(format!("its file format {version} is not one this release reads"))
        }
        DatabaseError::Storage(redb::StorageError::Io(source))
            if source.kind() == std::io::ErrorKind::InvalidData =>
        {
            StoreError::Damaged(source.to_string())
        }
        DatabaseError::Storage(redb::StorageError::Io(source)) => {
            StoreError::Folder { folder: path.to_owned(), source }
        }
        DatabaseError::Storage(error) => error.into(),
        other => StoreError::Database(other.into()),
    }
}
