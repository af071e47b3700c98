//! Moments on the command line: `v12` or `12` (version), `turn:3`, `receipt:w1`, or a time.

use std::str::FromStr;

use lacuna_wire::session::{AtBody, receipt_number};

/// A moment of a session's past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct At(pub(crate) AtBody);

impl FromStr for At {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse::<u64>().ok();
        let mut at = AtBody::default();
        if let Some(turn) = text.strip_prefix("turn:") {
            at.turn = Some(number(turn).ok_or("a turn is a number, such as turn:3")?);
        } else if let Some(receipt) = text.strip_prefix("receipt:") {
            receipt_number(receipt).map_err(|error| error.message)?;
            at.receipt = Some(receipt.to_owned());
        } else if let Some(version) = number(text.strip_prefix('v').unwrap_or(text)) {
            at.version = Some(version);
        } else {
            let time: lacuna_core::Timestamp = text.parse().map_err(|_| {
                format!(
                    "{text:?} is no moment: give v12, turn:3, receipt:w1 or 2026-11-30T06:00:00Z"
                )
            })?;
            at.time = Some(time.to_string());
        }
        Ok(Self(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_are_told_apart() {
        let read = |text: &str| text.parse::<At>().unwrap().0;
        assert_eq!(read("v12").version, Some(12));
        assert_eq!(read("12").version, Some(12));
        assert_eq!(read("turn:3").turn, Some(3));
        assert_eq!(read("receipt:w1").receipt.as_deref(), Some("w1"));
        assert_eq!(read("2026-11-30T06:00:00Z").time.as_deref(), Some("2026-11-30T06:00:00.000Z"));
        assert!("receipt:1".parse::<At>().is_err() && "receipt:w0".parse::<At>().is_err());
        assert!("yesterday".parse::<At>().is_err() && "turn:x".parse::<At>().is_err());
    }
}
