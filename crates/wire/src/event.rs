//! Events as JSON, for `history` and the feed. They carry no content of spans.

use lacuna_core::event::{Event, PrunedSpan, Recorded, SpanRecorded};
use lacuna_core::retention::hold_name;
use lacuna_core::{Cause, Finding, Handle, SessionKey, SpanId, Storage, Timestamp, tombstone_text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::retention::{MatchBody, RemovedBody, RuleBody, policy_name, run_name};
use crate::session::{CauseBody, contradiction_id, receipt_name};

/// An event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventBody {
    /// The journal's id.
    pub journal: String,
    /// Position in the journal.
    pub seq: u64,
    /// Position in the session.
    pub version: u64,
    /// The namespace.
    pub tenant: String,
    /// The session.
    pub session: String,
    /// Record time.
    pub at: String,
    /// Who sent the command.
    pub principal: String,
    /// The command's id, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_id: Option<String>,
    /// What happened.
    pub kind: String,
    /// The hash of the event.
    pub hash: String,
    /// The hash of the session's previous event; zeros for its first.
    #[serde(default)]
    pub previous: String,
    /// Where it was recorded first, if that was in another journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportedBody>,
    /// The fields of its kind.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

/// Where an event was recorded first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedBody {
    /// The journal.
    pub journal: String,
    /// Its position there.
    pub seq: u64,
    /// When it was recorded there.
    pub at: String,
    /// Its hash there.
    pub hash: String,
    /// Who brought it here. `principal` is who acted there.
    pub by: String,
}

/// An event of this session as JSON.
pub fn event_body(journal: &str, key: &SessionKey, recorded: &Recorded) -> EventBody {
    EventBody {
        journal: journal.to_owned(),
        seq: recorded.seq,
        version: recorded.version,
        tenant: key.tenant.to_string(),
        session: key.session.to_string(),
        at: recorded.at.to_string(),
        principal: recorded.principal.to_string(),
        command_id: recorded.stamp().map(|stamp| stamp.id.as_str().to_owned()),
        kind: recorded.event.kind().to_owned(),
        hash: recorded.hash.to_string(),
        previous: recorded.previous.to_string(),
        imported: recorded.imported.as_ref().map(|imported| ImportedBody {
            journal: imported.journal.clone(),
            seq: imported.seq,
            at: imported.at.to_string(),
            hash: imported.hash.to_string(),
            by: imported.by.to_string(),
        }),
        fields: fields(recorded),
    }
}

/// Why a span was lost.
pub fn cause_json(cause: &Cause, at: Timestamp) -> CauseBody {
    let of =
        |kind: &str| CauseBody { kind: kind.into(), at: at.to_string(), ..CauseBody::default() };
    match cause {
        Cause::Directive { directive, by } => CauseBody {
            by: Some(by.to_string()),
            directive: Some(directive.to_string()),
            ..of("directive")
        },
        Cause::Damage { found } => CauseBody { why: Some(found.clone()), ..of("damage") },
        Cause::Retention { run, policy, rule } => CauseBody {
            run: Some(run_name(*run)),
            policy: policy_name(*policy),
            rule: Some(rule.clone()),
            ..of("retention")
        },
        Cause::Erasure { by, reason } => {
            CauseBody { by: Some(by.to_string()), why: Some(reason.clone()), ..of("erasure") }
        }
    }
}

