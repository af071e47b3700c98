//! The feed under the broker's configuration that the project ships: a tenant follows its own part of it,
//! nobody reads another's by any way, and nobody but the daemon writes there. Every attempt is made at a
//! real server.

use std::time::Duration;

use async_nats::{Client as Nats, Subscriber};
use futures_util::StreamExt as _;
use lacuna_client::Client;
use serde_json::{Value, json};

use crate::permissions::{Member, Tenants};
use crate::rig::{Server, repository, with_each_broker};

/// How long nothing must come before it counts as silence.
const SILENCE: Duration = Duration::from_millis(400);
const STREAM: &str = "LACUNA_EVENTS";

/// What of the broker's API would tell the feed, or take it from those who follow it; with what it takes
/// to be asked.
fn api() -> Vec<(String, Value)> {
    let consumer = |filter: &str| {
        json!({
            "stream_name": STREAM,
            "config": {
                "name": "spy", "filter_subject": filter, "ack_policy": "none",
                "deliver_policy": "all", "inactive_threshold": 5_000_000_000_u64,
            },
        })
    };
    let others = "lacuna.v1.events.globex.>";
    let create = format!("CONSUMER.CREATE.{STREAM}");
    let asked = [
        (format!("STREAM.INFO.{STREAM}"), json!({})),
        ("STREAM.NAMES".to_owned(), json!({})),
        (format!("STREAM.MSG.GET.{STREAM}"), json!({ "seq": 1 })),
        (format!("DIRECT.GET.{STREAM}"), json!({ "seq": 1 })),
        (format!("DIRECT.GET.{STREAM}.lacuna.v1.events.globex.s.session-opened"), json!({})),
        (format!("{create}.spy.{others}"), consumer(others)),
        // A filter that is one's own in the subject and another's in the body.
        (format!("{create}.spy.lacuna.v1.events.acme.>"), consumer(others)),
        (create, consumer(others)),
        (format!("CONSUMER.DURABLE.CREATE.{STREAM}.spy"), consumer(others)),
        (format!("CONSUMER.LIST.{STREAM}"), json!({})),
        (format!("CONSUMER.INFO.{STREAM}.spy"), json!({})),
        (format!("CONSUMER.MSG.NEXT.{STREAM}.spy"), json!({ "batch": 1 })),
        (format!("CONSUMER.DELETE.{STREAM}.spy"), json!({})),
        (format!("STREAM.PURGE.{STREAM}"), json!({})),
        (format!("STREAM.DELETE.{STREAM}"), json!({})),
    ];
    let subject = |(name, body): (String, Value)| (format!("$JS.API.{name}"), body);
    asked.map(subject).into()
}

/// Everything that comes until nothing does.
async fn heard(subscriber: &mut Subscriber) -> Vec<(String, String)> {
    let mut heard = Vec::new();
    while let Ok(Some(message)) = tokio::time::timeout(SILENCE, subscriber.next()).await {
        let body = String::from_utf8_lossy(&message.payload).into_owned();
        heard.push((message.subject.to_string(), body));
    }
    heard
}

async fn listening(nats: &Nats, subject: &str) -> Subscriber {
    let subscriber = nats.subscribe(subject.to_owned()).await.unwrap();
    nats.flush().await.unwrap();
    subscriber
}

