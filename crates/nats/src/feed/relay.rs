//! The relay: the one task that publishes.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, HeaderMap, StatusCode, Subscriber};
use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _};
use lacuna_engine::{Journal, step_taken};
use lacuna_wire::journal::FeedBody;
use lacuna_wire::{FEED_STREAM, MESSAGE_ID};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::api::PATIENCE;
use super::flight::{Expected, Flight};
use super::ground::{Ground, Wanted};
use super::message::{self, Message};
use super::place::Place;
use super::reading::{Item, Reading};
use super::status::Status;
use super::trouble::Trouble;

/// How often it looks at the connection while messages are in flight, and while there is nothing to do.
const GLANCE: Duration = Duration::from_millis(100);
const REST: Duration = Duration::from_secs(1);
/// How often the stream is checked again while there is nothing to do.
const CHECK: Duration = Duration::from_secs(30);
/// How often its place is written down while it publishes, and the lag told while there is one.
const SAVE: Duration = Duration::from_secs(2);
const TELL: Duration = Duration::from_secs(10);
/// The shortest and the longest pause before it tries again.
const SOON: Duration = Duration::from_millis(50);
const LATER: Duration = Duration::from_secs(5);
/// Announcements that wait at most; beyond that the oldest go.
const ANNOUNCEMENTS: usize = 64;

/// How the feed is kept.
#[derive(Debug, Clone)]
pub struct FeedOptions {
    /// How long the stream keeps a message.
    pub max_age: Duration,
    /// How many bytes the stream keeps.
    pub max_bytes: u64,
    /// The file that remembers where publishing had come to.
    pub place: PathBuf,
}

/// Something to be said on the feed about the journal, in order behind an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    /// The event behind which it comes.
    pub seq: u64,
    /// What it is about, as the end of the message's id: `checkpoint`.
    pub about: &'static str,
    /// The subject: one of [`CHECKPOINT_SUBJECTS`](lacuna_wire::CHECKPOINT_SUBJECTS).
    pub subject: String,
    /// The body: a JSON object.
    pub body: Bytes,
}

#[derive(Default)]
struct Shared {
    status: Status,
    announcements: Mutex<VecDeque<Announcement>>,
    /// Something was committed, or is to be announced.
    news: Notify,
}

/// Where announcements are handed in. Cheap to clone.
#[derive(Clone)]
pub struct Announcer(Arc<Shared>);

impl Announcer {
    /// Has something said on the feed once the event before it is there. Never waits. While the broker is
    /// away only the newest ones are kept, and of one thing behind one event only the last; what the process
    /// does not live to say is not said.
    pub fn announce(&self, announcement: Announcement) {
        let mut waiting = self.0.announcements.lock();
        let about = |of: &Announcement| (of.seq, of.about);
        waiting.retain(|before| about(before) != about(&announcement));
        if waiting.len() == ANNOUNCEMENTS
            && let Some(old) = waiting.pop_front()
        {
            tracing::warn!(
                seq = old.seq,
                about = old.about,
                "not announced: the feed is too far behind"
            );
        }
        waiting.push_back(announcement);
        drop(waiting);
        self.0.news.notify_one();
    }
}

/// A relay that runs.
pub struct RelayHandle {
    shared: Arc<Shared>,
    stop: watch::Sender<Option<Instant>>,
    task: JoinHandle<()>,
}

impl RelayHandle {
    /// Where announcements are handed in.
    pub fn announcer(&self) -> Announcer {
        Announcer(Arc::clone(&self.shared))
    }

    /// Who tells how far the feed is. It holds on to the journal.
    pub fn teller(&self, journal: &Arc<Journal>) -> impl Fn() -> FeedBody + Send + Sync + 'static {
        let (shared, journal) = (Arc::clone(&self.shared), Arc::clone(journal));
        move || shared.status.body(&journal)
    }

    /// Publishes what is recorded by now, up to a deadline, and ends. What is not published then is
    /// published after the next start; if nothing can be published just now, it ends at once.
    pub async fn stop(self, deadline: Duration) {
        let until = Instant::now() + deadline;
        self.stop.send_replace(Some(until));
        let abort = self.task.abort_handle();
        // One answer that is waited for may take longer than the deadline.
        if timeout(deadline + GLANCE, self.task).await.is_err() {
            abort.abort();
        }
    }
}

