//! From text to runs: characters without white space or brackets between them. Quotes, variables,
//! commands and URLs are seen here, since they reach over more than one run.

use memchr::memchr;

use crate::text::anchor::{Anchor, AnchorKind, LONGEST_ANCHOR};
use crate::text::letters::{
    BEYOND, CLASS, COLON, COMMA, LOWER, OPENS, SLASH, UPPER, WIDE, after, escape, in_word,
    word_before,
};
use crate::text::run::Runs;

/// The longest command line in bytes.
const LONGEST_COMMAND: usize = 1024;

/// Walks over a text and hands out its anchors.
pub(super) struct Walk<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    pub(super) runs: Runs<'a>,
    /// The next of the found anchors to hand out.
    next: usize,
    /// Where a quote that was opened closes: by `"` or `'`, by the same escaped, by a backtick.
    pub(super) closes: [usize; 3],
    /// Before this place a URL was found: its parts are no URLs.
    pub(super) url_ends: usize,
}

impl<'a> Walk<'a> {
    /// The anchors as a claim is held to them.
    pub(super) fn over_claim(text: &'a str) -> Self {
        Self::new(text, false)
    }

    /// The anchors and their parts, as a source supports them.
    pub(super) fn over_source(text: &'a str) -> Self {
        Self::new(text, true)
    }

    /// The same without the ends of paths.
    pub(super) fn without_tails(mut self) -> Self {
        self.runs.tails = false;
        self
    }

