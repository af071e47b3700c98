//! Residues: what stays of a removed text, so that a search can still say what was certainly not in it.
//!
//! A residue is a Bloom filter of the text's telling words: runs of letters, digits and `_` with a digit, a
//! `_` or a capital that is not the first letter. Identifiers have such words, prose has few. Whether a
//! word is telling shows in itself, wherever it stands: so none that was there is ever denied. The filter
//! holds no words.
//!
//! ```text
//! 10 bits for each different word, rounded up to whole bytes, and 16 for the only one; the lowest bit of
//! a byte first. 7 of them are set: of the BLAKE3 of the word, in key derivation mode with the context
//! below, bytes 4n to 4n+3 for n from 0 to 6, little endian, modulo the number of bits.
//! ```

use std::collections::BTreeSet;

const BITS: usize = 10;
const LEAST: usize = 2;
const HASHES: usize = 7;
const CONTEXT: &str = "lacuna 2026-11 residue v1";

/// The residue of a text; empty if it has no telling words.
pub fn residue(text: &str) -> Vec<u8> {
    let words: BTreeSet<&str> = telling_words(text).collect();
    if words.is_empty() {
        return Vec::new();
    }
    let mut filter = vec![0; (words.len() * BITS).div_ceil(8).max(LEAST)];
    for word in words {
        for at in places(word, filter.len() * 8) {
            filter[at / 8] |= 1 << (at % 8);
        }
    }
    filter
}

/// Whether these words were certainly not in the text that a residue is of, as whole words and as they are
/// written. None if it cannot tell: if none of them is telling.
pub fn excludes(residue: &[u8], words: &str) -> Option<bool> {
    let mut asked = telling_words(words).peekable();
    asked.peek()?;
    let length = residue.len() * 8;
    let denied = |word: &str| {
        length == 0 || places(word, length).any(|at| residue[at / 8] & (1 << (at % 8)) == 0)
    };
    Some(asked.any(denied))
}

fn telling_words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.filter(|word| {
        word.contains(|c: char| c.is_numeric() || c == '_')
            || word.chars().skip(1).any(char::is_uppercase)
    })
}

/// The bits of a word, of so many.
fn places(word: &str, bits: usize) -> impl Iterator<Item = usize> {
    let hash = blake3::Hasher::new_derive_key(CONTEXT).update(word.as_bytes()).finalize();
    (0..HASHES).map(move |n| {
        let bytes = hash.as_bytes()[4 * n..4 * n + 4].try_into().expect("a hash has 32 bytes");
        u32::from_le_bytes(bytes) as usize % bits
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_residue_is_stored_as_it_was() {
        let filter = residue("see req-7f3a at 10.0.0.7:5432");
        let hex: String = filter.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, GOLDEN);
        let denied = |words| excludes(&filter, words);
        assert_eq!((denied("req-7f3a"), denied("0.7:5432")), (Some(false), Some(false)));
        assert_eq!((denied("req-7f3b"), denied("7f3")), (Some(true), Some(true)));
        // Words that say nothing by themselves.
        assert_eq!((denied("see"), denied("req-"), denied("")), (None, None, None));
        assert!(residue("no name here").is_empty());
        assert_eq!(excludes(&[], "req-7f3b"), Some(true));
    }

    #[test]
    fn words_of_identifiers_are_telling() {
        let words: Vec<&str> =
            telling_words("The fooBar of src/my_mod.rs:12 gave ENOENT, said Kim; naïve 5433.")
                .collect();
        assert_eq!(words, ["fooBar", "my_mod", "12", "ENOENT", "5433"]);
    }

    const GOLDEN: &str = "519ba857822a0e";
}