/// Begins to publish. Never fails: what is in the way is told by [`RelayHandle::teller`] and the log, and
/// tried again.
pub fn relay(client: Client, journal: Arc<Journal>, options: FeedOptions) -> RelayHandle {
    let shared = Arc::<Shared>::default();
    let told = Arc::clone(&shared);
    journal.on_commit(move || told.news.notify_one());
    let (stop, stopped) = watch::channel(None);
    let place = Place::load(&options.place, journal.id(), journal.head().seq);
    let relay = Relay {
        wanted: Wanted::new(&options),
        file: options.place,
        saved: place.clone(),
        place,
        reading: Some(Reading::new(Arc::clone(&journal))),
        journal,
        client,
        shared: Arc::clone(&shared),
        stopped,
        unsaid: VecDeque::new(),
        announces: false,
        landed: 0,
        told: Instant::now(),
        complained: None,
    };
    RelayHandle { shared, stop, task: tokio::spawn(relay.run()) }
}

/// Why publishing ended without trouble.
enum End {
    Stopped,
    /// The stream is to be looked at again.
    Check,
}

struct Relay {
    client: Client,
    journal: Arc<Journal>,
    wanted: Wanted,
    file: PathBuf,
    place: Place,
    /// The place as it was last written down.
    saved: Place,
    /// Taken out while it reads, on a thread that may wait.
    reading: Option<Reading>,
    shared: Arc<Shared>,
    stopped: watch::Receiver<Option<Instant>>,
    /// Announcements in flight, by their numbers there.
    unsaid: VecDeque<(u64, Announcement)>,
    /// Whether the stream takes announcements; where it does not, that is among its problems, and none is
    /// made.
    announces: bool,
    /// Messages that the stream has acknowledged.
    landed: u64,
    /// When the lag was last told.
    told: Instant,
    complained: Option<Instant>,
}

impl Relay {
    async fn run(mut self) {
        let mut pause = SOON;
        loop {
            let before = self.landed;
            let trouble = match self.publish().await {
                Ok(End::Stopped) => break,
                Ok(End::Check) => continue,
                Err(trouble) => trouble,
            };
            self.shared.status.stops(&trouble);
            self.say_again();
            self.tell();
            if self.stopping().is_some() {
                break;
            }
            let wait = match (&trouble, self.landed > before) {
                (Trouble::Away, _) => GLANCE,
                // It has come further, and knows where to go on as soon as it has asked.
                (Trouble::Moved, true) => Duration::ZERO,
                (_, true) => SOON,
                (_, false) => pause,
            };
            if self.landed > before {
                pause = SOON;
            }
            pause = (pause * 2).min(LATER);
            tokio::select! {
                () = sleep(wait) => {}
                _ = self.stopped.changed() => {}
            }
        }
        self.save().await;
        let FeedBody { published_seq, lag_events, .. } = self.shared.status.body(&self.journal);
        tracing::info!(published_seq, lag_events, "the feed ends");
    }

    /// Publishes behind what the stream holds, until told to stop or something is in doubt.
    async fn publish(&mut self) -> Result<End, Trouble> {
        let connects = self.connects()?;
        let ground = self.wanted.ground(&self.client, &self.journal, &self.place).await?;
        self.begin(&ground).await;
        let inbox = self.client.new_inbox();
        let answers = self.client.subscribe(format!("{inbox}.*"));
        let answers =
            timeout(PATIENCE, answers).await.map_err(|_| Trouble::Silent("subscribing"))?;
        let mut answers = answers.map_err(|error| Trouble::Sending(error.to_string()))?;
        let mut flight = Flight::behind(ground.stream_seq);
        let (mut heard, mut saved, checked) = (Instant::now(), Instant::now(), Instant::now());
        // Whether there may be more to read.
        let mut more = true;
        loop {
            while flight.has_room() {
                let Some(message) = self.next(ground.longest, &mut more).await? else { break };
                if flight.is_empty() {
                    heard = Instant::now();
                }
                self.send(message, &mut flight, &inbox).await?;
            }
            let idle = flight.is_empty() && !more;
            if idle || saved.elapsed() > SAVE {
                self.save().await;
                saved = Instant::now();
            }
            if self.stopping().is_some_and(|until| idle || until <= Instant::now()) {
                return Ok(End::Stopped);
            }
            if flight.is_spent() {
                return Err(Trouble::Moved);
            }
            if idle && checked.elapsed() > CHECK {
                return Ok(End::Check);
            }
            let glance = if idle { REST } else { GLANCE };
            tokio::select! {
                biased;
                answer = answers.next(), if !flight.is_empty() => {
                    self.hear(answer, &mut answers, &mut flight)?;
                    heard = Instant::now();
                }
                () = self.shared.news.notified() => more = true,
                // What was committed before the intake stopped is published, too.
                _ = self.stopped.changed() => more = true,
                () = sleep(glance) => {}
            }
            self.tell();
            if self.connects()? != connects {
                return Err(Trouble::Broken);
            }
            if !flight.is_empty() && heard.elapsed() > PATIENCE {
                return Err(Trouble::Silent("events"));
            }
        }
    }

