//! Room on the disk. What brings contents is refused before the disk is full, so that everything else goes on:
//! reading, pruning, and removing above all, which needs some room itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lacuna_core::Command;
use lacuna_store::Store;

use crate::EngineError;

/// How much is left, as of the last look.
pub(crate) struct Room {
    store: Arc<Store>,
    keep_free: u64,
    low: AtomicBool,
}

impl Room {
    pub(crate) fn new(store: Arc<Store>, keep_free: u64) -> Self {
        let room = Self { store, keep_free, low: AtomicBool::new(false) };
        room.look();
        room
    }

    /// Looks at the disk. Behind every commit: each is bounded, and may be the one that fills it.
    pub(crate) fn look(&self) -> Option<u64> {
        let left = self.store.free_bytes().filter(|left| *left < self.keep_free);
        let was = self.low.swap(left.is_some(), Ordering::Relaxed);
        match left {
            Some(left) if !was => {
                let (left, keep) = (left >> 20, self.keep_free >> 20);
                tracing::error!(
                    left_mib = left,
                    keep_free_mib = keep,
                    "the disk is nearly full: nothing is recorded until there is room"
                );
            }
            None if was => tracing::info!("there is room on the disk again"),
            _ => {}
        }
        left
    }

    /// Why this command is refused now, if it is.
    pub(crate) fn refusal(&self, command: &Command) -> Option<EngineError> {
        let brings_contents = matches!(
            command,
            Command::Open(_)
                | Command::Append { .. }
                | Command::Summarize(_)
                | Command::Fork(_)
                | Command::Adopt { .. }
        );
        if !brings_contents || !self.low.load(Ordering::Relaxed) {
            return None;
        }
        // Nothing is committed while all is refused: somebody has to look.
        let left = self.look()?;
        Some(EngineError::DiskFull { left, keep_free: self.keep_free })
    }
}
