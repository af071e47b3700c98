//! Nothing is acknowledged before it is durable; what is acknowledged is there after any stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;

use lacuna_core::{Command, Outcome, Reply, Timestamp, Verdict};
use lacuna_engine::{EngineError, Journal, Options, StoreError, VerifyOptions};
use lacuna_store::{Store, StoreOptions};
use redb::StorageBackend;
use redb::backends::InMemoryBackend;

use crate::honest::{honest, large};
use crate::rig::{Rig, append, key, open, prune, request};

#[test]
fn a_prune_sent_right_behind_its_append_finds_the_copy_committed() {
    let rig = Rig::new();
    rig.opened("s");
    // Both wait for the writer together, so it sees them in one batch and must part it.
    let (sender, answers) = sync_channel(2);
    let other = sender.clone();
    let command = append(&[("a", "alpha"), ("b", "beta")]);
    let callback = Box::new(move |answer| sender.send(answer).unwrap());
    rig.journal.submit(request("s", None, command), callback).unwrap();
    let callback = Box::new(move |answer| other.send(answer).unwrap());
    rig.journal.submit(request("s", None, prune(&["a", "b"], false)), callback).unwrap();
    assert!(matches!(answers.recv().unwrap().unwrap().reply, Reply::Appended { version: 3, .. }));
    match answers.recv().unwrap().unwrap().reply {
        Reply::Pruned(reply) => assert_eq!(reply.verdict, Verdict::Reversible),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_was_acknowledged_is_there_after_a_stop_and_reads_back_byte_for_byte() {
    let rig = Rig::new();
    rig.opened("s");
    let large = "x".repeat(700_000);
    rig.append("s", &[("a", "alpha"), ("nul", "a\0b"), ("large", &large), ("empty", "")]);
    rig.prune("s", &["nul", "large"], false);
    let before = rig.journal.state(&key("s")).unwrap();
    let rig = rig.reopened();
    assert_eq!(*rig.journal.state(&key("s")).unwrap(), *before);
    for (id, text) in [("a", "alpha"), ("nul", "a\0b"), ("large", &large), ("empty", "")] {
        let answer = rig.journal.expand(&key("s"), &id.parse().unwrap(), 0, u64::MAX).unwrap();
        assert_eq!(answer.content.unwrap().bytes, text.as_bytes(), "{id}");
    }
    let report = rig.journal.verify(&VerifyOptions::default(), |_| {}).unwrap();
    assert_eq!((report.faults, report.payloads), (vec![], 4));
}

#[test]
fn a_session_that_left_memory_comes_back_the_same() {
    // Room for two small sessions only: each use of a third throws one out.
    let rig = Rig::with(Options { cached_spans: 24, ..Options::default() });
    let names: Vec<String> = (0..8).map(|n| format!("s{n}")).collect();
    names.iter().for_each(|name| rig.opened(name));
    for round in 0..20 {
        for name in &names {
            let (id, text) = (format!("m{round}"), format!("{name} {round}"));
            rig.append(name, &[(&id, &text)]);
        }
    }
    for name in &names {
        let state = rig.journal.state(&key(name)).unwrap();
        assert_eq!((state.version, state.spans().len()), (21, 20), "{name}");
        let answer = rig.journal.expand(&key(name), &"m7".parse().unwrap(), 0, 99).unwrap();
        assert_eq!(answer.content.unwrap().bytes, format!("{name} 7").as_bytes());
    }
    assert_eq!(rig.journal.verify(&VerifyOptions::default(), |_| {}).unwrap().faults, vec![]);
}

#[test]
fn record_time_never_goes_backwards() {
    let now = Arc::new(AtomicU64::new(5_000));
    let clock = Arc::clone(&now);
    let options = Options {
        clock: Arc::new(move || Timestamp(clock.load(Ordering::Relaxed))),
        ..Options::default()
    };
    let rig = Rig::with(options);
    rig.opened("s");
    for (time, id) in [(9_000, "a"), (1_000, "b"), (0, "c"), (10_000, "d")] {
        now.store(time, Ordering::Relaxed);
        rig.append("s", &[(id, id)]);
    }
    let times: Vec<u64> =
        rig.journal.history(&key("s"), 1, 99).unwrap().iter().map(|event| event.at.0).collect();
    assert_eq!(times, [5_000, 9_000, 9_000, 9_000, 10_000]);
    // The floor holds across a restart with a clock that is years behind.
    let rig = rig.reopened();
    assert!(rig.journal.head().at >= Timestamp(10_000));
}

#[test]
fn a_full_queue_says_overloaded_and_nothing_happens() {
    let options = Options { queue_commands: 1, queue_bytes: 2_000, ..Options::default() };
    let rig = Rig::with(options);
    rig.opened("s");
    let (entered, inside) = sync_channel(1);
    let (release, gate) = sync_channel::<()>(1);
    // The first answer holds commits up; behind them the queue fills.
    let callback = Box::new(move |_| {
        entered.send(()).unwrap();
        gate.recv().unwrap();
    });
    rig.journal.submit(request("s", None, append(&[("a", "1")])), callback).unwrap();
    inside.recv().unwrap();
    let (sender, answers) = sync_channel(8);
    let mut refused = 0;
    for id in ["b", "c", "d", "e"] {
        let sender = sender.clone();
        let command = append(&[(id, "2")]);
        let callback = Box::new(move |answer| sender.send(answer).unwrap());
        match rig.journal.submit(request("s", None, command), callback) {
            Ok(()) => {}
            Err(EngineError::Overloaded { .. }) => refused += 1,
            Err(other) => panic!("{other}"),
        }
    }
    release.send(()).unwrap();
    drop(sender);
    let accepted = answers.iter().map(Result::unwrap).count();
    assert!(refused >= 2, "{refused} were refused");
    assert_eq!(accepted + refused, 4);
    let spans = rig.journal.state(&key("s")).unwrap().spans().len();
    assert_eq!(spans, 1 + accepted, "only what was accepted is recorded");
}

/// Memory that stops syncing on demand.
#[derive(Debug)]
struct FailingSync {
    inner: InMemoryBackend,
    fail: Arc<AtomicBool>,
    failed: Arc<AtomicU64>,
}

impl StorageBackend for FailingSync {
    fn len(&self) -> Result<u64, std::io::Error> {
        self.inner.len()
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), std::io::Error> {
        self.inner.read(offset, out)
    }
    fn set_len(&self, len: u64) -> Result<(), std::io::Error> {
        self.inner.set_len(len)
    }
    fn sync_data(&self) -> Result<(), std::io::Error> {
        if self.fail.load(Ordering::SeqCst) {
            self.failed.fetch_add(1, Ordering::SeqCst);
            return Err(std::io::Error::from_raw_os_error(5));
        }
        self.inner.sync_data()
    }
    fn write(&self, offset: u64, data: &[u8]) -> Result<(), std::io::Error> {
        self.inner.write(offset, data)
    }
}

#[test]
fn a_failed_sync_acknowledges_nothing_and_ends_the_writer() {
    let (fail, failed) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
    let failing = || FailingSync {
        inner: InMemoryBackend::new(),
        fail: Arc::clone(&fail),
        failed: Arc::clone(&failed),
    };
    let store = Store::open_backends(failing(), failing(), &StoreOptions::default()).unwrap();
    let journal = Journal::start(store, Options::default());
    journal.execute(request("s", None, open())).unwrap();
    fail.store(true, Ordering::SeqCst);
    let answer = journal.execute(request("s", None, append(&[("a", "alpha")])));
    assert!(failed.load(Ordering::SeqCst) > 0, "the fault did not fire");
    assert!(matches!(answer, Err(EngineError::Unavailable(_))), "{answer:?}");
    let again = journal.execute(request("s", None, append(&[("b", "beta")])));
    assert!(matches!(again, Err(EngineError::Unavailable(_))), "{again:?}");
    // The writer ends just after its last answer.
    let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while !journal.failed() {
        assert!(std::time::Instant::now() < until, "the writer goes on after a failed sync");
        std::thread::yield_now();
    }
    let closed = journal.close();
    let told = matches!(closed, Err(StoreError::Indeterminate(_) | StoreError::Database(_)));
    assert!(told, "{closed:?}");
}

/// What is examined beside the writer when it fails is not acknowledged, and nothing hangs.
#[test]
fn a_failed_sync_acknowledges_no_summary_that_is_being_examined() {
    let (fail, failed) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
    let failing = || FailingSync {
        inner: InMemoryBackend::new(),
        fail: Arc::clone(&fail),
        failed: Arc::clone(&failed),
    };
    let store = Store::open_backends(failing(), failing(), &StoreOptions::default()).unwrap();
    let journal = Journal::start(store, Options::default());
    journal.execute(request("s", None, open())).unwrap();
    let spans = vec![large("a", 4 << 20, "The port is 5433.")];
    journal.execute(request("s", None, Command::Append { spans })).unwrap();
    let (sender, answers) = sync_channel(8);
    for n in 0..4 {
        let sender = sender.clone();
        let callback = Box::new(move |answer| sender.send(answer).unwrap());
        let command = honest(&format!("sum{n}"), "a");
        journal.submit(request("s", None, command), callback).unwrap();
    }
    drop(sender);
    fail.store(true, Ordering::SeqCst);
    drop(journal.execute(request("s", None, append(&[("b", "beta")]))));
    // Each is answered, or its callback is gone: then nobody waits for it any more.
    for answer in answers.iter() {
        assert!(matches!(answer, Err(EngineError::Unavailable(_))), "{answer:?}");
    }
    assert!(failed.load(Ordering::SeqCst) > 0, "the fault did not fire");
    let closed = journal.close();
    let told = matches!(closed, Err(StoreError::Indeterminate(_) | StoreError::Database(_)));
    assert!(told, "{closed:?}");
}

#[test]
fn an_unknown_session_and_a_name_never_seen_are_different_answers() {
    let rig = Rig::new();
    rig.opened("s");
    let address = "ghost".parse().unwrap();
    assert_eq!(
        rig.journal.expand(&key("s"), &address, 0, 9).unwrap().outcome,
        Outcome::NeverRecorded
    );
    let error = rig.journal.expand(&key("nobody"), &address, 0, 9).unwrap_err();
    assert!(matches!(error, EngineError::Refused(refusal) if refusal.code() == "unknown_session"));
}
