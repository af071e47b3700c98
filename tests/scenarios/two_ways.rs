//! The command line gives one JSON object for every command, and the same one whether it goes
//! through a daemon or straight to a journal.

use std::path::Path;

use serde_json::Value;

use crate::rig::{Cli, House, current_server};

/// Fields that differ between two journals that hold the same, whatever the way.
const OF_THE_JOURNAL: [&str; 17] = [
    "as_of",
    "note",
    "key",
    "journal",
    "at",
    "recorded_at",
    "opened_at",
    "verified_at",
    "durable_until",
    "head",
    "hash",
    "previous",
    "command_id",
    "dir",
    "set_at",
    "placed_at",
    "effective_now",
];
/// Figures about a process: a daemon keeps running where a command opens and closes.
const OF_THE_PROCESS: [&str; 14] = [
    "snapshots",
    "file_bytes",
    "commits",
    "commands",
    "events",
    "waiting",
    "cached_sessions",
    "uploads",
    "uptime_seconds",
    "rows",
    "bytes",
    "packs",
    // A journal that is opened directly has none.
    "scrub",
    "feed",
];

/// The reply without what differs between two journals that hold the same.
pub(crate) fn comparable(mut value: Value, figures: bool) -> Value {
    match &mut value {
        Value::Object(map) => {
            for (key, field) in map.iter_mut() {
                let differs = OF_THE_JOURNAL.contains(&key.as_str()) && !field.is_null()
                    || figures && OF_THE_PROCESS.contains(&key.as_str());
                *field = if differs { "…".into() } else { comparable(field.take(), figures) };
            }
        }
        Value::Array(items) => {
            items.iter_mut().for_each(|item| *item = comparable(item.take(), figures));
        }
        _ => {}
    }
    value
}

const CLAIMS: &str = r#"[{"text":"the port is 5433","origin":"hedged","sources":[{"span":"a"}]}]"#;
const SPANS: &str = r#"[
    {"id":"call","role":"assistant","origin":"model","kind":"tool_call","media_type":"application/json",
     "content":"{\"name\":\"ls\",\"arguments\":{}}","turn":2},
    {"id":"result","role":"tool","origin":"tool","kind":"tool_result","answers":"call",
     "content_b64":"AAECAwT/","turn":2},
    {"role":"user","origin":"user","content":"thanks","labels":{"mood":"good"},"turn":3}]"#;

/// Tool output goes once it is pruned, all else is kept.
const POLICY: &str = r#"[
    {"id":"tools","match":{"origins":["tool"],"pruned":true},"keep":{"max_spans":0},
     "live_handles":"commit"},
    {"id":"rest","keep":{"forever":true}}]"#;

/// Every command that has a reply, in an order that makes sense: input, arguments, exit code.
fn commands(claims: &str, backup: &str) -> Vec<(&'static str, Vec<String>, i32)> {
    let split = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let with = |line: &str, last: &str| [split(line), vec![last.to_owned()]].concat();
    vec![
        ("", split("sessions"), 0),
        ("", split("open -s s --window-tokens 4000 --contract record --label team=blue"), 0),
        ("", split("open -s s --window-tokens 4000 --contract record --label team=blue"), 0),
        ("I think the port is 5433", split("append -s s --id a --hedged --turn 1"), 0),
        ("the port is 5432", split("append -s s --id b --role tool --turn 1"), 0),
        ("hunter2", split("append -s s --id secret --withhold password --turn 1"), 0),
        (SPANS, split("append -s s --spans-json"), 0),
        ("", split("contradict -s s a b --note ports"), 0),
        ("", split("prune -s s a"), 3),
        ("", split("resolve -s s c1 --note asked"), 0),
        ("The port was settled.", with("summarize -s s --id sum --covers a,b --claims", claims), 0),
        ("", split("prune -s s a b --mode summarize --replace-with sum --dry-run"), 0),
        ("", split("prune -s s a b --mode summarize --replace-with sum --reason settled"), 0),
        ("", split("prune -s s call"), 3),
        ("", split("prune -s s call result --mode drop"), 0),
        ("", split("prune -s s secret"), 3),
        ("", split("prune -s s secret --accept-lossy"), 0),
        ("", split("window -s s"), 0),
        ("", split("window -s s --no-content"), 0),
        ("", split("window -s s --render text"), 0),
        ("", split("window -s s --render openai"), 0),
        ("", split("window -s s --render anthropic"), 0),
        ("", split("window -s s --at v5"), 0),
        ("", split("window -s s --at turn:1"), 0),
        ("", split("restore -s s call result"), 0),
        ("", split("expand -s s a"), 0),
        ("", split("expand -s s result"), 0),
        ("", split("expand -s s p2@prune"), 0),
        ("", split("expand -s s sum --purpose audit"), 0),
        ("", split("expand -s s secret"), 4),
        ("", split("expand -s s nobody"), 4),
        ("", split("durability -s s"), 4),
        ("", split("durability -s s a b"), 0),
        ("", split("tombstones -s s"), 0),
        ("", split("history -s s"), 0),
        ("", split("history -s s --from 3 --limit 4"), 0),
        ("", split("policy get"), 0),
        ("", split("policy evaluate -s s a"), 0),
        ("", split("plan"), 0),
        (POLICY, split("policy set -"), 0),
        ("", split("policy get"), 0),
        ("", split("policy evaluate -s s b"), 0),
        ("", split("policy evaluate -s s nobody"), 4),
        ("", split("policy evaluate -s elsewhere --origin tool --pruned"), 0),
        ("", split("prune -s s result"), 0),
        ("", split("hold --sessions s* --kind message --kind tool_call --reason case"), 0),
        ("", split("policy get"), 0),
        ("", split("plan"), 0),
        (POLICY, split("plan --rules - --now 2100-01-01T00:00:00Z"), 0),
        ("", split("run"), 0),
        ("", split("expand -s s result"), 4),
        ("", split("erase -s s a --reason asked"), 3),
        ("", split("erase -s s --reason asked"), 2),
        ("", split("release h1 --reason over"), 0),
        ("", split("release h1 --reason over"), 2),
        ("", split("run --unlimited"), 0),
        ("", split("erase -s s a --reason asked"), 0),
        ("", split("erase -s s a --reason asked"), 0),
        ("", split("expand -s s a"), 4),
        ("", split("erase -s s --all --reason asked"), 0),
        ("", split("erase -s nowhere --all --reason asked"), 4),
        ("", split("ledger"), 0),
        ("", split("ledger --limit 1"), 0),
        ("", split("ledger --from 1000"), 0),
        ("", split("tombstones -s s"), 0),
        ("", split("explain -s s a"), 0),
        ("", split("history -s _retention"), 0),
        ("", split("close -s s"), 0),
        ("", split("close -s s"), 0),
        ("", split("sessions"), 0),
        ("", split("head"), 0),
        ("", split("verify"), 0),
        ("", split("verify --from 2 --to 9"), 0),
        ("", split("checkpoint"), 0),
        ("", split("stats"), 0),
        ("", with("backup", backup), 0),
    ]
}

