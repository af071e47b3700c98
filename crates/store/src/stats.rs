//! Figures about the journal's file.

use redb::ReadableTableMetadata;

use crate::StoreError;
use crate::open::{Store, defensively};
use crate::tables::{EVENTS, PAYLOADS, SESSIONS, SNAPSHOTS};

/// Figures about the journal's file, as of the last commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreStats {
    /// Sessions ever opened.
    pub sessions: u64,
    /// Commits that wrote events.
    pub blocks: u64,
    /// Packs of payloads.
    pub packs: u64,
    /// Snapshots kept.
    pub snapshots: u64,
    /// Size of the file, in bytes; 0 without one.
    pub file_bytes: u64,
}

impl Store {
    /// Bytes that are left on the disk for whoever runs this process; none without a file, or where the
    /// system does not say.
    pub fn free_bytes(&self) -> Option<u64> {
        let disk = rustix::fs::statvfs(self.folder.as_ref()?.journal()).ok()?;
        Some(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    /// Counts rows; takes no longer for a larger journal.
    pub fn stats(&self) -> Result<StoreStats, StoreError> {
        defensively(|| {
            let read = self.db.begin_read()?;
            let file = self.folder.as_ref().and_then(|folder| folder.journal().metadata().ok());
            Ok(StoreStats {
                sessions: read.open_table(SESSIONS)?.len()?,
                blocks: read.open_table(EVENTS)?.len()?,
                packs: read.open_table(PAYLOADS)?.len()?,
                snapshots: read.open_table(SNAPSHOTS)?.len()?,
                file_bytes: file.map_or(0, |meta| meta.len()),
            })
        })
    }
}
