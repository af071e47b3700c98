//! `summarize`.

use lacuna_core::{
    Claim, ClaimOrigin, ClaimSource, Command, Digest, Finding, Omitted, SpanId, Summarize,
    SummaryReply,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PruneRequest, span_id, span_ids, word};
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

/// The summary is checked, and recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SummarizeReply {
    /// `accepted`: any principal but its author may prune with it. `needs_audit`: the same, and the
    /// author, which works in this session itself, may once somebody else has passed it.
    /// `rejected`: it breaks the contract.
    pub status: String,
    /// Its span id. A rejected one is kept under an id of its own; the one asked for stays free.
    pub summary: String,
    /// Its handle.
    pub handle: String,
    /// The session's version.
    pub version: u64,
    /// What is wrong with it.
    pub findings: Vec<FindingBody>,
    /// Findings left out because the reply would not fit into one message.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub findings_omitted: u64,
    /// Identifiers of the covered spans that it leaves out, most telling first; the list is cut
    /// short.
    pub omitted_identifiers: Vec<OmittedBody>,
    /// How many it leaves out in all.
    pub omitted_total: u32,
    /// How many summaries deep it is: 1 over primary spans.
    pub depth: u32,
    /// Attempts over these spans that may still be refused.
    pub attempts_left: u32,
    /// What to do instead, once no attempt is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<FallbackBody>,
    /// Set if the way out is longer than a message: prune the covered spans in parts, or take what
    /// `suggest` says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fallback_omitted: bool,
    /// Set if this is the first reply again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

/// Something that is wrong with a summary or an audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FindingBody {
    /// What it is.
    pub code: String,
    /// The claim, counted from 0; none if it concerns the text or the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<u32>,
    /// The span concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<String>,
    /// What to change.
    pub message: String,
}

impl From<&(Finding, String)> for FindingBody {
    fn from((finding, message): &(Finding, String)) -> Self {
        Self {
            code: finding.code.word().to_owned(),
            claim: finding.claim,
            span: finding.span.as_ref().map(ToString::to_string),
            message: message.clone(),
        }
    }
}

/// An identifier that a summary leaves out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OmittedBody {
    /// The identifier.
    pub text: String,
    /// The first covered span that holds it.
    pub span: String,
    /// What it looks like.
    pub kind: String,
}

impl From<&Omitted> for OmittedBody {
    fn from(omitted: &Omitted) -> Self {
        Self {
            text: omitted.text.clone(),
            span: omitted.span.to_string(),
            kind: omitted.kind.word().to_owned(),
        }
    }
}

/// The mechanical way out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FallbackBody {
    /// A complete request for `prune`.
    pub directive: PruneRequest,
}

impl From<&SummaryReply> for SummarizeReply {
    fn from(reply: &SummaryReply) -> Self {
        let fallback = |spans: &Vec<SpanId>| FallbackBody {
            directive: PruneRequest {
                spans: spans.iter().map(ToString::to_string).collect(),
                mode: Some("drop".into()),
                reason: Some("every summary of what was to be summarised was refused".into()),
                ..PruneRequest::default()
            },
        };
        Self {
            status: reply.status.word().to_owned(),
            summary: reply.summary.to_string(),
            handle: reply.handle.to_string(),
            version: reply.version,
            findings: reply.findings.iter().map(Into::into).collect(),
            findings_omitted: 0,
            omitted_identifiers: reply.omitted.iter().map(Into::into).collect(),
            omitted_total: reply.omitted_total,
            depth: reply.depth,
            attempts_left: reply.attempts_left,
            fallback: reply.fallback.as_ref().map(fallback),
            fallback_omitted: false,
            duplicate: false,
        }
    }
}

impl From<&Claim> for ClaimBody {
    fn from(claim: &Claim) -> Self {
        let source = |source: &ClaimSource| ClaimSourceBody {
            span: source.span.to_string(),
            quote: source.quote.clone(),
        };
        Self {
            text: claim.text.clone(),
            origin: claim.origin.word().to_owned(),
            sources: claim.sources.iter().map(source).collect(),
        }
    }
}
