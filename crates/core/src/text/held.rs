//! What one text holds.

use std::cell::OnceCell;
use std::ops::Range;

use crate::text::AnchorKind;
use crate::text::anchor::{Anchor, LONGEST_ANCHOR, anchors};
use crate::text::find::occurrences;
use crate::text::form::{Form, form, searchable_forms};

/// Bits of the sieve for each byte of text, as a power of two: most texts hold a word each 8 bytes.
const SIEVE_SHIFT: u32 = 1;
const SIEVE_LEAST: usize = 1 << 10;
const SIEVE_MOST: usize = 1 << 24;

/// What one text holds: where its anchors and their parts stand, by form.
///
/// Sixteen bytes for each of them, and some for a sieve of its words once a search needs it; built in
/// time linear in the text, but for the sorting of the forms.
#[derive(Debug)]
pub struct Held<'a> {
    text: &'a str,
    /// Sorted, without repetitions.
    places: Vec<(Form, u32, u32)>,
    words: OnceCell<Sieve>,
}

impl<'a> Held<'a> {
    /// What this text holds. Of a text over 4 GiB only the beginning counts.
    pub fn of(text: &'a str) -> Self {
        Self::seeking(text, |_| true, |_, _| {})
    }

    /// What this text holds of the forms that are sought: of others it may say that they are not
    /// there. In the same pass it tells what the text names, as [`identifiers`] does.
    pub fn seeking(
        text: &'a str,
        sought: impl Fn(Form) -> bool,
        mut named: impl FnMut(Form, Anchor),
    ) -> Self {
        let text = &text[..text.floor_char_boundary(u32::MAX as usize)];
        let at = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
        let mut places = Vec::new();
        let mut outer = Outermost::default();
        for (form, anchor) in searchable_forms(text) {
            if sought(form) {
                places.push((form, at(anchor.start), at(anchor.end)));
            }
            if outer.admits(text, &anchor) {
                named(form, anchor);
            }
        }
        places.sort_unstable();
        places.dedup();
        Self { text, places, words: OnceCell::new() }
    }

    /// Whether an anchor of this form, or a part of one, occurs in the text.
    pub fn contains(&self, form: Form) -> bool {
        self.of_form(form).next().is_some()
    }

    /// Whether the text holds an anchor.
    ///
    /// A number is held only as a number of its own or in words; everything else also where its words
    /// stand as [`occurrences`] finds them. That costs a pass over the text, but only where the form
    /// is not known and each of the anchor's words stands somewhere.
    pub fn holds(&self, kind: AnchorKind, anchor: &str) -> bool {
        self.contains(form(kind, anchor)) || self.searched(kind, anchor).next().is_some()
    }

    /// Where an anchor stands: where its form does, else where its words do.
    pub fn places(
        &self,
        kind: AnchorKind,
        anchor: &str,
    ) -> impl Iterator<Item = Range<usize>> + '_ {
        let form = form(kind, anchor);
        let search = (!self.contains(form)).then(|| self.searched(kind, anchor));
        self.of_form(form).chain(search.into_iter().flatten())
    }

    fn of_form(&self, form: Form) -> impl Iterator<Item = Range<usize>> + '_ {
        let from = self.places.partition_point(|(other, ..)| *other < form);
        let same = self.places[from..].iter().take_while(move |(other, ..)| *other == form);
        same.map(|&(_, start, end)| start as usize..end as usize)
    }

    fn searched(&self, kind: AnchorKind, anchor: &str) -> impl Iterator<Item = Range<usize>> + 'a {
        let may = match kind {
            AnchorKind::Number => false,
            // A hash is found by its first digits, and in these escapes count as white space.
            AnchorKind::Hash | AnchorKind::Command | AnchorKind::Quote => true,
            _ => {
                let held = self.words.get_or_init(|| Sieve::of(self.text));
                words(anchor).all(|word| held.may_hold(word))
            }
        };
        may.then(|| occurrences(self.text, kind, anchor)).into_iter().flatten()
    }
}

/// What a text names: its anchors, without those inside another one. What stands inside a quote or a
/// command counts for itself.
pub fn identifiers(text: &str) -> impl Iterator<Item = (Form, Anchor)> + '_ {
    let mut outer = Outermost::default();
    let found = anchors(text).filter(move |anchor| outer.admits(text, anchor));
    found.map(move |anchor| (form(anchor.kind, anchor.of(text)), anchor))
}

/// Lets anchors through that are not inside another one. Of a text's anchors the outer come first.
#[derive(Default)]
struct Outermost {
    end: usize,
}

impl Outermost {
    fn admits(&mut self, text: &str, anchor: &Anchor) -> bool {
        // A source's words for numbers support a claim's digits and name nothing.
        let word = text.as_bytes()[anchor.start].is_ascii_alphabetic();
        if anchor.end <= self.end || (anchor.kind == AnchorKind::Number && word) {
            return false;
        }
        if !matches!(anchor.kind, AnchorKind::Quote | AnchorKind::Command) {
            self.end = anchor.end;
        }
        true
    }
}

/// Which words a text may hold: where it says no, the word does not stand there.
#[derive(Debug)]
struct Sieve {
    bits: Vec<u64>,
}

impl Sieve {
    fn of(text: &str) -> Self {
        let wanted = (text.len() << SIEVE_SHIFT).next_power_of_two();
        let bits = wanted.clamp(SIEVE_LEAST, SIEVE_MOST);
        let mut sieve = Self { bits: vec![0; bits / 64] };
        words(text).for_each(|word| sieve.insert(word));
        // In `\nword`, as JSON writes the end of a line, the n is no letter of the word.
        for at in memchr::memchr_iter(b'\\', text.as_bytes()) {
            let letter = text.as_bytes().get(at + 1).is_some_and(u8::is_ascii_alphabetic);
            if let Some(rest) = text.as_bytes().get(at + 2..).filter(|_| letter) {
                let run =
                    rest.iter().take(LONGEST_ANCHOR).take_while(|b| b.is_ascii_alphanumeric());
                let length = run.count();
                if length > 0 {
                    sieve.insert(hash(&rest[..length]));
                }
            }
        }
        sieve
    }

    fn insert(&mut self, word: u64) {
        let at = self.at(word);
        self.bits[at / 64] |= 1 << (at % 64);
    }

    fn may_hold(&self, word: u64) -> bool {
        let at = self.at(word);
        self.bits[at / 64] & (1 << (at % 64)) != 0
    }

    fn at(&self, word: u64) -> usize {
        // The number of bits is a power of two; the upper bits of a product are the mixed ones.
        (word >> 32) as usize & (self.bits.len() * 64 - 1)
    }
}

/// Hashes of the runs of ASCII letters and digits, whatever their case.
fn words(text: &str) -> impl Iterator<Item = u64> + '_ {
    let runs = text.as_bytes().split(|byte| !byte.is_ascii_alphanumeric());
    runs.filter(|run| !run.is_empty()).map(hash)
}

fn hash(word: &[u8]) -> u64 {
    word.iter().fold(0x9e37_79b9_7f4a_7c15_u64, |hash, byte| {
        let mixed = (hash ^ u64::from(byte.to_ascii_lowercase())).rotate_left(23);
        mixed.wrapping_mul(0x2545_f491_4f6c_dd1d)
    })
}
