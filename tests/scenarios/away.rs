//! The broker goes away and comes back: the daemon says so, serves again without a restart, and
//! requests that are sent again have one effect.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::rig::{House, Worker, with_each_broker};

const WORKERS: usize = 8;
const COMMANDS: usize = 60;
/// How long a worker waits before it sends again, and how long the broker is away: longer, so that
/// requests of both attempts wait in the client and arrive together.
const ATTEMPT: Duration = Duration::from_millis(200);
const OUTAGE: Duration = Duration::from_millis(500);

/// Sends a command until it is answered, as a worker with a `command_id` may.
async fn persist(worker: &Worker, session: &str, body: &Value) -> (Value, usize) {
    let until = Instant::now() + Duration::from_secs(30);
    for attempt in 1.. {
        let subject = worker.subject(session, "append");
        let sent = worker.send(&subject, body.to_string().into_bytes(), ATTEMPT).await;
        if let Ok(message) = sent {
            let reply: Value = serde_json::from_slice(&message.payload).unwrap();
            assert!(reply.get("error").is_none(), "{reply}");
            return (reply, attempt);
        }
        assert!(Instant::now() < until, "no answer for {body}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    unreachable!("it ends by an answer or by time")
}

#[test]
fn requests_sent_again_over_an_outage_have_one_effect() {
    with_each_broker(async |server| {
        let mut house = House::start(server);
        let worker = house.worker().await;
        worker.open("s").await;
        let senders: Vec<_> = (0..WORKERS)
            .map(|sender| {
                let worker = worker.clone();
                tokio::spawn(async move {
                    let (mut seqs, mut resent) = (BTreeMap::new(), 0);
                    for number in 0..COMMANDS {
                        let id = format!("w{sender}-{number}");
                        let span = json!({ "role": "user", "origin": "user", "content": id });
                        let body = json!({ "spans": [span], "command_id": id });
                        let (reply, attempts) = persist(&worker, "s", &body).await;
                        resent += attempts - 1;
                        seqs.insert(id, reply["spans"][0]["seq"].as_u64().unwrap());
                        // Slow enough that both outages hit.
                        tokio::time::sleep(Duration::from_millis(10)).await;
                    }
                    (seqs, resent)
                })
            })
            .collect();
        let mut lines = house.daemon().lines();
        for _ in 0..2 {
            tokio::time::sleep(Duration::from_millis(200)).await;
            tokio::task::block_in_place(|| {
                house.broker.stop();
                lines = house.daemon().wait_for_words(lines, "the broker is away");
                std::thread::sleep(OUTAGE);
                house.broker.restart();
                lines = house.daemon().wait_for_words(lines, "connected to the broker");
            });
        }
        let (mut seqs, mut resent) = (BTreeMap::new(), 0);
        for sender in senders {
            let (some, again) = sender.await.unwrap();
            seqs.extend(some);
            resent += again;
        }
        eprintln!("{} commands, {resent} sent again", seqs.len());
        assert_eq!(seqs.len(), WORKERS * COMMANDS);
        assert!(resent > 0, "the outages hit nothing");
        let recorded: Vec<(String, u64)> = worker
            .history("s")
            .await
            .iter()
            .filter(|event| event["kind"] == "span-recorded")
            .map(|event| {
                let id = event["command_id"].as_str().unwrap().to_owned();
                (id, event["seq"].as_u64().unwrap())
            })
            .collect();
        assert_eq!(recorded.len(), seqs.len(), "each once");
        assert_eq!(recorded.into_iter().collect::<BTreeMap<_, _>>(), seqs);
        worker.verify().await;
        house.stop_daemon();
    });
}

#[test]
fn a_daemon_stops_while_the_broker_is_away() {
    with_each_broker(async |server| {
        let mut house = House::start(server);
        house.worker().await.open("s").await;
        house.broker.stop();
        house.daemon().wait_for_words(0, "the broker is away");
        let log = tokio::task::block_in_place(|| house.stop_daemon());
        assert!(log.contains("the journal is closed"), "{log}");
        house.broker.restart();
        house.start_daemon();
        assert_eq!(house.worker().await.history("s").await.len(), 1);
    });
}
