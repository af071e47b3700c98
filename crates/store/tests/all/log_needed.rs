//! Whose the log is: a journal that was not stopped is opened with its own log or not at all, and one whose log
//! is taken away in use has everything in its database.

use std::path::Path;

use lacuna_store::{End, Remains, Store, StoreError, StoreOptions};

use crate::journal::{Journal, span};
use crate::log::{Disk, PAGE, copied, damage, drawn, whole};

/// It opened, said nothing, and destroyed the keys of what only the log had.
#[test]
fn a_journal_that_was_killed_is_not_opened_without_its_log() {
    let (disk, other) = (Disk::default(), Disk::default());
    let (mut journal, mut others) = (disk.journal(), other.journal());
    let (a, b) = (journal.open("a"), others.open("b"));
    let last = journal.commit(vec![span(a, "s1", b"one")]);
    others.commit(vec![span(b, "s1", b"one"), span(b, "s2", b"two")]);
    let killed = disk.killed();
    // That of an earlier run of the same journal.
    journal.store.close().unwrap();
    disk.0.log().edit(Vec::clear);
    let mut again = Journal { store: disk.open().unwrap(), ..journal };
    again.commit(vec![span(a, "s2", b"two")]);
    let next = disk.killed();
    let length = killed.0.log().edit(|log| log.len());
    let mut logs = vec![("missing or empty", Vec::new()), ("not the one", vec![0; length])];
    for of in [&other, &next] {
        logs.push(("not the one", of.0.log().edit(|log| log.clone())));
    }
    let log = killed.0.log().edit(|log| log.clone());
    for length in [2 * PAGE, 3 * PAGE - 1, length / 2, length - PAGE, length - 1] {
        logs.push(("cut off", log[..length].to_vec()));
    }
    let one_front: Vec<_> = [0, 1]
        .iter()
        .map(|page| {
            let mut log = log.clone();
            log[page * PAGE + 70] ^= 1;
            log
        })
        .collect();
    let mut no_front = one_front[0].clone();
    no_front[PAGE + 70] ^= 1;
    logs.push(("or damaged", no_front));
    let journal = Journal { events: again.events, ..again };
    for (expected, bytes) in logs {
        let mixed = killed.killed();
        mixed.0.log().edit(|log| *log = bytes);
        let (before, keys) = (mixed.0.log().edit(|log| log.clone()), mixed.1.files());
        let why = damage(&mixed);
        assert!(why.contains(expected), "{why}");
        assert!(mixed.0.log().edit(|log| *log == before), "{expected}: the log was touched");
        assert!(mixed.1.files() == keys, "{expected}: a key was destroyed");
    }
    // Either front is enough.
    for bytes in one_front {
        let mixed = killed.killed();
        mixed.0.log().edit(|log| *log = bytes);
        assert_eq!(whole(&mixed, &journal, last, last), last);
    }
    assert_eq!(whole(&killed, &journal, last, last), last);
    assert_eq!(whole(&next, &journal, last + 1, last + 1), last + 1);
}

#[test]
fn a_journal_that_needs_no_log_does_not_look_at_one() {
    let disk = Disk::default();
    let mut journal = disk.journal();
    let a = journal.open("a");
    let last = journal.commit(vec![span(a, "s1", b"one")]);
    let Journal { store, states, events } = journal;
    store.close().unwrap();
    let spent = disk.0.log().edit(|log| log.clone());
    assert!(spent.starts_with(b"LCL1"), "it had one");
    for log in [Vec::new(), vec![7; 5_000], spent] {
        let closed = disk.killed();
        closed.0.log().edit(|there| *there = log);
        let store = closed.open().unwrap();
        let mut journal = Journal { store, states: states.clone(), events: events.clone() };
        // Nor is anything in the way when it needs one again.
        assert_eq!(journal.commit(vec![span(a, "s2", b"two")]), last + 1);
        assert_eq!(whole(&closed.killed(), &journal, last + 1, last + 1), last + 1);
    }
}

/// It was overwritten, or removed when the journal was closed, with all that only it had: even by an opening that
/// was refused, for other reasons, or by looking at the journal beside it.
#[test]
fn the_log_of_another_journal_is_never_touched() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [ours, theirs] = folders.each_ref().map(|folder| folder.path());
    let mut journal = Journal::in_folder(ours);
    journal.open("a");
    journal.store.close().unwrap();
    let mut other = Journal::in_folder(theirs);
    let session = other.open("b");
    other.commit(vec![span(session, "s1", b"only the log has it")]);
    let log = std::fs::read(theirs.join("journal.log")).unwrap();
    let files = ["journal.redb", "journal.keys", "journal.keys.2"];
    // With a journal that needs none, with its database and their keys, and with their keys alone.
    for (database, keys) in [(Some(ours), ours), (Some(ours), theirs), (None, theirs)] {
        let mixed = copied(keys, Some("journal.redb"));
        if let Some(database) = database {
            std::fs::copy(database.join(files[0]), mixed.path().join(files[0])).unwrap();
        }
        std::fs::write(mixed.path().join("journal.log"), &log).unwrap();
        let error = Store::open(mixed.path(), &StoreOptions::default()).unwrap_err();
        match database {
            Some(_) => assert!(error.to_string().contains("is that of journal"), "{error}"),
            None => assert!(matches!(error, StoreError::Remains(_)), "{error:?}"),
        }
        assert!(std::fs::read(mixed.path().join("journal.log")).unwrap() == log);
        assert_eq!(mixed.path().join("journal.redb").exists(), database.is_some());
    }
    // Put together again it is whole.
    let whole = copied(theirs, None);
    assert_eq!(Store::open(whole.path(), &StoreOptions::default()).unwrap().head().seq, 2);
}

