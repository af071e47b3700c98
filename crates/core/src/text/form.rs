//! The form in which two anchors are compared.

use crate::text::AnchorKind;
use crate::text::anchor::Anchor;
use crate::text::fold::{Fold, Folded};
use crate::text::lists::number_word;
use crate::text::moment::{Key, Keys, said};
use crate::text::shape::number_length;
use crate::text::walk::Walk;

/// What two anchors have in common that are the same, written differently: a 64-bit hash of the
/// normal form. Forms may be put into one map over many texts; they are not for storage, since the
/// normal form may change with the program.
///
/// Numbers are compared with numbers only; all other kinds with each other, so that it does not
/// matter whether `main.rs` was taken for a path or for a quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Form(u64);

/// A fold of bytes that mixes eight at a time: fast on the short words that anchors are.
struct Mix {
    mixed: u64,
    /// The bytes that were not mixed in yet, the first in the lowest place, and their bits.
    waiting: u64,
    bits: u32,
}

impl Mix {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

    /// What a fold begins with.
    const WORDS: Self = Self::new(1 << 56);
    const NUMBERS: Self = Self::new(2 << 56);
    const MOMENTS: Self = Self::new(3 << 56);

    const fn new(beginning: u64) -> Self {
        // Far from what is folded in: else that could undo the difference.
        Self { mixed: beginning.wrapping_mul(Self::STEP), waiting: 0, bits: 0 }
    }

    fn byte(&mut self, byte: u8) {
        self.waiting |= u64::from(byte) << self.bits;
        self.bits += 8;
        if self.bits == 64 {
            self.word(self.waiting);
            (self.waiting, self.bits) = (0, 0);
        }
    }

    fn word(&mut self, word: u64) {
        self.mixed = (self.mixed ^ word).wrapping_mul(Self::STEP).rotate_left(29);
    }

    fn form(mut self) -> Form {
        // A word that ends is another than the same with zeros behind it.
        self.word(self.waiting);
        self.word(u64::from(self.bits));
        let mixed = (self.mixed ^ (self.mixed >> 32)).wrapping_mul(Self::STEP);
        Form(mixed ^ (mixed >> 29))
    }
}

/// Eight bytes with the ASCII letters among them in lower case.
fn lower(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let ascii = !word & (ONES << 7);
    let low = word & !(ONES << 7);
    let from_a = low + ONES * (0x80 - u64::from(b'A'));
    let behind_z = low + ONES * (0x7f - u64::from(b'Z'));
    let upper = from_a & !behind_z & ascii;
    word | (upper >> 2)
}

impl Form {
    /// The first bits of its hash, at most 32.
    pub(crate) fn bits(self, count: u32) -> usize {
        (self.0 >> (64 - count.min(32))) as usize
    }

    /// The form of a word that is no anchor: its letters in lower case.
    pub(super) fn of_word(word: &str) -> Self {
        Self::folded(word, Fold::Case)
    }

    fn folded(text: &str, fold: Fold) -> Self {
        let mut mix = Mix::WORDS;
        if fold == Fold::Case {
            let (words, rest) = text.as_bytes().as_chunks::<8>();
            words.iter().for_each(|word| mix.word(lower(u64::from_le_bytes(*word))));
            rest.iter().for_each(|byte| mix.byte(byte.to_ascii_lowercase()));
            return mix.form();
        }
        for (byte, _) in Folded::new(text.as_bytes(), fold) {
            mix.byte(byte);
        }
        mix.form()
    }

    fn of_moment((word, nanos): Key) -> Self {
        let mut mix = Mix::MOMENTS;
        mix.word(word);
        mix.word(u64::from(nanos));
        mix.form()
    }

