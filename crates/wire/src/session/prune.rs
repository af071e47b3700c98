//! `prune`.

use lacuna_core::{Command, Gate, Prune, PruneMode, PruneReply, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{span_id, span_ids, word};
use crate::common::request;
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
            min_durability_ms: self.min_durability.as_deref().map(duration_ms).transpose()?,
            reason: self.reason.clone(),
            dry_run: self.dry_run == Some(true),
        }))
    }
}

/// Reads a duration such as `90s`, `15m`, `72h`, `30d`, `2w`, or several of these in a row, in
/// milliseconds. At most 1,000 years.
pub fn duration_ms(text: &str) -> Result<u64, WireError> {
    const MAX: u64 = 1_000 * 365 * 86_400_000;
    let bad = || {
        let text: String = text.chars().take(40).collect();
        WireError::bad_request(format!("{text:?} is no duration: write it like 90s, 72h or 30d"))
    };
    let (mut total, mut number): (u64, Option<u64>) = (0, None);
    for c in text.chars() {
        if let Some(digit) = c.to_digit(10) {
            let grown =
                number.unwrap_or(0).checked_mul(10).and_then(|n| n.checked_add(digit.into()));
            number = Some(grown.ok_or_else(bad)?);
            continue;
        }
        let unit = match c {
            's' => 1_000,
            'm' => 60_000,
            'h' => 3_600_000,
            'd' => 86_400_000,
            'w' => 7 * 86_400_000,
            _ => return Err(bad()),
        };
        let part = number.take().ok_or_else(bad)?.checked_mul(unit).ok_or_else(bad)?;
        total = total.checked_add(part).filter(|total| *total <= MAX).ok_or_else(bad)?;
    }
    if number.is_some() || text.is_empty() {
        return Err(bad());
    }
    Ok(total)
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
    fn durations_are_bounded_and_have_units() {
        assert_eq!(duration_ms("72h"), Ok(72 * 3_600_000));
        assert_eq!(duration_ms("1d12h"), Ok(36 * 3_600_000));
        for bad in ["", "72", "h", "-1h", "1y", "1.5h", "99999999999999999999h", "400000d"] {
            assert!(duration_ms(bad).is_err(), "{bad:?} was accepted");
        }
    }

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
