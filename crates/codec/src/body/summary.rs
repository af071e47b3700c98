//! Summaries, audits and alerts between the frozen bodies and the domain.

use std::collections::BTreeSet;

use lacuna_core::event::{
    AlertRaised, AuditNote, StoredClaims, SummaryAudited, SummaryRecorded, SummaryStatus,
};
use lacuna_core::{Digest, Finding, SpanId};

use super::domain::{id, ids, some, texts};
use super::v1::{
    AlertRaisedV1, AuditNoteV1, FindingV1, SummaryAuditedV1, SummaryRecordedV1, TextRangeV1,
};
use super::v2::SummaryRecordedV2;
use super::words::Numbered;
use crate::CodecError;

/// Version 1 was written before summaries were checked: nothing was refused and nothing counted.
/// Its claims stay in its body; what they cite is taken from them.
impl TryFrom<SummaryRecordedV1> for SummaryRecorded {
    type Error = CodecError;
    fn try_from(b: SummaryRecordedV1) -> Result<Self, CodecError> {
        let count = u32::try_from(b.claims.len()).unwrap_or(u32::MAX);
        let sources = b.claims.into_iter().flat_map(|claim| claim.sources);
        let cites: BTreeSet<SpanId> =
            sources.map(|source| id(source.span)).collect::<Result<_, CodecError>>()?;
        Ok(Self {
            span: id(b.span)?,
            covers: ids(b.covers)?,
            digest: Digest(b.digest),
            bytes: b.bytes,
            tokens: b.tokens,
            claims: StoredClaims { count, ..StoredClaims::default() },
            cites: cites.into_iter().collect(),
            asked: None,
            status: SummaryStatus::Accepted,
            findings: Vec::new(),
            depth: 1,
            tag_tokens: 0,
            identifiers: 0,
            identifiers_kept: 0,
        })
    }
}

impl From<&SummaryRecorded> for SummaryRecordedV2 {
    fn from(e: &SummaryRecorded) -> Self {
        Self {
            span: e.span.to_string(),
            covers: texts(&e.covers),
            digest: e.digest.0,
            bytes: e.bytes,
            tokens: e.tokens,
            claim_count: e.claims.count,
            claim_bytes: e.claims.bytes,
            claim_digest: e.claims.digest.0,
            cites: texts(&e.cites),
            asked: some(e.asked.as_ref()),
            status: e.status.number(),
            findings: e.findings.iter().map(Into::into).collect(),
            depth: e.depth,
            tag_tokens: e.tag_tokens,
            identifiers: e.identifiers,
            identifiers_kept: e.identifiers_kept,
        }
    }
}

impl TryFrom<SummaryRecordedV2> for SummaryRecorded {
    type Error = CodecError;
    fn try_from(b: SummaryRecordedV2) -> Result<Self, CodecError> {
        Ok(Self {
            span: id(b.span)?,
            covers: ids(b.covers)?,
            digest: Digest(b.digest),
            bytes: b.bytes,
            tokens: b.tokens,
            claims: StoredClaims {
                count: b.claim_count,
                bytes: b.claim_bytes,
                digest: Digest(b.claim_digest),
            },
            cites: ids(b.cites)?,
            asked: b.asked.map(id).transpose()?,
            status: Numbered::from_number(b.status)?,
            findings: findings(b.findings)?,
            depth: b.depth,
            tag_tokens: b.tag_tokens,
            identifiers: b.identifiers,
            identifiers_kept: b.identifiers_kept,
        })
    }
}

impl From<&Finding> for FindingV1 {
    fn from(f: &Finding) -> Self {
        Self {
            code: f.code.number(),
            claim: f.claim,
            span: some(f.span.as_ref()),
            at: f.at.map(|(start, end)| TextRangeV1 { start, end }),
        }
    }
}

fn findings(stored: Vec<FindingV1>) -> Result<Vec<Finding>, CodecError> {
    let finding = |f: FindingV1| {
        Ok(Finding {
            code: Numbered::from_number(f.code)?,
            claim: f.claim,
            span: f.span.map(id).transpose()?,
            at: f.at.map(|range| (range.start, range.end)),
        })
    };
    stored.into_iter().map(finding).collect()
}

impl From<&SummaryAudited> for SummaryAuditedV1 {
    fn from(e: &SummaryAudited) -> Self {
        let note = |note: &AuditNote| AuditNoteV1 {
            code: note.code.clone(),
            claim: note.claim,
            span: some(note.span.as_ref()),
            message: note.message.clone(),
        };
        Self {
            summary: e.summary.to_string(),
            pass: e.pass,
            accepted: e.accepted,
            findings: e.findings.iter().map(Into::into).collect(),
            notes: e.notes.iter().map(note).collect(),
        }
    }
}

impl TryFrom<SummaryAuditedV1> for SummaryAudited {
    type Error = CodecError;
    fn try_from(b: SummaryAuditedV1) -> Result<Self, CodecError> {
        let note = |n: AuditNoteV1| {
            let span = n.span.map(id).transpose()?;
            Ok(AuditNote { code: n.code, claim: n.claim, span, message: n.message })
        };
        Ok(Self {
            summary: id(b.summary)?,
            pass: b.pass,
            accepted: b.accepted,
            findings: findings(b.findings)?,
            notes: b.notes.into_iter().map(note).collect::<Result<_, CodecError>>()?,
        })
    }
}

impl From<&AlertRaised> for AlertRaisedV1 {
    fn from(e: &AlertRaised) -> Self {
        Self { alert: e.alert.number(), spans: texts(&e.spans), message: e.message.clone() }
    }
}

impl TryFrom<AlertRaisedV1> for AlertRaised {
    type Error = CodecError;
    fn try_from(b: AlertRaisedV1) -> Result<Self, CodecError> {
        let alert = Numbered::from_number(b.alert)?;
        Ok(Self { alert, spans: ids(b.spans)?, message: b.message })
    }
}
