//! Exit codes: 0 done, 1 failed, 2 usage, 3 rejected by a rule, 4 not found or lost, 5 damaged.

use std::path::Path;

use tempfile::TempDir;

use crate::rig::{Cli, Daemon, House, Ran, current_server, flip_a_payload_byte, free_port};

/// A session `s` with a span `a`, and a span `secret` whose content was withheld.
fn journal() -> (TempDir, Cli) {
    let folder = tempfile::tempdir().unwrap();
    drop(Cli::journal(folder.path()).run(&["import", "--dry-run", "/dev/null"]));
    let cli = Cli::journal(folder.path());
    let sample = folder.path().join("sample.json");
    std::fs::write(&sample, r#"[{"role":"user","content":"hello"}]"#).unwrap();
    // Only import and serve make a journal; the other commands refuse a folder without one.
    let made = cli.run(&["import", sample.to_str().unwrap(), "--session", "first"]);
    assert_eq!(made.code, 0, "{}", made.err);
    record(&cli);
    (folder, cli)
}

fn record(cli: &Cli) {
    expect(cli, 0, &["open", "-s", "s"]);
    assert_eq!(cli.run_with(b"plain words", &["append", "-s", "s", "--id", "a"]).code, 0);
    let secret = ["append", "-s", "s", "--id", "secret", "--withhold", "a password"];
    assert_eq!(cli.run_with(b"hunter2", &secret).code, 0);
}

fn expect(cli: &Cli, code: i32, arguments: &[&str]) -> Ran {
    let ran = cli.run(arguments);
    assert_eq!(ran.code, code, "lacuna {arguments:?}: {} {}", ran.out, ran.err);
    ran
}

fn complains(ran: &Ran, words: &str) {
    assert!(ran.err.contains(words), "{words:?} is not in {:?}", ran.err);
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
}

/// The codes that depend on rules and findings, wherever the journal is reached.
fn rules(cli: &Cli) {
    let ran = expect(cli, 3, &["prune", "-s", "s", "secret"]);
    assert!(ran.out.contains("not_reversible"), "{}", ran.out);
    expect(cli, 3, &["prune", "-s", "s", "secret", "--dry-run"]);
    let ran = expect(cli, 3, &["prune", "-s", "s", "nobody"]);
    assert!(ran.out.contains("unknown_span"), "{}", ran.out);
    let ran = expect(cli, 4, &["expand", "-s", "s", "nobody"]);
    assert!(ran.out.contains("never_recorded"), "{}", ran.out);
    let ran = expect(cli, 4, &["expand", "-s", "s", "secret"]);
    assert!(ran.out.contains("withheld"), "{}", ran.out);
    complains(&expect(cli, 4, &["window", "-s", "no-such-session"]), "no-such-session");
    complains(&expect(cli, 4, &["restore", "-s", "s", "nobody"]), "nobody");
    expect(cli, 0, &["prune", "-s", "s", "secret", "--accept-lossy"]);
    let ran = expect(cli, 4, &["expand", "-s", "s", "secret"]);
    assert!(ran.out.contains("lossy"), "{}", ran.out);
    complains(&expect(cli, 4, &["restore", "-s", "s", "secret"]), "secret");
    expect(cli, 0, &["prune", "-s", "s", "a"]);
    expect(cli, 0, &["restore", "-s", "s", "a"]);
    let ran = expect(cli, 0, &["expand", "-s", "s", "a", "--raw"]);
    assert_eq!(ran.out, "plain words");
    expect(cli, 0, &["verify"]);
    // Usage: grammar, names and requests that the contract refuses.
    complains(&expect(cli, 2, &["prune", "-s", "s"]), "SPAN");
    complains(&expect(cli, 2, &["window"]), "--session");
    complains(&expect(cli, 2, &["window", "-s", "s", "--at", "yesterday"]), "yesterday");
    complains(&expect(cli, 2, &["expand", "-s", "s", "../../etc/passwd"]), "etc/passwd");
    complains(&expect(cli, 2, &["window", "-s", "a/b"]), "a/b");
    complains(&expect(cli, 2, &["window", "-s", "s", "--frobnicate"]), "--frobnicate");
    // Failed: neither usage nor a rule about spans.
    expect(cli, 0, &["close", "-s", "s"]);
    let ran = cli.run_with(b"late", &["append", "-s", "s"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    complains(&ran, "session_closed");
}

/// What the retention commands say to people, and how they end.
fn retention(cli: &Cli) {
    let tell = |code: i32, line: &str| expect(cli, code, &line.split(' ').collect::<Vec<_>>()).out;
    let has = |out: &str, words: &[&str]| {
        words.iter().for_each(|word| assert!(out.contains(word), "{word:?} is not in {out}"));
    };
    for line in ["open -s r", "append -s r --id t1 --role tool", "append -s r --id t2 --role tool"]
    {
        tell(0, line);
    }
    tell(0, "prune -s r t1 t2");
    let sample = crate::rig::repository().join("ops/samples/policy.json");
    let sample = sample.to_str().unwrap();
    has(&tell(0, "policy get"), &["everything is kept for ever", "no hold is in force"]);
    has(&tell(0, &format!("plan --rules {sample}")), &["no window would change", "policy set"]);
    let ahead = format!("plan --rules {sample} --now 2126-01-01T00:00:00Z --spans");
    has(&tell(0, &ahead), &["pruned-tool-output", "notice", "no window would change"]);
    has(&tell(0, &format!("policy set {sample}")), &["policy-1", "5 rules", "lacuna plan"]);
    has(
        &tell(0, "policy get"),
        &["30d since pruned, and only the newest 1000000000 bytes", "commit"],
    );
    let soon = r#"{"rules":[{"id":"soon","match":{"origins":["tool"]},"keep":{"for":"0s"},
        "notice":"1h","live_handles":"commit"}]}"#;
    let ran = cli.run_with(soon.as_bytes(), &["policy", "set", "-"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    complains(&expect(cli, 2, &["run", "-s", "r"]), "the whole tenant");
    has(&tell(0, "run"), &["announced", "lacuna plan tells when"]);
    has(&tell(0, "expand -s r t1"), &["scheduled", "its removal is announced for"]);
    has(&tell(0, "policy evaluate -s r t1"), &["rule soon of policy-2", "scheduled"]);
    has(&tell(0, "hold --sessions r --reason case"), &["h1 holds", "sessions r"]);
    complains(&expect(cli, 2, &["hold", "-s", "r", "--reason", "x"]), "--sessions r");
    complains(&expect(cli, 3, &["erase", "-s", "r", "t1", "--reason", "x"]), "h1");
    complains(&expect(cli, 2, &["erase", "-s", "r", "--reason", "x"]), "--all");
    has(&tell(0, "plan"), &["held: ", "lacuna release"]);
    has(&tell(0, "release h1 --reason over"), &["h1 is released"]);
    has(&tell(0, "erase -s r t1 --reason asked"), &["erased", "1 spans of r"]);
    has(&tell(0, "erase -s r t1 --reason asked"), &["nothing changed"]);
    has(&tell(4, "expand -s r t1"), &["lossy", "cause: erasure by cli at", ": asked"]);
    let now = soon.replace("1h", "0s");
    assert_eq!(cli.run_with(now.as_bytes(), &["policy", "set", "-"]).code, 0);
    has(&tell(0, "plan"), &["windows that would change", "lacuna run"]);
    has(&tell(0, "run"), &["r2 done under policy-3", "removed", "lacuna ledger"]);
    has(&tell(4, "expand -s r t2"), &["cause: retention run r2, rule soon of policy-3, at"]);
    has(&tell(0, "ledger"), &["r2, rule soon of policy-3", "erasure", "asked"]);
    has(&tell(0, "tombstones -s r"), &["r2, rule soon of policy-3", "asked"]);
    has(
        &tell(0, "history -s _retention"),
        &["policy-3 with 1 rules", "h1: case", "r2 done: removed 1"],
    );
    complains(&expect(cli, 2, &["policy", "set", "/dev/null"]), "a list of rules");
    expect(cli, 0, &["verify"]);
}

#[test]
fn with_a_journal_opened_directly() {
    let (_folder, cli) = journal();
    rules(&cli);
    retention(&cli);
}

#[test]
fn through_a_daemon() {
    let house = House::start(&current_server());
    record(&house.cli());
    rules(&house.cli());
    retention(&house.cli());
}

#[test]
fn what_cannot_be_reached_is_a_failure() {
    let nobody = Cli::nats(&format!("nats://127.0.0.1:{}", free_port()));
    complains(&expect(&nobody, 1, &["head"]), "no broker answers");
    let empty = tempfile::tempdir().unwrap();
    let ran = expect(&Cli::journal(empty.path()), 1, &["head"]);
    complains(&ran, "there is no journal in");
    let nowhere = Cli::journal(Path::new("/dev/null/journal"));
    complains(&expect(&nowhere, 1, &["head"]), "/dev/null/journal");
    let missing = expect(&Cli::nowhere(), 1, &["import", "/no/such/file"]);
    complains(&missing, "/no/such/file");
}

#[test]
fn a_broker_without_a_daemon_is_a_failure_that_says_so() {
    let broker = crate::rig::Broker::start(&current_server());
    let ran = expect(&Cli::nats(&broker.url()), 1, &["head"]);
    complains(&ran, "no daemon answers");
}

#[test]
fn damage_is_found_by_verify_and_by_the_gate() {
    let (folder, cli) = journal();
    expect(&cli, 0, &["verify"]);
    flip_a_payload_byte(folder.path());
    let ran = expect(&cli, 5, &["verify"]);
    assert!(ran.out.contains("is damaged: it is not what was encrypted"), "{}", ran.out);
    let (code, report) = cli.json(&["verify"]);
    assert_eq!((code, &report["ok"]), (5, &false.into()));
    assert_eq!(report["faults"].as_array().unwrap().len(), 1, "{report}");
    // The content that is not it is never served, and never counts as a copy.
    let (code, answer) = cli.json(&["expand", "-s", "first", span_of(&cli).as_str()]);
    assert_eq!((code, &answer["outcome"]), (4, &"lossy".into()), "{answer}");
    assert_eq!(answer["cause"]["kind"], "damage", "{answer}");
    assert!(answer.get("content").is_none(), "{answer}");
}

fn span_of(cli: &Cli) -> String {
    let window = cli.done(&["window", "-s", "first"]);
    window["entries"][0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_file_that_is_no_journal_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("journal.redb"), vec![7_u8; 100_000]).unwrap();
    complains(&expect(&Cli::journal(folder.path()), 5, &["verify"]), "damaged");
    let daemon = Daemon::spawn(folder.path(), &["--nats", "nats://127.0.0.1:9"]);
    let (status, log) = daemon.wait();
    assert_eq!(status.code(), Some(5), "{log}");
    assert!(log.contains("damaged") && !log.contains("panicked"), "{log}");
}
