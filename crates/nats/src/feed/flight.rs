//! Messages in flight: sent, and not acknowledged yet. Each expects the stream to end where the one before
//! it leaves it, and with that very message: one that is lost stops all that follow, also when something
//! of somebody else's has taken its place.

use std::collections::VecDeque;

use lacuna_core::Timestamp;
use serde_json::Value;

use super::api::refusal;
use super::message::Message;
use super::trouble::Trouble;

/// Messages in flight, at most.
const MESSAGES: usize = 512;
/// Bytes in flight, about at most; one message may exceed it.
const BYTES: usize = 1 << 20;

struct Sent {
    bytes: usize,
    at: Timestamp,
    passes: Option<u64>,
    /// Whether the stream has it.
    landed: bool,
}

/// What a message must find at the end of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Expected {
    /// The message's number in flight.
    pub(super) number: u64,
    /// Where the stream ends.
    pub(super) stream_seq: u64,
    /// The id of its last message; none for the first in flight, as a broker may know it no more.
    pub(super) id: Option<String>,
}

/// How far the stream has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Progress {
    /// Messages that it has acknowledged just now.
    pub(super) messages: u64,
    /// The last seq up to which it has all events, if that is another one now, and when it was recorded.
    pub(super) passed: Option<(u64, Timestamp)>,
    /// Where it ends, at least.
    pub(super) stream_seq: u64,
}

/// The messages in flight, in order.
pub(super) struct Flight {
    sent: VecDeque<Sent>,
    bytes: usize,
    /// The number of the first one in flight.
    first: u64,
    /// Where the stream will end once all of them have landed, and with what.
    expected: u64,
    last: Option<String>,
    /// Where it is known to end.
    stream_seq: u64,
    /// Whether one turned out to be in the stream already, somewhere else than at its end: what follows in
    /// flight expects too much, and nothing more may be sent.
    broken: bool,
}

