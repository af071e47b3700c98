//! What stands on the feed, read with nothing but a NATS client.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::{Client, ConnectOptions, Request, jetstream};
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::Worker;

/// How long the feed may take to catch up.
const PATIENCE: Duration = Duration::from_secs(60);

/// A message of the feed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fed {
    pub(crate) stream_seq: u64,
    pub(crate) id: String,
    pub(crate) subject: String,
    pub(crate) body: Value,
}

impl Fed {
    /// The seq in the journal.
    pub(crate) fn seq(&self) -> u64 {
        self.body["seq"].as_u64().unwrap_or_else(|| panic!("{self:?}"))
    }
}

/// What the subjects of events begin with.
const EVENTS: &str = "lacuna.v1.events.";

/// Everything that the stream holds under the subjects of events, in its order.
pub(crate) async fn everything(nats: &Client) -> Vec<Fed> {
    let stream = jetstream::new(nats.clone()).get_stream("LACUNA_EVENTS").await.unwrap();
    let held = stream.get_info().await.unwrap().state.messages;
    let config = pull::Config {
        ack_policy: AckPolicy::None,
        inactive_threshold: PATIENCE,
        ..pull::Config::default()
    };
    let consumer = stream.create_consumer(config).await.unwrap();
    let (mut fed, mut read) = (Vec::new(), 0);
    while read < held {
        let batch = consumer.fetch().max_messages(1_000).expires(PATIENCE);
        let mut batch = batch.messages().await.unwrap();
        while let Some(message) = batch.next().await {
            let message = message.unwrap();
            read += 1;
            if !message.subject.starts_with(EVENTS) {
                continue;
            }
            let id = message.headers.as_ref().and_then(|headers| headers.get("Nats-Msg-Id"));
            fed.push(Fed {
                stream_seq: message.info().unwrap().stream_sequence,
                id: id.map(|id| id.as_str().to_owned()).unwrap_or_default(),
                subject: message.subject.to_string(),
                body: serde_json::from_slice(&message.payload).unwrap(),
            });
        }
    }
    fed
}

/// A follower that keys on `seq`. It goes on whatever happens to broker and stream, and holds what it saw.
pub(crate) struct Follower {
    seen: Arc<Mutex<BTreeMap<u64, Value>>>,
    task: JoinHandle<()>,
}

