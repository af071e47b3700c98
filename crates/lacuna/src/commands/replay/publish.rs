//! `replay --publish`: the events of a session sent to a subject, at the pace at which they were recorded.

use std::time::Duration;

use indicatif::HumanDuration;
use lacuna_client::EventBody;
use lacuna_core::Timestamp;
use lacuna_nats::{PublishError, Publisher};
use lacuna_verbs::{longest_event, shorten};
use lacuna_wire::MessageId;
use tokio::time::Instant;

use super::super::{Context, tail::Printer};
use super::interrupt::Interrupt;
use super::reel::Reel;
use crate::args::{self, Speed};
use crate::failure::{Exit, Failure};
use crate::output::{caution, count, faint};

/// The longest pause between two messages, however long the session rested.
const LONGEST: Duration = Duration::from_secs(5);
/// A pause in which the broker is asked whether it has what was sent.
const LONG: Duration = Duration::from_secs(1);
/// How many messages are sent until the broker is asked whether it has them.
const SETTLE: u64 = 4_096;

/// Sends the events in order, one a message, until all are sent or Ctrl-C.
pub(super) fn publish(
    context: &Context<'_>,
    args: &args::Replay,
    subject: &str,
    reel: &mut Reel<'_>,
    interrupt: &Interrupt<'_>,
) -> Result<Exit, Failure> {
    let access = context.global.broker.access(&context.global.principal);
    let runtime = &interrupt.runtime;
    let publisher = runtime.block_on(Publisher::connect(&access, subject))?;
    let mut sending = Sending {
        publisher,
        printer: Some(Printer::new(context.global.json, &[])),
        pace: Pace::new(args.speed.unwrap_or(Speed::Times(1.0)), Instant::now()),
        began: Instant::now(),
        sent: 0,
        shortened: 0,
        first: None,
        last: None,
        arrived: None,
    };
    let outcome = sending.all(reel, interrupt);
    let outcome = outcome.and_then(|stopped| sending.settle(interrupt).map(|()| stopped));
    match outcome {
        Ok(stopped) => {
            sending.tell(subject, reel, stopped);
            Ok(Exit::Done)
        }
        Err(failure) => Err(sending.with_place(failure, reel)),
    }
}

struct Sending<'a> {
    publisher: Publisher,
    /// Shows what is sent; none once nobody reads that.
    printer: Option<Printer<'a>>,
    pace: Pace,
    began: Instant,
    sent: u64,
    /// How many events were cut to fit into a message.
    shortened: u64,
    /// The first and the last version that were sent.
    first: Option<u64>,
    last: Option<u64>,
    /// The last version of which the broker has said that it arrived.
    arrived: Option<u64>,
}

impl Sending<'_> {
    /// Says whether Ctrl-C stopped it.
    fn all(&mut self, reel: &mut Reel<'_>, interrupt: &Interrupt<'_>) -> Result<bool, Failure> {
        let mut version = reel.first - 1;
        while let Some(event) = reel.next(version, None)? {
            version = event.version;
            if let Some(whole) = self.pace.step(happened(&event), Instant::now()) {
                let (whole, cut) = (HumanDuration(whole), HumanDuration(LONGEST));
                let said = format!("a pause of {whole} before version {version} is cut to {cut}");
                anstream::eprintln!("{}", faint(&said));
            }
            if self.pace.due > Instant::now() + LONG {
                // Time enough to know what has arrived.
                self.settle(interrupt)?;
            }
            if interrupt.pressed() || !interrupt.wait(self.pace.due) {
                return Ok(true);
            }
            self.send(event, interrupt)?;
            if self.sent.is_multiple_of(SETTLE) {
                self.settle(interrupt)?;
            }
        }
        Ok(false)
    }

    fn send(&mut self, mut event: EventBody, interrupt: &Interrupt<'_>) -> Result<(), Failure> {
        let id = MessageId::event(&event.journal, event.seq);
        let omitted = event.fields.contains_key("omitted");
        let body = shorten(&mut event, longest_event(self.publisher.max_payload()))?;
        self.shortened += u64::from(event.fields.contains_key("omitted") && !omitted);
        interrupt.runtime.block_on(self.publisher.send(&id, body))?;
        self.first.get_or_insert(event.version);
        self.last = Some(event.version);
        self.sent += 1;
        if let Some(printer) = &mut self.printer
            && !printer.print(&event)?
        {
            self.printer = None;
        }
        Ok(())
    }

    fn settle(&mut self, interrupt: &Interrupt<'_>) -> Result<(), Failure> {
        if self.arrived != self.last {
            interrupt.runtime.block_on(self.publisher.settle())?;
            self.arrived = self.last;
        }
        Ok(())
    }

    /// Says on standard error what was sent.
    fn tell(&self, subject: &str, reel: &Reel<'_>, stopped: bool) {
        let (Some(first), Some(last)) = (self.first, self.last) else {
            return match stopped {
                true => anstream::eprintln!("{}", caution("stopped before anything was sent")),
                false => reel.say_nothing_found(),
            };
        };
        let took = self.began.elapsed().as_secs_f64();
        let sent = count(self.sent);
        anstream::eprintln!(
            "{sent} events sent to {subject} in {took:.1} s, version {first} to {last}"
        );
        if self.pace.cut > 0 {
            let (pauses, left_out) = (count(self.pace.cut), HumanDuration(self.pace.left_out));
            anstream::eprintln!("{pauses} pauses were cut, {left_out} in all left out");
        }
        if self.shortened > 0 {
            let shortened = count(self.shortened);
            anstream::eprintln!(
                "{shortened} events were cut to fit: their field omitted says how much"
            );
        }
        if stopped {
            let said = format!("stopped: --from v{} goes on", last + 1);
            anstream::eprintln!("{}", caution(&said));
        }
    }

    /// A failure to send, with where to go on.
    fn with_place(&self, failure: Failure, reel: &Reel<'_>) -> Failure {
        let Failure::Publish { source, .. } = failure else { return failure };
        let go_on = match (self.arrived, &source) {
            // Nothing that was sent there arrived, nor will.
            (None, PublishError::Refused { .. }) => {
                "name a subject that this user may publish to, or another user".to_owned()
            }
            (arrived, _) => {
                let next = arrived.map_or(reel.first, |version| version + 1);
                format!("all before version {next} has arrived: --from v{next} goes on")
            }
        };
        Failure::Publish { source, go_on }
    }
}

