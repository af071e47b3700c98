//! Lines: how one begins, and whether it goes on in the next, as prose that was broken to a width.

use crate::text::letters::{ceil, floor};

/// How far back the line is looked at that may go on, and how far ahead the next, in bytes.
const BACK: usize = 400;
const AHEAD: usize = 96;

/// The fewest words of a line that goes on by its comma or by weak evidence.
const WORDS: usize = 3;

/// How long a line is that was broken to a width, in characters.
const WIDTH: std::ops::RangeInclusive<usize> = 45..=130;

/// Words that end no sentence.
#[rustfmt::skip]
const OPEN: &[&str] = &[
    "a", "about", "an", "and", "are", "as", "assume", "at", "be", "because", "been", "believe",
    "but", "by", "could", "for", "from", "guess", "has", "have", "if", "in", "into", "is", "its",
    "likely", "may", "maybe", "might", "my", "of", "on", "or", "our", "over", "per", "perhaps",
    "port", "probably", "suppose", "suspect", "than", "that", "the", "their", "think", "to",
    "under", "via", "was", "were", "which", "with", "your",
];

/// Words that begin no sentence while they are in lower case.
#[rustfmt::skip]
const GOING: &[&str] = &[
    "about", "although", "and", "are", "as", "at", "because", "but", "by", "for", "from", "had",
    "has", "have", "if", "in", "is", "of", "on", "or", "so", "than", "that", "though", "to", "was",
    "were", "when", "where", "which", "while", "with",
];

/// Words of somebody who speaks for himself.
const SPEAKING: &[&str] = &["i", "we", "my", "our"];

/// Whether a line is an item of a list.
pub(super) fn item(line: &str) -> bool {
    item_mark(line.trim_start()) > 0
}

/// The length of the mark that begins an item of a list.
fn item_mark(line: &str) -> usize {
    let digits = line.bytes().take(4).take_while(u8::is_ascii_digit).count();
    let mark = if digits == 0 { line.strip_prefix(['-', '*', '+', '\u{2022}']) } else { None };
    let numbered = (1..=3).contains(&digits).then(|| line[digits..].strip_prefix(['.', ')']));
    let rest = mark.or(numbered.flatten()).filter(|rest| rest.starts_with([' ', '\t']));
    rest.map_or(0, |rest| line.len() - rest.len())
}

/// Whether a line opens or closes a block of code.
pub(super) fn fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

/// The length of the number that a listing sets before a line: `  12\t`, `12→`.
fn listing(line: &str) -> usize {
    let number = line.trim_start_matches(' ');
    let digits = number.bytes().take(7).take_while(u8::is_ascii_digit).count();
    let rest = number[digits..].strip_prefix(['\t', '\u{2192}']).filter(|_| digits > 0);
    rest.map_or(0, |rest| line.len() - rest.len())
}

/// The length of the indentation and of the marks of quotes, comments and tables that begin a line.
fn prefix(line: &str) -> usize {
    let mut at = listing(line);
    loop {
        let rest = &line[at..];
        let count = |mark: fn(&u8) -> bool| rest.bytes().take_while(mark).count();
        at += match rest.as_bytes() {
            [b' ' | b'\t' | b'>' | b'|', ..] => 1,
            [b'/', b'/', ..] => count(|b| matches!(b, b'/' | b'!')),
            // `#12` names something.
            [b'#', ..] if !matches!(rest.as_bytes().get(count(|b| *b == b'#')), Some(b' ')) => {
                return at;
            }
            [b'#', ..] => count(|b| *b == b'#'),
            _ => return at,
        };
    }
}

/// Whether two lines have the same marks before their words; those of tables are not asked for.
pub(super) fn alike(line: &str, next: &str) -> bool {
    let marks = |line: &str| line[listing(line)..prefix(line)].replace([' ', '\t', '|'], "");
    (listing(line) > 0) == (listing(next) > 0) && marks(line) == marks(next)
}

/// Whether a line has no words.
pub(super) fn blank(line: &str) -> bool {
    line[prefix(line)..].trim_end().is_empty()
}

/// Whether two lines may be of one paragraph, by their marks and the places where their words begin.
fn aligned(line: &str, next: &str) -> bool {
    let (before, after) = (&line[listing(line)..prefix(line)], &next[listing(next)..prefix(next)]);
    alike(line, next)
        && before.contains('|') == after.contains('|')
        && (!before.trim().is_empty()
            || after.is_empty()
            || after.len() == before.len()
            || item_mark(&line[prefix(line)..]) > 0)
}

/// The line that ends here, as far as it is looked at. In a string of JSON a line begins where the
/// string does, too.
fn line_before(text: &str, end: usize) -> &str {
    let (bytes, from) = (text.as_bytes(), ceil(text, end.saturating_sub(BACK)));
    let escaped = |at: usize| bytes[at] == b'n' && at > from && bytes[at - 1] == b'\\';
    let begin = (from..end).rev().find(|at| bytes[*at] == b'\n' || escaped(*at));
    let line = &text[begin.map_or(from, |at| at + 1)..end];
    let string = if bytes.get(end) == Some(&b'\\') { line.rfind("\":") } else { None };
    string.map_or(line, |key| line[key + 2..].trim_start_matches([' ', '"']))
}