impl Flight {
    /// None in flight, behind a stream that ends there.
    pub(super) fn behind(stream_seq: u64) -> Self {
        Self {
            sent: VecDeque::new(),
            bytes: 0,
            first: 0,
            expected: stream_seq,
            last: None,
            stream_seq,
            broken: false,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// The number of the first message that is not acknowledged.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Whether another message may be sent.
    pub(super) fn has_room(&self) -> bool {
        !self.broken && self.sent.len() < MESSAGES && (self.sent.is_empty() || self.bytes < BYTES)
    }

    /// Takes a message in; gives what it must expect of the stream.
    pub(super) fn send(&mut self, message: &Message) -> Expected {
        let number = self.first + self.sent.len() as u64;
        let id = self.last.replace(message.id.to_string());
        let expected = Expected { number, stream_seq: self.expected, id };
        let (bytes, at, passes) = (message.body.len(), message.at, message.passes);
        self.sent.push_back(Sent { bytes, at, passes, landed: false });
        self.bytes += bytes;
        self.expected += 1;
        expected
    }

    /// Takes what the broker said to a message of this number.
    pub(super) fn answered(&mut self, number: u64, answer: &Value) -> Result<Progress, Trouble> {
        if let Some(error) = answer.get("error") {
            return Err(refusal(error));
        }
        let at = number.checked_sub(self.first).and_then(|at| usize::try_from(at).ok());
        let ahead = self.sent.len() as u64 - at.unwrap_or(0) as u64;
        let seq = answer["seq"].as_u64().ok_or(Trouble::Moved)?;
        let Some(sent) = at.and_then(|at| self.sent.get_mut(at)) else {
            return Ok(self.progress(0, None));
        };
        sent.landed = true;
        // It ends the stream, whether it came there just now or by an attempt that was given up.
        let last = seq == self.expected - ahead + 1;
        if !last && answer["duplicate"] != true {
            return Err(Trouble::Moved);
        }
        self.broken |= !last;
        self.stream_seq = self.stream_seq.max(seq);
        let (mut messages, mut passed) = (0, None);
        while let Some(sent) = self.sent.pop_front_if(|sent| sent.landed) {
            self.first += 1;
            self.bytes -= sent.bytes;
            messages += 1;
            passed = sent.passes.map(|seq| (seq, sent.at)).or(passed);
        }
        Ok(self.progress(messages, passed))
    }

    /// Whether nothing more can be sent until the stream was asked again.
    pub(super) fn is_spent(&self) -> bool {
        self.broken && self.sent.is_empty()
    }

    fn progress(&self, messages: u64, passed: Option<(u64, Timestamp)>) -> Progress {
        Progress { messages, passed, stream_seq: self.stream_seq }
    }
}

#[cfg(test)]
mod tests {
    use lacuna_wire::MessageId;
    use serde_json::json;

    use super::*;

    fn message(seq: u64, bytes: usize) -> Message {
        Message {
            id: MessageId::event("j", seq),
            subject: "s".into(),
            body: vec![b'x'; bytes].into(),
            at: Timestamp(seq * 10),
            passes: Some(seq),
            said: None,
        }
    }

    fn ack(seq: u64) -> Value {
        json!({ "stream": "S", "seq": seq })
    }

    fn duplicate(seq: u64) -> Value {
        json!({ "stream": "S", "seq": seq, "duplicate": true })
    }

    #[test]
    fn each_expects_the_one_before_it() {
        let mut flight = Flight::behind(40);
        let expected = |number, stream_seq, id: Option<&str>| Expected {
            number,
            stream_seq,
            id: id.map(str::to_owned),
        };
        assert_eq!(flight.send(&message(7, 1)), expected(0, 40, None));
        assert_eq!(flight.send(&message(8, 1)), expected(1, 41, Some("j:7")));
        let passed = |seq| Some((seq, Timestamp(seq * 10)));
        let progress = flight.answered(0, &ack(41)).unwrap();
        assert_eq!(progress, Progress { messages: 1, passed: passed(7), stream_seq: 41 });
        assert_eq!(flight.send(&message(9, 1)), expected(2, 42, Some("j:8")));
        // Answers that come out of order count once all before them have come.
        let progress = flight.answered(2, &ack(43)).unwrap();
        assert_eq!(progress, Progress { messages: 0, passed: None, stream_seq: 43 });
        let progress = flight.answered(1, &ack(42)).unwrap();
        assert_eq!(progress, Progress { messages: 2, passed: passed(9), stream_seq: 43 });
        assert!(flight.is_empty() && flight.has_room());
    }

    #[test]
    fn it_is_bounded_in_messages_and_bytes() {
        let mut flight = Flight::behind(0);
        for seq in 1..=MESSAGES as u64 {
            assert!(flight.has_room(), "{seq}");
            flight.send(&message(seq, 1));
        }
        assert!(!flight.has_room());
        let mut flight = Flight::behind(0);
        flight.send(&message(1, BYTES + 1));
        assert!(!flight.has_room());
        flight.answered(0, &ack(1)).unwrap();
        assert!(flight.has_room());
    }

    #[test]
    fn one_that_is_in_the_stream_already_counts_and_may_end_the_chain() {
        let mut flight = Flight::behind(40);
        for seq in 7..=9 {
            flight.send(&message(seq, 1));
        }
        // Sent by an attempt that was given up: the stream ends there all the same.
        assert_eq!(flight.answered(0, &duplicate(41)).unwrap().stream_seq, 41);
        assert!(flight.has_room());
        // One from long ago: the rest cannot land.
        assert_eq!(flight.answered(1, &duplicate(12)).unwrap().passed, Some((8, Timestamp(80))));
        assert!(!flight.has_room() && !flight.is_spent());
        assert_eq!(flight.answered(2, &duplicate(13)).unwrap().stream_seq, 41);
        assert!(flight.is_spent());
    }

    #[test]
    fn refusals_and_foreign_places_stop_it() {
        let mut flight = Flight::behind(40);
        flight.send(&message(7, 1));
        let wrong = json!({ "error": { "code": 400, "err_code": 10_071, "description": "x" } });
        assert!(matches!(flight.answered(0, &wrong), Err(Trouble::Moved)));
        assert!(matches!(flight.answered(0, &ack(55)), Err(Trouble::Moved)));
        let full = json!({ "error": { "err_code": 10_077, "description": "maximum bytes" } });
        assert!(matches!(flight.answered(0, &full), Err(Trouble::Broker { number: 10_077, .. })));
    }
}
