//! A broker whose messages are small: what does not fit comes in pages, and nothing is cut off
//! without saying so.

use std::collections::BTreeSet;

use lacuna_client::session::{AppendRequest, SpanBody};
use serde_json::{Value, json};

use crate::rig::{Broker, House, Server, Worker, feed_is_journal, free_port, with_each_broker};

const MAX_PAYLOAD: usize = 8 << 10;

async fn house(server: &Server) -> (House, Worker) {
    let lines = format!("max_payload: {MAX_PAYLOAD}\n");
    let house = House::behind(Broker::start_with(server, &lines, free_port()));
    let worker = house.worker().await;
    assert_eq!(worker.nats.server_info().max_payload, MAX_PAYLOAD);
    worker.open("s").await;
    (house, worker)
}

/// Text that escaping makes six times as long in places, and whose characters have many bytes.
fn awkward(bytes: usize) -> String {
    let mut text = String::new();
    for n in 0.. {
        match n % 11 {
            0 => text.push('\u{1}'),
            1 => text.push('👩'),
            2 => text.push('"'),
            _ => text.push_str("plain words "),
        }
        if text.len() >= bytes {
            break;
        }
    }
    text
}

#[test]
fn contents_are_uploaded_in_parts_and_expanded_in_pages() {
    with_each_broker(async |server| {
        let (house, worker) = house(server).await;
        let content = awkward(100_000);
        let session = lacuna_client::Client::connect(&house.url(), "acme", "worker-1")
            .await
            .unwrap()
            .session("s");
        let span = SpanBody {
            id: Some("large".into()),
            role: "tool".into(),
            origin: "tool".into(),
            content: Some(content.clone()),
            in_window: true,
            ..SpanBody::default()
        };
        let request = AppendRequest { spans: vec![span], ..AppendRequest::default() };
        let appended = session.append_any(request).await.unwrap();
        assert_eq!(appended.spans[0].id, "large");
        // Page by page, as a plain client does it; a page may end within a character.
        let (mut read, mut pages) = (Vec::new(), 0);
        while read.len() < content.len() {
            let body = json!({ "span": "large", "offset": read.len() });
            let page = worker.call("s", "expand", body).await;
            assert_eq!(page["total_bytes"], content.len());
            assert_eq!(page["offset"], read.len());
            let part = content_of(&page);
            assert!(!part.is_empty(), "{page}");
            read.extend(part);
            pages += 1;
        }
        assert_eq!(String::from_utf8(read).unwrap(), content);
        assert!((13..200).contains(&pages), "{pages} pages");
        let ran = house.cli().run(&["expand", "-s", "s", "large", "--raw", "--tenant", "acme"]);
        assert_eq!(ran.out, content, "the command line puts them together");
        let read = ["expand", "-s", "s", "large", "--purpose", "audit", "--tenant", "acme"];
        assert_eq!(house.cli().run(&read).code, 0);
        let history = house.cli().done(&["history", "-s", "s", "--tenant", "acme"]);
        let kinds: Vec<&str> = history["events"]
            .as_array()
            .unwrap()
            .iter()
            .map(|e| e["kind"].as_str().unwrap())
            .collect();
        assert_eq!(kinds, ["session-opened", "span-recorded", "span-read"], "and has read it");
        worker.verify().await;
    });
}

fn content_of(page: &Value) -> Vec<u8> {
    use base64::Engine as _;
    match (page["content"].as_str(), page["content_b64"].as_str()) {
        (Some(text), None) => text.as_bytes().to_vec(),
        (None, Some(text)) => base64::prelude::BASE64_STANDARD.decode(text).unwrap(),
        _ => panic!("exactly one of the two: {page}"),
    }
}

/// Follows `next` through a question at one version, giving the pages.
async fn pages(worker: &Worker, verb: &str, mut body: Value, pinned: bool) -> Vec<Value> {
    let mut pages = Vec::new();
    loop {
        let page = worker.call("s", verb, body.clone()).await;
        if pinned {
            body["at"] = json!({ "version": page["version"] });
        }
        let next = page["next"].clone();
        assert!(next.is_null() || next.as_u64() > body["from"].as_u64(), "stuck at {page}");
        pages.push(page);
        if next.is_null() {
            return pages;
        }
        body["from"] = next;
    }
}

fn joined(pages: &[Value], list: &str) -> Vec<Value> {
    pages.iter().flat_map(|page| page[list].as_array().unwrap().clone()).collect()
}

