//! While one batch is made durable the next is decided and sealed: no reply may run ahead of its commit.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use lacuna_engine::{EngineError, Journal, Options, StoreError};
use lacuna_store::{Store, StoreOptions};
use redb::StorageBackend;
use redb::backends::InMemoryBackend;

use crate::honest::Answer;
use crate::rig::{append, open, prune, request};

/// Fewer messages than these do not wake the writer while it waits for the disk.
const FEW: u64 = 64;

/// Memory that tells what was written and not synced, and that can hold a sync up and make it fail.
#[derive(Debug, Default)]
struct Watch {
    /// That of the database, and its log.
    files: [InMemoryBackend; 2],
    /// Whether something is written to the log that no sync has followed, and syncs of the log.
    unsynced: AtomicBool,
    writes: AtomicU64,
    syncs: AtomicU64,
    /// The next sync says that it is there, and waits for its word: whether it may succeed.
    gate: Mutex<Option<(SyncSender<()>, Receiver<bool>)>>,
}

#[derive(Debug, Clone, Default)]
struct Watched(Arc<Watch>, usize);

impl StorageBackend for Watched {
    fn len(&self) -> Result<u64, std::io::Error> {
        self.file().len()
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), std::io::Error> {
        self.file().read(offset, out)
    }
    fn set_len(&self, len: u64) -> Result<(), std::io::Error> {
        self.file().set_len(len)
    }
    fn sync_data(&self) -> Result<(), std::io::Error> {
        let gate = self.0.gate.lock().unwrap().take();
        if let Some((there, word)) = gate {
            there.send(()).unwrap();
            if !word.recv().unwrap() {
                return Err(std::io::Error::from_raw_os_error(5));
            }
        }
        if self.is_log() {
            self.0.unsynced.store(false, Ordering::SeqCst);
            self.0.syncs.fetch_add(1, Ordering::SeqCst);
        }
        self.file().sync_data()
    }
    fn write(&self, offset: u64, data: &[u8]) -> Result<(), std::io::Error> {
        if self.is_log() {
            self.0.unsynced.store(true, Ordering::SeqCst);
        }
        self.0.writes.fetch_add(1, Ordering::SeqCst);
        self.file().write(offset, data)
    }
}

impl Watched {
    /// What a reply rests on. The database is written and synced beside the commits, by a thread of its own.
    fn is_log(&self) -> bool {
        self.1 == 1
    }

    fn file(&self) -> &InMemoryBackend {
        &self.0.files[self.1]
    }

    fn store(&self) -> Store {
        let log = Self(Arc::clone(&self.0), 1);
        Store::open_backends(self.clone(), log, &StoreOptions::default()).unwrap()
    }

    fn journal(&self) -> Journal {
        let store = self.store();
        let journal = Journal::start(store, Options::default());
        // Numbers of keys are reserved with the first payload.
        journal.execute(request("first", None, open())).unwrap();
        journal.execute(request("first", None, append(&[("a", "alpha")]))).unwrap();
        journal
    }

    /// Holds the next sync up; the first end tells that it is there, the other lets it go on.
    fn hold(&self) -> (Receiver<()>, SyncSender<bool>) {
        let ((there, is_there), (word, gate)) = (sync_channel(1), sync_channel(1));
        *self.0.gate.lock().unwrap() = Some((there, gate));
        (is_there, word)
    }
}

