//! `audit`.

use lacuna_core::{Audit, AuditNote, AuditReply, Command};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::summarize::FindingBody;
use super::{span_id, word};
use crate::WireError;
use crate::common::request;

request! {
    /// Judge a summary. Only a principal other than its author counts, and only one that has read
    /// the raw spans.
    AuditRequest {
        /// The summary.
        summary: String,
        /// `pass` or `fail`.
        verdict: String,
        /// What the auditor remarks.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        findings: Vec<RemarkBody>,
    }
}

/// A remark of an auditor: a sentence, or a finding as replies have them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum RemarkBody {
    /// A sentence.
    Sentence(String),
    /// A finding.
    Finding(RemarkFindingBody),
}

impl<'de> Deserialize<'de> for RemarkBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::json::object::or_text(deserializer, Self::Sentence, Self::Finding)
    }
}

/// A finding of an auditor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemarkFindingBody {
    /// A finding code, or a word of the auditor's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The claim, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<u32>,
    /// The span.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<String>,
    /// A sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl AuditRequest {
    /// The command.
    pub fn command(&self) -> Result<Command, WireError> {
        let verdict = |text: &str| match text {
            "pass" => Some(true),
            "fail" => Some(false),
            _ => None,
        };
        let note = |remark: &RemarkBody| {
            Ok(match remark {
                RemarkBody::Sentence(text) => {
                    AuditNote { message: Some(text.clone()), ..AuditNote::default() }
                }
                RemarkBody::Finding(finding) => AuditNote {
                    code: finding.code.clone(),
                    claim: finding.claim,
                    span: finding.span.as_deref().map(span_id).transpose()?,
                    message: finding.message.clone(),
                },
            })
        };
        Ok(Command::Audit(Audit {
            summary: span_id(&self.summary)?,
            pass: word("verdict (pass or fail)", &self.verdict, verdict)?,
            notes: self.findings.iter().map(note).collect::<Result<_, WireError>>()?,
        }))
    }
}

/// The audit is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditReplyBody {
    /// What the audits make of the summary: `accepted` if it may stand for its spans; `rejected` if
    /// this verdict or somebody else's is a fail, or if this audit does not count.
    pub status: String,
    /// Whether this audit counts.
    pub counts: bool,
    /// The session's version.
    pub version: u64,
    /// Why it does not count. Of a summary that was refused when it was written: why that was.
    pub findings: Vec<FindingBody>,
    /// Findings left out because the reply would not fit into one message.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub findings_omitted: u64,
    /// Set if this is the first reply again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

impl From<&AuditReply> for AuditReplyBody {
    fn from(reply: &AuditReply) -> Self {
        Self {
            status: if reply.accepted { "accepted" } else { "rejected" }.to_owned(),
            counts: reply.counts,
            version: reply.version,
            findings: reply.findings.iter().map(Into::into).collect(),
            findings_omitted: 0,
            duplicate: false,
        }
    }
}
