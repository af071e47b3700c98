//! Whether a sentence keeps a reserve.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memchr2;

use crate::text::hedges::{ALLOWED, ASKING, BETWEEN, HEDGES, Hedge, SPEAKERS, SQL, THINKERS, When};
use crate::text::letters::{after, before, ceil, in_word};

/// A letter's own column, or that of everything else.
fn column(byte: u8) -> usize {
    match byte {
        b'a'..=b'z' => (byte - b'a') as usize,
        b'A'..=b'Z' => (byte - b'A') as usize,
        _ => COLUMNS - 1,
    }
}

const COLUMNS: usize = 27;

fn beginning(first: u8, second: u8) -> usize {
    column(first) * COLUMNS + column(second)
}

/// The hedges by their first two bytes: most words are let go after a look at these.
static BY_BEGINNING: LazyLock<Vec<Vec<Hedge>>> = LazyLock::new(|| {
    let mut table = vec![Vec::new(); COLUMNS * COLUMNS];
    for hedge in HEDGES {
        let words = hedge.0.as_bytes();
        table[beginning(words[0], words[1])].push(*hedge);
    }
    table
});

/// The length of a hedge's words at the beginning of a text: any white space for a space, with marks
/// of emphasis on either side of it, curly apostrophes for straight ones.
fn matched(words: &str, text: &str) -> Option<usize> {
    let (words, bytes) = (words.as_bytes(), text.as_bytes());
    let mut at = 0;
    for byte in words {
        match (byte, bytes.get(at)?) {
            (b' ', _) => {
                let rest = &bytes[at..];
                let gap = rest.iter().take_while(|b| b.is_ascii_whitespace() || is_emphasis(**b));
                let gap = gap.count();
                rest[..gap].iter().find(|b| b.is_ascii_whitespace())?;
                at += gap;
            }
            (b'\'', 0xe2) if bytes[at..].starts_with("\u{2019}".as_bytes()) => at += 3,
            (byte, next) if next.to_ascii_lowercase() == *byte => at += 1,
            _ => return None,
        }
    }
    Some(at)
}

/// A mark that makes words stand out: `*think*`, `_think_`.
fn is_emphasis(byte: u8) -> bool {
    matches!(byte, b'*' | b'_')
}

/// The words' place with the underscores around them, which may be emphasis.
fn emphasised(text: &str, range: &Range<usize>) -> Range<usize> {
    let bytes = text.as_bytes();
    let under = |b: &&u8| **b == b'_';
    let left = bytes[..range.start].iter().rev().take_while(under).count();
    let right = bytes[range.end..].iter().take_while(under).count();
    range.start - left..range.end + right
}

/// Whether something stands here that makes one name of the words to its sides: `maybe_uninit`,
/// `Maybe::new`, `lib/maybe`, `maybe.rs`, `maybe(`.
fn joined(text: &str, range: &Range<usize>) -> bool {
    let range = &emphasised(text, range);
    let glue = |c: char| matches!(c, '-' | '/' | '.' | ':' | '$' | '@' | '\\' | '=');
    let (left, right) = (before(text, range.start), after(text, range.end));
    let further = text.get(range.end..).and_then(|rest| rest.chars().nth(1));
    let nearer = text.get(..range.start).and_then(|head| head.chars().rev().nth(1));
    let beyond = |c: Option<char>| c.is_some_and(|c| in_word(c) || c == ':');
    let marked = text[range.start..].starts_with("(?)") && left.is_some_and(|c| c.is_ascii_digit());
    left.is_some_and(|c| in_word(c) || (glue(c) && beyond(nearer)) || matches!(c, '$' | '@'))
        && !marked
        || right.is_some_and(|c| in_word(c) || (glue(c) && beyond(further)) || c == '(')
}

/// Whether the words here are a variable or a field of code: `let maybe = 5`, `likely: bool`. A colon
/// of prose comes before a sentence or ends one: `Most likely: the cache`, `Probably: yes`.
fn declared(text: &str, range: &Range<usize>) -> bool {
    let rest = &text[range.end..];
    let value = rest.trim_start_matches(' ');
    if value.starts_with('=') {
        return true;
    }
    let name = &text[range.clone()];
    let Some(kind) = rest.strip_prefix(':').filter(|_| !name.contains(' ')) else { return false };
    let kind = kind.trim_start_matches([' ', '&']);
    let length = kind.bytes().take(64).take_while(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let length = length.count();
    let degree = word_before(text, range.start);
    length > 0
        && name.bytes().all(|b| b.is_ascii_lowercase())
        && !degree.is_some_and(|(word, _)| is_one_of(&["most", "more", "very", "quite"], word))
        && kind[length..].trim_start_matches(' ').starts_with([',', ';', ')', '}', '=', '<', '|'])
            | kind[length..].trim_end().is_empty()
}

/// Whether `be` and a participle follow that say what is allowed: `may be omitted`.
fn is_allowed(next: &str) -> bool {
    let mut words = next.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty());
    words.next() == Some("be") && words.next().is_some_and(|word| is_one_of(ALLOWED, word))
}

/// The word before this place, without punctuation between them, and where it begins.
fn word_before(text: &str, at: usize) -> Option<(&str, usize)> {
    let head = text[..at].trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_'));
    let start = head
        .char_indices()
        .rev()
        .take(32)
        .take_while(|(_, c)| in_word(*c) || matches!(c, '\'' | '\u{2019}'))
        .last()?
        .0;
    let word = head[start..].trim_start_matches('_');
    Some((word, head.len() - word.len()))
}