fn fields(recorded: &Recorded) -> Map<String, Value> {
    let value = match &recorded.event {
        Event::SessionOpened(e) => json!({
            "window_tokens": e.window_tokens,
            "reserve_ratio": f64::from(e.reserve_ppm) / 1e6,
            "contract": e.contract.word(),
            "labels": e.labels,
        }),
        Event::SpanRecorded(e) => span_recorded(e),
        Event::SummaryRecorded(e) => json!({
            "span": e.span,
            "summary": e.span,
            "covers": e.covers,
            "digest": e.digest.to_string(),
            "bytes": e.bytes,
            "tokens": e.tokens,
            "handle": Handle::new(&e.span, &e.digest).to_string(),
            // Claims are content: only their number travels.
            "claims": e.claims.count,
            "asked": e.asked,
            "status": e.status.word(),
            "findings": findings(&e.findings),
            "depth": e.depth,
            "identifiers": e.identifiers,
            "identifiers_kept": e.identifiers_kept,
        }),
        Event::SummaryAudited(e) => json!({
            "summary": e.summary,
            "verdict": if e.pass { "pass" } else { "fail" },
            "status": if e.accepted { "accepted" } else { "rejected" },
            "findings": findings(&e.findings),
            // What an auditor writes may quote a span: only what it points at travels.
            "remarks": e.notes.iter().map(|note| json!({
                "claim": note.claim,
                "span": note.span,
            })).collect::<Vec<_>>(),
        }),
        Event::AlertRaised(e) => json!({
            "alert": e.alert.word(),
            "spans": e.spans,
            "message": e.message,
        }),
        Event::PruneExecuted(e) => json!({
            "directive": e.directive.to_string(),
            "mode": e.mode.word(),
            "spans": e.spans.iter().map(executed).collect::<Vec<_>>(),
            "replace_with": e.replace_with,
            "accept_lossy": e.accept_lossy,
            "reason": e.reason,
            "freed_tokens": e.freed_tokens,
            "cost": {
                "prefix_kept_tokens": e.cost.prefix_kept_tokens,
                "prefix_rewritten_tokens": e.cost.prefix_rewritten_tokens,
                "thinking_invalidated": e.cost.thinking_invalidated,
            },
        }),
        Event::PruneRejected(e) => json!({
            "directive": e.directive.to_string(),
            "mode": e.mode.word(),
            "reason": e.why.word(),
            "advice": e.advice,
            "spans": e.spans.iter().map(rejected).collect::<Vec<_>>(),
            "concerned": e.concerned,
            "replace_with": e.replace_with,
            "accept_lossy": e.accept_lossy,
            "given_reason": e.reason,
        }),
        Event::LossyCommitted(e) => json!({
            "spans": e.spans.iter().map(|lost| json!({
                "id": lost.span,
                "digest": lost.digest.to_string(),
                "bytes": lost.bytes,
                "tokens": lost.tokens,
                "tombstone": tombstone_text(&lost.span),
            })).collect::<Vec<_>>(),
            "cause": cause_json(&e.cause, recorded.happened_at()),
            "residue": e.residue,
        }),
        Event::SpanRestored(e) => json!({ "span": e.span }),
        Event::SpanRead(e) => json!({ "span": e.span, "purpose": e.purpose.word() }),
        Event::ContradictionNoted(e) => json!({
            "contradiction": contradiction_id(e.contradiction),
            "spans": e.spans,
            "note": e.note,
        }),
        Event::ContradictionResolved(e) => json!({
            "contradiction": contradiction_id(e.contradiction),
            "note": e.note,
        }),
        Event::SessionClosed => json!({}),
        Event::PolicySet(e) => json!({
            "policy": policy_name(e.policy),
            "rules": e.rules.iter().map(RuleBody::from).collect::<Vec<_>>(),
        }),
        Event::HoldPlaced(e) => json!({
            "hold": hold_name(e.hold),
            "match": MatchBody::from(&e.matches),
            "reason": e.reason,
        }),
        Event::HoldReleased(e) => json!({ "hold": hold_name(e.hold), "reason": e.reason }),
        Event::NoticeGiven(e) => json!({
            "run": run_name(e.run),
            "policy": policy_name(e.policy),
            "spans": e.spans.iter().map(|noticed| json!({
                "id": noticed.span,
                "rule": noticed.rule,
                "erases_at": noticed.erases_at.to_string(),
            })).collect::<Vec<_>>(),
        }),
        Event::RunOpened(e) => json!({
            "run": run_name(e.run),
            "cut": e.cut,
            "effective_now": e.effective_now.to_string(),
            "policy": policy_name(e.policy),
            "unlimited": e.unlimited,
        }),
        Event::RunClosed(e) => json!({
            "run": run_name(e.run),
            "status": e.end.word(),
            "removed": RemovedBody::of(&e.tally),
            "noticed": e.tally.noticed,
            "deferred": e.tally.deferred,
            "held": e.tally.held,
        }),
        Event::WindowReceipted(e) => json!({
            "receipt": receipt_name(e.receipt),
            "window_version": e.window_version,
            "turn": e.turn,
            "entries": e.entries,
            "entries_digest": e.entries_digest.to_string(),
            "rendered": e.rendered.map(|(form, _)| form.word()),
            "rendered_digest": e.rendered.map(|(_, digest)| digest.to_string()),
            "sent_digest": e.sent_digest.map(|digest| digest.to_string()),
            "discrepancy": e.is_discrepant(),
        }),
        Event::SessionForked(e) => json!({ "from": e.parent.session, "from_version": e.at }),
    };
    let Value::Object(mut fields) = value else { return Map::new() };
    fields.retain(|_, value| !value.is_null());
    fields
}

/// Findings without their sentences, which repeat words of the claims.
fn findings(findings: &[Finding]) -> Vec<Value> {
    let finding = |finding: &Finding| {
        let mut value = json!({ "code": finding.code.word() });
        if let Some(claim) = finding.claim {
            value["claim"] = claim.into();
        }
        if let Some(span) = &finding.span {
            value["span"] = span.as_str().into();
        }
        value
    };
    findings.iter().map(finding).collect()
}

fn span_recorded(e: &SpanRecorded) -> Value {
    let storage = match &e.storage {
        Storage::Journal => json!("journal"),
        Storage::Withheld { reason } => json!({ "withheld": reason }),
        Storage::External { store, key } => json!({ "store": store, "key": key }),
    };
    json!({
        "span": e.span,
        "role": e.role.word(),
        "origin": e.origin.word(),
        "span_kind": e.kind.word(),
        "digest": e.digest.to_string(),
        "bytes": e.bytes,
        "tokens": e.tokens,
        "tokens_from": e.tokens_from.word(),
        "handle": Handle::new(&e.span, &e.digest).to_string(),
        "turn": e.turn,
        "media_type": e.media_type,
        "storage": storage,
        "hedged": e.hedged,
        "pinned": e.pinned,
        "in_window": e.in_window,
        "answers": e.answers,
        "supersedes": e.supersedes,
        "labels": e.labels,
        "source": e.source.as_ref().map(|source| json!({
            "format": source.format,
            "id": source.id,
            "parent": source.parent,
            "time": source.time,
        })),
    })
}

fn executed(span: &PrunedSpan) -> Value {
    let handle: Option<String> =
        span.check.holds().then(|| Handle::new(&span.span, &span.digest).to_string());
    let mut value = rejected(span);
    value["handle"] = json!(handle);
    value["status"] = json!(if span.check.holds() { "reversible" } else { "lossy" });
    value
}

fn rejected(span: &PrunedSpan) -> Value {
    let id: &SpanId = &span.span;
    json!({
        "id": id,
        "check": crate::CheckBody::from(&span.check),
        "durable_until": span.durable_until.map(|time| time.to_string()),
    })
}
