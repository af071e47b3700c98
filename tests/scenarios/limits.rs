//! A daemon that gets no more descriptors, or no more memory: what it cannot do it refuses by name or it
//! ends, and nothing that was acknowledged is lost.

use std::time::{Duration, Instant};

use rustix::process::Resource;
use serde_json::{Value, json};

use crate::rig::{Broker, Daemon, Habits, House, Load, Worker, current_server, with_each_broker};

const PATIENCE: Duration = Duration::from_secs(15);

fn habits(appenders: usize) -> Habits {
    let sessions = ["x", "y"].map(str::to_owned).to_vec();
    Habits { sessions, appenders, attempt: Duration::from_secs(1), filling: 200 }
}

/// A folder of files as an external store, and a place for backups.
fn config(folder: &std::path::Path) -> String {
    let (files, backups) = (folder.join("files"), folder.join("backups"));
    for made in [&files, &backups] {
        std::fs::create_dir(made).unwrap();
    }
    std::fs::write(files.join("far"), "far words").unwrap();
    format!(
        "[stores.far]\nkind = \"folder\"\npath = {files:?}\ntells_removed = true\n\
         [backup]\nroot = {backups:?}\n"
    )
}

#[test]
fn a_daemon_without_descriptors_says_so_loses_nothing_and_recovers() {
    with_each_broker(async |server| {
        let mut house = House::configured(Broker::start(server), config);
        let worker = house.worker().await;
        worker.open("s").await;
        worker.append("s", "near", "near words").await;
        let digest = blake3::hash(b"far words").to_hex().to_string();
        let place = json!({ "store": "far", "key": "far", "digest": digest, "bytes": 9 });
        let far = json!({ "id": "far", "role": "tool", "origin": "tool", "external": place });
        worker.call("s", "append", json!({ "spans": [far] })).await;
        let load = Load::begin(std::slice::from_ref(&worker), &habits(8)).await;
        load.goes_on(20, PATIENCE).await;

        // Those that it has it keeps; there is no number for another one.
        house.daemon().limit(Resource::Nofile, Some(3));
        load.goes_on(50, PATIENCE).await;
        let near = worker.call("s", "expand", json!({ "span": "near" })).await;
        assert_eq!(near["content"], "near words");
        // A store that cannot be asked is not one that has lost something.
        let refused = worker.refused("s", "expand", json!({ "span": "far" })).await;
        assert_eq!(refused.code, "unavailable", "{refused:?}");
        assert!(refused.message.contains("open files"), "it says why: {}", refused.message);
        let pruned = worker.call("s", "prune", json!({ "spans": ["far"] })).await;
        assert_eq!(
            (&pruned["status"], &pruned["reason"]),
            (&"rejected".into(), &"not_reversible".into())
        );
        let subject = worker.journal_subject("backup");
        let body = json!({ "dir": "copy" }).to_string().into_bytes();
        let refused = worker.ask_bytes(&subject, body.clone()).await.unwrap_err();
        assert_eq!(refused.code, "unavailable", "{refused:?}");
        assert!(refused.message.contains("open files"), "it says why: {}", refused.message);
        // Nor can it connect again, once its connection is gone.
        let lines = house.daemon().lines();
        tokio::task::block_in_place(|| {
            house.broker.restart();
            let lines = house.daemon().wait_for_words(lines, "no connection to the broker yet");
            house.daemon().wait_for_words(lines, "no connection to the broker yet");
        });
        let before = load.acknowledged();
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(load.acknowledged(), before, "nobody is there");

        house.daemon().limit(Resource::Nofile, None);
        load.goes_on(50, PATIENCE).await;
        let account = load.end().await;
        eprintln!("{} acknowledged, {} resent", account.acknowledged.len(), account.resent);
        assert_eq!(account.refused.len(), 0, "appends need no descriptor: {:?}", account.refused);
        account.settle(&worker).await;
        let far = worker.call("s", "expand", json!({ "span": "far" })).await;
        assert_eq!((&far["outcome"], &far["content"]), (&"live".into(), &"far words".into()));
        worker.ask_bytes(&subject, body).await.unwrap();
        let log = tokio::task::block_in_place(|| house.stop_daemon());
        assert!(!log.contains("panicked"), "{log}");
    });
}

/// A log that says the same with every commit fills a disk, and hides what else it has to say.
#[test]
fn what_fails_again_and_again_is_said_now_and_then() {
    const SAYS: &str = "the feed's place could not be written down";
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let house = House::start(&current_server());
        let worker = house.worker().await;
        let load = Load::begin(std::slice::from_ref(&worker), &habits(8)).await;
        house.daemon().limit(Resource::Nofile, Some(3));
        let began = Instant::now();
        load.goes_on(300, PATIENCE).await;
        let log = house.daemon().log();
        let said = log.lines().filter(|line| line.contains(SAYS)).count();
        eprintln!("said {said} times in {:.1?}", began.elapsed());
        assert!(said > 0, "it was never in the way");
        let most = 2 + began.elapsed().as_secs() as usize;
        assert!(said <= most, "said {said} times in {:.1?}", began.elapsed());
    });
}