#[test]
fn windows_histories_and_indexes_come_in_pages() {
    with_each_broker(async |server| {
        let (house, worker) = house(server).await;
        for n in 0..60 {
            // In turns, since providers' forms join what one speaker says.
            let (role, origin) = [("user", "user"), ("assistant", "model")][n % 2];
            let content = format!("{n} {}", "words ".repeat(60));
            let id = format!("span-{n}");
            let span = json!({ "id": id, "role": role, "origin": origin, "content": content });
            worker.call("s", "append", json!({ "spans": [span] })).await;
        }
        let entries = pages(&worker, "window", json!({}), true).await;
        assert!(entries.len() > 2, "{}", entries.len());
        let ids: Vec<Value> =
            joined(&entries, "entries").iter().map(|entry| entry["id"].clone()).collect();
        let expected: Vec<Value> = (0..60).map(|n| format!("span-{n}").into()).collect();
        assert_eq!(ids, expected);
        for (render, list) in [("openai", "messages"), ("anthropic", "messages")] {
            let body = json!({ "render": render });
            let messages = joined(&pages(&worker, "window", body, true).await, list);
            let text = Value::from(messages).to_string();
            assert!((0..60).all(|n| text.contains(&format!("{n} words"))), "{render}");
        }
        let states = joined(&pages(&worker, "durability", json!({}), false).await, "spans");
        assert_eq!(states.len(), 60);
        assert_eq!(worker.history("s").await.len(), 61);
        let whole = house.cli().done(&["window", "-s", "s", "--tenant", "acme"]);
        assert_eq!(whole["entries"].as_array().unwrap().len(), 60);
        let history = house.cli().done(&["history", "-s", "s", "--tenant", "acme"]);
        assert_eq!(history["events"].as_array().unwrap().len(), 61);
        worker.verify().await;
    });
}

#[test]
fn the_text_of_a_window_comes_in_pages() {
    with_each_broker(async |server| {
        let (house, worker) = house(server).await;
        let mut expected = String::new();
        for n in 0..20 {
            let content = format!("{n}: {}", awkward(700));
            worker.append("s", &format!("span-{n}"), &content).await;
            expected.push_str(&content);
        }
        let text: String = pages(&worker, "window", json!({ "render": "text" }), true)
            .await
            .iter()
            .map(|page| page["text"].as_str().unwrap())
            .collect();
        assert_eq!(text.matches("plain words").count(), expected.matches("plain words").count());
        let whole =
            house.cli().done(&["window", "-s", "s", "--tenant", "acme", "--render", "text"]);
        assert_eq!(whole["text"], text.as_str());
    });
}

#[test]
fn a_span_that_does_not_fit_into_a_page_is_named_not_dropped() {
    with_each_broker(async |server| {
        let (house, worker) = house(server).await;
        worker.append("s", "small", "words").await;
        let session = lacuna_client::Client::connect(&house.url(), "acme", "worker-1")
            .await
            .unwrap()
            .session("s");
        let span = SpanBody {
            id: Some("large".into()),
            role: "assistant".into(),
            origin: "model".into(),
            content: Some("x".repeat(20_000)),
            in_window: true,
            ..SpanBody::default()
        };
        let request = AppendRequest { spans: vec![span], ..AppendRequest::default() };
        session.append_any(request).await.unwrap();
        let entries = joined(&pages(&worker, "window", json!({}), true).await, "entries");
        assert_eq!(entries.len(), 2);
        assert_eq!(
            (&entries[1]["id"], &entries[1]["content_omitted"]),
            (&"large".into(), &true.into())
        );
        assert!(entries[1]["handle"].as_str().unwrap().starts_with("large@"));
        // A rendered message is whole or refused, and the refusal names the limit.
        let body = json!({ "render": "openai", "from": 1 });
        let refused = worker.refused("s", "window", body).await;
        assert_eq!(refused.code, "too_large");
        assert!(refused.message.contains("max_payload"), "{}", refused.message);
    });
}

/// A session whose 10,000 spans one directive pruned, behind a small broker, and the directive's
/// handle. The directive itself is larger than 8 KiB, so it came through a broker that takes it.
async fn pruned_at_once(server: &Server) -> (House, Worker, Value) {
    let mut house = House::start(server);
    let worker = house.worker().await;
    worker.open("s").await;
    for batch in 0..10 {
        let span = |n| json!({ "id": format!("b{n}"), "role": "tool", "origin": "tool", "content": format!("{n}") });
        let spans: Vec<Value> = (batch * 1_000..(batch + 1) * 1_000).map(span).collect();
        worker.call("s", "append", json!({ "spans": spans })).await;
    }
    let all: Vec<String> = (0..10_000).map(|n| format!("b{n}")).collect();
    let one_more = [all.clone(), vec!["b10000".into()]].concat();
    let refused = worker.refused("s", "prune", json!({ "spans": one_more })).await;
    assert_eq!((refused.code.as_str(), &refused.details["limit"]), ("too_large", &10_000.into()));
    let pruned = worker.call("s", "prune", json!({ "spans": all, "command_id": "p" })).await;
    assert_eq!(pruned["status"], "reversible");
    let listed = pruned["spans"].as_array().unwrap().len() as u64;
    let omitted = pruned["spans_omitted"].as_u64().unwrap_or(0);
    assert_eq!(listed + omitted, 10_000);
    let again = worker.call("s", "prune", json!({ "spans": all, "command_id": "p" })).await;
    assert_eq!((&again["duplicate"], &again["version"]), (&true.into(), &pruned["version"]));

    house.stop_daemon();
    let lines = format!("max_payload: {MAX_PAYLOAD}\n");
    house.broker = Broker::start_with(server, &lines, free_port());
    house.start_daemon();
    let worker = house.worker().await;
    (house, worker, pruned["directive"].clone())
}

