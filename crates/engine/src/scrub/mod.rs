//! The scrub: a slow reader that goes through the journal again and again and compares every copy with
//! its digest, here and in external stores. What it finds damaged the writer confirms and records.

mod rounds;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use lacuna_core::{Event, Outcome, Recorded, SessionState, SpanId, Storage, Timestamp};
use lacuna_store::{Store, StoreError};
use parking_lot::Mutex;

use crate::copies::{Copies, Copy};
use crate::external::{Committed, Stores};
use crate::reader::Reader;
use crate::{Clock, EngineError};
use rounds::{Round, Rounds};

/// How often it looks whether the next round is due.
const POLL: Duration = Duration::from_millis(500);
/// How often its place is written down while a round goes on.
const SAVE: Duration = Duration::from_secs(10);
/// How long it waits after the journal could not be read.
const AFTER_FAILURE: Duration = Duration::from_secs(60);
/// What an event costs besides its payload, in bytes read.
const EVENT: u64 = 256;

/// How the scrub reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScrubOptions {
    /// About as many bytes each second.
    pub bytes_per_second: u64,
    /// A round begins no sooner than this after the one before has begun, or the journal was made.
    pub every: Duration,
}

/// Figures about the scrub, since the journal was opened unless they say otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScrubStats {
    /// When the round that goes on began, in this run or an earlier one.
    pub round_started: Option<Timestamp>,
    /// The last seq that it has passed.
    pub position: u64,
    /// The last seq that it goes to.
    pub end: u64,
    /// When the last completed round began.
    pub last_round_started: Option<Timestamp>,
    /// Copies found whole.
    pub verified: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Copies found damaged or missing whose loss was recorded.
    pub damaged: u64,
    /// Copies whose store gave no answer.
    pub unanswered: u64,
}

/// Asks the writer to confirm damage of one span and to record its loss; says whether it did.
pub(crate) type Report =
    Box<dyn Fn(&SessionState, &SpanId) -> Result<bool, EngineError> + Send + Sync>;

/// What the scrub tells others.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    rounds: Mutex<Rounds>,
    verified: AtomicU64,
    bytes: AtomicU64,
    damaged: AtomicU64,
    unanswered: AtomicU64,
}

impl Progress {
    /// When the scrub last found a copy whole, at the earliest.
    pub(crate) fn verified_at(&self, seq: u64, outside: bool) -> Option<Timestamp> {
        self.rounds.lock().verified_at(seq, outside)
    }

    pub(crate) fn stats(&self) -> ScrubStats {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let rounds = self.rounds.lock();
        ScrubStats {
            round_started: rounds.now.as_ref().map(|round| round.started),
            position: rounds.now.as_ref().map_or(0, |round| round.next - 1),
            end: rounds.now.as_ref().map_or(0, |round| round.end),
            last_round_started: rounds.last.as_ref().map(|round| round.started),
            verified: load(&self.verified),
            bytes: load(&self.bytes),
            damaged: load(&self.damaged),
            unanswered: load(&self.unanswered),
        }
    }
}

/// The scrub of one journal: run it on a thread. It ends when the other side of `stop` is gone.
pub(crate) struct Scrub {
    pub(crate) store: Arc<Store>,
    pub(crate) stores: Stores,
    pub(crate) reader: Arc<Reader>,
    pub(crate) clock: Clock,
    pub(crate) options: ScrubOptions,
    /// Where its place is kept; nowhere for a journal without a folder.
    pub(crate) file: Option<PathBuf>,
    pub(crate) progress: Arc<Progress>,
    pub(crate) report: Report,
    pub(crate) stop: Receiver<()>,
}

/// What looking at one event has shown.
enum Seen {
    /// It has no copy to look at.
    Nothing,
    /// The copy is whole.
    Whole,
    /// It is not, and what was found.
    Lost(String),
    /// Its store gave no answer.
    Unanswered,
}

