//! Lines that lead to what stands under them: `My guess:`, `## Open questions`.

use std::ops::Range;

use crate::text::clause::{clause_begins, is_one_of};
use crate::text::hedge::hedge;
use crate::text::letters::{ceil, floor};
use crate::text::line::{alike, blank, fence, item};
use crate::text::sentence::sentence_around;

/// How far above a place the line is looked for that leads to it, in bytes.
const REACH: usize = 2000;

/// How much of the place's own line is looked at, in bytes.
const OWN: usize = 256;

/// The most words of a line without a colon that leads to a list.
const TITLE: usize = 8;

/// What a title names if what stands under it is not known.
#[rustfmt::skip]
const UNKNOWN: &[&str] = &[
    "assumption", "assumptions", "guess", "guesses", "hypotheses", "hypothesis", "speculation",
    "speculations", "unconfirmed", "unverified",
];

/// How a title begins that says what stands under it.
const NAMING: &[&str] = &["claims", "facts", "items", "parts", "points", "stuff", "things", "what"];

/// The lines above the one that begins here, from the nearest on; none that is not wholly in reach.
fn above(text: &str, from: usize, begin: usize) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut end = begin;
    std::iter::from_fn(move || {
        let stop = end.checked_sub(1).filter(|stop| *stop >= from)?;
        let line = text[from..stop].rfind('\n').map(|line| from + line + 1);
        end = line.or((from == 0).then_some(0))?;
        Some(end..stop)
    })
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Whether a line closes with a colon.
fn closes(line: &str) -> bool {
    line.trim_end_matches(['*', '_', ' ', '\t', '\r']).ends_with(':')
}

/// Whether a line is a word of data (`prod:`), not a label that stands out (`**Context:**`).
fn key(line: &str) -> bool {
    line.split_whitespace().nth(1).is_none() && !line.starts_with(['*', '_'])
}

/// Whether a line is a title of what is not known.
fn titled(line: &str) -> bool {
    let mut words = line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let count = words.clone().take(TITLE + 1).count();
    let open = line.to_ascii_lowercase().contains("open question");
    count <= TITLE && (open || words.any(|word| is_one_of(UNKNOWN, word)))
}

/// The hedge of the sentence that ends with this line. What a `but` sets apart is not meant.
fn reserve<'a>(text: &'a str, line: &Range<usize>) -> Option<&'a str> {
    let stop = line.start + text[line.clone()].trim_end().len();
    let sentence = &text[sentence_around(text, stop..stop)];
    let clause = &sentence[clause_begins(sentence)..];
    hedge(clause).map(|found| &clause[found])
}

/// Whether a line without a colon is a title, no sentence: `Things I'm unsure about`.
fn is_title(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let first = words.next().unwrap_or_default();
    let last = words.next_back().unwrap_or(first).trim_matches(['*', '_']);
    let short = words.nth(TITLE - 2).is_none();
    let ends = last.ends_with(|c: char| c.is_alphanumeric() || c == ')');
    let names = is_one_of(&["about", "of"], last)
        || is_one_of(NAMING, first.trim_matches(['*', '_']))
        || titled(line);
    short && ends && names
}

/// Whether a line leads to a list: with a colon, as a heading or as a title.
fn leads_to_list(text: &str, line: &Range<usize>) -> bool {
    let words = text[line.clone()].trim_end();
    (closes(words) || words.starts_with('#') || is_title(words))
        && (titled(words) || reserve(text, line).is_some())
}

/// Whether a line leads to the code or the paragraph under it. How something looks, code and output
/// show.
fn leads(text: &str, line: &Range<usize>) -> bool {
    let looks = ["look", "seem", "appear", "sound", "feel"];
    let reserved = || {
        let reserve = reserve(text, line).map(str::to_ascii_lowercase);
        reserve.is_some_and(|words| !looks.iter().any(|look| words.starts_with(look)))
    };
    closes(&text[line.clone()]) && (titled(&text[line.clone()]) || reserved())
}

/// Whether the place's line belongs to a list that such a line leads to, or to an item that does.
fn in_list(text: &str, own: &str, lines: impl Iterator<Item = Range<usize>>) -> bool {
    let (mut listed, mut depth) = (item(own), indentation(own));
    if !listed && depth == 0 {
        return false;
    }
    for line in lines {
        let words = text[line.clone()].trim_end();
        let indent = indentation(words);
        if words.is_empty() || (indent > 0 && !item(words)) {
            continue;
        }
        if !item(words) {
            return listed && leads_to_list(text, &line);
        }
        if indent < depth && closes(words) && leads_to_list(text, &line) {
            return true;
        }
        (listed, depth) = (true, depth.min(indent));
    }
    false
}

/// Whether the nearest line over these lines, with at most one blank line between, leads to them.
fn led(text: &str, lines: impl Iterator<Item = Range<usize>>) -> bool {
    let mut lines = lines.take(2).skip_while(|line| text[line.clone()].trim().is_empty());
    lines.next().is_some_and(|line| leads(text, &line))
}

/// Whether the place stands in a block of code that such a line leads to.
fn in_code(text: &str, mut lines: impl Iterator<Item = Range<usize>>) -> bool {
    lines.any(|line| fence(&text[line])) && led(text, lines)
}

/// Whether the place stands in a paragraph or a table that such a line leads to or that holds it.
fn in_paragraph(text: &str, own: &str, mut lines: impl Iterator<Item = Range<usize>>) -> bool {
    // A line that leads to something itself is not led to.
    if closes(own) && !key(own) {
        return false;
    }
    let mut above = own;
    while !item(above) && !fence(above) && alike(above, own) {
        let Some(line) = lines.next() else { return false };
        above = &text[line.clone()];
        if blank(above) {
            return led(text, lines.take(1));
        }
        // A key leads to nothing but its own value.
        if closes(above) && alike(above, own) && (leads(text, &line) || !key(above)) {
            return leads(text, &line);
        }
    }
    false
}

/// Whether a line above the place's own leads to it with a hedge.
pub(super) fn listed(text: &str, at: usize) -> bool {
    let from = ceil(text, at.saturating_sub(REACH));
    let begin = text[from..at].rfind('\n').map_or(from, |line| from + line + 1);
    if begin == from && from > 0 {
        return false;
    }
    let own = &text[begin..floor(text, text.len().min(at + OWN))];
    let own = own.split('\n').next().unwrap_or_default();
    let lines = || above(text, from, begin);
    in_list(text, own, lines()) || in_code(text, lines()) || in_paragraph(text, own, lines())
}
