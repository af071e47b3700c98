//! Opening and closing the journal.

use std::cell::Cell;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use lacuna_codec::PackHeader;
use lacuna_core::{Digest, Timestamp};
use redb::backends::FileBackend;
use redb::{Builder, DatabaseError, ReadTransaction, ReadableTable, StorageBackend};

use crate::database::Guarded;
use crate::folder::Folder;
use crate::keys::{ID, KeyRing, MemoryKeys, Place, random};
use crate::leaves::Leaves;
use crate::log::{Log, LogId};
use crate::packing::Target;
use crate::recovery::{head_of, recover};
use crate::tables::{
    CHUNKS, EVENTS, FORKS, FORMAT, FORMAT_NAMES_LOG, FORMAT_PLAIN, META, META_FORMAT, META_JOURNAL,
    META_LOG, PAYLOADS, PUNCTURES, SESSION_BLOCKS, SESSIONS, SNAPSHOTS,
};
use crate::{StoreError, forks, ledger, migrate};

/// The log's part of a large file, and its size in one larger still.
const LOG_SHARE: u64 = 512;
const LOG_MOST: u64 = 256 << 20;

/// How to open a journal.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Bytes of database pages kept in memory.
    pub cache_bytes: usize,
    /// Size of the log in front of the database: it is synced when half of that is written. Of a
    /// large file it is at least a 512th part, up to 256 MiB.
    pub log_bytes: u64,
    /// Whether a missing journal is made.
    pub create: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { cache_bytes: 32 << 20, log_bytes: 16 << 20, create: true }
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
    /// In front of the database; whoever appends holds it. It goes before the database does: once that
    /// is unlocked, the log that lies there is another process's.
    log: Mutex<Log>,
    pub(crate) db: Arc<Guarded>,
    pub(crate) folder: Option<Folder>,
    /// Told when the database was synced.
    pub(crate) flushed: Condvar,
    pub(crate) head: Mutex<Head>,
    pub(crate) ring: KeyRing,
    pub(crate) leaves: Mutex<Leaves>,
    /// The raw size at which packs of payloads are closed.
    pub(crate) target: Target,
    /// Stored bytes that removals have freed since the file was compacted, as far as this run knows.
    pub(crate) freed: AtomicU64,
    /// Whether any session is a fork.
    pub(crate) forked: AtomicBool,
    journal: String,
}

/// What a journal says about itself.
pub(crate) struct Meta {
    pub(crate) format: u32,
    pub(crate) journal: String,
    /// The log that it needs.
    pub(crate) log: Option<LogId>,
}

impl Meta {
    /// Reads it, and makes the journal first if there is none.
    fn of(db: &Guarded) -> Result<Self, StoreError> {
        if db.begin_read()?.list_tables()?.next().is_none() {
            initialise(db)?;
        }
        Self::read(db)
    }

    /// Whether the records of a log beside it are to be brought into the database.
    pub(crate) fn needs_what_lies_there(&self) -> bool {
        self.log.is_some() || self.format < FORMAT_NAMES_LOG
    }

    pub(crate) fn read(db: &Guarded) -> Result<Self, StoreError> {
        let meta = db.begin_read()?.open_table(META)?;
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
            .filter(|journal| journal.len() == ID)
            .ok_or_else(|| StoreError::Damaged("it names no journal id".into()))?;
        let log = match meta.get(META_LOG)? {
            None => None,
            Some(id) => {
                let id = id.value().try_into();
                Some(id.map_err(|_| StoreError::Damaged("the log it names has no id".into()))?)
            }
        };
        Ok(Self { format, journal, log })
    }
}

