//! What a number counts: its unit, as far as it can be told.

use std::ops::Range;

use crate::text::letters::{after, before, in_word};
use crate::text::shape::number_length;

/// What the unit of a number may mean, a row for each meaning: the spellings that are compared letter
/// by letter, and those that are in any case. A spelling of several rows may mean any of them. What
/// is in no row (`c`, `f`, `v`) is not compared.
#[rustfmt::skip]
const MEANINGS: &[(&[&str], &[&str])] = &[
    // Money first, then scales: see below.
    (&[], &["$", "usd", "dollar", "dollars"]),
    (&[], &["€", "eur", "euro", "euros"]),
    (&[], &["£", "gbp"]),
    (&[], &["chf", "franc", "francs"]),
    (&[], &["¥", "￥", "jpy", "yen"]),
    (&[], &["¥", "￥", "cny", "rmb", "yuan"]),
    (&["k", "K"], &["thousand"]),
    (&["m", "M"], &["million"]),
    (&["b", "B"], &["bn", "billion"]),
    (&["T"], &["trillion"]),
    (&[], &["ns", "nanosecond", "nanoseconds"]),
    (&["us"], &["µs", "μs", "microsecond", "microseconds"]),
    (&[], &["ms", "msec", "millis", "millisecond", "milliseconds"]),
    (&[], &["s", "sec", "secs", "second", "seconds"]),
    (&["m"], &["min", "mins", "minute", "minutes"]),
    (&[], &["h", "hr", "hrs", "hour", "hours"]),
    (&["d"], &["day", "days"]),
    (&["w"], &["wk", "wks", "week", "weeks"]),
    (&[], &["month", "months"]),
    (&["y"], &["yr", "yrs", "year", "years"]),
    (&["b"], &["bit", "bits"]),
    (&["b", "B"], &["byte", "bytes"]),
    (&["k", "K", "Ki"], &["kb", "kib", "kilobyte", "kilobytes"]),
    (&["m", "M", "Mi"], &["mb", "mib", "megabyte", "megabytes"]),
    (&["g", "G", "Gi"], &["gb", "gib", "gigabyte", "gigabytes"]),
    (&["T", "Ti"], &["tb", "tib", "terabyte", "terabytes"]),
    (&["kb", "Kb"], &["kbps", "kbit", "kbits"]),
    (&["Mb"], &["mbps", "mbit", "mbits"]),
    (&["Gb"], &["gbps", "gbit", "gbits"]),
    (&[], &["hz"]), (&[], &["khz"]), (&[], &["mhz"]), (&[], &["ghz"]),
    (&[], &["mm"]), (&[], &["cm"]),
    (&["m"], &["meter", "meters", "metre", "metres"]),
    (&[], &["km", "kilometer", "kilometers", "kilometre", "kilometres"]),
    (&[], &["mi", "mile", "miles"]),
    (&[], &["mg"]), (&["g"], &["gram", "grams"]), (&[], &["kg"]),
    (&[], &["%", "percent", "pct"]),
    (&[], &["°c", "℃", "celsius"]), (&[], &["°f", "℉", "fahrenheit"]),
    (&[], &["row", "rows"]),
];

/// The rows of money.
const MONEY: u64 = 0b11_1111;
/// The rows of scales.
const SCALES: u64 = 0b1111 << 6;

/// The row of thousands.
const THOUSAND: u64 = 1 << 6;

/// What is counted in thousands and millions, and is not measured in bytes.
#[rustfmt::skip]
const THINGS: &[&str] = &[
    "customers", "downloads", "entries", "events", "items", "lines", "messages", "parameters",
    "params", "people", "queries", "records", "requests", "tokens", "users", "visitors",
];

/// The longest spelling, in bytes.
const LONGEST: usize = 12;

/// What a number counts, as far as the text says it: a bit for each meaning that its unit may have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Counted(u64);

impl Counted {
    /// What the number counts that stands at this place in a text, and where its unit ends. A letter for
    /// thousands or millions within the place belongs to the number, behind it to the unit.
    pub fn at(text: &str, number: &Range<usize>) -> (Self, usize) {
        let end = digits_end(text, number);
        let attached = text.get(end..number.end).unwrap_or_default();
        let money = money_before(text, number.start);
        let (unit, ends) = match attached {
            "" => behind(text, end).unwrap_or_default(),
            scale if is_scale(scale) => behind(text, number.end).unwrap_or_default(),
            unit => (meanings(unit), number.end),
        };
        // `$25M`, `25M rows` and `25M users` are no megabytes.
        let counts = || behind(text, ends).is_some() || is_thing(text, ends);
        let unit = match unit & SCALES {
            scales if scales > 0 && (money > 0 || counts()) => scales,
            _ => unit | money,
        };
        (Self(unit), number.end.max(ends))
    }

    /// What the number at this place counts if its scale is taken for a unit, as the `M` of `512M` may
    /// be megabytes, and where it stands without the scale. None if it has no scale.
    pub(crate) fn unscaled(text: &str, number: &Range<usize>) -> Option<(Self, Range<usize>)> {
        let end = digits_end(text, number);
        let digits = number.start..end;
        is_scale(text.get(end..number.end)?).then(|| (Self::at(text, &digits).0, digits))
    }

    /// Whether the number at this place may be one whose scale says this, and that counts `whole` with
    /// it. A scale is there as a scale: `30m` may be minutes. Where no unit stands, no word may stand
    /// either: `30 requests` are no `30M`, but a bare 30 may be in a column of megabytes.
    pub(crate) fn may_stand(self, whole: Self, text: &str, place: &Range<usize>) -> bool {
        let (other, ends) = Self::at(text, place);
        let only_scale = self.0 & !SCALES == 0;
        if other.0 == 0 {
            return !only_scale && self.0 & THOUSAND == 0 && !is_word_behind(text, ends);
        }
        if !only_scale {
            return self.may_be(other);
        }
        let beyond = behind(text, ends).map_or(0, |(unit, _)| unit);
        let beyond = Self(beyond | money_before(text, place.start));
        other.0 & !SCALES == 0 && self.may_be(other) && whole.may_be(beyond)
    }

