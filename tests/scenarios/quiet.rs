//! Contents and secrets go where they belong and nowhere else: no log line holds any, however much is logged, and
//! no event of the feed.

use serde_json::json;

use crate::rig::{Broker, House, Worker, current_server};

/// A word that stands in a content, and nowhere else.
const CANARY: &str = "canary-7f3a91c2e4";

#[tokio::test]
async fn no_log_line_and_no_event_holds_a_content() {
    let server = current_server();
    let config = |_: &std::path::Path| "[log]\nfilter = \"trace\"\n".to_owned();
    let mut house = House::configured(Broker::start(&server), config);
    let worker = Worker::connect(&house.url(), "acme", "worker-1").await;
    let content = format!("The password of the staging database is {CANARY}.");
    let ask = async |verb: &str, body: serde_json::Value| worker.ask("s", verb, body).await;
    ask("open", json!({ "window_tokens": 100_000 })).await.unwrap();
    let span = json!({ "id": "a", "role": "tool", "origin": "tool", "content": content });
    ask("append", json!({ "spans": [span], "command_id": "c1" })).await.unwrap();
    ask("append", json!({ "spans": [span], "command_id": "c1" })).await.unwrap();
    // Refused, too: a name that is taken, a request that is none.
    let other =
        json!({ "id": "a", "role": "tool", "origin": "tool", "content": format!("{CANARY}!") });
    ask("append", json!({ "spans": [other] })).await.unwrap_err();
    ask("append", json!({ "spans": [{ "content": content, "role": 7 }] })).await.unwrap_err();
    ask("prune", json!({ "spans": ["a"] })).await.unwrap();
    let found = ask("expand", json!({ "span": "a" })).await.unwrap();
    assert!(found.to_string().contains(CANARY), "{found}");
    ask("search", json!({ "literal": CANARY })).await.unwrap();
    ask("window", json!({})).await.unwrap();
    let events = ask("history", json!({})).await.unwrap();
    assert!(events.to_string().contains("span-recorded"), "{events}");
    assert!(!events.to_string().contains(CANARY), "an event holds it");
    let log = house.stop_daemon();
    assert!(log.lines().count() > 20, "it was asked to say much: {log}");
    assert!(!log.contains(CANARY), "{}", log.lines().find(|l| l.contains(CANARY)).unwrap());
}
