//! How a source states what a claim takes from it: flatly, with a reserve, or as a question.

use std::cell::Cell;
use std::ops::Range;

use foldhash::HashMap;

use super::seek::{Sieve, Sought};
use super::words::{Work, comparable, places_of};
use crate::text::{
    Anchor, AnchorKind, Counted, Form, Held, anchors, hedge, hedged_at, occurrences,
    sentence_around, sentences, words,
};

/// Places of one anchor that are looked at; where so many are all hedged, so is the rest.
const PLACES: usize = 256;
/// What looking at one place costs, in looks.
const PLACE: usize = 16;
/// Up to this length a sentence is surely whole, so that each of its places is in the same one.
const WHOLE: usize = 1000;

/// The text of a source, with what it holds.
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
    pub(super) held: Held<'a>,
    /// Whether it hedges anywhere.
    pub(super) hedges: bool,
    asks: bool,
    /// Its sentences, as far as they are asked for.
    spoken: Spoken,
    /// Whether looking at them has been paid for.
    paid: Cell<bool>,
}

impl<'a> Source<'a> {
    /// A source that claims with these telling words cite, and with which a text is compared that has
    /// these beside its claims.
    pub(super) fn new(
        text: &'a str,
        held: Held<'a>,
        of_claims: impl Iterator<Item = Form>,
        beside: impl Iterator<Item = Form>,
    ) -> Self {
        let hedges = hedge(text).is_some();
        let asks = memchr::memchr(b'?', text.as_bytes()).is_some();
        let mut beside = beside.peekable();
        // A claim asks only whether something else is said than flatly.
        let spoken = if hedges || asks || beside.peek().is_some() {
            Spoken::of(text, &Sieve::of(of_claims.chain(beside)))
        } else {
            Spoken::default()
        };
        Self { text, held, hedges, asks, spoken, paid: Cell::new(false) }
    }

    /// Whether it states everything flatly.
    pub(super) fn is_flat(&self) -> bool {
        !self.hedges && !self.asks
    }

    /// Whether it holds what is sought in the words of another text: a number with the unit that it has
    /// there.
    pub(super) fn holds(&self, said: &str, sought: &Sought) -> bool {
        let (kind, words) = (sought.anchor.kind, sought.anchor.of(said));
        if sought.counted.is_none() {
            return self.held.holds(kind, words)
                || (kind == AnchorKind::Host && self.holds_apart(words));
        }
        let mut places = self.held.places(kind, words);
        // Of so many some are it.
        places.by_ref().take(PLACES).any(|place| self.is(sought, &place))
            || places.next().is_some()
            || self.unscaled(said, sought).next().is_some()
    }

    /// Where a number stands whose scale is a unit there: `512 MB` for `512M`.
    fn unscaled<'s>(
        &'s self,
        said: &str,
        sought: &'s Sought,
    ) -> impl Iterator<Item = Range<usize>> + 's {
        let (unscaled, whole) = (sought.unscaled.as_ref(), sought.counted.unwrap_or_default());
        let found = unscaled.map(|unscaled| {
            let places = self.held.places(AnchorKind::Number, &said[unscaled.place.clone()]);
            places
                .take(PLACES)
                .filter(move |place| unscaled.counted.may_stand(whole, self.text, place))
        });
        found.into_iter().flatten()
    }

    /// Whether it gives the host and the port of `host:port` apart: `"host":"db","port":5432`. Not where
    /// it writes the host with a port somewhere.
    fn holds_apart(&self, words: &str) -> bool {
        let Some((host, port)) = words.rsplit_once(':') else { return false };
        let numbered = (1..=5).contains(&port.len()) && port.bytes().all(|b| b.is_ascii_digit());
        let mut ports = self.held.places(AnchorKind::Number, port).take(PLACES).peekable();
        if !numbered || ports.peek().is_none() || !self.held.holds(AnchorKind::Host, host) {
            return false;
        }
        // A pass over the text comes last.
        let with_port = |place: Range<usize>| {
            let tail = self.text[place.end..].strip_prefix(':');
            tail.is_some_and(|tail| tail.starts_with(|c: char| c.is_ascii_digit()))
        };
        ports.any(|port| self.is_port_of(host, &port))
            && !occurrences(self.text, AnchorKind::Host, host).any(with_port)
    }

    /// Whether a number is the port of a host: behind it, near it, and neither of another host nor behind
    /// another port.
    fn is_port_of(&self, host: &str, port: &Range<usize>) -> bool {
        let from = self.text.floor_char_boundary(port.start.saturating_sub(WHOLE));
        let head = &self.text[from..port.start];
        // At the cut a word may be the end of a longer one.
        let hosts = occurrences(head, AnchorKind::Host, host);
        let Some(host) = hosts.filter(|place| from == 0 || place.start > 0).last() else {
            return false;
        };
        let between = &head[host.end..];
        let words = || between.split(|c: char| !c.is_alphabetic());
        let is_port = |word: &str| word.eq_ignore_ascii_case("port");
        // `worker:5432` is the port of another.
        let glued = between.strip_suffix(':').is_some_and(|label| {
            label.ends_with(char::is_alphanumeric) && !words().rev().nth(1).is_some_and(is_port)
        });
        let named = |anchor: Anchor| {
            anchor.kind == AnchorKind::Host
                && anchor.of(between).contains(|c: char| c.is_ascii_alphabetic())
        };
        let ports = words().filter(|word| is_port(word)).count();
        ports < 2 && !glued && !anchors(between).any(named)
    }

    fn is(&self, sought: &Sought, place: &Range<usize>) -> bool {
        sought.counted.is_none() || sought.may_be(Counted::at(self.text, place).0)
    }

    /// How it states an anchor that it holds; none for what stands in the quote, which is looked at by
    /// itself.
    pub(super) fn states(
        &self,
        said: &str,
        sought: &Sought,
        quote: Option<&str>,
        work: &mut Work,
    ) -> Option<Stated> {
        if self.is_flat() {
            return Some(Stated::Flatly);
        }
        let (kind, words) = (sought.anchor.kind, sought.anchor.of(said));
        if quote.is_some_and(|quote| occurrences(quote, kind, words).next().is_some()) {
            return None;
        }
        let places = self.held.places(kind, words).filter(|place| self.is(sought, place));
        how_stated(self.text, places.chain(self.unscaled(said, sought)), work)
    }

    /// How it states what a claim quotes.
    pub(super) fn states_quote(&self, quote: &str, work: &mut Work) -> Option<Stated> {
        if self.is_flat() {
            return Some(Stated::Flatly);
        }
        if !work.allow(self.text) {
            return None;
        }
        let (text, quote) = comparable(self.text, quote);
        how_stated(&text, places_of(&text, &quote), work)
    }

    /// How the sentence that speaks most like a claim states it, by the claim's telling words: of four
    /// of them `share` must stand in the sentence. None if no sentence does, or if there are less than
    /// two words.
    pub(super) fn states_like(
        &self,
        wanted: &[Form],
        share: usize,
        work: &mut Work,
    ) -> Option<Stated> {
        if wanted.len() < 2 {
            return None;
        }
        if !self.paid.replace(true) {
            work.allow(self.text);
        }
        let spoken = &self.spoken;
        let mut hits: Vec<u32> =
            wanted.iter().filter_map(|word| spoken.of.get(word)).flatten().copied().collect();
        if !work.allow_looks(hits.len().div_ceil(8)) {
            return None;
        }
        hits.sort_unstable();
        let said = || hits.chunk_by(|one, next| one == next);
        let best =
            said().map(<[u32]>::len).max().filter(|best| best * 4 >= wanted.len() * share)?;
        let alike = said().filter(|same| same.len() == best).map(|same| same[0]);
        let places = alike.map(|number| spoken.sentences[number as usize].clone());
        how_stated(self.text, places, work)
    }
}