#[test]
fn a_log_is_not_removed_by_an_opening_that_fails() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::in_folder(folder.path());
    let session = journal.open("a");
    let last = journal.commit(vec![span(session, "s1", b"one")]);
    let killed = copied(folder.path(), None);
    let keys = ["journal.keys", "journal.keys.2"].map(|name| {
        let path = killed.path().join(name);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        (path, bytes)
    });
    let error = Store::open(killed.path(), &StoreOptions::default()).unwrap_err();
    assert!(matches!(error, StoreError::KeysLost { .. }), "{error:?}");
    assert!(killed.path().join("journal.log").exists());
    keys.into_iter().for_each(|(path, bytes)| std::fs::write(path, bytes).unwrap());
    let store = Store::open(killed.path(), &StoreOptions::default()).unwrap();
    assert_eq!(store.head().seq, last);
    assert_eq!(store.verify(&Default::default(), |_| {}).unwrap().faults, []);
}

/// Reading one waited for its other end.
#[test]
fn keys_that_are_no_file_are_refused_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::in_folder(folder.path());
    journal.open("a");
    journal.store.close().unwrap();
    let keys = folder.path().join("journal.keys");
    std::fs::remove_file(&keys).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &keys).unwrap();
    let error = Store::open(folder.path(), &StoreOptions::default()).unwrap_err();
    assert!(error.to_string().contains("no regular file"), "{error}");
    // What is only looked at has the other copy.
    let remains = Remains::in_folder(folder.path(), |_, _| {}).unwrap();
    assert_eq!((remains.last(), remains.end()), (1, End::Known));
}

/// The third format: a log without a front, and a database that does not name it.
#[test]
fn a_journal_of_the_third_format_that_was_killed_opens_with_its_log() {
    let disk = Disk::default();
    let mut journal = disk.journal();
    let a = journal.open("a");
    let last = journal.commit(vec![span(a, "s1", b"one")]);
    let old = disk.killed();
    old.0.log().edit(|log| drop(log.drain(..2 * PAGE)));
    {
        let db = redb::Builder::new().create_with_backend(old.0.clone()).unwrap();
        let write = db.begin_write().unwrap();
        let table = redb::TableDefinition::<&str, &[u8]>::new("meta");
        let mut meta = write.open_table(table).unwrap();
        assert!(meta.remove("log").unwrap().is_some());
        meta.insert("format", 3_u32.to_le_bytes().as_slice()).unwrap();
        drop(meta);
        write.commit().unwrap();
    }
    let Journal { states, events, .. } = journal;
    let mut journal = Journal { store: old.open().unwrap(), states, events };
    assert_eq!(journal.commit(vec![span(a, "s2", b"two")]), last + 1);
    assert_eq!(whole(&old.killed(), &journal, last + 1, last + 1), last + 1);
}

/// It went on, and what it acknowledged was gone with the next kill.
#[test]
fn a_log_that_is_taken_away_in_use_ends_the_journal_and_loses_nothing() {
    let take_away: [fn(&Path); 4] = [
        |log| std::fs::remove_file(log).unwrap(),
        |log| std::fs::rename(log, log.with_extension("moved")).unwrap(),
        |log| std::fs::File::options().write(true).open(log).unwrap().set_len(9_000).unwrap(),
        |log| {
            std::fs::remove_file(log).unwrap();
            std::fs::write(log, vec![0; 1 << 20]).unwrap();
        },
    ];
    for (n, take_away) in take_away.iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("journal.log");
        let mut journal = Journal::in_folder(folder.path());
        let session = journal.open("a");
        let last = journal.commit(vec![span(session, "s1", b"one")]);
        take_away(&log);
        let next = drawn(&mut journal, 1, session).pop().unwrap();
        for gone in [true, false] {
            match journal.store.append(next.clone()) {
                Err(StoreError::LogGone { path, .. }) if gone => assert_eq!(path, log),
                Err(StoreError::Indeterminate(why)) if !gone => assert!(why.contains("is gone")),
                other => panic!("{n}: {other:?}"),
            }
        }
        assert_eq!(journal.store.head().seq, last);
        // As after a kill.
        let killed = copied(folder.path(), None);
        drop(journal.store);
        for path in [killed.path(), folder.path()] {
            let store = Store::open(path, &StoreOptions::default()).unwrap();
            assert_eq!(store.head().seq, last, "{n}");
            let report = store.verify(&Default::default(), |_| {}).unwrap();
            assert_eq!((report.payloads, report.faults), (1, vec![]), "{n}");
            store.close().unwrap();
        }
    }
}

#[test]
fn a_log_that_is_no_file_is_refused_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    Journal::in_folder(folder.path()).store.close().unwrap();
    std::os::unix::fs::symlink("/dev/null", folder.path().join("journal.log")).unwrap();
    let error = Store::open(folder.path(), &StoreOptions::default()).unwrap_err();
    assert!(error.to_string().contains("no regular file"), "{error}");
}
