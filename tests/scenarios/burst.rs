//! More requests at once than the daemon takes: each is answered, with what was done or with `overloaded`.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::{Value, json};

use crate::rig::{House, with_each_broker};

const BURST: usize = 40_000;
/// Between two answers.
const PATIENCE: Duration = Duration::from_secs(20);

/// Most of them got no answer at all: they were dropped on the way from the connection to the service.
#[test]
fn every_request_of_a_burst_is_answered_and_what_was_done_is_there_once() {
    with_each_broker(async |server| {
        let house = House::start(server);
        let worker = house.worker().await;
        worker.open("s").await;
        let inbox = worker.nats.new_inbox();
        let mut replies = worker.nats.subscribe(inbox.clone()).await.unwrap();
        let subject = worker.subject("s", "append");
        for number in 0..BURST {
            let content = format!("{number:200}");
            let span = json!({ "role": "user", "origin": "user", "content": content });
            let body = json!({ "spans": [span], "command_id": format!("c{number}") }).to_string();
            let sent = worker.nats.publish_with_reply(subject.clone(), inbox.clone(), body.into());
            sent.await.unwrap();
        }
        worker.nats.flush().await.unwrap();
        let (mut done, mut refused) = (0, BTreeMap::<String, usize>::new());
        for number in 0..BURST {
            let reply = tokio::time::timeout(PATIENCE, replies.next()).await;
            let reply = reply.unwrap_or_else(|_| {
                panic!("{number} of {BURST} were answered: {done} done, {refused:?}")
            });
            let reply: Value = serde_json::from_slice(&reply.unwrap().payload).unwrap();
            match reply["error"]["code"].as_str() {
                None => done += 1,
                Some(code) => *refused.entry(code.to_owned()).or_default() += 1,
            }
        }
        let overloaded = refused.remove("overloaded").unwrap_or(0);
        assert_eq!((done + overloaded, refused), (BURST, BTreeMap::new()));
        assert!(done > 0 && overloaded > 0, "{done} done, {overloaded} overloaded");
        assert_eq!(worker.history("s").await.len(), 1 + done);
        // And then it is as before.
        worker.append("s", "behind-it", "as always").await;
    });
}
