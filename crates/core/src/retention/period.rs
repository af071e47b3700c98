//! Periods: how long something is kept, in the words of people.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A length of time in milliseconds, at most 1,000 years of 365 days.
///
/// Days have 24 hours: ages are measured on the journal's own clock, which knows no time zone.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Period(pub u64);

/// A text that is no period.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no duration: write it like 90s, 72h or 30d, with the units s, m, h, d and w, up to \
     1,000 years"
)]
pub struct InvalidPeriod(pub String);

/// Units with their lengths in milliseconds, the longest first.
const UNITS: [(char, u64); 5] =
    [('w', 7 * 86_400_000), ('d', 86_400_000), ('h', 3_600_000), ('m', 60_000), ('s', 1_000)];

impl Period {
    /// The longest.
    pub const MAX: Self = Self(1_000 * 365 * 86_400_000);
}

impl FromStr for Period {
    type Err = InvalidPeriod;

    /// Reads `90s`, `15m`, `72h`, `30d`, `2w`, or several of these in a row.
    fn from_str(text: &str) -> Result<Self, InvalidPeriod> {
        let bad = || InvalidPeriod(text.chars().take(40).collect());
        let (mut total, mut rest) = (0_u64, text);
        while !rest.is_empty() {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let unit = rest[digits..].chars().next().ok_or_else(bad)?;
            let (_, length) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(bad)?;
            let count: u64 = rest[..digits].parse().map_err(|_| bad())?;
            let part = count.checked_mul(*length);
            let sum = part.and_then(|part| total.checked_add(part));
            total = sum.filter(|sum| *sum <= Self::MAX.0).ok_or_else(bad)?;
            rest = &rest[digits + unit.len_utf8()..];
        }
        if text.is_empty() { Err(bad()) } else { Ok(Self(total)) }
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        let mut rest = self.0;
        // Thirty days are not told as four weeks and two days.
        let weeks = rest.is_multiple_of(UNITS[0].1);
        for (unit, length) in UNITS.into_iter().skip(usize::from(!weeks)) {
            if rest >= length {
                write!(f, "{}{unit}", rest / length)?;
                rest %= length;
            }
        }
        if rest > 0 { write!(f, "{rest}ms") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_bounded_and_have_units() {
        let hours = |count: u64| Ok(Period(count * 3_600_000));
        assert_eq!("72h".parse(), hours(72));
        assert_eq!("1d12h".parse(), hours(36));
        assert_eq!("0s".parse(), hours(0));
        assert_eq!("365000d".parse(), Ok(Period::MAX));
        for bad in [
            "",
            "72",
            "h",
            "-1h",
            "+1h",
            "1y",
            "1.5h",
            "99999999999999999999h",
            "365001d",
            "1h ",
            "1d2",
        ] {
            assert_eq!(bad.parse::<Period>(), Err(InvalidPeriod(bad.into())));
        }
    }

    #[test]
    fn periods_are_told_as_people_write_them() {
        for text in ["0s", "90d", "2w", "30d", "1d12h", "3h", "1m30s"] {
            assert_eq!(text.parse::<Period>().unwrap().to_string(), text);
        }
        assert_eq!(Period(1_500).to_string(), "1s500ms");
    }
}
