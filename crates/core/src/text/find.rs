//! Where the words of an anchor stand in a text.

use std::ops::Range;

use memchr::memmem::Finder;

use crate::text::AnchorKind;
use crate::text::fold::{Fold, Folded};
use crate::text::form::{Form, core, form, forms};
use crate::text::letters::{after, before, in_word};

/// How much folded text is searched at once.
const WINDOW: usize = 32 * 1024;

/// Searches a text for words, both folded, window by window.
struct Search<'a> {
    text: &'a str,
    kind: AnchorKind,
    finder: Finder<'static>,
    length: usize,
    rest: Folded<'a>,
    window: Vec<u8>,
    places: Vec<usize>,
    at: usize,
}

impl<'a> Search<'a> {
    fn new(text: &'a str, kind: AnchorKind, words: &str) -> Self {
        let fold = Fold::of(kind);
        let words: Vec<u8> = Folded::new(words.as_bytes(), fold).map(|(byte, _)| byte).collect();
        Self {
            text,
            kind,
            length: words.len(),
            finder: Finder::new(&words).into_owned(),
            rest: Folded::new(text.as_bytes(), fold),
            window: Vec::new(),
            places: Vec::new(),
            at: 0,
        }
    }

    /// Drops what was searched, but for what may begin a match, and folds more of the text.
    fn refill(&mut self) -> bool {
        let kept = self.window.len().saturating_sub(self.length.saturating_sub(1)).max(self.at);
        self.window.drain(..kept.min(self.window.len()));
        self.places.drain(..kept.min(self.places.len()));
        self.at = 0;
        let before = self.window.len();
        for (byte, place) in self.rest.by_ref().take(WINDOW) {
            self.window.push(byte);
            self.places.push(place);
        }
        self.window.len() > before
    }

    /// The place in the text of a place in the window. One past the window is where the rest begins.
    fn place(&self, at: usize) -> usize {
        self.places.get(at).copied().unwrap_or_else(|| self.rest.at())
    }
}

impl Iterator for Search<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        if self.length == 0 {
            return None;
        }
        loop {
            if let Some(found) = self.finder.find(&self.window[self.at..]) {
                let start = self.at + found;
                let range = self.place(start)..self.place(start + self.length);
                // Folding keeps characters whole, but a match of bytes may begin inside one.
                if self.text.get(range.clone()).is_some() && bounded(self.text, self.kind, &range) {
                    self.at = start + self.length;
                    return Some(range);
                }
                // What begins in the middle of a word stays unbounded to the word's end: without
                // this leap a long row of one letter would be compared again at every letter.
                let word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
                self.at =
                    start + self.window[start..].iter().take_while(|b| word(b)).count().max(1);
            } else if !self.refill() {
                return None;
            }
        }
    }
}

/// Whether an anchor of this kind that stands here is whole, and not a piece of a longer name.
fn bounded(text: &str, kind: AnchorKind, range: &Range<usize>) -> bool {
    let (first, last) = (after(text, range.start), before(text, range.end));
    let (left, right) = (before(text, range.start), after(text, range.end));
    let inside = |edge: Option<char>, beyond: Option<char>| {
        edge.is_some_and(in_word) && beyond.is_some_and(in_word)
    };
    if inside(first, left) {
        return false;
    }
    // A commit is named by the first digits of its hash.
    if kind == AnchorKind::Hash {
        let more = right.is_some_and(|c| in_word(c) && !c.is_ascii_hexdigit());
        return !more;
    }
    if inside(last, right) {
        return false;
    }
    let further = text.get(range.end..).and_then(|rest| rest.chars().nth(1));
    let goes_on =
        |glue: &[char]| right.is_some_and(|c| glue.contains(&c)) && further.is_some_and(in_word);
    let nearer = text.get(..range.start).and_then(|head| head.chars().rev().nth(1));
    let came =
        |glue: &[char]| left.is_some_and(|c| glue.contains(&c)) && nearer.is_some_and(in_word);
    match kind {
        AnchorKind::Path => !goes_on(&['.', '-']) && !came(&['.', '-']),
        AnchorKind::Host => !goes_on(&['.', '-']) && !came(&['-']),
        AnchorKind::Version => !goes_on(&['.', '-', '+']) && !came(&['.', '-']),
        AnchorKind::Email => !goes_on(&['.', '-']) && !came(&['.', '-', '+']),
        AnchorKind::RequestId => !goes_on(&['-']) && !came(&['-']),
        AnchorKind::Time => !goes_on(&['.']) && !came(&[':', '.']),
        AnchorKind::Url => !came(&['+']),
        // `rm -rf /` is another command than `rm -rf /tmp`.
        AnchorKind::Command => !(last == Some('/') && right.is_some_and(in_word)),
        _ => true,
    }
}

/// Where an anchor's words stand in a text, in order: whole words, whatever their case.
///
/// Numbers, times and versions are found by their form, as [`Held`](crate::text::Held) holds them;
/// of all others the words themselves are searched, wherever they stand. A hash is also found at the
/// beginning of a longer one. Linear in the text's length.
pub fn occurrences<'a>(
    text: &'a str,
    kind: AnchorKind,
    anchor: &str,
) -> impl Iterator<Item = Range<usize>> + 'a {
    let by_form = matches!(kind, AnchorKind::Number | AnchorKind::Time | AnchorKind::Version);
    let sought = form(kind, anchor);
    let formed = by_form.then(|| forms(text)).into_iter().flatten();
    let formed = formed
        .filter(move |(found, _): &(Form, _)| *found == sought)
        .map(|(_, anchor)| anchor.start..anchor.end);
    let words = if by_form { "" } else { core(kind, anchor) };
    formed.chain(Search::new(text, kind, words))
}
