//! The domain of Lacuna: commands, events, decisions and projections. Pure: no clock, no
//! randomness, no I/O; time and evidence come in through [`Context`].
//!
//! Reading order: names and values, what words show by themselves, then what is said (commands,
//! events), then the state that events fold into, then the decisions.

mod digest;
mod handle;
mod ids;
mod span;
mod time;

pub mod text;

mod adopt;
mod command;
pub mod event;

mod budget;
mod cost;
mod stand_in;
mod state;

mod context;
mod contract;
mod decide;
mod finding;
mod gate;
mod refusal;
pub mod retention;
mod suggest;

pub mod render;

pub use adopt::{Adopted, MAX_PASSED, NotTheirs};
pub use budget::Budget;
pub use command::{Audit, CloseRun, Command, Due, Fork, Open, OpenRun, Prune, Receipt, Summarize};
pub use context::{Context, CopyEvidence, Limits, LostSince};
pub use contract::{
    Apart, ClaimFacts, Examination, Examiner, KindCount, Omitted, SourceFacts, TextRange,
    findings_said, tags_text, wanted,
};
pub use decide::{
    AppendedSpan, AuditReply, Decision, PruneReply, Reply, SUMMARY_ATTEMPTS, SpanVerdict,
    SummaryReply, Verdict, decide, reply_again,
};
pub use digest::{Digest, Digesting, InvalidDigest};
pub use event::{
    Alert, AuditNote, Cause, Check, Claim, ClaimOrigin, ClaimSource, CommandStamp, Contract, Cost,
    Event, Imported, Match, PruneMode, Purpose, Recorded, RejectReason, Rendering, StoredClaims,
    SummaryStatus,
};
pub use finding::{Finding, FindingCode};
pub use gate::{Gate, check, gate};
pub use handle::{Address, DirectiveNo, Handle, InvalidAddress};
pub use ids::{
    CommandId, InvalidName, Principal, SessionKey, SessionName, SessionNo, SpanId, Tenant,
};
pub use refusal::Refusal;
pub use span::{
    Content, NewSpan, Origin, Role, Source, SpanKind, Storage, TokensFrom, estimate_tokens,
};
pub use stand_in::{
    lost_since_text, replaced_text, shared_stub_text, stub_text, tombstone_text, unreadable_text,
    withheld_text,
};
pub use state::{
    DirectiveState, Entry, EntryKind, Extent, ForkedFrom, Form, Grown, ImportState, Outcome,
    ReceiptState, Rest, SessionState, SpanIndex, SpanState, Tombstone,
};
pub use suggest::{Candidate, candidates};
pub use time::{InvalidTime, Timestamp};
