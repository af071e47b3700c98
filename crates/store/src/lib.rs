//! The journal's file: one redb database, its tables, and what is read and written there.
//!
//! Writes are whole commits: one block of events with its payloads and index rows in one
//! transaction. Reads open a transaction of their own and see the last commit.

mod error;
mod steps;
mod tables;

mod database;
mod folder;
mod keys;
mod scrub;

mod commit;
mod forks;
mod leaves;
mod ledger;
mod log;
mod open;
mod packing;
mod recovery;
mod removal;

mod payloads;
mod sessions;
mod snapshots;
mod walk;

mod backup;
mod copy;
mod migrate;
mod salvage;
mod standing;
mod stats;
mod untouched;
mod verify;

pub use backup::BackupReport;
pub use commit::Commit;
pub use error::StoreError;
pub use forks::ForkRow;
pub use keys::{Key, KeyTree, Keys, MemoryKeys, Node, random};
pub use ledger::Loss;
pub use open::{Head, Store, StoreOptions, guarding};
pub use packing::{Packing, Packs, Unsealed};
pub use payloads::{PayloadReader, Stored};
pub use removal::{KeysDestroyed, Removal};
pub use salvage::{End, FoundEvent, Remains};
pub use scrub::replace;
pub use sessions::Moment;
pub use snapshots::{Anchors, Snapshot};
pub use standing::{CopyReport, Standing, read_copy};
pub use stats::StoreStats;
pub use steps::{CRASH_AT, FEED_STEPS, STEPS, at_each_step, step_taken};
pub use tables::FORMAT;
pub use verify::{Fault, VerifyOptions, VerifyReport};
pub use walk::Walked;
