//! What the feed never carries, and what it never grows to: contents, messages that are too long, memory.

use std::path::Path;

use lacuna_wire::FEED_STREAM;
use serde_json::{Value, json};

use crate::rig::{
    Broker, Cli, House, caught_up, current_server, everything, feed_is_journal, feed_until,
    free_port, jetstream_api, with_each_broker,
};

/// Stands in every content, and nowhere else.
const CANARY: &str = "CANARY-7d41f0";

/// Whether any file below this folder holds these bytes.
fn holds(folder: &Path, bytes: &[u8]) -> bool {
    std::fs::read_dir(folder).unwrap().any(|entry| {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            return holds(&entry.path(), bytes);
        }
        let file = std::fs::read(entry.path()).unwrap();
        file.windows(bytes.len()).any(|window| window == bytes)
    })
}

#[test]
fn no_content_is_ever_on_the_feed() {
    with_each_broker(async |server| {
        let mut house = House::start(server);
        let worker = house.worker().await;
        worker.open("s").await;
        let said = format!("The secret is {CANARY} and the port is 4711.");
        worker.append("s", "a", &said).await;
        worker.append("s", "b", &format!("Then {CANARY} is not so.")).await;
        let contradicting = json!({ "spans": [{
            "id": "c", "role": "tool", "origin": "tool", "contradicts": ["a"],
            "content_b64": "AAAA", "media_type": "application/octet-stream",
        }]});
        worker.call("s", "append", contradicting).await;
        worker
            .call(
                "s",
                "append",
                json!({ "spans": [{
                    "id": "large", "role": "tool", "origin": "tool",
                    "content": format!("{CANARY} {}", "x".repeat(400_000)),
                }]}),
            )
            .await;
        // One summary that finds much to say about the words, and one that stands.
        let bad = json!({
            "id": "bad", "covers": ["a"], "text": format!("Perhaps {CANARY}-9 at port 4712."),
            "claims": [{
                "text": format!("{CANARY}-9 at port 4712"), "origin": "user-said",
                "sources": [{ "span": "a", "quote": format!("secret is {CANARY} or so") }],
            }],
        });
        let summarized = worker.call("s", "summarize", bad).await;
        assert!(summarized["findings"].to_string().contains(CANARY), "{summarized}");
        let audit = json!({
            "summary": "bad", "verdict": "fail",
            "findings": [{ "code": "unsourced_claim", "claim": 0, "span": "a", "message": CANARY }],
        });
        drop(worker.ask("s", "audit", audit).await);
        let good = json!({
            "id": "good", "covers": ["a"], "text": said,
            "claims": [{
                "text": said, "origin": "user-said", "sources": [{ "span": "a", "quote": said }],
            }],
        });
        worker.call("s", "summarize", good).await;
        worker.call("s", "expand", json!({ "span": "a", "purpose": "audit" })).await;
        worker.call("s", "prune", json!({ "spans": ["large"], "reason": "long" })).await;
        worker.call("s", "restore", json!({ "spans": ["large"] })).await;
        worker.call("s", "receipt", json!({ "turn": 1, "rendered": "text" })).await;
        worker.call("child", "fork", json!({ "from": "s" })).await;
        worker.append("child", "own", &said).await;
        // Policies, runs, erasures and alerts say what goes, not what it was.
        let officer = crate::rig::Worker::connect(&house.url(), "acme", "officer").await;
        let rules = json!({ "rules": [{
            "id": "all", "match": {}, "keep": { "for": "0s" }, "live_handles": "commit",
        }]});
        for (verb, body) in [
            ("policy-set", rules),
            ("erase", json!({ "session": "s", "spans": ["b"], "reason": "asked" })),
            ("run", json!({})),
        ] {
            let subject = format!("lacuna.v1.acme.officer.retention.{verb}");
            officer.ask_bytes(&subject, body.to_string().into_bytes()).await.unwrap();
        }
        let fed = feed_is_journal(&worker, &["s", "child", "_retention"]).await;
        let kinds: std::collections::BTreeSet<&str> =
            fed.iter().map(|fed| fed.body["kind"].as_str().unwrap()).collect();
        for kind in [
            "span-recorded",
            "summary-recorded",
            "contradiction-noted",
            "prune-executed",
            "span-restored",
            "span-read",
            "policy-set",
            "run-opened",
            "run-closed",
            "lossy-committed",
            "window-receipted",
            "session-forked",
        ] {
            assert!(kinds.contains(kind), "{kind}: {kinds:?}");
        }
        for message in &fed {
            assert!(!message.body.to_string().contains(CANARY), "{message:?}");
        }
        house.broker.stop();
        let store = house.broker.store();
        assert!(!holds(&store, CANARY.as_bytes()), "it lies in the broker's store");
        // The search would find it there: what the feed does carry is found.
        assert!(holds(&store, b"lossy-committed"));
    });
}