    fn new(text: &'a str, parts: bool) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            runs: Runs::new(text, parts),
            next: 0,
            closes: [0; 3],
            url_ends: 0,
        }
    }

    /// Goes on until something is found or the text ends.
    fn step(&mut self) {
        self.runs.found.clear();
        self.next = 0;
        while self.at < self.bytes.len() && self.runs.found.is_empty() {
            let class = CLASS[usize::from(self.bytes[self.at])];
            match class {
                0 | COMMA => self.at += 1,
                OPENS => self.opening(),
                BEYOND => self.beyond(),
                _ => match escape(self.bytes, self.at) {
                    0 => self.run(),
                    length => self.skip_escape(length),
                },
            }
        }
    }

    fn beyond(&mut self) {
        match after(self.text, self.at) {
            Some(letter) if in_word(letter) => self.run(),
            Some('\u{201c}') => self.quote(3, "\u{201d}"),
            Some('\u{ab}') => self.quote(2, "\u{bb}"),
            other => self.at += other.map_or(1, char::len_utf8),
        }
    }

    fn opening(&mut self) {
        match self.bytes[self.at] {
            b'"' => self.straight(b'"'),
            b'\'' => self.straight(b'\''),
            b'`' => self.backtick(),
            b'$' => self.dollar(),
            _ => self.terminal(),
        }
    }

    fn skip_escape(&mut self, length: usize) {
        let written = &self.bytes[self.at..self.at + length];
        self.at += length;
        if written.eq_ignore_ascii_case(b"\\u001b") {
            self.at -= 1;
            self.terminal();
        }
    }

    /// Colours and cursor movements are not words.
    fn terminal(&mut self) {
        self.at += 1;
        if self.bytes.get(self.at) == Some(&b'[') {
            self.at += 1;
            let tail = &self.bytes[self.at..];
            let parameters = tail.iter().take(32).take_while(|b| (0x20..0x40).contains(*b)).count();
            self.at = (self.at + parameters + 1).min(self.bytes.len());
            while !self.text.is_char_boundary(self.at) {
                self.at += 1;
            }
        }
    }

    fn dollar(&mut self) {
        let start = self.at;
        if self.line_begins(start) && self.bytes.get(start + 1) == Some(&b' ') {
            self.at += 2;
            return self.command_line();
        }
        let braced = self.bytes.get(start + 1) == Some(&b'{');
        let name = start + 1 + usize::from(braced);
        let tail = &self.bytes[name..];
        let length = tail
            .iter()
            .take(LONGEST_ANCHOR)
            .take_while(|b| b.is_ascii_alphanumeric() || **b == b'_')
            .count();
        let end = name + length;
        let named = (2..LONGEST_ANCHOR / 2).contains(&length) && !tail[0].is_ascii_digit();
        if !named || word_before(self.text, start) || self.goes_on(end) {
            self.at = name;
            return;
        }
        let whole = if braced && self.bytes.get(end) == Some(&b'}') {
            (start, end + 1)
        } else if braced {
            (name, end)
        } else {
            (start, end)
        };
        self.runs.push(AnchorKind::Identifier, whole.0, whole.1);
        self.at = end;
    }

    fn goes_on(&self, at: usize) -> bool {
        after(self.text, at).is_some_and(|letter| !letter.is_ascii() && in_word(letter))
    }

    /// Whether nothing but spaces stands before this place on its line.
    fn line_begins(&self, at: usize) -> bool {
        let from = at.saturating_sub(16);
        let blank = self.bytes[from..at].iter().rev().take_while(|b| matches!(b, b' ' | b'\t'));
        let first = at - blank.count();
        first == 0 || self.bytes[first - 1] == b'\n'
    }

    fn command_line(&mut self) {
        let ahead = &self.bytes[self.at..self.bytes.len().min(self.at + LONGEST_COMMAND)];
        let length = match memchr(b'\n', ahead) {
            Some(length) => length,
            None if self.at + ahead.len() == self.bytes.len() => ahead.len(),
            None => return,
        };
        let line = &self.text[self.at..self.at + length];
        let start = self.at + line.len() - line.trim_start().len();
        // `$ 5` is money.
        if line.trim_start().starts_with(|c: char| c.is_ascii_alphabetic() || "./~_".contains(c)) {
            self.runs.push(AnchorKind::Command, start, start + line.trim().len());
        }
    }

    /// Takes the run of characters that begins here.
    pub(super) fn run(&mut self) {
        let start = self.at;
        let first = self.bytes[start];
        if self.may_begin_moment(start) && self.moment_in_words(start) {
            return;
        }
        // What stands behind a URL is read by itself, whether the parts of the URL are read or not.
        let limit = if start < self.url_ends { self.url_ends } else { self.bytes.len() };
        let mut all = 0;
        let mut end = start;
        while let Some(byte) = self.bytes[..limit].get(end) {
            let class = CLASS[usize::from(*byte)];
            if class & (OPENS | BEYOND | COMMA) != 0 || class == 0 || *byte == b'\\' {
                match self.joins(end) {
                    Some((class, length)) => {
                        all |= class;
                        end += length;
                        continue;
                    }
                    None => break,
                }
            }
            all |= class;
            end += 1;
        }
        self.at = end.max(start + 1);
        if end - start > LONGEST_ANCHOR || end == start {
            return;
        }
        if all & (COLON | SLASH) == COLON | SLASH
            && start >= self.url_ends
            && let Some(colon) = memchr::memmem::find(&self.bytes[start..end], b"://")
            && self.url(start, start + colon)
        {
            return;
        }
        let called = self.bytes.get(end) == Some(&b'(');
        let letters = all & !(LOWER | UPPER) == 0;
        if letters && !called && !self.runs.parts {
            let capitals = &self.bytes[start + 1..end];
            if all == LOWER || !capitals.iter().any(u8::is_ascii_uppercase) {
                return;
            }
        }
        let empty_call = called && self.bytes.get(end + 1) == Some(&b')');
        self.runs.called = empty_call || (called && self.runs.parts);
        if self.is_list_mark(start, end) {
            return;
        }
        self.runs.run(start, end, all);
        if first.is_ascii_digit() && self.bytes.get(end) == Some(&b' ') {
            self.scaled(end);
        }
        if self.runs.parts && first == b'L' && self.bytes[..start].ends_with(b"#") {
            self.lines(start, end);
        }
    }

    /// What a byte that mostly bounds a run is inside one, with the length of its character.
    fn joins(&self, at: usize) -> Option<(u16, usize)> {
        match self.bytes[at] {
            b',' => {
                let tail = &self.bytes[at + 1..];
                let digits = tail.iter().take(4).take_while(|b| b.is_ascii_digit()).count();
                let grouped = at > 0 && self.bytes[at - 1].is_ascii_digit() && digits == 3;
                grouped.then_some((COMMA, 1))
            }
            b'\\' if self.is_escape(at) => None,
            b'\\' => Some((CLASS[usize::from(b'\\')], 1)),
            0x80.. => {
                let letter = after(self.text, at)?;
                in_word(letter).then(|| (WIDE, letter.len_utf8()))
            }
            _ => None,
        }
    }

    /// Whether a backslash writes another character, as in JSON; in `C:\new` it does not.
    fn is_escape(&self, at: usize) -> bool {
        let drive = |from: usize| {
            let head = &self.bytes[from..at.min(from + 3)];
            head.len() >= 2 && head[0].is_ascii_alphabetic() && head[1] == b':'
        };
        match self.bytes.get(at + 1) {
            Some(b'n' | b'r' | b't' | b'u') => escape(self.bytes, at) > 0 && !drive(self.at),
            Some(b'"' | b'\'' | b'`' | b'$') | None => true,
            Some(_) => false,
        }
    }

    /// Whether this is the number of a list's item: `1.` or `2)` where a line begins. In a source
    /// it still supports the number.
    fn is_list_mark(&self, start: usize, end: usize) -> bool {
        let run = &self.bytes[start..end];
        let digits = run.iter().take_while(|b| b.is_ascii_digit()).count();
        let mark = match &run[digits..] {
            [b'.'] => end,
            [] if self.bytes.get(end) == Some(&b')') => end + 1,
            _ => return false,
        };
        (1..=2).contains(&digits)
            && !self.runs.parts
            && matches!(self.bytes.get(mark), Some(b' ' | b'\t'))
            && self.line_begins(start)
    }
}

impl Iterator for Walk<'_> {
    type Item = Anchor;

    fn next(&mut self) -> Option<Anchor> {
        if self.next == self.runs.found.len() {
            self.step();
        }
        let anchor = self.runs.found.get(self.next).copied();
        self.next += usize::from(anchor.is_some());
        anchor
    }
}
