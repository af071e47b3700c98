//! Examining a summary: what the contents of the spans show about its claims and its text.
//!
//! Contents are seen one span at a time and kept no longer than that, so that a summary over
//! gigabytes is examined in little memory. What is found are facts; what they mean is for the rules.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::beside::{Beside, Claimed};
use super::omitted::{Identifiers, KindCount, OMITTED, Omitted, Tally};
use super::seek::{Sieve, Sought, innermost, is_plumbing, names_span, range_of, seek};
use super::stated::{Source, Stated, is_about_asking};
use super::words::{Work, holds_quote};
use crate::command::Summarize;
use crate::event::StoredClaims;
use crate::text::{Anchor, AnchorKind, Counted, Form, Held, content_words, forms, identifiers};
use crate::{Origin, SessionState, SpanId, SpanIndex};

/// How many of a claim's telling words, of four, a sentence must share with it to speak of the same.
const LOOSELY: usize = 2;
/// A range of bytes in a claim's or a summary's text.
pub type TextRange = (u32, u32);

/// What the contents of the spans have shown about a summary.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Examination {
    /// About each claim, in order.
    pub claims: Vec<ClaimFacts>,
    /// Anchors of the text that neither a claim nor a covered or cited span holds.
    pub unheld: Vec<TextRange>,
    /// Anchors and sentences of the text that no claim tells and that a span tells only with a hedge,
    /// stated here without one.
    pub flat: Vec<(TextRange, SpanId)>,
    /// The covered and cited spans that could not be read, and what was found instead.
    pub unreadable: BTreeMap<SpanId, String>,
    /// Identifiers of the covered spans that neither text nor claims hold, most telling first; the
    /// list is bounded, `kinds` counts them.
    pub omitted: Vec<Omitted>,
    /// How many identifiers of each kind the covered spans hold, and how many of them the text or
    /// the claims hold.
    pub kinds: Vec<KindCount>,
    /// The claims' stored form.
    pub stored: StoredClaims,
    /// Set if the claims cite so much text that examining them was given up.
    pub too_much: bool,
}

impl Examination {
    /// How many identifiers the covered spans hold, and how many of them the text or the claims do.
    pub fn identifiers(&self) -> (u32, u32) {
        let sum = |of: fn(&KindCount) -> u32| self.kinds.iter().map(of).sum();
        (sum(|count| count.identifiers), sum(|count| count.kept))
    }

    /// Nothing was read.
    pub(crate) fn unread(summarize: &Summarize) -> Self {
        let cited = summarize.claims.iter().flat_map(|claim| claim.sources.iter().map(|s| &s.span));
        let unread = |id: &SpanId| (id.clone(), "its copy was not read back".to_owned());
        let claim = |claim: &crate::Claim| ClaimFacts {
            missing: Vec::new(),
            sources: vec![SourceFacts::default(); claim.sources.len()],
        };
        Self {
            claims: summarize.claims.iter().map(claim).collect(),
            unreadable: summarize.covers.iter().chain(cited).map(unread).collect(),
            ..Self::default()
        }
    }
}

/// What the contents have shown about one claim.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClaimFacts {
    /// Its anchors that no cited span holds.
    pub missing: Vec<TextRange>,
    /// About each of its sources, in order.
    pub sources: Vec<SourceFacts>,
}

/// What the content of one source has shown about the claim that cites it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SourceFacts {
    /// Whether the quote, if there is one, does not occur in it.
    pub misquoted: bool,
    /// Whether it hedges around the words that the claim takes from it.
    pub hedges: bool,
    /// Whether it hedges anywhere.
    pub hedges_somewhere: bool,
}

/// That a claim rests on a span.
#[derive(Clone, Copy)]
struct Citation {
    claim: usize,
    /// The source, counted within its claim.
    place: usize,
    rests: Rests,
}

/// How a claim rests on a span.
#[derive(Clone, Copy, PartialEq)]
enum Rests {
    /// The span holds its anchors.
    Wholly,
    /// The span is a summary beside primary spans: only they hold its anchors.
    Beside,
    /// The span is the call of a tool whose result is cited: the result tells of what the call names,
    /// but its numbers are its own.
    OnResult,
}

/// A span's content, taken apart into what seeing it needs.
#[derive(Default)]
pub struct Apart<'t> {
    text: &'t str,
    /// The identifiers that it names, if the summary covers it.
    identified: Vec<(Form, Anchor)>,
    /// None if it is no text, or if nothing is looked for in it.
    source: Option<Source<'t>>,
}

/// Examines one summary. Give it the content of every span that it wants, then finish.
pub struct Examiner<'a> {
    summarize: &'a Summarize,
    /// The spans to read, in the order of recording.
    wanted: Vec<SpanIndex>,
    /// Those that it covers, and what is behind them.
    covered: HashSet<SpanIndex>,
    /// What rests on each span.
    citing: HashMap<SpanIndex, Vec<Citation>>,
    sought: Vec<Vec<Sought>>,
    claimed: Claimed,
    beside: Beside<'a>,
    facts: Examination,
    identifiers: Identifiers,
    work: Work,
}

