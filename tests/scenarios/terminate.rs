//! SIGTERM under load: every reply that was received is durable, the journal closes cleanly, and a
//! second start has nothing to repair (I6).

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::rig::{House, Worker, nobody_there, with_each_broker};

const APPENDERS: usize = 64;

/// How one appender's last request ended.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Last {
    /// The broker said that nobody listens: the request was never delivered.
    Nobody,
    /// No answer in time.
    Silence,
}

/// Appends to the session until a request fails; gives the seqs that were acknowledged.
async fn append_while_answered(worker: Worker, appender: usize) -> (BTreeMap<String, u64>, Last) {
    let mut acknowledged = BTreeMap::new();
    for number in 0.. {
        let id = format!("a{appender}-{number}");
        let span = json!({ "id": id, "role": "user", "origin": "user", "content": id });
        let body = json!({ "spans": [span], "command_id": id }).to_string().into_bytes();
        let sent = worker.send(&worker.subject("s", "append"), body, Duration::from_secs(3)).await;
        match sent {
            Ok(message) => {
                let reply: Value = serde_json::from_slice(&message.payload).unwrap();
                assert!(reply.get("error").is_none(), "{reply}");
                acknowledged.insert(id, reply["spans"][0]["seq"].as_u64().unwrap());
            }
            Err(error) if nobody_there(&error) => return (acknowledged, Last::Nobody),
            Err(_) => return (acknowledged, Last::Silence),
        }
    }
    unreachable!("it goes on until a request fails")
}

#[test]
fn what_was_answered_is_there_after_a_clean_restart() {
    with_each_broker(async |server| {
        let mut house = House::start(server);
        let worker = house.worker().await;
        worker.open("s").await;
        let appenders: Vec<_> = (0..APPENDERS)
            .map(|appender| tokio::spawn(append_while_answered(worker.clone(), appender)))
            .collect();
        tokio::time::sleep(Duration::from_millis(400)).await;
        let log = tokio::task::block_in_place(|| house.stop_daemon());
        assert!(log.contains("stopping") && log.contains("the journal is closed"), "{log}");
        assert!(!log.contains("panicked"), "{log}");
        let mut acknowledged = BTreeMap::new();
        let mut ends: BTreeMap<Last, usize> = BTreeMap::new();
        for appender in appenders {
            let (some, last) = appender.await.unwrap();
            acknowledged.extend(some);
            *ends.entry(last).or_default() += 1;
        }
        eprintln!("{} acknowledged, then {ends:?}", acknowledged.len());
        assert!(acknowledged.len() > APPENDERS, "the load was on");

        house.start_daemon();
        let log = house.daemon().log();
        assert!(!log.contains("repairing"), "{log}");
        let worker = house.worker().await;
        let recorded: BTreeMap<String, u64> = worker
            .history("s")
            .await
            .into_iter()
            .filter(|event| event["kind"] == "span-recorded")
            .map(|event| {
                (event["span"].as_str().unwrap().to_owned(), event["seq"].as_u64().unwrap())
            })
            .collect();
        for (id, seq) in &acknowledged {
            assert_eq!(recorded.get(id), Some(seq), "{id}");
        }
        // What was carried out without a reply is at most the one request of each appender.
        assert!(recorded.len() <= acknowledged.len() + APPENDERS, "{}", recorded.len());
        worker.verify().await;
    });
}

#[test]
fn an_idle_daemon_stops_at_once() {
    with_each_broker(async |server| {
        let mut house = House::start(server);
        house.worker().await.open("s").await;
        let daemon = house.take_daemon();
        let began = std::time::Instant::now();
        drop(daemon.stop());
        assert!(began.elapsed() < Duration::from_secs(3), "took {:?}", began.elapsed());
    });
}
