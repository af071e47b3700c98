//! The table of verbs: what the daemon answers, with the schemas of request and reply.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

use crate::journal as j;
use crate::retention as r;
use crate::session as s;
use crate::{Empty, Group, WireError};

/// A verb of the contract.
#[derive(Clone, Copy)]
pub struct VerbSpec {
    /// Its group.
    pub group: Group,
    /// Its name, the last token of the subject.
    pub name: &'static str,
    /// One sentence about it.
    pub about: &'static str,
    /// The schema of its request.
    pub request: fn() -> Schema,
    /// The schema of its reply.
    pub reply: fn() -> Schema,
}

impl std::fmt::Debug for VerbSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {}", self.group, self.name)
    }
}

const fn verb<Q: JsonSchema, R: JsonSchema>(
    group: Group,
    name: &'static str,
    about: &'static str,
) -> VerbSpec {
    VerbSpec { group, name, about, request: schema::<Q>, reply: schema::<R> }
}

/// Inlined, so that a schema stays whole wherever it is put into a larger document.
fn schema<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        .into_generator()
        .into_root_schema_for::<T>()
}

/// The schema of an error reply's `error`.
pub(crate) fn error_schema() -> Schema {
    schema::<WireError>()
}

/// The schema of an event.
pub(crate) fn event_schema() -> Schema {
    schema::<crate::EventBody>()
}

use Group::{Journal, Retention, Session};

/// The session verbs.
pub const SESSION_VERBS: &[VerbSpec] = &[
    verb::<s::OpenRequest, s::OpenReply>(Session, "open", "begins a session"),
    verb::<s::AppendRequest, s::AppendReply>(Session, "append", "records spans, all or none"),
    verb::<s::PutOpenRequest, s::PutOpenReply>(Session, "put-open", "begins an upload"),
    verb::<s::PutChunkRequest, s::PutChunkReply>(Session, "put-chunk", "sends a part of it"),
    verb::<s::PutCloseRequest, s::PutCloseReply>(Session, "put-close", "ends it"),
    verb::<s::PruneRequest, s::PruneReplyBody>(
        Session,
        "prune",
        "takes spans out of the window if they come back, or with consent to loss",
    ),
    verb::<s::RestoreRequest, s::RestoreReply>(Session, "restore", "puts pruned spans back"),
    verb::<s::ExpandRequest, s::ExpandReply>(Session, "expand", "answers what a handle leads to"),
    verb::<s::WindowRequest, s::WindowReply>(Session, "window", "reads what the model is shown"),
    verb::<s::SearchRequest, s::SearchReply>(
        Session,
        "search",
        "finds words in contents, or says that they are certainly nowhere",
    ),
    verb::<s::SummarizeRequest, s::SummarizeReply>(
        Session,
        "summarize",
        "records a summary, or refuses it and says what to change",
    ),
    verb::<s::AuditRequest, s::AuditReplyBody>(Session, "audit", "judges somebody else's summary"),
    verb::<s::SuggestRequest, s::SuggestReply>(
        Session,
        "suggest",
        "ranks prunes that are reversible now",
    ),
    verb::<s::ContradictRequest, s::ContradictReply>(
        Session,
        "contradict",
        "declares that two spans contradict each other",
    ),
    verb::<s::ResolveRequest, s::VersionReply>(Session, "resolve", "settles a contradiction"),
    verb::<s::DurabilityRequest, s::DurabilityReply>(
        Session,
        "durability",
        "tells which copies of spans exist",
    ),
    verb::<s::TombstonesRequest, s::TombstonesReply>(
        Session,
        "tombstones",
        "reads the ledger of what was lost",
    ),
    verb::<s::HistoryRequest, s::HistoryReply>(Session, "history", "reads the session's events"),
    verb::<s::ExplainRequest, s::ExplainReply>(Session, "explain", "tells what happened to a span"),
    verb::<s::ExportRequest, s::ExportReply>(
        Session,
        "export",
        "reads the session as another journal takes it over",
    ),
    verb::<s::DiffRequest, s::DiffReply>(
        Session,
        "diff",
        "tells what is different between two moments, and what made it so",
    ),
    verb::<s::ReceiptRequest, s::ReceiptReply>(
        Session,
        "receipt",
        "records what was shown to the model at one call",
    ),
    verb::<s::ForkRequest, s::ForkReply>(
        Session,
        "fork",
        "begins a session as a fork of another one at a moment of its past",
    ),
    verb::<s::CloseRequest, s::CloseReply>(Session, "close", "ends the session"),
];

/// The retention verbs.
pub const RETENTION_VERBS: &[VerbSpec] = &[
    verb::<r::PolicySetRequest, r::PolicySetReply>(
        Retention,
        "policy-set",
        "sets how long payloads are kept",
    ),
    verb::<r::PolicyGetRequest, r::PolicyGetReply>(
        Retention,
        "policy-get",
        "reads the policy and the holds in force",
    ),
    verb::<r::EvaluateRequest, r::EvaluateReply>(
        Retention,
        "evaluate",
        "tells how long something is kept, and why",
    ),
    verb::<r::HoldRequest, r::HoldReply>(Retention, "hold", "holds payloads, whatever comes"),
    verb::<r::ReleaseRequest, r::ReleaseReply>(Retention, "release", "ends a hold"),
    verb::<r::PlanRequest, r::PlanReply>(Retention, "plan", "tells what a run would do"),
    verb::<r::RunRequest, r::RunReply>(
        Retention,
        "run",
        "announces and removes what the policy no longer keeps",
    ),
    verb::<r::LedgerRequest, r::LedgerReply>(
        Retention,
        "ledger",
        "reads the tenant's ledger of what was lost",
    ),
    verb::<r::EraseRequest, r::EraseReply>(Retention, "erase", "erases payloads at once"),
];

/// The journal verbs.
pub const JOURNAL_VERBS: &[VerbSpec] = &[
    verb::<Empty, j::HeadReply>(Journal, "head", "tells where the journal ends"),
    verb::<j::VerifyRequest, j::VerifyReply>(Journal, "verify", "verifies the journal"),
    verb::<Empty, j::CheckpointReply>(
        Journal,
        "checkpoint",
        "signs where the journal ends, to be kept elsewhere",
    ),
    verb::<j::AdoptRequest, j::AdoptReply>(
        Journal,
        "adopt",
        "takes over a session of another journal",
    ),
    verb::<Empty, j::StatsReply>(Journal, "stats", "tells figures about the daemon"),
    verb::<j::EventsRequest, j::EventsReply>(
        Journal,
        "events",
        "reads the events of all of the tenant's sessions",
    ),
    verb::<j::SessionsRequest, j::SessionsReply>(Journal, "sessions", "lists sessions by name"),
    verb::<j::BackupRequest, j::BackupReply>(Journal, "backup", "copies the journal"),
];

/// The verbs of a group.
pub fn verbs(group: Group) -> &'static [VerbSpec] {
    match group {
        Group::Session => SESSION_VERBS,
        Group::Retention => RETENTION_VERBS,
        Group::Journal => JOURNAL_VERBS,
    }
}

/// The verb of this name in a group.
pub fn find(group: Group, name: &str) -> Option<&'static VerbSpec> {
    verbs(group).iter().find(|verb| verb.name == name)
}
