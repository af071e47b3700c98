//! Events as readable JSON: the twins of the golden files. Numbers are exact; a reader that keeps
//! numbers as floating point loses those beyond 2^53.

use lacuna_codec::KINDS;
use lacuna_core::event::{Cause, Event, Match, PrunedSpan, Recorded, Rule};
use lacuna_core::{Finding, SessionState, SpanId, Storage};
use serde_json::{Value, json};

pub(crate) fn recorded(recorded: &Recorded) -> Value {
    let name = match recorded.imported {
        None => recorded.event.kind(),
        Some(_) => "event-imported",
    };
    let kind = KINDS.iter().find(|kind| kind.name == name).unwrap();
    json!({
        "kind": { "number": kind.number, "name": name, "version": kind.version },
        "seq": recorded.seq,
        "version": recorded.version,
        "session": recorded.session.0,
        "at_ms": recorded.at.0,
        "principal": recorded.principal.as_str(),
        "command": recorded.command.as_ref().map(|stamp| json!({
            "id": stamp.id.as_str(),
            "request": hex(&stamp.request),
        })),
        "previous": recorded.previous.to_string(),
        "hash": recorded.hash.to_string(),
        "body": match &recorded.imported {
            None => event(&recorded.event),
            Some(imported) => json!({
                "journal": imported.journal,
                "by": imported.by.as_str(),
                "passed": imported.passed,
                "what": recorded.event.kind(),
                "event": event(&recorded.event),
                "there": {
                    "seq": imported.seq,
                    "session": imported.session.0,
                    "key": imported.key.as_ref().map(ToString::to_string),
                    "at_ms": imported.at.0,
                    "previous": imported.previous.to_string(),
                    "hash": imported.hash.to_string(),
                    "stored": hex(&imported.stored),
                },
            }),
        },
    })
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn ids(spans: &[SpanId]) -> Vec<&str> {
    spans.iter().map(SpanId::as_str).collect()
}

fn id(span: &Option<SpanId>) -> Option<&str> {
    span.as_ref().map(SpanId::as_str)
}

fn pruned(spans: &[PrunedSpan]) -> Vec<Value> {
    let span = |s: &PrunedSpan| {
        json!({
            "span": s.span.as_str(),
            "digest": s.digest.to_string(),
            "existence": s.check.existence,
            "addressability": s.check.addressability,
            "provenance": s.check.provenance,
            "why": s.check.why,
            "durable_until": s.durable_until.map(|time| time.0),
        })
    };
    spans.iter().map(span).collect()
}

fn findings(findings: &[Finding]) -> Vec<Value> {
    let finding = |f: &Finding| json!({ "code": f.code.word(), "claim": f.claim, "span": id(&f.span), "at": f.at });
    findings.iter().map(finding).collect()
}

fn event(event: &Event) -> Value {
    match event {
        Event::SessionOpened(e) => json!({
            "tenant": e.key.tenant.as_str(),
            "session": e.key.session.as_str(),
            "window_tokens": e.window_tokens,
            "reserve_ppm": e.reserve_ppm,
            "contract": e.contract.word(),
            "labels": e.labels,
        }),
        Event::SpanRecorded(e) => json!({
            "span": e.span.as_str(),
            "role": e.role.word(),
            "origin": e.origin.word(),
            "kind": e.kind.word(),
            "storage": match &e.storage {
                Storage::Journal => json!("journal"),
                Storage::Withheld { reason } => json!({ "withheld": reason }),
                Storage::External { store, key } => json!({ "external": [store, key] }),
            },
            "digest": e.digest.to_string(),
            "bytes": e.bytes,
            "media_type": e.media_type,
            "tokens": e.tokens,
            "tokens_from": e.tokens_from.word(),
            "hedged": e.hedged,
            "pinned": e.pinned,
            "in_window": e.in_window,
            "turn": e.turn,
            "answers": id(&e.answers),
            "supersedes": id(&e.supersedes),
            "labels": e.labels,
            "source": e.source,
        }),
        Event::SummaryRecorded(e) => json!({
            "span": e.span.as_str(),
            "covers": ids(&e.covers),
            "digest": e.digest.to_string(),
            "bytes": e.bytes,
            "tokens": e.tokens,
            "claims": {
                "count": e.claims.count,
                "bytes": e.claims.bytes,
                "digest": e.claims.digest.to_string(),
            },
            "cites": ids(&e.cites),
            "asked": id(&e.asked),
            "status": e.status.word(),
            "findings": findings(&e.findings),
            "depth": e.depth,
            "tag_tokens": e.tag_tokens,
            "identifiers": e.identifiers,
            "identifiers_kept": e.identifiers_kept,
        }),
        Event::SummaryAudited(e) => json!({
            "summary": e.summary.as_str(),
            "pass": e.pass,
            "accepted": e.accepted,
            "findings": findings(&e.findings),
            "notes": e.notes.iter().map(|note| json!({
                "code": note.code,
                "claim": note.claim,
                "span": id(&note.span),
                "message": note.message,
            })).collect::<Vec<_>>(),
        }),
        Event::AlertRaised(e) => json!({
            "alert": e.alert.word(),
            "spans": ids(&e.spans),
            "message": e.message,
        }),
        Event::PruneExecuted(e) => json!({
            "directive": e.directive.0,
            "mode": e.mode.word(),
            "spans": pruned(&e.spans),
            "replace_with": id(&e.replace_with),
            "accept_lossy": e.accept_lossy,
            "min_durability_ms": e.min_durability_ms,
            "reason": e.reason,
            "freed_tokens": e.freed_tokens,
            "prefix_kept_tokens": e.cost.prefix_kept_tokens,
            "prefix_rewritten_tokens": e.cost.prefix_rewritten_tokens,
            "thinking_invalidated": ids(&e.cost.thinking_invalidated),
        }),
        Event::PruneRejected(e) => json!({
            "directive": e.directive.0,
            "mode": e.mode.word(),
            "spans": pruned(&e.spans),
            "why": e.why.word(),
            "advice": e.advice,
            "concerned": ids(&e.concerned),
            "replace_with": id(&e.replace_with),
            "accept_lossy": e.accept_lossy,
            "reason": e.reason,
        }),
        Event::LossyCommitted(e) => json!({
            "spans": e.spans.iter().map(|lost| json!({
                "span": lost.span.as_str(),
                "digest": lost.digest.to_string(),
                "bytes": lost.bytes,
                "tokens": lost.tokens,
            })).collect::<Vec<_>>(),
            "cause": match &e.cause {
                Cause::Directive { directive, by } => json!({
                    "directive": directive.0,
                    "by": by.as_str(),
                }),
                Cause::Damage { found } => json!({ "damage": found }),
                Cause::Retention { run, policy, rule } => json!({
                    "run": run, "policy": policy, "rule": rule,
                }),
                Cause::Erasure { by, reason } => json!({ "by": by.as_str(), "reason": reason }),
            },
            "residue": e.residue,
        }),
        Event::PolicySet(e) => json!({
            "policy": e.policy,
            "rules": e.rules.iter().map(rule).collect::<Vec<_>>(),
        }),
        Event::HoldPlaced(e) => json!({
            "hold": e.hold, "match": matches(&e.matches), "reason": e.reason,
        }),
        Event::HoldReleased(e) => json!({ "hold": e.hold, "reason": e.reason }),
        Event::NoticeGiven(e) => json!({
            "run": e.run,
            "policy": e.policy,
            "spans": e.spans.iter().map(|noticed| json!({
                "span": noticed.span.as_str(),
                "rule": noticed.rule,
                "erases_at_ms": noticed.erases_at.0,
            })).collect::<Vec<_>>(),
        }),
        Event::RunOpened(e) => json!({
            "run": e.run,
            "cut": e.cut,
            "effective_now_ms": e.effective_now.0,
            "policy": e.policy,
            "unlimited": e.unlimited,
        }),
        Event::RunClosed(e) => json!({
            "run": e.run,
            "end": e.end.word(),
            "removed_spans": e.tally.removed_spans,
            "removed_bytes": e.tally.removed_bytes,
            "noticed": e.tally.noticed,
            "deferred": e.tally.deferred,
            "held": e.tally.held,
        }),
        Event::WindowReceipted(e) => json!({
            "receipt": e.receipt,
            "window_version": e.window_version,
            "turn": e.turn,
            "entries": e.entries,
            "entries_digest": e.entries_digest.to_string(),
            "rendered": e.rendered.map(|(form, _)| form.word()),
            "rendered_digest": e.rendered.map(|(_, digest)| digest.to_string()),
            "sent_digest": e.sent_digest.map(|digest| digest.to_string()),
        }),
        Event::SessionForked(e) => json!({
            "session": e.key.to_string(),
            "parent": e.parent.to_string(),
            "parent_number": e.parent_number.0,
            "at": e.at,
        }),
        Event::SpanRestored(e) => json!({ "span": e.span.as_str() }),
        Event::SpanRead(e) => json!({ "span": e.span.as_str(), "purpose": e.purpose.word() }),
        Event::ContradictionNoted(e) => json!({
            "contradiction": e.contradiction,
            "spans": ids(&e.spans),
            "note": e.note,
        }),
        Event::ContradictionResolved(e) => json!({
            "contradiction": e.contradiction,
            "note": e.note,
        }),
        Event::SessionClosed => json!({}),
    }
}

fn matches(m: &Match) -> Value {
    json!({
        "sessions": m.sessions,
        "origins": m.origins.iter().map(|origin| origin.word()).collect::<Vec<_>>(),
        "kinds": m.kinds.iter().map(|kind| kind.word()).collect::<Vec<_>>(),
        "labels": m.labels,
        "pruned": m.pruned,
    })
}

fn rule(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "match": matches(&rule.matches),
        "forever": rule.keep.forever,
        "period_ms": rule.keep.period.map(|(period, _)| period.0),
        "since": rule.keep.period.map(|(_, since)| since.word()),
        "max_bytes": rule.keep.max_bytes,
        "max_spans": rule.keep.max_spans,
        "notice_ms": rule.notice.0,
        "live_handles": rule.live_handles.word(),
        "residue": rule.residue,
    })
}

/// What a state says to the outside. Its stored form holds more, which equality compares.
pub(crate) fn state(state: &SessionState) -> Value {
    json!({
        "session": state.number.0,
        "name": state.key.to_string(),
        "version": state.version,
        "seq": state.seq,
        "at_ms": state.at.0,
        "head": state.head.to_string(),
        "labels": state.labels,
        "used_tokens": state.budget().used_tokens,
        "closed": state.closed(),
        "spans": state.spans().iter().map(|span| json!({
            "id": span.id.as_str(),
            "seq": span.seq,
            "outcome": state.outcome(span).word(),
        })).collect::<Vec<_>>(),
        "window": state.entries().map(|entry| json!({
            "kind": entry.kind.word(),
            "spans": entry.spans,
            "tokens": entry.tokens,
            "text": entry.text,
        })).collect::<Vec<_>>(),
    })
}
