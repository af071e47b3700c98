//! What `append` has returned is on the disk (I6); what it could not bring there is not claimed.

use lacuna_store::{Store, StoreError, StoreOptions};
use redb::backends::{FileBackend, InMemoryBackend};

use crate::backend::{Asked, Notes, Noting};
use crate::journal::{Journal, key, span};

fn noted() -> (Journal, Notes) {
    let notes = Notes::default();
    let noting = || Noting { inner: InMemoryBackend::new(), notes: notes.clone() };
    let store = Store::open_backends(noting(), noting(), &StoreOptions::default()).unwrap();
    (Journal::on(store), notes)
}

/// The writes behind the last sync, and the writes in all.
fn writes(asked: &[Asked]) -> (usize, usize) {
    let count = |asked: &[Asked]| asked.iter().filter(|a| **a != Asked::Sync).count();
    let synced = asked.iter().rposition(|a| *a == Asked::Sync).map_or(0, |at| at + 1);
    (count(&asked[synced..]), count(asked))
}

#[test]
fn an_append_syncs_all_that_it_wrote_before_it_returns() {
    let (mut journal, notes) = noted();
    let session = journal.open("a");
    for size in [0, 1_000, 100_000, 1 << 20] {
        let payload = crate::journal::noise(size as u64, size);
        let commit = journal.prepare(vec![span(session, &format!("s{size}"), &payload)]);
        notes.take();
        journal.store.append(commit.clone()).unwrap();
        let asked = notes.take();
        let (behind, all) = writes(&asked);
        assert!(all > 0, "something was written: {asked:?}");
        assert_eq!(behind, 0, "nothing behind the last sync: {asked:?}");
        assert!(asked.contains(&Asked::Sync));
    }
    // Reading asks for neither.
    journal.store.load(session).unwrap().unwrap();
    journal.store.session(&key("a")).unwrap().unwrap();
    assert_eq!(notes.take(), []);
}

#[test]
fn checkpoints_and_snapshots_sync_too() {
    let (mut journal, notes) = noted();
    let session = journal.open("a");
    notes.take();
    journal.store.checkpoint().unwrap();
    let asked = notes.take();
    assert_eq!(writes(&asked).0, 0, "{asked:?}");
    // The second sync is what makes the next open fast.
    assert!(asked.iter().filter(|a| **a == Asked::Sync).count() >= 2, "{asked:?}");
    journal.snapshot(session);
    let asked = notes.take();
    let (behind, all) = writes(&asked);
    assert!(all > 0 && behind == 0, "{asked:?}");
}

#[test]
fn a_failed_sync_is_an_unknown_outcome_and_nothing_works_afterwards() {
    let (mut journal, notes) = noted();
    let session = journal.open("a");
    let head = journal.store.head();
    let commit = journal.prepare(vec![span(session, "s1", b"payload")]);
    notes.take();
    notes.fail_syncs();
    let error = journal.store.append(commit.clone()).unwrap_err();
    assert!(notes.take().contains(&Asked::Sync), "the fault has fired");
    assert!(matches!(error, StoreError::Indeterminate(_)), "{error:?}");
    assert!(error.to_string().contains("its outcome is unknown"), "{error}");
    assert_eq!(journal.store.head(), head, "the head is what was acknowledged");
    // Not even a commit that would go through: its foundation is unknown.
    let error = journal.store.append(commit.clone()).unwrap_err();
    assert!(matches!(error, StoreError::Indeterminate(_)), "{error:?}");
    assert!(journal.store.checkpoint().is_err());
}

#[test]
fn a_wrapped_file_is_still_locked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.redb");
    let open = || {
        let options = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .unwrap();
        FileBackend::new(options)
            .map(|inner| Noting { inner, notes: Notes::default() })
            .map_err(|error| StoreError::Database(error.into()))
            .and_then(|database| {
                let log = InMemoryBackend::new();
                Store::open_backends(database, log, &StoreOptions::default())
            })
    };
    let first = open().unwrap();
    assert!(open().is_err(), "a second one must not get in");
    first.close().unwrap();
    open().unwrap().close().unwrap();
}
