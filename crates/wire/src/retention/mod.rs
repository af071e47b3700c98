//! The retention verbs: one file for what belongs together, request and reply.

mod erase;
mod evaluate;
mod hold;
mod ledger;
mod policy;
mod run;

pub use erase::{EraseReply, EraseRequest};
pub use evaluate::{AttributesBody, EvaluateReply, EvaluateRequest};
pub use hold::{HoldBody, HoldReply, HoldRequest, ReleaseReply, ReleaseRequest, hold_number};
pub use ledger::{LedgerEntryBody, LedgerReply, LedgerRequest};
pub(crate) use policy::period;
pub use policy::{
    KeepBody, MatchBody, PolicyGetReply, PolicyGetRequest, PolicySetReply, PolicySetRequest,
    RuleBody, policy_name,
};
pub use run::{
    PlanReply, PlanRequest, PlannedSessionBody, PlannedSpanBody, RemovedBody, RunReply, RunRequest,
    run_name,
};
