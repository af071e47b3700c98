//! The disk that holds the journal is full, or can no longer be written: what cannot be recorded is
//! refused by name, questions go on for as long as the daemon does, and everything acknowledged is there
//! once there is room.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::rig::{
    Broker, Daemon, Habits, House, Load, Mount, Refused, Server, Worker, with_each_broker,
};

const PATIENCE: Duration = Duration::from_secs(20);
/// Behind the last commit the database may be synced; how soon that has ended.
const SYNCED: Duration = Duration::from_millis(500);
/// Sizes of the disk, in MiB: in the beginning, and when it has grown.
const SMALL: u64 = 24;
const LARGE: u64 = 96;

fn habits() -> Habits {
    let sessions = ["x", "y"].map(str::to_owned).to_vec();
    Habits { sessions, appenders: 4, attempt: Duration::from_millis(500), filling: 30_000 }
}

/// A house whose journal lies on a small disk, on which so much is kept free.
fn small(server: &Server, keep_free: u64) -> Option<(House, Mount)> {
    let mut mounted = None;
    let house = House::configured(Broker::start(server), |folder| {
        mounted = Mount::small(&folder.join("journal"), SMALL);
        format!("[journal]\nkeep_free_mib = {keep_free}\n")
    });
    // In this order: it must go before the folder that it stands in.
    mounted.map(|mount| (house, mount))
}

#[test]
fn a_disk_below_what_is_kept_free_takes_nothing_until_it_grows() {
    with_each_broker(async |server| {
        // The default is more than this disk has.
        let Some((mut house, mount)) = small(server, 64) else { return };
        let worker = house.worker().await;
        let refused = worker.refused("s", "open", json!({ "window_tokens": 1_000 })).await;
        assert_eq!(refused.code, "overloaded", "{refused:?}");
        assert!(refused.message.contains("keep_free_mib"), "{}", refused.message);
        assert_eq!(refused.details["keep_free_bytes"], 64 << 20);
        assert!(refused.details["free_bytes"].as_u64().unwrap() < SMALL << 20, "{refused:?}");
        assert_eq!(worker.journal("head", json!({})).await["seq"], 0);
        mount.grow(LARGE);
        worker.open("s").await;
        worker.append("s", "a", "words").await;
        worker.verify().await;
        tokio::task::block_in_place(|| house.stop_daemon());
    });
}