impl Scrub {
    pub(crate) fn run(self) {
        self.find_place();
        let mut saved = Instant::now();
        loop {
            let pause = match self.step() {
                Ok(pause) => pause,
                Err(EngineError::Unavailable(_)) => AFTER_FAILURE,
                Err(error) => {
                    tracing::warn!(%error, "the scrub cannot go on for now");
                    AFTER_FAILURE
                }
            };
            if saved.elapsed() >= SAVE {
                self.save();
                saved = Instant::now();
            }
            if self.stop.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected) {
                break;
            }
        }
        self.save();
    }

    /// Takes up where it was. What is new has just been written: its first round can wait.
    fn find_place(&self) {
        let last = self.store.head().seq;
        let mut rounds = self.progress.rounds.lock();
        if let Some(file) = &self.file {
            *rounds = Rounds::load(file, self.store.journal(), last);
        }
        if last > 0 || *rounds != Rounds::default() {
            return;
        }
        rounds.last = Some(Round::new((self.clock)(), 0));
        drop(rounds);
        self.save();
    }

    fn save(&self) {
        let Some(file) = &self.file else { return };
        let rounds = self.progress.rounds.lock().clone();
        if let Err(error) = rounds.save(file, self.store.journal()) {
            tracing::warn!(%error, "the scrub's place could not be kept: it may read more anew");
        }
    }

    /// Looks at one commit of the round that goes on, or begins one if it is due; says how long to wait
    /// then.
    fn step(&self) -> Result<Duration, EngineError> {
        let going = self.progress.rounds.lock().now.clone();
        let Some(round) = going else { return Ok(self.begin()) };
        let walked = match round.next > round.end {
            true => None,
            false => self.store.walk(round.next)?,
        };
        let Some(walked) = walked else { return Ok(self.complete(round)) };
        if let Some(why) = &walked.damaged {
            tracing::error!(%why, "events cannot be read: run `lacuna verify`");
        }
        let (mut cost, mut round) = (0_u64, round);
        let mut copies = Copies::anywhere(&self.store, &self.stores);
        let end = round.end;
        for recorded in walked.events.iter().filter(|recorded| recorded.seq <= end) {
            let bytes = content_bytes(&recorded.event);
            let seen = self.look(recorded, &mut copies)?;
            cost = cost.saturating_add(EVENT).saturating_add(match seen {
                Seen::Whole | Seen::Lost(_) => bytes,
                Seen::Nothing | Seen::Unanswered => 0,
            });
            self.take(recorded, bytes, seen, &mut round)?;
        }
        round.next = walked.next;
        self.progress.rounds.lock().now = Some(round);
        let seconds = cost as f64 / self.options.bytes_per_second.max(1) as f64;
        Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
    }

    fn begin(&self) -> Duration {
        let (now, end) = ((self.clock)(), self.store.head().seq);
        let mut rounds = self.progress.rounds.lock();
        let every = u64::try_from(self.options.every.as_millis()).unwrap_or(u64::MAX);
        let due = rounds.last.as_ref().is_none_or(|last| {
            // Of a clock that has gone back nothing is known: a round too many does no harm.
            now < last.started || now.0 - last.started.0 >= every
        });
        if !due {
            return POLL;
        }
        tracing::info!(end, "a scrub begins");
        rounds.now = Some(Round::new(now, end));
        Duration::ZERO
    }

    fn complete(&self, mut round: Round) -> Duration {
        round.next = round.end + 1;
        {
            let mut rounds = self.progress.rounds.lock();
            (rounds.now, rounds.last) = (None, Some(round));
        }
        let ScrubStats { verified, bytes, damaged, unanswered, .. } = self.progress.stats();
        tracing::info!(
            verified,
            bytes,
            damaged,
            unanswered,
            "a scrub is complete; sums since start"
        );
        self.save();
        POLL
    }

    /// Looks at the copy that an event committed to.
    fn look<'a>(
        &'a self,
        recorded: &'a Recorded,
        copies: &mut Copies<'a>,
    ) -> Result<Seen, EngineError> {
        let found = match &recorded.event {
            Event::SpanRecorded(event) => match &event.storage {
                Storage::External { store, key } => {
                    // What is lost already is asked for no more.
                    if self.lossy(recorded, &event.span)? {
                        return Ok(Seen::Nothing);
                    }
                    let (digest, bytes) = (event.digest, event.bytes);
                    copies.ask(&Committed { store, key, digest, bytes }, 0..0)?
                }
                _ => match copies.payloads()?.read_event(recorded)? {
                    Some(stored) => stored.into(),
                    None => return Ok(Seen::Nothing),
                },
            },
            Event::SummaryRecorded(_) => match copies.payloads()?.read_event(recorded)? {
                Some(stored) => stored.into(),
                None => return Ok(Seen::Nothing),
            },
            _ => return Ok(Seen::Nothing),
        };
        Ok(match found {
            Copy::Whole(_) => Seen::Whole,
            Copy::Lost(found) => Seen::Lost(found),
            Copy::Unanswered(_) => Seen::Unanswered,
        })
    }

    /// Counts what was seen, and has a loss recorded that is not on record yet.
    fn take(
        &self,
        recorded: &Recorded,
        bytes: u64,
        seen: Seen,
        round: &mut Round,
    ) -> Result<(), EngineError> {
        let count = |counter: &AtomicU64, by| {
            counter.fetch_add(by, Ordering::Relaxed);
        };
        match seen {
            Seen::Nothing => {}
            Seen::Whole => {
                count(&self.progress.verified, 1);
                count(&self.progress.bytes, bytes);
            }
            Seen::Unanswered => {
                count(&self.progress.unanswered, 1);
                round.unread(recorded.seq);
            }
            Seen::Lost(found) => {
                let Some(span) = span_of(&recorded.event) else { return Ok(()) };
                let Some(state) = self.state(recorded)? else { return Ok(()) };
                if state.find(span).is_none_or(|span| state.outcome(span) == Outcome::Lossy) {
                    return Ok(());
                }
                tracing::error!(session = %state.key, %span, %found, "the scrub found damage");
                // It is on record from here on, or the writer has found the copy whole.
                match (self.report)(&state, span) {
                    Ok(true) => count(&self.progress.damaged, 1),
                    Ok(false) => tracing::warn!(%span, "the writer did not confirm the damage"),
                    Err(error @ EngineError::Unavailable(_)) => return Err(error),
                    // Readers and the gate find it too, and so does the next round.
                    Err(error) => tracing::warn!(%error, %span, "damage could not be recorded"),
                }
            }
        }
        Ok(())
    }

    fn lossy(&self, recorded: &Recorded, span: &SpanId) -> Result<bool, EngineError> {
        let state = self.state(recorded)?;
        let found = state.as_ref().and_then(|state| Some(state.outcome(state.find(span)?)));
        Ok(found == Some(Outcome::Lossy))
    }

    fn state(&self, recorded: &Recorded) -> Result<Option<Arc<SessionState>>, StoreError> {
        match self.store.session_key(recorded.session)? {
            Some(key) => self.reader.state(&key),
            None => Ok(None),
        }
    }
}

fn content_bytes(event: &Event) -> u64 {
    match event {
        Event::SpanRecorded(event) => event.bytes,
        Event::SummaryRecorded(event) => event.bytes.saturating_add(event.claims.bytes),
        _ => 0,
    }
}

fn span_of(event: &Event) -> Option<&SpanId> {
    match event {
        Event::SpanRecorded(event) => Some(&event.span),
        Event::SummaryRecorded(event) => Some(&event.span),
        _ => None,
    }
}
