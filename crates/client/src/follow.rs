//! Following events without a gap: what was recorded from the journal, what is recorded now as the
//! feed tells it.
//!
//! The feed may lose messages: a connection that breaks, a queue that is full. So it is only believed
//! where it goes on from the last event that was read, by version and hash; anything else makes the
//! follower read the journal again. A feed that stays silent is not believed for long either.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use async_nats::connection::State;
use async_nats::{Message, Subscriber};
use futures_util::StreamExt as _;
use lacuna_wire::EventBody;
use lacuna_wire::journal::{EventRef, EventsReply, EventsRequest};
use lacuna_wire::session::HistoryRequest;

use crate::{Client, ClientError, Session};

/// How long the feed may say nothing until the journal is asked whether that is true.
const SILENCE: Duration = Duration::from_secs(5);
/// How long one attempt to read the journal may take.
const ATTEMPT: Duration = Duration::from_secs(5);
/// How long attempts go on before the person waiting hears of it.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(100);

/// The events of a session, or of a whole tenant, from some place on, for ever: each once, in order,
/// none missing, whatever happens to the connection, the broker, the feed or the daemon.
///
/// It holds at most one page of the journal, and what the connection keeps for a subscription.
#[derive(Debug)]
pub struct Events {
    whose: Whose,
    feed: Subscriber,
    /// What was read and not yet given.
    ready: VecDeque<EventBody>,
    /// The version, or for a tenant the seq, to read from.
    next: u64,
    /// The last event that was read.
    last: Option<EventRef>,
    /// Whether the journal may hold more than was read.
    behind: bool,
    /// Since when reading it fails.
    failing: Option<Instant>,
}

#[derive(Debug)]
enum Whose {
    Session(Session),
    Tenant(Client),
}

impl Session {
    /// Follows the session from this version on; 1 is its beginning.
    ///
    /// Events come as `history` gives them. An unknown session is an error of the first
    /// [`Events::next`]; asked again, it looks again.
    pub async fn subscribe(&self, from_version: u64) -> Result<Events, ClientError> {
        let subject = format!("lacuna.v1.events.{}.{}.*", self.client.tenant, self.name);
        let client = self.client.clone().with_patience(ATTEMPT);
        let session = Self { client: client.clone(), name: self.name.clone() };
        Events::begin(Whose::Session(session), &client, subject, from_version).await
    }

    /// The first version whose event stands at this seq of the journal or behind it; the version that
    /// comes next if there is none.
    pub async fn version_from(&self, seq: u64) -> Result<u64, ClientError> {
        // A version is never larger than its seq.
        let (mut low, mut high) = (1, seq.max(1));
        while low < high {
            let middle = low + (high - low) / 2;
            let request = HistoryRequest {
                from_version: Some(middle),
                limit: Some(1),
                ..HistoryRequest::default()
            };
            let found = self.history(&request).await?.events;
            match found.first() {
                Some(event) if event.seq < seq => low = middle + 1,
                // Versions behind the last one, too: the last one may be behind this seq.
                Some(_) | None => high = middle,
            }
        }
        Ok(low)
    }
}

impl Client {
    /// Follows all sessions of the tenant from this seq of the journal on; 1 is its beginning. Seqs grow,
    /// with gaps where other tenants' events lie.
    pub async fn subscribe(&self, from_seq: u64) -> Result<Events, ClientError> {
        let subject = format!("lacuna.v1.events.{}.*.*", self.tenant);
        let client = self.clone().with_patience(ATTEMPT);
        Events::begin(Whose::Tenant(client.clone()), &client, subject, from_seq).await
    }
}

impl Events {
    async fn begin(
        whose: Whose,
        client: &Client,
        subject: String,
        from: u64,
    ) -> Result<Self, ClientError> {
        let feed = client.nats().subscribe(subject).await;
        let feed = feed.map_err(|error| ClientError::Send(error.to_string()))?;
        let (ready, next) = (VecDeque::new(), from.max(1));
        Ok(Self { whose, feed, ready, next, last: None, behind: true, failing: None })
    }

