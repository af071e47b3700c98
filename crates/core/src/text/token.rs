//! A run without separators, read by its shape: numbers, versions, hashes, codes, names.

use crate::text::anchor::AnchorKind;
use crate::text::codes::{is_booking, is_labelled, sides};
use crate::text::letters::{
    COMMA, DASH, DIGIT, DOT, LETTERS, LOWER, PLUS, TILDE, UNDER, WIDE, classes,
};
use crate::text::lists::{is_counted, is_errno, is_extension, is_name, is_unit};
use crate::text::moment::Moment;
use crate::text::months::half_of_day;
use crate::text::place::{ip, is_host};
use crate::text::run::Runs;
use crate::text::shape::{
    Piece, all_digits, all_of_version, counted, digits, extension, has_humps, is_code, is_duration,
    is_hash, is_number, is_uuid, is_version, number_length, piece_of_duration,
};

/// What numbers stand behind by which everybody knows it: `UTF-8`, `GPT-4-class`.
#[rustfmt::skip]
const STANDARDS: &[&[u8]] = &[
    b"RFC", b"ISO", b"PEP", b"IEEE", b"GPT", b"SHA", b"UTF", b"COVID", b"AES", b"HTTP", b"TLS",
];

/// Words before whose dot no member begins.
#[rustfmt::skip]
const ABBREVIATIONS: &[&[u8]] = &[
    b"etc", b"vs", b"cf", b"eg", b"ie", b"no", b"No", b"Dr", b"Mr", b"Ms", b"Ph", b"Mrs", b"St",
];

