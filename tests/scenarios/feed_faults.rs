//! The feed goes on exactly behind what the stream holds: after crashes at every step of publishing, after
//! brokers that come back with less, and never beside events that are not this journal's.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::time::Duration;

use lacuna_store::{CRASH_AT, FEED_STEPS};
use serde_json::{Value, json};

use crate::rig::{
    Cli, House, Worker, caught_up, current_server, everything, feed_is_journal, feed_until,
    flip_a_byte_of_events, jetstream_api, with_each_broker,
};

/// Sends appends, each without waiting for the one before it.
async fn append_many(worker: &Worker, from: usize, to: usize) {
    let appends = (from..to).map(|n| {
        let span = json!({ "role": "user", "origin": "user", "content": format!("words {n}") });
        let body = json!({ "spans": [span], "command_id": format!("c{n}") });
        async move {
            let subject = worker.subject("s", "append");
            // Some find nobody any more.
            drop(
                worker.send(&subject, body.to_string().into_bytes(), Duration::from_secs(2)).await,
            );
        }
    });
    futures_util::future::join_all(appends).await;
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// Appends until the daemon dies at this step.
async fn dies_at(house: &mut House, worker: &Worker, step: &str) {
    for round in 0.. {
        let from = round * 8;
        append_many(worker, from, from + 8).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        let mut daemon = house.take_daemon();
        if !daemon.runs() {
            let (status, log) = daemon.wait();
            assert_eq!(status.signal(), Some(6), "{step}: {log}");
            return;
        }
        assert!(round < 100, "{step} was never reached: {}", daemon.log());
        house.give_daemon(daemon);
    }
}

#[test]
fn a_crash_behind_any_step_of_publishing_loses_and_repeats_nothing() {
    with_each_broker(async |server| {
        for step in FEED_STEPS {
            for time in [2, 5] {
                let mut house = House::start(server);
                let worker = house.worker().await;
                worker.open("s").await;
                caught_up(&worker).await;
                tokio::task::block_in_place(|| house.stop_daemon());
                house.start_daemon_with(&[(CRASH_AT, &format!("{step}:{time}"))]);
                dies_at(&mut house, &worker, step).await;
                house.start_daemon();
                let fed = feed_is_journal(&worker, &["s"]).await;
                let head = fed.last().unwrap().seq();
                assert_eq!(fed.len() as u64, head, "{step}:{time}: each came once");
                assert!(head > 1, "{step}: something was appended");
            }
        }
    });
}

#[test]
fn a_crash_repeats_nothing_where_the_broker_has_forgotten_the_ids() {
    with_each_broker(async |server| {
        let mut house = House::start(server);
        let worker = house.worker().await;
        worker.open("s").await;
        caught_up(&worker).await;
        tokio::task::block_in_place(|| house.stop_daemon());
        let info = jetstream_api(&worker.nats, "STREAM.INFO.LACUNA_EVENTS", json!({})).await;
        let mut config = info["config"].clone();
        config["duplicate_window"] = json!(100_000_000);
        jetstream_api(&worker.nats, "STREAM.UPDATE.LACUNA_EVENTS", config).await;
        house.start_daemon_with(&[(CRASH_AT, "feed-acked:3")]);
        dies_at(&mut house, &worker, "feed-acked").await;
        // Longer than it remembers.
        tokio::time::sleep(Duration::from_millis(400)).await;
        house.start_daemon();
        let fed = feed_is_journal(&worker, &["s"]).await;
        assert_eq!(fed.len() as u64, fed.last().unwrap().seq());
        let told = caught_up(&worker).await["problems"].to_string();
        assert!(told.contains("duplicate_window 100ms instead of 120s"), "{told}");
    });
}

#[test]
fn a_broker_that_comes_back_empty_gets_everything_again() {
    with_each_broker(async |server| {
        let mut house = House::start(server);
        let worker = house.worker().await;
        worker.open("s").await;
        append_many(&worker, 0, 50).await;
        caught_up(&worker).await;
        house.broker.stop();
        std::fs::remove_dir_all(house.broker.store()).unwrap();
        house.broker.restart();
        // Nothing new is recorded: it is published again all the same.
        house.daemon().wait_for_words(0, "LACUNA_EVENTS is new");
        let fed = feed_is_journal(&worker, &["s"]).await;
        assert_eq!((fed.len(), fed[0].stream_seq), (51, 1));
    });
}

#[test]
fn a_broker_that_lost_what_it_had_acknowledged_gets_it_again() {
    with_each_broker(async |server| {
        let mut house = House::start(server);
        let worker = house.worker().await;
        worker.open("s").await;
        append_many(&worker, 0, 20).await;
        caught_up(&worker).await;
        house.broker.stop();
        let kept = house.folder().join("kept");
        copy(&house.broker.store(), &kept);
        house.broker.restart();
        // Whoever asks too early finds nobody.
        caught_up(&worker).await;
        append_many(&worker, 20, 40).await;
        assert_eq!(caught_up(&worker).await["published_seq"], 41);
        house.broker.stop();
        std::fs::remove_dir_all(house.broker.store()).unwrap();
        copy(&kept, &house.broker.store());
        house.broker.restart();
        house.daemon().wait_for_words(0, "LACUNA_EVENTS has lost events");
        let fed = feed_is_journal(&worker, &["s"]).await;
        assert_eq!(fed.len(), 41, "and nothing that it still had");
    });
}

#[test]
fn a_purged_stream_goes_on_where_it_was_unless_nobody_knows_where() {
    with_each_broker(async |server| {
        let mut house = House::start(server);
        let worker = house.worker().await;
        worker.open("s").await;
        append_many(&worker, 0, 10).await;
        caught_up(&worker).await;
        tokio::task::block_in_place(|| house.stop_daemon());
        jetstream_api(&worker.nats, "STREAM.PURGE.LACUNA_EVENTS", json!({})).await;
        house.start_daemon();
        append_many(&worker, 10, 11).await;
        caught_up(&worker).await;
        let fed = everything(&worker.nats).await;
        assert_eq!(fed.iter().map(|fed| fed.seq()).collect::<Vec<_>>(), [12]);
        tokio::task::block_in_place(|| house.stop_daemon());
        jetstream_api(&worker.nats, "STREAM.PURGE.LACUNA_EVENTS", json!({})).await;
        std::fs::remove_file(house.journal().join("journal.feed")).unwrap();
        // The broker knows their ids from before, and says so: that is no reason to stop.
        house.start_daemon();
        append_many(&worker, 11, 12).await;
        caught_up(&worker).await;
        assert_eq!(everything(&worker.nats).await.last().unwrap().seq(), 13);
    });
}

/// Records so many spans behind the broker's back.
fn record_without_a_broker(house: &House, spans: usize) {
    let cli = Cli::journal(&house.journal());
    let span = |n| json!({ "role": "user", "origin": "user", "content": format!("words {n}") });
    for from in (0..spans).step_by(1_000) {
        let spans = json!((from..from + 1_000).map(span).collect::<Vec<Value>>()).to_string();
        let append = ["append", "-s", "s", "--tenant", "acme", "--spans-json", "-"];
        let ran = cli.run_with(spans.as_bytes(), &append);
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
}

#[test]
fn a_broker_that_stands_still_for_longer_than_anybody_waits() {
    with_each_broker(async |server| {
        let mut house = House::start(server);
        let worker = house.worker().await;
        worker.open("s").await;
        caught_up(&worker).await;
        tokio::task::block_in_place(|| house.stop_daemon());
        record_without_a_broker(&house, 10_000);
        house.start_daemon();
        // Some are on the stream, and others on their way.
        let held = async || {
            let info = jetstream_api(&worker.nats, "STREAM.INFO.LACUNA_EVENTS", json!({})).await;
            info["state"]["messages"].as_u64().unwrap()
        };
        while held().await < 500 {}
        house.broker.freeze(true);
        house.daemon().wait_for_words(0, "the broker does not answer for events");
        house.broker.freeze(false);
        append_many(&worker, 0, 10).await;
        let fed = feed_is_journal(&worker, &["s"]).await;
        assert_eq!(fed.len() as u64, fed.last().unwrap().seq());
    });
}

#[test]
fn nothing_stands_beside_the_events_of_another_journal() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut house = House::start(&current_server());
        let worker = house.worker().await;
        worker.open("s").await;
        caught_up(&worker).await;
        let before = everything(&worker.nats).await;
        house.stop_daemon();
        std::fs::rename(house.journal(), house.folder().join("first")).unwrap();
        house.start_daemon();
        worker.open("other").await;
        let feed = feed_until(&worker, |feed| feed["state"] == "refused").await;
        let told = feed["problems"][0].as_str().unwrap();
        let first = before[0].body["journal"].as_str().unwrap();
        assert!(told.contains("another journal") && told.contains(first), "{told}");
        assert_eq!(everything(&worker.nats).await, before);
        jetstream_api(&worker.nats, "STREAM.DELETE.LACUNA_EVENTS", json!({})).await;
        feed_is_journal(&worker, &["other"]).await;
        house.stop_daemon();
    });
}

