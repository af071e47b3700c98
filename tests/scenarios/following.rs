//! Followers: each event once, in order, none missing, whatever happens to the connection, the broker,
//! the feed or the daemon.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use lacuna_client::{Client, ClientError, Code, EventBody, Events};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::rig::{Broker, Dice, House, Worker, current_server, free_port, with_each_broker};

/// How long an event may take to arrive, all troubles included.
const PATIENCE: Duration = Duration::from_secs(60);

fn client(worker: &Worker) -> Client {
    Client::new(worker.nats.clone(), "acme", "worker-1")
}

/// The next event. Errors that say that somebody is away are waited out, as they ask for.
async fn next(events: &mut Events) -> EventBody {
    let waiting = async {
        loop {
            match events.next().await {
                Ok(event) => return event,
                Err(
                    ClientError::NoDaemon | ClientError::Timeout { .. } | ClientError::Connect(_),
                ) => {}
                Err(error) => panic!("{error}"),
            }
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("no event comes")
}

/// So many events.
async fn take(events: &mut Events, count: usize) -> Vec<EventBody> {
    let mut taken = Vec::new();
    for _ in 0..count {
        taken.push(next(events).await);
    }
    taken
}

/// Nothing comes for a while.
async fn silent(events: &mut Events) {
    let more = tokio::time::timeout(Duration::from_millis(300), events.next()).await;
    assert!(more.is_err(), "{more:?}");
}

/// How often the daemon was asked for a history.
async fn histories(worker: &Worker) -> u64 {
    let stats = worker.nats.request("$SRV.STATS.lacuna", "".into()).await.unwrap();
    let stats: Value = serde_json::from_slice(&stats.payload).unwrap();
    let endpoints = stats["endpoints"].as_array().unwrap();
    let history = endpoints.iter().find(|endpoint| endpoint["name"] == "session-history").unwrap();
    history["num_requests"].as_u64().unwrap()
}

/// They must be what the journal says, field by field.
fn same(followed: &[EventBody], history: &[Value]) {
    let followed: Vec<Value> = followed.iter().map(|event| json!(event)).collect();
    assert_eq!(followed.len(), history.len());
    for (one, other) in followed.iter().zip(history) {
        assert_eq!(one, other);
    }
}

#[test]
fn a_session_is_followed_from_any_version_and_on() {
    with_each_broker(async |server| {
        let house = House::start(server);
        let worker = house.worker().await;
        worker.open("s").await;
        worker.open("other").await;
        for number in 0..4 {
            worker.append("s", &format!("a{number}"), "words").await;
            worker.append("other", &format!("b{number}"), "words").await;
        }
        let session = client(&worker).session("s");
        let mut whole = session.subscribe(1).await.unwrap();
        let mut part = session.subscribe(3).await.unwrap();
        let mut later = session.subscribe(7).await.unwrap();
        let mut all = take(&mut whole, 5).await;
        silent(&mut whole).await;
        // What comes now arrives as well, and what one follower has passed is no matter to another.
        worker.append("s", "a4", "words").await;
        worker.call("s", "prune", json!({ "spans": ["a0"] })).await;
        all.extend(take(&mut whole, 2).await);
        let history = worker.history("s").await;
        same(&all, &history);
        same(&take(&mut part, 5).await, &history[2..]);
        assert_eq!(next(&mut later).await.version, 7);
        // The feed carries them: the journal is not asked for each, nor are they waited for.
        let before = histories(&worker).await;
        for number in 0..40 {
            worker.append("s", &format!("c{number}"), "words").await;
            assert_eq!(next(&mut whole).await.fields["span"], format!("c{number}"));
        }
        let asked = histories(&worker).await - before;
        assert!(asked <= 6, "{asked} questions for 40 events");
        let history = worker.history("s").await;
        // A version is found by a seq of the journal, which other sessions' events share.
        for (index, event) in history.iter().enumerate() {
            let (seq, version) = (event["seq"].as_u64().unwrap(), index as u64 + 1);
            assert_eq!(session.version_from(seq).await.unwrap(), version);
            let before = index.checked_sub(1).map_or(0, |i| history[i]["seq"].as_u64().unwrap());
            assert_eq!(session.version_from(before + 1).await.unwrap(), version);
        }
        let behind = history.len() as u64 + 1;
        assert_eq!(session.version_from(1_000_000).await.unwrap(), behind);
    });
}

#[test]
fn a_tenant_is_followed_through_all_its_sessions_and_nobody_elses() {
    with_each_broker(async |server| {
        let house = House::start(server);
        let worker = house.worker().await;
        let stranger = Worker::connect(&house.url(), "globex", "worker-1").await;
        for session in ["s", "t"] {
            worker.open(session).await;
            stranger.open(session).await;
        }
        let mut events = client(&worker).subscribe(1).await.unwrap();
        let mut seen = take(&mut events, 2).await;
        for number in 0..5 {
            for session in ["s", "t"] {
                stranger.append(session, &format!("x{number}"), "words").await;
                worker.append(session, &format!("a{number}"), "words").await;
            }
        }
        seen.extend(take(&mut events, 10).await);
        silent(&mut events).await;
        assert!(seen.iter().all(|event| event.tenant == "acme"), "{seen:?}");
        assert!(seen.windows(2).all(|pair| pair[0].seq < pair[1].seq), "{seen:?}");
        for session in ["s", "t"] {
            let mine: Vec<EventBody> =
                seen.iter().filter(|event| event.session == session).cloned().collect();
            same(&mine, &worker.history(session).await);
        }
        // From the middle, small pages: the same.
        let middle = seen[4].seq;
        let mut from = middle;
        let mut paged = Vec::new();
        loop {
            let body = json!({ "from": from, "limit": 3 });
            let page = worker.journal("events", body).await;
            paged.extend(page["events"].as_array().unwrap().clone());
            from = page["next"].as_u64().unwrap();
            if page["more"] == false {
                break;
            }
        }
        same(&seen[4..], &paged);
    });
}

#[test]
fn an_unknown_session_is_said_and_waited_for() {
    let server = current_server();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let house = House::start(&server);
        let worker = house.worker().await;
        let mut events = client(&worker).session("later").subscribe(1).await.unwrap();
        let refused = events.next().await.unwrap_err();
        assert!(
            matches!(&refused, ClientError::Refused(error) if error.code == Code::UnknownSession),
            "{refused}"
        );
        worker.open("later").await;
        assert_eq!(next(&mut events).await.kind, "session-opened");
    });
}

