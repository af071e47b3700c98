//! Findings: what is wrong with a summary or an audit, each with its code.
//!
//! A finding holds no content: its sentence is made, whenever it is needed, from the claims that it
//! points into (`contract/sentence.rs`).

use serde::{Deserialize, Serialize};

use crate::SpanId;
use crate::span::words;

words! {
    /// What a summary or an audit can be found to do. The codes are the wire contract's.
    FindingCode {
        /// A claim cites nothing.
        UnsourcedClaim = "unsourced_claim",
        /// A claim cites a span that the session never recorded.
        UnknownSource = "unknown_source",
        /// A claim rests on summaries alone.
        SourceNotPrimary = "source_not_primary",
        /// A claim cites a span that cannot be read any more.
        SourceUnrecoverable = "source_unrecoverable",
        /// A claim is stronger than its sources.
        OriginUpgraded = "origin_upgraded",
        /// A source hedges and the claim does not.
        HedgeDropped = "hedge_dropped",
        /// A claim holds a number, an identifier or a quote that no cited span holds.
        AnchorNotInSource = "anchor_not_in_source",
        /// Every span that contradicts the summary would leave the window.
        DisconfirmingRemoved = "disconfirming_removed",
        /// The author audits itself.
        SelfAudited = "self_audited",
        /// The auditor has not read the spans.
        AuditorWithoutEvidence = "auditor_without_evidence",
        /// The author has not read the spans.
        AuthorWithoutEvidence = "author_without_evidence",
        /// The window would eat into its reserve.
        ReserveBreached = "reserve_breached",
        /// The summary is larger than what it replaces.
        SummaryGrew = "summary_grew",
        /// The summary says nothing, or claims nothing.
        EmptySummary = "empty_summary",
    }
}

/// Something that is wrong with a summary or an audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What it is.
    pub code: FindingCode,
    /// The claim, counted from 0; none if it concerns the text or the whole.
    pub claim: Option<u32>,
    /// The span concerned.
    pub span: Option<SpanId>,
    /// The words concerned: a range of bytes in the claim's text, or in the summary's text if no
    /// claim is named.
    pub at: Option<(u32, u32)>,
}

impl Finding {
    /// A finding about the summary or the audit as a whole.
    pub fn new(code: FindingCode) -> Self {
        Self { code, claim: None, span: None, at: None }
    }

    /// The same about one claim.
    pub(crate) fn claim(self, index: usize) -> Self {
        Self { claim: u32::try_from(index).ok(), ..self }
    }

    /// The same about one span.
    pub(crate) fn span(self, span: &SpanId) -> Self {
        Self { span: Some(span.clone()), ..self }
    }

    /// The same about some words.
    pub(crate) fn at(self, range: (u32, u32)) -> Self {
        Self { at: Some(range), ..self }
    }
}
