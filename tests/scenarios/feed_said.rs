//! What is said on the feed beside the events: in order behind the event that it is about, also across an
//! outage, and without making the relay lose its place.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lacuna_engine::{Journal, Options};
use lacuna_nats::{Access, Announcement, Announcer, FeedOptions, RelayHandle};
use lacuna_verbs::{Call, Service, Settings};
use lacuna_wire::journal::FeedBody;
use lacuna_wire::{Subject, journal_subject};
use serde_json::{Value, json};

use crate::rig::{Broker, Fed, current_server, everything};

/// A journal with a relay, in this very process.
struct Publishing {
    journal: Arc<Journal>,
    service: Service,
    relay: RelayHandle,
}

impl Publishing {
    async fn start(folder: &Path, url: &str) -> Self {
        let journal = Arc::new(Journal::open(folder, Options::default()).unwrap());
        let access = Access::new(url, "relay");
        let client = lacuna_nats::connect(&access).await.unwrap();
        let options = FeedOptions {
            max_age: Duration::from_secs(3_600),
            max_bytes: 64 << 20,
            place: folder.join("journal.feed"),
        };
        let relay = lacuna_nats::relay(client, Arc::clone(&journal), options);
        let service = Service::new(Arc::clone(&journal), Settings::default());
        service.tells_feed(relay.teller(&journal));
        Self { journal, service, relay }
    }

    fn call(&self, verb: &str, body: Value) {
        let subject = Subject::parse(&format!("lacuna.v1.acme.w.session.s.{verb}")).unwrap();
        let body = body.to_string().into_bytes();
        let call = Call { subject: &subject, body: &body, max_reply: 1 << 20 };
        self.service.call_and_wait(call).unwrap();
    }

    fn append(&self) {
        let span = json!({ "role": "user", "origin": "user", "content": "words" });
        self.call("append", json!({ "spans": [span] }));
    }

    fn say(&self, announcer: &Announcer, seq: u64, number: u64) {
        announcer.announce(Announcement {
            seq,
            about: "checkpoint",
            subject: journal_subject(self.journal.id(), "checkpoint-signed"),
            body: json!({ "seq": seq, "number": number }).to_string().into(),
        });
    }

    async fn until(&self, holds: impl Fn(&FeedBody) -> bool) {
        let until = Instant::now() + Duration::from_secs(30);
        let tell = self.relay.teller(&self.journal);
        while !holds(&tell()) {
            assert!(Instant::now() < until, "{:?}", tell());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn stop(self) {
        self.relay.stop(Duration::from_secs(10)).await;
        self.journal.close().unwrap();
    }
}

/// The messages as `7`, an event, or `7:checkpoint`.
fn ids(fed: &[Fed]) -> Vec<String> {
    fed.iter().map(|fed| fed.id.split_once(':').unwrap().1.to_owned()).collect()
}

#[test]
fn what_is_said_comes_behind_its_event_and_costs_no_place() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut broker = Broker::start(&current_server());
        let nats = async_nats::connect(broker.url()).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let publishing = Publishing::start(folder.path(), &broker.url()).await;
        let announcer = publishing.relay.announcer();
        publishing.call("open", json!({ "window_tokens": 1_000 }));
        publishing.say(&announcer, 1, 0);
        // Of an event that is yet to come.
        publishing.say(&announcer, 3, 0);
        publishing.until(|feed| feed.messages == 2).await;
        for _ in 0..3 {
            publishing.append();
        }
        publishing.until(|feed| feed.messages == 6).await;
        let fed = everything(&nats).await;
        assert_eq!(ids(&fed), ["1", "1:checkpoint", "2", "3", "3:checkpoint", "4"]);
        let subject =
            format!("lacuna.v1.events._journal.{}.checkpoint-signed", publishing.journal.id());
        assert_eq!((&fed[4].subject, &fed[4].body), (&subject, &json!({ "seq": 3, "number": 0 })));

        // Said late: the stream ends with what is about an old event, and nothing comes twice for it.
        publishing.say(&announcer, 2, 0);
        publishing.until(|feed| feed.messages == 7).await;
        publishing.stop().await;
        std::fs::remove_file(folder.path().join("journal.feed")).unwrap();
        let publishing = Publishing::start(folder.path(), &broker.url()).await;
        let announcer = publishing.relay.announcer();
        publishing.until(|feed| feed.state == "live" && feed.stream_seq == 7).await;
        publishing.append();
        publishing.until(|feed| feed.lag_events == 0 && feed.published_seq == 5).await;
        assert_eq!(ids(&everything(&nats).await)[6..], ["2:checkpoint", "5"]);

        // While the broker is away the newest of what is to be said are kept, and no more.
        broker.stop();
        publishing.until(|feed| feed.state == "away").await;
        let spans = vec![json!({ "role": "user", "origin": "user", "content": "x" }); 100];
        publishing.call("append", json!({ "spans": spans }));
        for seq in 6..=105 {
            publishing.say(&announcer, seq, 1);
            publishing.say(&announcer, seq, 2);
        }
        broker.restart();
        publishing.until(|feed| feed.state == "live" && feed.published_seq == 105).await;
        publishing.stop().await;
        let fed = everything(&nats).await;
        let said: Vec<&Fed> =
            fed[8..].iter().filter(|fed| fed.id.ends_with("checkpoint")).collect();
        assert!(said.iter().map(|fed| fed.seq()).eq(42..=105), "{:?}", ids(&fed));
        assert!(said.iter().all(|fed| fed.body["number"] == 2), "the last of each");
        assert_eq!(fed.len(), 8 + 100 + 64);
    });
}