/// A feed without the daemon's messages, or with wrong ones, delays followers and does nothing else.
#[test]
fn what_the_feed_does_not_say_or_says_wrongly_is_read_in_the_journal() {
    let server = current_server();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let house = House::start(&server);
        let worker = house.worker().await;
        worker.open("s").await;
        let client = client(&worker);
        let mut session = client.session("s").subscribe(1).await.unwrap();
        let mut tenant = client.subscribe(1).await.unwrap();
        let opened = next(&mut session).await;
        assert_eq!(next(&mut tenant).await, opened);
        // Anybody may publish here: no permissions are set.
        let subject = "lacuna.v1.events.acme.s.span-recorded";
        let forged = |version: u64, previous: &str| {
            let mut event = json!(opened);
            event["version"] = version.into();
            event["seq"] = version.into();
            event["previous"] = previous.into();
            event["kind"] = "span-recorded".into();
            event["span"] = "forged".into();
            event.to_string()
        };
        for body in [
            forged(1, &opened.previous),
            forged(2, "0000"),
            forged(3, &opened.hash),
            "{}".to_owned(),
            "no JSON".to_owned(),
            json!(opened).to_string(),
        ] {
            worker.nats.publish(subject, body.into()).await.unwrap();
        }
        worker.nats.flush().await.unwrap();
        silent(&mut session).await;
        silent(&mut tenant).await;
        worker.append("s", "real", "words").await;
        for events in [&mut session, &mut tenant] {
            let event = next(events).await;
            assert_eq!((event.version, &event.fields["span"]), (2, &json!("real")));
        }
    });
}

/// A journal that was restored from an older copy is not silently taken for the one that was followed.
#[test]
fn a_journal_that_was_put_back_is_noticed() {
    let server = current_server();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut house = House::start(&server);
        let worker = house.worker().await;
        worker.open("s").await;
        worker.append("s", "a", "words").await;
        let client = client(&worker);
        let mut session = client.session("s").subscribe(1).await.unwrap();
        let mut tenant = client.subscribe(1).await.unwrap();
        take(&mut session, 2).await;
        take(&mut tenant, 2).await;
        let copy = tempfile::tempdir().unwrap();
        tokio::task::block_in_place(|| {
            house.stop_daemon();
            copied(&house.journal(), copy.path());
            house.start_daemon();
        });
        worker.append("s", "lost", "words").await;
        assert_eq!(next(&mut session).await.fields["span"], "lost");
        assert_eq!(next(&mut tenant).await.fields["span"], "lost");
        tokio::task::block_in_place(|| {
            house.stop_daemon();
            std::fs::remove_dir_all(house.journal()).unwrap();
            copied(copy.path(), &house.journal());
            house.start_daemon();
        });
        worker.append("s", "other", "words").await;
        for events in [&mut session, &mut tenant] {
            let error = loop {
                match events.next().await.expect_err("another history is no continuation") {
                    ClientError::Refused(error) => break error,
                    _ => continue,
                }
            };
            assert_eq!(error.code, Code::VersionConflict, "{error}");
            assert!(error.message.contains("older copy"), "{error}");
        }
    });
}

