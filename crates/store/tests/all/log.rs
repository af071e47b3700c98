//! The log in front of the database: what was acknowledged is there after any end of the process, from
//! whichever of the two files; what was not is there whole or not at all.

use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

use lacuna_codec::block_hash;
use lacuna_core::SessionNo;
use lacuna_store::{Commit, Head, MemoryKeys, Store, StoreError, StoreOptions, Stored, read_copy};

use crate::journal::{Journal, key, noise, ordinary, span};
use crate::shared::Shared;

pub(crate) const PAGE: usize = 4_096;
/// A small ring, to go round often.
const SMALL: StoreOptions = StoreOptions { cache_bytes: 1 << 20, log_bytes: 1 << 18, create: true };

/// A disk with a journal on it, and the keys of that.
#[derive(Clone, Default)]
pub(crate) struct Disk(pub(crate) Shared, pub(crate) MemoryKeys);

impl Disk {
    pub(crate) fn open(&self) -> Result<Store, StoreError> {
        Store::open_backends_with(self.0.clone(), self.0.log(), &self.1, &SMALL)
    }

    pub(crate) fn journal(&self) -> Journal {
        Journal::on(self.open().unwrap())
    }

    /// As it would be found if the process were killed now.
    pub(crate) fn killed(&self) -> Self {
        let keys = MemoryKeys::default();
        keys.set_files(self.1.files());
        Self(self.0.copy(), keys)
    }

    fn cut(&self, pages: bool) -> Self {
        let keys = MemoryKeys::default();
        keys.set_files(self.1.files());
        Self(self.0.after_the_cut(pages), keys)
    }

    /// Where the records of the log begin.
    fn records(&self) -> Vec<usize> {
        self.0.log().edit(|log| {
            let pages = (0..log.len()).step_by(PAGE);
            pages.filter(|at| log[*at..].starts_with(b"LCR1")).collect()
        })
    }
}

/// That the journal on this disk is whole and ends between these events; gives where.
pub(crate) fn whole(disk: &Disk, journal: &Journal, from: u64, to: u64) -> u64 {
    let store = disk.open().unwrap();
    let end = store.head().seq;
    assert!((from..=to).contains(&end), "it ends with event {end}, not between {from} and {to}");
    assert_eq!(store.verify(&Default::default(), |_| {}).unwrap().faults, []);
    for session in journal.states.keys() {
        let events: Vec<_> = journal.of(*session).into_iter().filter(|e| e.seq <= end).collect();
        assert_eq!(store.history(*session, 1, usize::MAX).unwrap(), events);
        if let Some(last) = events.last() {
            let state = store.load(*session).unwrap().unwrap();
            assert_eq!(state, journal.folded(*session, last.version));
        }
    }
    store.close().unwrap();
    end
}

pub(crate) fn copied(from: &Path, but: Option<&str>) -> tempfile::TempDir {
    let to = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let name = entry.unwrap().file_name();
        if but.is_none_or(|but| name != but) {
            std::fs::copy(from.join(&name), to.path().join(&name)).unwrap();
        }
    }
    to
}

