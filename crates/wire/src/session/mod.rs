//! The session verbs: one file each, request and reply.

mod append;
mod audit;
mod diff;
mod durability;
mod expand;
mod explain;
mod export;
mod fork;
mod notes;
mod open;
mod prune;
mod receipt;
mod restore;
mod search;
mod suggest;
mod summarize;
mod upload;
mod window;

pub use append::{
    AppendReply, AppendRequest, AppendedBody, ExternalBody, SourceBody, SpanBody, WithheldBody,
};
pub use audit::{AuditReplyBody, AuditRequest, RemarkBody, RemarkFindingBody};
pub use diff::{ChangeBody, ChangeCounts, DiffReply, DiffRequest, EndBody, StoodBody};
pub use durability::{
    CopyBody, DurabilityReply, DurabilityRequest, DurableSpanBody, HistoryReply, HistoryRequest,
    TombstoneBody, TombstonesReply, TombstonesRequest,
};
pub use expand::{CauseBody, ExpandReply, ExpandRequest, HandledBody};
pub use explain::{ExplainReply, ExplainRequest, KindBody, StoryBody, SummaryBody, ThenBody};
pub use export::{EventLine, ExportReply, ExportRequest, GoneBody};
pub use fork::{ForkReply, ForkRequest};
pub use notes::{
    ContradictReply, ContradictRequest, ResolveRequest, VersionReply, contradiction_id,
    contradiction_number,
};
pub use open::{CloseReply, CloseRequest, OpenReply, OpenRequest};
pub use prune::{PruneReplyBody, PruneRequest, PrunedBody};
pub use receipt::{ReceiptReply, ReceiptRequest, receipt_name, receipt_number};
pub use restore::{RestoreReply, RestoreRequest};
pub use search::{
    MatchBody, NotReachedBody, ScannedBody, SearchReply, SearchRequest, UnsearchableBody,
};
pub use suggest::{CandidateBody, SuggestReply, SuggestRequest};
pub use summarize::{
    ClaimBody, ClaimSourceBody, FallbackBody, FindingBody, OmittedBody, SummarizeReply,
    SummarizeRequest,
};
pub use upload::{
    PutChunkReply, PutChunkRequest, PutCloseReply, PutCloseRequest, PutOpenReply, PutOpenRequest,
};
pub use window::{AtBody, EntryBody, WindowReply, WindowRequest};

use lacuna_core::SpanId;

use crate::WireError;

/// A request that may carry a command's identity.
pub trait Identified {
    /// Takes `command_id` and `expected_version` out, so that the rest is what is asked.
    fn take_identity(&mut self) -> (Option<String>, Option<u64>);
}

/// Reads a list of span ids.
pub fn span_ids(texts: &[String]) -> Result<Vec<SpanId>, WireError> {
    texts.iter().map(|text| span_id(text)).collect()
}

/// Reads a span id.
pub fn span_id(text: &str) -> Result<SpanId, WireError> {
    text.parse().map_err(|error| WireError::bad_request(format!("{error}")))
}

pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Reads a word of the contract.
pub(crate) fn word<T>(what: &str, text: &str, read: fn(&str) -> Option<T>) -> Result<T, WireError> {
    read(text).ok_or_else(|| {
        let text: String = text.chars().take(40).collect();
        WireError::bad_request(format!("{text:?} is no {what}: the contract lists them"))
    })
}
