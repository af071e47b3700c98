//! Real transcripts, where they are at hand: each imports, verifies, and renders to requests that
//! providers accept; importing again changes nothing, and one that has grown goes on.

use std::path::{Path, PathBuf};

use lacuna_core::{SessionKey, SessionState, Timestamp};
use lacuna_store::{Moment, Store, StoreOptions};
use serde_json::{Value, json};

use crate::rig::{
    Broker, Cli, Daemon, Worker, anthropic_accepts, current_server, openai_accepts, repository,
};

/// The folder of one format's transcripts, if they are at hand.
pub(crate) fn transcripts(format: &str) -> Option<PathBuf> {
    let folder = repository().parent().unwrap().join("shared/data/transcripts").join(format);
    if !folder.is_dir() {
        eprintln!("NOT TESTED: no real transcripts in {}", folder.display());
        return None;
    }
    Some(folder)
}

/// What is imported at a time: a file, or a folder of files that belong together.
fn imports(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
        .into_iter()
        // The small fixtures have nothing to do with each other.
        .flat_map(|path| if path.ends_with("fixtures") { imports(&path) } else { vec![path] })
        .collect()
}

fn number(value: &Value, field: &str) -> u64 {
    value[field].as_u64().unwrap_or_else(|| panic!("{field} of {value}"))
}

