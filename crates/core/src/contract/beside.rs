//! What a summary's text says beside its claims, and how the spans say it.

use std::collections::{BTreeSet, HashSet};

use super::examine::{Examination, TextRange};
use super::seek::{Sought, innermost, range_of, seek, telling};
use super::stated::{Source, Stated, is_about_asking};
use super::words::Work;
use crate::text::{Counted, Form, anchors, content_words, hedged_at, sentences};
use crate::{Origin, SessionState, SpanId, SpanIndex, SpanState};

/// How many of a sentence's telling words, of four, another must share with it to say the same.
const CLOSELY: usize = 3;
/// The fewest telling words of a sentence that is looked for, and the most sentences.
const TELLING: usize = 4;
const SENTENCES: usize = 1_000;

/// What the claims of the same summary tell.
#[derive(Default)]
pub(super) struct Claimed {
    /// The forms that they hold, and what those count that are numbers.
    pub(super) forms: foldhash::HashMap<Form, Vec<Counted>>,
    /// The telling words of each claim, sorted, each once.
    pub(super) words: Vec<Vec<Form>>,
}

impl Claimed {
    fn holds(&self, sought: &Sought) -> bool {
        self.forms.get(&sought.form).is_some_and(|counted| {
            sought.counted.is_none() || counted.iter().any(|counted| sought.may_be(*counted))
        })
    }

    /// Whether some claim has half of these words.
    fn tells(&self, words: &[Form]) -> bool {
        self.words.iter().any(|claim| {
            let shared = words.iter().filter(|word| claim.binary_search(word).is_ok()).count();
            shared * 2 >= words.len()
        })
    }
}

/// An anchor of the text that no claim holds.
struct Named {
    sought: Sought,
    /// Whether it must be held by some span.
    bound: bool,
    /// Whether it is stated with a hedge here, or without one in some primary span.
    settled: bool,
    /// The span that states it with a hedge, or the summary that does at all.
    hedged_in: Option<SpanId>,
    in_summary: Option<SpanId>,
}

/// A sentence of the text, without anchors, that no claim tells.
struct Said {
    place: TextRange,
    /// Its telling words, each once.
    words: Vec<Form>,
    /// Whether some primary span says it without a hedge.
    settled: bool,
    /// The span that says it with one.
    hedged_in: Option<SpanId>,
}

/// What the text says beside its claims.
pub(super) struct Beside<'a> {
    text: &'a str,
    named: Vec<Named>,
    said: Vec<Said>,
    /// Whether the text reports a question.
    asks: bool,
}

impl<'a> Beside<'a> {
    /// `own`: the spans that the summary covers or cites.
    pub(super) fn of(
        state: &SessionState,
        own: &HashSet<SpanIndex>,
        text: &'a str,
        claimed: &Claimed,
    ) -> Self {
        let named = seek(state, own, text).into_iter().filter(|sought| !claimed.holds(sought));
        let named = named.filter_map(|sought| {
            let bound = telling(text, &sought.anchor)?;
            let settled = hedged_at(text, sought.anchor.start..sought.anchor.end);
            Some(Named { sought, bound, settled, hedged_in: None, in_summary: None })
        });
        let (named, said) = (named.collect(), said(text, claimed));
        Self { text, named, said, asks: is_about_asking(text) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.named.is_empty() && self.said.is_empty()
    }

    /// What has to be found in the spans.
    pub(super) fn sought(&self) -> impl Iterator<Item = &Sought> {
        self.named.iter().map(|named| &named.sought)
    }

    /// The telling words of its sentences.
    pub(super) fn words(&self) -> impl Iterator<Item = &Form> {
        self.said.iter().flat_map(|said| &said.words)
    }

    /// Sees what a span says of it.
    pub(super) fn see(&mut self, span: &SpanState, source: &Source<'_>, work: &mut Work) {
        // Where a span is marked and its words say what they hedge, the words tell it better.
        let marked = span.hedged && !source.hedges;
        self.see_named(span, source, marked, work);
        if span.is_summary() {
            return;
        }
        for said in self.said.iter_mut().filter(|said| !said.settled) {
            match source.states_like(&said.words, CLOSELY, work) {
                Some(stated) if marked || stated == Stated::Hedged => {
                    said.hedged_in.get_or_insert_with(|| span.id.clone());
                }
                Some(Stated::Flatly) if span.origin != Origin::Model => said.settled = true,
                Some(_) | None => {}
            }
        }
    }

    fn see_named(&mut self, span: &SpanState, source: &Source<'_>, marked: bool, work: &mut Work) {
        for named in &mut self.named {
            if (named.sought.found && named.settled) || !source.holds(self.text, &named.sought) {
                continue;
            }
            if span.is_summary() {
                // Its prose is no source: what is behind it is read as well.
                named.in_summary.get_or_insert_with(|| span.id.clone());
                continue;
            }
            named.sought.found = true;
            if named.settled {
                continue;
            }
            let dropped = match source.states(self.text, &named.sought, None, work) {
                _ if marked => true,
                Some(Stated::Hedged) => true,
                Some(Stated::Asked) => !self.asks,
                Some(Stated::Flatly) | None => false,
            };
            if dropped {
                named.hedged_in.get_or_insert_with(|| span.id.clone());
            } else {
                // What the model repeats does not settle what somebody guessed.
                named.settled |= span.origin != Origin::Model;
            }
        }
    }

    /// Adds what was shown.
    pub(super) fn finish(mut self, facts: &mut Examination) {
        // What only a summary says can be second-hand from a span that is gone; else it is made up.
        let gone = !facts.unreadable.is_empty();
        for named in self.named.iter_mut().filter(|named| gone && !named.sought.found) {
            named.sought.found = named.in_summary.is_some();
            named.hedged_in = named.in_summary.take();
        }
        let unheld = self.named.iter().filter(|named| named.bound && !named.sought.found);
        facts.unheld = innermost(unheld.map(|named| range_of(&named.sought)).collect());
        let named = self.named.into_iter().filter(|named| !named.settled);
        let named = named.filter_map(|named| Some((range_of(&named.sought), named.hedged_in?)));
        let said = self.said.into_iter().filter(|said| !said.settled);
        let said = said.filter_map(|said| Some((said.place, said.hedged_in?)));
        facts.flat = named.chain(said).collect();
    }
}

/// The sentences of a text that state something flatly which no claim tells. Those with anchors are
/// found by these.
fn said(text: &str, claimed: &Claimed) -> Vec<Said> {
    let at = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
    let said = sentences(text).take(SENTENCES).filter_map(|sentence| {
        let words: BTreeSet<Form> = content_words(&text[sentence.clone()]).collect();
        let words: Vec<Form> = words.into_iter().collect();
        let place = (at(sentence.start), at(sentence.end));
        let bare = anchors(&text[sentence.clone()]).next().is_none();
        let plain =
            words.len() >= TELLING && bare && !claimed.tells(&words) && !hedged_at(text, sentence);
        plain.then_some(Said { place, words, settled: false, hedged_in: None })
    });
    said.collect()
}
