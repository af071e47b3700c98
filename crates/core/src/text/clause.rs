//! Whether what is said at a place is said with a reserve: which of a sentence's hedges reach it, and
//! which beside the sentence do.

use std::ops::Range;

use crate::text::anchor::anchors;
use crate::text::hedge::hedge;
use crate::text::letters::{ceil, floor};
use crate::text::sentence::sentence_around;

/// How far above an item the line is looked for that its list stands under, in bytes.
const REACH: usize = 2000;

/// The most words of a sentence that only doubts the one before it.
const SHORT: usize = 8;

/// How a sentence begins that speaks of the one before it. Of others a hedge is their own: `I think we
/// should go on.`
const SPEAKING: &[&str] = &[
    "afaik",
    "although",
    "but",
    "could",
    "don't",
    "haven't",
    "i'm",
    "iirc",
    "it",
    "it's",
    "just",
    "maybe",
    "might",
    "my",
    "needs",
    "not",
    "only",
    "perhaps",
    "possibly",
    "presumably",
    "probably",
    "take",
    "that",
    "that's",
    "these",
    "they",
    "they're",
    "this",
    "those",
    "though",
    "to",
    "unconfirmed",
    "unsure",
    "unverified",
];

/// Words before which or behind which `but` opens no clause of its own.
const EXCEPT: &[&str] = &["nothing", "anything", "none", "all", "everything"];
const MORE: &[&str] = &["also", "rather"];

/// Whether what stands at a place in a text is said with a reserve.
///
/// The sentences around the place are read as [`sentence_around`] finds them. A hedge counts if it
/// - stands in the place's own clause, or behind it: `It is on 5433, but I'm not sure.` What a `but`
///   sets apart before the place is not meant: `I'm not sure about the code, but my id is 7557.`
/// - closes with a colon the line that the place's list stands under: `It is probably one of these:`
/// - is all that the next sentence says, in at most eight words and without an anchor: `Not verified.`
///
/// Reads a bounded number of bytes around the place. A place outside the text is moved into it.
pub fn hedged_at(text: &str, place: Range<usize>) -> bool {
    let first = floor(text, place.start.min(text.len()));
    let last = ceil(text, place.end).max(first);
    let start = sentence_around(text, first..first).start.min(first);
    let end = sentence_around(text, last..last).end.max(last);
    let clause = start + clause_begins(&text[start..first]);
    hedge(&text[clause..end]).is_some() || doubted_next(text, end) || listed(text, start)
}

/// Where the clause begins that goes on where this beginning of a sentence ends.
fn clause_begins(head: &str) -> usize {
    let mut ends = head.rmatch_indices(" but ").filter(|(at, _)| {
        let before = head[..*at].rsplit(' ').next().unwrap_or_default();
        let after = head[at + 5..].split(' ').next().unwrap_or_default();
        !is_one_of(EXCEPT, before) && !is_one_of(MORE, after)
    });
    ends.next().map_or(0, |(at, words)| at + words.len())
}

fn is_one_of(list: &[&str], word: &str) -> bool {
    list.iter().any(|entry| entry.eq_ignore_ascii_case(word))
}

/// Whether the sentence that follows at `end` only doubts the one that ends there.
fn doubted_next(text: &str, end: usize) -> bool {
    let limit = floor(text, text.len().min(end + 64));
    let rest = &text[end..limit];
    let gap = rest.len() - rest.trim_start().len();
    // Another paragraph or another item speaks of something else.
    if gap == 0 || gap == rest.len() || rest[..gap].matches('\n').count() > 1 {
        return false;
    }
    if rest[..gap].contains('\n') && item(&rest[gap..]) {
        return false;
    }
    let next = &text[end + gap..sentence_around(text, end + gap..end + gap).end];
    let mut words = next.split_whitespace();
    let opening = words.next().unwrap_or_default();
    if words.count() >= SHORT {
        return false;
    }
    let opening = opening.trim_matches(|c: char| !c.is_alphanumeric()).replace('\u{2019}', "'");
    let Some(found) = hedge(next) else { return false };
    let words = next[found].to_ascii_lowercase();
    // How something looks is mostly news, not a doubt.
    let looks = ["look", "seem", "appear", "sound", "feel"];
    let answers = next.to_ascii_lowercase().starts_with("i think so");
    (answers || is_one_of(SPEAKING, &opening) || next.to_ascii_lowercase().starts_with(&*words))
        && !looks.iter().any(|look| words.starts_with(look))
        && !next.trim_end().ends_with('?')
        && anchors(next).next().is_none()
}

/// Whether a line is an item of a list.
fn item(line: &str) -> bool {
    let line = line.trim_start();
    if let Some(rest) = line.strip_prefix(['-', '*', '+', '\u{2022}']) {
        return rest.starts_with([' ', '\t']);
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = line[digits..].strip_prefix(['.', ')']);
    (1..=3).contains(&digits) && rest.is_some_and(|rest| rest.starts_with([' ', '\t']))
}

/// Whether the place's line is an item of a list under a line that ends in a colon and hedges.
fn listed(text: &str, at: usize) -> bool {
    let from = ceil(text, at.saturating_sub(REACH));
    let begin = text[from..at].rfind('\n').map_or(from, |line| from + line + 1);
    let own = floor(text, text.len().min(at + 64));
    if begin == from && from > 0 || !item(&text[begin..own]) {
        return false;
    }
    let mut end = begin;
    while end > from {
        let line = text[from..end - 1].rfind('\n').map_or(from, |line| from + line + 1);
        let words = text[line..end - 1].trim_end();
        let inside = words.starts_with([' ', '\t']);
        if !(words.is_empty() || inside || item(words)) {
            let closes = words.trim_end_matches(['*', '_']).ends_with(':');
            let stop = line + words.len();
            return closes && hedge(&text[sentence_around(text, stop..stop)]).is_some();
        }
        end = line;
    }
    false
}
