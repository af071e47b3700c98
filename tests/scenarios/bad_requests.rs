//! Requests that are wrong in form: each gets its typed error over a real broker, changes nothing,
//! and leaves the daemon as it was.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::rig::{House, Worker, with_each_broker};

/// One span with these fields on top.
fn span(more: Value) -> Value {
    let mut span = json!({ "id": "x", "role": "user", "origin": "user", "content": "c" });
    for (field, value) in more.as_object().unwrap() {
        span[field] = value.clone();
    }
    json!({ "spans": [span] })
}

/// Bodies that JSON or its reader must refuse, with words of the message.
fn malformed() -> Vec<(Vec<u8>, &'static str)> {
    let deep = format!("{}{}", "{\"a\":".repeat(200), "1") + &"}".repeat(200);
    vec![
        (b"{".to_vec(), "send one JSON object"),
        (b"[]".to_vec(), "no JSON object"),
        (b"nonsense".to_vec(), "no JSON object"),
        (b"{\"spans\":[]} {}".to_vec(), "send one JSON object"),
        (b"{\"spans\":[],\"spans\":[]}".to_vec(), "duplicate field"),
        (b"{\"spans\":\xff\xfe}".to_vec(), "not UTF-8 from byte 9"),
        (
            br#"{"spans":[{"role":"user","origin":"user","content":"\ud800"}]}"#.to_vec(),
            "surrogate",
        ),
        (deep.into_bytes(), "64 levels"),
    ]
}

/// Requests whose fields must be refused, with the code and words of the message.
fn wrong() -> Vec<(&'static str, Value, &'static str, &'static str)> {
    let many: Vec<Value> = (0..1_001)
        .map(|n| json!({ "role": "user", "origin": "user", "content": n.to_string() }))
        .collect();
    let lie = "0".repeat(64);
    vec![
        ("append", span(json!({ "colour": "red" })), "bad_request", "colour"),
        ("append", span(json!({ "content": 7 })), "bad_request", "invalid type"),
        ("append", span(json!({ "role": "robot" })), "bad_request", "robot"),
        ("append", span(json!({ "origin": "summary" })), "bad_request", "summarize"),
        ("append", span(json!({ "id": "../../etc" })), "bad_request", "../../etc"),
        ("append", span(json!({ "id": "a/b" })), "bad_request", "a/b"),
        ("append", span(json!({ "id": "" })), "bad_request", "span"),
        ("append", span(json!({ "id": "x".repeat(129) })), "bad_request", "128"),
        ("append", span(json!({ "content_b64": "AA==" })), "bad_request", "exactly one of"),
        (
            "append",
            json!({ "spans": [{ "role": "user", "origin": "user" }] }),
            "bad_request",
            "exactly one of",
        ),
        ("append", json!({ "spans": many }), "too_large", "1000"),
        ("append", json!({ "spans": [], "command_id": "" }), "bad_request", "command"),
        ("prune", json!({ "spans": ["a"], "min_durability": "soon" }), "bad_request", "soon"),
        ("prune", json!({ "spans": ["a"], "mode": "burn" }), "bad_request", "burn"),
        ("expand", json!({}), "bad_request", "handle or span"),
        ("expand", json!({ "span": "a", "purpose": "fun" }), "bad_request", "purpose"),
        ("window", json!({ "at": { "version": 99 } }), "bad_request", "version 99"),
        ("window", json!({ "at": { "version": 1, "turn": 1 } }), "bad_request", "exactly one"),
        ("window", json!({ "render": "html" }), "bad_request", "render"),
        ("open", json!({ "window_tokens": 5 }), "session_exists", "open"),
        ("frobnicate", json!({}), "bad_request", "frobnicate"),
        ("put-close", json!({ "upload": "u1", "digest": lie }), "bad_request", "no upload"),
    ]
}

