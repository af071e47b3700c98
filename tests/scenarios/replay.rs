//! `lacuna replay`: a session step by step, for pipes and for workers that are being debugged.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use futures_util::StreamExt as _;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::rig::{Broker, Cli, House, Ran, current_server, free_port, lacuna, with_each_broker};
use crate::transcripts::transcripts;

const PATIENCE: Duration = Duration::from_secs(40);

/// A journal with a session `s` in which everything happens, and a fork `f` of it.
pub(crate) fn journal() -> (TempDir, Cli) {
    let folder = tempfile::tempdir().unwrap();
    let cli = Cli::journal(&folder.path().join("journal"));
    let sample = folder.path().join("sample.json");
    std::fs::write(&sample, r#"[{"role":"user","content":"hello"}]"#).unwrap();
    // Only import and serve make a journal.
    cli.done(&["import", sample.to_str().unwrap(), "--session", "first"]);
    record(&cli, folder.path());
    (folder, cli)
}

pub(crate) fn record(cli: &Cli, folder: &Path) {
    cli.done(&["open", "-s", "s", "--contract", "record"]);
    for id in ["a", "b", "c"] {
        let ran = cli.run_with(b"The port is 5433.", &["append", "-s", "s", "--id", id]);
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    let secret = ["append", "-s", "s", "--id", "secret", "--withhold", "a password"];
    assert_eq!(cli.run_with(b"hunter2", &secret).code, 0);
    cli.done(&["prune", "-s", "s", "a", "--reason", "it is in b too"]);
    cli.done(&["restore", "-s", "s", "a"]);
    let claims = folder.join("claims.json");
    let claim = json!([{ "text": "The port is 5433.", "origin": "user-said", "sources": [{ "span": "b" }] }]);
    std::fs::write(&claims, claim.to_string()).unwrap();
    let claims = claims.to_str().unwrap();
    let sum = ["summarize", "-s", "s", "--id", "sum", "--covers", "b,c", "--claims", claims];
    assert_eq!(cli.run_with(b"The port is 5433.", &sum).code, 0);
    cli.done(&["prune", "-s", "s", "b", "c", "--mode", "summarize", "--replace-with", "sum"]);
    assert_eq!(cli.json(&["prune", "-s", "s", "secret", "--reason", "room"]).0, 3);
    cli.done(&["prune", "-s", "s", "secret", "--accept-lossy"]);
    cli.done(&["fork", "-s", "f", "--from", "s"]);
    cli.done(&["prune", "-s", "f", "sum"]);
}

pub(crate) fn history(cli: &Cli, session: &str) -> Vec<Value> {
    cli.done(&["history", "-s", session])["events"].as_array().unwrap().clone()
}

fn objects(ran: &Ran) -> Vec<Value> {
    assert_eq!(ran.code, 0, "{}", ran.err);
    ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// How each span stands otherwise in a step.
fn changes(step: &Value) -> Vec<(&str, &str)> {
    let word = |change: &'_ Value, field: &str| change[field].as_str().map(str::to_owned);
    let changes = step["changes"].as_array().unwrap();
    assert!(changes.iter().all(|change| word(change, "span").is_some()), "{step}");
    changes.iter().map(|c| (c["span"].as_str().unwrap(), c["what"].as_str().unwrap())).collect()
}

#[test]
fn every_step_tells_its_event_what_changed_and_why() {
    let (_folder, cli) = journal();
    let steps = objects(&cli.run(&["replay", "-s", "s", "--json", "--window"]));
    let events = history(&cli, "s");
    let told: Vec<&Value> = steps.iter().map(|step| &step["event"]).collect();
    assert_eq!(told, events.iter().collect::<Vec<_>>(), "every event, in order, as history has it");
    for (step, event) in steps.iter().zip(&events) {
        let version = event["version"].to_string();
        // The same as the verbs say about that moment.
        let window = cli.done(&["window", "-s", "s", "--at", &version]);
        assert_eq!((&step["window"], &step["budget"]), (&window["entries"], &window["budget"]));
        assert_eq!(step["entries"], window["entries"].as_array().unwrap().len());
        assert_eq!(step["evidence"], window["evidence"]);
        let before = event["version"].as_u64().unwrap().saturating_sub(1).max(1).to_string();
        let diff = cli.done(&["diff", "-s", "s", "--from", &before, "--to", &version]);
        assert_eq!((&step["changes"], &step["counts"]), (&diff["changes"], &diff["counts"]));
    }
    let of = |kind: &str| {
        let of_kind = steps.iter().filter(|step| step["event"]["kind"] == kind);
        of_kind.map(changes).collect::<Vec<_>>()
    };
    assert_eq!(of("session-opened"), [[]]);
    assert_eq!(of("span-restored"), [[("a", "returned")]]);
    let prunes = of("prune-executed");
    assert_eq!(prunes[0], [("a", "left")]);
    assert!(prunes[1].contains(&("b", "left")) && prunes[1].contains(&("c", "left")), "{prunes:?}");
    let gone = steps.iter().flat_map(changes).filter(|change| *change == ("secret", "lost"));
    assert_eq!(gone.count(), 1);
    // A fork begins with the story that it took over.
    let forked = objects(&cli.run(&["replay", "-s", "f", "--json"]));
    assert!(forked.iter().all(|step| step["window"].is_null()));
    let (before, own) = forked.split_at(steps.len());
    assert!(before.iter().zip(&steps).all(|(b, s)| b["event"]["hash"] == s["event"]["hash"]));
    assert_eq!(own[0]["event"]["kind"], "session-forked");
    assert_eq!((changes(&own[0]), &own[0]["counts"]["unchanged"]), (vec![], &5.into()));
    assert_eq!((changes(&own[1]), own.len()), (vec![("sum", "left")], 2));
}

#[test]
fn pipes_get_every_step_on_few_lines() {
    let (folder, cli) = journal();
    let ran = cli.run(&["replay", "-s", "s"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let events = history(&cli, "s");
    let last = events.len();
    let mut at = 0;
    for event in &events {
        let (version, kind) = (&event["version"], event["kind"].as_str().unwrap());
        let heading = format!("── version {version} of {last}  {kind}  ");
        let place = ran.out.find(&heading).unwrap_or_else(|| panic!("{heading:?} in {}", ran.out));
        assert!(place >= at, "in order: {}", ran.out);
        at = place;
    }
    assert!(ran.out.contains("because: it is in b too"), "{}", ran.out);
    assert!(ran.out.contains("because: room"), "of what was rejected: {}", ran.out);
    assert!(ran.out.contains("because: directive by cli under p"), "{}", ran.out);
    assert!(ran.out.contains("the window begins empty"), "{}", ran.out);
    assert!(ran.out.contains("1 returned"), "{}", ran.out);
    assert!(ran.out.contains(&format!("{last} steps; ")), "{}", ran.out);
    assert!(!ran.out.contains('\u{1b}') && ran.out.lines().all(|line| !line.ends_with(' ')));
    assert!(!ran.out.contains("The port is"), "windows are shown where they are asked for");
    let whole = cli.run(&["replay", "-s", "s", "--window", "--from", "4", "--to", "v5"]);
    assert_eq!(whole.out.matches("── version").count(), 2, "{}", whole.out);
    assert_eq!(whole.out.matches("The port is 5433.").count(), 6, "{}", whole.out);
    let ran = cli.run(&["replay", "-s", "f", "--kind", "session-forked"]);
    assert!(
        ran.out.contains(&format!("from s at version {last}\nnothing stands otherwise")),
        "{}",
        ran.out
    );
    let prunes = ["--kind", "prune-executed", "--kind", "span-restored"];
    let ran = cli.run(&[&["replay", "-s", "s"][..], &prunes].concat());
    assert_eq!(ran.out.matches("── version").count(), 4, "{}", ran.out);
    let ran = cli.run(&["replay", "-s", "s", "--kind", "run-opened"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    let words = format!("no event from version 1 to {last} is of kind run-opened");
    assert!(ran.err.contains(&words), "{}", ran.err);
    // Many changes are counted; the first are shown, and where the others are.
    let spans: Vec<Value> = (0..60)
        .map(|n| json!({ "id": format!("n{n}"), "role": "user", "origin": "user", "content": "x" }))
        .collect();
    let file = folder.path().join("spans.json");
    std::fs::write(&file, Value::from(spans).to_string()).unwrap();
    cli.done(&["append", "-s", "s", "--spans-json", file.to_str().unwrap()]);
    let names: Vec<String> = (0..60).map(|n| format!("n{n}")).collect();
    let prune = ["prune", "-s", "s"].into_iter().chain(names.iter().map(String::as_str));
    cli.done(&prune.collect::<Vec<_>>());
    let now = last + 61;
    let ran = cli.run(&["replay", "-s", "s", "--from", &now.to_string()]);
    assert!(ran.out.lines().count() < 25 && ran.out.contains("60 left"), "{}", ran.out);
    let more = format!("… and 48 more: lacuna diff -s s --from v{} --to v{now}", now - 1);
    assert!(ran.out.contains(&more), "{}", ran.out);
}

#[test]
fn what_cannot_be_replayed_is_said() {
    let (_folder, cli) = journal();
    let nowhere = format!("nats://127.0.0.1:{}", free_port());
    let refused = |code: i32, words: &str, arguments: &[&str]| {
        let ran = cli.run(&[&["replay"], arguments].concat());
        assert_eq!(ran.code, code, "{arguments:?}: {} {}", ran.out, ran.err);
        assert!(ran.err.contains(words), "{arguments:?}: {}", ran.err);
        assert!(ran.out.is_empty() && !ran.err.contains("panicked"), "{}{}", ran.out, ran.err);
    };
    refused(2, "--session", &[]);
    refused(4, "unknown_session", &["-s", "nobody"]);
    refused(2, "there are", &["-s", "s", "--kind", "prune-done"]);
    refused(2, "give the earlier moment", &["-s", "s", "--from", "7", "--to", "3"]);
    refused(2, "", &["-s", "s", "--from", "1000"]);
    refused(2, "is no moment", &["-s", "s", "--to", "soon"]);
    refused(2, "--publish", &["-s", "s", "--speed", "2"]);
    refused(2, "a speed is", &["-s", "s", "--publish", "x", "--speed", "-1"]);
    refused(2, "a speed is", &["-s", "s", "--publish", "x", "--speed", "fast"]);
    refused(2, "cannot be used with", &["-s", "s", "--publish", "x", "--window"]);
    let feed = "lacuna.v1.events.default.s.span-read";
    refused(2, "the daemon's own", &["-s", "s", "--publish", feed]);
    refused(2, "stand for many", &["-s", "s", "--publish", "debug.*"]);
    refused(1, "no broker answers", &["-s", "s", "--publish", "debug", "--nats", &nowhere]);
}

#[test]
fn a_worker_gets_the_events_of_history_in_order() {
    with_each_broker(async |server| {
        let mut house = House::start(server);
        record(&house.cli(), house.folder());
        let events = history(&house.cli(), "s");
        let nats = house.worker().await.nats;
        let mut heard = nats.subscribe("debug.>").await.unwrap();
        nats.flush().await.unwrap();
        // Through the daemon; then from the journal's folder, with the broker for nothing but sending.
        let url = house.url();
        let replay = ["replay", "-s", "s", "--publish", "debug.s", "--speed", "max", "--json"];
        for direct in [false, true] {
            let journal = house.journal();
            let ran = tokio::task::block_in_place(|| match direct {
                false => house.cli().run(&replay),
                true => {
                    house.stop_daemon();
                    Cli::journal(&journal).run(&[&replay[..], &["--nats", &url]].concat())
                }
            });
            assert_eq!(objects(&ran), events);
            let said = format!("{0} events sent to debug.s in ", events.len());
            assert!(ran.err.contains(&said), "{}", ran.err);
            assert!(!ran.err.contains("pause"), "{}", ran.err);
            for event in &events {
                let message = tokio::time::timeout(PATIENCE, heard.next()).await.unwrap().unwrap();
                assert_eq!(serde_json::from_slice::<Value>(&message.payload).unwrap(), *event);
                let id = format!("{}:{}", event["journal"].as_str().unwrap(), event["seq"]);
                let header = message.headers.as_ref().unwrap().get("Nats-Msg-Id").unwrap();
                assert_eq!((header.as_str(), message.subject.as_str()), (id.as_str(), "debug.s"));
            }
        }
        let some =
            ["--from", "3", "--to", "7", "--kind", "span-restored", "--kind", "span-recorded"];
        let ran = tokio::task::block_in_place(|| {
            let place = ["--nats", &url];
            Cli::journal(&house.journal()).run(&[&replay[..], &some, &place].concat())
        });
        let wanted = |event: &&Value| {
            ["span-restored", "span-recorded"].contains(&event["kind"].as_str().unwrap())
        };
        assert_eq!(objects(&ran), events[2..7].iter().filter(wanted).cloned().collect::<Vec<_>>());
        assert_eq!(objects(&ran).len(), 4);
    });
}

#[test]
fn events_come_at_the_pace_of_recording_and_long_pauses_are_cut() {
    let (folder, cli) = journal();
    std::thread::sleep(Duration::from_secs(2));
    cli.done(&["close", "-s", "s"]);
    let broker = Broker::start(&current_server());
    let url = broker.url();
    let last = history(&cli, "s").len();
    let from = (last - 1).to_string();
    let replay = |cli: &Cli, speed: &str| {
        let place = ["--speed", speed, "--nats", &url, "--from", &from];
        cli.run(&[&["replay", "-s", "s", "--publish", "debug"][..], &place].concat())
    };
    // Never sooner; how much later is the machine's affair.
    let ran = replay(&cli, "1");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.took >= Duration::from_secs(2), "{:?}", ran.took);
    assert!(
        ran.err.contains("2 events sent to debug in ") && !ran.err.contains("cut"),
        "{}",
        ran.err
    );
    assert_eq!(ran.out.lines().count(), 3, "a line each below the header: {}", ran.out);
    // Of a session from another journal it is the pace there.
    let file = folder.path().join("s.jsonl");
    cli.done(&["export", "-s", "s", "-o", file.to_str().unwrap()]);
    let other = Cli::journal(&folder.path().join("other"));
    other.done(&["import", file.to_str().unwrap()]);
    let ran = replay(&other, "1");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.took >= Duration::from_secs(2), "{:?}", ran.took);
    let shown = other.run(&["replay", "-s", "s", "--from", &from]);
    assert!(shown.out.contains("brought by cli"), "{}", shown.out);
    let ran = replay(&cli, "0.0001");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.took >= Duration::from_secs(5), "{:?}", ran.took);
    let words = format!("before version {last} is cut to 5 seconds");
    assert!(ran.err.contains(&words) && ran.err.contains("1 pauses were cut"), "{}", ran.err);
}

#[test]
fn a_broker_that_refuses_is_not_taken_for_one_that_listens() {
    let (_folder, cli) = journal();
    let lines = r#"
        authorization { users: [
            { user: "w", password: "w", permissions: { publish: ["debug.mine", "_INBOX.>"] } },
            { user: "narrow", password: "n", permissions: { publish: ["debug.mine"] } } ] }
    "#;
    let broker = Broker::start_with(&current_server(), lines, free_port());
    for user in [("w", "w"), ("narrow", "n")] {
        let url = broker.url_as(user.0, user.1);
        let publish = |subject: &str| {
            let place = ["--publish", subject, "--speed", "max", "--nats", &url];
            cli.run(&[&["replay", "-s", "s"][..], &place].concat())
        };
        let ran = publish("debug.theirs");
        assert_eq!(ran.code, 1, "{}", ran.err);
        assert!(ran.err.contains("the broker refuses what is sent to debug.theirs"), "{}", ran.err);
        assert!(
            ran.err.contains("another user") && !ran.err.contains("events sent"),
            "{}",
            ran.err
        );
        let ran = publish("debug.mine");
        assert_eq!(ran.code, 0, "{user:?}: {}", ran.err);
        assert!(ran.err.contains("events sent to debug.mine"), "{}", ran.err);
    }
}

#[test]
fn real_transcripts_are_replayed_on_few_lines_a_step() {
    let Some(transcripts) = transcripts("claude_code") else { return };
    let folder = tempfile::tempdir().unwrap();
    let cli = Cli::journal(&folder.path().join("journal"));
    let file = transcripts.join("grow-a-snap1.jsonl");
    cli.done(&["import", file.to_str().unwrap(), "--session", "s"]);
    let events = history(&cli, "s");
    assert!(events.len() > 10, "{}", events.len());
    let steps = objects(&cli.run(&["replay", "-s", "s", "--json"]));
    assert_eq!(steps.iter().map(|step| step["event"].clone()).collect::<Vec<_>>(), events);
    let ran = cli.run(&["replay", "-s", "s"]);
    let told: Vec<&str> = ran.out.split("── version ").skip(1).collect();
    assert_eq!(told.len(), events.len());
    assert!(told.iter().all(|step| step.lines().count() < 25), "{}", ran.out);
}

/// Ctrl-C and closed pipes end it quietly.
#[test]
fn it_ends_when_it_is_told_to_or_nobody_reads() {
    let (folder, cli) = journal();
    let mut broker = Broker::start(&current_server());
    let journal = folder.path().join("journal");
    let start = |arguments: &[&str]| {
        let mut command = Command::new(lacuna());
        command.args(["replay", "-s", "s", "--journal", journal.to_str().unwrap()]).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    // Between two messages that are long apart: the first line is out.
    cli.run_with(b"x", &["append", "-s", "s", "--id", "late"]);
    let slow = ["--publish", "debug", "--speed", "0.0001", "--nats", &broker.url()];
    let mut child = start(&slow);
    let mut out = child.stdout.take().unwrap();
    let mut some = [0; 1];
    out.read_exact(&mut some).unwrap();
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(0), "{said}");
    assert!(said.contains("stopped: --from v"), "{said}");
    // A broker that goes away.
    let mut child = start(&slow);
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut some).unwrap();
    broker.stop();
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    let words = "the connection to the broker broke; all before version ";
    assert!(said.contains(words) && said.contains(" goes on"), "{said}");
    assert!(!said.contains("events sent"), "{said}");
    // A reader that goes away at once.
    for more in [&["--json", "--window"][..], &["--window"]] {
        let mut child = start(more);
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!((ended.status.code(), said.as_str()), (Some(0), ""));
    }
    assert_eq!(cli.done(&["verify"])["ok"], true, "the journal was closed each time");
}
