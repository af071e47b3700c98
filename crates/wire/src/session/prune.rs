//! `prune`.

use lacuna_core::{Command, Gate, Prune, PruneMode, PruneReply, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{span_id, span_ids, word};
use crate::common::request;
use crate::retention::period;
use crate::{BudgetBody, CheckBody, CostBody, WireError};

request! {
    /// Take spans out of the window, all or none.
    PruneRequest {
        /// The spans; at most 10,000 unless configured otherwise.
        spans: Vec<String>,
        /// `drop` (default), `summarize` or `compress`: recorded, without influence.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<String>,
        /// A summary that takes their place.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replace_with: Option<String>,
        /// Whether to lose what cannot be recovered. Only the literal `true` consents.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        accept_lossy: Option<bool>,
        /// How long the copies must live at least: `72h`, `30d`, `90m`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min_durability: Option<String>,
        /// The pruner's words: recorded, without influence.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Only tell the verdict.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dry_run: Option<bool>,
    }
}

impl PruneRequest {
    /// The command.
    pub fn command(&self) -> Result<Command, WireError> {
        let mode = match &self.mode {
            None => PruneMode::Drop,
            Some(text) => word("mode", text, PruneMode::from_word)?,
        };
        Ok(Command::Prune(Prune {
            spans: span_ids(&self.spans)?,
            mode,
            replace_with: self.replace_with.as_deref().map(span_id).transpose()?,
            accept_lossy: self.accept_lossy == Some(true),
            min_durability_ms: self
                .min_durability
                .as_deref()
                .map(period)
                .transpose()?
                .map(|period| period.0),
            reason: self.reason.clone(),
            dry_run: self.dry_run == Some(true),
        }))
    }
}

/// The directive is decided, and carried out unless it was refused or a dry run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PruneReplyBody {
    /// `reversible`, `lossy`, `mixed` or `rejected`.
    pub status: String,
    /// The directive's id, which is also a handle for its spans; `dry-run` for a dry run, which is
    /// no directive and leads nowhere.
    pub directive: String,
    /// The session's version.
    pub version: u64,
    /// The spans, in session order.
    pub spans: Vec<PrunedBody>,
    /// Spans left out of `spans` because the reply would not fit into one message. Their verdicts
    /// count in `status`; `expand` of the directive lists them all, page by page.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub spans_omitted: u64,
    /// Why it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// The spans for which it was refused, or that are missing from it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concerned: Vec<String>,
    /// Window tokens freed.
    pub freed_tokens: i64,
    /// What it costs at the provider.
    pub cost: CostBody,
    /// The budget after it.
    pub budget: BudgetBody,
    /// Set if this is the first reply again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

/// The verdict on one span.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrunedBody {
    /// The span.
    pub id: String,
    /// `reversible`, `lossy` or `rejected`.
    pub status: String,
    /// The handle that leads back to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<String>,
    /// The text that stands for it, if it is lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tombstone: Option<String>,
    /// Until when its copy lives; null: for ever.
    pub durable_until: Option<String>,
    /// What was established.
    pub check: CheckBody,
}

impl From<&PruneReply> for PruneReplyBody {
    fn from(reply: &PruneReply) -> Self {
        let spans = reply.spans.iter().map(|span| PrunedBody {
            id: span.span.to_string(),
            status: match span.gate {
                Gate::Reversible => "reversible",
                Gate::Lossy => "lossy",
                Gate::Rejected => "rejected",
            }
            .to_owned(),
            handle: span.handle.as_ref().map(ToString::to_string),
            tombstone: span.tombstone.clone(),
            durable_until: span.durable_until.map(|time| time.to_string()),
            check: (&span.check).into(),
        });
        Self {
            status: match reply.verdict {
                Verdict::Reversible => "reversible",
                Verdict::Lossy => "lossy",
                Verdict::Mixed => "mixed",
                Verdict::Rejected => "rejected",
            }
            .to_owned(),
            directive: reply
                .directive
                .map_or_else(|| "dry-run".into(), |number| number.to_string()),
            version: reply.version,
            spans: spans.collect(),
            spans_omitted: 0,
            reason: reply.reason.map(|reason| reason.word().to_owned()),
            advice: reply.advice.clone(),
            concerned: reply.concerned.iter().map(ToString::to_string).collect(),
            freed_tokens: reply.freed_tokens,
            cost: (&reply.cost).into(),
            budget: reply.budget.into(),
            duplicate: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_literal_true_consents() {
        let read = |value: &str| {
            let body = format!("{{\"spans\":[\"a\"],\"accept_lossy\":{value}}}");
            crate::parse::<PruneRequest>(body.as_bytes()).and_then(|request| request.command())
        };
        let consents = |value| matches!(read(value), Ok(Command::Prune(p)) if p.accept_lossy);
        assert!(consents("true"));
        assert!(!consents("false") && !consents("null"));
        for bad in ["\"true\"", "1", "[]", "{}"] {
            assert!(read(bad).is_err(), "{bad} was accepted");
        }
    }
}