impl Runs<'_> {
    /// Reads what has no slash, colon or `@`.
    pub(super) fn token(&mut self, start: usize, end: usize, all: u16) {
        let bytes = &self.bytes[start..end];
        if all & !LETTERS == 0 {
            return self.word(start, end);
        }
        let flag = bytes.starts_with(b"--") && bytes.get(2).is_some_and(u8::is_ascii_alphabetic);
        let define = matches!(bytes, [b'-', b'D', b'A'..=b'Z' | b'_', _, ..]);
        if (flag || define) && all & !(LETTERS | DIGIT | DASH | UNDER | DOT) == 0 {
            return self.push(AnchorKind::Identifier, start, end);
        }
        if bytes[0] == b'-' {
            let dashes = bytes.iter().take_while(|b| **b == b'-').count();
            return self.token_of(start + dashes, end);
        }
        if all & DIGIT != 0 && self.numeric(start, end, all) {
            return;
        }
        if all & COMMA != 0 {
            return self.each(start, end, b",", Self::token_of);
        }
        if all & (PLUS | TILDE) != 0 {
            return self.each(start, end, b"+~", Self::token_of);
        }
        if all & DASH != 0 && bytes.windows(2).any(|w| w == b"--") {
            return self.each(start, end, b"-", Self::token_of);
        }
        if all & DOT != 0 {
            return self.dotted(start, end, all);
        }
        if all & UNDER != 0 {
            return self.underscored(start, end);
        }
        if all & DASH != 0 {
            return self.dashed(start, end);
        }
        self.mixed(start, end, all);
    }

    /// Reads numbers and what looks like them.
    fn numeric(&mut self, start: usize, end: usize, all: u16) -> bool {
        let bytes = &self.bytes[start..end];
        // `3D` is a manner, not three days.
        if !self.parts && matches!(bytes, b"2D" | b"3D") {
            return true;
        }
        if is_number(bytes) && !is_hash(bytes) {
            self.push(AnchorKind::Number, start, end);
            let edge = |at: Option<&u8>, marks: &[u8]| at.is_some_and(|byte| marks.contains(byte));
            let listed =
                edge(self.bytes[..start].last(), b"[({") && edge(self.bytes.get(end), b"])}");
            if self.parts && all & COMMA != 0 && listed {
                // `[1,200]` may be two numbers.
                self.each(start, end, b",", Self::token_of);
            }
            if all & DOT != 0 {
                self.part(AnchorKind::Version, start, end);
                self.major(start, end);
            }
            if self.parts
                && self.bytes[..start].ends_with(b"-")
                && let Some((clock, last)) = half_of_day(self.bytes, start)
            {
                // `6-8 pm`
                self.time(start, last, &Moment { clock: Some(clock), ..Moment::default() });
            }
            if matches!(bytes, [.., b'0'..=b'9', b'k' | b'K' | b'M' | b'B']) {
                // The letter may be a unit, `512M` in megabytes, or stand apart: `25 k`.
                self.part(AnchorKind::Number, start, end - 1);
            }
            return true;
        }
        if self.compound(start, end) {
            return true;
        }
        let kind = if ip(bytes) {
            AnchorKind::Host
        } else if is_version(bytes) {
            AnchorKind::Version
        } else if is_uuid(bytes) {
            AnchorKind::Uuid
        } else if is_hash(bytes) {
            AnchorKind::Hash
        } else {
            return false;
        };
        if kind == AnchorKind::Version {
            self.version(start, end);
            return true;
        }
        self.push(kind, start, end);
        if kind == AnchorKind::Hash {
            // A commit is named by the first digits of its hash.
            for length in [7, 8, 9, 10, 12].into_iter().filter(|length| *length < end - start) {
                self.part(AnchorKind::Hash, start, start + length);
            }
        }
        true
    }

    /// Reads the numbers of `1h30m`, or nothing.
    fn compound(&mut self, start: usize, end: usize) -> bool {
        if !is_duration(&self.bytes[start..end]) {
            return false;
        }
        let mut at = start;
        while let Some((length, _)) = piece_of_duration(&self.bytes[at..end]) {
            self.push(AnchorKind::Number, at, at + length);
            at += length;
        }
        true
    }

    /// Reads letters only.
    pub(super) fn word(&mut self, start: usize, end: usize) {
        let bytes = &self.bytes[start..end];
        let capital = bytes.iter().all(u8::is_ascii_uppercase);
        if capital && is_errno(bytes) {
            return self.push(AnchorKind::ErrorCode, start, end);
        }
        if capital && is_labelled(self.bytes, start, end) {
            return self.push(AnchorKind::RequestId, start, end);
        }
        let named = self.called && bytes.len() > 1;
        if named || (!capital && has_humps(bytes) && !is_name(bytes) && !is_unit(bytes)) {
            self.push(AnchorKind::Identifier, start, end);
        }
    }

    /// Reads letters and digits.
    fn mixed(&mut self, start: usize, end: usize, all: u16) {
        let bytes = &self.bytes[start..end];
        if is_name(bytes) {
            return;
        }
        let letters = bytes.iter().take_while(|b| b.is_ascii_alphabetic()).count();
        let suffixed = letters >= 3 && all_digits(&bytes[letters..]);
        let turns =
            bytes.windows(2).filter(|w| w[0].is_ascii_digit() != w[1].is_ascii_digit()).count();
        if is_code(bytes) || (all & LOWER == 0 && is_errno(bytes)) {
            self.push(AnchorKind::ErrorCode, start, end);
        } else if let Some(first) = sides(bytes) {
            // `3320x864`; `2x2` is a manner, but a source may mean its numbers.
            if self.parts || bytes.len() > 4 {
                self.push(AnchorKind::Number, start, start + first);
                self.push(AnchorKind::Number, start + first + 1, end);
            }
        } else if (bytes.len() >= 8 && turns >= 3) || (!suffixed && is_booking(bytes)) {
            self.push(AnchorKind::RequestId, start, end);
        } else if self.called || suffixed || has_humps(bytes) {
            self.push(AnchorKind::Identifier, start, end);
        }
        self.counted(start, end);
    }

    /// Records the number of `30req` and of `4.1it`, as a source supports it.
    fn counted(&mut self, start: usize, end: usize) {
        if self.parts
            && !self.bytes[..start].ends_with(b".")
            && let Some(length) = counted(&self.bytes[start..end])
        {
            self.push(AnchorKind::Number, start, start + length);
        }
    }

    /// Reads `snake_case` and ids that are joined by `_`.
    fn underscored(&mut self, start: usize, end: usize) {
        let bytes = &self.bytes[start..end];
        let under = |b: &&u8| **b == b'_';
        let (before, after) =
            (bytes.iter().take_while(under).count(), bytes.iter().rev().take_while(under).count());
        if before == bytes.len() {
            return;
        }
        let inner = &bytes[before..bytes.len() - after];
        let (first, last) = (start + before, end - after);
        let dunder = before == 2 && after == 2;
        if !inner.contains(&b'_') && !dunder {
            // `_foo_` is emphasis; what is in it may still be an anchor.
            let found = self.found.len();
            self.token(first, last, classes(inner));
            // `_fooBar` is one name.
            if let Some(name) = self.found.get_mut(found)
                && (name.kind, name.start, name.end) == (AnchorKind::Identifier, first, end)
            {
                name.start = start;
            }
            return;
        }
        if is_name(inner) {
            return;
        }
        // Emphasis around a name.
        let (start, end) = if before == 1 && after == 1 { (first, last) } else { (start, end) };
        let inner_all = classes(inner);
        let error = inner_all & LOWER == 0
            && (inner.starts_with(b"ERR_")
                || [b"_ERR".as_slice(), b"_ERROR", b"_EXCEPTION"]
                    .iter()
                    .any(|tail| inner.ends_with(tail))
                || is_errno(inner));
        let numbered = inner_all & DIGIT != 0
            && inner.split(|b| matches!(b, b'_' | b'-')).any(|part| {
                all_digits(part) || (part.len() >= 6 && Piece::of(part) == Piece::Mixed)
            });
        let kind = if error {
            AnchorKind::ErrorCode
        } else if numbered {
            AnchorKind::RequestId
        } else {
            AnchorKind::Identifier
        };
        self.push(kind, start, end);
    }

    /// Reads words and numbers that are joined by `-`.
    fn dashed(&mut self, start: usize, end: usize) {
        let bytes = &self.bytes[start..end];
        let pieces = || bytes.split(|b| *b == b'-').filter(|piece| !piece.is_empty());
        let Some(first) = pieces().next() else { return };
        let (mut numbers, mut mixed) = (0, 0);
        for piece in pieces() {
            match Piece::of(piece) {
                Piece::Word => {}
                Piece::Number => numbers += 1,
                Piece::Mixed => mixed += 1,
            }
        }
        let shouted = (2..=10).contains(&first.len()) && first.iter().all(u8::is_ascii_uppercase);
        let ticket = shouted && pieces().skip(1).all(all_digits) && pieces().count() > 1;
        let known = STANDARDS.contains(&first);
        if is_name(bytes) {
            return;
        }
        let second = pieces().nth(1).filter(|piece| shouted && !known && all_digits(piece));
        if ticket && !known {
            self.push(AnchorKind::ErrorCode, start, end);
        } else if let Some(number) = second {
            // The branch of a ticket: `ABC-1234-fix-login`.
            let ticket_end = start + first.len() + 1 + number.len();
            self.push(AnchorKind::ErrorCode, start, ticket_end);
            self.each(ticket_end, end, b"-", Self::token_of);
        } else if known && !self.parts {
            // `GPT-4-class`
        } else if mixed > 0 {
            self.push(AnchorKind::RequestId, start, end);
            if self.parts && all_of_version(bytes) {
                self.each(start, end, b"-", Self::token_of);
            }
        } else if numbers == 0 || known || Piece::of(first) == Piece::Number || is_counted(first) {
            self.each(start, end, b"-", Self::token_of);
        } else {
            self.push(AnchorKind::RequestId, start, end);
            if self.parts {
                self.each(start, end, b"-", Self::token_of);
            }
        }
    }

    /// Reads names and files whose parts are joined by dots.
    fn dotted(&mut self, start: usize, end: usize, all: u16) {
        let bytes = &self.bytes[start..end];
        if is_name(bytes) {
            return;
        }
        if bytes[0] == b'.' {
            let method = self.bytes.get(end) == Some(&b'(');
            let hidden =
                !method && bytes.len() > 3 && (bytes[1].is_ascii_lowercase() || bytes[1] == b'_');
            if hidden && !is_extension(&bytes[1..]) || bytes == b".env" {
                return self.path(start, end);
            }
            return self.token_of(start + 1, end);
        }
        let last = extension(bytes).unwrap_or_default();
        let stem = &bytes[..bytes.len() - last.len() - 1];
        let whole = !bytes.windows(2).any(|w| w == b"..");
        let prose = bytes.split(|b| *b == b'.').all(|part| part.len() == 1);
        if whole
            && is_extension(last)
            && !prose
            && stem.iter().any(|b| b.is_ascii_alphanumeric() || !b.is_ascii())
        {
            return self.path(start, end);
        }
        if whole && is_host(bytes) {
            return self.push(AnchorKind::Host, start, end);
        }
        if whole && self.is_member(bytes, all) {
            self.push(AnchorKind::Identifier, start, end);
            if self.parts {
                self.tails(AnchorKind::Identifier, start, end, b".");
                self.each(start, end, b".", Self::token_of);
            }
            return;
        }
        if all & DASH != 0 {
            return self.dashed(start, end);
        }
        // `python3.11` and `TLS1.2`: a version behind a name.
        let letters = bytes.iter().take_while(|b| b.is_ascii_alphabetic()).count();
        if letters >= 2 && number_length(&bytes[letters..]) == bytes.len() - letters {
            self.push(AnchorKind::Number, start + letters, end);
            let whole = digits(&bytes[letters..]);
            return self.part(AnchorKind::Number, start + letters, start + letters + whole);
        }
        if letters >= 2 && is_version(&bytes[letters..]) {
            return self.version(start + letters, end);
        }
        self.counted(start, end);
        self.each(start, end, b".", Self::token_of);
    }

    /// Whether this is `a.b` of program text, and not two sentences without a space between them or
    /// an abbreviation.
    fn is_member(&self, bytes: &[u8], all: u16) -> bool {
        if all & !(LETTERS | DIGIT | UNDER | DOT) != 0 || all & WIDE != 0 {
            return false;
        }
        let parts = || bytes.split(|b| *b == b'.');
        let named =
            parts().all(|part| part.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_'));
        if !named || parts().all(|part| part.len() == 1) {
            return false;
        }
        if self.called || all & UNDER != 0 || parts().any(has_humps) {
            return true;
        }
        let capital = |part: &[u8]| part[0].is_ascii_uppercase();
        let abbreviation = parts().next().is_some_and(|first| ABBREVIATIONS.contains(&first));
        let last_long = parts().next_back().is_some_and(|last| last.len() >= 2);
        // A new sentence begins with a capital.
        let sentence = parts().skip(1).any(capital) && parts().count() < 3;
        last_long && !abbreviation && !sentence && all & LOWER != 0
    }
}