    /// Whether a number that counts this may be one that counts `other`: their units may mean the same,
    /// or one of them has none.
    pub fn may_be(self, other: Self) -> bool {
        self.0 == 0 || other.0 == 0 || self.0 & other.0 != 0
    }
}

fn digits_end(text: &str, number: &Range<usize>) -> usize {
    let words = text.get(number.clone()).unwrap_or_default();
    let digits = words.find(|c: char| c.is_ascii_digit()).unwrap_or(words.len());
    number.start + digits + number_length(&words.as_bytes()[digits..])
}

fn is_scale(attached: &str) -> bool {
    matches!(attached, "k" | "K" | "M" | "B" | " thousand" | " million" | " billion")
}

/// Whether a word of things stands at this place.
fn is_thing(text: &str, at: usize) -> bool {
    word_behind(text, at).is_some_and(|(word, _)| THINGS.contains(&word))
}

/// The money whose sign or code stands before a number: `$30`, `USD 30`.
fn money_before(text: &str, at: usize) -> u64 {
    let sign = before(text, at).map_or(0, |sign| meanings(sign.encode_utf8(&mut [0; 4])));
    if sign & MONEY > 0 {
        return sign & MONEY;
    }
    let head = text.get(..at).unwrap_or_default();
    let head = head.strip_suffix(' ').unwrap_or(head);
    let code = head.len().checked_sub(3).and_then(|from| head.get(from..));
    let code = code.filter(|code| code.bytes().all(|b| b.is_ascii_uppercase()));
    let whole = !before(text, head.len().saturating_sub(3)).is_some_and(in_word);
    code.filter(|_| whole).map_or(0, |code| meanings(code) & MONEY)
}

/// What the unit that stands behind a number may mean, and where it ends: `ms`, ` ms`, `-day`,
/// ` US dollars`. None if there is none.
fn behind(text: &str, end: usize) -> Option<(u64, usize)> {
    let (word, ends) = word_behind(text, end)?;
    let apart = ends - word.len() > end;
    let found = match word {
        // Somebody, or a country.
        "us" if apart => 0,
        "US" => {
            let (money, ends) = word_behind(text, ends)?;
            return Some((meanings(money) & MONEY, ends)).filter(|(money, _)| *money > 0);
        }
        "degrees" | "degree" => {
            let (scale, ends) = word_behind(text, ends)?;
            return Some((meanings(scale), ends)).filter(|(scale, _)| *scale > 0);
        }
        word => meanings(word),
    };
    (found > 0).then_some((found, ends))
}

/// The word or the sign that stands behind a number, and where it ends.
fn word_behind(text: &str, end: usize) -> Option<(&str, usize)> {
    let rest = text.get(end..)?;
    let gap = rest.strip_prefix([' ', '-', '\u{a0}']).unwrap_or(rest);
    let (mut length, word) = match after(gap, 0)? {
        sign @ ('%' | '€' | '£' | '$' | '¥' | '￥' | '℃' | '℉') => {
            (sign.len_utf8(), false)
        }
        '°' => ('°'.len_utf8(), true),
        _ => (0, true),
    };
    if word {
        let letters = gap[length..].chars().take(LONGEST + 1).take_while(|c| in_word(*c));
        length += letters.map(char::len_utf8).sum::<usize>();
    }
    Some((&gap[..length], end + rest.len() - gap.len() + length))
}

fn is_word_behind(text: &str, end: usize) -> bool {
    word_behind(text, end).is_some_and(|(word, _)| word.starts_with(char::is_alphabetic))
}

/// What a spelling may mean.
fn meanings(word: &str) -> u64 {
    if word.is_empty() {
        return 0;
    }
    let means = |(exact, any): &(&[&str], &[&str])| {
        exact.contains(&word) || any.iter().any(|spelled| spelled.eq_ignore_ascii_case(word))
    };
    let (mut rows, mut found) = (BEGINNING[usize::from(word.as_bytes()[0])], 0);
    while rows != 0 {
        let row = rows.trailing_zeros();
        if means(&MEANINGS[row as usize]) {
            found |= 1 << row;
        }
        rows &= rows - 1;
    }
    found
}

/// By first byte, the rows with a spelling that begins so.
static BEGINNING: [u64; 256] = {
    let mut rows = [0; 256];
    let mut row = 0;
    while row < MEANINGS.len() {
        let (exact, any) = MEANINGS[row];
        let mut at = 0;
        while at < exact.len() {
            rows[exact[at].as_bytes()[0] as usize] |= 1 << row;
            at += 1;
        }
        at = 0;
        while at < any.len() {
            let first = any[at].as_bytes()[0];
            rows[first as usize] |= 1 << row;
            rows[first.to_ascii_uppercase() as usize] |= 1 << row;
            at += 1;
        }
        row += 1;
    }
    rows
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rows_are_money_and_scales() {
        let of = |words: &[&str]| words.iter().fold(0, |found, word| found | meanings(word));
        assert_eq!(of(&["$", "€", "£", "chf", "jpy", "cny"]), MONEY);
        assert_eq!(of(&["thousand"]), THOUSAND);
        assert_eq!(of(&["thousand", "million", "billion", "trillion"]), SCALES);
        let spelled = || MEANINGS.iter().flat_map(|(exact, any)| exact.iter().chain(*any));
        assert!(MEANINGS.len() <= 64 && spelled().all(|word| word.len() <= LONGEST));
    }
}