/// The spans whose contents examining a summary reads, in the order of recording: those that it
/// covers, what is behind them where they are summaries, and those that it cites, with the calls of cited results.
pub fn wanted(state: &SessionState, summarize: &Summarize) -> BTreeSet<SpanIndex> {
    let covered = summarize.covers.iter().filter_map(|id| state.index(id));
    let cited = summarize.claims.iter().flat_map(|claim| claim.sources.iter().map(|s| &s.span));
    let cited = cited.filter_map(|id| state.index(id));
    let cited = cited.flat_map(|index| [Some(index), state.span(index).answers]);
    let mut wanted: BTreeSet<SpanIndex> = cited.flatten().collect();
    for index in covered {
        wanted.insert(index);
        if state.span(index).is_summary() {
            wanted.extend(state.primaries(index));
        }
    }
    wanted
}

impl<'a> Examiner<'a> {
    /// Prepares to examine a summary in this session. Spans that the session does not know are
    /// passed over: the rules name them.
    pub fn new(state: &SessionState, summarize: &'a Summarize) -> Self {
        let mut citing: HashMap<SpanIndex, Vec<Citation>> = HashMap::new();
        let mut facts = Examination::default();
        let mut kept: foldhash::HashSet<Form> =
            forms(&summarize.text).map(|(form, _)| form).collect();
        let mut claimed = Claimed::default();
        let own: HashSet<SpanIndex> = wanted(state, summarize).into_iter().collect();
        let mut sought = Vec::with_capacity(summarize.claims.len());
        for (number, claim) in summarize.claims.iter().enumerate() {
            let known =
                |id: &SpanId| state.index(id).map(|index| (index, state.span(index).is_summary()));
            // Where a claim cites primary spans, only they can hold its anchors.
            let primary = claim.sources.iter().any(|s| known(&s.span).is_some_and(|(_, s)| !s));
            let mut again = HashSet::new();
            for (place, source) in claim.sources.iter().enumerate() {
                // The same words of the same span are looked for once.
                if !again.insert((&source.span, &source.quote)) {
                    continue;
                }
                if let Some((index, summary)) = known(&source.span) {
                    let rests = if primary && summary { Rests::Beside } else { Rests::Wholly };
                    let citation = Citation { claim: number, place, rests };
                    citing.entry(index).or_default().push(citation);
                    if let Some(call) = state.span(index).answers {
                        let citation = Citation { rests: Rests::OnResult, ..citation };
                        citing.entry(call).or_default().push(citation);
                    }
                }
                // A quote is kept; what stands for the text is what the claim says itself.
                kept.extend(source.quote.iter().flat_map(|quote| forms(quote)).map(|f| f.0));
            }
            for (form, anchor) in forms(&claim.text) {
                let counted = claimed.forms.entry(form).or_default();
                if anchor.kind == AnchorKind::Number {
                    counted.push(Counted::at(&claim.text, &(anchor.start..anchor.end)).0);
                }
            }
            sought.push(seek(state, &own, &claim.text));
            let telling: BTreeSet<Form> = content_words(&claim.text).collect();
            claimed.words.push(telling.into_iter().collect());
            facts.claims.push(ClaimFacts {
                missing: Vec::new(),
                sources: vec![SourceFacts::default(); claim.sources.len()],
            });
        }
        let beside = Beside::of(state, &own, &summarize.text, &claimed);
        kept.extend(claimed.forms.keys());
        let covered = summarize.covers.iter().filter_map(|id| state.index(id));
        let covered: HashSet<SpanIndex> = covered.flat_map(|index| state.behind(index)).collect();
        Self {
            summarize,
            wanted: wanted(state, summarize).into_iter().collect(),
            covered,
            citing,
            sought,
            claimed,
            beside,
            facts,
            identifiers: Identifiers::new(kept),
            work: Work::default(),
        }
    }

    /// The spans whose contents it wants to see, in the order of recording.
    pub fn wanted(&self) -> &[SpanIndex] {
        &self.wanted
    }

    /// Sees the content of a span, or why it could not be read.
    pub fn see(&mut self, state: &SessionState, index: SpanIndex, content: Result<&[u8], String>) {
        let content = content.map(|bytes| self.take_apart(state, index, bytes));
        self.see_apart(state, index, content);
    }

