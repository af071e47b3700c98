//! Copying the journal while it is in use.

use std::path::Path;

use lacuna_codec::Block;
use redb::ReadableTable;

use crate::StoreError;
use crate::copy::Copying;
use crate::folder::Folder;
use crate::keys::{Keys, Which};
use crate::open::{Store, defensively};
use crate::tables::EVENTS;

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
    /// Copies the journal as of now, with its keys, into a folder that holds none yet. Row by row, so
    /// the copy is also compact. Writers go on meanwhile; the file keeps their old pages until the copy
    /// is done.
    ///
    /// What is removed from the journal later stays in the copy, readable: its keys are in the copy's
    /// own key files. Whoever must remove it everywhere removes the copies, too.
    pub fn backup(
        &self,
        to: &Path,
        mut progress: impl FnMut(u64),
    ) -> Result<BackupReport, StoreError> {
        defensively(|| {
            let folder = Folder::create(to)?;
            let file = folder.journal();
            // Keys without a journal are of one that is to be put back, or of an earlier attempt.
            let keys = [Which::First, Which::Second].iter().any(|one| folder.keys(*one).exists());
            let others = file.exists() || folder.log().exists();
            if others || (keys && !folder.copying().exists()) {
                let source = std::io::Error::from(std::io::ErrorKind::AlreadyExists);
                return Err(StoreError::Folder { folder: to.to_owned(), source });
            }
            // The keys as of the commit that is read: none of them is destroyed in between.
            let (read, keys) = {
                let tree = self.ring.keys.tree();
                (self.db.begin_read()?, Keys::of(tree.clone()))
            };
            let seq = match read.open_table(EVENTS)?.last()? {
                None => 0,
                Some((_, value)) => Block::open(value.value())?.end() - 1,
            };
            let mut copying = Copying::begin(&read, &folder, &keys)?;
            copying.tables(&mut progress)?;
            let (rows, bytes) = copying.finish()?;
            self.ring.copy_to(&folder, &keys)?;
            let io = |source| StoreError::Io {
                doing: format!("renaming {}", folder.copying().display()),
                source,
            };
            std::fs::rename(folder.copying(), &file).and_then(|()| folder.sync()).map_err(io)?;
            Ok(BackupReport { seq, rows, bytes })
        })
    }
}