fn copied(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// Appends for as long as it is asked to; every command is repeated until it is answered.
fn writer(worker: &Worker, name: String, on: &Arc<AtomicBool>) -> JoinHandle<usize> {
    let (worker, on) = (worker.clone(), Arc::clone(on));
    tokio::spawn(async move {
        let mut written = 0;
        while on.load(Ordering::Relaxed) {
            let id = format!("{name}-{written}");
            let span = json!({ "id": id, "role": "user", "origin": "user", "content": id });
            let body = json!({ "spans": [span], "command_id": id }).to_string();
            let subject = worker.subject("s", "append");
            let attempt = Duration::from_millis(500);
            let sent = worker.send(&subject, body.into_bytes(), attempt).await;
            let answered = sent.is_ok_and(|message| {
                let reply: Value = serde_json::from_slice(&message.payload).unwrap();
                reply.get("error").is_none()
            });
            written += usize::from(answered);
            tokio::time::sleep(Duration::from_millis(if answered { 2 } else { 20 })).await;
        }
        written
    })
}

/// Follows until it has seen the event with this content's span, then gives all.
fn follower(mut events: Events, pause: Duration) -> JoinHandle<Vec<EventBody>> {
    tokio::spawn(async move {
        let mut seen = Vec::new();
        loop {
            let event = next(&mut events).await;
            let last = event.kind == "session-closed";
            seen.push(event);
            if last {
                return seen;
            }
            tokio::time::sleep(pause).await;
        }
    })
}

/// Broker and daemon end at random, the feed's stream is lost with the broker's store now and then, a
/// follower is slow and its connection holds four messages: each sees every event once, in order.
#[test]
fn followers_miss_nothing_while_everything_else_fails() {
    with_each_broker(async |server| {
        let mut dice = Dice::roll("following");
        let mut house = House::behind(Broker::start_with(server, "", free_port()));
        let worker = house.worker().await;
        worker.open("s").await;
        let on = Arc::new(AtomicBool::new(true));
        let writers: Vec<_> =
            (0..3).map(|number| writer(&worker, format!("w{number}"), &on)).collect();
        let dropped = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&dropped);
        let tiny = async_nats::ConnectOptions::new()
            .subscription_capacity(4)
            .event_callback(move |event| {
                let slow = matches!(event, async_nats::Event::SlowConsumer(_));
                counted.fetch_add(usize::from(slow), Ordering::Relaxed);
                async {}
            })
            .reconnect_delay_callback(|_| Duration::from_millis(20));
        let tiny = Client::new(tiny.connect(house.url()).await.unwrap(), "acme", "slow");
        let quick = client(&worker);
        let followers = [
            follower(quick.session("s").subscribe(1).await.unwrap(), Duration::ZERO),
            follower(quick.subscribe(1).await.unwrap(), Duration::ZERO),
            follower(tiny.session("s").subscribe(1).await.unwrap(), Duration::from_millis(3)),
            follower(tiny.subscribe(1).await.unwrap(), Duration::from_millis(3)),
        ];
        // Each trouble comes twice, at a moment of its own.
        for trouble in 0..8 {
            let pause = dice.between(Duration::from_millis(50), Duration::from_millis(400));
            tokio::time::sleep(pause).await;
            tokio::task::block_in_place(|| match trouble % 4 {
                0 => {
                    house.kill_daemon();
                    house.start_daemon();
                }
                1 => house.broker.restart(),
                2 => {
                    house.broker.freeze(true);
                    std::thread::sleep(pause);
                    house.broker.freeze(false);
                }
                _ => {
                    house.broker.stop();
                    std::fs::remove_dir_all(house.broker.store()).unwrap();
                    house.broker.restart();
                }
            });
        }
        on.store(false, Ordering::Relaxed);
        let mut written = 0;
        for writer in writers {
            written += writer.await.unwrap();
        }
        // The last event may be the one that gets lost: it is noticed, too.
        let close = async {
            let subject = worker.subject("s", "close");
            loop {
                let body = json!({ "command_id": "close" }).to_string().into_bytes();
                if worker.send(&subject, body, Duration::from_secs(1)).await.is_ok() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(PATIENCE, close).await.expect("the session can be closed");
        let history = worker.history("s").await;
        let dropped = dropped.load(Ordering::Relaxed);
        eprintln!("{written} appends, {} events, {dropped} times too slow", history.len());
        assert!(dropped > 0, "the slow ones were never too slow");
        assert!(history.len() >= written + 2 && written > 100, "{written}");
        for follower in followers {
            same(&follower.await.unwrap(), &history);
        }
        worker.verify().await;
    });
}