pub(crate) fn damage(disk: &Disk) -> String {
    match disk.open() {
        Err(error @ StoreError::LogDamaged(_)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_killed_journal_opens_with_all_that_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::in_folder(folder.path());
    let (a, b) = ordinary(&mut journal);
    journal.commit(vec![span(a, "last", b"the last words")]);
    let end = journal.store.head();
    let killed = copied(folder.path(), None);
    let without = copied(folder.path(), Some("journal.log"));
    let store = Store::open(killed.path(), &StoreOptions::default()).unwrap();
    assert_eq!(store.head(), end);
    for session in [a, b] {
        assert_eq!(store.load(session).unwrap().unwrap(), journal.states[&session]);
        assert_eq!(store.history(session, 1, 99).unwrap(), journal.of(session));
    }
    assert_eq!(store.session(&key("b")).unwrap(), Some(b));
    let report = store.verify(&Default::default(), |_| {}).unwrap();
    assert_eq!((report.events, report.payloads, report.faults), (13, 11, vec![]));
    // It is the log that had them: without it nothing is opened, looked at by others, or destroyed.
    let error = Store::open(without.path(), &StoreOptions::default()).unwrap_err();
    assert!(matches!(error, StoreError::LogDamaged(_)), "{error:?}");
    let read = read_copy(&without.path().join("journal.redb"), &[]).unwrap();
    assert!(read.seq < end.seq && read.fault.unwrap().what.contains("missing"), "{}", read.seq);
    std::fs::copy(folder.path().join("journal.log"), without.path().join("journal.log")).unwrap();
    let store = Store::open(without.path(), &StoreOptions::default()).unwrap();
    let report = store.verify(&Default::default(), |_| {}).unwrap();
    assert_eq!((report.events, report.payloads, report.faults), (13, 11, vec![]));
    // Closed, it needs no log; a copy that is only looked at reads both files.
    let live = copied(folder.path(), None);
    let read = read_copy(&live.path().join("journal.redb"), &[]).unwrap();
    assert_eq!((read.seq, read.fault), (end.seq, None));
    journal.store.close().unwrap();
    assert!(!folder.path().join("journal.log").exists());
    // Dropped with something in the log it stays; the next stop removes it.
    let store = Store::open(folder.path(), &StoreOptions::default()).unwrap();
    let mut journal = Journal { store, ..journal };
    journal.commit(vec![span(a, "more", b"more")]);
    let end = journal.store.head();
    drop(journal.store);
    assert!(folder.path().join("journal.log").exists());
    let store = Store::open(folder.path(), &StoreOptions::default()).unwrap();
    assert_eq!(store.head(), end);
    store.close().unwrap();
    assert!(!folder.path().join("journal.log").exists());
    let read = read_copy(&folder.path().join("journal.redb"), &[]).unwrap();
    assert_eq!((read.seq, read.fault), (end.seq, None));
}

#[test]
fn a_record_of_which_any_part_is_missing_was_never_written() {
    let disk = Disk::default();
    let mut journal = disk.journal();
    let session = journal.open("a");
    journal.commit(vec![span(session, "s1", b"acknowledged")]);
    let before = journal.store.head().seq;
    journal.commit(vec![span(session, "s2", &noise(7, 3 * PAGE))]);
    let at = *disk.records().last().unwrap();
    assert_eq!(whole(&disk.killed(), &journal, before + 1, before + 1), before + 1);
    let length = disk
        .0
        .log()
        .edit(|log| 80 + u32::from_le_bytes(log[at + 4..at + 8].try_into().unwrap()) as usize);
    assert!(length > 3 * PAGE);
    for page in 0..length.div_ceil(PAGE) {
        let torn = disk.killed();
        torn.0.log().edit(|log| log[at + page * PAGE..at + (page + 1) * PAGE].fill(0));
        assert_eq!(whole(&torn, &journal, before, before), before, "without page {page}");
    }
    for byte in (0..length).step_by(61) {
        let flipped = disk.killed();
        flipped.0.log().edit(|log| log[at + byte] ^= 1);
        assert_eq!(whole(&flipped, &journal, before, before), before, "byte {byte}");
    }
    for end in [at, at + 3, at + 80, at + PAGE, at + length - 1] {
        let short = disk.killed();
        short.0.log().edit(|log| log[end..].fill(0));
        assert_eq!(whole(&short, &journal, before, before), before, "nothing behind {end}");
    }
}

#[test]
fn a_log_that_has_lost_a_record_in_the_middle_is_damaged() {
    let disk = Disk::default();
    let mut journal = disk.journal();
    let session = journal.open("a");
    journal.store.flush().unwrap();
    let first = journal.commit(vec![span(session, "s1", b"one")]);
    journal.commit(vec![span(session, "s2", b"two")]);
    let at = disk.records()[disk.records().len() - 2];
    disk.0.log().edit(|log| log[at + 100] ^= 1);
    let why = damage(&disk.killed());
    assert!(why.contains(&format!("at event {}", first + 1)), "{why}");
    assert!(why.contains(&format!("event {first} is missing")), "{why}");
}

#[test]
fn files_of_two_moments_are_refused_where_events_would_be_missing_between_them() {
    let disk = Disk::default();
    let mut journal = disk.journal();
    let session = journal.open("a");
    journal.commit(vec![span(session, "s1", b"one")]);
    journal.store.flush().unwrap();
    let old = disk.killed();
    for n in 0..40 {
        journal.commit(vec![span(session, &format!("t{n}"), &noise(n, 6_000))]);
    }
    journal.store.flush().unwrap();
    journal.commit(vec![span(session, "s2", b"two")]);
    let new = disk.killed();
    let end = journal.store.head().seq;
    // The old database with the new log: the ring has gone round and holds only later events.
    let mixed = new.killed();
    old.0.edit(|database| mixed.0.edit(|there| there.clone_from(database)));
    let why = damage(&mixed);
    assert!(why.contains("as they stood together") && why.contains("`lacuna salvage`"), "{why}");
    // The new database with the old log has lost what only the new log had, and no more.
    let mixed = new.killed();
    old.0.log().edit(|log| mixed.0.log().edit(|there| there.clone_from(log)));
    assert_eq!(whole(&mixed, &journal, end - 1, end - 1), end - 1);
}

#[test]
fn what_is_large_or_removes_anything_goes_to_the_database_at_once() {
    let disk = Disk::default();
    let mut journal = disk.journal();
    let session = journal.open("a");
    let small = journal.commit(vec![span(session, "small", &noise(1, 900))]);
    let records = disk.records().len();
    journal.commit(vec![span(session, "large", &noise(2, 200_000))]);
    journal.remove(&[small]);
    assert_eq!(disk.records().len(), records, "neither has left a record");
    // What is in the log is in the database as well, and nothing of it is put in again.
    let end = journal.store.head().seq;
    let gone = disk.killed();
    gone.0.log().edit(|log| log[2 * PAGE..].fill(0));
    let store = gone.open().unwrap();
    assert_eq!(store.head().seq, end);
    assert_eq!(store.verify(&Default::default(), |_| {}).unwrap().faults, []);
}

/// These commits one behind the other, written by nobody yet.
pub(crate) fn drawn(journal: &mut Journal, count: u64, session: SessionNo) -> Vec<Commit> {
    let mut head = journal.store.head();
    let one = |n| {
        let drafts = vec![span(session, &format!("drawn{n}"), &noise(n, 500))];
        let (mut commit, payloads) = journal.draw(head, drafts);
        commit.payloads = journal.store.pack(&payloads).unwrap();
        head = Head { seq: commit.last, block: block_hash(&commit.block), at: commit.at };
        commit
    };
    (0..count).map(one).collect()
}

#[test]
fn commits_go_on_while_the_database_is_synced_and_who_reads_waits_for_them() {
    let disk = Disk::default();
    let mut journal = disk.journal();
    let session = journal.open("a");
    let early = journal.commit(vec![span(session, "early", b"before the sync")]);
    let later = drawn(&mut journal, 5, session);
    let store = &journal.store;
    disk.0.hold(true);
    let state = std::thread::scope(|scope| {
        let flush = scope.spawn(|| store.flush());
        disk.0.until_one_waits();
        for commit in later {
            store.append(commit).unwrap();
        }
        assert!(!flush.is_finished());
        // Acknowledged: as good as any other after a kill.
        assert_eq!(disk.killed().open().unwrap().head().seq, early + 5);
        // What stood there before is read at once, what came meanwhile when it is there.
        assert_eq!(journal.read(early), Stored::Whole(b"before the sync"[..].into()));
        let (done, read) = channel();
        scope.spawn(move || drop(done.send(store.load(session))));
        assert!(read.recv_timeout(Duration::from_millis(200)).is_err(), "it does not wait");
        disk.0.hold(false);
        flush.join().unwrap().unwrap();
        read.recv_timeout(Duration::from_secs(20)).unwrap().unwrap().unwrap()
    });
    assert_eq!(state, journal.states[&session]);
    let killed = disk.killed();
    assert_eq!(whole(&killed, &journal, early + 5, early + 5), early + 5);
}

#[test]
fn a_failed_sync_of_the_database_lets_nobody_wait_and_loses_nothing() {
    let disk = Disk::default();
    let mut journal = disk.journal();
    let session = journal.open("a");
    let later = drawn(&mut journal, 3, session);
    let store = &journal.store;
    disk.0.hold(true);
    std::thread::scope(|scope| {
        let flush = scope.spawn(|| store.flush());
        disk.0.until_one_waits();
        let mut later = later.into_iter();
        store.append(later.next().unwrap()).unwrap();
        store.append(later.next().unwrap()).unwrap();
        let reader = scope.spawn(|| store.load(session));
        disk.0.fail_at(disk.0.syncs() + 1);
        disk.0.hold(false);
        let error = flush.join().unwrap().unwrap_err();
        assert!(matches!(error, StoreError::Indeterminate(_)), "{error:?}");
        assert!(disk.0.failed(), "the fault has fired");
        let error = reader.join().unwrap().unwrap_err();
        assert!(matches!(error, StoreError::Indeterminate(_)), "{error:?}");
        let error = store.append(later.next().unwrap()).unwrap_err();
        assert!(matches!(error, StoreError::Indeterminate(_)), "{error:?}");
    });
    // Two of the three were acknowledged, and are there.
    assert_eq!(whole(&disk.cut(false), &journal, 3, 3), 3);
}

#[test]
fn a_ring_that_nobody_empties_is_emptied_by_whoever_appends() {
    let disk = Disk::default();
    let mut journal = disk.journal();
    let session = journal.open("a");
    for n in 0..300 {
        journal.commit(vec![span(session, &format!("s{n}"), &noise(n, 5_000))]);
    }
    let size = disk.0.log().edit(|log| log.len());
    assert_eq!(size, SMALL.log_bytes.next_multiple_of(1 << 20) as usize, "it does not grow");
    assert_eq!(whole(&disk.killed(), &journal, 301, 301), 301);
}

/// Syncs of the database that overlap: one that begins as another one ends was once taken for that one's
/// failure.
#[test]
fn syncs_side_by_side_are_no_failure() {
    let disk = Disk::default();
    let mut journal = disk.journal();
    let session = journal.open("a");
    let later = drawn(&mut journal, 200, session);
    let store = &journal.store;
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| (0..150).for_each(|_| store.flush().unwrap()));
        }
        later.into_iter().for_each(|commit| store.append(commit).unwrap());
    });
    assert_eq!(whole(&disk.killed(), &journal, 201, 201), 201);
}