#[test]
fn every_reply_leaves_behind_a_sync_of_all_that_was_written() {
    const CLIENTS: usize = 4;
    const ROUNDS: usize = 150;
    let disk = Watched::default();
    let journal = disk.journal();
    let (early, replies) = (AtomicU64::new(0), AtomicU64::new(0));
    let (early, replies) = (Arc::new(early), Arc::new(replies));
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (journal, disk) = (&journal, disk.clone());
            let (early, replies) = (Arc::clone(&early), Arc::clone(&replies));
            scope.spawn(move || {
                let session = format!("s{client}");
                let (sender, answers) = sync_channel::<bool>(8);
                let send = |command, records: bool| {
                    let (disk, early) = (disk.clone(), Arc::clone(&early));
                    let (replies, sender) = (Arc::clone(&replies), sender.clone());
                    let synced = disk.0.syncs.load(Ordering::SeqCst);
                    let callback = Box::new(move |answer: Answer| {
                        let unsynced = disk.0.unsynced.load(Ordering::SeqCst);
                        let none_since = disk.0.syncs.load(Ordering::SeqCst) == synced;
                        if unsynced || (records && none_since) {
                            early.fetch_add(1, Ordering::SeqCst);
                        }
                        replies.fetch_add(1, Ordering::SeqCst);
                        sender.send(answer.is_ok()).unwrap();
                    });
                    journal.submit(request(&session, None, command), callback).unwrap();
                };
                send(open(), true);
                assert!(answers.recv().unwrap());
                for round in 0..ROUNDS {
                    let id = format!("m{round}");
                    send(append(&[(&id, "words")]), true);
                    // Rejected: it was never recorded. It rests on what is before it.
                    send(prune(&["nowhere"], false), false);
                    send(prune(&[&id], false), true);
                    let answers: Vec<bool> = answers.iter().take(3).collect();
                    assert_eq!(answers, [true; 3]);
                }
            });
        }
    });
    assert_eq!(replies.load(Ordering::SeqCst), (CLIENTS * (1 + 3 * ROUNDS)) as u64);
    assert_eq!(early.load(Ordering::SeqCst), 0, "replies ran ahead of their commits");
    let stats = journal.stats().unwrap();
    assert!(stats.commits > 0 && disk.0.syncs.load(Ordering::SeqCst) >= stats.commits);
}

#[test]
fn what_was_decided_behind_a_commit_that_fails_is_neither_written_nor_acknowledged() {
    // Enough that the writer goes on with them while the disk is waited for.
    const BEHIND: usize = 300;
    let disk = Watched::default();
    let journal = disk.journal();
    let (sender, answers) = sync_channel::<Answer>(BEHIND + 2);
    let send = |session: &str, command| {
        let sender = sender.clone();
        let callback = Box::new(move |answer| sender.send(answer).unwrap());
        journal.submit(request(session, None, command), callback).unwrap();
    };
    journal.execute(request("second", None, open())).unwrap();
    let (is_there, word) = disk.hold();
    send("first", append(&[("b", "beta")]));
    is_there.recv().unwrap();
    for n in 0..BEHIND {
        send("second", append(&[(&format!("m{n}"), "words")]));
    }
    soon("it decides while the disk is waited for", || journal.stats().unwrap().waiting < FEW);
    assert!(answers.try_recv().is_err(), "nothing is answered before the first is durable");
    let written = disk.0.writes.load(Ordering::SeqCst);
    word.send(false).unwrap();
    drop(sender);
    let answers: Vec<Answer> = answers.iter().collect();
    assert!(!answers.is_empty());
    for answer in answers {
        assert!(matches!(answer, Err(EngineError::Unavailable(_))), "{answer:?}");
    }
    assert!(matches!(journal.close(), Err(StoreError::Indeterminate(_))));
    assert_eq!(disk.0.writes.load(Ordering::SeqCst), written, "nothing follows a failed commit");
}

