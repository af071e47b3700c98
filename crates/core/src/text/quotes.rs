//! Quotes: what opens them, what closes them, and what only looks like one.

use memchr::{memchr, memchr2};

use crate::text::anchor::{Anchor, AnchorKind};
use crate::text::letters::{CLASS, OPENS, word_after, word_before};
use crate::text::walk::Walk;

/// The longest quote in bytes.
const LONGEST_QUOTE: usize = 200;

impl Walk<'_> {
    /// A quote that opens and closes with the same mark.
    pub(super) fn straight(&mut self, mark: u8) {
        let open = self.at;
        self.at += 1;
        let escaped = open > 0 && self.bytes[open - 1] == b'\\';
        let kind = usize::from(escaped);
        if self.closes[kind] == open + 1 {
            return;
        }
        // An apostrophe, or an inch.
        if word_before(self.text, open - usize::from(escaped)) {
            return;
        }
        if mark == b'\'' && !self.opens_single(open) {
            return;
        }
        let Some(close) = self.closing(mark, escaped) else { return };
        let end = close - usize::from(escaped);
        if end <= self.at || !self.quotes(self.at, end) {
            return;
        }
        self.closes[kind] = close + 1;
        if !self.is_key(close + 1) {
            self.quoted(AnchorKind::Quote, self.at, end);
        }
    }

    fn opens_single(&self, open: usize) -> bool {
        open == 0
            || matches!(
                self.bytes[open - 1],
                b' ' | b'\t' | b'\n' | b'(' | b'[' | b'{' | b'=' | b':' | b',' | b'"' | b'\\'
            )
    }

    /// Where the mark stands again that closes a quote: on this line, and escaped as the first was.
    fn closing(&self, mark: u8, escaped: bool) -> Option<usize> {
        let limit = self.bytes.len().min(self.at + LONGEST_QUOTE + 2);
        let mut from = self.at;
        loop {
            let found = from + memchr2(mark, b'\n', &self.bytes[from..limit])?;
            if self.bytes[found] == b'\n' {
                return None;
            }
            let same = (self.bytes[found - 1] == b'\\') == escaped;
            // An apostrophe inside single quotes does not end them.
            if same && (mark == b'"' || !self.is_apostrophe(found)) {
                return Some(found);
            }
            from = found + 1;
        }
    }

    /// Whether a single mark belongs to a word: `don't`, `the users' choice`.
    fn is_apostrophe(&self, at: usize) -> bool {
        let plural =
            self.bytes[at - 1] == b's' && matches!(self.bytes[at + 1..], [b' ', b'a'..=b'z', ..]);
        plural || word_after(self.text, at + 1)
    }

    /// Whether these words may be a quote's: bounded, no white space at the ends, and not the
    /// punctuation between two strings of a list.
    fn quotes(&self, start: usize, end: usize) -> bool {
        let (first, last) = (self.bytes[start], self.bytes[end - 1]);
        (3..=LONGEST_QUOTE).contains(&(end - start))
            && !first.is_ascii_whitespace()
            && !last.is_ascii_whitespace()
            && !matches!(first, b',' | b':' | b']' | b'}' | b')')
            && self.bytes[start..end].iter().any(|b| b.is_ascii_alphanumeric() || !b.is_ascii())
    }

    /// Whether a quote that ends here is the key of a map.
    fn is_key(&self, after: usize) -> bool {
        let tail = &self.bytes[after..];
        let blank = tail.iter().take(4).take_while(|b| **b == b' ').count();
        tail.get(blank) == Some(&b':')
    }

    pub(super) fn backtick(&mut self) {
        let open = self.at;
        let fence = self.bytes[open..].iter().take_while(|b| **b == b'`').count();
        self.at += fence;
        if fence > 1 || self.closes[2] == open + 1 {
            return;
        }
        let limit = self.bytes.len().min(self.at + LONGEST_QUOTE + 1);
        let Some(length) = memchr2(b'`', b'\n', &self.bytes[self.at..limit]) else { return };
        let end = self.at + length;
        if self.bytes[end] == b'\n' || end == self.at || !self.quotes(self.at, end) {
            return;
        }
        self.closes[2] = end + 1;
        let spaced = self.bytes[self.at..end].iter().any(u8::is_ascii_whitespace);
        self.quoted(if spaced { AnchorKind::Command } else { AnchorKind::Quote }, self.at, end);
    }

    /// A quote whose closing mark differs from its opening one.
    pub(super) fn quote(&mut self, mark: usize, close: &str) {
        self.at += mark;
        let limit = self.bytes.len().min(self.at + LONGEST_QUOTE + close.len());
        let ahead = &self.bytes[self.at..limit];
        let line = &ahead[..memchr(b'\n', ahead).unwrap_or(ahead.len())];
        let Some(length) = line.windows(close.len()).position(|w| w == close.as_bytes()) else {
            return;
        };
        let end = self.at + length;
        if length > 0 && self.quotes(self.at, end) {
            self.quoted(AnchorKind::Quote, self.at, end);
        }
    }

    /// Records a quote, unless it quotes nothing but one other anchor.
    fn quoted(&mut self, kind: AnchorKind, start: usize, end: usize) {
        let first = self.runs.found.len();
        self.runs.push(kind, start, end);
        if kind == AnchorKind::Quote && CLASS[usize::from(self.bytes[start])] & OPENS == 0 {
            self.run();
            let bare = end - if self.bytes[..end].ends_with(b"()") { 2 } else { 0 };
            let same = |anchor: &Anchor| anchor.start == start && [bare, end].contains(&anchor.end);
            if self.runs.found[first + 1..].iter().any(same) {
                self.runs.found.remove(first);
            }
        }
    }
}
