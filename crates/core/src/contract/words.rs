//! Looking for a claim's words in one source: quotes, and hedges around what the claim takes.
//!
//! Each look is linear in the source; the work of one examination is bounded as a whole, because
//! claims and sources multiply.

use std::collections::HashSet;
use std::ops::Range;

use crate::text::{
    AnchorKind, Held, content_words, hedged_at, occurrences, sentence_around, sentences,
};

/// Bytes of sources that one examination scans for claims' words. Beyond that it gives up: some
/// hundred claims about a megabyte each.
pub(crate) const MOST_BYTES: usize = 512 << 20;
/// Places of one anchor that are looked at; where so many are all hedged, so is the rest.
const PLACES: usize = 256;
/// What looking at one place costs, in looks.
const PLACE: usize = 16;

/// The text of a source, with what it holds.
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
    pub(super) held: Held<'a>,
}

/// How much was scanned.
#[derive(Debug, Default)]
pub(super) struct Work {
    bytes: usize,
}

impl Work {
    /// Whether another scan of this text is within bounds.
    fn allow(&mut self, text: &str) -> bool {
        self.bytes = self.bytes.saturating_add(text.len());
        !self.exhausted()
    }

    /// Counts looks at what a source holds; whether they are within bounds.
    pub(super) fn allow_looks(&mut self, looks: usize) -> bool {
        const LOOK: usize = 64;
        self.bytes = self.bytes.saturating_add(looks.saturating_mul(LOOK));
        !self.exhausted()
    }

    /// Whether something was not scanned because it was too much.
    pub(super) fn exhausted(&self) -> bool {
        self.bytes > MOST_BYTES
    }

    /// How the sentence that speaks most like a claim states it: half of the claim's telling words must
    /// stand in the sentence.
    pub(super) fn stated_like(&mut self, text: &str, claim: &str) -> Option<Stated> {
        /// Taking a sentence apart costs this many times a search.
        const COST: usize = 4;
        let wanted: HashSet<_> = content_words(claim).collect();
        self.bytes = self.bytes.saturating_add(text.len().saturating_mul(COST));
        if wanted.len() < 2 || self.exhausted() {
            return None;
        }
        let (mut best, mut stated) = (0, None);
        let mut found = HashSet::new();
        for range in sentences(text) {
            let sentence = &text[range.clone()];
            found.clear();
            found.extend(content_words(sentence).filter(|word| wanted.contains(word)));
            let shared = found.len();
            if shared * 2 < wanted.len() || shared < best {
                continue;
            }
            // Said as well without a hedge, it is said without a hedge.
            let this = how(text, range);
            stated = match stated {
                Some(Stated::Flatly) if shared == best => stated,
                _ => Some(this),
            };
            best = shared;
        }
        stated
    }
}

/// Whether a source holds a quote: as it is, or with white space and typographic signs evened out. A
/// quote begins and ends where words do.
pub(super) fn holds_quote(text: &str, quote: &str, work: &mut Work) -> bool {
    if quote.trim().is_empty() || !work.allow(text) {
        return false;
    }
    if places_of(text, quote).next().is_some() {
        return true;
    }
    if memchr::memmem::find(text.as_bytes(), quote.as_bytes()).is_some() {
        return false;
    }
    work.allow(text);
    let (text, quote) = (evened(text), evened(quote));
    places_of(&text, quote.trim()).next().is_some()
}

/// White space as single spaces, typographic quotes and dashes as plain ones.
fn evened(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            _ if c.is_whitespace() => {
                if !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            '‘' | '’' | '‚' | '′' => out.push('\''),
            '“' | '”' | '„' | '″' => out.push('"'),
            '‐' | '‑' | '‒' | '–' | '—' | '−' => out.push('-'),
            '…' => out.push_str("..."),
            _ => out.push(c),
        }
    }
    out
}

/// How a source states what a claim quotes.
pub(super) fn quote_stated(text: &str, quote: &str, work: &mut Work) -> Option<Stated> {
    if !work.allow(text) {
        return None;
    }
    if memchr::memmem::find(text.as_bytes(), quote.as_bytes()).is_some() {
        return how_stated(text, places_of(text, quote), work);
    }
    let (text, quote) = (evened(text), evened(quote));
    how_stated(&text, places_of(&text, quote.trim()), work)
}