#[test]
fn what_rests_on_a_commit_under_way_waits_for_it() {
    let disk = Watched::default();
    let journal = disk.journal();
    let (is_there, word) = disk.hold();
    let (sender, answers) = sync_channel::<(&str, Answer)>(4);
    let send = |what: &'static str, command| {
        let sender = sender.clone();
        let callback = Box::new(move |answer| sender.send((what, answer)).unwrap());
        journal.submit(request("first", None, command), callback).unwrap();
    };
    send("append", append(&[("b", "beta")]));
    is_there.recv().unwrap();
    // The copy of `b` is not there yet, and the prune may say only then that it is.
    send("prune", prune(&["b"], false));
    std::thread::sleep(Duration::from_millis(50));
    assert!(answers.try_recv().is_err());
    word.send(true).unwrap();
    let in_order: Vec<_> = answers.iter().take(2).collect();
    assert_eq!((in_order[0].0, in_order[1].0), ("append", "prune"));
    assert!(in_order.iter().all(|(_, answer)| answer.is_ok()), "{in_order:?}");
}

/// Waits for something that comes soon or never.
fn soon(what: &str, happened: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(20);
    while !happened() {
        assert!(Instant::now() < until, "{what}: never");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_commit_that_fails_under_a_session_that_left_memory_ends_the_journal_and_nobody_hangs() {
    const SESSIONS: usize = 6;
    let disk = Watched::default();
    let store = disk.store();
    // Room for the sessions as they begin; with more spans some leave at the end of a batch.
    let journal = Journal::start(store, Options { cached_spans: 60, ..Options::default() });
    for n in 0..SESSIONS {
        let session = format!("s{n}");
        journal.execute(request(&session, None, open())).unwrap();
        // With the first payload numbers of keys are reserved, which is a sync of its own.
        journal.execute(request(&session, None, append(&[("first", "words")]))).unwrap();
    }
    let (sender, answers) = sync_channel::<Answer>(1_000);
    let send = |session: usize, id: String| {
        let sender = sender.clone();
        let callback = Box::new(move |answer| sender.send(answer).unwrap());
        let command = append(&[(&id, "words")]);
        journal.submit(request(&format!("s{session}"), None, command), callback).unwrap();
    };
    let (is_there, word) = disk.hold();
    send(0, "a".into());
    is_there.recv().unwrap();
    (0..SESSIONS * 20).for_each(|n| send(n % SESSIONS, format!("b{n}")));
    soon("they are decided", || journal.stats().unwrap().waiting < FEW);
    // The first is made durable, the second is on its way; most of its sessions have left memory.
    let (is_there, second) = disk.hold();
    word.send(true).unwrap();
    is_there.recv().unwrap();
    (0..100).for_each(|n| send(0, format!("c{n}")));
    std::thread::sleep(Duration::from_millis(30));
    second.send(false).unwrap();
    drop(sender);
    let answers: Vec<Answer> = answers.iter().collect();
    assert_eq!(answers.len(), 1 + SESSIONS * 20 + 100, "each is answered");
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
    let gone = |answer: &&Answer| matches!(answer, Err(EngineError::Unavailable(_)));
    assert_eq!(answers.iter().filter(gone).count(), SESSIONS * 20 + 100, "{answers:?}");
    soon("the writer ends", || journal.failed());
    assert!(matches!(journal.close(), Err(StoreError::Indeterminate(_))));
}

#[test]
fn a_writer_that_panics_leaves_nobody_waiting() {
    let panics = Arc::<AtomicBool>::default();
    let asked = Arc::clone(&panics);
    let clock = move || {
        let writer = std::thread::current().name() == Some("lacuna-writer");
        assert!(!(writer && asked.load(Ordering::SeqCst)), "as the test asked");
        lacuna_core::Timestamp(1_796_018_400_000)
    };
    let options = Options { clock: Arc::new(clock), ..Options::default() };
    let store = Watched::default().store();
    let journal = Journal::start(store, options);
    journal.execute(request("s", None, open())).unwrap();
    panics.store(true, Ordering::SeqCst);
    for id in ["a", "b"] {
        let answer = journal.execute(request("s", None, append(&[(id, "words")])));
        assert!(matches!(answer, Err(EngineError::Unavailable(_))), "{answer:?}");
    }
    soon("the writer is gone", || journal.failed());
    assert!(matches!(journal.close(), Err(StoreError::Damaged(_))));
}
