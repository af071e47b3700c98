//! A folder outside the journal as an external store, in every state that a real one gets into.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use lacuna_core::{Command, Content, Digest, NewSpan};
use lacuna_engine::{FolderStore, Options, Stores};
use tempfile::TempDir;

use crate::rig::{Rig, span};

/// How long a store has for an answer here.
pub(crate) const TIMEOUT: Duration = Duration::from_millis(150);
/// The store that tells "removed" from "never had it"; and the one that does not.
pub(crate) const TELLING: &str = "archive";
pub(crate) const SILENT: &str = "logs";

/// A journal with two external stores over one folder.
pub(crate) struct Outside {
    pub(crate) rig: Rig,
    pub(crate) files: TempDir,
}

impl Outside {
    pub(crate) fn new() -> Self {
        Self::with(Options::default())
    }

    pub(crate) fn with(options: Options) -> Self {
        let files = tempfile::tempdir().unwrap();
        let rig = Rig::with(Options { stores: stores(files.path()), ..options });
        rig.opened("s");
        Self { rig, files }
    }

    pub(crate) fn path(&self, key: &str) -> PathBuf {
        self.files.path().join(key)
    }

    pub(crate) fn write(&self, key: &str, text: &str) {
        let path = self.path(key);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn remove(&self, key: &str) {
        std::fs::remove_file(self.path(key)).unwrap();
    }

    /// Puts a pipe there that nobody writes to: opening it hangs.
    pub(crate) fn hang(&self, key: &str) {
        let path = self.path(key);
        if path.exists() {
            std::fs::remove_file(&path).unwrap();
        }
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    }

    /// Writes a file and records a span that lies there; the span's id is its key.
    pub(crate) fn record(&self, store: &str, id: &str, text: &str) {
        self.write(id, text);
        self.point(store, id, text);
    }

    /// Records a span that is said to lie there.
    pub(crate) fn point(&self, store: &str, id: &str, text: &str) {
        let spans = vec![external(store, id, text)];
        self.rig.send("s", Command::Append { spans }).unwrap();
    }

    pub(crate) fn version(&self) -> u64 {
        self.rig.journal.state(&crate::rig::key("s")).unwrap().version
    }
}

/// Both stores over this folder.
pub(crate) fn stores(files: &Path) -> Stores {
    let mut stores = Stores::new(TIMEOUT);
    stores.add(TELLING, Arc::new(FolderStore::new(files, true)));
    stores.add(SILENT, Arc::new(FolderStore::new(files, false)));
    stores
}

pub(crate) fn external(store: &str, id: &str, text: &str) -> NewSpan {
    let digest = Digest::of(text.as_bytes());
    let (store, key, bytes) = (store.to_owned(), id.to_owned(), text.len() as u64);
    NewSpan {
        digest,
        content: Content::External { store, key, digest, bytes },
        ..span(Some(id), "")
    }
}
