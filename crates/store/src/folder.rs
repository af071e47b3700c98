//! The journal's folder: private to its owner, with a mark where the last run met an I/O failure.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::StoreError;
use crate::keys::Which;

const JOURNAL: &str = "journal.redb";
const LOG: &str = "journal.log";
const KEYS: [&str; 2] = ["journal.keys", "journal.keys.2"];
const FAILED: &str = "journal.failed";

/// The folder that a journal lives in.
#[derive(Debug, Clone)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// The folder, made with mode 0700 where it is missing.
    pub(crate) fn create(path: &Path) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Folder { folder: path.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        Ok(Self(path.to_owned()))
    }

    /// The folder, if it holds a journal.
    pub(crate) fn existing(path: &Path) -> Result<Self, StoreError> {
        let folder = Self(path.to_owned());
        if folder.journal().is_file() {
            return Ok(folder);
        }
        Err(StoreError::NoJournal(path.to_owned()))
    }

    /// The folder, if it holds anything of a journal that events stand in.
    pub(crate) fn of_remains(path: &Path) -> Result<Self, StoreError> {
        let folder = Self(path.to_owned());
        if folder.journal().exists() || folder.log().exists() {
            return Ok(folder);
        }
        Err(StoreError::NoJournal(path.to_owned()))
    }

    /// Whether a log or keys lie here.
    pub(crate) fn has_remains(&self) -> bool {
        let parts = [self.log(), self.keys(Which::First), self.keys(Which::Second)];
        parts.iter().any(|part| part.metadata().is_ok_and(|meta| meta.len() > 0))
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.0.join(JOURNAL)
    }

    pub(crate) fn log(&self) -> PathBuf {
        log_of(&self.journal())
    }

    /// Where a copy of the journal's keys lies.
    pub(crate) fn keys(&self, which: Which) -> PathBuf {
        self.0.join(KEYS[which as usize])
    }

    /// Where a copy of the journal is made before it takes the journal's name.
    pub(crate) fn copying(&self) -> PathBuf {
        self.journal().with_extension("partial")
    }

    /// Whether the last run met an I/O failure. The kernel may then hold pages that it believes
    /// written, so the next start drops them and checks everything.
    pub(crate) fn failed_before(&self) -> bool {
        self.0.join(FAILED).exists()
    }

    pub(crate) fn mark_failed(&self, why: &str) {
        let write = std::fs::write(self.0.join(FAILED), why).and_then(|()| self.sync());
        if let Err(error) = write {
            tracing::error!(%error, "the failure could not be marked; run `lacuna verify` next");
        }
    }

    pub(crate) fn clear_failed(&self) -> Result<(), StoreError> {
        let doing = || format!("removing {}", self.0.join(FAILED).display());
        std::fs::remove_file(self.0.join(FAILED))
            .and_then(|()| self.sync())
            .map_err(|source| StoreError::Io { doing: doing(), source })
    }

    /// Drops the pages of journal and log from the page cache, so that what is read comes from the disk.
    pub(crate) fn drop_cached_pages(&self) -> Result<(), StoreError> {
        [self.journal(), self.log()].iter().filter(|file| file.exists()).try_for_each(drop_pages)
    }

    pub(crate) fn sync(&self) -> std::io::Result<()> {
        File::open(&self.0)?.sync_all()
    }
}

/// Where the log of the journal in this file lies.
pub(crate) fn log_of(journal: &Path) -> PathBuf {
    journal.with_file_name(LOG)
}

fn drop_pages(path: &PathBuf) -> Result<(), StoreError> {
    let doing = || format!("dropping cached pages of {}", path.display());
    let failed = |source| StoreError::Io { doing: doing(), source };
    let file = File::open(path).map_err(failed)?;
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)
        .map_err(|error| failed(error.into()))
}
