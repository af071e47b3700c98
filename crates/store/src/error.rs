//! What can go wrong with the journal's file.

use std::path::PathBuf;

use lacuna_codec::CodecError;

/// A failure of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has the journal open.
    #[error(
        "the journal in {0} is in use by another process: talk to that daemon, or stop it first"
    )]
    InUse(PathBuf),
    /// The folder cannot be used.
    #[error("the journal folder {folder} cannot be used: {source}; check that it may be written")]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// No journal is there, and none was to be made.
    #[error("there is no journal in {0}: check the path, or start `lacuna serve` with it once")]
    NoJournal(PathBuf),
    /// Parts of a journal are there, but not its database, and a new one would take their place.
    #[error(
        "{0} holds the log or the keys of a journal, and no `journal.redb`: put that back, or name another \
         folder"
    )]
    Remains(PathBuf),
    /// The journal was written by a newer release.
    #[error(
        "the {what} has format {found}, and this release (lacuna {release}) reads up to {known}: \
         use the newer release"
    )]
    Newer {
        /// What is newer.
        what: &'static str,
        /// The format found.
        found: u32,
        /// The newest format known.
        known: u32,
        /// This release.
        release: &'static str,
    },
    /// Stored bytes are not what they should be.
    #[error(
        "the journal is damaged: {0}; `lacuna verify` tells how far, `lacuna salvage` takes out what is whole"
    )]
    Damaged(String),
    /// The keys that the journal's payloads are encrypted with cannot be read, in neither copy.
    #[error(
        "the keys of this journal cannot be read ({why}): restore {file} from a backup of the \
         journal; without it no payload can be read"
    )]
    KeysLost {
        /// Where the first copy belongs.
        file: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A key file belongs to another journal.
    #[error(
        "{file} holds the keys of journal {found}, and this is journal {expected}: move that file \
         away, and put back the one that belongs here"
    )]
    KeysOfAnother {
        /// The key file.
        file: PathBuf,
        /// The journal that it belongs to.
        found: String,
        /// The journal that it was found with.
        expected: String,
    },
    /// The key that checkpoints are signed with cannot be used.
    #[error(
        "the signing key in {file} cannot be used ({why}): put the right one back, or move it away \
         and a new one is made, whose public half must then be handed on again"
    )]
    SigningKey {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// Packs are no longer what they were when a removal was prepared. Nothing was written.
    #[error(
        "the payloads stored at {seq} have changed since their removal was prepared: prepare it again"
    )]
    StaleRemoval {
        /// The key of the first such pack.
        seq: u64,
    },
    /// A value does not fit into the format. Nothing was written.
    #[error("{0}")]
    TooLarge(String),
    /// A commit failed: it may or may not have happened. The store refuses everything afterwards.
    #[error("a commit failed and its outcome is unknown ({0}); restart to find out")]
    Indeterminate(String),
    /// The log in front of the database and the database do not belong together, or the log is damaged.
    #[error(
        "the journal's log does not fit its database: {0}. Put `journal.redb` and `journal.log` back as \
         they stood together; or write what can still be read into a new journal with `lacuna salvage`"
    )]
    LogDamaged(String),
    /// What only the log has could not be brought into the database. Nothing is lost.
    #[error(
        "what the last run had not brought into the database is still in `journal.log` alone, and it \
         cannot be written now ({0}); see that the disk has room and works, and start again"
    )]
    NotRecovered(String),
    /// The log was taken away while the journal was in use. What was acknowledged is in the database now, the
    /// commit in hand did not happen, and the store refuses everything afterwards.
    #[error(
        "{path} was in use, and is gone ({why}): find out who touches that folder, then start again; \
         everything acknowledged is in `journal.redb`"
    )]
    LogGone {
        /// Where the log was.
        path: PathBuf,
        /// What was found there.
        why: String,
    },
    /// The database failed.
    #[error("the journal's database failed: {0}")]
    Database(redb::Error),
    /// A file operation failed.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done.
        doing: String,
        /// What the system said.
        source: std::io::Error,
    },
}

impl From<CodecError> for StoreError {
    fn from(error: CodecError) -> Self {
        match error {
            CodecError::Newer { what, found, known } => Self::newer(what, found, known),
            CodecError::TooLarge { .. } => Self::TooLarge(error.to_string()),
            CodecError::Damaged { .. } => Self::Damaged(error.to_string()),
        }
    }
}

impl StoreError {
    /// What it says, for an error that says the rest.
    pub(crate) fn cause(&self) -> String {
        match self {
            Self::Indeterminate(why) => why.clone(),
            other => other.to_string(),
        }
    }

    pub(crate) fn newer(what: &'static str, found: u32, known: u32) -> Self {
        Self::Newer { what, found, known, release: env!("CARGO_PKG_VERSION") }
    }
}

macro_rules! database_error {
    ($($type:ty),+) => {
        $(impl From<$type> for StoreError {
            fn from(error: $type) -> Self {
                match redb::Error::from(error) {
                    redb::Error::Corrupted(why) => Self::Damaged(why),
                    other => Self::Database(other),
                }
            }
        })+
    };
}

database_error!(redb::StorageError, redb::TableError, redb::TransactionError);