/// How a source states an anchor that it holds; none for what stands in the quote, which is looked at
/// by itself.
pub(super) fn stated(
    source: &Source<'_>,
    kind: AnchorKind,
    words: &str,
    quote: Option<&str>,
    work: &mut Work,
) -> Option<Stated> {
    if quote.is_some_and(|quote| occurrences(quote, kind, words).next().is_some()) {
        return None;
    }
    how_stated(source.text, source.held.places(kind, words), work)
}

fn places_of<'a>(text: &'a str, quote: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
    // Scripts without spaces have no such ends; ASCII is where a cut turns a meaning round.
    let word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
    let found = memchr::memmem::find_iter(text.as_bytes(), quote.as_bytes());
    found.map(|at| at..at + quote.len()).filter(move |place| {
        let (before, behind) = (&text[..place.start], &text[place.end..]);
        let cut_left = word(before.chars().next_back()) && word(quote.chars().next());
        let cut_right = word(quote.chars().next_back()) && word(behind.chars().next());
        !cut_left && !cut_right
    })
}

/// How words are stated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stated {
    /// With a hedge, or in a question, wherever they are.
    Hedged,
    /// Only in questions.
    Asked,
    /// At least once without a hedge.
    Flatly,
}

/// How the words at a place are stated.
fn how(text: &str, place: Range<usize>) -> Stated {
    // Up to its last word: behind a full stop another sentence begins.
    let words = text[place.clone()].trim_end_matches(|c: char| !c.is_alphanumeric());
    let place = place.start..place.start + words.len();
    let first = sentence_around(text, place.start..place.start);
    let last = sentence_around(text, place.end..place.end);
    let sentence = &text[first.start.min(place.start)..last.end.max(place.end)];
    if hedged_at(text, place) {
        Stated::Hedged
    } else if sentence.trim_end().ends_with('?') && !requests(sentence) {
        Stated::Asked
    } else {
        Stated::Flatly
    }
}

/// Whether a question is a request: it says what is wanted, and does not ask what is.
fn requests(sentence: &str) -> bool {
    let words = || sentence.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let is = |word: &str, any: &[&str]| any.iter().any(|one| one.eq_ignore_ascii_case(word));
    let asks = words().any(|word| is(word, &["whether", "if"]));
    let polite = words().zip(words().skip(1)).any(|(verb, who)| {
        is(verb, &["could", "can", "would", "will"])
            && is(who, &["you", "we", "somebody", "someone"])
    });
    !asks && (polite || words().any(|word| is(word, &["please"])))
}

/// How the words at these places are stated; none if there is no place.
fn how_stated(
    text: &str,
    places: impl Iterator<Item = Range<usize>>,
    work: &mut Work,
) -> Option<Stated> {
    let mut stated = None;
    for place in places.take(PLACES) {
        if !work.allow_looks(PLACE) {
            return Some(Stated::Flatly);
        }
        match how(text, place) {
            Stated::Flatly => return Some(Stated::Flatly),
            Stated::Hedged => stated = Some(Stated::Hedged),
            Stated::Asked => stated = stated.or(Some(Stated::Asked)),
        }
    }
    stated
}

/// Words by which a sentence reports a question or a request.
const ASKING: &[&str] = &[
    "ask",
    "asked",
    "asking",
    "asks",
    "decide",
    "if",
    "inquired",
    "invited",
    "need",
    "needed",
    "needs",
    "offer",
    "offered",
    "please",
    "propose",
    "proposed",
    "query",
    "question",
    "questions",
    "request",
    "requested",
    "requests",
    "should",
    "suggest",
    "suggested",
    "suggests",
    "want",
    "wanted",
    "wants",
    "whether",
    "wonder",
    "wondered",
    "wonders",
    "wish",
    "wished",
    "wishes",
    "would",
    "instructed",
    "instructs",
    "told",
    "wanted",
    "like",
    "likes",
    "looking",
    "seeks",
];

/// Whether words report a question or a request instead of stating what was asked about.
pub(super) fn is_about_asking(words: &str) -> bool {
    words.contains('?')
        || words
            .split(|c: char| !c.is_alphanumeric())
            .any(|word| ASKING.iter().any(|asking| asking.eq_ignore_ascii_case(word)))
}
