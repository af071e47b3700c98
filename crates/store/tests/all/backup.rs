//! Copies: equal to the original, never over another journal, also while the original is written.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use lacuna_core::Digest;
use lacuna_store::{Store, StoreError, StoreOptions, Stored};

use crate::journal::{Journal, key, ordinary, span};

fn reopen(path: &std::path::Path) -> Store {
    Store::open(path, &StoreOptions { create: false, ..StoreOptions::default() }).unwrap()
}

#[test]
fn a_copy_equals_its_original() {
    let target = tempfile::tempdir().unwrap();
    let copy = target.path().join("copies/today");
    let mut journal = Journal::memory();
    let (a, b) = ordinary(&mut journal);
    let mut told = Vec::new();
    let report = journal.store.backup(&copy, |bytes| told.push(bytes)).unwrap();
    assert_eq!(report.seq, 12, "the last event, not the first one of its block");
    // 3 of meta, 2 names, 6 blocks, 9 rows of the index, 5 packs, 2 chunks, 1 snapshot.
    assert_eq!(report.rows, 28);
    assert_eq!(told.last(), Some(&report.bytes));
    assert!(told.is_sorted());

    let copied = reopen(&copy);
    assert_eq!(copied.head(), journal.store.head());
    assert_eq!(copied.journal(), journal.store.journal());
    let check = |store: &Store| store.verify(&Default::default(), |_| {}).unwrap();
    assert_eq!(check(&copied), check(&journal.store));
    assert_eq!(check(&copied).faults, []);
    assert_eq!((check(&copied).events, check(&copied).payloads), (12, 10));
    for session in [a, b] {
        assert_eq!(copied.history(session, 1, 99).unwrap(), journal.of(session));
        assert_eq!(copied.load(session).unwrap().unwrap(), journal.states[&session]);
    }
    let mode = copy.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o700);
    let mut names: Vec<_> =
        std::fs::read_dir(&copy).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["journal.keys", "journal.keys.2", "journal.log", "journal.redb"]);
    for keys in &names[..2] {
        assert_eq!(copy.join(keys).metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn a_copy_goes_on_where_the_original_was() {
    let target = tempfile::tempdir().unwrap();
    let mut journal = Journal::memory();
    let (a, _) = ordinary(&mut journal);
    journal.store.backup(target.path(), |_| {}).unwrap();
    // What comes later is not in the copy, and the copy takes the same next commit.
    let mut commit = journal.prepare(vec![span(a, "a9", b"later")]);
    journal.store.append(commit.clone()).unwrap();
    let copied = reopen(target.path());
    assert_eq!(copied.head().seq, 12);
    // Sealed with its own keys.
    commit.payloads = copied.pack(&[(13, Arc::from(&b"later"[..]))]).unwrap();
    copied.append(commit.clone()).unwrap();
    assert_eq!(copied.head(), journal.store.head());
    let read = copied.payloads().unwrap().read(13, &Digest::of(b"later"), 5).unwrap();
    assert_eq!(read, Stored::Whole(b"later"[..].into()));
}

#[test]
fn an_empty_journal_can_be_copied() {
    let target = tempfile::tempdir().unwrap();
    let journal = Journal::memory();
    let report = journal.store.backup(target.path(), |_| {}).unwrap();
    assert_eq!((report.seq, report.rows), (0, 2));
    let copied = reopen(target.path());
    assert_eq!(copied.head(), journal.store.head());
    assert_eq!(copied.session(&key("a")).unwrap(), None);
}

#[test]
fn a_folder_that_holds_a_journal_is_refused() {
    let target = tempfile::tempdir().unwrap();
    let mut other = Journal::in_folder(target.path());
    let session = other.open("other");
    let mut journal = Journal::memory();
    ordinary(&mut journal);
    // Whether that journal is in use or not.
    let refused = |result: Result<_, StoreError>| match result {
        Err(StoreError::Folder { folder, source }) => {
            assert_eq!(folder, target.path());
            assert_eq!(source.kind(), std::io::ErrorKind::AlreadyExists);
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was overwritten"),
    };
    refused(journal.store.backup(target.path(), |_| {}));
    other.store.close().unwrap();
    refused(journal.store.backup(target.path(), |_| {}));
    assert_eq!(reopen(target.path()).session(&key("other")).unwrap(), Some(session));
}

#[test]
fn keys_without_a_journal_are_never_overwritten() {
    let mut journal = Journal::memory();
    ordinary(&mut journal);
    for name in ["journal.keys", "journal.keys.2"] {
        let target = tempfile::tempdir().unwrap();
        let keys = target.path().join(name);
        std::fs::write(&keys, b"of a journal that is to be put back").unwrap();
        let refused = journal.store.backup(target.path(), |_| {});
        assert!(matches!(refused, Err(StoreError::Folder { .. })), "{refused:?}");
        assert_eq!(std::fs::read(&keys).unwrap(), b"of a journal that is to be put back");
        assert!(!target.path().join("journal.redb").exists());
    }
}

#[test]
fn a_copy_has_what_the_journal_had_at_its_time() {
    let folders = [(); 4].map(|()| tempfile::tempdir().unwrap());
    let [before, between, after, own] = &folders;
    let mut journal = Journal::in_folder(own.path());
    ordinary(&mut journal);
    journal.store.backup(before.path(), |_| {}).unwrap();
    journal.remove(&[3, 6]);
    journal.store.backup(between.path(), |_| {}).unwrap();
    assert_eq!(journal.store.destroy_keys().unwrap().keys, 2);
    journal.store.backup(after.path(), |_| {}).unwrap();
    let events = journal.events.clone();
    let read = |folder: &tempfile::TempDir, seq| {
        let store = reopen(folder.path());
        assert_eq!(store.verify(&Default::default(), |_| {}).unwrap().faults, []);
        crate::journal::read(&mut store.payloads().unwrap(), &events, seq)
    };
    // The one from before the removal keeps what was removed, and its own keys to it.
    assert_eq!(read(before, 3), Stored::Whole(b"first"[..].into()));
    assert!(matches!(read(before, 6), Stored::Whole(_)));
    for copy in [between, after] {
        assert_eq!((read(copy, 3), read(copy, 6)), (Stored::Missing, Stored::Missing));
        assert_eq!(read(copy, 4), Stored::Whole(b"second"[..].into()));
        // A removal that the journal had not finished is finished where the copy is opened.
        assert_eq!(reopen(copy.path()).destroy_keys().unwrap().keys, 0);
    }
}

#[test]
fn what_an_interrupted_copy_left_behind_is_replaced() {
    let target = tempfile::tempdir().unwrap();
    std::fs::write(target.path().join("journal.partial"), b"half a copy").unwrap();
    let mut journal = Journal::memory();
    ordinary(&mut journal);
    // A half copy is no journal.
    let options = StoreOptions { create: false, ..StoreOptions::default() };
    let opened = Store::open(target.path(), &options);
    assert!(matches!(opened, Err(StoreError::NoJournal(path)) if path == target.path()));
    journal.store.backup(target.path(), |_| {}).unwrap();
    assert_eq!(reopen(target.path()).head(), journal.store.head());
}

#[test]
fn more_than_one_batch_is_copied() {
    let target = tempfile::tempdir().unwrap();
    let mut journal = Journal::memory();
    let session = journal.open("a");
    for n in 0..3 {
        journal.commit(vec![span(session, &format!("p{n}"), &crate::journal::noise(n, 9 << 20))]);
    }
    let mut told = 0;
    let report = journal.store.backup(target.path(), |_| told += 1).unwrap();
    assert!(report.bytes > 27 << 20);
    assert!(told > 7, "one for each table at least, and more for the chunks: {told}");
    let copied = reopen(target.path());
    assert_eq!(copied.head(), journal.store.head());
    let verified = copied.verify(&Default::default(), |_| {}).unwrap();
    assert_eq!((verified.payload_bytes, verified.faults), (27 << 20, vec![]));
}
