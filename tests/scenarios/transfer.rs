//! Sessions carried from one journal into another: nothing is lost, nothing is changed, and what was
//! changed on the way is found. Export, import and export again give the same file.

use std::path::{Path, PathBuf};

use lacuna_store::{Store, StoreOptions, VerifyOptions};
use serde_json::{Value, json};

use crate::rig::{Cli, House, Worker, current_server};

fn export(cli: &Cli, session: &str, to: &Path) -> String {
    let ran = cli.run(&["export", "-s", session, "-o", to.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    std::fs::read_to_string(to).unwrap()
}

/// Everything that can happen to a span, in one session.
fn eventful(cli: &Cli) {
    let put = |id: &str, content: &[u8], more: &[&str]| {
        let ran = cli.run_with(content, &[&["append", "-s", "s", "--id", id], more].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
    };
    cli.done(&["open", "-s", "s", "--contract", "record", "--label", "team=blue"]);
    put("plain", b"plain words, and \0 \xf0\x9f\x95\xb3", &[]);
    put("binary", &[0xff, 0, 0xfe, 1], &["--media-type", "application/octet-stream"]);
    put("empty", b"", &[]);
    put("secret", b"hunter2", &["--withhold", "a password"]);
    put("large", "A line of a long log.\n".repeat(100_000).as_bytes(), &["--role", "tool"]);
    put("erased", b"to be erased", &[]);
    put("a", b"The port is 5433, I think.", &["--turn", "2"]);
    put("b", b"The port is 5432.", &["--contradicts", "a"]);
    cli.done(&["resolve", "-s", "s", "c1", "--note", "it is 5432"]);
    let claims = json!([{ "text": "The user thinks the port is 5433.", "origin": "hedged",
        "sources": [{ "span": "a", "quote": "5433" }] }]);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), claims.to_string()).unwrap();
    let claims = file.path().to_str().unwrap();
    let words = b"The user thinks that the port is 5433.";
    let arguments = ["summarize", "-s", "s", "--id", "sum", "--covers", "a", "--claims", claims];
    assert_eq!(cli.run_with(words, &arguments).code, 0);
    cli.done(&["expand", "-s", "s", "a", "--purpose", "audit", "--principal", "auditor"]);
    cli.done(&["audit", "-s", "s", "sum", "pass", "--principal", "auditor"]);
    cli.done(&["prune", "-s", "s", "a", "--replace-with", "sum"]);
    cli.done(&["prune", "-s", "s", "plain", "binary"]);
    cli.done(&["restore", "-s", "s", "binary"]);
    assert_eq!(cli.json(&["prune", "-s", "s", "secret"]).0, 3);
    cli.done(&["prune", "-s", "s", "secret", "--accept-lossy"]);
    cli.done(&["erase", "-s", "s", "erased", "--reason", "asked"]);
    cli.done(&["close", "-s", "s"]);
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn path(folder: &Path, name: &str) -> PathBuf {
    folder.join(name)
}

#[test]
fn a_session_goes_through_a_daemon_into_other_journals_and_stays_what_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let house = House::start(&current_server());
    let here = house.cli();
    eventful(&here);
    let file = path(folder.path(), "s.jsonl");
    let exported = export(&here, "s", &file);
    let all = lines(&exported);
    assert_eq!(all[0]["format"], "lacuna-events");
    assert_eq!(all[0]["events"], all.len() - 1);
    let gone: Vec<&Value> = all.iter().filter(|line| !line["gone"].is_null()).collect();
    assert_eq!(gone.len(), 1, "what was erased, and nothing else");
    assert_eq!(gone[0]["span"], "erased");
    assert!(!exported.contains("to be erased") && !exported.contains("hunter2"));
    // Into the next one through a daemon, large content and all; from there straight into a third.
    let other = House::start(&current_server());
    let there = other.cli();
    let file = file.to_str().unwrap();
    let report = there.done(&["import", file, "--session", "again", "--principal", "porter"]);
    assert_eq!(report["sessions"][0]["recorded"], all.len() - 1, "{report}");
    let third = tempfile::tempdir().unwrap();
    let direct = Cli::journal(third.path());
    direct.done(&["import", file]);
    for (cli, session) in [(&there, "again"), (&direct, "s")] {
        let again = export(cli, session, &path(folder.path(), "again.jsonl"));
        assert!(again == exported, "another file came out");
        let window = |cli: &Cli, session: &str| {
            let window = cli.done(&["window", "-s", session, "--no-content"]);
            ["version", "entries", "budget"].map(|field| window[field].clone())
        };
        assert_eq!(window(cli, session), window(&here, "s"));
        assert_eq!(cli.done(&["verify"])["faults"], json!([]));
        for span in ["plain", "large", "sum", "erased", "secret"] {
            let answers = [(cli, session), (&here, "s")].map(|(cli, session)| {
                let ran = cli.run(&["expand", "-s", session, span, "--raw"]);
                // All but the line that tells when it was recorded in this journal.
                let told = ran.out.lines().filter(|line| !line.contains(", role "));
                (ran.code, told.collect::<Vec<_>>().join("\n"))
            });
            assert!(answers[0] == answers[1], "{span}");
        }
        // Importing again changes nothing.
        let head = cli.done(&["head"]);
        let report = cli.done(&["import", file, "--session", session]);
        assert_eq!((&report["sessions"][0]["recorded"], cli.done(&["head"])), (&0.into(), head));
    }
    // History tells where it was recorded, and who did it there.
    let told = there.done(&["history", "-s", "again"]);
    for (event, line) in told["events"].as_array().unwrap().iter().zip(&all[1..]) {
        for field in ["version", "kind", "principal", "command_id"] {
            assert_eq!(event[field], line[field], "{event}");
        }
        let imported = &event["imported"];
        for field in ["journal", "seq", "at", "hash"] {
            assert_eq!(imported[field], line[field], "{event}");
        }
        assert_eq!((&imported["by"], &event["session"]), (&"porter".into(), &"again".into()));
    }
    let story = there.done(&["explain", "-s", "again", "a"]);
    assert_eq!(story["story"], here.done(&["explain", "-s", "s", "a"])["story"]);
}

#[test]
fn a_session_that_went_on_here_is_exported_as_it_is_here() {
    let folder = tempfile::tempdir().unwrap();
    let journals: Vec<_> = (0..4).map(|_| tempfile::tempdir().unwrap()).collect();
    let cli: Vec<Cli> = journals.iter().map(|folder| Cli::journal(folder.path())).collect();
    let sample = path(folder.path(), "sample.json");
    std::fs::write(&sample, r#"[{"role":"user","content":"hello"}]"#).unwrap();
    cli[0].done(&["import", sample.to_str().unwrap(), "--session", "s"]);
    let mut before = export(&cli[0], "s", &path(folder.path(), "0.jsonl"));
    for (hop, cli) in cli.iter().enumerate().skip(1) {
        let file = path(folder.path(), &format!("{}.jsonl", hop - 1));
        cli.done(&["import", file.to_str().unwrap()]);
        let name = path(folder.path(), &format!("{hop}.jsonl"));
        assert_eq!(export(cli, "s", &name), before, "a fixed point, {hop} journals on");
        // It goes on: what is exported then is this journal's own, and says where it came from.
        let id = format!("here-{hop}");
        assert_eq!(cli.run_with(b"more", &["append", "-s", "s", "--id", &id]).code, 0);
        before = export(cli, "s", &name);
        let all = lines(&before);
        assert_eq!(all[0]["journal"], cli.done(&["head"])["journal"]);
        assert_eq!(all[1]["imported"]["journal"], lines(&before)[1]["imported"]["journal"]);
        assert!(all.last().unwrap()["imported"].is_null());
        // It holds its own events now: nothing more is imported into it.
        let (code, error) = cli.json(&["import", file.to_str().unwrap()]);
        assert_eq!(code, 1, "{error}");
        assert!(error["error"]["message"].as_str().unwrap().contains("--session"), "{error}");
        assert_eq!(cli.done(&["verify"])["ok"], true);
    }
}

#[test]
fn whatever_was_changed_on_the_way_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let journal = tempfile::tempdir().unwrap();
    let house = House::start(&current_server());
    let here = house.cli();
    eventful(&here);
    let exported = export(&here, "s", &path(folder.path(), "s.jsonl"));
    let all = lines(&exported);
    let at = |kind: &str| all.iter().position(|line| line["kind"] == kind).unwrap();
    let (span, summary) = (at("span-recorded"), at("summary-recorded"));
    let edited = |line: usize, field: &str, value: Value| {
        let mut all = all.clone();
        match value {
            Value::Null => drop(all[line].as_object_mut().unwrap().remove(field)),
            value => all[line][field] = value,
        }
        all
    };
    let mut without = all.clone();
    without.remove(4);
    let mut swapped = all.clone();
    swapped.swap(3, 4);
    let mut cut = all.clone();
    cut.pop();
    let stored = |line: usize| {
        let mut text = all[line]["stored"].as_str().unwrap().to_owned();
        // A letter in the middle of the body.
        let middle = text.len() - 8;
        let other = if &text[middle..=middle] == "A" { "B" } else { "A" };
        text.replace_range(middle..=middle, other);
        edited(line, "stored", text.into())
    };
    let changes: Vec<(&str, Vec<Value>, usize)> = vec![
        ("a field that people read", edited(span, "tokens", 7.into()), span + 1),
        ("who did it", edited(span, "principal", "somebody".into()), span + 1),
        ("a content", edited(span, "content", "other words".into()), span + 1),
        ("a content taken out", edited(span, "content", Value::Null), span + 1),
        ("claims", edited(summary, "claims_b64", "AAAA".into()), summary + 1),
        ("the stored form", stored(span), span + 1),
        ("the journal", edited(0, "journal", "f".repeat(32).into()), 2),
        ("the session", edited(0, "session", "other".into()), 2),
        ("a line taken out", without, 5),
        ("two lines in another order", swapped, 4),
        ("the end", cut, all.len()),
        ("the number of events", edited(0, "events", 3.into()), all.len() + 1),
        ("a newer form", edited(0, "version", 2.into()), 1),
    ];
    let cli = Cli::journal(journal.path());
    for (what, all, line) in changes {
        let text: String = all.iter().map(|line| format!("{line}\n")).collect();
        // The form of the first line is how it is told from a transcript.
        let text = text.replacen(&text.lines().next().unwrap().to_owned(), &first(&all[0]), 1);
        let file = path(folder.path(), "edited.jsonl");
        std::fs::write(&file, text).unwrap();
        let (code, error) = cli.json(&["import", file.to_str().unwrap()]);
        assert_eq!(code, 1, "{what}: {error}");
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.contains(&format!("line {line}: ")), "{what}: {message}");
    }
    assert!(!journal.path().join("journal.redb").exists(), "nothing was recorded");
}

