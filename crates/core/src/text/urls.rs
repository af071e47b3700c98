//! Addresses: where they end, and what a source's address supports besides itself.

use memchr::{memchr, memchr2, memchr3};

use crate::text::anchor::{AnchorKind, LONGEST_ANCHOR};
use crate::text::letters::{after, in_word};
use crate::text::shape::all_digits;
use crate::text::walk::Walk;

impl Walk<'_> {
    /// Takes the URL whose `://` stands at `colon`, and what stands before it in the run.
    pub(super) fn url(&mut self, start: usize, colon: usize) -> bool {
        let scheme = self.bytes[start..colon]
            .iter()
            .rev()
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'.' | b'-'))
            .count();
        let begin = colon - scheme;
        if scheme < 2 || !self.bytes[begin].is_ascii_alphabetic() {
            return false;
        }
        let authority = colon + 3;
        let end = self.url_end(authority);
        if end == authority {
            return false;
        }
        self.url_ends = end;
        if end - begin > LONGEST_ANCHOR {
            self.at = end;
            return true;
        }
        if begin > start {
            self.runs.called = false;
            self.runs.run(start, begin, u16::MAX);
        }
        self.runs.push(AnchorKind::Url, begin, end);
        self.at = end;
        if self.runs.parts {
            let rest = &self.bytes[authority..end];
            let ends =
                [memchr3(b'/', b'?', b'#', rest), memchr2(b'?', b'#', rest), memchr(b'#', rest)]
                    .map(|length| length.map(|length| authority + length));
            for end in ends.into_iter().flatten().filter(|end| *end > authority) {
                self.runs.push(AnchorKind::Url, begin, end);
            }
            self.numbered(authority, end);
            self.at = authority;
        }
        true
    }

    /// Records the last number that is a whole component of an address's path: `…/pull/68`.
    fn numbered(&mut self, authority: usize, end: usize) {
        let rest = &self.bytes[authority..end];
        let stop = rest.iter().position(|b| b"?#".contains(b)).unwrap_or(rest.len());
        let mut last = stop;
        while let Some(slash) = rest[..last].iter().rposition(|b| *b == b'/') {
            if all_digits(&rest[slash + 1..last]) {
                return self.runs.push(AnchorKind::Number, authority + slash + 1, authority + last);
            }
            last = slash;
        }
    }

    /// Records the numbers of lines as addresses give them: `#L42`, `#L10-L20`.
    pub(super) fn lines(&mut self, start: usize, end: usize) {
        let mut at = start;
        for piece in self.bytes[start..end].split(|b| *b == b'-').take(2) {
            let digits = piece.strip_prefix(b"L").unwrap_or(piece);
            if all_digits(digits) {
                let after = at + piece.len();
                self.runs.push(AnchorKind::Number, after - digits.len(), after);
            }
            at += piece.len() + 1;
        }
    }

    fn url_end(&self, authority: usize) -> usize {
        let mut end = authority;
        let mut open = 0usize;
        let limit = authority + 2 * LONGEST_ANCHOR;
        while let Some(byte) = self.bytes.get(end).filter(|_| end < limit) {
            match byte {
                b'(' => open += 1,
                b')' if open == 0 => break,
                b')' => open -= 1,
                b'"' | b'\'' | b'`' | b'<' | b'>' | b'{' | b'}' | b'|' | b'^' | b'\\' | b'*'
                | b']' => break,
                0..=b' ' | 0x7f => break,
                0x80.. => match after(self.text, end) {
                    Some(letter) if in_word(letter) => {
                        end += letter.len_utf8();
                        continue;
                    }
                    _ => break,
                },
                _ => {}
            }
            end += 1;
        }
        let tail = self.bytes[authority..end].iter().rev();
        end - tail.take_while(|b| b".,;:!?(~_-+@&=$[".contains(b)).count()
    }
}
