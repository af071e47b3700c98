//! The domain of Lacuna: commands, events, decisions and projections. Pure: no clock, no
//! randomness, no I/O; time and evidence come in through [`Context`].
//!
//! Reading order: names and values, then what is said (commands, events), then the state that
//! events fold into, then the decisions.

mod digest;
mod handle;
mod ids;
mod span;
mod time;

mod command;
pub mod event;

mod budget;
mod cost;
mod stand_in;
mod state;

mod context;
mod decide;
mod gate;
mod refusal;

pub mod render;

pub use budget::Budget;
pub use command::{Command, Open, Prune, Summarize};
pub use context::{Context, CopyEvidence, Limits};
pub use decide::{
    AppendedSpan, Decision, PruneReply, Reply, SpanVerdict, Verdict, decide, reply_again,
};
pub use digest::{Digest, InvalidDigest};
pub use event::{
    Cause, Check, Claim, ClaimOrigin, ClaimSource, CommandStamp, Contract, Cost, Event, PruneMode,
    Purpose, Recorded, RejectReason,
};
pub use gate::{Gate, check, gate};
pub use handle::{Address, DirectiveNo, Handle, InvalidAddress};
pub use ids::{
    CommandId, InvalidName, Principal, SessionKey, SessionName, SessionNo, SpanId, Tenant,
};
pub use refusal::Refusal;
pub use span::{
    Content, NewSpan, Origin, Role, Source, SpanKind, Storage, TokensFrom, estimate_tokens,
};
pub use stand_in::{replaced_text, shared_stub_text, stub_text, tombstone_text, withheld_text};
pub use state::{
    DirectiveState, Entry, EntryKind, Outcome, SessionState, SpanIndex, SpanState, Tombstone,
};
pub use time::{InvalidTime, Timestamp};
