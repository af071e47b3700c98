//! The journal's file: one redb database, its tables, and what is read and written there.
//!
//! Writes are whole commits: one block of events with its payloads and index rows in one
//! transaction. Reads open a transaction of their own and see the last commit.

mod error;
mod tables;

mod commit;
mod folder;
mod open;

mod payloads;
mod sessions;

mod backup;
mod stats;
mod verify;

pub use backup::BackupReport;
pub use commit::{Commit, Snapshot};
pub use error::StoreError;
pub use open::{Head, Store, StoreOptions, guarding};
pub use payloads::{PayloadReader, Stored};
pub use stats::StoreStats;
pub use tables::FORMAT;
pub use verify::{Fault, VerifyOptions, VerifyReport};