impl Store {
    /// Opens the journal in a folder. After an I/O failure in the last run every page is checked; what
    /// a removal had left to do is done; a journal of the first format is copied into one in which
    /// every payload is encrypted.
    pub fn open(path: &Path, options: &StoreOptions) -> Result<Self, StoreError> {
        let folder = if options.create { Folder::create(path)? } else { Folder::existing(path)? };
        if !folder.journal().exists() && folder.has_remains() {
            return Err(StoreError::Remains(path.to_owned()));
        }
        if folder.log().metadata().is_ok_and(|meta| !meta.is_file()) {
            // Opening a pipe waits for its other end, and a device keeps nothing.
            return Err(StoreError::LogDamaged("`journal.log` is no regular file".into()));
        }
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
            let open = || builder.create(&file).map_err(|error| refused(error, path));
            let mut db = Guarded::new(open()?);
            migrate::finish(&folder)?;
            let mut meta = Meta::of(&db)?;
            if meta.format == FORMAT_PLAIN {
                migrate::encrypt(db, &meta.journal, &folder)?;
                db = Guarded::new(open()?);
                meta = Meta::of(&db)?;
            }
            let log = open_log(&folder.log())?;
            // What is written about free pages with each sync grows with the file.
            let length = file.metadata().map_or(0, |meta| meta.len());
            let log_bytes = options.log_bytes.max((length / LOG_SHARE).min(LOG_MOST));
            Self::start(db, log, log_bytes, meta, Place::Folder(folder.clone()))
        })?;
        folder.sync().map_err(|source| StoreError::Folder { folder: path.to_owned(), source })?;
        if suspicious {
            folder.clear_failed()?;
        }
        Ok(store)
    }

    /// Opens a journal on storage backends, one for the database and one for its log: memory, or some that
    /// inject faults. Its keys are gone with the store: what was written can be read by this store only.
    pub fn open_backends(
        database: impl StorageBackend,
        log: impl StorageBackend,
        options: &StoreOptions,
    ) -> Result<Self, StoreError> {
        Self::open_backends_with(database, log, &MemoryKeys::default(), options)
    }

    /// Opens a journal on storage backends with keys that are kept apart from them.
    pub fn open_backends_with(
        database: impl StorageBackend,
        log: impl StorageBackend,
        keys: &MemoryKeys,
        options: &StoreOptions,
    ) -> Result<Self, StoreError> {
        let mut builder = Builder::new();
        builder.set_cache_size(options.cache_bytes);
        defensively(|| {
            let db = builder
                .create_with_backend(database)
                .map_err(|error| refused(error, Path::new("(backend)")))?;
            let db = Guarded::new(db);
            // A backend cannot be replaced by a copy: what is plain stays so until it is removed.
            let meta = Meta::of(&db)?;
            let log = Box::new(log);
            Self::start(db, log, options.log_bytes, meta, Place::Memory(keys.clone()))
        })
    }

    fn start(
        db: Guarded,
        log: Box<dyn StorageBackend>,
        log_bytes: u64,
        meta: Meta,
        place: Place,
    ) -> Result<Self, StoreError> {
        let mut log = Log::open(log, &meta.journal, log_bytes)?;
        // Before anything is taken from it, and before keys go that only it shows to be in use.
        log.needed(meta.log)?;
        let mut commits = 0;
        if meta.needs_what_lies_there() {
            commits = recover(&db, &log)?;
        } else {
            log.is_spent(head_of(&db.begin_read()?.open_table(EVENTS)?)?.seq)?;
        }
        // Behind that: the new one has no use for a log that it does not name.
        if meta.format < FORMAT {
            raise_format(&db)?;
        }
        if commits > 0 {
            tracing::info!(
                commits,
                "what the last run had not brought into the database is there now"
            );
        }
        let read = db.begin_read()?;
        let head = head_of(&read.open_table(EVENTS)?)?;
        db.apply(head.seq);
        db.acknowledge(head.seq);
        let folder = match &place {
            Place::Folder(folder) => Some(folder.clone()),
            Place::Memory(_) => None,
        };
        let ring = KeyRing::open(place, &meta.journal, || any_encrypted(&read))?;
        drop(read);
        let store = Self {
            log: Mutex::new(log),
            db: Arc::new(db),
            folder,
            flushed: Condvar::new(),
            head: Mutex::new(head),
            journal: meta.journal,
            ring,
            leaves: Mutex::new(Leaves::none()),
            target: Target::new(),
            freed: AtomicU64::new(0),
            forked: AtomicBool::new(false),
        };
        ledger::fill(&store.db)?;
        store.forked.store(forks::prepare(&store.db)?, Ordering::Relaxed);
        store.destroy_keys()?;
        store.destroy_unused()?;
        *store.leaves.lock().unwrap_or_else(PoisonError::into_inner) = store.first_leaves()?;
        if let Some(folder) = &store.folder {
            // Not before all is well: what is refused leaves everything as it was.
            store.log().lies_at(folder.log());
        }
        Ok(store)
    }

    /// The journal's id: 32 hex digits, given when it was made.
    pub fn journal(&self) -> &str {
        &self.journal
    }

    /// Where the journal ends, as committed.
    pub fn head(&self) -> Head {
        *self.head.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the journal. The next open needs no repair.
    pub fn close(self) -> Result<(), StoreError> {
        if self.has_reserved() || self.log().named || !self.log().is_kept() {
            self.checkpoint()?;
        }
        // While the folder is still locked: see the field.
        drop(self.log);
        // A reader that looks again just now closes it when it is done.
        Arc::into_inner(self.db).map_or(Ok(()), Guarded::close)
    }
}

fn open_log(path: &Path) -> Result<Box<dyn StorageBackend>, StoreError> {
    let failed = |source| StoreError::Io { doing: format!("opening {}", path.display()), source };
    let mut options = File::options();
    let file = options.read(true).write(true).create(true).truncate(false).open(path);
    let backend = file.and_then(|file| FileBackend::new(file).map_err(std::io::Error::other));
    Ok(Box::new(backend.map_err(failed)?))
}

fn initialise(db: &Guarded) -> Result<(), StoreError> {
    let mut id = [0_u8; 16];
    random(&mut id)?;
    let journal: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut write = db.begin_write()?;
    write.set_quick_repair(true);
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
        write.open_table(FORKS)?;
        write.open_table(PUNCTURES)?;
    }
    write.commit().map_err(|error| StoreError::Indeterminate(error.to_string()))
}

/// Makes a journal of an earlier format one of this format, as it is: a release that does not know the
/// log must not take it for the whole.
fn raise_format(db: &Guarded) -> Result<(), StoreError> {
    let mut write = db.begin_write()?;
    write.set_quick_repair(true);
    write.open_table(META)?.insert(META_FORMAT, FORMAT.to_le_bytes().as_slice())?;
    write.open_table(PUNCTURES)?;
    write.commit().map_err(|error| StoreError::Indeterminate(error.to_string()))
}

/// Whether a key is needed to read anything. Reads every row only where none is encrypted.
pub(crate) fn any_encrypted(read: &ReadTransaction) -> Result<bool, StoreError> {
    let encrypted = |stored: &[u8]| PackHeader::read(stored).is_ok_and(|h| h.leaf().is_some());
    for row in read.open_table(PAYLOADS)?.iter()? {
        if encrypted(row?.1.value()) {
            return Ok(true);
        }
    }
    for row in read.open_table(CHUNKS)?.iter()? {
        if encrypted(row?.1.value()) {
            return Ok(true);
        }
    }
    Ok(false)
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
