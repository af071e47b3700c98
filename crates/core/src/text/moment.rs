//! Dates and times of day, as digits write them, and what they say.

use crate::text::months::{date_around_clock, date_in_words, half_of_day, month};

/// What a date or a time of day says, as far as it says it: 0 for what is left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) year: u16,
    pub(super) month: u8,
    pub(super) day: u8,
    /// Whether `month` and `day` may be the other way: `04/05/2026`.
    pub(super) unordered: bool,
    pub(super) clock: Option<Clock>,
    /// Where the four digits of the year begin.
    pub(super) year_at: Option<usize>,
    /// Where the digits of the day stand.
    pub(super) day_at: Option<(usize, usize)>,
}

/// A time of day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Clock {
    /// Of 24.
    pub(super) hour: u8,
    pub(super) minute: u8,
    pub(super) second: Option<u8>,
    pub(super) nanos: u32,
    /// The hour as it is said, where it is one of twelve; else 0.
    pub(super) twelve: u8,
    /// Whether it does not say which half of the day it is: `7:00`, but not `07:00` or `7:00:00Z`.
    pub(super) open: bool,
    /// The minutes east of Greenwich.
    pub(super) zone: Option<i16>,
}

/// What is compared of a moment: all but the fraction of its second, and that.
pub(super) type Key = (u64, u32);

/// The most keys that a moment supports.
const KEYS: usize = 20;

/// The keys that a source's moment supports, its own first.
#[derive(Debug, Default)]
pub(super) struct Keys {
    found: [Key; KEYS],
    count: usize,
    next: usize,
}

impl Keys {
    fn push(&mut self, key: Key) {
        if self.count == 0 || (self.found[0] != key && self.count < KEYS) {
            self.found[self.count] = key;
            self.count += 1;
        }
    }

    pub(super) fn next(&mut self) -> Option<Key> {
        let key = self.found[..self.count].get(self.next)?;
        self.next += 1;
        Some(*key)
    }
}

impl Moment {
    /// How this moment is compared, as a claim says it.
    pub(super) fn key(&self) -> Key {
        let field = |value: Option<u64>| value.map_or(0, |value| value + 1);
        let clock = self.clock.unwrap_or_default();
        let open = clock.open && self.month == 0;
        let hour = if open { clock.twelve } else { clock.hour };
        let zone = clock.zone.map(|zone| (i64::from(zone) + 1440).unsigned_abs());
        let mut word = u64::from(self.unordered) | u64::from(open) << 1;
        for (bits, value) in [
            (12, u64::from(self.year)),
            (4, u64::from(self.month)),
            (5, u64::from(self.day)),
            (5, field(self.clock.map(|_| u64::from(hour)))),
            (6, u64::from(clock.minute)),
            (6, field(clock.second.map(u64::from))),
            (12, field(zone)),
        ] {
            word = word << bits | value;
        }
        (word, clock.nanos)
    }

    /// What a source that says this supports: each part without what is more exact, the date
    /// without its year, the time of day without its zone and its half of the day.
    pub(super) fn keys(&self, keys: &mut Keys) {
        (keys.count, keys.next) = (0, 0);
        keys.push(self.key());
        let undated = Self { clock: self.clock, ..Self::default() };
        if self.month > 0 {
            let date = Self { clock: None, ..*self };
            let other = Self { unordered: false, month: self.day, day: self.month, ..date };
            for reading in [date, other].into_iter().take(1 + usize::from(self.unordered)) {
                let reading = Self { unordered: false, ..reading };
                keys.push(reading.key());
                keys.push(Self { year: 0, ..reading }.key());
            }
            keys.push(date.key());
            if !self.unordered {
                keys.push(Self { day: 0, ..date }.key());
            }
        }
        let Some(clock) = self.clock else { return };
        if clock.zone.is_some() {
            keys.push(undated.key());
        }
        let whole = Clock { zone: None, open: false, ..clock };
        let minutes = Clock { second: None, nanos: 0, ..whole };
        let seconds = Clock { second: Some(clock.second.unwrap_or(0)), ..minutes };
        let levels = [minutes, seconds, whole];
        for level in levels.into_iter().take(2 + usize::from(clock.nanos > 0)) {
            keys.push(Self { clock: Some(level), ..undated }.key());
            if self.month > 0 {
                keys.push(Self { clock: Some(level), ..*self }.key());
            }
            if clock.twelve > 0 {
                let open = Clock { open: true, ..level };
                keys.push(Self { clock: Some(open), ..undated }.key());
            }
        }
    }
}

