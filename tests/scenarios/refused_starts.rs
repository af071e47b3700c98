//! Starts that must be refused, each with a message that says what is wrong.

use std::path::Path;
use std::time::Duration;

use crate::rig::{Broker, Cli, Daemon, House, current_server, free_port, set_format};

/// A start that fails: its exit code and its log.
fn refused(journal: &Path, arguments: &[&str]) -> (i32, String) {
    let (status, log) = Daemon::spawn(journal, arguments).wait();
    assert!(!log.contains("panicked"), "{log}");
    (status.code().unwrap(), log)
}

#[test]
fn a_second_daemon_on_the_same_journal() {
    let house = House::start(&current_server());
    let (code, log) = refused(&house.journal(), &["--nats", &house.url()]);
    assert_eq!(code, 1, "{log}");
    assert!(log.contains("in use by another process"), "{log}");
    assert!(log.contains(house.journal().to_str().unwrap()), "{log}");
    // Nor may the command line open it directly; and the daemon is not disturbed.
    let ran = Cli::journal(&house.journal()).run(&["head"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("in use by another process"), "{}", ran.err);
    assert_eq!(house.cli().done(&["head"])["seq"], 0);
}

/// The broker would deal requests out to either, and each would know half of the sessions.
#[test]
fn a_daemon_with_another_journal_on_the_same_broker() {
    let house = House::start(&current_server());
    let folder = tempfile::tempdir().unwrap();
    let (code, log) = refused(folder.path(), &["--nats", &house.url()]);
    assert_eq!(code, 1, "{log}");
    assert!(log.contains("a daemon with another journal"), "{log}");
    assert_eq!(house.cli().done(&["head"])["seq"], 0);
}

#[test]
fn a_folder_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "a regular file").unwrap();
    // Below a regular file nobody can write, not even root.
    let journal = file.join("journal");
    let (code, log) = refused(&journal, &["--nats", "nats://127.0.0.1:9"]);
    assert_eq!(code, 1, "{log}");
    assert!(log.contains("cannot be used") && log.contains(journal.to_str().unwrap()), "{log}");
}

#[test]
fn a_journal_of_a_newer_format() {
    let mut house = House::start(&current_server());
    house.stop_daemon();
    set_format(&house.journal(), 7);
    let (code, log) = refused(&house.journal(), &["--nats", &house.url()]);
    assert_eq!(code, 1, "{log}");
    // By name and version: which format, which release, what it can read.
    assert!(log.contains("format 7") && log.contains("reads up to 4"), "{log}");
    assert!(log.contains(concat!("lacuna ", env!("CARGO_PKG_VERSION"))), "{log}");
    let ran = Cli::journal(&house.journal()).run(&["verify"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("format 7"), "{}", ran.err);
    // It was refused, not changed.
    set_format(&house.journal(), 2);
    house.start_daemon();
    assert_eq!(house.cli().done(&["verify"])["ok"], true);
}

#[test]
fn configurations_that_say_something_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lacuna.toml");
    let journal = folder.path().join("journal");
    for (text, says) in [
        ("[writer]\nbatch_mb = 2\n", "batch_mb"),
        ("[wrtier]\n", "wrtier"),
        ("[writer]\nbatch_mib = \"2\"\n", "batch_mib"),
        ("[log]\nformat = \"xml\"\n", "xml"),
        ("[", "lacuna.toml"),
    ] {
        std::fs::write(&file, text).unwrap();
        let config = file.to_str().unwrap();
        for more in [&["--config", config][..], &["--config", config, "--check"]] {
            let (code, log) = refused(&journal, more);
            assert_eq!(code, 2, "{text:?}: {log}");
            assert!(log.contains(says), "{text:?}: {log}");
        }
    }
    assert!(!journal.exists(), "a configuration that is refused makes no journal");
    let (code, log) = refused(&journal, &["--config", "/no/such/file"]);
    assert_eq!(code, 1, "{log}");
    assert!(log.contains("/no/such/file"), "{log}");
}

#[test]
fn the_configuration_in_force_is_printed_and_reads_back() {
    let folder = tempfile::tempdir().unwrap();
    let cli = Cli::nats("nats://me:secret@127.0.0.1:4222");
    let dump = cli.run(&["serve", "--dump-config"]);
    assert_eq!(dump.code, 0, "{}", dump.err);
    assert!(!dump.out.contains("secret"), "{}", dump.out);
    let file = folder.path().join("lacuna.toml");
    std::fs::write(&file, &dump.out).unwrap();
    let check = cli.run(&["serve", "--check", "--config", file.to_str().unwrap()]);
    assert_eq!(check.code, 0, "{}", check.err);
}

#[test]
fn a_broker_that_is_not_there_yet_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let (server, port) = (current_server(), free_port());
    let url = format!("nats://127.0.0.1:{port}");
    let mut daemon = Daemon::spawn(folder.path(), &["--nats", &url]);
    daemon.wait_for_words(0, "the journal is open");
    daemon.wait_for_words(0, "no connection to the broker yet");
    let ran = Cli::nats(&url).run(&["head"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("no broker answers"), "{}", ran.err);
    assert!(ran.err.contains(&port.to_string()), "it says where: {}", ran.err);
    std::thread::sleep(Duration::from_millis(300));
    assert!(daemon.runs(), "{}", daemon.log());
    assert!(!daemon.log().contains(" ready"), "{}", daemon.log());
    let broker = Broker::start_with(&server, "", port);
    daemon.wait_until_ready();
    assert_eq!(Cli::nats(&broker.url()).done(&["head"])["seq"], 0);
    daemon.stop();
}

#[test]
fn waiting_for_a_broker_ends_with_a_signal() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("nats://127.0.0.1:{}", free_port());
    let daemon = Daemon::spawn(folder.path(), &["--nats", &url]);
    daemon.wait_for_words(0, "no connection to the broker yet");
    let log = daemon.stop();
    assert!(log.contains("the journal is closed"), "{log}");
}