/// The log is removed while the folder is locked: once it was removed behind that, which may have been that of
/// the next process.
#[test]
fn a_journal_that_is_opened_as_another_one_closes_keeps_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let mut journal = Journal::in_folder(path);
    let session = journal.open("a");
    for n in 0..30 {
        journal.commit(vec![span(session, &format!("s{n}"), b"x")]);
        let (states, events) = (journal.states, journal.events);
        let store = std::thread::scope(|scope| {
            let closing = scope.spawn(move || journal.store.close().unwrap());
            let store = loop {
                match Store::open(path, &StoreOptions::default()) {
                    Ok(store) => break store,
                    Err(error) => assert!(matches!(error, StoreError::InUse(_)), "{error:?}"),
                }
            };
            closing.join().unwrap();
            store
        });
        assert!(path.join("journal.log").exists(), "round {n}");
        journal = Journal { store, states, events };
    }
}

/// Removed by path, it was once that of the journal that had taken the folder's place.
#[test]
fn a_journal_whose_folder_was_replaced_leaves_the_log_there_alone() {
    let house = tempfile::tempdir().unwrap();
    let (here, away) = (house.path().join("journal"), house.path().join("away"));
    let mut old = Journal::in_folder(&here);
    old.open("a");
    std::fs::rename(&here, &away).unwrap();
    let mut new = Journal::in_folder(&here);
    new.open("b");
    old.store.close().unwrap();
    assert!(here.join("journal.log").exists());
    let killed = copied(&here, None);
    assert_eq!(Store::open(killed.path(), &StoreOptions::default()).unwrap().head().seq, 1);
}

