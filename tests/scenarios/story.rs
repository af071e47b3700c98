//! The story of the seed documents, over NATS from a plain client: forty spans, a digest in their
//! place, and five turns later the one thing that the digest does not say is asked for.

use serde_json::{Value, json};

use crate::rig::{House, Worker, with_each_broker};

const IDENTIFIER: &str = "req-8f41c0d2-77ae";
const DIGEST: &str = "The ledger's pool was exhausted; it was raised and all is green again.";

/// What block `number` says; only the seventh has the identifier, and it is no plain text.
fn content(number: usize) -> String {
    match number {
        7 => format!("ledger ERROR \u{0} refused\r\n\trequest {IDENTIFIER} — «nicht wiederholt»\n"),
        n => format!("log {n}: handled in {} ms, nothing odd\n", 20 + n * 7),
    }
}

fn blocks() -> Vec<String> {
    (1..=40).map(|number| format!("block_{number}")).collect()
}

/// Forty spans and a summary of them; `withheld` records the seventh without its content.
async fn record(worker: &Worker, session: &str, withheld: bool) {
    worker.open(session).await;
    let span = |number: usize| {
        let text = content(number);
        let mut span = json!({
            "id": format!("block_{number}"), "role": "user", "origin": "tool",
            "turn": number / 8 + 1,
        });
        if withheld && number == 7 {
            let digest = blake3::hash(text.as_bytes()).to_hex().to_string();
            span["withheld"] =
                json!({ "digest": digest, "bytes": text.len(), "reason": "payment data" });
        } else {
            span["content"] = text.into();
        }
        span
    };
    let spans: Vec<Value> = (1..=40).map(span).collect();
    let appended = worker.call(session, "append", json!({ "spans": spans })).await;
    assert_eq!(appended["version"], 41, "one event for the opening, one per span");
    let body = json!({ "id": "digest", "covers": blocks(), "text": DIGEST, "claims": [] });
    let summary = worker.call(session, "summarize", body).await;
    assert_eq!((&summary["status"], &summary["version"]), (&json!("accepted"), &json!(42)));
}

async fn five_turns(worker: &Worker, session: &str) {
    for turn in 6..=10 {
        let user = json!({ "role": "user", "origin": "user", "turn": turn, "content": "next" });
        let model =
            json!({ "role": "assistant", "origin": "model", "turn": turn, "content": "done" });
        worker.call(session, "append", json!({ "spans": [user, model] })).await;
    }
}

fn directive() -> Value {
    json!({ "spans": blocks(), "mode": "summarize", "replace_with": "digest" })
}

fn with(mut body: Value, field: &str, value: Value) -> Value {
    body[field] = value;
    body
}

#[test]
fn kept_is_found_through_the_handle() {
    with_each_broker(async |server| {
        let house = House::start(server);
        let worker = house.worker().await;
        record(&worker, "kept", false).await;
        let head = worker.journal("head", json!({})).await;
        let dry = worker.call("kept", "prune", with(directive(), "dry_run", true.into())).await;
        assert_eq!((&dry["status"], &dry["version"]), (&json!("reversible"), &json!(42)));
        assert_eq!(worker.journal("head", json!({})).await, head, "a dry run records nothing");

        let pruned = worker.call("kept", "prune", directive()).await;
        assert_eq!((&pruned["status"], &pruned["version"]), (&json!("reversible"), &json!(43)));
        let verdicts = pruned["spans"].as_array().unwrap();
        assert_eq!(verdicts.len(), 40);
        for verdict in verdicts {
            assert_eq!(verdict["status"], "reversible");
            let all = json!({ "existence": true, "addressability": true, "provenance": true });
            assert_eq!(verdict["check"], all);
        }
        assert!(pruned["freed_tokens"].as_i64().unwrap() > 0, "{pruned}");
        five_turns(&worker, "kept").await;

        // All the model has is the window: summary, directive, spans, content.
        let window = worker.call("kept", "window", json!({})).await;
        let entries = window["entries"].as_array().unwrap();
        assert_eq!(entries.len(), 11);
        assert_eq!(
            (&entries[0]["kind"], &entries[0]["content"]),
            (&"summary".into(), &DIGEST.into())
        );
        assert_eq!(entries[0]["handle"], pruned["directive"]);
        assert!(
            entries[0]["text"].as_str().unwrap().contains(pruned["directive"].as_str().unwrap())
        );
        let rendered = worker.call("kept", "window", json!({ "render": "text" })).await;
        assert!(!rendered["text"].as_str().unwrap().contains(IDENTIFIER));
        let listed = worker.call("kept", "expand", json!({ "handle": entries[0]["handle"] })).await;
        let spans = listed["spans"].as_array().unwrap();
        assert_eq!(spans.len(), 40);
        assert_eq!(spans[6]["id"], "block_7");
        let found = worker.call("kept", "expand", json!({ "handle": spans[6]["handle"] })).await;
        assert_eq!(found["outcome"], "recoverable");
        assert_eq!(found["content"], content(7).as_str(), "byte for byte");
        assert_eq!(found["digest"], blake3::hash(content(7).as_bytes()).to_hex().as_str());
        assert_eq!(found["origin"], "tool");
        assert_eq!(found["evidence"]["spans_recorded"], 51);

        let wrong = json!({ "handle": "block_7@00000000" });
        let refused = worker.refused("kept", "expand", wrong).await;
        assert_eq!(refused.code, "handle_mismatch");
        let restored = worker.call("kept", "restore", json!({ "spans": ["block_7"] })).await;
        assert_eq!(restored["restored"], json!(["block_7"]));
        let live = worker.call("kept", "expand", json!({ "span": "block_7" })).await;
        assert_eq!((&live["outcome"], &live["content"]), (&"live".into(), &content(7).into()));
        worker.verify().await;
    });
}

