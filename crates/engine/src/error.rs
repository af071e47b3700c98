//! Why the engine did not do what was asked.

use lacuna_core::Refusal;
use lacuna_store::StoreError;

/// A failure of a command or a query.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The command was refused; nothing happened.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Too much is waiting; nothing happened.
    #[error("too many requests are waiting ({waiting}): try again in a moment")]
    Overloaded {
        /// Requests waiting.
        waiting: usize,
    },
    /// The disk is nearly full; nothing happened.
    #[error(
        "the disk that holds the journal has {} MiB left, and {} MiB are kept free \
         (journal.keep_free_mib): make room and send it again; reading, pruning and removing go on",
        left >> 20,
        keep_free >> 20
    )]
    DiskFull {
        /// Bytes left.
        left: u64,
        /// Bytes that are kept free.
        keep_free: u64,
    },
    /// The journal is stopping or has failed. The command may have happened: send it again with
    /// the same `command_id` once the daemon is back.
    #[error("the journal is not available: {0}; retry with the same command_id")]
    Unavailable(String),
    /// Reading the journal failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
