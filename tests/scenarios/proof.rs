//! Checkpoints from the outside: signed by a daemon at work and when it stops, kept elsewhere, and held
//! against the journal, a shortened one, another one, and a mere copy of its file.

use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use lacuna_store::{Store, StoreOptions};
use serde_json::{Value, json};

use crate::rig::{Cli, Fed, House, caught_up, current_server, everything, jetstream_api};

fn spans(cli: &Cli, from: usize, to: usize) {
    for n in from..to {
        let id = format!("a{n}");
        let ran = cli.run_with(b"words", &["append", "-s", "s", "--id", &id]);
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
}

fn verdicts(reply: &Value) -> Vec<&str> {
    let checkpoints = reply["checkpoints"].as_array().unwrap();
    checkpoints.iter().map(|one| one["verdict"].as_str().unwrap()).collect()
}

/// Runs `verify` with these arguments; gives code and verdicts.
fn verify(cli: &Cli, arguments: &[&str]) -> (i32, Vec<String>) {
    let (code, reply) = cli.json(&[&["verify"], arguments].concat());
    assert_eq!(reply["ok"], code == 0, "{reply}");
    (code, verdicts(&reply).into_iter().map(str::to_owned).collect())
}

#[test]
fn a_daemon_signs_what_it_leaves_and_any_copy_is_held_to_it() {
    let mut house = House::start(&current_server());
    let cli = house.cli();
    cli.done(&["open", "-s", "s"]);
    spans(&cli, 0, 3);
    let elsewhere = tempfile::tempdir().unwrap();
    let path = |name: &str| elsewhere.path().join(name).to_str().unwrap().to_owned();
    let (notes, key, copy) = (path("notes"), path("key"), path("copy.redb"));
    let signed = cli.done(&["checkpoint", "--out", &notes]);
    assert_eq!(signed["seq"], 4);
    std::fs::write(&key, signed["key"].as_str().unwrap()).unwrap();
    spans(&cli, 3, 5);
    assert_eq!(cli.run(&["checkpoint", "--out", &notes]).code, 0);
    let both = ["--checkpoint", notes.as_str(), "--key", key.as_str()];
    assert_eq!(verify(&cli, &both), (0, vec!["extends".into(), "extends".into()]));
    // A file without a key must not make it believe the journal's own.
    let none = path("none");
    std::fs::write(&none, "\n# nothing\n").unwrap();
    let ran = cli.run(&["verify", "--checkpoint", &notes, "--key", &none]);
    assert_eq!(ran.code, 2, "{} {}", ran.out, ran.err);
    // Nor is a secret key shown, whoever gives it by mistake.
    let secret = house.journal().join("journal.sign");
    let ran = cli.run(&["verify", "--checkpoint", &notes, "--key", secret.to_str().unwrap()]);
    let text = std::fs::read_to_string(&secret).unwrap();
    assert_eq!(ran.code, 2, "{} {}", ran.out, ran.err);
    assert!(!ran.err.contains(text.trim()) && !ran.out.contains(text.trim()), "{}", ran.err);
    let ran = cli.run(&["verify", "--checkpoint", &notes]);
    assert!(ran.out.contains("2 more events, chained to it"), "{}", ran.out);
    assert!(ran.out.contains("the keys lie beside the journal"), "{}", ran.out);
    // What is recorded last is signed when the daemon stops.
    spans(&cli, 5, 6);
    let log = house.stop_daemon();
    assert!(log.contains("a checkpoint was signed"), "{log}");
    let journal = house.journal();
    let kept = journal.join("journal.checkpoints");
    let kept = kept.to_str().unwrap();
    let direct = Cli::journal(&journal);
    let (code, found) = verify(&direct, &["--checkpoint", kept, "--key", &key]);
    assert_eq!((code, found.last().map(String::as_str)), (0, Some("extends")));
    let (_, reply) = direct.json(&["verify", "--checkpoint", kept]);
    let last = reply["checkpoints"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&last["seq"], &last["events_since"]), (&7.into(), &0.into()), "{last}");
    // A copy of the file alone, without keys to its contents.
    std::fs::copy(journal.join("journal.redb"), &copy).unwrap();
    let alone = [&both[..], &["--copy", &copy]].concat();
    assert_eq!(verify(&Cli::nowhere(), &alone), (0, vec!["extends".into(), "extends".into()]));
    // Another journal, and a file that nobody has signed.
    let other = House::start(&current_server());
    other.cli().done(&["open", "-s", "s"]);
    let (code, found) = verify(&other.cli(), &both);
    assert_eq!((code, found), (5, vec!["other_journal".into(), "other_journal".into()]));
    let (code, found) = verify(&other.cli(), &["--checkpoint", &notes]);
    assert_eq!((code, found), (5, vec!["key_unknown".into(), "key_unknown".into()]));
    let lie = std::fs::read_to_string(&notes).unwrap().replacen("\n4\n", "\n3\n", 1);
    std::fs::write(&notes, lie).unwrap();
    assert_eq!(verify(&direct, &both), (5, vec!["bad_signature".into(), "extends".into()]));
    std::fs::write(&notes, "nothing signed").unwrap();
    assert_eq!(direct.run(&[&["verify"], &both[..]].concat()).code, 2);
    assert_eq!(direct.run(&["verify", "--key", &key]).code, 2);
}