/// Commits of many sizes, and syncs of the database in between, until the power goes at this sync of either
/// file. What was written behind the last sync is there, torn, or not at all; whatever was acknowledged is
/// there, and nothing that was never sent. Says whether the power went.
fn goes_at(cut: u64, seed: u64) -> bool {
    let disk = Disk::default();
    let mut journal = disk.journal();
    let session = journal.open("a");
    disk.0.fail_at(disk.0.syncs() + cut);
    let (mut acknowledged, mut sent) = (1, 1);
    for n in 0..16 {
        let dice = noise(seed << 8 | n, 3);
        let size = usize::from(u16::from_le_bytes([dice[0], dice[1]]) % 40_000);
        let drafts = vec![span(session, &format!("s{n}"), &noise(n, size))];
        let (mut commit, payloads) = journal.draw(journal.store.head(), drafts);
        let Ok(packs) = journal.store.pack(&payloads) else { break };
        commit.payloads = packs;
        sent = commit.last;
        if journal.store.append(commit).is_err() {
            break;
        }
        acknowledged = sent;
        if dice[2] < 40 && journal.store.flush().is_err() {
            break;
        }
    }
    if !disk.0.failed() {
        return false;
    }
    for pages in [false, true] {
        let cut = disk.cut(pages);
        // And once more, while it recovers from the first.
        let again = cut.killed();
        again.0.fail_at(again.0.syncs() + 1);
        drop(again.open());
        whole(&again.cut(pages), &journal, acknowledged, sent);
        whole(&cut, &journal, acknowledged, sent);
    }
    true
}

#[test]
fn a_power_cut_takes_nothing_that_was_acknowledged() {
    let mut cuts = 0;
    for seed in 1..=2 {
        cuts += (1..).take_while(|cut| goes_at(*cut, seed)).count();
    }
    assert!(cuts >= 35, "the power went {cuts} times");
}