#[test]
fn malformed_bodies_and_wrong_fields_get_their_codes_and_change_nothing() {
    with_each_broker(async |server| {
        let house = House::start(server);
        let worker = house.worker().await;
        worker.open("s").await;
        worker.append("s", "a", "first").await;
        let head = worker.journal("head", json!({})).await;
        for (body, words) in malformed() {
            let shown = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
            let reply = worker.ask_bytes(&worker.subject("s", "append"), body).await;
            let refused = reply.expect_err(&shown);
            assert_eq!(refused.code, "bad_request", "{shown}");
            assert!(refused.message.contains(words), "{shown}: {}", refused.message);
        }
        for (verb, body, code, words) in wrong() {
            let shown: String = body.to_string().chars().take(100).collect();
            let refused = worker.refused("s", verb, body).await;
            assert_eq!(refused.code, code, "{verb} {shown}: {refused:?}");
            assert!(refused.message.contains(words), "{verb} {shown}: {}", refused.message);
            assert!(refused.message.len() < 500, "{verb} {shown}: {}", refused.message);
        }
        // Names in subjects, as far as the broker lets them through.
        for (session, words) in [("é", "session"), (&"x".repeat(65), "64")] {
            let refused = worker.refused(session, "append", span(json!({}))).await;
            assert_eq!(refused.code, "bad_request");
            assert!(refused.message.contains(words), "{}", refused.message);
        }
        let subject = "lacuna.v1.events.worker-1.session.s.open";
        let refused = worker.ask_bytes(subject, Vec::new()).await.expect_err("events is no tenant");
        assert_eq!(refused.code, "bad_request");
        let feed = crate::rig::caught_up(&worker).await;
        assert_eq!(feed["stream_seq"], head["seq"], "nor does the feed's stream take it");
        assert_eq!(worker.journal("head", json!({})).await, head, "nothing was recorded");
        let version = json!({ "expected_version": 1, "spans": [] });
        let conflict = worker.refused("s", "append", version).await;
        assert_eq!(
            (conflict.code.as_str(), &conflict.details["version"]),
            ("version_conflict", &2.into())
        );
        worker.verify().await;
        assert!(!house.daemon().log().contains("panicked"), "{}", house.daemon().log());
    });
}

#[test]
fn odd_contents_come_back_byte_for_byte() {
    with_each_broker(async |server| {
        let house = House::start(server);
        let worker = house.worker().await;
        worker.open("s").await;
        let texts = [
            "",
            "\u{0}",
            "a\u{0}b",
            "\r\n\t\u{7f}",
            "é\u{301} 👩‍👩‍👧 \u{202e}abc",
            "\u{feff}x",
            "\"\\",
        ];
        for (number, text) in texts.iter().enumerate() {
            let id = format!("t{number}");
            worker.append("s", &id, text).await;
            let reply = worker.call("s", "expand", json!({ "span": id })).await;
            assert_eq!(reply["content"], *text, "{text:?}");
            assert_eq!(reply["total_bytes"], text.len());
        }
        let bytes: Vec<u8> = (0..=255).collect();
        let body = json!({ "content": null, "content_b64": BASE64_STANDARD.encode(&bytes) });
        worker.call("s", "append", span(body)).await;
        let reply = worker.call("s", "expand", json!({ "span": "x" })).await;
        let content = BASE64_STANDARD.decode(reply["content_b64"].as_str().unwrap()).unwrap();
        assert_eq!(content, bytes);
        worker.verify().await;
    });
}