    /// Until when it has to be done, if it was told to stop, or nobody is left who could.
    fn stopping(&mut self) -> Option<Instant> {
        match self.stopped.has_changed() {
            Ok(_) => *self.stopped.borrow_and_update(),
            Err(_) => Some(Instant::now()),
        }
    }

    /// What was being said and may be lost is to be said again.
    fn say_again(&mut self) {
        let mut waiting = self.shared.announcements.lock();
        for (_, announcement) in self.unsaid.drain(..).rev() {
            if waiting.len() < ANNOUNCEMENTS {
                waiting.push_front(announcement);
            }
        }
    }

    /// How often there was a connection so far, if there is one now.
    fn connects(&self) -> Result<u64, Trouble> {
        match self.client.connection_state() {
            State::Connected => Ok(self.client.statistics().connects.load(Ordering::Relaxed)),
            _ => Err(Trouble::Away),
        }
    }

    async fn begin(&mut self, ground: &Ground) {
        let before = std::mem::replace(
            &mut self.place,
            Place {
                created: ground.created.clone(),
                stream_seq: ground.stream_seq,
                seq: ground.seq,
            },
        );
        if before.seq > ground.seq {
            let (from, before) = (ground.seq + 1, before.seq);
            let what = if ground.fresh { "is new" } else { "has lost events" };
            tracing::warn!(from, before, "{FEED_STREAM} {what}: they are published again");
        }
        self.shared.status.begins(ground);
        self.announces = ground.checkpoints;
        if let Some(reading) = &mut self.reading {
            reading.restart(ground.seq + 1);
        }
        self.save().await;
    }

    /// The next message, if there is one; reads on if need be.
    async fn next(&mut self, longest: usize, more: &mut bool) -> Result<Option<Message>, Trouble> {
        loop {
            let Some(reading) = &mut self.reading else { return Ok(None) };
            let at = match reading.items.front() {
                Some(Item::Event(recorded, _)) => recorded.seq,
                Some(Item::Gap(from, ..)) => *from,
                None => reading.next,
            };
            if let Some(message) = self.announcement(at) {
                return Ok(Some(message));
            }
            let Some(reading) = &mut self.reading else { return Ok(None) };
            if let Some(item) = reading.items.pop_front() {
                return self.message(item, longest).map(Some);
            }
            if !*more {
                return Ok(None);
            }
            *more = self.read().await?;
        }
    }

    /// What is to be said before the event of this seq.
    fn announcement(&self, before: u64) -> Option<Message> {
        let mut waiting = self.shared.announcements.lock();
        if !self.announces {
            waiting.clear();
        }
        let due = waiting.pop_front_if(|announcement| announcement.seq < before)?;
        Some(message::of_announcement(self.journal.id(), due, self.journal.now()))
    }

    fn message(&self, item: Item, longest: usize) -> Result<Message, Trouble> {
        let journal = self.journal.id();
        Ok(match item {
            Item::Event(recorded, key) => {
                let encoded = message::of_event(journal, &key, &recorded, longest);
                encoded.map_err(|error| Trouble::Sending(error.message))?
            }
            Item::Gap(from, to, why) => {
                self.shared.status.unreadable(from, to, &why);
                message::of_gap(journal, (from, to), &why, self.journal.now())
            }
        })
    }

