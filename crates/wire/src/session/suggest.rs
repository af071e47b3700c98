//! `suggest`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::common::{BudgetBody, CostBody, request};

request! {
    /// Ask for prunes that are reversible now.
    SuggestRequest {
        /// How many tokens of the window to free.
        free_tokens: u64,
    }
}

/// Prunes that are reversible now, cheapest first. Each frees what was asked by itself; where that
/// is impossible there is one, which frees the most.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SuggestReply {
    /// The session's version: what is suggested holds for it.
    pub version: u64,
    /// The prunes.
    pub candidates: Vec<CandidateBody>,
    /// The budget as it is now.
    pub budget: BudgetBody,
}

/// A prune that is reversible now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CandidateBody {
    /// Its spans, to give to `prune` as they are.
    pub spans: Vec<String>,
    /// Window tokens that it frees.
    pub freed_tokens: i64,
    /// `reversible`: every copy was read back just now.
    pub status: String,
    /// Until when its copies live; null: for ever.
    pub durable_until: Option<String>,
    /// What it costs at the provider.
    pub cost: CostBody,
}
