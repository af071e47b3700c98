//! `summarize`.

use lacuna_core::{Claim, ClaimOrigin, ClaimSource, Command, Digest, Summarize};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{span_id, span_ids, word};
use crate::WireError;
use crate::common::request;

request! {
    /// Record a summary of spans.
    SummarizeRequest {
        /// Its span id; assigned if not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// The spans that it summarises.
        covers: Vec<String>,
        /// Its text.
        text: String,
        /// Its claims.
        #[serde(default, deserialize_with = "crate::json::object::list")]
        claims: Vec<ClaimBody>,
    }
}

/// One sentence of a summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimBody {
    /// The sentence.
    pub text: String,
    /// `user-said`, `tool-output`, `inferred` or `hedged`.
    pub origin: String,
    /// Where it rests.
    #[serde(deserialize_with = "crate::json::object::list")]
    pub sources: Vec<ClaimSourceBody>,
}

/// A span that a claim cites.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimSourceBody {
    /// The span.
    pub span: String,
    /// The words in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
}

impl SummarizeRequest {
    /// The command.
    pub fn command(&self) -> Result<Command, WireError> {
        let source = |source: &ClaimSourceBody| {
            Ok(ClaimSource { span: span_id(&source.span)?, quote: source.quote.clone() })
        };
        let claim = |claim: &ClaimBody| {
            Ok(Claim {
                text: claim.text.clone(),
                origin: word("claim origin", &claim.origin, ClaimOrigin::from_word)?,
                sources: claim.sources.iter().map(source).collect::<Result<_, WireError>>()?,
            })
        };
        Ok(Command::Summarize(Summarize {
            id: self.id.as_deref().map(span_id).transpose()?,
            covers: span_ids(&self.covers)?,
            text: self.text.clone(),
            digest: Digest::of(self.text.as_bytes()),
            claims: self.claims.iter().map(claim).collect::<Result<_, WireError>>()?,
        }))
    }
}

/// The summary is recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SummarizeReply {
    /// `accepted`, `needs_audit` or `rejected`.
    pub status: String,
    /// Its span id.
    pub summary: String,
    /// Its handle.
    pub handle: String,
    /// The session's version.
    pub version: u64,
    /// What is wrong with it.
    pub findings: Vec<Value>,
    /// Identifiers of the covered spans that it leaves out.
    pub omitted_identifiers: Vec<Value>,
    /// Set if this is the first reply again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}