/// A report's figures must fit together.
fn consistent(report: &Value) {
    let figure = |field| number(report, field);
    assert_eq!(figure("records"), figure("understood") + figure("kept_raw"), "{report}");
    assert!(figure("in_window") <= figure("spans"), "{report}");
    assert!(figure("summaries") + figure("pruned") <= figure("spans"), "{report}");
    let raw: u64 = report["raw"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
    assert!(raw <= figure("spans") && raw >= figure("kept_raw"), "{report}");
    assert_eq!(figure("records") == 0, figure("bytes") == 0, "{report}");
}

/// All messages of a window in a provider's form.
async fn rendered(worker: &Worker, session: &str, render: &str) -> (Vec<Value>, Vec<Value>) {
    let mut body = json!({ "render": render });
    let (mut system, mut messages) = (Vec::new(), Vec::new());
    loop {
        let page = worker.call(session, "window", body.clone()).await;
        messages.extend(page["messages"].as_array().unwrap().iter().cloned());
        if let Some(blocks) = page["system"].as_array() {
            system.clone_from(blocks);
        }
        if page["next"].is_null() {
            return (system, messages);
        }
        body["at"] = json!({ "version": page["version"] });
        body["from"] = page["next"].clone();
    }
}

/// Whether a session's window is accepted by both providers, and has as many spans as was reported.
async fn sound(worker: &Worker, report: &Value) -> Result<(), String> {
    let session = report["session"].as_str().unwrap();
    let answer = worker.call(session, "expand", json!({ "span": "never-recorded" })).await;
    assert_eq!(answer["outcome"], "never_recorded");
    assert_eq!(answer["evidence"]["spans_recorded"], report["spans"], "{report}");
    if report["in_window"] == 0 {
        return Ok(());
    }
    let (_, messages) = rendered(worker, session, "openai").await;
    assert!(!messages.is_empty(), "{report}");
    openai_accepts(&messages).map_err(|why| format!("{session}, openai: {why}"))?;
    let (system, messages) = rendered(worker, session, "anthropic").await;
    assert!(!messages.is_empty() || !system.is_empty(), "{report}");
    anthropic_accepts(&system, &messages).map_err(|why| format!("{session}, anthropic: {why}"))
}

/// A session goes into another journal and comes out as the same file, with the same window.
fn carried_over(cli: &Cli, report: &Value, name: &str) {
    let session = report["session"].as_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let export = |cli: &Cli, file: &str| {
        let file = folder.path().join(file);
        cli.done(&["export", "-s", session, "-o", file.to_str().unwrap()]);
        (std::fs::read(&file).unwrap(), file.display().to_string())
    };
    let (exported, file) = export(cli, "first.jsonl");
    let other = Cli::journal(&folder.path().join("journal"));
    other.done(&["import", &file]);
    let (again, _) = export(&other, "again.jsonl");
    assert!(again == exported, "{name}, {session}: another file came out");
    let window = |cli: &Cli| cli.done(&["window", "-s", session])["entries"].clone();
    assert!(window(&other) == window(cli), "{name}, {session}: another window");
    let verified = other.done(&["verify"]);
    assert_eq!(verified["faults"], json!([]), "{name}, {session}");
}

async fn every_one_imports(format: &str) {
    let Some(folder) = transcripts(format) else { return };
    let broker = Broker::start(&current_server());
    let worker = Worker::connect(&broker.url(), "default", "reader").await;
    let (mut sessions, mut faults) = (0, Vec::new());
    for path in imports(&folder) {
        let name = path.strip_prefix(&folder).unwrap().display().to_string();
        let journal = tempfile::tempdir().unwrap();
        let cli = Cli::journal(journal.path());
        let text = path.to_str().unwrap();
        let report = cli.done(&["import", text]);
        let head = cli.done(&["head"]);
        let reports = report["sessions"].as_array().unwrap();
        assert!(!reports.is_empty(), "{name}");
        reports.iter().for_each(consistent);
        assert_eq!(report["dry_run"], false);
        let again = cli.done(&["import", text]);
        assert_eq!(again, report, "{name}");
        assert_eq!(
            cli.done(&["head"])["head"],
            head["head"],
            "{name}: importing again changes nothing"
        );
        let dry = cli.done(&["import", text, "--dry-run"]);
        assert_eq!(dry["sessions"], report["sessions"], "{name}");
        let verified = cli.done(&["verify"]);
        assert_eq!((&verified["ok"], &verified["faults"]), (&true.into(), &json!([])), "{name}");
        assert_eq!(verified["checked"]["events"], head["seq"], "{name}");
        reports.iter().for_each(|report| carried_over(&cli, report, &name));
        let daemon = Daemon::start(journal.path(), &broker.url());
        for report in reports {
            sessions += 1;
            if let Err(why) = sound(&worker, report).await {
                faults.push(format!("{name}: {}", why.chars().take(400).collect::<String>()));
            }
        }
        daemon.stop();
        for report in reports {
            rebuilt(journal.path(), report["session"].as_str().unwrap());
        }
    }
    eprintln!("{format}: {sessions} sessions");
    assert!(faults.is_empty(), "{} windows are refused:\n{}", faults.len(), faults.join("\n"));
}

/// The state at every tenth version is the same from snapshots, with the help of the newest state, and
/// folded from the first event on.
fn rebuilt(journal: &Path, session: &str) {
    let store = Store::open(journal, &StoreOptions::default()).unwrap();
    let key = SessionKey { tenant: "default".parse().unwrap(), session: session.parse().unwrap() };
    let number = store.session(&key).unwrap().unwrap();
    let newest = store.load(number).unwrap().unwrap();
    let (mut folded, mut from) = (None::<SessionState>, 1);
    while from <= newest.version {
        for event in store.history(number, from, 1_000).unwrap() {
            from = event.version + 1;
            match &mut folded {
                None => folded = SessionState::open(&event),
                Some(state) => state.evolve(&event),
            }
            let state = folded.as_ref().unwrap();
            if state.version % 10 == 0 {
                let then = Moment::version(state.version);
                let earlier = store.load_earlier(&newest, then).unwrap().unwrap();
                assert!(earlier == *state, "{session} at {}", state.version);
            }
            if state.version % 100 == 0 {
                let always = Timestamp(u64::MAX);
                let loaded = store.load_at(number, state.version, always).unwrap().unwrap();
                assert!(loaded == *state, "{session} at {}", state.version);
            }
        }
    }
    assert!(folded.unwrap() == newest, "{session}");
    store.close().unwrap();
}

fn run(scenario: impl Future<Output = ()>) {
    tokio::runtime::Runtime::new().unwrap().block_on(scenario);
}

#[test]
fn of_openai_chat() {
    run(every_one_imports("openai_chat"));
}

#[test]
fn of_claude_code() {
    run(every_one_imports("claude_code"));
}

#[test]
fn of_openhands() {
    run(every_one_imports("openhands"));
}

#[test]
fn of_pi() {
    run(every_one_imports("pi"));
}

#[test]
fn of_atif() {
    run(every_one_imports("atif"));
}

#[test]
fn a_transcript_that_has_grown_goes_on_in_its_session() {
    let Some(folder) = transcripts("claude_code") else { return };
    let journal = tempfile::tempdir().unwrap();
    let cli = Cli::journal(journal.path());
    let snapshot = |n: u32| folder.join(format!("grow-a-snap{n}.jsonl")).display().to_string();
    let events = || {
        let mut history = cli.done(&["history", "-s", "grown"]);
        let Value::Array(events) = history["events"].take() else { panic!("{history}") };
        events
    };
    let mut before: Vec<Value> = Vec::new();
    for n in 1..=3 {
        let report = cli.done(&["import", &snapshot(n), "--session", "grown"]);
        let report = &report["sessions"][0];
        consistent(report);
        let after = events();
        assert!(after.len() > before.len(), "snapshot {n} adds something");
        assert_eq!(after[..before.len()], before, "snapshot {n}: what was there stays");
        let spans = after.iter().filter(|event| {
            event["kind"] == "span-recorded" || event["kind"] == "summary-recorded"
        });
        assert_eq!(spans.count() as u64, number(report, "spans"), "snapshot {n}: each span once");
        before = after;
    }
    // The same as importing the last one alone, as far as the spans go.
    let alone = tempfile::tempdir().unwrap();
    let other = Cli::journal(alone.path());
    other.done(&["import", &snapshot(3), "--session", "grown"]);
    let spans = |cli: &Cli| -> Vec<Value> {
        let states = cli.json(&["durability", "-s", "grown"]).1;
        states["spans"].as_array().unwrap().iter().map(|span| span["id"].clone()).collect()
    };
    let sorted = |mut ids: Vec<Value>| {
        ids.sort_by_key(ToString::to_string);
        ids
    };
    assert_eq!(sorted(spans(&cli)), sorted(spans(&other)));
    // An older snapshot adds nothing to a session that knows the newer one.
    cli.done(&["import", &snapshot(1), "--session", "grown"]);
    assert_eq!(events(), before);
    assert_eq!(cli.done(&["verify"])["ok"], true);
}