/// The line that begins here, as far as it is looked at.
fn line_after(text: &str, next: usize) -> &str {
    let line = &text[next..floor(text, text.len().min(next + AHEAD))];
    let end = line.find('\n').unwrap_or(line.len());
    let end = line[..end].find("\\n").unwrap_or(end);
    &line[..end]
}

fn is_one_of(list: &[&str], word: &str) -> bool {
    list.iter().any(|entry| entry.eq_ignore_ascii_case(word))
}

/// Whether somebody speaks for himself in a line.
fn speaks(line: &str) -> bool {
    // `i.e.` is one word.
    let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '.');
    words.any(|word| is_one_of(SPEAKING, word))
}

/// Whether a line reads like code or like a row of a table.
fn is_code(line: &str) -> bool {
    ["{", "}", "|", " = ", "(\"", "('", "=>", "::"].iter().any(|mark| line.contains(mark))
}

/// Whether a line begins with a label or a time, as programs begin theirs.
fn labelled(line: &str) -> bool {
    let mut words = line.split_whitespace().take(4);
    words.next().is_some_and(|word| word.contains(':') || word.starts_with('['))
        || words.any(|word| word.ends_with([':', ']']))
}

/// Whether a line ends in a word that ends no sentence.
fn ends_open(line: &str) -> bool {
    let last = line.rsplit(char::is_whitespace).next().unwrap_or_default();
    is_one_of(OPEN, last.trim_matches(['*', '_', '"', '(', '\'']))
}

/// Whether a line ends so that its sentence must go on.
fn is_open(line: &str, next: &str) -> bool {
    if ends_open(line) {
        return true;
    }
    let Some(head) = line.strip_suffix(',') else { return false };
    let first = next.split(char::is_whitespace).next().unwrap_or_default();
    // The entries of code and data end in commas, too.
    !next.starts_with(['"', '\'', '{', '[', '(', '<'])
        && !first.ends_with(':')
        && !first.contains('=')
        && (speaks(line) || (head.ends_with(char::is_alphanumeric) && !labelled(line)))
        && line.split_whitespace().nth(WORDS - 1).is_some()
}

/// Whether a line may go on from the last before it: with a word in lower case or a plain number, and
/// neither as a key nor as an assignment.
fn may_go_on(next: &str) -> bool {
    let mut words = next.split_whitespace();
    let first = words.next().unwrap_or_default();
    let plain = first.trim_end_matches(['.', ',', ';', '?', '!']);
    let word = if first.starts_with(|c: char| c.is_ascii_digit()) {
        // `1.` and `2)` number items.
        plain.bytes().all(|b| b.is_ascii_digit()) && (plain.len() > 3 || plain.len() == first.len())
    } else {
        first.starts_with(char::is_lowercase)
            && plain.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '\'' | '\u{2019}'))
    };
    word && !words.next().is_some_and(|word| matches!(word, "=" | ":=" | "==" | "+="))
}

/// Whether the line that ends at `end` goes on in the one that begins at `next`.
///
/// Both have the same marks before them, or the first is an item of a list. Then a word or a comma
/// that ends no sentence is enough, or a word that begins none. Any other word in lower case goes on
/// only behind a line of a paragraph's width or one whose author speaks for himself: the lines of
/// programs begin in lower case, too. Looks a bounded number of bytes to both sides.
pub(super) fn wrapped(text: &str, end: usize, next: usize) -> bool {
    let next = line_after(text, next);
    let words = &next[prefix(next)..];
    let begins = words.split(char::is_whitespace).next().unwrap_or_default();
    if !begins.contains(char::is_alphanumeric) || item_mark(words) > 0 || fence(words) {
        return false;
    }
    let line = line_before(text, end).trim_end();
    let Some(last) = line.chars().next_back() else { return false };
    let closes = |marks: &[char]| last.is_alphanumeric() || marks.contains(&last);
    if !closes(&[',', ')', '"', '\'', '`', '*', '_', '%', ']', '\u{201d}', '\u{2019}'])
        || words.trim_end().ends_with('|')
    {
        return false;
    }
    // Most lines end here, before the more costly looks.
    let going = GOING.contains(&begins.trim_end_matches(','));
    let may_go_on = going || may_go_on(words);
    if !(may_go_on || last == ',' || ends_open(&line[prefix(line)..])) || !aligned(line, next) {
        return false;
    }
    let line = &line[prefix(line)..];
    let line = line[item_mark(line)..].trim_start();
    if !speaks(line) && is_code(line) {
        return false;
    }
    let wide = || WIDTH.contains(&line.chars().count()) && !labelled(line);
    is_open(line, words)
        || going
        || (may_go_on
            && closes(&[')', '"'])
            && line.split_whitespace().nth(WORDS - 1).is_some()
            && (speaks(line) || wide()))
}
