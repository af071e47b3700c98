//! What words show by themselves: anchors, sentences, hedges, residues. Every place is one that the text has,
//! and a text holds its own anchors.
#![no_main]

use lacuna_core::retention::{excludes, residue};
use lacuna_core::text::{
    Held, LONGEST_ANCHOR, anchors, content_words, forms, hedge, hedged_at, identifiers,
    occurrences, sentence_around, sentences, words,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let held = Held::of(text);
    let mut before = 0;
    for anchor in anchors(text) {
        let word = anchor.of(text);
        assert!(anchor.start >= before && !word.is_empty() && word.len() <= LONGEST_ANCHOR);
        before = anchor.start;
    }
    // By their form, or where their words stand: a search for these may read the whole text.
    for (_, anchor) in forms(text).take(64) {
        let word = anchor.of(text);
        assert!(held.holds(anchor.kind, word), "{word:?} is not held");
    }
    // Each of these reads the whole text.
    for anchor in anchors(text).take(8) {
        let (word, place) = (anchor.of(text), anchor.start..anchor.end);
        for found in occurrences(text, anchor.kind, word) {
            assert!(text.get(found).is_some());
        }
        let around = sentence_around(text, place.clone());
        assert!(text.get(around).is_some());
        hedged_at(text, place);
    }
    for sentence in sentences(text) {
        let sentence = &text[sentence];
        if let Some(place) = hedge(sentence) {
            assert!(sentence.get(place).is_some());
        }
    }
    for (_, anchor) in identifiers(text) {
        anchor.of(text);
    }
    (content_words(text).count(), words(text).count());
    let filter = residue(text);
    for line in text.lines().chain([text]) {
        assert_ne!(excludes(&filter, line), Some(true), "{line:?} was in there");
    }
});
