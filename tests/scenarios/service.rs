//! The daemon as a NATS service: what any NATS tool sees on `$SRV`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::rig::{House, Worker, with_each_broker};

async fn about(worker: &Worker, subject: &str) -> Value {
    let message = worker.send(subject, Vec::new(), Duration::from_secs(5)).await.unwrap();
    serde_json::from_slice(&message.payload).unwrap()
}

/// Requests and errors of an endpoint, and its last error.
async fn figures(worker: &Worker, endpoint: &str) -> (u64, u64, String) {
    let stats = about(worker, "$SRV.STATS.lacuna").await;
    let endpoints = stats["endpoints"].as_array().unwrap();
    let found = endpoints.iter().find(|one| one["name"] == endpoint).unwrap();
    let number = |field: &str| found[field].as_u64().unwrap();
    (number("num_requests"), number("num_errors"), found["last_error"].as_str().unwrap().to_owned())
}

#[test]
fn it_says_who_it_is_and_what_it_answers() {
    with_each_broker(async |server| {
        let house = House::start(server);
        let worker = house.worker().await;
        let ping = about(&worker, "$SRV.PING").await;
        assert_eq!(ping["name"], "lacuna");
        assert_eq!(ping["type"], "io.nats.micro.v1.ping_response");
        assert_eq!(ping["version"], env!("CARGO_PKG_VERSION"));
        let id = ping["id"].as_str().unwrap();
        for subject in ["$SRV.PING.lacuna".to_owned(), format!("$SRV.PING.lacuna.{id}")] {
            assert_eq!(about(&worker, &subject).await, ping);
        }
        let info = about(&worker, "$SRV.INFO").await;
        assert_eq!(
            (&info["id"], &info["type"]),
            (&ping["id"], &"io.nats.micro.v1.info_response".into())
        );
        let endpoints = info["endpoints"].as_array().unwrap();
        let subjects: Vec<&str> =
            endpoints.iter().map(|one| one["subject"].as_str().unwrap()).collect();
        for verb in ["open", "append", "prune", "restore", "expand", "window", "put-chunk"] {
            let subject = format!("lacuna.v1.*.*.session.*.{verb}");
            assert!(subjects.contains(&subject.as_str()), "{subject} is not in {subjects:?}");
        }
        assert!(subjects.contains(&"lacuna.v1.*.*.journal.head"), "{subjects:?}");
        assert!(endpoints.iter().all(|one| one["queue_group"] == "lacuna"), "{info}");
    });
}

#[test]
fn requests_and_errors_are_counted() {
    with_each_broker(async |server| {
        let house = House::start(server);
        let worker = house.worker().await;
        assert_eq!(figures(&worker, "session-append").await, (0, 0, String::new()));
        worker.open("s").await;
        for n in 0..5 {
            worker.append("s", &format!("a{n}"), "words").await;
        }
        for _ in 0..3 {
            worker.refused("s", "append", json!({ "spans": 7 })).await;
        }
        worker.refused("unknown", "append", json!({ "spans": [] })).await;
        // A rejection by a rule is an answer, not an error.
        let rejected = worker.call("s", "prune", json!({ "spans": ["nobody"] })).await;
        assert_eq!(rejected["status"], "rejected");
        let (requests, errors, last) = figures(&worker, "session-append").await;
        assert_eq!((requests, errors), (9, 4));
        assert!(last.starts_with("404:unknown_session"), "{last}");
        assert_eq!(figures(&worker, "session-prune").await, (1, 0, String::new()));
        assert_eq!(figures(&worker, "session-open").await, (1, 0, String::new()));
        let stats = about(&worker, "$SRV.STATS").await;
        assert_eq!(stats["type"], "io.nats.micro.v1.stats_response");
        let endpoints = stats["endpoints"].as_array().unwrap();
        let append = endpoints.iter().find(|one| one["name"] == "session-append").unwrap();
        let time = |field: &str| append[field].as_u64().unwrap();
        assert_eq!(time("average_processing_time"), time("processing_time") / 9);
        assert!(time("processing_time") > 0);
    });
}
