//! `lacuna tail`: events as they are recorded, for people and for scripts.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::rig::{Cli, House, current_server, lacuna, with_each_broker};

const PATIENCE: Duration = Duration::from_secs(40);

/// A command that goes on until it is ended.
struct Tail {
    child: Child,
    lines: Receiver<String>,
}

impl Tail {
    fn start(url: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(lacuna());
        command.args(["tail", "--nats", url, "--tenant", "acme"]).args(arguments);
        match arguments.contains(&"--all") {
            true => command.env("LACUNA_SESSION", "s"),
            false => command.env_remove("LACUNA_SESSION"),
        };
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
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

    fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("it prints a line")
    }

    fn event(&self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    /// Ctrl-C. Gives what it said on standard error.
    fn interrupt(mut self) -> String {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, Signal::INT).unwrap();
        let status = self.child.wait().unwrap();
        assert_eq!(status.code(), Some(0), "{status}");
        assert_eq!(self.lines.iter().count(), 0);
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        said
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        // It has ended already where it was interrupted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn it_follows_a_session_or_all_of_a_tenant_until_ctrl_c() {
    with_each_broker(async |server| {
        let mut house = House::start(server);
        let worker = house.worker().await;
        worker.open("s").await;
        worker.open("t").await;
        worker.append("s", "a", "words").await;
        let all = Tail::start(&house.url(), &["--json", "--from", "1", "--all"]);
        let part = Tail::start(&house.url(), &["--json", "--from", "3"]);
        let of_s = Tail::start(&house.url(), &["--json", "--from", "2", "-s", "s"]);
        let kinds = ["session-opened", "prune-executed", "session-closed"];
        let mut flags = vec!["--json", "--from", "1"];
        flags.extend(kinds.iter().flat_map(|kind| ["--kind", kind]));
        let of_kind = Tail::start(&house.url(), &flags);
        let people = Tail::start(&house.url(), &["--from", "1"]);
        // They have begun.
        let mut firsts = [&all, &part, &of_s, &of_kind].map(Tail::event).into_iter();
        let header = people.line();
        worker.append("t", "b", "words").await;
        // Neither the broker's end nor the daemon's is theirs.
        tokio::task::block_in_place(|| {
            house.broker.restart();
            house.kill_daemon();
            house.start_daemon();
        });
        worker.call("s", "prune", json!({ "spans": ["a"] })).await;
        worker.call("t", "close", json!({})).await;
        let (s, t) = (worker.history("s").await, worker.history("t").await);
        let mut events: Vec<Value> = s.iter().chain(&t).cloned().collect();
        events.sort_by_key(|event| event["seq"].as_u64().unwrap());
        let mut expected = |tail: &Tail, wanted: Vec<&Value>| {
            assert_eq!(firsts.next().as_ref(), Some(wanted[0]));
            for event in &wanted[1..] {
                assert_eq!(tail.event(), **event);
            }
        };
        expected(&all, events.iter().collect());
        expected(&part, events[2..].iter().collect());
        expected(&of_s, s[1..].iter().collect());
        let is_of_kind = |event: &&Value| kinds.contains(&event["kind"].as_str().unwrap());
        expected(&of_kind, events.iter().filter(is_of_kind).collect());
        let words: Vec<&str> = header.split_whitespace().collect();
        assert_eq!(words, ["SEQ", "AT", "SESSION", "VERSION", "BY", "EVENT"]);
        for event in &events {
            let line = people.line();
            let kind = event["kind"].as_str().unwrap();
            assert_eq!(line.find(kind), header.find("EVENT"), "{header}\n{line}");
            let seq = line.split_whitespace().next().unwrap();
            assert_eq!(seq, event["seq"].to_string(), "{line}");
        }
        for tail in [all, part, of_s, of_kind, people] {
            tail.interrupt();
        }
    });
}

#[test]
fn without_a_place_it_begins_with_what_comes_next() {
    let house = House::start(&current_server());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let worker = house.worker().await;
        worker.open("s").await;
        let tails = [
            Tail::start(&house.url(), &["--json"]),
            Tail::start(&house.url(), &["--json", "--session", "s"]),
        ];
        // They look once where the journal ends; until both have, there is nothing to see.
        let mut number = 0;
        for tail in &tails {
            let event = loop {
                worker.append("s", &format!("a{number}"), "words").await;
                number += 1;
                if let Ok(line) = tail.lines.recv_timeout(Duration::from_millis(200)) {
                    break serde_json::from_str::<Value>(&line).unwrap();
                }
                assert!(number < 200, "nothing comes");
            };
            assert_eq!(event["kind"], "span-recorded", "what was before is not shown: {event}");
        }
    });
}

#[test]
fn what_cannot_be_followed_is_said() {
    let mut house = House::start(&current_server());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let worker = house.worker().await;
        worker.open("s").await;
        worker.append("s", "a", "words").await;
    });
    let cli = house.cli();
    let ran = cli.run(&["tail", "--tenant", "acme", "-s", "nowhere"]);
    assert_eq!(ran.code, 4, "{}", ran.err);
    assert!(ran.err.contains("unknown_session"), "{}", ran.err);
    let ran = cli.run(&["tail", "--kind", "span-recordet"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("span-recordet") && ran.err.contains("notice-given"), "{}", ran.err);
    // A journal that a daemon holds cannot be opened beside it; one that nobody holds does not grow.
    let direct = Cli::journal(&house.journal());
    let ran = direct.run(&["tail", "--tenant", "acme"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.err.contains("in use by another process"), "{}", ran.err);
    house.stop_daemon();
    for arguments in [&["tail"][..], &["tail", "-s", "s"]] {
        let ran = direct.run(&[arguments, &["--tenant", "acme", "--from", "2", "--json"]].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.err.contains("nothing is added"), "{}", ran.err);
        let event: Value = serde_json::from_str(ran.out.trim()).unwrap();
        assert_eq!(event["span"], "a");
    }
}