/// When it was recorded, in the journal that recorded it first.
fn happened(event: &EventBody) -> Option<Timestamp> {
    let at = event.imported.as_ref().map_or(&event.at, |there| &there.at);
    at.parse().ok()
}

/// When each message is due. Being late with one does not make the others late.
struct Pace {
    speed: Speed,
    last: Option<Timestamp>,
    due: Instant,
    /// How many pauses were cut, and how much of them was left out.
    cut: u64,
    left_out: Duration,
}

impl Pace {
    fn new(speed: Speed, now: Instant) -> Self {
        Self { speed, last: None, due: now, cut: 0, left_out: Duration::ZERO }
    }

    /// Goes on to the next message, of an event of this time. Gives how long the pause would have been if
    /// it is cut.
    fn step(&mut self, at: Option<Timestamp>, now: Instant) -> Option<Duration> {
        let last = self.last;
        self.last = at.or(last);
        let (Speed::Times(speed), Some(last), Some(at)) = (self.speed, last, at) else {
            return None;
        };
        let passed = Duration::from_millis(at.0.saturating_sub(last.0));
        let whole = Duration::try_from_secs_f64(passed.as_secs_f64() / speed);
        let whole = whole.unwrap_or(Duration::MAX);
        if whole <= LONGEST {
            self.due += whole;
            return None;
        }
        // From now on, or what it is late would be cut as well.
        self.due = self.due.max(now) + LONGEST;
        self.cut += 1;
        self.left_out = self.left_out.saturating_add(whole - LONGEST);
        Some(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When messages of events at these milliseconds are due, in milliseconds, and what was cut.
    fn due(speed: Speed, times: &[u64]) -> (Vec<u128>, Vec<Duration>) {
        let begin = Instant::now();
        let mut pace = Pace::new(speed, begin);
        let mut cuts = Vec::new();
        let due = times.iter().map(|&time| {
            cuts.extend(pace.step(Some(Timestamp(time)), begin));
            (pace.due - begin).as_millis()
        });
        (due.collect(), cuts)
    }

    #[test]
    fn messages_come_at_the_pace_of_recording_times_the_speed() {
        let times = [1_000, 1_000, 3_000, 3_500];
        assert_eq!(due(Speed::Times(1.0), &times), (vec![0, 0, 2_000, 2_500], vec![]));
        assert_eq!(due(Speed::Times(0.5), &times), (vec![0, 0, 4_000, 5_000], vec![]));
        assert_eq!(due(Speed::Times(10.0), &times), (vec![0, 0, 200, 250], vec![]));
        assert_eq!(due(Speed::Max, &[0, 1 << 50]), (vec![0, 0], vec![]));
        // A clock that went back, in the journal that recorded them first.
        assert_eq!(due(Speed::Times(1.0), &[2_000, 1_000, 1_500]), (vec![0, 0, 500], vec![]));
    }

    #[test]
    fn long_pauses_are_cut_and_counted() {
        let day = 86_400_000;
        let (times, cuts) = due(Speed::Times(2.0), &[0, 10_000, 10_002 + day, 10_102 + day]);
        assert_eq!(times, [0, 5_000, 10_000, 10_050], "five seconds are not too long");
        assert_eq!(cuts, [Duration::from_millis(day / 2 + 1)]);
        let (times, cuts) = due(Speed::Times(1e-300), &[0, 1]);
        assert_eq!((times, cuts), (vec![0, 5_000], vec![Duration::MAX]));
    }
}
