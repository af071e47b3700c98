//! The scrub of a running daemon: it finds damage that nobody asked about, and says so.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::rig::{Broker, House, current_server, flip_a_payload_byte};

const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn damage_comes_to_light_by_itself() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let broker = Broker::start(&current_server());
        // Often enough that a round comes soon after the damage.
        let config = |_: &std::path::Path| "[scrub]\nevery = \"1s\"\n".to_owned();
        let mut house = House::configured(broker, config);
        let worker = house.worker().await;
        worker.open("s").await;
        worker.append("s", "a", "alpha").await;
        house.stop_daemon();
        flip_a_payload_byte(&house.journal());
        house.start_daemon();
        let until = Instant::now() + PATIENCE;
        let tombstones = loop {
            // Reading the ledger reads no copy.
            let reply = worker.call("s", "tombstones", json!({})).await;
            if reply["tombstones"].as_array().is_some_and(|list| !list.is_empty()) {
                break reply;
            }
            assert!(Instant::now() < until, "nobody finds it; log:\n{}", house.daemon().log());
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        let entry = &tombstones["tombstones"][0];
        assert_eq!((&entry["span"], &entry["cause"]["kind"]), (&json!("a"), &json!("damage")));
        house.daemon().wait_for_words(0, "the scrub found damage");
        let stats = worker.journal("stats", json!({})).await;
        assert_eq!(stats["scrub"]["damaged"], json!(1), "{stats}");
        let events: Vec<Value> = worker.history("s").await;
        assert_eq!(events.last().unwrap()["kind"], "lossy-committed");
        worker.verify().await;
    });
}