#[test]
fn ten_thousand_spans_in_one_directive() {
    with_each_broker(async |server| {
        let (house, worker, handle) = pruned_at_once(server).await;
        let (mut ids, mut offset) = (BTreeSet::new(), json!(0));
        while !offset.is_null() {
            let body = json!({ "handle": handle, "offset": offset });
            let page = worker.call("s", "expand", body).await;
            for span in page["spans"].as_array().unwrap() {
                assert_eq!(span["outcome"], "recoverable");
                assert!(ids.insert(span["id"].as_str().unwrap().to_owned()), "{span} twice");
            }
            offset = page["next"].clone();
        }
        assert_eq!(ids, (0..10_000).map(|n| format!("b{n}")).collect());
        let history = worker.call("s", "history", json!({ "from_version": 10_002 })).await;
        let last = &history["events"][0];
        assert_eq!((&last["kind"], &last["directive"]), (&"prune-executed".into(), &handle));
        let shown = last["spans"].as_array().unwrap().len() as u64;
        assert_eq!(shown + last["omitted"].as_u64().unwrap(), 10_000, "it says what it leaves out");
        assert_eq!(history["next_version"], 10_003);
        // The stub that they share names them all, and must leave the window readable all the same.
        let text = worker.call("s", "window", json!({ "render": "text" })).await;
        assert!(text["text"].as_str().unwrap().contains("10000 spans pruned"), "{text}");
        let entries = joined(&pages(&worker, "window", json!({}), true).await, "entries");
        assert_eq!(entries.len(), 1, "they share one stub");
        assert_eq!((&entries[0]["kind"], &entries[0]["handle"]), (&"stub".into(), &handle));
        let whole = house.cli().done(&["window", "-s", "s", "--tenant", "acme"]);
        assert_eq!(whole["entries"].as_array().unwrap().len(), 1);
    });
}

/// An operator lowers the limit while the daemon runs, and the feed's stream is lost with it: what was
/// recorded and answered whole before comes in pages now, and shortened on the feed.
#[test]
fn a_broker_that_comes_back_smaller_and_larger_again() {
    with_each_broker(async |server| {
        let mut house = House::start(server);
        let worker = house.worker().await;
        worker.open("s").await;
        let content = awkward(100_000);
        worker.append("s", "large", &content).await;
        let ids: Vec<String> = (0..300).map(|n| format!("span-with-a-long-name-{n}")).collect();
        let span = |id| json!({ "id": id, "role": "user", "origin": "user", "content": "x" });
        let spans: Vec<Value> = ids.iter().map(span).collect();
        worker.call("s", "append", json!({ "spans": spans })).await;
        let prune = json!({ "spans": ids, "command_id": "p" });
        let pruned = worker.call("s", "prune", prune.clone()).await;
        let whole = worker.call("s", "expand", json!({ "span": "large" })).await;
        assert_eq!(content_of(&whole), content.as_bytes());
        let last = async || {
            let fed = feed_is_journal(&worker, &["s"]).await;
            fed.last().unwrap().body.clone()
        };
        assert_eq!(last().await["spans"].as_array().unwrap().len(), 300);

        // Many of the requests that were in order are too long now.
        let smaller = async |house: &mut House, lines: &str, bytes: usize| {
            let before = house.daemon().lines();
            tokio::task::block_in_place(|| {
                house.broker.stop();
                std::fs::remove_dir_all(house.broker.store()).unwrap();
                house.broker.configure(lines);
                house.broker.restart();
                // Nothing new is recorded: it is published again all the same.
                house.daemon().wait_for_words(before, "LACUNA_EVENTS is new");
            });
            let told = async {
                while worker.nats.server_info().max_payload != bytes {
                    tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                }
            };
            let waiting = tokio::time::timeout(std::time::Duration::from_secs(10), told);
            waiting.await.expect("the worker is told of the other limit");
        };
        smaller(&mut house, &format!("max_payload: {MAX_PAYLOAD}\n"), MAX_PAYLOAD).await;
        let page = worker.call("s", "expand", json!({ "span": "large" })).await;
        let part = content_of(&page);
        assert!(part.len() < MAX_PAYLOAD && content.as_bytes().starts_with(&part), "{page}");
        let opened = worker.call("s", "put-open", json!({ "bytes": 50_000 })).await;
        assert!(opened["chunk_bytes"].as_u64().unwrap() < MAX_PAYLOAD as u64, "{opened}");
        let shortened = last().await;
        let shown = shortened["spans"].as_array().map_or(0, Vec::len);
        assert!(shown < 300, "{shortened}");
        assert_eq!(shortened["omitted"], 300 - shown, "{shortened}");

        smaller(&mut house, "", 1 << 20).await;
        let mut expected = pruned;
        expected["duplicate"] = true.into();
        assert_eq!(worker.call("s", "prune", prune).await, expected, "the first reply again");
        assert_eq!(last().await["spans"].as_array().unwrap().len(), 300);
        worker.verify().await;
        house.stop_daemon();
    });
}