    /// Takes the content of a span apart, as seeing it begins: the longer part of it, which many threads
    /// may do at once.
    pub fn take_apart<'t>(
        &self,
        state: &SessionState,
        index: SpanIndex,
        content: &'t [u8],
    ) -> Apart<'t> {
        // What is no text holds no words.
        let Ok(text) = std::str::from_utf8(content) else { return Apart::default() };
        let named = self.covered.contains(&index);
        let mut identified = Vec::new();
        let mut note = |form: Form, anchor: Anchor| {
            if named && !names_span(state, text, &anchor) && !is_plumbing(text, &anchor) {
                identified.push((form, anchor));
            }
        };
        let citing = self.citing.get(&index).map_or(&[][..], Vec::as_slice);
        if citing.is_empty() && self.beside.is_empty() {
            identifiers(text).filter(|_| named).for_each(|(form, anchor)| note(form, anchor));
            return Apart { text, identified, source: None };
        }
        let of_claims = citing.iter().flat_map(|citation| &self.sought[citation.claim]);
        let sought = Sieve::of(of_claims.chain(self.beside.sought()).flat_map(Sought::forms));
        let held = Held::seeking(text, |form| sought.holds(form), note);
        let words = citing.iter().flat_map(|citation| &self.claimed.words[citation.claim]);
        let beside = self.beside.words().copied();
        let source = Some(Source::new(text, held, words.copied(), beside));
        Apart { text, identified, source }
    }

    /// Sees the content of a span that was taken apart, or why it could not be read.
    pub fn see_apart(
        &mut self,
        state: &SessionState,
        index: SpanIndex,
        content: Result<Apart<'_>, String>,
    ) {
        let span = state.span(index);
        let Apart { text, identified, source } = match content {
            Ok(apart) => apart,
            Err(why) => {
                self.facts.unreadable.insert(span.id.clone(), why);
                return self.misquoted(index);
            }
        };
        let user = span.origin == Origin::User;
        for (form, anchor) in identified {
            self.identifiers.note(form, &anchor, anchor.of(text), &span.id, user);
        }
        let Some(source) = source else { return self.misquoted(index) };
        for citation in self.citing.remove(&index).unwrap_or_default() {
            self.cite(&source, citation);
        }
        self.beside.see(span, &source, &mut self.work);
    }

    /// What the content of a span says about a claim that rests on it.
    fn cite(&mut self, source: &Source<'_>, Citation { claim, place, rests }: Citation) {
        let said = &self.summarize.claims[claim];
        let quote = said.sources[place].quote.as_deref();
        if !self.work.allow_looks(1 + self.sought[claim].len()) {
            return;
        }
        if rests == Rests::OnResult {
            for sought in &mut self.sought[claim] {
                let named = !matches!(sought.anchor.kind, AnchorKind::Number | AnchorKind::Time);
                sought.found |= named && source.holds(&said.text, sought);
            }
            return;
        }
        let facts = &mut self.facts.claims[claim].sources[place];
        facts.misquoted =
            quote.is_some_and(|quote| !holds_quote(source.text, quote, &mut self.work));
        facts.hedges_somewhere = source.hedges;
        let quote = quote.filter(|_| !facts.misquoted);
        let mut hedged = false;
        // To report a question is to say that it was asked.
        let asks = is_about_asking(&said.text);
        let drops = |stated: Option<Stated>| match stated {
            Some(Stated::Hedged) => true,
            Some(Stated::Asked) => !asks,
            Some(Stated::Flatly) | None => false,
        };
        for sought in &mut self.sought[claim] {
            if !source.holds(&said.text, sought) {
                continue;
            }
            sought.found |= rests == Rests::Wholly;
            hedged |= drops(source.states(&said.text, sought, quote, &mut self.work));
        }
        facts.hedges = hedged
            || quote.is_some_and(|quote| drops(source.states_quote(quote, &mut self.work)))
            || (!source.is_flat()
                && drops(source.states_like(&self.claimed.words[claim], LOOSELY, &mut self.work)));
    }

    /// A source that holds no words cannot hold a quote.
    fn misquoted(&mut self, index: SpanIndex) {
        for Citation { claim, place, rests } in self.citing.remove(&index).unwrap_or_default() {
            let quote = self.summarize.claims[claim].sources[place].quote.is_some();
            if rests != Rests::OnResult {
                self.facts.claims[claim].sources[place].misquoted = quote;
            }
        }
    }

    /// What was shown.
    pub fn finish(self, stored: StoredClaims) -> Examination {
        self.finish_telling(stored, OMITTED)
    }

    /// What was shown, with up to this many of the identifiers left out.
    pub fn finish_telling(self, stored: StoredClaims, most: usize) -> Examination {
        let Self { mut facts, sought, beside, identifiers, work, .. } = self;
        for (facts, sought) in facts.claims.iter_mut().zip(sought) {
            facts.missing = innermost(sought.iter().filter(|s| !s.found).map(range_of).collect());
        }
        beside.finish(&mut facts);
        let Tally { omitted, kinds } = identifiers.finish(most);
        Examination { omitted, kinds, stored, too_much: work.exhausted(), ..facts }
    }
}
