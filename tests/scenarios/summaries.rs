//! The summary contract from the command line, by three principals: what people are shown, what
//! scripts get, and that both are the same with a daemon and without.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::rig::{Cli, House, Ran, current_server, flip_the_last_payload_byte};
use crate::two_ways::comparable;

const SPANS: &str = r#"[
    {"id":"a","role":"user","origin":"user","turn":1,
     "content":"I think the staging DB is on port 5433, please check req-77ae-0042 in /var/log/db.log."},
    {"id":"b","role":"tool","origin":"tool","turn":1,
     "content":"psql: connected to staging-db.internal on port 5434, server version 16.3, all fine."},
    {"id":"c","role":"user","origin":"user","turn":2,"content":"Good. Go on with the migration."}]"#;
const TEXT: &str = "The user thinks that staging is on port 5433; psql connected on port 5434.";

/// Claims about `a` and `b`; `origin` is the tag of what the user only thinks.
fn claims(folder: &Path, origin: &str) -> PathBuf {
    let path = folder.join(format!("claims-{origin}.json"));
    let claims = json!([
        { "text": "Staging might be on port 5433.", "origin": origin,
          "sources": [{ "span": "a", "quote": "the staging DB is on port 5433" }] },
        { "text": "psql connected on port 5434.", "origin": "tool-output",
          "sources": [{ "span": "b" }] },
    ]);
    std::fs::write(&path, claims.to_string()).unwrap();
    path
}

