//! The summary contract: a model may compress, but never launder (PRODUCT, section 3).
//!
//! `examine` finds facts in the contents of spans, `rules` judges them with what the session knows,
//! `advice` tells the author what to change. `standing` decides who may prune with a summary.

mod advice;
mod beside;
mod depth;
mod disconfirming;
mod examine;
mod omitted;
mod rules;
mod seek;
mod standing;
mod stated;
mod tags;
mod words;

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use crate::command::Summarize;
use crate::event::Claim;
use crate::state::SpanState;
use crate::{Principal, SessionState, SpanId, SpanIndex, estimate_tokens};

pub use examine::{Apart, ClaimFacts, Examination, Examiner, SourceFacts, TextRange, wanted};
pub use omitted::{KindCount, Omitted};
pub use tags::tags_text;

pub(crate) use advice::audit_sentence;
pub(crate) use disconfirming::of_summary as disconfirming;
pub(crate) use rules::findings;
pub(crate) use standing::{Standing, kept_from, standing};
pub(crate) use words::MOST_BYTES;

/// A summary that is being judged, with all that its judgement rests on.
pub(crate) struct Case<'a> {
    pub(crate) state: &'a SessionState,
    pub(crate) summarize: &'a Summarize,
    pub(crate) author: &'a Principal,
    pub(crate) facts: &'a Examination,
    /// For each cited summary, whether something primary behind it can be read: asked by many claims.
    leads: OnceCell<HashMap<SpanIndex, bool>>,
}

impl<'a> Case<'a> {
    pub(crate) fn new(
        state: &'a SessionState,
        summarize: &'a Summarize,
        author: &'a Principal,
        facts: &'a Examination,
    ) -> Self {
        Self { state, summarize, author, facts, leads: OnceCell::new() }
    }

    /// Whether something primary behind a cited summary can be read.
    fn leads_further(&self, summary: SpanIndex) -> bool {
        let leads = self.leads.get_or_init(|| {
            let cited: HashSet<SpanIndex> =
                self.cited().filter(|&index| self.state.span(index).is_summary()).collect();
            let readable = |index| self.readable(self.state.span(index));
            let leads = |index| self.state.primaries(index).into_iter().any(readable);
            cited.into_iter().map(|index| (index, leads(index))).collect()
        });
        leads.get(&summary).copied().unwrap_or(false)
    }

    /// The covered spans that the session knows, each once.
    pub(crate) fn covered(&self) -> impl Iterator<Item = SpanIndex> + '_ {
        let mut seen = HashSet::new();
        let known = self.summarize.covers.iter().filter_map(|id| self.state.index(id));
        known.filter(move |index| seen.insert(*index))
    }

    /// The spans that the claims cite, as far as the session knows them; with repetitions.
    pub(crate) fn cited(&self) -> impl Iterator<Item = SpanIndex> + '_ {
        let sources = self.summarize.claims.iter().flat_map(|claim: &Claim| &claim.sources);
        sources.filter_map(|source| self.state.index(&source.span))
    }

    /// The size of the text in tokens, estimated.
    pub(crate) fn tokens(&self) -> u32 {
        estimate_tokens(self.summarize.text.len() as u64)
    }

    /// The size in tokens of what the summary replaces: the covered spans that stand in the window, or
    /// all of them if none does.
    pub(crate) fn covered_tokens(&self) -> u64 {
        let tokens = |index: SpanIndex| u64::from(self.state.span(index).tokens);
        let (standing, gone): (Vec<_>, Vec<_>) =
            self.covered().partition(|&index| self.state.stands(index));
        let replaced = if standing.is_empty() { gone } else { standing };
        replaced.into_iter().map(tokens).sum()
    }

    /// The size of the tags behind the text in tokens, estimated.
    pub(crate) fn tag_tokens(&self) -> u32 {
        tags_text(self.state, &self.summarize.claims)
            .map_or(0, |tags| estimate_tokens(tags.len() as u64))
    }

    /// Whether a span's content could be read just now.
    pub(crate) fn readable(&self, span: &SpanState) -> bool {
        rules::has_content(self.state, span) && !rules::unread(self, &span.id)
    }

    /// How many summaries deep the summary is.
    pub(crate) fn depth(&self) -> u32 {
        depth::of(self)
    }

    /// The sentence that tells the author what to change.
    pub(crate) fn sentence(&self, finding: &crate::Finding) -> String {
        advice::sentence(self, finding)
    }

    /// The covered spans, each once, in the order in which they are named.
    pub(crate) fn covers(&self) -> Vec<SpanId> {
        self.covered().map(|index| self.state.span(index).id.clone()).collect()
    }

    /// The recorded spans that the claims cite, each once.
    pub(crate) fn cites(&self) -> Vec<SpanId> {
        let cited: std::collections::BTreeSet<SpanIndex> = self.cited().collect();
        cited.into_iter().map(|index| self.state.span(index).id.clone()).collect()
    }
}

/// Recorded findings with the sentences that tell their author what to change.
pub fn findings_said(
    state: &SessionState,
    summarize: &Summarize,
    author: &Principal,
    facts: &Examination,
    findings: &[crate::Finding],
) -> Vec<(crate::Finding, String)> {
    let case = Case::new(state, summarize, author, facts);
    findings.iter().map(|finding| (finding.clone(), case.sentence(finding))).collect()
}
