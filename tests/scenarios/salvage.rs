//! `lacuna salvage`, as somebody uses it whose journal is damaged.

use serde_json::{Value, json};

use crate::rig::{Broker, Cli, Daemon, current_server, destroy_events};

/// Two sessions: s with four spans in events 2 to 5, and other.
fn journal() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let broker = Broker::start(&current_server());
    // Only import and serve make a journal.
    Daemon::start(folder.path(), &broker.url()).stop();
    let cli = Cli::journal(folder.path());
    assert_eq!(cli.run(&["open", "-s", "s"]).code, 0);
    for id in ["a", "b", "c", "d"] {
        let text = format!("the content of {id}");
        let ran = cli.run_with(text.as_bytes(), &["append", "-s", "s", "--id", id]);
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    assert_eq!(cli.run(&["open", "-s", "other"]).code, 0);
    assert_eq!(cli.run_with(b"whole", &["append", "-s", "other", "--id", "x"]).code, 0);
    folder
}

fn files(folder: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let read = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        (name, std::fs::read(entry.path()).unwrap())
    };
    let mut files: Vec<_> = entries.map(read).collect();
    files.sort();
    files
}

#[test]
fn a_damaged_journal_is_salvaged_and_what_is_missing_is_listed() {
    let from = journal();
    let place = from.path().to_str().unwrap();
    let house = tempfile::tempdir().unwrap();
    let (sound, into) = (house.path().join("sound"), house.path().join("into"));
    let (sound, into) = (sound.to_str().unwrap(), into.to_str().unwrap());
    let cli = Cli::nowhere();
    let whole = cli.done(&["salvage", place, sound]);
    assert_eq!(
        (&whole["sessions"], &whole["events"], &whole["contents"]),
        (&json!(2), &json!(7), &json!(5))
    );

    destroy_events(from.path(), 4);
    let before = files(from.path());
    let ran = cli.run(&["salvage", place, into]);
    assert_eq!(ran.code, 5, "{} {}", ran.out, ran.err);
    for words in [
        "salvaged 2 sessions with 5 events and 3 contents",
        "event 4 was not found",
        "default/s: 1 events behind version 3 are left",
        "left-behind.jsonl",
        &format!("look at it with: lacuna sessions --journal {into}"),
    ] {
        assert!(ran.out.contains(words), "{words:?} is not in {}", ran.out);
    }
    assert!(before == files(from.path()), "the damaged journal is not touched");
    let new = Cli::journal(std::path::Path::new(into));
    assert_eq!(new.done(&["verify"])["ok"], true);
    let ran = new.run(&["expand", "-s", "s", "b", "--raw"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "the content of b"));
    // What the journal could not take can be read where it was put.
    let left = std::fs::read_to_string(format!("{into}/left-behind.jsonl")).unwrap();
    let lines: Vec<Value> = left.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 1, "{left}");
    assert_eq!(
        (&lines[0]["version"], &lines[0]["content"]),
        (&json!(5), &json!("the content of d"))
    );

    // Neither over what is there, nor into itself, nor behind one that did not end.
    for (target, words) in [(into, "name a new folder"), (place, "name a new folder")] {
        let again = cli.run(&["salvage", place, target]);
        assert_eq!(again.code, 2, "{}", again.err);
        assert!(again.err.contains(words), "{}", again.err);
    }
    assert!(before == files(from.path()), "the damaged journal is not touched");
    let part = house.path().join("part");
    std::fs::create_dir(&part).unwrap();
    std::fs::write(part.join("salvage.unfinished"), "").unwrap();
    let again = cli.run(&["salvage", place, part.to_str().unwrap()]);
    assert!(again.code == 2 && again.err.contains("did not end"), "{}", again.err);
    let nothing = cli.run(&["salvage", house.path().to_str().unwrap(), "/nowhere"]);
    assert_eq!(nothing.code, 1, "{}", nothing.out);
    assert!(nothing.err.contains("there is no journal in"), "{}", nothing.err);
}

/// It said that nothing was missing, and ended well.
#[test]
fn a_journal_without_its_log_is_not_called_whole() {
    let from = journal();
    let broker = Broker::start(&current_server());
    Daemon::start(from.path(), &broker.url()).kill();
    let cli = Cli::journal(from.path());
    assert_eq!(cli.run(&["head"]).code, 0);
    let house = tempfile::tempdir().unwrap();
    let into = |name: &str| house.path().join(name).to_str().unwrap().to_owned();
    let place = from.path().to_str().unwrap();
    assert_eq!(Cli::nowhere().json(&["salvage", place, &into("whole")]).1["end"], "known");
    // Killed with something in the log, which is gone then.
    let daemon = Daemon::start(from.path(), &broker.url());
    let live = Cli::nats(&broker.url());
    let ran = live.run_with(b"in the log", &["append", "-s", "s", "--id", "late"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    daemon.kill();
    std::fs::remove_file(from.path().join("journal.log")).unwrap();
    let ran = Cli::nowhere().run(&["salvage", place, &into("part")]);
    assert_eq!(ran.code, 5, "{}", ran.out);
    assert!(ran.out.contains("the log that the database needs is missing"), "{}", ran.out);
    assert!(!ran.out.contains("nothing is missing"), "{}", ran.out);
    // Nor one of which only the shell of a database is left.
    std::fs::write(from.path().join("journal.redb"), b"").unwrap();
    let ran = Cli::nowhere().run(&["salvage", place, &into("none")]);
    assert!(ran.code == 5 && ran.out.contains("nobody can tell"), "{} {}", ran.out, ran.err);
}

#[test]
fn a_journal_in_use_is_not_salvaged() {
    let from = journal();
    let broker = Broker::start(&current_server());
    let _daemon = Daemon::start(from.path(), &broker.url());
    let into = tempfile::tempdir().unwrap();
    let place = from.path().to_str().unwrap();
    let ran = Cli::nowhere().run(&["salvage", place, into.path().join("new").to_str().unwrap()]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(ran.err.contains("in use by another process"), "{}", ran.err);
    assert!(!into.path().join("new").exists(), "nothing was made");
}