#[test]
fn a_journal_put_back_from_an_older_copy_is_found_out() {
    let mut house = House::start(&current_server());
    let cli = house.cli();
    cli.done(&["open", "-s", "s"]);
    spans(&cli, 0, 2);
    house.stop_daemon();
    let older = tempfile::tempdir().unwrap();
    copy_folder(&house.journal(), older.path());
    house.start_daemon();
    spans(&cli, 2, 4);
    let notes = older.path().join("notes");
    let notes = notes.to_str().unwrap();
    let key = cli.done(&["checkpoint", "--out", notes])["key"].as_str().unwrap().to_owned();
    let back = Cli::journal(older.path());
    let arguments = ["--checkpoint", notes, "--key", &key];
    assert_eq!(verify(&back, &arguments), (5, vec!["truncated".into()]));
    // And when it has gone on from there, as if the rest had never been.
    spans(&back, 7, 12);
    assert_eq!(verify(&back, &arguments), (5, vec!["rewritten".into()]));
    assert!(Store::open(older.path(), &StoreOptions::default()).is_ok());
}

fn copy_folder(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

#[tokio::test]
async fn a_checkpoint_is_on_the_feed_apart_from_the_events() {
    let mut house = House::start(&current_server());
    let cli = house.cli();
    cli.done(&["open", "-s", "s"]);
    spans(&cli, 0, 2);
    let worker = house.worker().await;
    caught_up(&worker).await;
    let log = house.stop_daemon();
    assert!(log.contains("a checkpoint was signed"), "{log}");
    let got = jetstream_api(
        &worker.nats,
        "STREAM.MSG.GET.LACUNA_EVENTS",
        json!({ "last_by_subj": "lacuna.v1.checkpoints.*" }),
    )
    .await;
    let message = &got["message"];
    // It is the last thing that the daemon said, behind all events.
    let end = jetstream_api(&worker.nats, "STREAM.INFO.LACUNA_EVENTS", json!({})).await;
    assert_eq!(message["seq"], end["state"]["last_seq"]);
    let body = BASE64_STANDARD.decode(message["data"].as_str().unwrap()).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&body["kind"], &body["seq"]), (&json!("checkpoint-signed"), &json!(3)));
    let notes = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(notes.path(), body["note"].as_str().unwrap()).unwrap();
    let direct = Cli::journal(&house.journal());
    let file = notes.path().to_str().unwrap();
    assert_eq!(verify(&direct, &["--checkpoint", file]), (0, vec!["extends".into()]));
    // Who follows the events does not meet it.
    let fed = everything(&worker.nats).await;
    assert_eq!(fed.iter().map(Fed::seq).collect::<Vec<_>>(), [1, 2, 3]);
}
