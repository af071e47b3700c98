//! Record time: milliseconds since the Unix epoch, written as RFC 3339 UTC.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A moment, in milliseconds since 1970-01-01T00:00:00Z.
///
/// Record times come from the daemon's own clock, never go backwards within a journal, and are the
/// only times that decisions use. Times that a client gives are data.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Timestamp(pub u64);

/// A text that is not an RFC 3339 time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an RFC 3339 time such as 2026-11-30T06:00:00.000Z")]
pub struct InvalidTime(pub String);

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = i64::try_from(self.0).unwrap_or(i64::MAX);
        match jiff::Timestamp::from_millisecond(millis) {
            Ok(time) => write!(f, "{time:.3}"),
            // Beyond the year 9999: say the number rather than fail.
            Err(_) => write!(f, "{}ms", self.0),
        }
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTime;
    fn from_str(text: &str) -> Result<Self, InvalidTime> {
        let time: jiff::Timestamp = text.parse().map_err(|_| InvalidTime(shorten(text)))?;
        u64::try_from(time.as_millisecond()).map(Self).map_err(|_| InvalidTime(shorten(text)))
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_milliseconds_always_and_reads_them_back() {
        let t = Timestamp(1_796_018_400_000);
        assert_eq!(t.to_string(), "2026-11-30T06:00:00.000Z");
        assert_eq!(t.to_string().parse::<Timestamp>().unwrap(), t);
        assert_eq!("2026-11-30T07:00:00.123+01:00".parse(), Ok(Timestamp(1_796_018_400_123)));
        assert!("yesterday".parse::<Timestamp>().is_err());
        assert_eq!(Timestamp(u64::MAX).to_string(), "18446744073709551615ms");
    }
}
