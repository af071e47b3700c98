//! Between the frozen bodies and the domain's events. Reading checks; writing cannot fail.

use lacuna_core::event::{
    Cause, Check, ContradictionNoted, ContradictionResolved, Cost, LossyCommitted, LostSpan,
    PruneExecuted, PruneRejected, PrunedSpan, SessionOpened, SpanRead, SpanRecorded, SpanRestored,
};
use lacuna_core::{Digest, DirectiveNo, SessionKey, Source, SpanId, Storage, Timestamp};

use super::v1::{
    ContradictionNotedV1, ContradictionResolvedV1, LossyCommittedV1, LostSpanV1, Pairs,
    PruneExecutedV1, PruneRejectedV1, PrunedSpanV1, SessionOpenedV1, SourceV1, SpanReadV1,
    SpanRecordedV1, SpanRestoredV1,
};
use super::v2::LossyCommittedV2;
use super::words::Numbered;
use crate::CodecError;

pub(super) fn id(text: String) -> Result<SpanId, CodecError> {
    text.parse().map_err(|error| CodecError::damaged("event body", format!("{error}")))
}

pub(super) fn ids(texts: Vec<String>) -> Result<Vec<SpanId>, CodecError> {
    texts.into_iter().map(id).collect()
}

pub(super) fn texts(ids: &[SpanId]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

pub(super) fn some(id: Option<&SpanId>) -> Option<String> {
    id.map(ToString::to_string)
}

pub(super) fn pairs(labels: &std::collections::BTreeMap<String, String>) -> Pairs {
    labels.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
}

impl From<&SessionOpened> for SessionOpenedV1 {
    fn from(e: &SessionOpened) -> Self {
        Self {
            tenant: e.key.tenant.to_string(),
            session: e.key.session.to_string(),
            window_tokens: e.window_tokens,
            reserve_ppm: e.reserve_ppm,
            contract: e.contract.number(),
            labels: pairs(&e.labels),
        }
    }
}

impl TryFrom<SessionOpenedV1> for SessionOpened {
    type Error = CodecError;
    fn try_from(b: SessionOpenedV1) -> Result<Self, CodecError> {
        let name = |error: lacuna_core::InvalidName| {
            CodecError::damaged("session-opened", error.to_string())
        };
        Ok(Self {
            key: SessionKey {
                tenant: b.tenant.parse().map_err(name)?,
                session: b.session.parse().map_err(name)?,
            },
            window_tokens: b.window_tokens,
            reserve_ppm: b.reserve_ppm,
            contract: Numbered::from_number(b.contract)?,
            labels: b.labels.into_iter().collect(),
        })
    }
}

impl From<&SpanRecorded> for SpanRecordedV1 {
    fn from(e: &SpanRecorded) -> Self {
        let (storage, store, key) = match &e.storage {
            Storage::Journal => (1, String::new(), String::new()),
            Storage::Withheld { reason } => (2, reason.clone(), String::new()),
            Storage::External { store, key } => (3, store.clone(), key.clone()),
        };
        Self {
            span: e.span.to_string(),
            role: e.role.number(),
            origin: e.origin.number(),
            kind: e.kind.number(),
            storage,
            store,
            key,
            digest: e.digest.0,
            bytes: e.bytes,
            media_type: e.media_type.clone(),
            tokens: e.tokens,
            tokens_from: e.tokens_from.number(),
            hedged: e.hedged,
            pinned: e.pinned,
            in_window: e.in_window,
            turn: e.turn,
            answers: some(e.answers.as_ref()),
            supersedes: some(e.supersedes.as_ref()),
            labels: pairs(&e.labels),
            source: e.source.as_ref().map(|source| SourceV1 {
                format: source.format.clone(),
                id: source.id.clone(),
                parent: source.parent.clone(),
                time: source.time.clone(),
            }),
        }
    }
}

impl TryFrom<SpanRecordedV1> for SpanRecorded {
    type Error = CodecError;
    fn try_from(b: SpanRecordedV1) -> Result<Self, CodecError> {
        Ok(Self {
            span: id(b.span)?,
            role: Numbered::from_number(b.role)?,
            origin: Numbered::from_number(b.origin)?,
            kind: Numbered::from_number(b.kind)?,
            storage: match b.storage {
                1 => Storage::Journal,
                2 => Storage::Withheld { reason: b.store },
                3 => Storage::External { store: b.store, key: b.key },
                n => return Err(CodecError::damaged("span-recorded", format!("storage {n}"))),
            },
            digest: Digest(b.digest),
            bytes: b.bytes,
            media_type: b.media_type,
            tokens: b.tokens,
            tokens_from: Numbered::from_number(b.tokens_from)?,
            hedged: b.hedged,
            pinned: b.pinned,
            in_window: b.in_window,
            turn: b.turn,
            answers: b.answers.map(id).transpose()?,
            supersedes: b.supersedes.map(id).transpose()?,
            labels: b.labels.into_iter().collect(),
            source: b.source.map(|source| Source {
                format: source.format,
                id: source.id,
                parent: source.parent,
                time: source.time,
            }),
        })
    }
}

impl From<&PrunedSpan> for PrunedSpanV1 {
    fn from(s: &PrunedSpan) -> Self {
        let check = &s.check;
        Self {
            span: s.span.to_string(),
            digest: s.digest.0,
            conditions: u8::from(check.existence)
                | u8::from(check.addressability) << 1
                | u8::from(check.provenance) << 2,
            why: check.why.clone(),
            durable_until: s.durable_until.map(|time| time.0),
        }
    }
}

impl TryFrom<PrunedSpanV1> for PrunedSpan {
    type Error = CodecError;
    fn try_from(b: PrunedSpanV1) -> Result<Self, CodecError> {
        if b.conditions > 7 {
            let why = format!("unknown conditions {:#x}", b.conditions);
            return Err(CodecError::damaged("event body", why));
        }
        Ok(Self {
            span: id(b.span)?,
            digest: Digest(b.digest),
            check: Check {
                existence: b.conditions & 1 != 0,
                addressability: b.conditions & 2 != 0,
                provenance: b.conditions & 4 != 0,
                why: b.why,
            },
            durable_until: b.durable_until.map(Timestamp),
        })
    }
}

fn pruned(spans: Vec<PrunedSpanV1>) -> Result<Vec<PrunedSpan>, CodecError> {
    spans.into_iter().map(TryInto::try_into).collect()
}

impl From<&PruneExecuted> for PruneExecutedV1 {
    fn from(e: &PruneExecuted) -> Self {
        Self {
            directive: e.directive.0,
            mode: e.mode.number(),
            spans: e.spans.iter().map(Into::into).collect(),
            replace_with: some(e.replace_with.as_ref()),
            accept_lossy: e.accept_lossy,
            min_durability_ms: e.min_durability_ms,
            reason: e.reason.clone(),
            freed_tokens: e.freed_tokens,
            prefix_kept_tokens: e.cost.prefix_kept_tokens,
            prefix_rewritten_tokens: e.cost.prefix_rewritten_tokens,
            thinking_invalidated: texts(&e.cost.thinking_invalidated),
        }
    }
}

impl TryFrom<PruneExecutedV1> for PruneExecuted {
    type Error = CodecError;
    fn try_from(b: PruneExecutedV1) -> Result<Self, CodecError> {
        Ok(Self {
            directive: DirectiveNo(b.directive),
            mode: Numbered::from_number(b.mode)?,
            spans: pruned(b.spans)?,
            replace_with: b.replace_with.map(id).transpose()?,
            accept_lossy: b.accept_lossy,
            min_durability_ms: b.min_durability_ms,
            reason: b.reason,
            freed_tokens: b.freed_tokens,
            cost: Cost {
                prefix_kept_tokens: b.prefix_kept_tokens,
                prefix_rewritten_tokens: b.prefix_rewritten_tokens,
                thinking_invalidated: ids(b.thinking_invalidated)?,
            },
        })
    }
}

impl From<&PruneRejected> for PruneRejectedV1 {
    fn from(e: &PruneRejected) -> Self {
        Self {
            directive: e.directive.0,
            mode: e.mode.number(),
            spans: e.spans.iter().map(Into::into).collect(),
            why: e.why.number(),
            advice: e.advice.clone(),
            concerned: texts(&e.concerned),
            replace_with: some(e.replace_with.as_ref()),
            accept_lossy: e.accept_lossy,
            reason: e.reason.clone(),
        }
    }
}

impl TryFrom<PruneRejectedV1> for PruneRejected {
    type Error = CodecError;
    fn try_from(b: PruneRejectedV1) -> Result<Self, CodecError> {
        Ok(Self {
            directive: DirectiveNo(b.directive),
            mode: Numbered::from_number(b.mode)?,
            spans: pruned(b.spans)?,
            why: Numbered::from_number(b.why)?,
            advice: b.advice,
            concerned: ids(b.concerned)?,
            replace_with: b.replace_with.map(id).transpose()?,
            accept_lossy: b.accept_lossy,
            reason: b.reason,
        })
    }
}

impl From<&LostSpan> for LostSpanV1 {
    fn from(s: &LostSpan) -> Self {
        Self { span: s.span.to_string(), digest: s.digest.0, bytes: s.bytes, tokens: s.tokens }
    }
}

fn lost(spans: Vec<LostSpanV1>) -> Result<Vec<LostSpan>, CodecError> {
    let lost = |s: LostSpanV1| {
        let digest = Digest(s.digest);
        Ok(LostSpan { span: id(s.span)?, digest, bytes: s.bytes, tokens: s.tokens })
    };
    spans.into_iter().map(lost).collect()
}

fn lossy(why: impl std::fmt::Display) -> CodecError {
    CodecError::damaged("lossy-committed", why.to_string())
}

/// Version 1 knew two causes.
impl TryFrom<LossyCommittedV1> for LossyCommitted {
    type Error = CodecError;
    fn try_from(b: LossyCommittedV1) -> Result<Self, CodecError> {
        let cause = match b.cause {
            1 => Cause::Directive {
                directive: DirectiveNo(b.directive),
                by: b.text.parse().map_err(lossy)?,
            },
            2 => Cause::Damage { found: b.text },
            n => return Err(lossy(format!("cause {n}"))),
        };
        Ok(Self { spans: lost(b.spans)?, cause, residue: false })
    }
}

impl From<&LossyCommitted> for LossyCommittedV2 {
    fn from(e: &LossyCommitted) -> Self {
        let none = String::new;
        let (cause, number, policy, by, text) = match &e.cause {
            Cause::Directive { directive, by } => (1, directive.0, 0, by.to_string(), none()),
            Cause::Damage { found } => (2, 0, 0, none(), found.clone()),
            Cause::Retention { run, policy, rule } => (3, *run, *policy, none(), rule.clone()),
            Cause::Erasure { by, reason } => (4, 0, 0, by.to_string(), reason.clone()),
        };
        let spans = e.spans.iter().map(Into::into).collect();
        Self { spans, cause, number, policy, by, text, residue: e.residue }
    }
}

impl TryFrom<LossyCommittedV2> for LossyCommitted {
    type Error = CodecError;
    fn try_from(b: LossyCommittedV2) -> Result<Self, CodecError> {
        let cause = match b.cause {
            1 => Cause::Directive {
                directive: DirectiveNo(b.number),
                by: b.by.parse().map_err(lossy)?,
            },
            2 => Cause::Damage { found: b.text },
            3 => Cause::Retention { run: b.number, policy: b.policy, rule: b.text },
            4 => Cause::Erasure { by: b.by.parse().map_err(lossy)?, reason: b.text },
            n => return Err(lossy(format!("cause {n}"))),
        };
        Ok(Self { spans: lost(b.spans)?, cause, residue: b.residue })
    }
}

impl From<&SpanRestored> for SpanRestoredV1 {
    fn from(e: &SpanRestored) -> Self {
        Self { span: e.span.to_string() }
    }
}

impl TryFrom<SpanRestoredV1> for SpanRestored {
    type Error = CodecError;
    fn try_from(b: SpanRestoredV1) -> Result<Self, CodecError> {
        Ok(Self { span: id(b.span)? })
    }
}

impl From<&SpanRead> for SpanReadV1 {
    fn from(e: &SpanRead) -> Self {
        Self { span: e.span.to_string(), purpose: e.purpose.number() }
    }
}

impl TryFrom<SpanReadV1> for SpanRead {
    type Error = CodecError;
    fn try_from(b: SpanReadV1) -> Result<Self, CodecError> {
        Ok(Self { span: id(b.span)?, purpose: Numbered::from_number(b.purpose)? })
    }
}

impl From<&ContradictionNoted> for ContradictionNotedV1 {
    fn from(e: &ContradictionNoted) -> Self {
        Self { contradiction: e.contradiction, spans: texts(&e.spans), note: e.note.clone() }
    }
}

impl TryFrom<ContradictionNotedV1> for ContradictionNoted {
    type Error = CodecError;
    fn try_from(b: ContradictionNotedV1) -> Result<Self, CodecError> {
        Ok(Self { contradiction: b.contradiction, spans: ids(b.spans)?, note: b.note })
    }
}

impl From<&ContradictionResolved> for ContradictionResolvedV1 {
    fn from(e: &ContradictionResolved) -> Self {
        Self { contradiction: e.contradiction, note: e.note.clone() }
    }
}

impl From<ContradictionResolvedV1> for ContradictionResolved {
    fn from(b: ContradictionResolvedV1) -> Self {
        Self { contradiction: b.contradiction, note: b.note }
    }
}