fn replies(cli: &Cli, folder: &Path) -> Vec<(String, i32, Value)> {
    let claims = folder.join("claims.json");
    std::fs::write(&claims, CLAIMS).unwrap();
    // Through a daemon a backup goes below the folder beside the journal, and nowhere else.
    let backup = folder.join("journal-backups").join("one");
    let commands = commands(claims.to_str().unwrap(), backup.to_str().unwrap());
    let replies = commands.into_iter().map(|(input, arguments, code)| {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (ended, reply) = cli.json_with(input.as_bytes(), &words);
        assert_eq!(ended, code, "{words:?}: {reply}");
        let figures = ["stats", "verify", "backup"].contains(&words[0]);
        (words[0].to_owned(), code, comparable(reply, figures))
    });
    replies.collect()
}

#[test]
fn every_command_gives_one_object_and_the_same_both_ways() {
    let house = House::start(&current_server());
    let through_daemon = replies(&house.cli(), house.folder());
    // An empty journal that a daemon made, as the other one is.
    let mut other = House::start(&current_server());
    other.stop_daemon();
    let direct = replies(&Cli::journal(&other.journal()), other.folder());
    assert_eq!(through_daemon.len(), direct.len());
    for (over_nats, embedded) in through_daemon.iter().zip(&direct) {
        assert_eq!(over_nats, embedded);
    }
    // The copies are journals of their own.
    for root in [house.folder(), other.folder()] {
        let copy = Cli::journal(&root.join("journal-backups").join("one"));
        assert_eq!(copy.done(&["verify"])["ok"], true);
        let window = copy.done(&["window", "-s", "s"]);
        assert_eq!(window["version"], house.cli().done(&["window", "-s", "s"])["version"]);
    }
}

#[test]
fn people_get_tables_and_shells_their_completions() {
    let house = House::start(&current_server());
    let cli = house.cli();
    cli.done(&["open", "-s", "s"]);
    cli.json_with(b"words", &["append", "-s", "s", "--id", "a"]);
    for arguments in [
        &["window", "-s", "s"][..],
        &["history", "-s", "s"],
        &["replay", "-s", "s"],
        &["replay", "-s", "s", "--window"],
        &["durability", "-s", "s"],
        &["tombstones", "-s", "s"],
        &["expand", "-s", "s", "a"],
        &["sessions"],
        &["head"],
        &["verify"],
        &["stats"],
        &["completions", "bash"],
    ] {
        let ran = cli.run(arguments);
        assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.err);
        assert!(!ran.out.trim().is_empty() && !ran.out.starts_with('{'), "{arguments:?}");
        assert!(!ran.out.contains('\u{1b}'), "{arguments:?}: colour without a terminal");
        assert!(ran.out.lines().all(|line| !line.ends_with(' ')), "{arguments:?}: trailing blanks");
    }
}
