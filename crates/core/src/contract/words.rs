//! Looking for a claim's words in one source: quotes, and hedges around what the claim takes.
//!
//! Each look is linear in the source; the work of one examination is bounded as a whole, because
//! claims and sources multiply.

use std::collections::HashSet;
use std::ops::Range;

use crate::text::{AnchorKind, Held, content_words, hedge, sentence_around, sentences};

/// Bytes of sources that one examination scans for claims' words. Beyond that it gives up: some
/// thousand claims about megabytes each.
pub(crate) const MOST_BYTES: usize = 2 << 30;
/// Places of one anchor that are looked at; where so many are all hedged, so is the rest.
const PLACES: usize = 256;

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

    /// Whether the sentence that speaks most like a claim hedges. For claims that hold no anchor
    /// and give no quote: half of the claim's telling words must stand in the sentence.
    pub(super) fn hedged_like(&mut self, text: &str, claim: &str) -> bool {
        let wanted: HashSet<_> = content_words(claim).collect();
        if wanted.len() < 2 || !self.allow(text) {
            return false;
        }
        let (mut best, mut hedged) = (0, false);
        for range in sentences(text) {
            let sentence = &text[range];
            let words: HashSet<_> = content_words(sentence).collect();
            let shared = wanted.intersection(&words).count();
            if shared * 2 < wanted.len() || shared < best {
                continue;
            }
            // Said as well without a hedge, it is said without a hedge.
            let hedges = hedge(sentence).is_some();
            hedged = if shared > best { hedges } else { hedged && hedges };
            best = shared;
        }
        hedged
    }
}

/// Whether a source holds a quote: as it is, or with white space and typographic signs evened out.
pub(super) fn holds_quote(text: &str, quote: &str, work: &mut Work) -> bool {
    if quote.trim().is_empty() || !work.allow(text) {
        return false;
    }
    if memchr::memmem::find(text.as_bytes(), quote.as_bytes()).is_some() {
        return true;
    }
    let (text, quote) = (evened(text), evened(quote));
    memchr::memmem::find(text.as_bytes(), quote.trim().as_bytes()).is_some()
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

/// Whether a source hedges around every place of a quote.
pub(super) fn hedges_quote(text: &str, quote: &str, work: &mut Work) -> bool {
    if !work.allow(text) {
        return false;
    }
    let stated = if memchr::memmem::find(text.as_bytes(), quote.as_bytes()).is_some() {
        how_stated(text, places_of(text, quote), work)
    } else {
        let (text, quote) = (evened(text), evened(quote));
        how_stated(&text, places_of(&text, quote.trim()), work)
    };
    stated == Some(Stated::Hedged)
}

/// How a source states an anchor that it holds; none if it only asks about it, and for what stands in
/// the quote, which is looked at by itself.
pub(super) fn stated(
    source: &Source<'_>,
    kind: AnchorKind,
    words: &str,
    quote: Option<&str>,
    work: &mut Work,
) -> Option<Stated> {
    if quote.is_some_and(|quote| quote.contains(words)) {
        return None;
    }
    how_stated(source.text, source.held.places(kind, words), work)
}

fn places_of<'a>(text: &'a str, quote: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
    let found = memchr::memmem::find_iter(text.as_bytes(), quote.as_bytes());
    found.map(|at| at..at + quote.len())
}

/// How words are stated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stated {
    /// With a hedge, wherever they are.
    Hedged,
    /// At least once without one.
    Flatly,
}

/// How the words at these places are stated; none if nothing is stated there.
fn how_stated(
    text: &str,
    places: impl Iterator<Item = Range<usize>>,
    work: &mut Work,
) -> Option<Stated> {
    let mut stated = None;
    for place in places.take(PLACES) {
        // A quote may run over several sentences: from the first one's start to the last one's end.
        let first = sentence_around(text, place.start..place.start);
        let last = sentence_around(text, place.end..place.end);
        let whole = first.start.min(place.start)..last.end.max(place.end);
        // Who asks about something does not state it.
        if text[whole.clone()].trim_end().ends_with('?') {
            continue;
        }
        if !work.allow(&text[whole.clone()]) || hedge(&text[whole]).is_none() {
            return Some(Stated::Flatly);
        }
        stated = Some(Stated::Hedged);
    }
    stated
}
