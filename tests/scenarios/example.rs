//! The example worker in Python does what its README says, against the real daemon.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::rig::{House, Worker, repository, with_each_broker};

const PATIENCE: Duration = Duration::from_secs(30);

/// The worker as a process.
struct Example {
    child: Child,
    lines: Receiver<String>,
}

impl Example {
    fn start(url: &str, place: &Path) -> Self {
        let python = repository().join("target/tools/nats-2.15/bin/python");
        assert!(python.is_file(), "nats-py is needed: run ops/test, which installs it");
        let mut command = Command::new(python);
        command.arg(repository().join("ops/examples/worker.py"));
        command.args(["--nats", url, "--tenant", "acme", "--session", "s", "--place"]).arg(place);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let (told, lines) = channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in out.lines() {
                let Ok(line) = line else { break };
                if told.send(line).is_err() {
                    break;
                }
            }
        });
        Self { child, lines }
    }

    /// The next line that it prints.
    fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("it prints a line")
    }

    /// Ends it as a service manager does; it ends well.
    fn stop(mut self) -> Vec<String> {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        let status = self.child.wait().unwrap();
        assert_eq!(status.code(), Some(0), "{status}");
        self.lines.iter().collect()
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        // It has ended already where it was stopped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn officer(worker: &Worker, verb: &str, body: Value) -> Value {
    let subject = format!("lacuna.v1.acme.officer.retention.{verb}");
    worker.ask_bytes(&subject, body.to_string().into_bytes()).await.unwrap()
}

#[test]
fn the_example_reads_again_what_is_announced_and_shows_what_is_gone() {
    with_each_broker(async |server| {
        let mut house = House::start(server);
        let worker = house.worker().await;
        worker.open("s").await;
        let long = "a long story. ".repeat(200_000);
        let uploaded = uploaded(&worker, long.as_bytes()).await;
        let span = json!({ "id": "long", "role": "tool", "origin": "tool", "upload": uploaded });
        worker.call("s", "append", json!({ "spans": [span] })).await;
        worker.append("s", "a", "order 7f3a-22 was paid twice").await;
        let place = house.folder().join("place.json");
        let example = Example::start(&house.url(), &place);
        assert_eq!(example.line(), "1 session-opened by worker-1");
        assert_eq!(example.line(), "2 span-recorded by worker-1");
        assert_eq!(example.line(), "3 span-recorded by worker-1");
        worker.call("s", "prune", json!({ "spans": ["a", "long"] })).await;
        assert_eq!(example.line(), "4 prune-executed by worker-1");
        // What happens while the broker is away, or the daemon, is not missed.
        tokio::task::block_in_place(|| {
            house.broker.restart();
            house.kill_daemon();
            house.start_daemon();
        });
        let rule = json!({
            "id": "soon", "match": { "pruned": true }, "keep": { "for": "0s" }, "notice": "3s",
            "live_handles": "commit",
        });
        officer(&worker, "policy-set", json!({ "rules": [rule] })).await;
        let run = officer(&worker, "run", json!({})).await;
        assert_eq!(run["noticed"], 2, "{run}");
        let announced = Instant::now();
        let mut told = [example.line(), example.line()];
        told.sort();
        assert!(told[0].starts_with("a: scheduled, it goes at "), "{told:?}");
        assert!(told[0].ends_with("; read again, 28 bytes"), "{told:?}");
        assert!(told[1].ends_with(&format!("; read again, {} bytes", long.len())), "{told:?}");
        // Its own reading is an event as well.
        for _ in 0..2 {
            let line = example.line();
            assert!(line.ends_with("span-read by worker-1"), "{line}");
        }
        // One that stops and starts again goes on where it was.
        assert_eq!(example.stop(), Vec::<String>::new());
        let example = Example::start(&house.url(), &place);
        let wait = Duration::from_millis(3_200).saturating_sub(announced.elapsed());
        tokio::time::sleep(wait).await;
        let run = officer(&worker, "run", json!({})).await;
        assert_eq!(run["removed"]["spans"], 2, "{run}");
        let mut told = [example.line(), example.line()];
        told.sort();
        for (line, span) in told.iter().zip(["a", "long"]) {
            let gone = format!("{span}: lossy by retention (");
            assert!(line.starts_with(&gone) && line.contains("policy-1, soon)"), "{line}");
        }
        let events = worker.history("s").await;
        let kinds: Vec<&str> =
            events[4..].iter().map(|event| event["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds[..3], ["notice-given", "span-read", "span-read"], "{events:?}");
        assert!(kinds[3..].iter().all(|kind| *kind == "lossy-committed"), "{kinds:?}");
        for read in &events[5..7] {
            assert_eq!(read["purpose"], "reground", "{read}");
        }
        assert_eq!(example.stop(), Vec::<String>::new());
    });
}

/// Uploads a content in pieces and gives its name.
async fn uploaded(worker: &Worker, content: &[u8]) -> Value {
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;
    let opened = worker.call("s", "put-open", json!({ "bytes": content.len() })).await;
    for (index, part) in content.chunks(500_000).enumerate() {
        let data = BASE64_STANDARD.encode(part);
        let offset = index * 500_000;
        let body = json!({ "upload": opened["upload"], "offset": offset, "data_b64": data });
        worker.call("s", "put-chunk", body).await;
    }
    let digest = blake3::hash(content).to_hex().to_string();
    let body = json!({ "upload": opened["upload"], "digest": digest });
    worker.call("s", "put-close", body).await;
    opened["upload"].clone()
}
