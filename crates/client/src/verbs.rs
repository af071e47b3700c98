//! The session verbs, typed.

use lacuna_wire::session::{
    AppendReply, AppendRequest, AuditReplyBody, AuditRequest, CloseReply, CloseRequest,
    ContradictReply, ContradictRequest, DiffReply, DiffRequest, DurabilityReply, DurabilityRequest,
    ExpandReply, ExpandRequest, ExplainReply, ExplainRequest, ForkReply, ForkRequest, HistoryReply,
    HistoryRequest, OpenReply, OpenRequest, PruneReplyBody, PruneRequest, ReceiptReply,
    ReceiptRequest, ResolveRequest, RestoreReply, RestoreRequest, SearchReply, SearchRequest,
    SuggestReply, SuggestRequest, SummarizeReply, SummarizeRequest, TombstonesReply,
    TombstonesRequest, VersionReply, WindowReply, WindowRequest,
};

use crate::{ClientError, Session};

macro_rules! commands {
    ($($(#[$doc:meta])* $name:ident($verb:literal): $request:ty => $reply:ty;)+) => {
        impl Session {
            $(
                $(#[$doc])*
                ///
                /// With a `command_id` a call that gets no answer is sent again by itself.
                pub async fn $name(&self, request: &$request) -> Result<$reply, ClientError> {
                    let repeatable = request.command_id.is_some();
                    self.client.call(&self.subject($verb), request, repeatable).await
                }
            )+
        }
    };
}

macro_rules! questions {
    ($($(#[$doc:meta])* $name:ident($verb:literal): $request:ty => $reply:ty;)+) => {
        impl Session {
            $(
                $(#[$doc])*
                pub async fn $name(&self, request: &$request) -> Result<$reply, ClientError> {
                    self.client.call(&self.subject($verb), request, true).await
                }
            )+
        }
    };
}

commands! {
    /// Begins the session.
    open("open"): OpenRequest => OpenReply;
    /// Records spans whose contents fit into one message; see [`Session::append_any`] for others.
    append("append"): AppendRequest => AppendReply;
    /// Takes spans out of the window.
    prune("prune"): PruneRequest => PruneReplyBody;
    /// Puts pruned spans back.
    restore("restore"): RestoreRequest => RestoreReply;
    /// Records a summary.
    summarize("summarize"): SummarizeRequest => SummarizeReply;
    /// Judges somebody else's summary.
    audit("audit"): AuditRequest => AuditReplyBody;
    /// Declares that two spans contradict each other.
    contradict("contradict"): ContradictRequest => ContradictReply;
    /// Settles a contradiction.
    resolve("resolve"): ResolveRequest => VersionReply;
    /// Records what was shown to the model at one call.
    receipt("receipt"): ReceiptRequest => ReceiptReply;
    /// Begins the session as a fork of another one.
    fork("fork"): ForkRequest => ForkReply;
    /// Ends the session.
    close("close"): CloseRequest => CloseReply;
}

questions! {
    /// Looks a span up; the answer is typed and never empty.
    expand("expand"): ExpandRequest => ExpandReply;
    /// Reads the window.
    window("window"): WindowRequest => WindowReply;
    /// Asks for prunes that are reversible now.
    suggest("suggest"): SuggestRequest => SuggestReply;
    /// Searches contents; the verdict says what an empty result means.
    search("search"): SearchRequest => SearchReply;
    /// Asks what happened to a span.
    explain("explain"): ExplainRequest => ExplainReply;
    /// Asks which copies exist.
    durability("durability"): DurabilityRequest => DurabilityReply;
    /// Reads the tombstone ledger.
    tombstones("tombstones"): TombstonesRequest => TombstonesReply;
    /// Asks what is different between two moments.
    diff("diff"): DiffRequest => DiffReply;
    /// Reads events.
    history("history"): HistoryRequest => HistoryReply;
}
