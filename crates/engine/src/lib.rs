//! The shell around the domain: one writer thread that decides, others that commit, readers that see what
//! is committed, and [`Journal`], the embedded API.

mod clock;
mod error;
mod external;
mod options;
mod request;

mod again;
mod batch;
mod cache;
mod checkpoints;
mod committer;
mod copies;
mod evidence;
mod examine;
mod intake;
mod retention;
mod room;
mod scrub;
mod writer;

mod answers;
mod reader;

mod diff;
mod follow;
mod journal;
mod past;
mod questions;
mod receipt;
mod salvage;
mod search;
mod stats;
mod transfer;

pub use answers::{CopyAt, Expanded, Lookup, Slice, SpanDurability, SummaryAccount};
pub use checkpoints::{CheckpointClock, Judged, Judgement, Listener, Signed, judge};
pub use clock::{Clock, system_clock};
pub use diff::{Change, Stood};
pub use error::EngineError;
pub use external::{Ask, ExternalStore, FolderStore, Found, Stores, Through, Unread};
pub use follow::TenantEvents;
pub use journal::{Closed, Journal};
pub use lacuna_codec::{Checkpoint, NoteVerifier};
pub use lacuna_store::{
    BackupReport, CopyReport, End, Fault, FoundEvent, Head, Moment, Remains, Standing, StoreError,
    VerifyOptions, VerifyReport, Walked, read_copy, step_taken,
};
pub use options::Options;
pub use past::Then;
pub use receipt::{ReceiptRequest, Sender};
pub use request::{Callback, Done, Request};
pub use retention::{
    Erased, Loss, Plan, PlannedSession, PlannedSpan, RetentionClock, RunLimit, RunRequest,
};
pub use salvage::{Left, Salvaged, salvage};
pub use scrub::{ScrubOptions, ScrubStats};
pub use search::{Among, Bounds, Match, Pattern, SEARCH_TIME, Searched};
pub use stats::Stats;
pub use transfer::{Carried, Export, Exported, Payload};