    fn number(text: &str) -> Self {
        let mut mix = Mix::NUMBERS;
        if let Some(value) = number_word(text) {
            mix.byte(b'0' + value % 10);
            let mut tens = Mix::NUMBERS;
            if value >= 10 {
                tens.byte(b'0' + value / 10);
                tens.byte(b'0' + value % 10);
                return tens.form();
            }
            return mix.form();
        }
        let bytes = text.as_bytes();
        let from = bytes.iter().position(|b| b.is_ascii_digit()).unwrap_or(0);
        let bare = from > 0 && bytes[from - 1] == b'.';
        let digits = &bytes[from..from + number_length(&bytes[from..])];
        let zeros = digits.iter().take_while(|b| **b == b'0').count();
        let zeros = if digits.get(zeros).is_none_or(|b| !b.is_ascii_digit() && *b != b'_') {
            zeros.saturating_sub(1)
        } else {
            zeros
        };
        let kept = if bare { digits } else { &digits[zeros..] };
        let unit = &bytes[from + digits.len()..];
        if !bare
            && !matches!(unit, [b'k' | b'K' | b'M' | b'B' | b' ', ..])
            && kept.iter().all(u8::is_ascii_digit)
        {
            kept.iter().for_each(|digit| mix.byte(*digit));
            return mix.form();
        }
        let scale = scale(unit);
        let point = kept.iter().position(|b| *b == b'.');
        // After a power, or without a point, zeros count.
        let plain = kept.iter().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b',' | b'_'));
        if !plain || bare {
            if bare {
                mix.byte(b'0');
                mix.byte(b'.');
            }
            let ends = kept.iter().rev().take_while(|b| bare && **b == b'0').count();
            for byte in kept[..kept.len() - ends].iter().filter(|b| !matches!(b, b',' | b'_')) {
                mix.byte(byte.to_ascii_lowercase());
            }
            return mix.form();
        }
        let (whole, decimals) = kept.split_at(point.unwrap_or(kept.len()));
        let decimals = decimals.get(1..).unwrap_or_default();
        let ends = decimals.iter().rev().take_while(|b| **b == b'0').count();
        let decimals = &decimals[..decimals.len() - ends];
        // Moved to the left by as many places as the word for thousands says.
        let (moved, rest) = decimals.split_at(decimals.len().min(scale));
        let filled = std::iter::repeat_n(&b'0', scale - moved.len());
        let whole = whole.iter().filter(|b| b.is_ascii_digit()).chain(moved).chain(filled);
        let mut begun = scale == 0;
        for byte in whole {
            begun |= *byte != b'0';
            if begun {
                mix.byte(*byte);
            }
        }
        if !rest.is_empty() {
            mix.byte(b'.');
            rest.iter().for_each(|byte| mix.byte(*byte));
        }
        mix.form()
    }
}

/// By how many places the unit behind a number moves its point: `25k`, `1.2M`, `1 million`. A small
/// `m` may be minutes, a small `b` bits.
fn scale(unit: &[u8]) -> usize {
    match unit {
        [b'k' | b'K'] => 3,
        [b'M'] => 6,
        [b'B'] => 9,
        [b' ', word @ ..] => scale_word(word),
        _ => 0,
    }
}

/// The same of a word that follows a number.
pub(super) fn scale_word(word: &[u8]) -> usize {
    match word {
        b"thousand" => 3,
        b"million" => 6,
        b"billion" => 9,
        _ => 0,
    }
}

/// The part of an anchor that is compared: without the marks around a name.
pub(super) fn core(kind: AnchorKind, anchor: &str) -> &str {
    let anchor = anchor.trim();
    let ends = |c: char| matches!(c, '.' | ',' | ';' | ':' | '!' | '?');
    let core = match kind {
        AnchorKind::Quote | AnchorKind::Command => anchor.trim_end_matches(ends),
        AnchorKind::Path => {
            let rooted = anchor.trim_end_matches(ends).trim_end_matches(['/', '\\']);
            let mut rest = rooted;
            while let Some(next) = ["./", "../", "~/", "/", ".\\", "..\\", "\\"]
                .iter()
                .find_map(|lead| rest.strip_prefix(lead))
            {
                rest = next;
            }
            if rest.is_empty() { rooted } else { rest }
        }
        AnchorKind::Identifier => {
            let name = anchor.trim_end_matches(ends);
            let name = name.strip_suffix("()").unwrap_or(name);
            name.trim_start_matches(['$', '{']).trim_end_matches('}').trim_start_matches("::")
        }
        AnchorKind::Version => {
            let version = anchor.trim_end_matches(ends);
            let bare = version.strip_prefix(['v', 'V']).unwrap_or(version);
            if bare.starts_with(|c: char| c.is_ascii_digit()) { bare } else { version }
        }
        AnchorKind::Url => anchor.trim_end_matches(ends).trim_end_matches('/'),
        _ => anchor.trim_end_matches(ends),
    };
    if core.is_empty() { anchor } else { core }
}

