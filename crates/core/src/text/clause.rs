//! Whether what is said at a place is said with a reserve: which of a sentence's hedges reach it, and
//! which beside the sentence do.

use std::ops::Range;

use crate::text::doubt::doubted;
use crate::text::hedge::hedge;
use crate::text::letters::{ceil, floor};
use crate::text::listed::listed;
use crate::text::sentence::sentence_around;

/// Words before which or behind which `but` opens no clause of its own.
const EXCEPT: &[&str] = &["nothing", "anything", "none", "all", "everything"];
const MORE: &[&str] = &["also", "rather"];

/// Whether what stands at a place in a text is said with a reserve.
///
/// The sentences around the place are read as [`sentence_around`] finds them. A hedge counts if it
/// - stands in the place's own clause, or behind it: `It is on 5433, but I'm not sure.` What a `but`
///   sets apart before the place is not meant: `I'm not sure about the code, but my id is 7557.`
/// - is what the next sentence says of this one: `Not verified.`, `It might be outdated.`
/// - is all that the text's first sentence says, and this is the second: `I could be wrong.`
/// - stands in the line that leads to the place's list, table, code or paragraph: `It is probably one
///   of these:`, `## Guesses`
///
/// Reads a bounded number of bytes around the place. A place outside the text is moved into it.
pub fn hedged_at(text: &str, place: Range<usize>) -> bool {
    let first = floor(text, place.start.min(text.len()));
    let last = ceil(text, place.end).max(first);
    let start = sentence_around(text, first..first).start.min(first);
    let end = sentence_around(text, last..last).end.max(last);
    let clause = start + clause_begins(&text[start..first]);
    hedge(&text[clause..end]).is_some() || doubted(text, start..end) || listed(text, start)
}

/// Where the clause begins that goes on where this beginning of a sentence ends.
pub(super) fn clause_begins(head: &str) -> usize {
    let mut ends = head.rmatch_indices(" but ").filter(|(at, _)| {
        let before = head[..*at].rsplit(' ').next().unwrap_or_default();
        let after = head[at + 5..].split(' ').next().unwrap_or_default();
        !is_one_of(EXCEPT, before) && !is_one_of(MORE, after)
    });
    ends.next().map_or(0, |(at, words)| at + words.len())
}

pub(super) fn is_one_of(list: &[&str], word: &str) -> bool {
    list.iter().any(|entry| entry.eq_ignore_ascii_case(word))
}
