//! Dates with the name of a month, and times of day with `am` and `pm`: what reaches over white
//! space, and so over more than one run.

use std::ops::Range;

use crate::text::lists::is_stop_word;
use crate::text::moment::{Clock, Moment, clock, dated, digit_at, digits};

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The month whose name these bytes begin with, and the name's length. A name begins with a capital
/// and is whole, or its first three letters, or `Sept`.
pub(super) fn month(bytes: &[u8]) -> Option<(u8, usize)> {
    if !matches!(bytes.first(), Some(b'A' | b'D' | b'F' | b'J' | b'M' | b'N' | b'O' | b'S')) {
        return None;
    }
    let length = bytes.iter().take(10).take_while(|b| b.is_ascii_alphabetic()).count();
    let name = &bytes[..length];
    let at = MONTHS.iter().position(|month| {
        let short = length == 3 || (length == 4 && month.starts_with("sept"));
        (short || length == month.len())
            && month.as_bytes().get(..length).is_some_and(|word| word.eq_ignore_ascii_case(name))
    })?;
    Some((at as u8 + 1, length))
}

/// Whether a word or a number goes on here: what stands before is a piece of it.
fn goes_on(bytes: &[u8], at: usize) -> bool {
    match bytes.get(at) {
        Some(b'%' | b'/' | b'_' | 0x80..) => true,
        Some(b'.' | b':') => digit_at(bytes, at + 1),
        Some(b'-') => bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic),
        Some(b',') => digits(bytes, at + 1, 3).is_some() && !digit_at(bytes, at + 4),
        Some(byte) => byte.is_ascii_alphanumeric(),
        None => false,
    }
}

/// The day of a month that begins here, where its digits end and where its ordinal does.
fn day(bytes: &[u8], at: usize) -> Option<(u32, usize, usize)> {
    let length = if digit_at(bytes, at + 1) { 2 } else { 1 };
    let day = digits(bytes, at, length).filter(|day| (1..=31).contains(day))?;
    let end = at + length;
    let ordinal = matches!(bytes.get(end..end + 2), Some(b"st" | b"nd" | b"rd" | b"th"));
    Some((day, end, end + if ordinal { 2 } else { 0 }))
}

/// The year that follows at `at`: `, 1990` or ` 1990`. Without a comma it may be a number of other
/// things, so it must be one of these times.
fn year(bytes: &[u8], at: usize) -> Option<(u32, usize)> {
    let comma = bytes.get(at) == Some(&b',');
    let space = at + usize::from(comma);
    let begin = space + usize::from(bytes.get(space) == Some(&b' '));
    let years = if comma { 1000..3000 } else { 1900..2100 };
    let year = digits(bytes, begin, 4).filter(|year| begin > at && years.contains(year))?;
    (!goes_on(bytes, begin + 4)).then_some((year, begin))
}

fn spaces(bytes: &[u8], at: usize, most: usize) -> usize {
    bytes[at.min(bytes.len())..].iter().take(most).take_while(|b| **b == b' ').count()
}

/// The date that begins here, `April 5, 1990` or `5 April 1990`, and where it ends. The year may be
/// left out.
pub(super) fn date_in_words(bytes: &[u8], at: usize) -> Option<(Moment, usize)> {
    let (month, day, day_at, end) = if digit_at(bytes, at) {
        let (day, digits_end, end) = day(bytes, at)?;
        let space = spaces(bytes, end, 1);
        let of = if bytes[end + space..].starts_with(b"of ") { 3 } else { 0 };
        let name = end + space + of;
        let (month, length) = month(&bytes[name..]).filter(|_| space > 0)?;
        (month, day, (at, digits_end), name + length)
    } else {
        let (month, length) = month(&bytes[at..])?;
        let name = at + length;
        let name = name + usize::from(length < 5 && bytes.get(name) == Some(&b'.'));
        // In the logs of the system days are two columns wide.
        let begin = name + spaces(bytes, name, 2);
        let (day, digits_end, end) = day(bytes, begin).filter(|_| begin > name)?;
        (month, day, (begin, digits_end), end)
    };
    if goes_on(bytes, end) {
        return None;
    }
    let found = dated(0, month.into(), day)?;
    let found = Moment { day_at: Some(day_at), ..found };
    Some(match year(bytes, end) {
        Some((year, begin)) => {
            (Moment { year: year as u16, year_at: Some(begin), ..found }, begin + 4)
        }
        None => (found, end),
    })
}