#[test]
fn a_disk_that_fills_up_refuses_contents_by_name_and_takes_them_again() {
    with_each_broker(async |server| {
        let Some((mut house, mount)) = small(server, 6) else { return };
        let worker = house.worker().await;
        worker.open("s").await;
        worker.append("s", "early", "early words").await;
        worker.append("s", "secret", "CANARY-disk").await;
        let load = Load::begin(std::slice::from_ref(&worker), &habits()).await;
        // A command of its own each time: one that was done is answered as it was.
        let full = async || {
            let span = json!({ "role": "user", "origin": "user", "content": "late words" });
            worker.ask("s", "append", json!({ "spans": [span] })).await.err()
        };
        let until = Instant::now() + PATIENCE;
        let refused = loop {
            if let Some(refused) = full().await {
                break refused;
            }
            assert!(Instant::now() < until, "it never fills up");
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        assert_eq!(
            (refused.code.as_str(), &refused.details["keep_free_bytes"]),
            ("overloaded", &(6 << 20).into())
        );
        // What was taken before is still answered.
        tokio::time::sleep(Duration::from_millis(300)).await;
        let before = load.acknowledged();
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(load.acknowledged(), before, "it takes nothing");
        // Reading goes on, and so do pruning, restoring, verifying and erasing.
        let early = worker.call("s", "expand", json!({ "span": "early" })).await;
        assert_eq!(early["content"], "early words");
        let pruned = worker.call("s", "prune", json!({ "spans": ["early"] })).await;
        assert_eq!(pruned["status"], "reversible", "{pruned}");
        worker.call("s", "restore", json!({ "spans": ["early"] })).await;
        let officer = Worker::connect(&house.url(), "acme", "officer").await;
        let erase = json!({ "session": "s", "spans": ["secret"], "reason": "asked" });
        let subject = "lacuna.v1.acme.officer.retention.erase";
        let erased = officer.ask_bytes(subject, erase.to_string().into_bytes()).await.unwrap();
        assert_eq!(erased["removed"]["spans"], 1, "{erased}");
        worker.verify().await;
        // Nor does a restart need more than there is.
        tokio::task::block_in_place(|| {
            house.kill_daemon();
            house.start_daemon();
        });
        assert_eq!(full().await.expect("it is as full as before").code, "overloaded");
        mount.grow(LARGE);
        load.goes_on(20, PATIENCE).await;
        let account = load.end().await;
        eprintln!("{} acknowledged, refused {:?}", account.acknowledged.len(), account.refused);
        assert!(account.refused["overloaded"] > 4, "{:?}", account.refused);
        account.settle(&worker).await;
        let log = tokio::task::block_in_place(|| house.stop_daemon());
        assert!(!log.contains("panicked"), "{log}");
    });
}

/// What is kept free from the journal is not kept free from others, who may leave nothing at all.
#[test]
fn a_disk_that_others_fill_to_the_last_byte_is_still_read() {
    with_each_broker(async |server| {
        let Some((mut house, mount)) = small(server, 6) else { return };
        let worker = house.worker().await;
        worker.open("s").await;
        let load = Load::begin(std::slice::from_ref(&worker), &habits()).await;
        load.goes_on(40, PATIENCE).await;
        let account = load.end().await;
        // The database may be on its way to the disk, which needs room, too.
        tokio::time::sleep(SYNCED).await;
        let theirs = ["most", "rest"].map(|name| house.journal().join(name));
        fill(&theirs[0], 4 << 20);
        let refused = until_refused(&worker).await;
        assert_eq!(refused.code, "overloaded", "{refused:?}");
        tokio::time::sleep(SYNCED).await;
        let full = fill(&theirs[1], 0).expect("nothing more can be written");
        assert_eq!(full.raw_os_error(), Some(28), "{full}");
        let refused = until_refused(&worker).await;
        let left = refused.details["free_bytes"].as_u64().unwrap();
        eprintln!("{} acknowledged, {left} bytes left", account.acknowledged.len());
        assert!(refused.code == "overloaded" && left < 64 << 10, "{refused:?}");
        worker.verify().await;
        let ((session, body), reply) = account.acknowledged.values().next().unwrap();
        let expand = json!({ "span": reply["spans"][0]["id"] });
        let read = worker.call(session, "expand", expand).await;
        assert_eq!(read["content"], body["spans"][0]["content"]);
        for file in &theirs {
            std::fs::remove_file(file).unwrap();
        }
        account.settle(&worker).await;
        let log = tokio::task::block_in_place(|| house.stop_daemon());
        assert!(!log.contains("panicked"), "{log}");
        drop(mount);
    });
}

/// Appends until that is refused. The daemon looks at the disk behind each commit: one more is taken where
/// it still fits.
async fn until_refused(worker: &Worker) -> Refused {
    let span = json!({ "role": "user", "origin": "user", "content": "late words" });
    for _ in 0..3 {
        if let Err(refused) = worker.ask("s", "append", json!({ "spans": [span] })).await {
            return refused;
        }
    }
    panic!("a full disk takes everything");
}

/// The reply that a worker missed says that its command was carried out; the disk does not matter to that.
#[test]
fn what_was_answered_before_the_disk_was_full_is_answered_again_while_it_is() {
    with_each_broker(async |server| {
        let Some((mut house, mount)) = small(server, 4) else { return };
        let worker = house.worker().await;
        worker.open("s").await;
        let span = json!({ "role": "user", "origin": "user", "content": "words" });
        let append = json!({ "spans": [span], "command_id": "early" });
        let mut first = worker.call("s", "append", append.clone()).await;
        fill(&house.journal().join("theirs"), 2 << 20);
        assert_eq!(until_refused(&worker).await.code, "overloaded");
        first["duplicate"] = true.into();
        let again = worker.ask("s", "append", append).await;
        assert_eq!(again, Ok(first), "the first reply again");
        drop(mount);
        house.kill_daemon();
    });
}

/// Writes until no more than so much is left on the disk, or nothing more can be written.
fn fill(file: &Path, leave: u64) -> Option<std::io::Error> {
    let mut file = std::fs::File::create(file).unwrap();
    loop {
        let disk = rustix::fs::fstatvfs(&file).unwrap();
        let left = disk.f_bavail * disk.f_frsize;
        if left <= leave && leave > 0 {
            return None;
        }
        if let Err(error) = file.write_all(&vec![1; (left - leave).clamp(1, 1 << 16) as usize]) {
            return Some(error);
        }
    }
}

/// Nothing is kept free: the disk itself refuses in the middle of a commit.
#[test]
fn a_disk_that_is_really_full_ends_the_daemon_and_costs_nothing_acknowledged() {
    with_each_broker(async |server| {
        let Some((mut house, mount)) = small(server, 0) else { return };
        let worker = house.worker().await;
        let load = Load::begin(std::slice::from_ref(&worker), &habits()).await;
        let (status, log) = tokio::task::block_in_place(|| house.take_daemon().wait());
        assert_eq!(status.code(), Some(1), "{log}");
        assert!(log.contains("No space left on device"), "{log}");
        assert!(!log.contains("panicked"), "{log}");
        let account = load.end().await;
        eprintln!("{} acknowledged, refused {:?}", account.acknowledged.len(), account.refused);
        assert!(account.acknowledged.len() > 20 && !account.unanswered.is_empty());
        // Without room it starts, or says that it cannot: either way it changes nothing for the worse.
        let mut again = Daemon::spawn(&house.journal(), &["--nats", &house.url()]);
        tokio::time::sleep(Duration::from_secs(1)).await;
        let runs = again.runs();
        eprintln!("on the full disk it {}", if runs { "starts again" } else { "does not start" });
        if runs {
            again.kill();
        } else {
            let (status, log) = tokio::task::block_in_place(|| again.wait());
            assert!(status.code() == Some(1) && log.contains("No space left"), "{status}: {log}");
            assert!(!log.contains("panicked"), "{log}");
        }
        mount.grow(LARGE);
        tokio::task::block_in_place(|| house.start_daemon());
        account.settle(&worker).await;
        let log = tokio::task::block_in_place(|| house.stop_daemon());
        assert!(!log.contains("panicked"), "{log}");
    });
}

/// Files that nobody may change, not even root. They may again when this is dropped.
struct Immutable(Vec<PathBuf>);

impl Immutable {
    /// A journal's folder, so that nothing is made in it, and the files that hold what is recorded.
    fn journal(folder: &Path) -> Option<Self> {
        let files = ["journal.redb", "journal.log", "journal.keys", "journal.keys.2"];
        let mut all: Vec<PathBuf> = files.iter().map(|name| folder.join(name)).collect();
        all.push(folder.to_owned());
        let this = Self(all);
        if this.change("+i") {
            return Some(this);
        }
        eprintln!("NOT TESTED: files that cannot be changed; chattr +i does not work here");
        None
    }

    fn change(&self, how: &str) -> bool {
        let ran = Command::new("chattr").arg(how).args(&self.0).output();
        ran.is_ok_and(|ran| ran.status.success())
    }
}

impl Drop for Immutable {
    fn drop(&mut self) {
        if !self.change("-i") {
            eprintln!("{:?} still cannot be changed", self.0);
        }
    }
}

#[test]
fn a_journal_that_turns_read_only_in_use_ends_the_daemon_and_is_whole_afterwards() {
    with_each_broker(async |server| {
        let mut house = House::start(server);
        let worker = house.worker().await;
        let load =
            Load::begin(std::slice::from_ref(&worker), &Habits { filling: 100, ..habits() }).await;
        load.goes_on(100, PATIENCE).await;
        let Some(locked) = Immutable::journal(&house.journal()) else { return };
        let (status, log) = tokio::task::block_in_place(|| house.take_daemon().wait());
        assert_eq!(status.code(), Some(1), "{log}");
        assert!(log.contains("not permitted") && !log.contains("panicked"), "{log}");
        let account = load.end().await;
        eprintln!("{} acknowledged, refused {:?}", account.acknowledged.len(), account.refused);
        assert!(!account.unanswered.is_empty(), "it ended under load");
        let start = || Daemon::spawn(&house.journal(), &["--nats", &house.url()]).wait();
        let (status, log) = tokio::task::block_in_place(start);
        assert!(status.code() == Some(1) && !log.contains("panicked"), "{status}: {log}");
        assert!(log.contains(house.journal().to_str().unwrap()), "it says where: {log}");
        drop(locked);
        tokio::task::block_in_place(|| house.start_daemon());
        account.settle(&worker).await;
        tokio::task::block_in_place(|| house.stop_daemon());
    });
}

#[test]
fn a_journal_on_a_read_only_disk_is_refused_and_not_harmed() {
    with_each_broker(async |server| {
        let Some((mut house, mount)) = small(server, 1) else { return };
        let worker = house.worker().await;
        worker.open("s").await;
        worker.append("s", "a", "words").await;
        tokio::task::block_in_place(|| house.stop_daemon());
        mount.read_only(true);
        let start = || Daemon::spawn(&house.journal(), &["--nats", &house.url()]).wait();
        let (status, log) = tokio::task::block_in_place(start);
        assert!(status.code() == Some(1) && !log.contains("panicked"), "{status}: {log}");
        assert!(log.contains("Read-only file system"), "it says why: {log}");
        assert!(log.contains(house.journal().to_str().unwrap()), "it says where: {log}");
        mount.read_only(false);
        tokio::task::block_in_place(|| house.start_daemon());
        assert_eq!(worker.history("s").await.len(), 2);
        worker.verify().await;
        tokio::task::block_in_place(|| house.stop_daemon());
    });
}
