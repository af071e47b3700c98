//! Readers of the feed that stop reading until the broker gives them up: they have every event once
//! afterwards, and neither the daemon nor anybody else pays for them.

use std::time::{Duration, Instant};

use lacuna_client::{Client, EventBody, Events};
use serde_json::{Value, json};

use crate::rig::{Broker, House, Proxy, Way, Worker, caught_up, free_port, with_each_broker};

/// Enough to fill every buffer between the broker and who does not read.
const BATCHES: usize = 10;
const SPANS: usize = 500;
const PATIENCE: Duration = Duration::from_secs(30);
/// What the broker holds for one connection, and for how long.
const IMPATIENT: &str = "max_pending: 1048576\nwrite_deadline: \"500ms\"\n";

async fn append(worker: &Worker, batch: usize) {
    let span = |n: usize| json!({ "id": format!("b{batch}-{n}"), "role": "user", "origin": "user", "content": "x" });
    let spans: Vec<Value> = (0..SPANS).map(span).collect();
    worker.call("s", "append", json!({ "spans": spans })).await;
}

async fn take(events: &mut Events, count: usize) -> Vec<EventBody> {
    let mut taken = Vec::new();
    let until = Instant::now() + PATIENCE;
    while taken.len() < count {
        assert!(Instant::now() < until, "{} of {count} events", taken.len());
        // An error says that somebody is away just now, and does not end it.
        if let Ok(Ok(event)) = tokio::time::timeout(PATIENCE, events.next()).await {
            taken.push(event);
        }
    }
    taken
}

#[test]
fn a_reader_that_the_broker_gave_up_has_every_event_once() {
    with_each_broker(async |server| {
        let mut house = House::behind(Broker::start_with(server, IMPATIENT, free_port()));
        let worker = house.worker().await;
        worker.open("s").await;
        append(&worker, 0).await;
        caught_up(&worker).await;
        let proxy = Proxy::before(house.broker.port()).await;
        let far = Worker::connect(&proxy.url(), "acme", "reader").await;
        let client = Client::new(far.nats.clone(), "acme", "reader");
        let mut session = client.session("s").subscribe(1).await.unwrap();
        let mut tenant = client.subscribe(1).await.unwrap();
        let mut seen = take(&mut session, 1 + SPANS).await;
        let mut seen_of_tenant = take(&mut tenant, 1 + SPANS).await;
        let before = house.daemon().memory() >> 20;

        proxy.stall(Way::Down);
        let began = Instant::now();
        for batch in 1..=BATCHES {
            append(&worker, batch).await;
        }
        // Nobody else waits for it: the feed goes on, and so do questions.
        caught_up(&worker).await;
        let took = began.elapsed();
        worker.call("s", "durability", json!({ "spans": ["b1-1"] })).await;
        let until = Instant::now() + PATIENCE;
        while !house.broker.log().contains("Slow Consumer") {
            assert!(Instant::now() < until, "the broker never gave it up: {}", house.broker.log());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let stalled = house.daemon().memory() >> 20;
        proxy.flow();
        let until = Instant::now() + PATIENCE;
        while proxy.done().accepted < 2 {
            assert!(Instant::now() < until, "it never connects again");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // What comes next tells it that something is missing; else it would ask after some seconds.
        tokio::time::sleep(Duration::from_millis(100)).await;
        append(&worker, BATCHES + 1).await;
        let more = (BATCHES + 1) * SPANS;
        seen.extend(take(&mut session, more).await);
        seen_of_tenant.extend(take(&mut tenant, more).await);
        let after = house.daemon().memory() >> 20;
        let done = proxy.done();
        eprintln!(
            "{more} events in {took:.0?} with a reader that stands still; the daemon had {before} \
             MiB, then {stalled}, and {after} when all was read; {done:?}"
        );
        assert!(done.held[Way::Down as usize] >= 1 && done.accepted == 2, "{done:?}");
        assert!(stalled <= before + 48 && after <= before + 64, "{before}, {stalled}, {after} MiB");
        // Field by field what the journal says, and nothing twice.
        let history = worker.history("s").await;
        for seen in [seen, seen_of_tenant] {
            assert_eq!(seen.len(), history.len());
            assert!(seen.iter().zip(&history).all(|(seen, event)| json!(seen) == *event));
        }
        let nothing = tokio::time::timeout(Duration::from_millis(300), session.next()).await;
        assert!(nothing.is_err(), "{nothing:?}");
        append(&worker, BATCHES + 2).await;
        assert_eq!(take(&mut session, 1).await[0].version as usize, history.len() + 1);
        worker.verify().await;
        let log = tokio::task::block_in_place(|| house.stop_daemon());
        assert!(!log.contains("panicked"), "{log}");
    });
}
