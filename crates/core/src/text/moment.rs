//! Dates and times of day.

/// Where the parts of a moment end, from its beginning. The whole is always one of them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Moment {
    /// Where the date ends; 0 without one.
    pub(super) date: usize,
    /// Where the time of day begins.
    pub(super) clock: usize,
    /// Where its minutes, its seconds and its fraction end, as far as it has them.
    pub(super) ends: [usize; 3],
}

fn digits(bytes: &[u8], at: usize, count: usize) -> Option<u32> {
    let found = bytes.get(at..at + count)?;
    found.iter().try_fold(0, |value, byte| {
        byte.is_ascii_digit().then(|| value * 10 + u32::from(byte - b'0'))
    })
}

fn digit_at(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_some_and(u8::is_ascii_digit)
}

/// The length of the date that these bytes begin with.
fn date(bytes: &[u8]) -> Option<usize> {
    let one_of = |at: usize| bytes.get(at).copied().filter(|b| matches!(b, b'-' | b'/' | b'.'));
    let day_of = |month: u32, day: u32| (1..=12).contains(&month) && (1..=31).contains(&day);
    let length = if let (Some(year), Some(mark)) = (digits(bytes, 0, 4), one_of(4)) {
        let (month, day) = (digits(bytes, 5, 2)?, digits(bytes, 8, 2)?);
        ((1000..3000).contains(&year) && one_of(7) == Some(mark) && day_of(month, day))
            .then_some(10)?
    } else if let [b'0'..=b'9', b'0'..=b'9', mark, month @ .., _, _, _, _, _] =
        &bytes[..bytes.len().min(11)]
        && month.len() == 3
        && month.iter().all(u8::is_ascii_alphabetic)
    {
        // 30/Nov/2026, as web servers write it.
        let year = digits(bytes, 7, 4)?;
        ((1000..3000).contains(&year) && matches!(mark, b'/' | b'-') && bytes[6] == *mark)
            .then_some(11)?
    } else {
        let (first, second) = (digits(bytes, 0, 2)?, digits(bytes, 3, 2)?);
        let mark = one_of(2).filter(|mark| *mark != b'-' && one_of(5) == Some(*mark))?;
        let year = digits(bytes, 6, 4)?;
        let dated = day_of(first, second) || (mark == b'/' && day_of(second, first));
        let dated = dated || (mark == b'.' && day_of(second, first));
        ((1000..3000).contains(&year) && dated).then_some(10)?
    };
    (!digit_at(bytes, length)).then_some(length)
}

/// The ends of the time of day that begins at `at`: of its minutes, seconds and fraction.
fn clock(bytes: &[u8], at: usize) -> Option<[usize; 3]> {
    let long = digits(bytes, at, 2).filter(|hour| *hour <= 24 && bytes.get(at + 2) == Some(&b':'));
    let short = || digits(bytes, at, 1).filter(|_| bytes.get(at + 1) == Some(&b':'));
    let colon = if long.is_some() { at + 2 } else { short().map(|_| at + 1)? };
    digits(bytes, colon + 1, 2).filter(|minute| *minute < 60)?;
    let minutes = colon + 3;
    if digit_at(bytes, minutes) {
        return None;
    }
    let second = digits(bytes, minutes + 1, 2).filter(|second| *second <= 60);
    if bytes.get(minutes) != Some(&b':') || second.is_none() {
        return Some([minutes; 3]);
    }
    let seconds = minutes + 3;
    if digit_at(bytes, seconds) {
        return None;
    }
    let fraction = match bytes.get(seconds) {
        Some(b'.' | b',') => bytes[seconds + 1..].iter().take_while(|b| b.is_ascii_digit()).count(),
        _ => 0,
    };
    let end = if (1..=9).contains(&fraction) { seconds + 1 + fraction } else { seconds };
    Some([minutes, seconds, end])
}

/// The end of the zone that begins at `at`, or of `am` and `pm`.
fn zone(bytes: &[u8], at: usize) -> usize {
    match &bytes[at..] {
        [b'Z' | b'z', ..] => at + 1,
        [b'a' | b'p' | b'A' | b'P', b'm' | b'M', ..] => at + 2,
        [b'+' | b'-', rest @ ..] => match rest {
            [b'0'..=b'2', b'0'..=b'9', b':', b'0'..=b'5', b'0'..=b'9', ..] => at + 6,
            [b'0'..=b'2', b'0'..=b'9', b'0'..=b'5', b'0'..=b'9', ..] => at + 5,
            _ => at,
        },
        _ => at,
    }
}

/// Reads these bytes as a date, a time of day, or both; all of them or nothing.
pub(super) fn moment(bytes: &[u8]) -> Option<Moment> {
    let length = bytes.len();
    if !(4..=40).contains(&length) || !bytes[0].is_ascii_digit() {
        return None;
    }
    if let Some(date) = date(bytes) {
        if date == length {
            return Some(Moment { date, clock: date, ends: [date; 3] });
        }
        let clock_at = date + 1;
        let ends =
            matches!(bytes[date], b'T' | b't' | b'_' | b':').then(|| clock(bytes, clock_at))??;
        return (zone(bytes, ends[2]) == length).then_some(Moment { date, clock: clock_at, ends });
    }
    if let Some(ends) = clock(bytes, 0) {
        let whole = zone(bytes, ends[2]) == length;
        return whole.then_some(Moment { date: 0, clock: 0, ends });
    }
    // 2026-11 and 20261130T100000Z.
    let month = digits(bytes, 0, 4).filter(|year| (1900..2200).contains(year));
    let month = month.and_then(|_| digits(bytes, 5, 2)).filter(|m| (1..=12).contains(m));
    let packed = digits(bytes, 0, 8).and_then(|_| digits(bytes, 9, 6));
    let whole = (length == 7 && bytes[4] == b'-' && month.is_some())
        || (bytes.get(8) == Some(&b'T') && packed.is_some() && zone(bytes, 15) == length);
    whole.then_some(Moment { date: length, clock: length, ends: [length; 3] })
}