impl Follower {
    /// Begins to follow.
    pub(crate) async fn start(url: &str) -> Self {
        let options = ConnectOptions::new()
            .retry_on_initial_connect()
            .reconnect_delay_callback(|_| Duration::from_millis(20));
        let nats = options.connect(url).await.unwrap();
        let seen = Arc::<Mutex<BTreeMap<u64, Value>>>::default();
        let sees = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            let (mut created, mut last) = (None, 0);
            loop {
                // Whatever went wrong: it looks again.
                drop(follow(&nats, &sees, &mut created, &mut last).await);
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        Self { seen, task }
    }

    /// Waits until it has seen this seq; gives all that it saw, each once.
    pub(crate) async fn saw(self, seq: u64) -> BTreeMap<u64, Value> {
        let until = Instant::now() + PATIENCE;
        while self.seen.lock().unwrap().last_key_value().is_none_or(|(last, _)| *last < seq) {
            assert!(Instant::now() < until, "it does not see {seq}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.task.abort();
        std::mem::take(&mut self.seen.lock().unwrap())
    }
}

/// Reads on behind the last message seen; from the beginning where the stream is another one.
async fn follow(
    nats: &Client,
    seen: &Mutex<BTreeMap<u64, Value>>,
    created: &mut Option<String>,
    last: &mut u64,
) -> Result<(), async_nats::Error> {
    let mut stream = jetstream::new(nats.clone()).get_stream("LACUNA_EVENTS").await?;
    let info = stream.info().await?;
    let of = Some(info.created.to_string());
    if *created != of || info.state.last_sequence < *last {
        (*created, *last) = (of, 0);
    }
    let config = pull::Config {
        deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: *last + 1 },
        ack_policy: AckPolicy::None,
        inactive_threshold: Duration::from_secs(5),
        ..pull::Config::default()
    };
    let consumer = stream.create_consumer(config).await?;
    loop {
        let batch = consumer.batch().max_messages(500).expires(Duration::from_millis(300));
        let mut batch = batch.messages().await?;
        let mut some = false;
        while let Some(message) = batch.next().await {
            let message = message?;
            *last = message.info()?.stream_sequence;
            some = true;
            // Signed checkpoints stand on the stream, too.
            if !message.subject.starts_with(EVENTS) {
                continue;
            }
            let body: Value = serde_json::from_slice(&message.payload)?;
            let seq = body["seq"].as_u64().unwrap();
            let before = seen.lock().unwrap().insert(seq, body.clone());
            assert!(before.is_none_or(|before| before == body), "{seq} came again as another one");
        }
        if !some {
            // The consumer may be gone with its broker: another one goes on.
            return Ok(());
        }
    }
}

/// Asks JetStream's API.
pub(crate) async fn jetstream_api(nats: &Client, what: &str, body: Value) -> Value {
    let request = Request::new().payload(body.to_string().into());
    let reply = nats.send_request(format!("$JS.API.{what}"), request).await;
    let reply = reply.unwrap_or_else(|error| panic!("{what}: {error}"));
    let reply: Value = serde_json::from_slice(&reply.payload).unwrap();
    assert!(reply.get("error").is_none(), "{what}: {reply}");
    reply
}

/// Waits until `stats` says this about the feed, and gives what it says. A daemon that is not there yet is
/// waited for.
pub(crate) async fn feed_until(worker: &Worker, holds: impl Fn(&Value) -> bool) -> Value {
    let until = Instant::now() + PATIENCE;
    let subject = worker.journal_subject("stats");
    loop {
        let answer = worker.send(&subject, Vec::new(), Duration::from_secs(2)).await;
        let stats: Value = answer
            .map(|answer| serde_json::from_slice(&answer.payload).unwrap())
            .unwrap_or_default();
        let feed = &stats["feed"];
        if holds(feed) {
            return feed.clone();
        }
        assert!(Instant::now() < until, "the feed does not come to that: {stats}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until everything that is recorded is on the feed.
pub(crate) async fn caught_up(worker: &Worker) -> Value {
    feed_until(worker, |feed| feed["state"] == "live" && feed["lag_events"] == 0).await
}

/// The feed as a follower has it that keys on `seq`: each event once, in order. What comes again must be
/// what came before.
pub(crate) fn once_each(fed: &[Fed]) -> Vec<&Value> {
    let mut seen: BTreeMap<u64, &Value> = BTreeMap::new();
    let mut at_least = 0;
    for message in fed {
        let body = &message.body;
        let id = format!("{}:{}", body["journal"].as_str().unwrap(), message.seq());
        if message.id != id {
            continue;
        }
        let place = format!(
            "lacuna.v1.events.{}.{}.{}",
            body["tenant"].as_str().unwrap(),
            body["session"].as_str().unwrap(),
            body["kind"].as_str().unwrap()
        );
        assert_eq!(message.subject, place);
        if let Some(before) = seen.insert(message.seq(), body) {
            assert_eq!(before, body, "it came again as something else");
        } else {
            assert_eq!(message.seq(), at_least + 1, "new ones come in order");
            at_least = message.seq();
        }
    }
    seen.into_values().collect()
}

/// Checks that the feed is the journal: every event of these sessions, which are all there are.
pub(crate) async fn feed_is_journal(worker: &Worker, sessions: &[&str]) -> Vec<Fed> {
    caught_up(worker).await;
    let fed = everything(&worker.nats).await;
    let mut recorded = Vec::new();
    for session in sessions {
        // A fork's history begins with events of the session that it was forked from.
        let history = worker.history(session).await.into_iter();
        recorded.extend(history.filter(|event| event["session"] == *session));
    }
    recorded.sort_by_key(|event| event["seq"].as_u64());
    let head = worker.journal("head", json!({})).await["seq"].as_u64().unwrap();
    assert_eq!(recorded.len() as u64, head, "these are all sessions");
    let followed = once_each(&fed);
    assert_eq!(followed.len(), recorded.len(), "events that a follower has");
    for (followed, recorded) in followed.into_iter().zip(&recorded) {
        assert_eq!(followed, recorded);
    }
    fed
}
