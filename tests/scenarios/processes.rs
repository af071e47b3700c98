//! The daemon as a process: stopped in its tracks, ended under load, started twice on one journal.

use std::time::{Duration, Instant};

use crate::rig::{Daemon, Dice, Habits, House, Load, Sent, with_each_broker};

/// How long a worker waits for a reply, and how long a daemon stands still: longer.
const ATTEMPT: Duration = Duration::from_millis(300);
const PATIENCE: Duration = Duration::from_secs(15);

fn habits(session: &str, appenders: usize) -> Habits {
    let sessions = ["x", "y", "z"].map(|name| format!("{session}-{name}")).to_vec();
    Habits { sessions, appenders, attempt: ATTEMPT, filling: 100 }
}

#[test]
fn a_daemon_that_stood_still_answers_late_what_it_answers_again() {
    with_each_broker(async |server| {
        let house = House::start(server);
        let worker = house.worker().await;
        worker.open("s").await;
        let load = Load::begin(std::slice::from_ref(&worker), &habits("f", 8)).await;
        for round in 0..2 {
            load.goes_on(20, PATIENCE).await;
            let mut sent = Sent::new(&worker, &format!("frozen-{round}")).await;
            house.daemon().freeze(true);
            // A worker that gives up and sends again, on another connection in the end.
            for _ in 0..3 {
                sent.send(&worker.nats).await;
                assert_eq!(sent.reply(ATTEMPT).await, None, "it stands still");
            }
            let before = load.acknowledged();
            tokio::time::sleep(ATTEMPT).await;
            assert_eq!(load.acknowledged(), before, "it answers nobody");
            let other = house.worker().await;
            sent.send(&other.nats).await;
            house.daemon().freeze(false);
            let first = sent.replies(4).await;
            sent.repeated(&other, Some(&first)).await;
            assert_eq!(sent.effects(&worker).await, [first["spans"][0]["seq"].clone()]);
        }
        load.goes_on(20, PATIENCE).await;
        let account = load.end().await;
        eprintln!("{} acknowledged, {} sent again", account.acknowledged.len(), account.resent);
        assert!(account.resent >= 16, "each of the appenders waited in vain, twice");
        account.settle(&worker).await;
    });
}

#[test]
fn a_daemon_that_is_asked_to_stop_under_load_leaves_nothing_to_repair_and_nothing_undone() {
    with_each_broker(async |server| {
        let mut dice = Dice::roll("SIGTERM under load");
        let mut house = House::start(server);
        let workers = [house.worker().await, house.worker().await];
        for round in 0..3 {
            let load = Load::begin(&workers, &habits(&format!("t{round}"), 48)).await;
            load.goes_on(48, PATIENCE).await;
            let pause = dice.between(Duration::ZERO, Duration::from_millis(200));
            tokio::time::sleep(pause).await;
            let log = house.journal().join("journal.log");
            assert!(log.is_file(), "it is in use");
            let said = tokio::task::block_in_place(|| house.stop_daemon());
            assert!(said.contains("the journal is closed") && !said.contains("panicked"), "{said}");
            assert!(!log.exists(), "everything in it is in the database");
            // Its appenders go on asking: they are not told to stop before it is gone.
            let answered = load.acknowledged();
            tokio::time::sleep(ATTEMPT).await;
            assert_eq!(load.acknowledged(), answered, "nobody is there");
            let account = load.end().await;
            let (some, none) = (account.acknowledged.len(), account.unanswered.len());
            eprintln!("{some} acknowledged, {none} not, {} refused", account.refused.len());
            assert_eq!((some, none), (answered, 48), "the load was on");
            tokio::task::block_in_place(|| house.start_daemon());
            let said = house.daemon().log();
            assert!(!said.contains("repairing") && !said.contains("WARN"), "{said}");
            account.settle(&workers[0]).await;
        }
    });
}

#[test]
fn of_two_daemons_on_one_journal_one_serves_and_the_other_takes_over_once_it_is_gone() {
    with_each_broker(async |server| {
        let mut house = House::start(server);
        let worker = house.worker().await;
        let load = Load::begin(std::slice::from_ref(&worker), &habits("d", 8)).await;
        for _ in 0..3 {
            load.goes_on(10, PATIENCE).await;
            let second = Daemon::spawn(&house.journal(), &["--nats", &house.url()]);
            let (status, log) = tokio::task::block_in_place(|| second.wait());
            assert_eq!(status.code(), Some(1), "{log}");
            assert!(log.contains("in use by another process"), "{log}");
            assert!(!log.contains("panicked") && !log.contains("the journal is open"), "{log}");
            load.goes_on(10, PATIENCE).await;
        }
        // The first one is killed with a load on it; who starts then has its journal.
        tokio::task::block_in_place(|| {
            house.kill_daemon();
            house.give_daemon(Daemon::start(&house.journal(), &house.url()));
        });
        load.goes_on(10, PATIENCE).await;
        load.end().await.settle(&worker).await;
    });
}

#[test]
fn of_two_daemons_that_start_at_once_exactly_one_has_the_journal() {
    let server = crate::rig::current_server();
    let broker = crate::rig::Broker::start(&server);
    for _ in 0..4 {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal");
        let start = || Daemon::spawn(&journal, &["--nats", &broker.url()]);
        let mut both = [start(), start()];
        let until = Instant::now() + PATIENCE;
        while both.iter_mut().all(Daemon::runs) {
            assert!(Instant::now() < until, "both go on");
            std::thread::sleep(Duration::from_millis(5));
        }
        let [mut one, other] = both;
        let (winner, loser) = if one.runs() { (one, other) } else { (other, one) };
        let (status, log) = loser.wait();
        assert_eq!(status.code(), Some(1), "{log}");
        assert!(log.contains("in use by another process") && !log.contains("panicked"), "{log}");
        winner.wait_until_ready();
        winner.stop();
    }
}