#[test]
fn a_request_without_a_reply_subject_is_carried_out() {
    with_each_broker(async |server| {
        let house = House::start(server);
        let worker = house.worker().await;
        worker.open("s").await;
        let body = span(json!({ "id": "silent" })).to_string();
        worker.nats.publish(worker.subject("s", "append"), body.into()).await.unwrap();
        // Neither a question nor nonsense that nobody waits for may disturb anything.
        for (verb, body) in [("window", "{}"), ("append", "{"), ("nonsense", "")] {
            worker.nats.publish(worker.subject("s", verb), body.into()).await.unwrap();
        }
        worker.nats.flush().await.unwrap();
        // Requests of one connection are taken in order, so the reply to this one comes after.
        let appended = worker.append("s", "loud", "heard").await;
        assert_eq!(appended["version"], 3, "the silent one was carried out first");
        let silent = worker.call("s", "expand", json!({ "span": "silent" })).await;
        assert_eq!((&silent["outcome"], &silent["content"]), (&"live".into(), &"c".into()));
        worker.verify().await;
    });
}

async fn put(worker: &Worker, verb: &str, body: Value) -> Value {
    worker.call("s", verb, body).await
}

#[test]
fn an_upload_that_stops_half_way_leaves_nothing() {
    with_each_broker(async |server| {
        let house = House::start(server);
        let worker = house.worker().await;
        worker.open("s").await;
        let content = vec![b'x'; 3 << 20];
        let digest = blake3::hash(&content).to_hex().to_string();
        let opened = put(&worker, "put-open", json!({ "bytes": content.len() })).await;
        let upload = opened["upload"].clone();
        let chunk = usize::try_from(opened["chunk_bytes"].as_u64().unwrap()).unwrap();
        assert!((1..1 << 20).contains(&chunk), "{chunk}");
        let part = |at: usize| {
            let data = &content[at..content.len().min(at + chunk)];
            json!({ "upload": upload, "offset": at, "data_b64": BASE64_STANDARD.encode(data) })
        };
        assert_eq!(put(&worker, "put-chunk", part(0)).await["received"], chunk);
        let append = span(json!({ "content": null, "upload": upload }));
        let close = json!({ "upload": upload, "digest": digest });
        // Half-way: it cannot be closed, nor used, nor go on with a hole, nor in another session.
        let refused = worker.refused("s", "put-close", close.clone()).await;
        assert_eq!(refused.details["received"], chunk, "{refused:?}");
        let refused = worker.refused("s", "append", append.clone()).await;
        assert!(refused.message.contains("not closed"), "{refused:?}");
        let refused = worker.refused("s", "put-chunk", part(2 * chunk)).await;
        assert_eq!(refused.details["received"], chunk, "{refused:?}");
        worker.open("other").await;
        assert_eq!(worker.refused("other", "append", append.clone()).await.code, "bad_request");
        assert_eq!(worker.journal("stats", json!({})).await["uploads"], 1);
        assert_eq!(worker.history("s").await.len(), 1, "nothing but the opening");

        // A part that is sent again is fine, and then it goes on where it stopped.
        assert_eq!(put(&worker, "put-chunk", part(0)).await["received"], chunk);
        for at in (chunk..content.len()).step_by(chunk) {
            put(&worker, "put-chunk", part(at)).await;
        }
        assert_eq!(put(&worker, "put-close", close).await["digest"], digest.as_str());
        let appended = worker.call("s", "append", append).await;
        assert_eq!(appended["spans"][0]["digest"], digest.as_str());
        // One whose digest lies is forgotten.
        let opened = put(&worker, "put-open", json!({ "bytes": 1 })).await;
        let data = json!({ "upload": opened["upload"], "offset": 0, "data_b64": "eA==" });
        put(&worker, "put-chunk", data.clone()).await;
        let lie = json!({ "upload": opened["upload"], "digest": "0".repeat(64) });
        assert_eq!(worker.refused("s", "put-close", lie).await.code, "bad_request");
        assert!(worker.refused("s", "put-chunk", data).await.message.contains("no upload"));
        let refused = worker.refused("s", "put-open", json!({ "bytes": 1_u64 << 40 })).await;
        assert_eq!(
            (refused.code.as_str(), &refused.details["limit"]),
            ("too_large", &(64 << 20).into())
        );
        worker.verify().await;
    });
}