/// The length of the name of a zone that stands here behind a space: ` UTC`, ` CEST`.
fn zone_name(bytes: &[u8]) -> usize {
    let name = bytes.iter().skip(1).take(6).take_while(|b| b.is_ascii_uppercase()).count();
    let known = (3..6).contains(&name) && (bytes[name] == b'T' || &bytes[1..=name] == b"UTC");
    if bytes.first() == Some(&b' ') && known { name + 1 } else { 0 }
}

/// What follows a date without its year as `date` and git write it: ` 09:12:44 2026`, perhaps with the
/// name of a zone. The time of day, where it stands, and where the year begins.
pub(super) fn clock_and_year(bytes: &[u8], at: usize) -> Option<(Clock, Range<usize>, usize)> {
    let start = at + 1;
    let whole = clock(bytes, start).filter(|_| bytes[at] == b' ')?;
    let (found, end) = half_of_day(bytes, start).unwrap_or(whole);
    let at = end + zone_name(&bytes[end..]);
    let (_, begin) = year(bytes, at).filter(|_| bytes[at] == b' ')?;
    // Else it is a part of a run that goes on.
    let ends = match &bytes[begin + 4..] {
        [] | [b'\\', b'n' | b'r' | b't', ..] => true,
        [b'.', next @ ..] => next.first().is_none_or(u8::is_ascii_whitespace),
        [next, ..] => next.is_ascii_whitespace() || b"\"'])<,;".contains(next),
    };
    if !ends {
        return None;
    }
    Some((found, start..end, begin))
}

/// The date that begins here and has a time of day before its year, `Nov 30 09:12:44 2026`, and where
/// it ends. The time of day is read by itself.
pub(super) fn date_around_clock(bytes: &[u8], at: usize) -> Option<(Moment, usize)> {
    let (date, end) = date_in_words(bytes, at).filter(|(date, _)| date.year == 0)?;
    let (.., begin) = clock_and_year(bytes, end)?;
    let year = digits(bytes, begin, 4)? as u16;
    let found = Moment { year, year_at: Some(begin), ..date };
    Some((found, begin + 4))
}

/// Whether the month that begins here, with its day before `end`, is a verb: `May 3 retries fail?`,
/// `March 5 miles.` So it is where a sentence begins and a noun follows the number.
pub(super) fn is_verb(bytes: &[u8], at: usize, end: usize) -> bool {
    if !matches!(&bytes[at..at + 3], b"May" | b"Mar") {
        return false;
    }
    let before = bytes[at.saturating_sub(16)..at].iter().rev();
    let before =
        before.copied().find(|b| !matches!(b, b' ' | b'\t' | b'"' | b'*' | b'>' | b'(' | b'-'));
    let begins = before.is_none_or(|b| matches!(b, b'\n' | b'.' | b'!' | b'?' | b':' | b';'));
    let Some([b' ', next @ ..]) = bytes.get(end..) else { return false };
    let word = next.iter().take(24).take_while(|b| b.is_ascii_lowercase()).count();
    begins && word > 1 && !is_stop_word(&next[..word])
}

/// The time of day with `am` or `pm` that begins here, and where it ends: `6am`, `7:00 PM`.
pub(super) fn half_of_day(bytes: &[u8], at: usize) -> Option<(Clock, usize)> {
    let (found, end) = match clock(bytes, at) {
        Some(found) => found,
        None => {
            let length = if digit_at(bytes, at + 1) { 2 } else { 1 };
            let hour = digits(bytes, at, length)? as u8;
            (Clock { hour, twelve: hour, ..Clock::default() }, at + length)
        }
    };
    let begin = end + spaces(bytes, end, 1);
    let dotted = bytes.get(begin + 1) == Some(&b'.');
    let m = begin + 1 + usize::from(dotted);
    let late = match (bytes.get(begin)?, bytes.get(m)?) {
        (b'a' | b'A', b'm' | b'M') => false,
        (b'p' | b'P', b'm' | b'M') => true,
        _ => return None,
    };
    let end = m + 1 + usize::from(dotted && bytes.get(m + 1) == Some(&b'.'));
    let whole = !bytes.get(end).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    if !whole {
        return None;
    }
    let hour = match (found.hour, late) {
        (1..=12, _) => found.hour % 12 + if late { 12 } else { 0 },
        // `14:05 pm`, as people write it who count to 24.
        (13..=23, true) | (0, false) if bytes[at..begin].contains(&b':') => found.hour,
        _ => return None,
    };
    let twelve = if found.hour <= 12 { found.hour } else { 0 };
    Some((Clock { hour, twelve, open: false, ..found }, end))
}
