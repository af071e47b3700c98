//! External stores from end to end: a bucket on the broker and a folder, as the configuration names
//! them; what the gate and the readers say of each state that they get into.

use std::path::Path;
use std::process::Command;

use async_nats::jetstream::{self, object_store};
use serde_json::{Value, json};

use crate::rig::{Broker, Daemon, House, Server, Worker, current_server, with_each_broker};

const TEXT: &str = "request req-77ae-0042 failed in frame 7";

fn config(folder: &Path) -> String {
    let files = folder.join("files");
    std::fs::create_dir(&files).unwrap();
    format!(
        "[stores.archive]\nkind = \"bucket\"\nbucket = \"spans\"\ntells_removed = true\n\
         [stores.logs]\nkind = \"folder\"\npath = {files:?}\ntells_removed = true\n\
         [stores.silent]\nkind = \"folder\"\npath = {files:?}\ntells_removed = false\n\
         [probe]\ntimeout_ms = 400\n"
    )
}

struct Scene {
    house: House,
    worker: Worker,
    bucket: object_store::ObjectStore,
}

impl Scene {
    async fn start(server: &Server) -> Self {
        let house = House::configured(Broker::start(server), config);
        let worker = house.worker().await;
        let context = jetstream::new(worker.nats.clone());
        let settings = object_store::Config { bucket: "spans".into(), ..Default::default() };
        let bucket = context.create_object_store(settings).await.unwrap();
        worker.open("s").await;
        Self { house, worker, bucket }
    }

    /// Puts an object there and records a span that lies there.
    async fn in_bucket(&self, id: &str, text: &str) {
        self.bucket.put(id, &mut text.as_bytes()).await.unwrap();
        self.point("archive", id, text).await;
    }

    async fn in_folder(&self, store: &str, id: &str) {
        std::fs::write(self.file(id), TEXT).unwrap();
        self.point(store, id, TEXT).await;
    }

    async fn point(&self, store: &str, id: &str, text: &str) {
        let spans = json!([external(store, id, text)]);
        self.worker.call("s", "append", json!({ "spans": spans })).await;
    }

    fn file(&self, id: &str) -> std::path::PathBuf {
        self.house.folder().join("files").join(id)
    }

    async fn prune(&self, id: &str, accept_lossy: bool) -> Value {
        let body = json!({ "spans": [id], "accept_lossy": accept_lossy });
        self.worker.call("s", "prune", body).await
    }

    async fn expand(&self, id: &str) -> Value {
        self.worker.call("s", "expand", json!({ "span": id })).await
    }
}

fn external(store: &str, id: &str, text: &str) -> Value {
    let digest = blake3::hash(text.as_bytes()).to_hex().to_string();
    let place = json!({ "store": store, "key": id, "digest": digest, "bytes": text.len() });
    json!({ "id": id, "role": "tool", "origin": "tool", "external": place })
}

fn conditions(reply: &Value) -> [bool; 3] {
    let check = &reply["spans"][0]["check"];
    ["existence", "addressability", "provenance"].map(|name| check[name].as_bool().unwrap())
}

#[test]
fn what_lies_in_a_bucket_goes_and_comes_back() {
    with_each_broker(async |server| {
        let mut scene = Scene::start(server).await;
        // Larger than one chunk of the bucket, and than one part of an answer.
        let long = format!("{TEXT}\n").repeat(12_000);
        scene.in_bucket("a", &long).await;
        let pruned = scene.prune("a", false).await;
        assert_eq!(pruned["status"], "reversible", "{pruned}");
        assert_eq!(conditions(&pruned), [true, true, true]);
        scene.house.kill_daemon();
        scene.house.start_daemon();
        let handle = pruned["spans"][0]["handle"].as_str().unwrap();
        let mut read = String::new();
        while read.len() < long.len() {
            let body = json!({ "handle": handle, "offset": read.len(), "limit": 100_000 });
            let answer = scene.worker.call("s", "expand", body).await;
            assert_eq!(answer["outcome"], "recoverable", "{answer}");
            read.push_str(answer["content"].as_str().unwrap());
        }
        assert!(read == long, "the content came back as it was");
        scene.worker.call("s", "restore", json!({ "spans": ["a"] })).await;
        let durable = scene.worker.call("s", "durability", json!({})).await;
        let copy = &durable["spans"][0]["copies"][0];
        assert_eq!(copy["where"], "archive", "{durable}");
        assert!(copy["verified_at"].is_string() && copy.get("unanswered").is_none(), "{durable}");
    });
}