/// How many messages the stream has, once it has as many as the journal has events.
async fn stored(tenants: &Tenants) -> u64 {
    let (nats, events) = (tenants.daemon_user().await, tenants.events().await);
    for _ in 0..200 {
        let info = nats.request(format!("$JS.API.STREAM.INFO.{STREAM}"), "".into()).await.unwrap();
        let info: Value = serde_json::from_slice(&info.payload).unwrap();
        let messages = info["state"]["messages"].as_u64();
        if messages == events.as_u64() {
            return messages.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the feed does not get {events} messages");
}

/// A tenant's worker with a session of one span.
async fn with_session(tenants: &Tenants, tenant: &str) -> Member {
    let member = tenants.member(tenant, "worker-1").await;
    member.worker.open("s").await;
    member.worker.append("s", "a", "words").await;
    member
}

#[test]
fn a_tenant_follows_its_own_part_of_the_feed() {
    with_each_broker(async |server| {
        let tenants = Tenants::start(server);
        let acme = with_session(&tenants, "acme").await;
        let globex = with_session(&tenants, "globex").await;
        stored(&tenants).await;
        for (member, tenant) in [(&acme, "acme"), (&globex, "globex")] {
            let subject = format!("lacuna.v1.events.{tenant}.>");
            let mut live = listening(&member.worker.nats, &subject).await;
            let client = Client::new(member.worker.nats.clone(), tenant, "worker-1");
            let mut session = client.session("s").subscribe(1).await.unwrap();
            let mut whole = client.subscribe(1).await.unwrap();
            acme.worker.append("s", &format!("of-acme-{tenant}"), "words").await;
            globex.worker.append("s", &format!("of-globex-{tenant}"), "words").await;
            let heard = heard(&mut live).await;
            assert_eq!(heard.len(), 1, "{heard:?}");
            assert_eq!(heard[0].0, format!("lacuna.v1.events.{tenant}.s.span-recorded"));
            assert!(heard[0].1.contains(&format!("of-{tenant}-{tenant}")), "{heard:?}");
            for event in member.worker.history("s").await {
                assert_eq!(json!(session.next().await.unwrap()), event);
                assert_eq!(json!(whole.next().await.unwrap()), event);
            }
            assert!(member.refusals().is_empty(), "{}", member.refusals());
        }
        tenants.daemon.stop();
    });
}

#[test]
fn nobody_reads_another_tenants_feed() {
    with_each_broker(async |server| {
        let tenants = Tenants::start(server);
        let acme = with_session(&tenants, "acme").await;
        let globex = with_session(&tenants, "globex").await;
        let officer = tenants.member("acme", "officer").await;
        let before = stored(&tenants).await;
        for member in [&acme, &officer] {
            let mut spying = Vec::new();
            for subject in [
                "lacuna.v1.events.globex.>",
                "lacuna.v1.events.globex.s.span-recorded",
                "lacuna.v1.events.*.s.*",
                "lacuna.v1.events.>",
                "lacuna.v1.>",
                "$JS.>",
                ">",
            ] {
                spying.push(member.may_not_subscribe(subject).await);
            }
            for (subject, body) in api() {
                member.may_not(&subject, body).await;
            }
            member.may_not("lacuna.v1.globex.worker-1.journal.events", json!({})).await;
            member.may_not("lacuna.v1.globex.worker-1.session.s.history", json!({})).await;
            for span in ["b", "c"] {
                let span = format!("{span}-{}", member.principal());
                globex.worker.append("s", &span, "words").await;
            }
            for mut subscriber in spying {
                assert_eq!(heard(&mut subscriber).await, []);
            }
        }
        // Its own part tells what was asked of it, and nothing of the other.
        let mine = acme.worker.journal("events", json!({})).await;
        assert_eq!(mine["events"].as_array().unwrap().len(), 2, "{mine}");
        // Whoever may ask is answered: the refusals are not those of a broker that knows no such thing.
        let nats = tenants.daemon_user().await;
        let mut answered = 0;
        for (subject, body) in api().into_iter().take(12) {
            let asked = nats.request(subject.clone(), body.to_string().into());
            // Direct gets are for streams that allow them.
            let Ok(Ok(reply)) = tokio::time::timeout(SILENCE, asked).await else { continue };
            let body = String::from_utf8_lossy(&reply.payload).into_owned();
            answered += usize::from(!body.contains("\"error\""));
        }
        assert!(answered >= 6, "{answered}");
        assert_eq!(stored(&tenants).await, before + 4);
    });
}

#[test]
fn nobody_but_the_daemon_writes_events() {
    with_each_broker(async |server| {
        let tenants = Tenants::start(server);
        let acme = with_session(&tenants, "acme").await;
        let officer = tenants.member("acme", "officer").await;
        let globex = with_session(&tenants, "globex").await;
        let before = stored(&tenants).await;
        let mut live = listening(&acme.worker.nats, "lacuna.v1.events.acme.>").await;
        let forged = json!({ "kind": "notice-given", "seq": 3, "version": 3, "span": "forged" });
        for member in [&acme, &officer, &globex] {
            for subject in [
                "lacuna.v1.events.acme.s.notice-given",
                "lacuna.v1.events.globex.s.notice-given",
                "lacuna.v1.events._journal.x.checkpoint-signed",
            ] {
                member.may_not(subject, forged.clone()).await;
            }
        }
        assert_eq!(heard(&mut live).await, []);
        assert_eq!(stored(&tenants).await, before);
        // The daemon's own words arrive.
        acme.worker.append("s", "b", "words").await;
        assert_eq!(heard(&mut live).await.len(), 1);
    });
}

/// Accounts keep tenants apart even where somebody forgets the permissions of a user.
#[test]
fn a_user_without_permissions_stays_in_its_account() {
    with_each_broker(async |server: &Server| {
        let shipped =
            std::fs::read_to_string(repository().join("ops/nats/nats-server.conf")).unwrap();
        // Behind the last user of acme's account.
        let (head, tail) = shipped.split_once("\n    ]\n  }\n\n  GLOBEX").unwrap();
        let config = format!(
            "{head}\n      {{ user: anything, password: goes }}\n    ]\n  }}\n\n  GLOBEX{tail}"
        );
        let folder = tempfile::tempdir().unwrap();
        let file = crate::rig::written(folder.path(), "nats.conf", &config);
        let tenants = Tenants::start_from(server, &file);
        let acme = with_session(&tenants, "acme").await;
        let globex = with_session(&tenants, "globex").await;
        let before = stored(&tenants).await;
        let nats = tenants.enter("anything", "goes").await;
        let mut all = listening(&nats, ">").await;
        let mut of_globex = listening(&globex.worker.nats, "lacuna.v1.events.globex.>").await;
        for (subject, body) in api() {
            let asked = nats.request(subject.clone(), body.to_string().into());
            if let Ok(Ok(reply)) = tokio::time::timeout(SILENCE, asked).await {
                let body = String::from_utf8_lossy(&reply.payload).into_owned();
                assert!(body.contains("\"error\"") && !body.contains("session-opened"), "{body}");
            }
        }
        for subject in [
            "lacuna.v1.events.acme.s.notice-given",
            "lacuna.v1.events.globex.s.notice-given",
            "lacuna.v1.globex.worker-1.session.s.close",
            "lacuna.v1.globex.worker-1.session.t.open",
        ] {
            nats.publish(subject, json!({ "window_tokens": 1_000 }).to_string().into())
                .await
                .unwrap();
        }
        nats.flush().await.unwrap();
        assert_eq!(heard(&mut of_globex).await, []);
        assert_eq!(stored(&tenants).await, before, "neither the stream nor the journal has more");
        globex.worker.append("s", "b", "words of globex").await;
        acme.worker.append("s", "b", "words").await;
        let heard = heard(&mut all).await;
        // Nothing but what was sent in this account, and acme's part of the feed.
        let recorded: Vec<_> =
            heard.iter().filter(|(subject, _)| subject.ends_with(".span-recorded")).collect();
        assert_eq!(recorded.len(), 1, "{recorded:?}");
        assert_eq!(recorded[0].0, "lacuna.v1.events.acme.s.span-recorded");
        assert!(heard.iter().all(|(_, body)| !body.contains("\"globex\"")), "{heard:?}");
    });
}