    /// The next event; waits until there is one.
    ///
    /// An error does not end it: asked again, it goes on at the same place, without a gap and without
    /// a repetition. While the daemon or the broker is away it keeps trying and says so twice a minute.
    /// A `version_conflict` means that the journal no longer holds what was read of it. May be dropped
    /// at any time, as in a `select!`; nothing is lost.
    pub async fn next(&mut self) -> Result<EventBody, ClientError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(event);
            }
            if self.behind {
                self.catch_up().await?;
                continue;
            }
            match tokio::time::timeout(SILENCE, self.feed.next()).await {
                Err(_) => self.behind = true,
                Ok(Some(message)) => self.hear(&message),
                Ok(None) => return Err(ClientError::Connect("the connection was closed".into())),
            }
        }
    }

    /// Reads a page, and says so only if that fails for good or for long.
    async fn catch_up(&mut self) -> Result<(), ClientError> {
        let error = match self.read().await {
            Ok(()) => {
                self.failing = None;
                return Ok(());
            }
            Err(error) => error,
        };
        let away = matches!(
            error,
            ClientError::NoDaemon | ClientError::Timeout { .. } | ClientError::Connect(_)
        );
        let since = *self.failing.get_or_insert_with(Instant::now);
        if !away || since.elapsed() >= PATIENCE {
            self.failing = None;
            return Err(error);
        }
        tokio::time::sleep(PAUSE).await;
        Ok(())
    }

    /// Reads a page of the journal behind the last event that was read.
    async fn read(&mut self) -> Result<(), ClientError> {
        let (Whose::Session(Session { client, .. }) | Whose::Tenant(client)) = &self.whose;
        if client.nats().connection_state() != State::Connected {
            // A request would wait for the connection, and each one that is given up costs memory.
            return Err(ClientError::Connect("the connection is broken".into()));
        }
        match &self.whose {
            Whose::Session(session) => {
                let request = HistoryRequest {
                    from_version: Some(self.next),
                    follows: self.last.as_ref().map(|last| last.hash.clone()),
                    ..HistoryRequest::default()
                };
                let page = session.history(&request).await?;
                self.behind = !page.events.is_empty();
                for event in page.events {
                    if event.version != self.next {
                        return Err(ClientError::Reply(format!(
                            "version {} where {} was asked for",
                            event.version, self.next
                        )));
                    }
                    self.take(event.version, event);
                }
            }
            Whose::Tenant(client) => {
                let (from, follows) = (Some(self.next), self.last.clone());
                let request = EventsRequest { from, limit: None, follows };
                let page: EventsReply = client.journal("events", &request).await?;
                self.behind = page.more;
                for event in page.events {
                    if event.seq < self.next {
                        return Err(ClientError::Reply(format!(
                            "seq {} where {} was asked for",
                            event.seq, self.next
                        )));
                    }
                    self.take(event.seq, event);
                }
                self.next = page.next.max(self.next);
            }
        }
        Ok(())
    }

    /// What the feed says: the next event, an old one, or a reason to read the journal.
    fn hear(&mut self, message: &Message) {
        let Ok(event) = serde_json::from_slice::<EventBody>(&message.payload) else {
            self.behind = true;
            return;
        };
        match &self.whose {
            Whose::Session(_) if event.version < self.next => {}
            Whose::Session(_) => {
                let follows = self.last.as_ref().is_none_or(|last| last.hash == event.previous);
                if event.version == self.next && follows {
                    self.take(event.version, event);
                } else {
                    self.behind = true;
                }
            }
            // Other tenants' events lie between those of this one: only the journal knows whether that is
            // all that lies there.
            Whose::Tenant(_) => self.behind = event.seq >= self.next,
        }
    }

    fn take(&mut self, place: u64, event: EventBody) {
        self.next = place + 1;
        self.last = Some(EventRef { seq: event.seq, hash: event.hash.clone() });
        self.ready.push_back(event);
    }
}