/// The first line with its fields in their order.
fn first(header: &Value) -> String {
    let fields = ["format", "version", "journal", "tenant", "session", "events", "head"];
    let fields = fields.map(|field| format!("\"{field}\":{}", header[field]));
    format!("{{{}}}", fields.join(","))
}

#[test]
fn an_import_that_broke_off_goes_on_and_a_journal_checks_for_itself() {
    let folder = tempfile::tempdir().unwrap();
    let house = House::start(&current_server());
    let here = house.cli();
    eventful(&here);
    let file = path(folder.path(), "s.jsonl");
    let exported = export(&here, "s", &file);
    let all = lines(&exported);
    let run = tokio::runtime::Runtime::new().unwrap();
    let other = House::start(&current_server());
    run.block_on(async {
        let officer = Worker::connect(&other.url(), "default", "cli").await;
        let adopt = |from: usize, to: usize, journal: &str| {
            let events: Vec<Value> = all[from..to]
                .iter()
                .map(|line| {
                    let content = line["content"].as_str().map(|text| {
                        use base64::Engine as _;
                        base64::prelude::BASE64_STANDARD.encode(text)
                    });
                    json!({ "stored": line["stored"], "payload_b64": content })
                })
                .collect();
            json!({ "session": "s", "journal": journal, "events": events })
        };
        let journal = all[0]["journal"].as_str().unwrap();
        let answer = officer.journal("adopt", adopt(1, 3, journal)).await;
        assert_eq!((&answer["version"], &answer["adopted"]), (&2.into(), &2.into()), "{answer}");
        let again = officer.journal("adopt", adopt(1, 3, journal)).await;
        assert_eq!((&again["version"], &again["adopted"]), (&2.into(), &0.into()), "{again}");
        // A gap, another journal, events that follow something else, a session of its own.
        let gap = refused(&officer, adopt(4, 5, journal)).await;
        assert_eq!(gap, "version_conflict");
        let foreign = refused(&officer, adopt(3, 4, &"0".repeat(32))).await;
        assert_eq!(foreign, "session_exists");
        let mut lie = adopt(2, 3, journal);
        lie["events"][0]["payload_b64"] = "AAAA".into();
        let lie = refused(&officer, lie).await;
        assert_eq!(lie, "bad_request");
        officer.open("own").await;
        let mut own = adopt(1, 2, journal);
        own["session"] = "own".into();
        let own = refused(&officer, own).await;
        assert_eq!(own, "session_exists");
    });
    let report = other.cli().done(&["import", file.to_str().unwrap()]);
    assert_eq!(report["sessions"][0]["recorded"], all.len() - 3, "{report}");
    assert_eq!(export(&other.cli(), "s", &path(folder.path(), "again.jsonl")), exported);
    let mut other = other;
    other.stop_daemon();
    let store = Store::open(&other.journal(), &StoreOptions::default()).unwrap();
    assert_eq!(store.verify(&VerifyOptions::default(), |_| {}).unwrap().faults, vec![]);
}

