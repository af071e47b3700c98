//! Residues: no word of a removed text is ever denied, few others are taken for one, and they are small.

use std::collections::BTreeSet;

use lacuna_core::retention::{excludes, residue};
use lacuna_core::text::identifiers;
use proptest::prelude::*;

/// A line of a log with identifiers of its own.
fn line(n: u64) -> String {
    format!(
        "2026-11-30T06:{:02}:00Z worker-{} req-{:08x} GET https://db-{}.internal:{}/v{}/items/{} \
         took {} ms in src/pool_{}.rs:{} Err{:04}\n",
        n % 60,
        n % 977,
        n.wrapping_mul(2_654_435_761),
        n % 83,
        1_024 + n % 60_000,
        n % 9,
        n.wrapping_mul(31),
        n % 5_000,
        n % 301,
        n % 2_000,
        n % 10_000
    )
}

#[test]
fn what_was_not_in_a_text_is_mostly_denied_and_what_was_never() {
    for lines in [1, 3, 40, 2_000] {
        let text: String = (0..lines).map(line).collect();
        let filter = residue(&text);
        let different: BTreeSet<&str> =
            identifiers(&text).map(|(_, anchor)| anchor.of(&text)).collect();
        let size = filter.len();
        // An identifier is a word or several; in a log, words come back more often than identifiers.
        let most = if lines == 1 { 3 } else { 2 };
        assert!(size <= most * different.len(), "{size} bytes for {} identifiers", different.len());
        for (_, anchor) in identifiers(&text) {
            let name = anchor.of(&text);
            assert_ne!(excludes(&filter, name), Some(true), "{name} was there");
        }
        falsely(&filter, lines);
    }
}

/// At most 1 in 100 others are taken for a word of the text.
fn falsely(filter: &[u8], of: u64) {
    const ASKED: u64 = 20_000;
    let other = |n: u64| format!("other-{:012x}9", n.wrapping_mul(0x9e37_79b9_7f4a));
    let taken = (0..ASKED).filter(|n| excludes(filter, &other(*n)) != Some(true)).count();
    assert!(taken as u64 * 100 <= ASKED, "{taken} of {ASKED} taken for one of {of}");
}

#[test]
fn few_words_are_told_apart_as_well_as_many() {
    // Averaged: of one small filter the share hangs on its very words.
    for count in 1..=12_u64 {
        let mut taken = 0;
        for round in 0..60 {
            let words: Vec<String> = (0..count).map(|n| format!("w{round}x{n}")).collect();
            let filter = residue(&words.join(" "));
            assert!(filter.len() as u64 <= 2 * count, "{} for {count}", filter.len());
            let asked = (0..1_000_u64).map(|n| format!("q{n}y{round}"));
            taken += asked.filter(|word| excludes(&filter, word) != Some(true)).count();
        }
        assert!(taken * 100 <= 60_000, "{taken} of 60000 taken for one of {count}");
    }
}

/// Whether a place of a text begins or ends a word.
fn bounded(text: &str, start: usize, end: usize) -> bool {
    let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let inside = &text[start..end];
    let begins = !(word(text[..start].chars().next_back()) && word(inside.chars().next()));
    begins && !(word(inside.chars().next_back()) && word(text[end..].chars().next()))
}

proptest! {
    #[test]
    fn no_part_of_a_text_between_words_is_ever_denied(
        text in "(\\PC|[a-zA-Z_.:/@#-]|[0-9A-F]|\n| ){1,300}",
        picks in prop::collection::vec((any::<prop::sample::Index>(), 1_usize..40), 20),
    ) {
        let filter = residue(&text);
        for (at, length) in picks {
            let start = text.floor_char_boundary(at.index(text.len()));
            let end = text.floor_char_boundary((start + length).min(text.len()));
            if bounded(&text, start, end) {
                let part = &text[start..end];
                prop_assert_ne!(excludes(&filter, part), Some(true), "{:?} in {:?}", part, text);
            }
        }
    }

    #[test]
    fn any_bytes_are_a_harmless_residue(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        excludes(&bytes, "req-7f3a");
    }
}
