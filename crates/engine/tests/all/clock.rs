//! The retention clock: policies run when their time has come, also across restarts, and an interrupted run
//! goes on when the journal is opened.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lacuna_core::event::{Keep, LiveHandles, Match, Rule, RunEnd, Since};
use lacuna_core::retention::{Period, STREAM};
use lacuna_core::{Command, Outcome, Timestamp};
use lacuna_engine::{Journal, Options, RetentionClock, RunLimit, RunRequest};

use crate::rig::{append, key, open, request};

const BEGIN: u64 = 1_796_018_400_000;
const HOUR: u64 = 3_600_000;

fn policy() -> Command {
    let period = Some((Period(30 * 60_000), Since::Recorded));
    let rule = Rule {
        id: "half an hour".into(),
        matches: Match::default(),
        keep: Keep { period, ..Keep::default() },
        notice: Period(0),
        live_handles: LiveHandles::Commit,
        residue: false,
    };
    Command::SetPolicy { rules: vec![rule] }
}

fn journal(folder: &tempfile::TempDir, time: &Arc<AtomicU64>, limit: RunLimit) -> Arc<Journal> {
    let told = Arc::clone(time);
    let clock = Arc::new(move || Timestamp(told.load(Ordering::Relaxed)));
    let options = Options { clock, run_limit: limit, ..Options::default() };
    Arc::new(Journal::open(folder.path(), options).unwrap())
}

fn outcome(journal: &Journal, span: &str) -> Outcome {
    journal.expand(&key("s"), &span.parse().unwrap(), 0, 99).unwrap().outcome
}

/// Waits until something holds, but not without bound.
fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what} never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_policy_runs_when_its_time_has_come_also_across_a_restart() {
    let (folder, time) = (tempfile::tempdir().unwrap(), Arc::new(AtomicU64::new(BEGIN)));
    let first = journal(&folder, &time, RunLimit::default());
    first.execute(request("s", None, open())).unwrap();
    first.execute(request("s", None, append(&[("a", "alpha")]))).unwrap();
    first.execute(request(STREAM, None, policy())).unwrap();
    let clock = RetentionClock::start(Arc::clone(&first), Duration::from_millis(HOUR));
    drop(clock);
    time.store(BEGIN + HOUR - 1, Ordering::Relaxed);
    first.close().unwrap();
    drop(first);

    let second = journal(&folder, &time, RunLimit::default());
    let tenant = key("s").tenant;
    // Looked at often: a short time to wait, and the injected clock decides.
    let clock = RetentionClock::start(Arc::clone(&second), Duration::from_millis(40));
    until("the first run", || second.retention(&tenant).unwrap().0.closed_runs().len() == 1);
    assert_eq!(outcome(&second, "a"), Outcome::Lossy);
    let run = second.retention(&tenant).unwrap().0.closed_runs()[0].clone();
    assert_eq!((run.run.by.as_str(), run.tally.removed_spans), ("lacuna", 1));
    // Time stands still: nothing more is due.
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(second.retention(&tenant).unwrap().0.closed_runs().len(), 1);
    time.fetch_add(HOUR, Ordering::Relaxed);
    until("the second run", || second.retention(&tenant).unwrap().0.closed_runs().len() == 2);
    drop(clock);
    second.close().unwrap();
}

#[test]
fn a_run_over_its_limit_removes_nothing_raises_an_alert_and_an_officer_lifts_it_once() {
    let (folder, time) = (tempfile::tempdir().unwrap(), Arc::new(AtomicU64::new(BEGIN)));
    let limit = RunLimit { spans: 2, share_ppm: 500_000 };
    let journal = journal(&folder, &time, limit);
    journal.execute(request("s", None, open())).unwrap();
    let spans = [("a", "1"), ("b", "2"), ("c", "3")];
    journal.execute(request("s", None, append(&spans))).unwrap();
    journal.execute(request(STREAM, None, policy())).unwrap();
    time.fetch_add(HOUR, Ordering::Relaxed);
    let tenant = key("s").tenant;
    let run = |unlimited| {
        let request = RunRequest { unlimited, ..RunRequest::scheduled() };
        journal.run(&tenant, request).unwrap().0
    };
    let stopped = run(false);
    assert_eq!((stopped.end, stopped.tally.removed_spans), (RunEnd::OverLimit, 0));
    assert_eq!(outcome(&journal, "a"), Outcome::Live);
    let events = journal.history(&key(STREAM), 1, 99).unwrap();
    let kinds: Vec<&str> = events.iter().rev().take(2).map(|event| event.event.kind()).collect();
    assert_eq!(kinds, ["alert-raised", "run-closed"]);
    let lifted = run(true);
    assert_eq!((lifted.end, lifted.tally.removed_spans), (RunEnd::Done, 3));
    assert_eq!(outcome(&journal, "a"), Outcome::Lossy);
    // The next one is limited again; there is nothing for it to do.
    assert_eq!(run(false).end, RunEnd::Done);
}
