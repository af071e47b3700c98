//! Sentences: what is said around a place.

use std::ops::Range;

use crate::text::letters::{after, ceil, floor};
use crate::text::line::wrapped;
use crate::text::lists::{is_abbreviation, is_numbering};

/// How far a sentence is followed to each side, in bytes.
const REACH: usize = 1000;

/// The bytes at which a sentence may end.
const ENDS: [bool; 256] = {
    let mut table = [false; 256];
    let bytes = b"\n\\.!?;\xe3\xef";
    let mut at = 0;
    while at < bytes.len() {
        table[bytes[at] as usize] = true;
        at += 1;
    }
    table
};

/// The first place from `from` on at which a sentence may end; `to` if there is none before that.
fn next(text: &str, from: usize, to: usize) -> usize {
    let bytes = &text.as_bytes()[from..to];
    from + bytes.iter().position(|byte| ENDS[usize::from(*byte)]).unwrap_or(bytes.len())
}

/// The length of the end of a sentence that stands here: a line's end, or a mark with white space
/// behind it. 0 if the sentence goes on.
fn end(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    match bytes[at] {
        b'\n' if wrapped(text, at, at + 1) => 0,
        b'\n' => 1,
        // A line's end in a string of JSON; in `C:\new` it is none.
        b'\\' if bytes.get(at + 1) == Some(&b'n') && (at == 0 || bytes[at - 1] != b':') => {
            if wrapped(text, at, at + 2) {
                0
            } else {
                2
            }
        }
        b'.' if goes_on(text, at) => 0,
        b'.' | b'!' | b'?' | b';' => closing(text, at + 1).map_or(0, |marks| 1 + marks),
        // 。 ！ ？
        0xe3 if bytes[at..].starts_with("。".as_bytes()) => 3,
        0xef if bytes[at..].starts_with("！".as_bytes()) => 3,
        0xef if bytes[at..].starts_with("？".as_bytes()) => 3,
        _ => 0,
    }
}

/// The length of the closing quotes and brackets that stand here with white space or the text's end
/// behind them.
fn closing(text: &str, at: usize) -> Option<usize> {
    let mut length = 0;
    loop {
        match after(text, at + length) {
            Some(
                mark @ ('"' | '\'' | ')' | ']' | '*' | '_' | '`' | '\u{201d}' | '\u{2019}'
                | '\u{bb}'),
            ) if length < 12 => {
                length += mark.len_utf8();
            }
            Some('\\') => {
                let escaped = text.as_bytes().get(at + length + 1);
                return matches!(escaped, Some(b'n' | b't' | b'r' | b'"')).then_some(length);
            }
            next => return next.is_none_or(char::is_whitespace).then_some(length),
        }
    }
}

/// Whether the full stop here belongs to an abbreviation, to a list's number or to dots that only
/// pause.
fn goes_on(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    let from = at.saturating_sub(12);
    let head = &bytes[from..at];
    let length = head.iter().rev().take_while(|b| b.is_ascii_alphanumeric() || **b == b'.').count();
    let word = &head[head.len() - length..];
    let first = from + head.len() - length;
    let next = text[at + 1..].chars().take(2).find(|c| !c.is_whitespace());
    let lower = next.is_some_and(char::is_lowercase);
    if word.last() == Some(&b'.') && word.iter().all(|b| *b == b'.') {
        return lower;
    }
    if word.ends_with(b"..") {
        return lower;
    }
    let numbered = (1..=3).contains(&length) && word.iter().all(u8::is_ascii_digit);
    if numbered {
        let blank = bytes[..first].iter().rev().take(16).take_while(|b| matches!(b, b' ' | b'\t'));
        let line = first - blank.count();
        return line == 0 || bytes[line - 1] == b'\n';
    }
    // `no. 3`, but `It took 5 sec. 3 tests failed.`
    if next.is_some_and(|c| c.is_ascii_digit()) && is_numbering(word) {
        let left = bytes[..first].iter().rev().take(16).find(|b| !matches!(b, b' ' | b'\t'));
        return !left.is_some_and(u8::is_ascii_digit);
    }
    // An initial; `etc.` and its like end a sentence if a capital follows.
    match is_abbreviation(word) {
        Some(always) => always || lower,
        None => word.len() == 1 && word[0].is_ascii_uppercase() && word[0] != b'I',
    }
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let words = &text[range.clone()];
    let start = range.start + words.len() - words.trim_start().len();
    start..start + words.trim().len()
}

/// The sentence or the line around a place in a text.
///
/// It ends at a line's end that is not joined with the next line, or at `.`, `!`, `?` or `;` with
/// white space behind it, but not at the dots of names, numbers and abbreviations. At most 1,000
/// bytes to each side of the place; on character boundaries; without the white space around it. A
/// place outside the text is moved into it.
pub fn sentence_around(text: &str, at: Range<usize>) -> Range<usize> {
    let first = floor(text, at.start.min(text.len()));
    let last = ceil(text, at.end).max(first);
    let mut start = ceil(text, first.saturating_sub(REACH));
    let reached = start;
    let mut place = next(text, reached, first);
    while place < first {
        match end(text, place) {
            0 => place += 1,
            length => {
                place += length;
                // The end may stand in the middle of the place that was asked about.
                start = place.min(first);
            }
        }
        place = next(text, place.min(first), first);
    }
    let limit = floor(text, text.len().min(last + REACH));
    let mut stop = next(text, last, limit.max(last));
    while stop < limit {
        match end(text, stop) {
            0 => stop = next(text, stop + 1, limit),
            length => {
                stop += if text.as_bytes()[stop] == b'\n' { 0 } else { length };
                break;
            }
        }
    }
    let found = trimmed(text, start..floor(text, stop.min(limit)).max(last));
    found.start.min(first)..found.end.max(last)
}

/// The sentences and lines of a text, in order, without the white space around them; empty ones
/// are left out.
pub fn sentences(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut from = 0;
    std::iter::from_fn(move || {
        while from < text.len() {
            let start = from;
            let mut place = next(text, start, text.len());
            while place < text.len() {
                match end(text, place) {
                    0 => place = next(text, place + 1, text.len()),
                    length => {
                        place += length;
                        break;
                    }
                }
            }
            from = place;
            let found = trimmed(text, start..place);
            if !found.is_empty() {
                return Some(found);
            }
        }
        None
    })
}
