//! The words of a sentence that carry its content.

use crate::text::form::Form;
use crate::text::letters::{after, in_word};
use crate::text::lists::is_stop_word;

/// The words of a text that are longer than a byte.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let bytes = text.as_bytes();
    // The length of a character that is in a word, or of one that is in none.
    let inside = |at: usize| match bytes.get(at)? {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => Some((true, 1)),
        0..=0x7f => Some((false, 1)),
        _ => after(text, at).map(|letter| (in_word(letter), letter.len_utf8())),
    };
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            while let Some((false, length)) = inside(at) {
                at += length;
            }
            let start = at;
            while let Some((true, length)) = inside(at) {
                at += length;
            }
            match at - start {
                0 => return None,
                1 => {}
                _ => return Some(&text[start..at]),
            }
        }
    })
}

/// The words of a text in lower case, as forms, without those that every sentence has.
///
/// A word is letters, digits and `_`; `don't` is `don` and `t`. Letters outside ASCII keep their
/// case. Scripts that are written without spaces give no words.
pub fn content_words(text: &str) -> impl Iterator<Item = Form> + '_ {
    split(text).filter(|word| !is_stop_word(word.as_bytes())).map(Form::of_word)
}

/// All words of a text, as [`content_words`] gives those that carry content.
pub fn words(text: &str) -> impl Iterator<Item = Form> + '_ {
    split(text).map(Form::of_word)
}
