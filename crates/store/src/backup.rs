//! Copying the journal while it is in use.

use std::path::Path;

use lacuna_codec::Block;
use redb::{
    Builder, Database, Key, ReadTransaction, ReadableDatabase, ReadableTable, TableDefinition,
    Value,
};

use crate::StoreError;
use crate::folder::Folder;
use crate::open::{Store, defensively};
use crate::tables::{CHUNKS, EVENTS, META, PAYLOADS, SESSION_BLOCKS, SESSIONS, SNAPSHOTS};

/// Bytes copied in one transaction: bounds the memory that a copy takes.
const BATCH_BYTES: usize = 16 << 20;

/// Pages of the copy kept in memory: it is written once, from front to back.
const CACHE_BYTES: usize = 16 << 20;

/// What was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackupReport {
    /// The seq of the last event in the copy.
    pub seq: u64,
    /// Rows copied.
    pub rows: u64,
    /// Bytes of their values.
    pub bytes: u64,
}

impl Store {
    /// Copies the journal as of now into a folder that holds none yet. Row by row, so the copy is
    /// also compact. Writers go on meanwhile; the file keeps their old pages until the copy is done.
    pub fn backup(
        &self,
        to: &Path,
        mut progress: impl FnMut(u64),
    ) -> Result<BackupReport, StoreError> {
        defensively(|| {
            let folder = Folder::create(to)?;
            let file = folder.journal();
            if file.exists() {
                let source = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
                return Err(StoreError::Folder { folder: to.to_owned(), source });
            }
            let partial = file.with_extension("partial");
            let doing = |what: &str| format!("{what} {}", partial.display());
            let io = |what: &str, source| StoreError::Io { doing: doing(what), source };
            if partial.exists() {
                std::fs::remove_file(&partial).map_err(|e| io("removing", e))?;
            }
            let read = self.db.begin_read()?;
            let seq = match read.open_table(EVENTS)?.last()? {
                None => 0,
                Some((_, value)) => Block::open(value.value())?.end() - 1,
            };
            let copy = Builder::new()
                .set_cache_size(CACHE_BYTES)
                .create(&partial)
                .map_err(|error| StoreError::Database(error.into()))?;
            let mut report = BackupReport { seq, rows: 0, bytes: 0 };
            copy_table(&read, &copy, META, &mut report, &mut progress)?;
            copy_table(&read, &copy, SESSIONS, &mut report, &mut progress)?;
            copy_table(&read, &copy, SESSION_BLOCKS, &mut report, &mut progress)?;
            copy_table(&read, &copy, PAYLOADS, &mut report, &mut progress)?;
            copy_table(&read, &copy, CHUNKS, &mut report, &mut progress)?;
            copy_table(&read, &copy, SNAPSHOTS, &mut report, &mut progress)?;
            copy_table(&read, &copy, EVENTS, &mut report, &mut progress)?;
            copy.close().map_err(|error| StoreError::Database(error.into()))?;
            std::fs::rename(&partial, &file).map_err(|e| io("renaming", e))?;
            folder.sync().map_err(|e| io("syncing the folder of", e))?;
            Ok(report)
        })
    }
}

fn copy_table<K: Key + 'static, V: Value + 'static>(
    from: &ReadTransaction,
    to: &Database,
    definition: TableDefinition<'static, K, V>,
    report: &mut BackupReport,
    progress: &mut impl FnMut(u64),
) -> Result<(), StoreError> {
    let source = from.open_table(definition)?;
    let mut rows = source.iter()?.peekable();
    loop {
        let write = to.begin_write()?;
        {
            let mut table = write.open_table(definition)?;
            let mut batch = 0;
            while batch < BATCH_BYTES {
                let Some(entry) = rows.next() else { break };
                let (key, value) = entry?;
                let size = V::as_bytes(&value.value()).as_ref().len();
                table.insert(key.value(), value.value())?;
                batch += size;
                report.rows += 1;
                report.bytes += size as u64;
            }
        }
        write.commit().map_err(|error| StoreError::Indeterminate(error.to_string()))?;
        progress(report.bytes);
        if rows.peek().is_none() {
            return Ok(());
        }
    }
}