#[test]
fn what_was_removed_from_a_bucket_or_changed_there_is_lost_and_says_so() {
    with_each_broker(async |server| {
        let scene = Scene::start(server).await;
        for id in ["gone", "changed", "read"] {
            scene.in_bucket(id, TEXT).await;
        }
        scene.bucket.delete("gone").await.unwrap();
        scene.bucket.put("changed", &mut TEXT.replace('7', "8").as_bytes()).await.unwrap();
        for id in ["gone", "changed"] {
            let refused = scene.prune(id, false).await;
            assert_eq!(refused["status"], "rejected", "{refused}");
            assert_eq!(refused["reason"], "not_reversible");
            assert_eq!(conditions(&refused), [false, true, true]);
            let lossy = scene.prune(id, true).await;
            assert_eq!(lossy["status"], "lossy", "{lossy}");
            let tombstone = format!("{id}: pruned, unrecoverable, contents unknown");
            assert_eq!(lossy["spans"][0]["tombstone"], tombstone);
        }
        scene.bucket.delete("read").await.unwrap();
        let answer = scene.expand("read").await;
        assert_eq!(
            (&answer["outcome"], &answer["cause"]["kind"]),
            (&json!("lossy"), &json!("damage"))
        );
        // A bucket that is not there at all is no proof: nobody knows what was in it.
        scene.in_bucket("kept", TEXT).await;
        let context = jetstream::new(scene.worker.nats.clone());
        context.delete_object_store("spans").await.unwrap();
        let refused = scene.worker.refused("s", "expand", json!({ "span": "kept" })).await;
        assert_eq!(refused.code, "unavailable", "{refused:?}");
        assert!(refused.message.contains("bucket spans"), "{refused:?}");
    });
}

#[test]
fn a_folder_is_asked_at_the_moment_of_the_prune() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let scene = Scene::start(&current_server()).await;
        for (store, id) in
            [("logs", "a"), ("silent", "b"), ("logs", "c"), ("silent", "d"), ("logs", "e")]
        {
            scene.in_folder(store, id).await;
        }
        for id in ["c", "d"] {
            std::fs::remove_file(scene.file(id)).unwrap();
        }
        std::fs::remove_file(scene.file("e")).unwrap();
        assert!(Command::new("mkfifo").arg(scene.file("e")).status().unwrap().success());
        let refused = scene.worker.refused("s", "expand", json!({ "span": "e" })).await;
        assert_eq!(refused.code, "unavailable");
        assert!(refused.message.contains("store \"logs\" did not answer within 400ms"));
        let window = scene.worker.call("s", "window", json!({})).await;
        let entry = window["entries"].as_array().unwrap().iter().find(|e| e["id"] == "e").unwrap();
        assert!(entry["unreadable"].as_str().unwrap().contains("did not answer"), "{entry}");
        assert!(entry.get("content").is_none(), "{entry}");
        let verdicts = [
            ("a", [true, true, true], "reversible"),
            ("b", [true, true, false], "rejected"),
            ("e", [false, true, true], "rejected"),
        ];
        for (id, holds, status) in verdicts {
            let reply = scene.prune(id, false).await;
            assert_eq!((conditions(&reply), &reply["status"]), (holds, &json!(status)), "{reply}");
        }
        // The window that was read above has put the two that are gone on record.
        let tombstones = scene.worker.call("s", "tombstones", json!({})).await;
        let lost: Vec<&str> = tombstones["tombstones"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["span"].as_str().unwrap())
            .collect();
        assert_eq!(lost, ["c", "d"]);
        let unknown = json!({ "spans": [external("nowhere", "x", TEXT)] });
        let refused = scene.worker.refused("s", "append", unknown).await;
        assert_eq!(refused.code, "bad_request");
        assert!(refused.message.contains("archive, logs, silent"), "{}", refused.message);
        let mut outside = json!({ "spans": [external("logs", "../x", TEXT)] });
        outside["spans"][0]["id"] = json!("x");
        let refused = scene.worker.refused("s", "append", outside).await;
        assert_eq!(refused.code, "bad_request");
        scene.worker.verify().await;
    });
}

#[test]
fn a_check_finds_a_missing_folder() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lacuna.toml");
    let missing = folder.path().join("missing");
    let text =
        format!("[stores.logs]\nkind = \"folder\"\npath = {missing:?}\ntells_removed = true\n");
    std::fs::write(&file, text).unwrap();
    let journal = folder.path().join("journal");
    let arguments = ["--check", "--config", file.to_str().unwrap()];
    let (status, log) = Daemon::spawn(&journal, &arguments).wait();
    assert_eq!(status.code(), Some(2), "{log}");
    assert!(log.contains("stores.logs.path") && log.contains(missing.to_str().unwrap()), "{log}");
    std::fs::create_dir(&missing).unwrap();
    let (status, log) = Daemon::spawn(&journal, &arguments).wait();
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(!journal.exists(), "a check makes no journal");
}