fn is_one_of(list: &[&str], word: &str) -> bool {
    list.iter().any(|entry| entry.eq_ignore_ascii_case(word))
}

/// Whether one of these, or a name, is the subject of the verb here.
fn has_subject(text: &str, at: usize, subjects: &[&str], names: bool) -> bool {
    let mut at = at;
    for _ in 0..3 {
        let Some((word, start)) = word_before(text, at) else { return false };
        // `I'd`, `I’ve`.
        let stem = word.split(['\'', '\u{2019}']).next().unwrap_or(word);
        if is_one_of(subjects, stem) {
            return true;
        }
        if is_one_of(BETWEEN, word) {
            at = start;
            continue;
        }
        let capital = stem.len() > 1 && stem.starts_with(char::is_uppercase);
        return names && capital && stem.chars().skip(1).all(char::is_lowercase);
    }
    false
}

/// Whether the verb here says how something is to be: `to look like`, `what would it look like`.
fn is_asked(text: &str, at: usize) -> bool {
    let mut words =
        std::iter::successors(word_before(text, at), |(_, start)| word_before(text, *start));
    words.by_ref().take(4).any(|(word, _)| is_one_of(ASKING, word))
}

fn holds(text: &str, range: &Range<usize>, (words, when): Hedge) -> bool {
    if joined(text, range) || declared(text, range) {
        return false;
    }
    match when {
        When::Always => true,
        When::Modal => {
            let rest = &text[range.end..];
            let next = rest.trim_start();
            let you =
                word_before(text, range.start).is_some_and(|(word, _)| is_one_of(&["you"], word));
            next.len() < rest.len()
                && next.starts_with(|c: char| c.is_ascii_lowercase())
                && text[range.clone()].starts_with(|c: char| c.is_ascii_lowercase())
                && !you
                && !is_allowed(next)
        }
        // `It looks like you passed a string`, as programs tell what is wrong.
        When::Look => {
            let next = text[range.end..].split(|c: char| !c.is_ascii_alphabetic()).nth(1);
            !next.is_some_and(|word| is_one_of(&["you", "your"], word))
        }
        When::Finite => !is_asked(text, range.start),
        When::Last => {
            let rest = text[range.end..].trim_start_matches([' ', '\t']);
            !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '\'' | '"' | '`'))
        }
        When::Marked => {
            !word_before(text, range.start).is_some_and(|(word, _)| is_one_of(SQL, word))
        }
        When::Spoken => has_subject(text, range.start, SPEAKERS, false),
        // `Three suspects` and `Some guesses` are nouns; `Docker assumes` is a fact.
        When::Thought => {
            let verb = matches!(words, "thinks" | "believes" | "reckons");
            has_subject(text, range.start, THINKERS, verb)
        }
    }
}

/// The words here that say how sure somebody is, if that is less than wholly: `80% sure`.
fn share(text: &str, at: usize) -> Option<Range<usize>> {
    let head = text.get(at..ceil(text, at + 24))?;
    let digits = head.bytes().take(6).take_while(|b| b.is_ascii_digit() || *b == b'.').count();
    let rest = head[digits..].trim_start_matches(' ').strip_prefix('%')?.trim_start_matches(' ');
    let whole: f32 = head[..digits].parse().ok().filter(|share| *share < 100.0)?;
    let length = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
    let end = at + head.len() - rest.len() + length;
    (whole >= 0.0 && is_one_of(SHARES, &rest[..length])).then_some(at..end)
}

/// What somebody is to a share.
const SHARES: &[&str] = &["sure", "certain", "confident", "positive"];

/// The first hedge of a sentence: words by which its author keeps a reserve.
///
/// English; see [`HEDGES`] for what counts and what was left out. One pass over the sentence.
pub fn hedge(sentence: &str) -> Option<Range<usize>> {
    let bytes = sentence.as_bytes();
    let by_beginning = &*BY_BEGINNING;
    let (mut at, mut inside) = (0, false);
    // A mark that stands alone opens no code.
    let mut open = true;
    while let Some(&first) = bytes.get(at) {
        if inside && first.is_ascii_alphanumeric() {
            at += 1;
            continue;
        }
        if first >= 0x80 {
            let letter = sentence[at..].chars().next()?;
            inside = in_word(letter);
            at += letter.len_utf8();
            continue;
        }
        // An underscore that begins a word may be emphasis.
        let word = first.is_ascii_alphanumeric() || (first == b'_' && inside);
        // `5433(?)`
        let marked = first == b'(' && bytes[..at].last().is_some_and(u8::is_ascii_digit);
        let begins = !inside && (word || matches!(first, b'(' | b'[')) || marked;
        inside = word;
        if begins {
            let second = bytes.get(at + 1).copied().unwrap_or_default();
            let hedges = &by_beginning[beginning(first, second)];
            let found = hedges.iter().filter_map(|hedge| {
                let range = at..at + matched(hedge.0, &sentence[at..])?;
                holds(sentence, &range, *hedge).then_some(range)
            });
            let found = found.max_by_key(|range| range.end);
            let share = || first.is_ascii_digit().then(|| share(sentence, at)).flatten();
            if let Some(found) = found.or_else(share) {
                return Some(found);
            }
        } else if first == b'`' && open {
            // Code in backticks states nothing.
            let close = memchr2(b'`', b'\n', &bytes[at + 1..]).map(|length| at + 1 + length);
            open = close.is_some();
            if let Some(close) = close.filter(|close| bytes[*close] == b'`') {
                at = close;
            }
        }
        at += 1;
    }
    None
}