#[test]
fn messages_of_strangers_are_told_and_cost_no_event() {
    with_each_broker(async |server| {
        let mut house = House::start(server);
        let worker = house.worker().await;
        worker.open("s").await;
        caught_up(&worker).await;
        let subject = "lacuna.v1.events.acme.s.span-recorded";
        for part in 0..3 {
            worker.nats.publish(subject, "{\"seq\":7}".into()).await.unwrap();
            worker.nats.flush().await.unwrap();
            append_many(&worker, part * 20, part * 20 + 20).await;
        }
        let feed = caught_up(&worker).await;
        assert!(feed["problems"].to_string().contains("not Lacuna's"), "{feed}");
        let fed = everything(&worker.nats).await;
        let strangers = fed.iter().filter(|fed| fed.id.is_empty()).count();
        assert_eq!(strangers, 3);
        let events: Vec<_> = fed.into_iter().filter(|fed| !fed.id.is_empty()).collect();
        let seqs: Vec<u64> = events.iter().map(|fed| fed.seq()).collect();
        assert_eq!(seqs, (1..=61).collect::<Vec<_>>(), "each once, in order");
        tokio::task::block_in_place(|| house.stop_daemon());
        // One that takes a name of ours, behind the events, is not taken for ours.
        let mut headers = async_nats::HeaderMap::new();
        let journal = events[0].body["journal"].as_str().unwrap();
        headers.insert("Nats-Msg-Id", format!("{journal}:62"));
        let forged = json!({ "seq": 62, "hash": "0".repeat(64) }).to_string();
        worker.nats.publish_with_headers(subject, headers, forged.into()).await.unwrap();
        worker.nats.flush().await.unwrap();
        house.start_daemon();
        append_many(&worker, 60, 70).await;
        let feed = feed_until(&worker, |feed| feed["state"] == "refused").await;
        assert!(feed["problems"].to_string().contains("seq 62"), "{feed}");
    });
}

