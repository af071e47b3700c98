//! Arguments of `replay`.

use std::str::FromStr;

use clap::Args as ClapArgs;

use crate::at::At;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
On a terminal it waits after each step: Enter goes on, b back, g 12 to version 12, k KIND to the
next event of a kind, w shows the whole window, q ends. Elsewhere it prints every step.
Published events are those of `history`, one a message, each with the header
Nats-Msg-Id: <journal>:<seq>. The pace is that of recording; pauses over 5 seconds are cut.
A transcript was recorded when it was imported.")]
pub(crate) struct Replay {
    /// Begin at this moment: v12 (version), turn:3, receipt:w1, or a time; the session's beginning if not given
    #[arg(long, value_name = "AT")]
    pub(crate) from: Option<At>,
    /// End at this moment; now if not given
    #[arg(long, value_name = "AT")]
    pub(crate) to: Option<At>,
    /// Step through events of this kind only, such as prune-executed; may be given more than once
    #[arg(long = "kind", value_name = "K")]
    pub(crate) kinds: Vec<String>,
    /// Show the whole window with each step
    #[arg(long, conflicts_with = "publish")]
    pub(crate) window: bool,
    /// Send the events to this subject of the broker, to debug a worker
    #[arg(long, value_name = "SUBJECT")]
    pub(crate) publish: Option<Elsewhere>,
    /// How many times as fast as they were recorded, or max [default: 1]
    #[arg(long, requires = "publish", value_name = "X", allow_negative_numbers = true)]
    pub(crate) speed: Option<Speed>,
}

/// How fast events are sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Speed {
    /// So many times as fast as they were recorded: finite and positive.
    Times(f64),
    /// Without a pause.
    Max,
}

impl FromStr for Speed {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "max" {
            return Ok(Self::Max);
        }
        match text.parse::<f64>() {
            Ok(times) if times.is_finite() && times > 0.0 => Ok(Self::Times(times)),
            _ => Err("a speed is a number above 0, such as 10 or 0.5, or max".into()),
        }
    }
}

/// A subject that is neither Lacuna's nor the broker's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Elsewhere(pub(crate) String);

impl FromStr for Elsewhere {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        const LONGEST: usize = 1_024;
        if text.len() > LONGEST {
            return Err(format!("a subject has at most {LONGEST} bytes"));
        }
        let mut tokens = text.split('.');
        if tokens.clone().any(str::is_empty) {
            return Err("a subject is words with dots between them, such as debug.run-7".into());
        }
        if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err("white space cannot stand in a subject".into());
        }
        if tokens.clone().any(|token| matches!(token, "*" | ">")) {
            return Err("events are sent to one subject: * and > stand for many".into());
        }
        match tokens.next() {
            // The feed's stream would keep them beside the daemon's own events.
            Some("lacuna") => Err("subjects that begin with lacuna are the daemon's own: workers \
                would take these events for new ones; try debug.run-7"
                .into()),
            Some(first) if first.starts_with('$') || first == "_INBOX" => {
                Err(format!("subjects that begin with {first} are the broker's own"))
            }
            _ => Ok(Self(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_positive_numbers_or_max() {
        assert_eq!("max".parse(), Ok(Speed::Max));
        assert_eq!("0.5".parse(), Ok(Speed::Times(0.5)));
        assert_eq!("1e3".parse(), Ok(Speed::Times(1_000.0)));
        for bad in ["", "0", "-1", "inf", "nan", "fast", "1x"] {
            assert!(bad.parse::<Speed>().is_err(), "{bad}");
        }
    }

    #[test]
    fn events_go_to_one_subject_that_is_nobody_elses() {
        for good in ["debug", "debug.run-7", "lacuna-debug.x", "a.b*c"] {
            assert_eq!(good.parse(), Ok(Elsewhere(good.to_owned())));
        }
        let own = ["lacuna", "lacuna.v1.events.acme.s.span-read", "$JS.API.INFO", "_INBOX.x"];
        let bad = ["", ".", "a.", ".a", "a..b", "a b", "a.\tb", "a.*", "a.>", ">"];
        for bad in own.into_iter().chain(bad) {
            assert!(bad.parse::<Elsewhere>().is_err(), "{bad:?}");
        }
        assert!("a".repeat(1_025).parse::<Elsewhere>().is_err());
    }
}