/// A sentence, and each of its clauses where a `but` parts it: a hedge of one is none of the other.
fn clauses(text: &str, sentence: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut clauses = vec![sentence.clone()];
    let mut from = sentence.start;
    for (at, but) in text[sentence.clone()].match_indices(" but ") {
        let at = sentence.start + at;
        clauses.push(from..at);
        from = at + but.len();
    }
    if from > sentence.start {
        clauses.push(from..sentence.end);
    }
    clauses.into_iter()
}

/// The sentences of a source, by the words that claims look for.
#[derive(Default)]
struct Spoken {
    sentences: Vec<Range<usize>>,
    /// In which of the sentences a word stands, ascending.
    of: HashMap<Form, Vec<u32>>,
}

impl Spoken {
    fn of(text: &str, sought: &Sieve) -> Self {
        let mut spoken = Self::default();
        for range in sentences(text).flat_map(|range| clauses(text, range)) {
            let number = spoken.sentences.len() as u32;
            let mut any = false;
            for word in words(&text[range.clone()]).filter(|word| sought.holds(*word)) {
                any = true;
                let numbers = spoken.of.entry(word).or_default();
                if numbers.last() != Some(&number) {
                    numbers.push(number);
                }
            }
            if any {
                spoken.sentences.push(range);
            }
        }
        spoken
    }
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

/// How the words at a place are stated, and within which range all other words are stated so.
fn how(text: &str, place: Range<usize>) -> (Stated, Range<usize>) {
    // Up to its last word: behind a full stop another sentence begins.
    let words = text[place.clone()].trim_end_matches(|c: char| !c.is_alphanumeric());
    let place = place.start..place.start + words.len();
    let first = sentence_around(text, place.start..place.start);
    let last = sentence_around(text, place.end..place.end);
    let around = first.start.min(place.start)..last.end.max(place.end);
    let sentence = &text[around.clone()];
    // What stands before a `but` is not meant by what stands behind it.
    let alike = if first == last && sentence.len() < WHOLE && !sentence.contains(" but ") {
        around
    } else {
        place.start..place.start
    };
    let stated = if hedged_at(text, place) {
        Stated::Hedged
    } else if sentence.trim_end().ends_with('?') && !requests(sentence) {
        Stated::Asked
    } else {
        Stated::Flatly
    };
    (stated, alike)
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
    let mut judged = 0..0;
    for place in places.take(PLACES) {
        if judged.start <= place.start && place.end <= judged.end {
            continue;
        }
        if !work.allow_looks(PLACE) {
            return Some(Stated::Flatly);
        }
        let (how, alike) = how(text, place);
        match how {
            Stated::Flatly => return Some(Stated::Flatly),
            Stated::Hedged => stated = Some(Stated::Hedged),
            Stated::Asked => stated = stated.or(Some(Stated::Asked)),
        }
        judged = alike;
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
