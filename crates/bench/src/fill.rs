//! Filling a journal as fast as it takes it: groups of spans, some on their way at a time.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, bounded};
use lacuna_core::Command;
use lacuna_engine::{Done, EngineError, Journal};

use crate::Failure;
use crate::sample::{Sample, open, request};

/// Spans of one append, and appends on their way at a time.
const GROUP: u64 = 64;
const GROUPS: usize = 16;

/// Writes to sessions in turn.
pub(crate) struct Filler<'a> {
    journal: &'a Journal,
    sample: &'a Sample,
    sessions: u64,
    /// The first of the sessions.
    base: u64,
    turn: u64,
    span: u64,
    waiting: VecDeque<Receiver<Result<Done, EngineError>>>,
}

impl<'a> Filler<'a> {
    /// Writes to so many sessions from this one on. None of them is open yet.
    pub(crate) fn new(journal: &'a Journal, sample: &'a Sample, base: u64, sessions: u64) -> Self {
        let waiting = VecDeque::with_capacity(GROUPS);
        Self { journal, sample, sessions, base, turn: 0, span: 0, waiting }
    }

    /// Records about so many spans, spread evenly if there are more than sessions. Returns when they are
    /// durable, with how long it took and how many they were.
    pub(crate) fn record(&mut self, spans: u64) -> Result<(Duration, u64), Failure> {
        let begun = Instant::now();
        let group = group(spans, self.sessions);
        let mut left = spans;
        while left > 0 {
            let session = self.base + self.turn % self.sessions;
            if self.turn < self.sessions {
                self.hand_in(session, open())?;
            }
            let take = group.min(left);
            let spans = (self.span..self.span + take).map(|n| self.sample.span(n)).collect();
            self.hand_in(session, Command::Append { spans })?;
            self.span += take;
            self.turn += 1;
            left -= take;
        }
        while let Some(answer) = self.waiting.pop_front() {
            answer.recv()??;
        }
        Ok((begun.elapsed(), spans))
    }

    fn hand_in(&mut self, session: u64, command: Command) -> Result<(), Failure> {
        let (sender, receiver) = bounded(1);
        let answer = Box::new(move |answer| drop(sender.send(answer)));
        self.journal.submit(request(session, command)?, answer)?;
        self.waiting.push_back(receiver);
        if self.waiting.len() == GROUPS
            && let Some(answer) = self.waiting.pop_front()
        {
            answer.recv()??;
        }
        Ok(())
    }
}

/// Spans of one append, where so many go to so many sessions.
fn group(spans: u64, sessions: u64) -> u64 {
    GROUP.min(spans.div_ceil(sessions)).max(1)
}

/// How many spans each of the sessions has at least.
pub(crate) fn at_least(spans: u64, sessions: u64) -> u64 {
    let group = group(spans, sessions);
    spans / group / sessions * group
}
