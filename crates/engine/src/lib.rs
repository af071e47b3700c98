//! The shell around the domain: one writer thread that decides and commits, readers that see what
//! is committed, and [`Journal`], the embedded API.

mod clock;
mod error;
mod options;
mod request;

mod again;
mod batch;
mod cache;
mod evidence;
mod examine;
mod writer;

mod answers;
mod reader;

mod journal;
mod questions;
mod stats;

pub use answers::{Expanded, Lookup, Slice, SpanDurability, SummaryAccount};
pub use clock::{Clock, system_clock};
pub use error::EngineError;
pub use journal::{Closed, Journal};
pub use lacuna_store::{BackupReport, Fault, Head, StoreError, VerifyOptions, VerifyReport};
pub use options::Options;
pub use request::{Callback, Done, Request};
pub use stats::Stats;
