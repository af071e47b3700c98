//! What a number counts: its unit, and whether it is negative.

use std::ops::Range;

use crate::text::letters::{after, before, in_word};
use crate::text::shape::number_length;

/// The units that are told apart, each with its spellings in lower case. Left out is what has more
/// than one meaning (`m`, `b`, `k`, `g`, `d`, `c`): such a number is compared by its value alone.
#[rustfmt::skip]
const UNITS: &[&[&str]] = &[
    &["ns", "nanosecond", "nanoseconds"],
    &["us", "µs", "μs", "microsecond", "microseconds"],
    &["ms", "msec", "millis", "millisecond", "milliseconds"],
    &["s", "sec", "secs", "second", "seconds"],
    &["min", "mins", "minute", "minutes"],
    &["h", "hr", "hrs", "hour", "hours"],
    &["day", "days"],
    &["wk", "wks", "week", "weeks"],
    &["month", "months"],
    &["yr", "yrs", "year", "years"],
    &["bit", "bits"],
    &["byte", "bytes"],
    &["kb", "kib", "kilobyte", "kilobytes"],
    &["mb", "mib", "megabyte", "megabytes"],
    &["gb", "gib", "gigabyte", "gigabytes"],
    &["tb", "tib", "terabyte", "terabytes"],
    &["hz"], &["khz"], &["mhz"], &["ghz"],
    &["mm"], &["cm"], &["km", "kilometer", "kilometers", "kilometre", "kilometres"],
    &["mg"], &["kg"],
    &["%", "percent", "pct"],
    &["$", "usd", "dollar", "dollars"],
    &["€", "eur", "euro", "euros"],
    &["£", "gbp"],
];

/// The longest spelling, in bytes.
const LONGEST: usize = 12;

/// What a number counts, as far as the text says it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Counted {
    /// The row of its unit.
    unit: Option<usize>,
    negative: bool,
}

impl Counted {
    /// What the number counts that stands at this place in a text, and where its unit ends.
    pub fn at(text: &str, number: &Range<usize>) -> (Self, usize) {
        let words = text.get(number.clone()).unwrap_or_default();
        let digits = words.find(|c: char| c.is_ascii_digit()).unwrap_or(words.len());
        let end = number.start + digits + number_length(&words.as_bytes()[digits..]);
        let sign = before(text, number.start);
        let beyond = text.get(..number.start).and_then(|head| head.chars().rev().nth(1));
        let negative = matches!(sign, Some('-' | '\u{2212}'))
            && !beyond.is_some_and(|c| in_word(c) || matches!(c, '-' | ')' | '.'));
        let money = sign.and_then(|sign| row(sign.encode_utf8(&mut [0; 4])));
        let unit = text.get(end..).and_then(behind);
        let ends = unit.map_or(number.end, |(_, length)| number.end.max(end + length));
        (Self { unit: unit.map(|(row, _)| row).or(money), negative }, ends)
    }

    /// Whether a number that counts this may be told from one that counts `other`: neither another unit
    /// nor a minus that is not there.
    pub fn told_from(self, other: Self) -> bool {
        let differ = self.unit.zip(other.unit).is_some_and(|(one, two)| one != two);
        !differ && (other.negative || !self.negative)
    }
}

/// The unit that stands behind a number, and how far it reaches: `ms`, ` ms`, `-day`, ` million bytes`.
fn behind(rest: &str) -> Option<(usize, usize)> {
    let gap = rest.strip_prefix([' ', '-', '\u{a0}']).unwrap_or(rest);
    let length = match after(gap, 0)? {
        sign @ ('%' | '€' | '£' | '$') => sign.len_utf8(),
        _ => gap
            .char_indices()
            .take(LONGEST + 1)
            .find(|(_, c)| !in_word(*c))
            .map_or_else(|| gap.chars().take(LONGEST + 1).map(char::len_utf8).sum(), |(at, _)| at),
    };
    let word = &gap[..length];
    let reach = rest.len() - gap.len() + length;
    if matches!(word, "thousand" | "million" | "billion") {
        let (row, more) = behind(&gap[length..])?;
        return Some((row, reach + more));
    }
    Some((row(word)?, reach))
}

fn row(word: &str) -> Option<usize> {
    let same = |spelled: &&str| spelled.eq_ignore_ascii_case(word);
    UNITS.iter().position(|spellings| spellings.iter().any(same))
}