/// The form of an anchor, as it is written in some text.
///
/// Linear in the anchor's length. The case of ASCII letters, trailing punctuation and, by kind,
/// thousands separators, units, signs, `v`, `./`, `()`, `$`, the lean of slashes and the width of
/// white space do not matter. Moments are compared by what they say, in 24 hours; an hour of one to
/// twelve that does not say its half of the day (`7:00`) is one of its own, which [`forms`] gives for
/// both halves.
pub fn form(kind: AnchorKind, anchor: &str) -> Form {
    let core = core(kind, anchor);
    if kind == AnchorKind::Number {
        return Form::number(core);
    }
    if kind == AnchorKind::Time
        && let Some(found) = said(core.as_bytes())
    {
        return Form::of_moment(found.key());
    }
    Form::folded(core, Fold::of(kind))
}

/// The forms that the anchors of a source support.
struct Formed<'a> {
    text: &'a str,
    walk: Walk<'a>,
    /// What the moment that was found last supports besides.
    more: Keys,
    moment: Anchor,
}

impl<'a> Formed<'a> {
    fn new(text: &'a str, walk: Walk<'a>) -> Self {
        let moment = Anchor { kind: AnchorKind::Time, start: 0, end: 0 };
        Self { text, walk, more: Keys::default(), moment }
    }
}

impl Iterator for Formed<'_> {
    type Item = (Form, Anchor);

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(key) = self.more.next() {
            return Some((Form::of_moment(key), self.moment));
        }
        let anchor = self.walk.next()?;
        let words = anchor.of(self.text);
        if anchor.kind == AnchorKind::Time
            && let Some(found) = said(words.as_bytes())
        {
            found.keys(&mut self.more);
            self.moment = anchor;
            let own = self.more.next();
            return own.map(|key| (Form::of_moment(key), anchor));
        }
        Some((form(anchor.kind, words), anchor))
    }
}

/// What a text supports: the form of each of its anchors and of their meaningful parts, such as the
/// last components of a path, the host of a URL, the minutes of a time, and words for numbers.
///
/// In no particular order, and with repetitions. Linear in the text's length.
pub fn forms(text: &str) -> impl Iterator<Item = (Form, Anchor)> + '_ {
    Formed::new(text, Walk::over_source(text))
}

/// The same without the ends of paths, which a search finds without their forms.
pub(super) fn searchable_forms(text: &str) -> impl Iterator<Item = (Form, Anchor)> + '_ {
    Formed::new(text, Walk::over_source(text).without_tails())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_bytes_are_lowered_as_one_by_one() {
        for first in 0..=u8::MAX {
            let bytes = std::array::from_fn(|at| first.wrapping_add(at as u8 * 31));
            let lowered = bytes.map(|byte: u8| byte.to_ascii_lowercase());
            assert_eq!(lower(u64::from_le_bytes(bytes)).to_le_bytes(), lowered, "{bytes:?}");
        }
    }

    #[test]
    fn a_word_has_the_same_form_by_the_way_of_each_fold() {
        for word in ["a", "main.rs", "MAIN.RS.", "eight.rs", "a_longer_Word_of_more", "ü-8"] {
            let plain = Form::folded(word, Fold::Case);
            let mut mix = Mix::WORDS;
            word.bytes().for_each(|byte| mix.byte(byte.to_ascii_lowercase()));
            assert_eq!(mix.form(), plain, "{word}");
        }
        assert_ne!(Form::folded("a", Fold::Case), Form::folded("a\0", Fold::Case));
    }
}
