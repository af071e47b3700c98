//! A run and an erasure that are killed behind every step: neither is a payload gone without its event, nor
//! does an event stand without its removal being brought to an end.

use std::path::Path;
use std::process::Command;

use lacuna_store::{CRASH_AT, STEPS};
use serde_json::{Value, json};

use crate::rig::{Cli, comes_out, lacuna};

const CANARY: &str = "CANARY-5f3c9a";

fn policy(notice: Option<&str>) -> String {
    let mut rule = json!({
        "id": "all", "match": {}, "keep": { "for": "0s" }, "live_handles": "commit",
    });
    if let Some(notice) = notice {
        rule["notice"] = notice.into();
    }
    json!({ "rules": [rule] }).to_string()
}

/// A journal with spans that are to go, small and large, live and pruned.
fn journal(folder: &Path, notice: Option<&str>) -> Cli {
    let cli = Cli::journal(folder);
    cli.done(&["open", "-s", "s"]);
    let large = format!("{CANARY} {}", "x".repeat(700_000));
    for (id, text) in [("a", CANARY), ("b", "CANARY-5f3c9a again"), ("large", &large)] {
        let ran = cli.run_with(text.as_bytes(), &["append", "-s", "s", "--id", id]);
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    cli.done(&["prune", "-s", "s", "a"]);
    assert!(comes_out(folder, CANARY), "with the keys it is found");
    let (code, reply) = cli.json_with(policy(notice).as_bytes(), &["policy", "set", "-"]);
    assert_eq!(code, 0, "{reply}");
    cli
}

/// Runs a command that has to end behind this step, as if it were killed.
fn killed(folder: &Path, step: &str, arguments: &[&str]) {
    let mut command = Command::new(lacuna());
    command.args(arguments).arg("--journal").arg(folder).env(CRASH_AT, step);
    let ended = command.output().unwrap();
    let signal = std::os::unix::process::ExitStatusExt::signal(&ended.status);
    assert_eq!(signal, Some(6), "{step} was never reached: {ended:?}");
}

fn outcomes(cli: &Cli) -> Vec<String> {
    let spans = ["a", "b", "large"];
    let outcome = |span: &&str| {
        let (_, reply) = cli.json(&["expand", "-s", "s", span]);
        let readable = reply["content"].as_str().is_some_and(|text| text.contains(CANARY));
        let word = reply["outcome"].as_str().unwrap().to_owned();
        // Exactly what is not lost can be read.
        assert_eq!(readable, word != "lossy", "{reply}");
        word
    };
    spans.iter().map(outcome).collect()
}

fn books_agree(cli: &Cli, lost: usize) {
    let verified = cli.done(&["verify"]);
    assert_eq!((&verified["ok"], &verified["faults"]), (&json!(true), &json!([])));
    let ledger = cli.done(&["ledger"]);
    assert_eq!(ledger["entries"].as_array().map(Vec::len), Some(lost), "{ledger}");
}

#[test]
fn a_run_that_is_killed_behind_any_step_is_brought_to_its_end() {
    let taken: Vec<&str> = STEPS.iter().copied().filter(|step| *step != "notice-given").collect();
    for step in taken {
        let folder = tempfile::tempdir().unwrap();
        let cli = journal(folder.path(), None);
        killed(folder.path(), step, &["run"]);
        let before = outcomes(&cli);
        let gone = before.iter().all(|outcome| outcome == "lossy");
        let at = |name: &str| STEPS.iter().position(|step| *step == name).unwrap();
        assert_eq!(gone, at(step) >= at("removal-committed"), "{step}: {before:?}");
        // The next run goes on with the one that was cut off, then does its own.
        let next = cli.done(&["run"]);
        assert_eq!((&next["run"], &next["removed"]["spans"]), (&json!("r2"), &json!(0)), "{step}");
        assert!(outcomes(&cli).iter().all(|outcome| outcome == "lossy"), "{step}");
        books_agree(&cli, 3);
        let events = cli.done(&["history", "-s", "_retention"]);
        let closed: Vec<&Value> = events["events"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|event| event["kind"] == "run-closed")
            .collect();
        assert_eq!(closed.len(), 2, "{step}: {events}");
        assert_eq!(closed[0]["removed"]["spans"], 3, "{step}: what went before counts");
        assert!(!comes_out(folder.path(), CANARY), "{step}");
    }
}

#[test]
fn a_run_that_is_killed_behind_its_notice_gives_none_twice() {
    let folder = tempfile::tempdir().unwrap();
    let cli = journal(folder.path(), Some("1h"));
    killed(folder.path(), "notice-given", &["run"]);
    assert_eq!(outcomes(&cli), ["scheduled"; 3]);
    let next = cli.done(&["run"]);
    assert_eq!((&next["noticed"], &next["removed"]["spans"]), (&json!(0), &json!(0)));
    let events = cli.done(&["history", "-s", "s"]);
    let notices = events["events"].as_array().unwrap().iter();
    assert_eq!(notices.filter(|event| event["kind"] == "notice-given").count(), 1, "{events}");
    let runs = cli.done(&["history", "-s", "_retention"]);
    let first = runs["events"].as_array().unwrap().iter().find(|e| e["kind"] == "run-closed");
    assert_eq!(first.unwrap()["noticed"], 3, "{runs}");
    books_agree(&cli, 0);
}

#[test]
fn an_erasure_that_is_killed_behind_any_step_happened_or_did_not() {
    for step in
        ["removal-prepared", "removal-committed", "key-file-1", "key-file-2", "punctures-cleared"]
    {
        let folder = tempfile::tempdir().unwrap();
        let cli = journal(folder.path(), None);
        let erase = ["erase", "-s", "s", "--all", "--reason", "asked"];
        killed(folder.path(), step, &erase);
        let gone = step != "removal-prepared";
        let expected = if gone { "lossy" } else { "live" };
        assert_eq!(outcomes(&cli)[1..], [expected, expected], "{step}");
        books_agree(&cli, if gone { 3 } else { 0 });
        let again = cli.done(&erase);
        assert_eq!(again["removed"]["spans"], if gone { 0 } else { 3 }, "{step}");
        books_agree(&cli, 3);
        assert!(!comes_out(folder.path(), CANARY), "{step}");
    }
}