#[test]
fn a_journal_from_a_backup_is_not_mixed_with_what_followers_saw() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut house = House::start(&current_server());
        let worker = house.worker().await;
        worker.open("s").await;
        append_many(&worker, 0, 10).await;
        caught_up(&worker).await;
        house.stop_daemon();
        copy(&house.journal(), &house.folder().join("kept"));
        house.start_daemon();
        append_many(&worker, 10, 15).await;
        caught_up(&worker).await;
        let before = everything(&worker.nats).await;
        house.stop_daemon();
        std::fs::remove_dir_all(house.journal()).unwrap();
        copy(&house.folder().join("kept"), &house.journal());
        house.start_daemon();
        let refused = |says: &'static str| {
            move |feed: &Value| {
                feed["state"] == "refused" && feed["problems"][0].as_str().unwrap().contains(says)
            }
        };
        feed_until(&worker, refused("holds seq 16, and the journal ends at 11")).await;
        // It goes on to where the stream is: still it is not what followers saw.
        append_many(&worker, 100, 110).await;
        feed_until(&worker, refused("at seq 16 the stream holds another event")).await;
        assert_eq!(everything(&worker.nats).await, before);
        jetstream_api(&worker.nats, "STREAM.DELETE.LACUNA_EVENTS", json!({})).await;
        feed_is_journal(&worker, &["s"]).await;
        house.stop_daemon();
    });
}

#[test]
fn events_that_cannot_be_read_leave_a_gap_that_says_so() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut house = House::start(&current_server());
        let worker = house.worker().await;
        worker.open("s").await;
        for n in 0..5 {
            worker.append("s", &format!("s{n}"), "words").await;
        }
        house.stop_daemon();
        flip_a_byte_of_events(&house.journal(), 3);
        jetstream_api(&worker.nats, "STREAM.DELETE.LACUNA_EVENTS", json!({})).await;
        house.start_daemon();
        let feed = caught_up(&worker).await;
        assert_eq!((&feed["published_seq"], &feed["unreadable"]), (&json!(6), &json!(1)));
        let fed = everything(&worker.nats).await;
        let seqs: Vec<u64> = fed.iter().map(|fed| fed.seq()).collect();
        assert_eq!(seqs, [1, 2, 3, 4, 5, 6]);
        let (gap, journal) = (&fed[2], fed[0].body["journal"].as_str().unwrap());
        assert_eq!(gap.subject, format!("lacuna.v1.events._journal.{journal}.gap-found"));
        assert_eq!(gap.id, format!("{journal}:3:gap"));
        assert_eq!((&gap.body["from"], &gap.body["to"]), (&json!(3), &json!(3)));
        assert!(gap.body["why"].as_str().unwrap().contains("checksum"), "{gap:?}");
        // A gap at the end of the stream is no reason to begin anew.
        house.stop_daemon();
        house.start_daemon();
        caught_up(&worker).await;
        assert_eq!(everything(&worker.nats).await.len(), 6);
        house.stop_daemon();
    });
}