#[test]
fn events_longer_than_a_message_come_shortened_as_history_gives_them() {
    with_each_broker(async |server| {
        let broker = Broker::start_with(server, "max_payload: 8192\n", free_port());
        let house = House::behind(broker);
        let worker = house.worker().await;
        worker.open("s").await;
        let ids: Vec<String> = (0..200).map(|n| format!("span-with-a-name-{n}")).collect();
        for part in ids.chunks(20) {
            let span = |id| json!({ "id": id, "role": "user", "origin": "user", "content": "x" });
            let spans: Vec<Value> = part.iter().map(span).collect();
            worker.call("s", "append", json!({ "spans": spans })).await;
        }
        let reason = "because ".repeat(600);
        let prune = json!({ "spans": &ids[..100], "reason": &reason });
        worker.call("s", "prune", prune).await;
        let fed = feed_is_journal(&worker, &["s"]).await;
        let pruned = &fed.last().unwrap().body;
        let kept = pruned["spans"].as_array().map_or(0, Vec::len);
        assert_eq!(pruned["omitted"], 100 - kept, "{pruned}");
        assert_eq!(pruned["fields_omitted"], json!(["reason"]), "{pruned}");
        assert!(pruned["directive"].is_string(), "{pruned}");
    });
}

/// The feed waits in the journal: tens of thousands of events that cannot be published take no memory.
#[test]
fn memory_stays_flat_while_nothing_can_be_published() {
    const EVENTS: u64 = 40_000;
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let broker = Broker::start(&current_server());
        let nats = async_nats::connect(broker.url()).await.unwrap();
        // Full with the first message, and refuses all others.
        let full = json!({
            "name": FEED_STREAM, "subjects": [lacuna_wire::FEED_SUBJECTS], "retention": "limits",
            "storage": "file", "discard": "new", "max_msgs": 1, "num_replicas": 1,
        });
        jetstream_api(&nats, "STREAM.CREATE.LACUNA_EVENTS", full).await;
        let mut house = House::behind(broker);
        let worker = house.worker().await;
        worker.open("s").await;
        worker.append("s", "first", "words").await;
        feed_until(&worker, |feed| feed["state"] == "unavailable").await;
        let mut held = Vec::new();
        for _ in 0..4 {
            for _ in 0..EVENTS / 4 / 1_000 {
                let span =
                    |n| json!({ "role": "user", "origin": "user", "content": format!("{n}") });
                let spans: Vec<Value> = (0..1_000).map(span).collect();
                worker.call("s", "append", json!({ "spans": spans })).await;
            }
            held.push(house.daemon().memory() >> 20);
        }
        let feed = feed_until(&worker, |feed| feed["lag_events"] == EVENTS + 1).await;
        assert_eq!(feed["state"], "unavailable", "{feed}");
        assert!(feed["problems"].to_string().contains("10077"), "{feed}");
        // A restart holds nothing of it to begin with: what grows now, grows for the feed.
        house.stop_daemon();
        house.start_daemon();
        feed_until(&worker, |feed| feed["state"] == "unavailable").await;
        let before = house.daemon().memory() >> 20;
        tokio::time::sleep(std::time::Duration::from_secs(5)).await;
        let stuck = house.daemon().memory() >> 20;
        jetstream_api(&nats, "STREAM.DELETE.LACUNA_EVENTS", json!({})).await;
        caught_up(&worker).await;
        let after = house.daemon().memory() >> 20;
        eprintln!(
            "MiB while {EVENTS} events wait: {held:?}; after a restart {before}, stuck for 5 s \
             {stuck}, all published {after}"
        );
        // As JSON they are over 20 MiB: none of it is kept.
        assert!(stuck <= before + 8, "{before} MiB, then {stuck} MiB");
        assert!(after <= before + 24, "{before} MiB, then {after} MiB");
        assert_eq!(everything(&worker.nats).await.len() as u64, EVENTS + 2);
        let cli = Cli::nats(&house.url());
        assert_eq!(cli.done(&["stats"])["feed"]["lag_events"], 0);
        house.stop_daemon();
    });
}
