//! Deciding an audit: whose verdict on a summary counts.

use std::collections::BTreeSet;

use super::{Decision, Reply, bound_remark, unknown};
use crate::command::Audit;
use crate::contract::audit_sentence;
use crate::event::SummaryAudited;
use crate::finding::{Finding, FindingCode};
use crate::state::SpanState;
use crate::{Context, Contract, Event, Outcome, Principal, Refusal, SessionState, SpanIndex};

/// The reply to an audit.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditReply {
    /// Whether it counts.
    pub counts: bool,
    /// Whether the summary may stand for its spans now, by all the audits that count; false if this
    /// one does not count.
    pub accepted: bool,
    /// The session's version.
    pub version: u64,
    /// Why it does not, each with the sentence that says what to do.
    pub findings: Vec<(Finding, String)>,
}

pub(super) fn decide(
    state: &SessionState,
    audit: &Audit,
    context: &Context,
) -> Result<Decision, Refusal> {
    let remarks = audit.notes.iter().flat_map(|note| [&note.code, &note.message]).flatten();
    let remarks: String = remarks.map(String::as_str).collect();
    bound_remark(Some(&remarks), context)?;
    super::bound("findings of an audit", audit.notes.len(), 1_000, "report the worst")?;
    let Some(summary) = state.find_summary(&audit.summary) else {
        unknown(state, [&audit.summary])?;
        return Err(Refusal::BadRequest(format!(
            "{} is no summary: only summaries are audited",
            audit.summary
        )));
    };
    let refused = summary.summary.as_ref().filter(|own| own.refused());
    let findings = match refused {
        // There is nothing left to judge; the answer is why it was refused.
        Some(own) => own.findings.clone(),
        None => findings(state, summary, &context.principal),
    };
    let counts = findings.is_empty() || state.contract == Contract::Record;
    let accepted = refused.is_none() && counts;
    let event = SummaryAudited {
        summary: summary.id.clone(),
        pass: audit.pass,
        accepted,
        findings,
        notes: audit.notes.clone(),
    };
    let failed = state.failed_by_another(&summary.id, &context.principal);
    let reply = reply(&event, failed, state.version + 1);
    Ok(Decision {
        events: vec![Event::SummaryAudited(event)],
        reply: Reply::Audited(Box::new(reply)),
    })
}

/// The reply to an audit that made this event; `failed`: whether somebody else's fail stands.
pub(super) fn reply(event: &SummaryAudited, failed: bool, version: u64) -> AuditReply {
    let findings = event.findings.iter();
    AuditReply {
        counts: event.accepted,
        accepted: event.accepted && event.pass && !failed,
        version,
        findings: findings.map(|f| (f.clone(), audit_sentence(f.code, f))).collect(),
    }
}

/// An auditor is somebody else than the author, and has read the raw spans: those covered and those
/// cited, and those behind a covered summary that nobody has passed yet. Of one that somebody has
/// passed, what the claims cite is enough.
fn findings(state: &SessionState, summary: &SpanState, auditor: &Principal) -> Vec<Finding> {
    if summary.by == *auditor {
        return vec![Finding::new(FindingCode::SelfAudited).span(&summary.id)];
    }
    let own = summary.summary.iter();
    let unaudited = |index: SpanIndex| {
        let own = state.span(index).summary.as_ref().filter(|own| !own.audited());
        own.map(|_| state.primaries(index))
    };
    let mut all: BTreeSet<SpanIndex> =
        own.flat_map(|own| own.covers.iter().chain(&own.cites)).copied().collect();
    all.extend(all.clone().into_iter().filter_map(unaudited).flatten());
    let outcome = |index: SpanIndex| state.outcome(state.span(index));
    let readable =
        all.into_iter().filter(|&i| !matches!(outcome(i), Outcome::Lossy | Outcome::Withheld));
    let (secondary, raw): (Vec<_>, Vec<_>) = readable.partition(|&i| state.span(i).is_summary());
    // Where nothing primary is left, the summaries behind it are what can be read.
    let needed = if raw.is_empty() { secondary } else { raw };
    if needed.is_empty() {
        return vec![Finding::new(FindingCode::AuditorWithoutEvidence)];
    }
    needed
        .into_iter()
        .filter(|&index| state.read_by(index, auditor).is_none())
        .map(|index| Finding::new(FindingCode::AuditorWithoutEvidence).span(&state.span(index).id))
        .take(200)
        .collect()
}