pub(super) fn digits(bytes: &[u8], at: usize, count: usize) -> Option<u32> {
    let found = bytes.get(at..at + count)?;
    found.iter().try_fold(0, |value, byte| {
        byte.is_ascii_digit().then(|| value * 10 + u32::from(byte - b'0'))
    })
}

pub(super) fn digit_at(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_some_and(u8::is_ascii_digit)
}

/// A date of these parts, if there may be such a day.
pub(super) fn dated(year: u32, month: u32, day: u32) -> Option<Moment> {
    let valid = (1..=12).contains(&month) && (1..=31).contains(&day) && year < 3000;
    let (year, month, day) = (year as u16, month as u8, day as u8);
    valid.then(|| Moment { year, month, day, ..Moment::default() })
}

/// The date that these bytes begin with, and its length.
fn date(bytes: &[u8]) -> Option<(Moment, usize)> {
    let one_of = |at: usize| bytes.get(at).copied().filter(|b| matches!(b, b'-' | b'/' | b'.'));
    let day_of = |month: u32, day: u32| (1..=12).contains(&month) && (1..=31).contains(&day);
    let years = 1000..3000;
    let found = if let (Some(year), Some(mark)) = (digits(bytes, 0, 4), one_of(4)) {
        let (month, day) = (digits(bytes, 5, 2)?, digits(bytes, 8, 2)?);
        let dated = dated(year, month, day).filter(|_| one_of(7) == Some(mark) && year >= 1000)?;
        (Moment { year_at: Some(0), day_at: Some((8, 10)), ..dated }, 10)
    } else if let [b'0'..=b'9', b'0'..=b'9', mark @ (b'/' | b'-'), name @ ..] =
        &bytes[..bytes.len().min(6)]
        && let Some((month, 3)) = month(name)
    {
        // 30/Nov/2026, as web servers write it.
        let (day, year) = (digits(bytes, 0, 2)?, digits(bytes, 7, 4)?);
        let dated = dated(year, month.into(), day);
        let dated = dated.filter(|_| years.contains(&year) && bytes[6] == *mark)?;
        (Moment { year_at: Some(7), day_at: Some((0, 2)), ..dated }, 11)
    } else {
        let (first, second) = (digits(bytes, 0, 2)?, digits(bytes, 3, 2)?);
        let mark = one_of(2).filter(|mark| *mark != b'-' && one_of(5) == Some(*mark))?;
        let year = digits(bytes, 6, 4).filter(|year| years.contains(year))?;
        // Between dots the day comes first, if it can.
        let day_first = day_of(second, first) && (mark == b'.' || !day_of(first, second));
        let (month, day) = if day_first { (second, first) } else { (first, second) };
        let dated = dated(year, month, day)?;
        let unordered = mark == b'/' && first <= 12 && second <= 12 && first != second;
        let day_at = if day_first { (0, 2) } else { (3, 5) };
        let day_at = Some(day_at).filter(|_| !unordered);
        (Moment { year_at: Some(6), day_at, unordered, ..dated }, 10)
    };
    (!digit_at(bytes, found.1)).then_some(found)
}

/// The time of day that begins at `at`, without a zone, and where it ends.
pub(super) fn clock(bytes: &[u8], at: usize) -> Option<(Clock, usize)> {
    let long = digits(bytes, at, 2).filter(|hour| *hour <= 24 && bytes.get(at + 2) == Some(&b':'));
    let short = || digits(bytes, at, 1).filter(|_| bytes.get(at + 1) == Some(&b':'));
    let (hour, colon) = match long {
        Some(hour) => (hour, at + 2),
        None => (short()?, at + 1),
    };
    let minute = digits(bytes, colon + 1, 2).filter(|minute| *minute < 60)?;
    let minutes = colon + 3;
    if digit_at(bytes, minutes) {
        return None;
    }
    let hour = hour as u8;
    let twelve = if (1..=12).contains(&hour) { hour } else { 0 };
    let open = twelve > 0 && bytes[at] != b'0';
    let found = Clock { hour, minute: minute as u8, twelve, open, ..Clock::default() };
    let second = digits(bytes, minutes + 1, 2).filter(|second| *second <= 60);
    let Some(second) = second.filter(|_| bytes[minutes] == b':') else {
        return Some((found, minutes));
    };
    let seconds = minutes + 3;
    if digit_at(bytes, seconds) {
        return None;
    }
    // Two digits for each of three: so clocks write all 24 hours.
    let open = open && long.is_none();
    let found = Clock { second: Some(second as u8), open, ..found };
    let fraction = match bytes.get(seconds) {
        Some(b'.' | b',') => bytes[seconds + 1..].iter().take_while(|b| b.is_ascii_digit()).count(),
        _ => 0,
    };
    if !(1..=9).contains(&fraction) {
        return Some((found, seconds));
    }
    let written = bytes[seconds + 1..].iter().take(fraction).chain(std::iter::repeat(&b'0'));
    let nanos = written.take(9).fold(0, |value, byte| value * 10 + u32::from(byte - b'0'));
    Some((Clock { nanos, ..found }, seconds + 1 + fraction))
}

