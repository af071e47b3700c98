//! The words of a sentence that carry its content.

use crate::text::form::Form;
use crate::text::letters::in_word;
use crate::text::lists::is_stop_word;

/// The words of a text in lower case, as forms, without those that every sentence has.
///
/// A word is letters, digits and `_`; `don't` is `don` and `t`. Letters outside ASCII keep their
/// case. Scripts that are written without spaces give no words.
pub fn content_words(text: &str) -> impl Iterator<Item = Form> + '_ {
    text.split(|letter| !in_word(letter))
        .filter(|word| word.len() > 1 && !is_stop_word(word.as_bytes()))
        .map(Form::of_word)
}
