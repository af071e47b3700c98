//! Looking for a claim's quote in a source, and how much of that one examination does.
//!
//! Each look is linear in the source; the work of one examination is bounded as a whole, because
//! claims and sources multiply.

use std::borrow::Cow;
use std::ops::Range;

/// Bytes of sources that one examination scans for claims' words. Beyond that it gives up: some
/// hundred claims about a megabyte each.
pub(crate) const MOST_BYTES: usize = 512 << 20;

/// How much was scanned.
#[derive(Debug, Default)]
pub(super) struct Work {
    bytes: usize,
}

impl Work {
    /// Whether another scan of this text is within bounds.
    pub(super) fn allow(&mut self, text: &str) -> bool {
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
}

/// Whether a source holds a quote: as it is, or with white space and typographic signs evened out. A
/// quote begins and ends where words do.
pub(super) fn holds_quote(text: &str, quote: &str, work: &mut Work) -> bool {
    if quote.trim().is_empty() || !work.allow(text) {
        return false;
    }
    let (text, quote) = comparable(text, quote);
    places_of(&text, &quote).next().is_some()
}

/// A text and a quote, evened out unless the quote stands in the text as it is.
pub(super) fn comparable<'a>(text: &'a str, quote: &'a str) -> (Cow<'a, str>, Cow<'a, str>) {
    if memchr::memmem::find(text.as_bytes(), quote.as_bytes()).is_some() {
        return (text.into(), quote.into());
    }
    (evened(text).into(), evened(quote).trim().to_owned().into())
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

/// Where a text holds a quote.
pub(super) fn places_of<'a>(
    text: &'a str,
    quote: &'a str,
) -> impl Iterator<Item = Range<usize>> + 'a {
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