/// The code with which `adopt` is refused.
async fn refused(officer: &Worker, body: Value) -> String {
    let subject = "lacuna.v1.default.cli.journal.adopt";
    let refused = officer.ask_bytes(subject, body.to_string().into_bytes()).await.unwrap_err();
    refused.code
}

#[test]
fn requests_to_providers_are_whole_and_of_any_moment() {
    let folder = tempfile::tempdir().unwrap();
    let cli = Cli::journal(folder.path());
    let sample = path(folder.path(), "sample.json");
    let messages = json!([{ "role": "system", "content": "Be brief." },
        { "role": "user", "content": "hello" }, { "role": "assistant", "content": "hi" }]);
    std::fs::write(&sample, messages.to_string()).unwrap();
    cli.done(&["import", sample.to_str().unwrap(), "--session", "s"]);
    let read = |arguments: &[&str]| -> Value {
        let ran = cli.run(&[&["export", "-s", "s"], arguments].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        serde_json::from_str(&ran.out).unwrap()
    };
    let chat = read(&["--format", "openai-chat", "--model", "m"]);
    assert_eq!((&chat["messages"], &chat["model"]), (&messages, &"m".into()));
    let anthropic = read(&["--format", "anthropic"]);
    assert_eq!(anthropic["system"][0]["text"], "Be brief.", "{anthropic}");
    assert_eq!(anthropic["messages"].as_array().unwrap().len(), 2, "{anthropic}");
    assert!(anthropic["max_tokens"].as_u64().unwrap() > 0 && anthropic["model"].is_null());
    let earlier = read(&["--format", "openai-chat", "--at", "v3"]);
    assert_eq!(earlier["messages"].as_array().unwrap().len(), 2, "{earlier}");
    assert_eq!(cli.run(&["export", "-s", "s", "--at", "v3"]).code, 2);
    assert_eq!(cli.run(&["export", "-s", "nowhere"]).code, 4);
}

#[test]
fn a_fork_goes_alone_and_takes_its_past_along() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (path(folder.path(), "here"), path(folder.path(), "there"));
    let cli = Cli::journal(&here);
    let sample = path(folder.path(), "sample.json");
    std::fs::write(&sample, r#"[{"role":"user","content":"hello"}]"#).unwrap();
    cli.done(&["import", sample.to_str().unwrap(), "--session", "parent"]);
    let put = |session: &str, id: &str| {
        assert_eq!(cli.run_with(b"words", &["append", "-s", session, "--id", id]).code, 0);
    };
    put("parent", "shared");
    cli.done(&["fork", "--from", "parent", "-s", "child"]);
    put("parent", "apart");
    put("child", "own");
    cli.done(&["prune", "-s", "child", "shared"]);
    cli.done(&["receipt", "-s", "child"]);
    let exported = export(&cli, "child", &path(folder.path(), "child.jsonl"));
    assert!(!exported.contains("apart"), "that is the parent's alone");
    let other = Cli::journal(&there);
    other.done(&["import", path(folder.path(), "child.jsonl").to_str().unwrap()]);
    let again = export(&other, "child", &path(folder.path(), "again.jsonl"));
    assert!(again == exported, "another file came out");
    let entries = |cli: &Cli| cli.done(&["window", "-s", "child"])["entries"].clone();
    assert_eq!(entries(&other), entries(&cli));
    assert_eq!(other.done(&["sessions"])["sessions"], json!(["child"]));
    for cli in [&cli, &other] {
        assert_eq!(cli.done(&["verify"])["faults"], json!([]));
    }
    // What is erased there is not gone here, and the other way round.
    other.done(&["erase", "-s", "child", "shared", "--reason", "asked"]);
    assert_eq!(cli.run(&["expand", "-s", "child", "shared", "--raw"]).out, "words");
    assert_eq!(other.run(&["expand", "-s", "child", "shared"]).code, 4);
    assert_eq!(other.done(&["verify"])["faults"], json!([]));
}

#[test]
fn an_erasure_is_not_imported_over_a_content_that_is_here() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (there, here) = (Cli::journal(there.path()), Cli::journal(here.path()));
    there.done(&["open", "-s", "s"]);
    for id in ["x", "y"] {
        assert_eq!(there.run_with(b"words", &["append", "-s", "s", "--id", id]).code, 0);
    }
    let (old, new) = (path(folder.path(), "old.jsonl"), path(folder.path(), "new.jsonl"));
    export(&there, "s", &old);
    here.done(&["import", old.to_str().unwrap()]);
    there.done(&["erase", "-s", "s", "x", "--reason", "asked"]);
    export(&there, "s", &new);
    let ran = here.run(&["import", new.to_str().unwrap()]);
    assert_eq!(ran.code, 2, "{} {}", ran.out, ran.err);
    assert!(ran.err.contains("x went there after it was brought here"), "{}", ran.err);
    let (_, reply) = here.json(&["expand", "-s", "s", "x"]);
    assert_eq!((&reply["outcome"], &reply["content"]), (&json!("live"), &json!("words")));
    assert_eq!(here.done(&["erase", "-s", "s", "x", "--reason", "asked"])["removed"]["spans"], 1);
    assert_eq!(here.done(&["verify"])["checked"]["payloads"], 1);
}