/// The zone that begins at `at`, in minutes, and where it ends.
fn zone(bytes: &[u8], at: usize) -> (Option<i16>, usize) {
    match &bytes[at..] {
        [b'Z' | b'z', ..] => (Some(0), at + 1),
        [sign @ (b'+' | b'-'), rest @ ..] => {
            let (minutes, end) = match rest {
                [b'0'..=b'2', b'0'..=b'9', b':', b'0'..=b'5', b'0'..=b'9', ..] => (at + 4, at + 6),
                [b'0'..=b'2', b'0'..=b'9', b'0'..=b'5', b'0'..=b'9', ..] => (at + 3, at + 5),
                _ => return (None, at),
            };
            let hours = digits(bytes, at + 1, 2).unwrap_or(0).min(23);
            let east = (hours * 60 + digits(bytes, minutes, 2).unwrap_or(0)) as i16;
            (Some(if *sign == b'-' { -east } else { east }), end)
        }
        _ => (None, at),
    }
}

/// The time of day that is all of these bytes from `at` on.
fn clock_to_end(bytes: &[u8], at: usize) -> Option<Clock> {
    let (found, end) = clock(bytes, at)?;
    let (zone, after) = zone(bytes, end);
    let open = found.open && zone.is_none();
    if after == bytes.len() {
        return Some(Clock { zone, open, ..found });
    }
    half_of_day(bytes, at).filter(|(_, end)| *end == bytes.len()).map(|(clock, _)| clock)
}

/// Reads these bytes as a date, a time of day, or both; all of them or nothing.
pub(super) fn moment(bytes: &[u8]) -> Option<Moment> {
    let length = bytes.len();
    if !(4..=40).contains(&length) || !bytes[0].is_ascii_digit() {
        return None;
    }
    if let Some((date, end)) = date(bytes) {
        if end == length {
            return Some(date);
        }
        let clock = matches!(bytes[end], b'T' | b't' | b'_' | b':')
            .then(|| clock_to_end(bytes, end + 1))??;
        return Some(Moment { clock: Some(clock), ..date });
    }
    if clock(bytes, 0).is_some() {
        let clock = clock_to_end(bytes, 0)?;
        return Some(Moment { clock: Some(clock), ..Moment::default() });
    }
    // 2026-11 and 20261130T100000Z.
    let year = digits(bytes, 0, 4)?;
    if length == 7 && bytes[4] == b'-' && (1900..2200).contains(&year) {
        let dated = dated(year, digits(bytes, 5, 2)?, 1)?;
        return Some(Moment { day: 0, year_at: Some(0), ..dated });
    }
    if bytes.get(8) != Some(&b'T') || zone(bytes, 15.min(length)).1 != length {
        return None;
    }
    let dated = dated(year, digits(bytes, 4, 2)?, digits(bytes, 6, 2)?)?;
    let (hour, minute) = (digits(bytes, 9, 2)?, digits(bytes, 11, 2)?);
    let second = digits(bytes, 13, 2).filter(|second| *second <= 60)?;
    let clock = Clock {
        hour: hour as u8,
        minute: minute as u8,
        second: Some(second as u8),
        zone: zone(bytes, 15).0,
        ..Clock::default()
    };
    (hour <= 24 && minute < 60).then_some(Moment { clock: Some(clock), ..dated })
}

/// The same, also of what is written in words.
pub(super) fn said(bytes: &[u8]) -> Option<Moment> {
    let whole = |found: Option<(Moment, usize)>| {
        found.filter(|(_, end)| *end == bytes.len()).map(|(moment, _)| moment)
    };
    let clock = || {
        half_of_day(bytes, 0)
            .map(|(clock, end)| (Moment { clock: Some(clock), ..Moment::default() }, end))
    };
    moment(bytes)
        .or_else(|| whole(date_in_words(bytes, 0)))
        .or_else(|| whole(clock()))
        .or_else(|| whole(date_around_clock(bytes, 0)))
}