/// A folder with an empty journal that commands without a daemon may use.
fn empty(folder: &Path) -> Cli {
    let sample = folder.join("sample.json");
    std::fs::write(&sample, r#"[{"role":"user","content":"hello"}]"#).unwrap();
    let cli = Cli::journal(&folder.join("journal"));
    let made = cli.run(&["import", sample.to_str().unwrap(), "--session", "first"]);
    assert_eq!(made.code, 0, "{}", made.err);
    cli
}

fn recorded(cli: &Cli) {
    assert_eq!(cli.run(&["open", "-s", "s", "--window-tokens", "4000"]).code, 0);
    let ran = cli.run_with(SPANS.as_bytes(), &["append", "-s", "s", "--spans-json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
}

fn run(cli: &Cli, input: &str, line: &str) -> Ran {
    let words: Vec<&str> = line.split(' ').collect();
    let ran = cli.run_with(input.as_bytes(), &words);
    assert!(!ran.err.contains("panicked"), "{line}: {}", ran.err);
    assert!(!ran.out.contains('\u{1b}'), "{line}: colour without a terminal");
    ran
}

fn shows(ran: &Ran, code: i32, words: &[&str]) {
    assert_eq!(ran.code, code, "{} {}", ran.out, ran.err);
    for word in words {
        assert!(ran.out.contains(word), "{word:?} is not in {:?}", ran.out);
    }
}

/// From the first attempt to the prune, as a person reads it.
fn people(cli: &Cli, folder: &Path) {
    recorded(cli);
    let flat = claims(folder, "user-said");
    let honest = claims(folder, "hedged");
    let (flat, honest) = (flat.to_str().unwrap(), honest.to_str().unwrap());

    let ran = run(cli, TEXT, &format!("summarize -s s --id sum --covers a,b --claims {flat}"));
    shows(&ran, 3, &["rejected", "FINDING", "WHAT TO CHANGE", "hedge_dropped", "claim 0"]);
    shows(&ran, 3, &["tag it hedged", "2 attempts over these spans are left"]);
    // Nothing recorded it: it may not be pruned with, and its id stays free.
    let ran = run(cli, "", "prune -s s a b --replace-with sum");
    shows(&ran, 3, &["unknown_replacement"]);

    let ran = run(cli, TEXT, &format!("summarize -s s --id sum --covers a,b --claims {honest}"));
    shows(&ran, 0, &["sum@", "needs_audit", "depth 1", "lacuna audit sum pass"]);
    shows(&ran, 0, &["LEFT OUT", "req-77ae-0042", "/var/log/db.log"]);
    shows(&run(cli, "", "prune -s s a b --replace-with sum"), 3, &["summary_not_audited"]);
    shows(&run(cli, "", "audit -s s sum pass"), 3, &["self_audited", "does not count"]);
    let auditor = "--principal auditor";
    let ran = run(cli, "", &format!("audit -s s sum pass {auditor}"));
    shows(&ran, 3, &["auditor_without_evidence", "a", "b", "does not count"]);
    for span in ["a", "b"] {
        let ran = run(cli, "", &format!("expand -s s {span} --purpose audit {auditor}"));
        shows(&ran, 0, &["5433"][..usize::from(span == "a")]);
    }
    let ran = run(cli, "", &format!("audit -s s sum fail {auditor} --finding no-request"));
    shows(&ran, 0, &["rejected", "counts"]);
    shows(
        &run(cli, "", "prune -s s a b --replace-with sum"),
        3,
        &["summary_not_accepted", "auditor"],
    );
    let ran = run(cli, "", &format!("audit -s s sum pass {auditor}"));
    shows(&ran, 0, &["accepted", "counts"]);
    let ran = run(cli, "", "prune -s s a b --replace-with sum --reason settled");
    shows(&ran, 0, &["reversible"]);

    // Whoever reads it back reads that it is no fact.
    let ran = run(cli, "", "window -s s --render text");
    shows(&ran, 0, &["hedged by user, not established", "Staging might be on port 5433. (a@"]);
    let ran = run(cli, "", "explain -s s sum");
    shows(&ran, 0, &["summary", "accepted", "ORIGIN", "hedged", "tool-output", "identifiers"]);
    shows(
        &ran,
        0,
        &["failed an audit", "no-request", "passed an audit", "in the place of 2 spans"],
    );
    let ran = run(cli, "", "explain -s s a");
    shows(&ran, 0, &["recoverable", "origin user", "covered and cited", "settled", "p"]);
    let ran = run(cli, "", "explain -s s nobody");
    shows(&ran, 4, &["never_recorded", "has recorded up to here is of this name"]);
    shows(&run(cli, "", "explain -s s sum:refused1"), 0, &["rejected", "hedge_dropped"]);
    // What is suggested is a command to give as it is.
    let ran = run(cli, "", "suggest -s s 10");
    shows(&ran, 0, &["frees", "reads", "  lacuna prune "]);
    let line = ran.out.lines().find_map(|line| line.trim().strip_prefix("lacuna ")).unwrap();
    shows(&run(cli, "", &format!("{line} -s s --dry-run")), 0, &["reversible"]);
    let ran = run(cli, "", "suggest -s s 100000");
    shows(&ran, 3, &["that is all that may leave: "]);
}

#[test]
fn people_see_what_to_change_and_why() {
    let folder = tempfile::tempdir().unwrap();
    people(&empty(folder.path()), folder.path());
}

#[test]
fn people_see_the_same_through_a_daemon() {
    let house = House::start(&current_server());
    people(&house.cli(), house.folder());
}

/// Every command of the contract, in an order that makes sense: input, arguments, exit code.
fn commands(folder: &Path) -> Vec<(&'static str, String, i32)> {
    let flat = claims(folder, "user-said").display().to_string();
    let honest = claims(folder, "hedged").display().to_string();
    let auditor = "--principal auditor";
    vec![
        ("", "open -s s --window-tokens 4000".into(), 0),
        (SPANS, "append -s s --spans-json".into(), 0),
        ("", "contradict -s s a b --note ports".into(), 0),
        (TEXT, format!("summarize -s s --id sum --covers a,b --claims {honest}"), 3),
        ("", "resolve -s s c1 --note asked".into(), 0),
        (TEXT, format!("summarize -s s --id sum --covers a,b --claims {flat}"), 3),
        (TEXT, format!("summarize -s s --id sum --covers a,b --claims {flat}"), 3),
        ("Staging is fine.", "summarize -s s --covers c".into(), 3),
        (TEXT, format!("summarize -s s --id sum --covers a,b --claims {honest}"), 0),
        (TEXT, format!("summarize -s s --id sum --covers a,b --claims {honest}"), 0),
        (TEXT, format!("summarize -s s --id a --covers a,b --claims {honest}"), 1),
        (TEXT, "summarize -s s --id x --covers a,nobody".into(), 4),
        ("", format!("audit -s s sum pass {auditor}"), 3),
        ("", "audit -s s sum pass".into(), 3),
        ("", "audit -s s sum perhaps".into(), 2),
        ("", "audit -s s a pass".into(), 2),
        ("", "audit -s s nobody pass".into(), 4),
        ("", format!("expand -s s a --purpose audit {auditor}"), 0),
        ("", format!("expand -s s b --purpose audit {auditor}"), 0),
        ("", format!("audit -s s sum pass {auditor} --finding well"), 0),
        ("", "suggest -s s 20".into(), 0),
        ("", "suggest -s s 20000".into(), 3),
        ("", "prune -s s a b --replace-with sum".into(), 0),
        ("", "explain -s s a".into(), 0),
        ("", "explain -s s sum".into(), 0),
        ("", "explain -s s sum:refused1".into(), 0),
        ("", "explain -s s nobody".into(), 4),
        ("", "expand -s s sum".into(), 0),
        ("", "window -s s".into(), 0),
        ("", "window -s s --render openai".into(), 0),
        ("", "window -s s --render anthropic".into(), 0),
        ("", "history -s s".into(), 0),
        ("", "resolve -s s c1 --note again".into(), 2),
        ("", "resolve -s s c9 --note none".into(), 2),
        ("", "contradict -s s a nobody".into(), 4),
    ]
}

fn replies(cli: &Cli, folder: &Path) -> Vec<(String, Value)> {
    let commands = commands(folder).into_iter().map(|(input, line, code)| {
        let words: Vec<&str> = line.split(' ').collect();
        let (ended, reply) = cli.json_with(input.as_bytes(), &words);
        assert_eq!(ended, code, "{line}: {reply}");
        let line = line.replace(folder.to_str().unwrap(), "…");
        (line, comparable(reply, false))
    });
    commands.collect()
}

#[test]
fn scripts_get_the_same_with_a_daemon_and_without() {
    let house = House::start(&current_server());
    let through_daemon = replies(&house.cli(), house.folder());
    let mut other = House::start(&current_server());
    other.stop_daemon();
    let direct = replies(&Cli::journal(&other.journal()), other.folder());
    assert_eq!(through_daemon.len(), direct.len());
    for (over_nats, embedded) in through_daemon.iter().zip(&direct) {
        assert_eq!(over_nats, embedded);
    }
    let reply = |line: &str, nth: usize| {
        let mut found = direct.iter().filter(|(other, _)| other.starts_with(line));
        found.nth(nth).unwrap_or_else(|| panic!("{line}")).1.clone()
    };
    let open = reply("summarize -s s --id sum", 0);
    assert_eq!(open["findings"][0]["code"], "disconfirming_removed", "{open}");
    let empty = reply("summarize -s s --covers c", 0);
    assert_eq!(empty["findings"][0]["code"], "empty_summary");
    let story = reply("explain -s s nobody", 0);
    assert_eq!(story["outcome"], "never_recorded");
    assert_eq!(story["story"][0]["what"], "never recorded");
}

#[test]
fn a_hopeless_summariser_is_shown_the_way_out_and_it_works() {
    let folder = tempfile::tempdir().unwrap();
    let cli = empty(folder.path());
    recorded(&cli);
    let flat = claims(folder.path(), "user-said");
    let line = format!("summarize -s s --covers a,b --claims {}", flat.display());
    for left in [2, 1] {
        shows(&run(&cli, TEXT, &line), 3, &[&format!("{left} attempts")]);
    }
    let ran = run(&cli, TEXT, &line);
    shows(&ran, 3, &["no attempt is left", "lacuna prune a b"]);
    let history = cli.done(&["history", "-s", "s"]);
    let events = history["events"].as_array().unwrap();
    assert_eq!(events.iter().filter(|event| event["kind"] == "alert-raised").count(), 1);
    shows(&run(&cli, "", "prune -s s a b"), 0, &["reversible"]);
}

/// Whoever looks at a finding or a remark sees the characters that a model put there, and its
/// terminal does nothing about them.
#[test]
fn what_a_model_wrote_does_not_reach_the_terminal_as_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let cli = empty(folder.path());
    recorded(&cli);
    let path = folder.path().join("claims.json");
    let claims = json!([{ "text": "It is \u{1b}[2J `\u{1b}[31mnever once said\u{9b}` there.",
        "origin": "inferred", "sources": [{ "span": "b" }] }]);
    std::fs::write(&path, claims.to_string()).unwrap();
    let path = path.to_str().unwrap();
    let ran = run(&cli, TEXT, &format!("summarize -s s --id sum --covers a,b --claims {path}"));
    shows(&ran, 3, &["anchor_not_in_source", "says “·[31mnever once said·”"]);
    shows(&run(&cli, "", "explain -s s sum:refused1"), 0, &["It is ·[2J `·[31mnever once said·`"]);
    let honest = self::claims(folder.path(), "hedged");
    let line = format!("summarize -s s --id sum --covers a,b --claims {}", honest.display());
    shows(&run(&cli, TEXT, &line), 0, &["needs_audit"]);
    let remark = "no\u{1b}]0;title\u{7}\r\u{202e}way";
    run(&cli, "", &format!("audit -s s sum fail --principal auditor --finding {remark}"));
    shows(&run(&cli, "", "explain -s s sum"), 0, &["no·]0;title···way"]);
}

#[test]
fn text_and_claims_cannot_share_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let cli = empty(folder.path());
    recorded(&cli);
    for line in ["summarize -s s --covers a --claims -", "summarize -s s --covers a --claims - -"] {
        let ran = run(&cli, "[]", line);
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(ran.err.contains("cannot both come from standard input"), "{}", ran.err);
    }
    let text = folder.path().join("text");
    std::fs::write(&text, TEXT).unwrap();
    let line = format!("summarize -s s --covers a --claims - {}", text.display());
    shows(&run(&cli, "[]", &line), 3, &["rejected"]);
}

/// Text and claims lie in one copy. Claims that are not what was said are no claims, and that there
/// are none is not what is said of them.
#[test]
fn damaged_claims_are_not_an_empty_list() {
    let folder = tempfile::tempdir().unwrap();
    let cli = empty(folder.path());
    recorded(&cli);
    let honest = claims(folder.path(), "hedged");
    let line = format!("summarize -s s --id sum --covers a,b --claims {}", honest.display());
    shows(&run(&cli, TEXT, &line), 0, &["needs_audit"]);
    flip_the_last_payload_byte(&folder.path().join("journal"));
    let ran = run(&cli, "", "verify");
    shows(&ran, 5, &["its claims: the stored copy does not match its digest"]);
    let why = "its claims: the stored copy does not match its digest";
    shows(&run(&cli, "", "expand -s s sum"), 4, &["lossy", "cause: damage", why]);
    let (_, reply) = cli.json(&["expand", "-s", "s", "sum"]);
    assert!(reply.get("claims").is_none() && reply.get("content").is_none(), "{reply}");
    assert_eq!(reply["cause"]["kind"], "damage", "{reply}");
    let told = ["lost for good", why, "it cannot be read any more", "it kept 2 of 6 identifiers"];
    shows(&run(&cli, "", "explain -s s sum"), 0, &told);
    let (_, reply) = cli.json(&["explain", "-s", "s", "sum"]);
    let summary = &reply["summary"];
    assert!(summary.get("claims").is_none(), "{reply}");
    assert_eq!(summary["unreadable"], true, "{reply}");
    assert_eq!(summary["omitted_identifiers"], json!([]), "{reply}");
    assert_eq!((&summary["identifiers"], &summary["identifiers_kept"]), (&json!(6), &json!(2)));
}

/// Damage is on record once somebody has met it, and the journal is whole again (I3).
#[test]
fn damaged_claims_become_a_loss_on_record() {
    let folder = tempfile::tempdir().unwrap();
    let cli = empty(folder.path());
    recorded(&cli);
    let honest = claims(folder.path(), "hedged");
    let line = format!("summarize -s s --id sum --covers a,b --claims {}", honest.display());
    shows(&run(&cli, TEXT, &line), 0, &["needs_audit"]);
    flip_the_last_payload_byte(&folder.path().join("journal"));
    assert_eq!(run(&cli, "", "verify").code, 5);
    for line in ["expand -s s sum", "durability -s s sum", "explain -s s sum"] {
        run(&cli, "", line);
    }
    assert_eq!(run(&cli, "", "verify").code, 0);
}