/// What is removed needs the keys written anew. Where that fails it is as after a crash: the removal is
/// recorded, and brought to its end as soon as it can be.
#[test]
fn an_erasure_without_descriptors_happens_or_does_not_and_is_brought_to_its_end() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut house = House::start(&current_server());
        let officer = Worker::connect(&house.url(), "acme", "officer").await;
        officer.open("s").await;
        officer.append("s", "secret", "CANARY-descriptors").await;
        officer.append("s", "kept", "kept words").await;
        house.daemon().limit(Resource::Nofile, Some(3));
        let subject = "lacuna.v1.acme.officer.retention.erase";
        let body = json!({ "session": "s", "spans": ["secret"], "reason": "asked" });
        let erased = officer.ask_bytes(subject, body.to_string().into_bytes()).await;
        eprintln!("an erasure without descriptors: {erased:?}");
        if let Err(refused) = &erased {
            assert_eq!(refused.code, "unavailable", "{refused:?}");
        }
        let mut daemon = house.take_daemon();
        tokio::time::sleep(Duration::from_millis(500)).await;
        if daemon.runs() {
            daemon.limit(Resource::Nofile, None);
            house.give_daemon(daemon);
        } else {
            let (status, log) = daemon.wait();
            assert!(status.code() == Some(1) && !log.contains("panicked"), "{status}: {log}");
            tokio::task::block_in_place(|| house.start_daemon());
        }
        let again = officer.ask_bytes(subject, body.to_string().into_bytes()).await.unwrap();
        eprintln!("and again with them: {again}");
        let gone = officer.call("s", "expand", json!({ "span": "secret" })).await;
        assert_eq!(gone["outcome"], "lossy", "{gone}");
        let kept = officer.call("s", "expand", json!({ "span": "kept" })).await;
        assert_eq!(kept["content"], "kept words");
        officer.verify().await;
        let log = tokio::task::block_in_place(|| house.stop_daemon());
        assert!(!log.contains("panicked"), "{log}");
        assert!(
            !crate::rig::comes_out(&house.journal(), "CANARY-descriptors"),
            "it is still there"
        );
    });
}

/// Address space that a daemon starts with: less than its allocator would like to have in one piece.
const TO_START_WITH: u64 = 1_000;
/// What it may have beyond what it has then: less than it takes for uploads.
const MORE: u64 = 64 << 20;

/// Fills a tenant's room for uploads for as long as it is answered; gives how many parts were taken, and
/// how it ended.
async fn upload(worker: Worker) -> (usize, String) {
    let (mut taken, part) = (0, 512 << 10);
    let ask = async |verb: &str, body: Value| {
        let (subject, bytes) = (worker.subject("up", verb), body.to_string().into_bytes());
        let sent = worker.send(&subject, bytes, Duration::from_secs(1)).await;
        let message = sent.map_err(|error| error.to_string())?;
        let reply: Value = serde_json::from_slice(&message.payload).unwrap();
        match reply["error"]["code"].as_str() {
            None => Ok(reply),
            Some(code) => Err(code.to_owned()),
        }
    };
    let data = "QUJD".repeat(part / 4);
    let bytes = data.len() / 4 * 3;
    for _ in 0..2 {
        let opened = match ask("put-open", json!({ "bytes": 60 << 20 })).await {
            Ok(opened) => opened,
            Err(why) => return (taken, why),
        };
        for piece in 0..(60 << 20) / bytes {
            let offset = piece * bytes;
            let body = json!({ "upload": opened["upload"], "offset": offset, "data_b64": data });
            match ask("put-chunk", body).await {
                Ok(_) => taken += 1,
                Err(why) => return (taken, why),
            }
        }
    }
    (taken, "all of it".into())
}

#[test]
fn a_daemon_without_memory_may_end_and_has_everything_when_it_starts_again() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut house = House::start(&current_server());
        let worker = house.worker().await;
        tokio::task::block_in_place(|| house.stop_daemon());
        let url = house.url();
        let daemon = Daemon::spawn_within(TO_START_WITH, &house.journal(), &["--nats", &url]);
        daemon.wait_until_ready();
        let mut others = Vec::new();
        for number in 0..8 {
            let tenant = format!("tenant-{number}");
            let other = Worker::connect(&house.url(), &tenant, "worker-1").await;
            other.open("up").await;
            others.push(other);
        }
        let load = Load::begin(std::slice::from_ref(&worker), &habits(16)).await;
        load.goes_on(100, PATIENCE).await;
        let most = daemon.address_space() + MORE;
        daemon.limit(Resource::As, Some(most));
        house.give_daemon(daemon);
        let uploads: Vec<_> = others.into_iter().map(|other| tokio::spawn(upload(other))).collect();
        let mut taken = 0;
        for upload in uploads {
            let (some, why) = upload.await.unwrap();
            eprintln!("{some} parts, then: {why}");
            taken += some;
        }
        let mut daemon = house.take_daemon();
        let lived = daemon.runs();
        if lived {
            eprintln!("it lives, with {} MiB", daemon.address_space() >> 20);
            house.give_daemon(daemon);
            load.goes_on(20, PATIENCE).await;
            tokio::task::block_in_place(|| house.kill_daemon());
        } else {
            let (status, log) = daemon.wait();
            eprintln!("it ended: {status}\n{log}");
            assert!(!status.success(), "{log}");
        }
        assert!(taken > 50, "{taken} parts are no load");
        let account = load.end().await;
        let began = Instant::now();
        tokio::task::block_in_place(|| house.start_daemon());
        let acknowledged = account.acknowledged.len();
        eprintln!("started again in {:.0?}, {acknowledged} acknowledged", began.elapsed());
        account.settle(&worker).await;
        assert!(!lived, "the limit was never reached");
    });
}
