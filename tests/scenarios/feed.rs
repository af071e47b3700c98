//! The feed: every event of the journal on a stream, in order, whatever the stream was like before.

use lacuna_wire::{FEED_STREAM, FEED_SUBJECTS};
use serde_json::{Value, json};

use crate::rig::{
    Broker, House, caught_up, everything, feed_is_journal, feed_until, free_port, jetstream_api,
    with_each_broker,
};

/// What another stream would be made with.
fn stream(fields: Value) -> Value {
    let mut config = json!({
        "name": FEED_STREAM,
        "subjects": [FEED_SUBJECTS],
        "retention": "limits",
        "storage": "file",
        "discard": "old",
        "num_replicas": 1,
    });
    for (name, value) in fields.as_object().unwrap() {
        config[name] = value.clone();
    }
    config
}

#[test]
fn every_event_is_on_the_feed_as_history_gives_it() {
    with_each_broker(async |server| {
        let mut house = House::start(server);
        let worker = house.worker().await;
        for session in ["a", "b"] {
            worker.open(session).await;
            for n in 0..20 {
                worker.append(session, &format!("s{n}"), "some words").await;
            }
        }
        worker.call("a", "prune", json!({ "spans": ["s1", "s2"], "reason": "old" })).await;
        worker.call("b", "close", json!({})).await;
        let fed = feed_is_journal(&worker, &["a", "b"]).await;
        assert_eq!(fed.len(), 44, "each came once");
        let feed = caught_up(&worker).await;
        assert_eq!(feed["stream"], FEED_STREAM);
        assert_eq!((&feed["published_seq"], &feed["stream_seq"]), (&json!(44), &json!(44)));
        assert_eq!((&feed["messages"], &feed["lag_ms"]), (&json!(44), &json!(0)));
        assert_eq!(feed["problems"], json!([]), "the stream is as it should be");
        let shown = house.cli().run(&["stats"]).out;
        assert!(shown.contains("live, published up to seq 44"), "{shown}");
        let info = jetstream_api(&worker.nats, "STREAM.INFO.LACUNA_EVENTS", json!({})).await;
        let config = &info["config"];
        assert_eq!((&config["deny_delete"], &config["storage"]), (&json!(true), &json!("file")));
        assert_eq!(config["max_age"], 7 * 86_400 * 1_000_000_000_u64);

        // A restart publishes nothing twice.
        let log = tokio::task::block_in_place(|| house.stop_daemon());
        assert!(log.contains("the feed ends") && log.contains("lag_events=0"), "{log}");
        house.start_daemon();
        worker.append("a", "more", "words").await;
        let fed = feed_is_journal(&worker, &["a", "b"]).await;
        assert_eq!(fed.len(), 45);

        // Who stops publishes first what was recorded just now.
        let span = json!({ "role": "user", "origin": "user", "content": "words" });
        worker.call("a", "append", json!({ "spans": vec![span; 1_000] })).await;
        let log = tokio::task::block_in_place(|| house.stop_daemon());
        assert!(log.contains("the feed ends published_seq=1045 lag_events=0"), "{log}");
        assert_eq!(everything(&worker.nats).await.len(), 1_045);
    });
}

#[test]
fn a_stream_of_other_settings_is_used_and_each_difference_told() {
    with_each_broker(async |server| {
        let broker = Broker::start(server);
        let nats = async_nats::connect(broker.url()).await.unwrap();
        let other = stream(json!({ "storage": "memory", "max_msgs": 1_000, "discard": "new" }));
        jetstream_api(&nats, "STREAM.CREATE.LACUNA_EVENTS", other).await;
        let mut house = House::behind(broker);
        let worker = house.worker().await;
        worker.open("s").await;
        feed_is_journal(&worker, &["s"]).await;
        let problems = caught_up(&worker).await["problems"].clone();
        let problems: Vec<&str> =
            problems.as_array().unwrap().iter().map(|told| told.as_str().unwrap()).collect();
        let told = |setting: &str| problems.iter().any(|told| told.contains(setting));
        for setting in
            ["storage memory", "max_msgs 1000", "discard new", "max_age none", "deny_delete none"]
        {
            assert!(told(setting), "{setting}: {problems:?}");
        }
        let shown = house.cli().run(&["stats"]).out;
        assert!(shown.contains("has storage memory instead of file"), "{shown}");
        let log = tokio::task::block_in_place(|| house.stop_daemon());
        assert!(
            log.contains("WARN") && log.contains("has storage memory instead of file"),
            "{log}"
        );
    });
}

#[test]
fn nothing_is_published_where_following_would_be_wrong() {
    with_each_broker(async |server| {
        for (fields, says) in [
            (json!({ "retention": "workqueue" }), "retention workqueue"),
            (json!({ "subjects": ["lacuna.v1.events.acme.>"] }), "not every event"),
            (json!({ "subjects": ["lacuna.v1.events.>", "lacuna.v1.globex.>"] }), "takes requests"),
            (json!({ "no_ack": true }), "no_ack"),
        ] {
            let broker = Broker::start(server);
            let nats = async_nats::connect(broker.url()).await.unwrap();
            jetstream_api(&nats, "STREAM.CREATE.LACUNA_EVENTS", stream(fields)).await;
            let house = House::behind(broker);
            let worker = house.worker().await;
            worker.open("s").await;
            let feed = feed_until(&worker, |feed| feed["state"] == "refused").await;
            assert!(feed["problems"][0].as_str().unwrap().contains(says), "{feed}");
            assert_eq!((&feed["published_seq"], &feed["lag_events"]), (&json!(0), &json!(1)));
            assert!(house.daemon().log().contains("ERROR"), "{}", house.daemon().log());
            // Once the stream is gone there is a right one, and everything is on it.
            jetstream_api(&nats, "STREAM.DELETE.LACUNA_EVENTS", json!({})).await;
            feed_is_journal(&worker, &["s"]).await;
        }
    });
}

#[test]
fn a_stream_that_takes_the_subjects_is_named() {
    with_each_broker(async |server| {
        let broker = Broker::start(server);
        let nats = async_nats::connect(broker.url()).await.unwrap();
        let mine = stream(json!({ "name": "MINE", "subjects": ["lacuna.v1.events.acme.>"] }));
        jetstream_api(&nats, "STREAM.CREATE.MINE", mine).await;
        let house = House::behind(broker);
        let worker = house.worker().await;
        worker.open("s").await;
        let feed = feed_until(&worker, |feed| feed["state"] == "unavailable").await;
        assert!(feed["problems"][0].as_str().unwrap().contains("the stream MINE"), "{feed}");
        jetstream_api(&nats, "STREAM.DELETE.MINE", json!({})).await;
        feed_is_journal(&worker, &["s"]).await;
    });
}

#[test]
fn without_jetstream_requests_are_served_and_the_missing_feed_is_told() {
    with_each_broker(async |server| {
        let house = House::behind(Broker::plain(server, free_port()));
        let worker = house.worker().await;
        worker.open("s").await;
        let feed = feed_until(&worker, |feed| feed["state"] == "unavailable").await;
        let told = feed["problems"][0].as_str().unwrap().to_owned();
        assert!(told.contains("no JetStream") && told.contains("--jetstream"), "{told}");
        house.daemon().wait_for_words(0, "no JetStream");
        assert_eq!(worker.history("s").await.len(), 1);
    });
}