    /// Reads on; says whether there was anything.
    async fn read(&mut self) -> Result<bool, Trouble> {
        let journal = Arc::clone(&self.journal);
        let mut reading = self.reading.take().unwrap_or_else(|| Reading::new(journal));
        let reader = tokio::task::spawn_blocking(move || {
            let found = reading.read();
            (reading, found)
        });
        // A read that panics has lost its place: the stream tells where to go on.
        let (reading, found) = reader.await.map_err(|error| Trouble::Sending(error.to_string()))?;
        self.reading = Some(reading);
        let found = found?;
        if found {
            step_taken("feed-read");
        }
        Ok(found)
    }

    async fn send(
        &mut self,
        message: Message,
        flight: &mut Flight,
        inbox: &str,
    ) -> Result<(), Trouble> {
        let Expected { number, stream_seq, id } = flight.send(&message);
        let mut headers = HeaderMap::new();
        headers.insert(MESSAGE_ID, message.id.to_string());
        headers.insert("Nats-Expected-Stream", FEED_STREAM);
        headers.insert("Nats-Expected-Last-Sequence", stream_seq.to_string());
        if let Some(id) = id {
            headers.insert("Nats-Expected-Last-Msg-Id", id);
        }
        let reply = format!("{inbox}.{number}");
        let Message { subject, body, said, .. } = message;
        self.unsaid.extend(said.map(|said| (number, said)));
        let sending = self.client.publish_with_reply_and_headers(subject, reply, headers, body);
        let sent = timeout(PATIENCE, sending).await.map_err(|_| Trouble::Silent("events"))?;
        sent.map_err(|error| Trouble::Sending(error.to_string()))?;
        step_taken("feed-sent");
        Ok(())
    }

    /// Takes an answer, and all others that are there already.
    fn hear(
        &mut self,
        answer: Option<async_nats::Message>,
        answers: &mut Subscriber,
        flight: &mut Flight,
    ) -> Result<(), Trouble> {
        let mut next = Some(answer);
        while let Some(answer) = next {
            let answer = answer.ok_or(Trouble::Away)?;
            if answer.status == Some(StatusCode::NO_RESPONDERS) {
                return Err(Trouble::Gone);
            }
            let number = answer.subject.rsplit('.').next().and_then(|token| token.parse().ok());
            let said: Value = serde_json::from_slice(&answer.payload).unwrap_or_default();
            let progress = flight.answered(number.ok_or(Trouble::Moved)?, &said)?;
            self.shared.status.progress(&progress);
            self.landed += progress.messages;
            self.place.stream_seq = progress.stream_seq;
            if let Some((seq, _)) = progress.passed {
                self.place.seq = seq;
                step_taken("feed-acked");
            }
            let first = flight.first();
            while self.unsaid.pop_front_if(|(number, _)| *number < first).is_some() {}
            next = answers.next().now_or_never();
        }
        Ok(())
    }

    /// Writes the place down, if it is another one.
    async fn save(&mut self) {
        if self.place == self.saved {
            return;
        }
        self.saved = self.place.clone();
        let (place, file, journal) =
            (self.place.clone(), self.file.clone(), self.journal.id().to_owned());
        let saving = tokio::task::spawn_blocking(move || place.save(&file, &journal)).await;
        match saving {
            Ok(Ok(())) => step_taken("feed-placed"),
            Ok(Err(error)) => self.not_saved(&error),
            Err(error) => self.not_saved(&error),
        }
    }

    /// Nothing rests on it but work: the stream itself is the authority. Said now and then, as it is
    /// tried whenever there is nothing else to do.
    fn not_saved(&mut self, error: &dyn std::error::Error) {
        if self.complained.is_none_or(|at| at.elapsed() >= TELL) {
            self.complained = Some(Instant::now());
            tracing::warn!(%error, "the feed's place could not be written down");
        }
    }

    /// Tells the lag, now and then, while there is one.
    fn tell(&mut self) {
        if self.told.elapsed() < TELL {
            return;
        }
        self.told = Instant::now();
        let body = self.shared.status.body(&self.journal);
        if body.lag_events > 0 {
            tracing::info!(
                state = body.state,
                published_seq = body.published_seq,
                lag_events = body.lag_events,
                lag_ms = body.lag_ms,
                "feed lag"
            );
        }
    }
}