#[test]
fn withheld_is_refused_then_lost_with_consent_and_marked() {
    with_each_broker(async |server| {
        let house = House::start(server);
        let worker = house.worker().await;
        record(&worker, "withheld", true).await;
        let before = worker.call("withheld", "window", json!({})).await;
        let rejected = worker.call("withheld", "prune", directive()).await;
        assert_eq!(rejected["status"], "rejected");
        assert_eq!(rejected["reason"], "not_reversible");
        let verdict = |reply: &Value| {
            let spans = reply["spans"].as_array().unwrap();
            spans.iter().find(|span| span["id"] == "block_7").unwrap().clone()
        };
        assert_eq!(verdict(&rejected)["check"]["existence"], false);
        let after = worker.call("withheld", "window", json!({})).await;
        assert_eq!(after["entries"], before["entries"], "nothing changes");
        let last = worker.history("withheld").await.pop().unwrap();
        assert_eq!((&last["kind"], &last["version"]), (&"prune-rejected".into(), &43.into()));
        for no_consent in [json!("true"), json!(1), json!([true])] {
            let body = with(directive(), "accept_lossy", no_consent);
            assert_eq!(worker.refused("withheld", "prune", body).await.code, "bad_request");
        }
        let misspelt = with(directive(), "accept_losy", true.into());
        let refused = worker.refused("withheld", "prune", misspelt).await;
        assert!(refused.message.contains("accept_losy"), "{refused:?}");

        let body = with(directive(), "accept_lossy", true.into());
        let lost = worker.call("withheld", "prune", body).await;
        assert_eq!(lost["status"], "mixed", "thirty-nine come back, one does not");
        let tombstone = "block_7: pruned, unrecoverable, contents unknown";
        assert_eq!(verdict(&lost)["status"], "lossy");
        assert_eq!(verdict(&lost)["tombstone"], tombstone);
        five_turns(&worker, "withheld").await;

        let answer = worker.call("withheld", "expand", json!({ "span": "block_7" })).await;
        assert_eq!(
            (&answer["outcome"], &answer["tombstone"]),
            (&"lossy".into(), &tombstone.into())
        );
        assert_eq!(answer["cause"]["kind"], "directive");
        assert_eq!(answer["cause"]["by"], "worker-1");
        assert_eq!(answer["cause"]["directive"], lost["directive"]);
        assert!(answer.get("content").is_none(), "{answer}");
        let ledger = worker.call("withheld", "tombstones", json!({})).await;
        assert_eq!(ledger["tombstones"].as_array().unwrap().len(), 1);
        assert_eq!(ledger["tombstones"][0]["span"], "block_7");
        assert_eq!(ledger["tombstones"][0]["bytes"], content(7).len());
        let window = worker.call("withheld", "window", json!({ "render": "text" })).await;
        assert!(window["text"].as_str().unwrap().contains(tombstone), "{window}");
        let refused = worker.refused("withheld", "restore", json!({ "spans": ["block_7"] })).await;
        assert_eq!(
            (refused.code.as_str(), &refused.details["outcome"]),
            ("not_recoverable", &"lossy".into())
        );
        worker.verify().await;
    });
}

#[test]
fn a_name_never_seen_is_told_apart_from_both() {
    with_each_broker(async |server| {
        let house = House::start(server);
        let worker = house.worker().await;
        record(&worker, "seen", false).await;
        for asked in [json!({ "span": "block_99" }), json!({ "handle": "block_99@9f3a01c2" })] {
            let answer = worker.call("seen", "expand", asked).await;
            assert_eq!(answer["outcome"], "never_recorded");
            assert_eq!(answer["evidence"]["spans_recorded"], 41, "all were considered");
            assert_eq!(answer["evidence"]["version"], 42);
            for absent in ["content", "tombstone", "cause", "handle"] {
                assert!(answer.get(absent).is_none(), "{absent} in {answer}");
            }
        }
        let refused = worker.refused("unseen", "expand", json!({ "span": "block_7" })).await;
        assert_eq!(refused.code, "unknown_session");
        let states =
            worker.call("seen", "durability", json!({ "spans": ["block_7", "block_99"] })).await;
        assert_eq!(states["spans"][0]["state"], "live");
        assert_eq!(states["spans"][0]["copies"][0]["where"], "journal");
        assert_eq!(states["spans"][1]["state"], "never_recorded");
        assert_eq!(states["spans"][1]["copies"], json!([]));
    });
}
