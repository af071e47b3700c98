//! Requests that are sent several times, in any order, over several connections at once: one effect and
//! one reply for each `command_id`.

use std::collections::BTreeMap;
use std::time::Duration;

use async_nats::Subject;
use futures_util::StreamExt as _;
use serde_json::{Value, json};

use crate::rig::{Dice, Worker, with_each_broker};
use crate::rig::{House, feed_is_journal};

const SESSIONS: [&str; 2] = ["s", "t"];
const SPANS: usize = 60;
const CONNECTIONS: usize = 5;
/// How long all replies may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A verb and its request.
#[derive(Clone)]
struct Command {
    session: &'static str,
    verb: &'static str,
    body: Value,
}

/// Appends, and prunes of what they bring: those may come first, and are rejected then.
fn commands() -> Vec<Command> {
    let mut commands = Vec::new();
    for number in 0..SPANS {
        let session = SESSIONS[number % SESSIONS.len()];
        let id = format!("span-{number}");
        let content = format!("{id} {}", "words ".repeat(number));
        let span = json!({ "id": id, "role": "tool", "origin": "tool", "content": content });
        let append = json!({ "spans": [span], "command_id": format!("a{number}") });
        let prune = json!({ "spans": [id], "command_id": format!("p{number}") });
        commands.push(Command { session, verb: "append", body: append });
        commands.push(Command { session, verb: "prune", body: prune });
    }
    commands
}

/// Sends every command once in an order of its own, without waiting, and gives all replies.
async fn send_all(worker: Worker, commands: Vec<Command>, order: Vec<usize>) -> Vec<Value> {
    let inbox = worker.nats.new_inbox();
    let mut replies = worker.nats.subscribe(format!("{inbox}.*")).await.unwrap();
    for at in &order {
        let Command { session, verb, body } = &commands[*at];
        let reply = Subject::from(format!("{inbox}.{at}"));
        let subject = worker.subject(session, verb);
        worker.nats.publish_with_reply(subject, reply, body.to_string().into()).await.unwrap();
    }
    let mut got: BTreeMap<usize, Value> = BTreeMap::new();
    let all = async {
        while got.len() < order.len() {
            let message = replies.next().await.unwrap();
            let at: usize = message.subject.rsplit('.').next().unwrap().parse().unwrap();
            let reply = serde_json::from_slice(&message.payload).unwrap();
            assert_eq!(got.insert(at, reply), None, "one request, one reply");
        }
    };
    let ended = tokio::time::timeout(PATIENCE, all).await;
    assert!(ended.is_ok(), "{} of {} replies", got.len(), order.len());
    got.into_values().collect()
}

#[test]
fn shuffled_repetitions_have_one_effect_and_equal_replies() {
    with_each_broker(async |server| {
        let mut dice = Dice::roll("requests in any order");
        let mut house = House::start(server);
        let first = house.worker().await;
        for session in SESSIONS {
            first.open(session).await;
        }
        let commands = commands();
        let mut senders = Vec::new();
        for _ in 0..CONNECTIONS {
            let mut order: Vec<usize> = (0..commands.len()).collect();
            for at in (1..order.len()).rev() {
                order.swap(at, dice.below(at as u64 + 1) as usize);
            }
            let worker = house.worker().await;
            senders.push(tokio::spawn(send_all(worker, commands.clone(), order)));
        }
        let mut all = Vec::new();
        for sender in senders {
            all.push(sender.await.unwrap());
        }
        let mut early = 0;
        for (at, command) in commands.iter().enumerate() {
            let id = &command.body["command_id"];
            let mut replies: Vec<Value> = all.iter().map(|replies| replies[at].clone()).collect();
            let marks: Vec<Value> = replies
                .iter_mut()
                .map(|reply| reply.as_object_mut().unwrap().remove("duplicate").unwrap_or_default())
                .collect();
            let firsts = marks.iter().filter(|mark| mark.is_null()).count();
            assert_eq!(firsts, 1, "{id}: {marks:?}");
            assert!(replies.iter().all(|reply| *reply == replies[0]), "{id}: {replies:?}");
            assert!(replies[0].get("error").is_none(), "{id}: {}", replies[0]);
            early += usize::from(replies[0]["status"] == "rejected");
        }
        // Each command has one event, whatever became of it.
        let mut recorded: BTreeMap<String, usize> = BTreeMap::new();
        for session in SESSIONS {
            for event in first.history(session).await {
                if let Some(id) = event["command_id"].as_str() {
                    *recorded.entry(id.to_owned()).or_default() += 1;
                }
            }
        }
        assert_eq!(recorded.len(), commands.len());
        assert!(recorded.values().all(|count| *count == 1), "{recorded:?}");
        eprintln!("{} commands, {early} prunes that came before their span", commands.len());
        assert!((1..SPANS).contains(&early), "the order was never another one: {early}");

        // The same again after a restart: nothing of it is held in memory alone.
        tokio::task::block_in_place(|| {
            house.kill_daemon();
            house.start_daemon();
        });
        let order = (0..commands.len()).rev().collect();
        let again = send_all(house.worker().await, commands.clone(), order).await;
        for (at, mut reply) in again.into_iter().enumerate() {
            let mark = reply.as_object_mut().unwrap().remove("duplicate");
            assert_eq!(mark, Some(true.into()), "{reply}");
            let mut before = all[0][at].clone();
            before.as_object_mut().unwrap().remove("duplicate");
            assert_eq!(reply, before);
        }
        feed_is_journal(&first, &SESSIONS).await;
        first.verify().await;
    });
}
