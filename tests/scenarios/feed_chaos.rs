//! Broker and daemon are killed at random, again and again, while workers go on: the stream ends as the
//! journal in order, nothing is missing on it, and a follower saw each event once by its seq.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::rig::{
    Dice, Follower, House, Server, Worker, current_server, feed_is_journal, once_each, servers,
};

const SESSIONS: [&str; 3] = ["a", "b", "c"];
/// Rounds, unless `LACUNA_FEED_ROUNDS` says otherwise.
const ROUNDS: usize = 200;
/// Spans in one append, at most: kills shall meet messages on their way.
const MOST: usize = 10;
/// Every so many rounds the broker comes back with nothing.
const WIPED: u64 = 25;

/// Appends to a session without end; every command is sent until it is answered.
async fn append(worker: Worker, session: &'static str, stop: Arc<AtomicBool>) -> usize {
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        let id = format!("{session}-{number}");
        let span = json!({ "role": "user", "origin": "user", "content": id });
        let spans = vec![span; number % MOST + 1];
        let body = json!({ "spans": spans, "command_id": id }).to_string().into_bytes();
        let subject = worker.subject(session, "append");
        let reply = worker.send(&subject, body, Duration::from_millis(500)).await;
        let Ok(reply) = reply else {
            tokio::time::sleep(Duration::from_millis(5)).await;
            continue;
        };
        let reply: Value = serde_json::from_slice(&reply.payload).unwrap();
        match reply["error"]["code"].as_str() {
            None => number += 1,
            Some("unavailable" | "overloaded") => {}
            Some(_) => panic!("{reply}"),
        }
    }
    number
}

/// What happens to whom.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    daemon: usize,
    broker: usize,
    both: usize,
    wiped: usize,
    frozen: usize,
}

fn strike(house: &mut House, dice: &mut Dice, tally: &mut Tally) {
    match dice.below(7) {
        0..=2 => {
            house.kill_daemon();
            house.start_daemon();
            tally.daemon += 1;
        }
        3 | 4 => {
            house.broker.stop();
            if dice.below(WIPED * 2 / 7) == 0 {
                std::fs::remove_dir_all(house.broker.store()).unwrap();
                tally.wiped += 1;
            }
            house.broker.restart();
            tally.broker += 1;
        }
        5 => {
            house.broker.stop();
            house.kill_daemon();
            house.broker.restart();
            house.start_daemon();
            tally.both += 1;
        }
        _ => {
            house.broker.freeze(true);
            std::thread::sleep(dice.between(Duration::ZERO, Duration::from_millis(200)));
            // Half of the time the daemon dies with its messages on the way.
            if dice.below(2) == 0 {
                house.kill_daemon();
                house.broker.freeze(false);
                house.start_daemon();
            } else {
                house.broker.freeze(false);
            }
            tally.frozen += 1;
        }
    }
}

#[test]
fn the_stream_ends_as_the_journal_whatever_is_killed() {
    let rounds = std::env::var("LACUNA_FEED_ROUNDS").map_or(ROUNDS, |text| text.parse().unwrap());
    kill_and_follow(&current_server(), rounds);
}

/// The older broker checks and stores in another order.
#[test]
fn nor_does_an_older_broker_lose_anything() {
    if let Some(old) = servers().into_iter().nth(1) {
        kill_and_follow(&old, 20);
    }
}

fn kill_and_follow(server: &Server, rounds: usize) {
    let mut dice = Dice::roll("kills under a followed load");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let began = Instant::now();
        let mut house = House::start(server);
        let follower = Follower::start(&house.url()).await;
        let worker = house.worker().await;
        let stop = Arc::new(AtomicBool::new(false));
        let mut appenders = Vec::new();
        for session in SESSIONS {
            worker.open(session).await;
            appenders.push(tokio::spawn(append(worker.clone(), session, Arc::clone(&stop))));
        }
        let mut tally = Tally::default();
        for _ in 0..rounds {
            let pause = dice.between(Duration::from_millis(5), Duration::from_millis(200));
            tokio::time::sleep(pause).await;
            strike(&mut house, &mut dice, &mut tally);
        }
        stop.store(true, Ordering::Relaxed);
        let mut appended = 0;
        for appender in appenders {
            appended += appender.await.unwrap();
        }
        let fed = feed_is_journal(&worker, &SESSIONS).await;
        let once = once_each(&fed);
        let saw = follower.saw(once.len() as u64).await;
        assert_eq!(saw.len(), once.len(), "a follower misses none");
        assert!(saw.values().eq(once.iter().copied()), "and has each as the journal has it");
        worker.verify().await;
        eprintln!(
            "{rounds} rounds in {:.0?}: {tally:?}; {appended} appends, {} events, {} of them twice",
            began.elapsed(),
            once.len(),
            fed.len() - once.len()
        );
        assert!(appended > rounds, "the load was on");
        assert!(tally.daemon > 0 && tally.broker > 0, "{tally:?}");
        house.stop_daemon();
    });
}
