//! A journal of the first format, whose payloads are plain, becomes one in which none is.

use std::path::Path;

use lacuna_codec::PackBuilder;
use lacuna_store::{FORMAT, Keys, MemoryKeys, Store, StoreError, StoreOptions, Stored};
use redb::{
    Database, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition, WriteTransaction,
};

use crate::journal::{Journal, noise, ordinary, span};
use crate::shared::Shared;

const META: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("meta");
const PAYLOADS: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("payloads");
const CHUNKS: TableDefinition<'static, (u64, u32), &[u8]> = TableDefinition::new("chunks");
const PUNCTURES: TableDefinition<'static, u64, u64> = TableDefinition::new("punctures");

/// What a plain journal shows and an encrypted one must not.
const WORDS: &[u8] = b"words that stand in the file as they are";

fn plain<K: redb::Key + 'static>(
    write: &WriteTransaction,
    keys: &Keys,
    table: TableDefinition<'static, K, &[u8]>,
    mut put: impl FnMut(&mut redb::Table<'_, K, &'static [u8]>, K::SelfType<'_>, &[u8]),
) {
    let mut table = write.open_table(table).unwrap();
    let rows: Vec<(Vec<u8>, Vec<u8>)> = table
        .iter()
        .unwrap()
        .map(|row| row.unwrap())
        .map(|(key, value)| (K::as_bytes(&key.value()).as_ref().to_vec(), value.value().to_vec()))
        .collect();
    for (key, stored) in rows {
        let pack = keys.open_pack(&stored).unwrap().unwrap();
        let mut builder = PackBuilder::default();
        pack.seqs().for_each(|seq| builder.push(seq, pack.get(seq).unwrap()));
        put(&mut table, K::from_bytes(&key), &builder.finish().1);
    }
}

/// Makes of a closed journal, row by row, what the first release would have written.
fn as_the_first_release_wrote_it(db: &Database, keys: &Keys) {
    let write = db.begin_write().unwrap();
    plain(&write, keys, PAYLOADS, |table, key, stored| drop(table.insert(key, stored).unwrap()));
    plain(&write, keys, CHUNKS, |table, key, stored| drop(table.insert(key, stored).unwrap()));
    {
        let mut meta = write.open_table(META).unwrap();
        meta.insert("format", 1_u32.to_le_bytes().as_slice()).unwrap();
        meta.remove("leaves").unwrap();
        assert!(meta.get("rewritten").unwrap().is_none());
    }
    assert!(write.delete_table(PUNCTURES).unwrap());
    write.commit().unwrap();
}

/// A closed journal of the first format, alone in its folder; and what was written to it.
fn first_format() -> (tempfile::TempDir, Journal) {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::in_folder(folder.path());
    let (a, _) = ordinary(&mut journal);
    journal.commit(vec![span(a, "words", WORDS)]);
    let Journal { store, states, events } = journal;
    store.close().unwrap();
    let keys = Keys::in_folder(folder.path()).unwrap();
    as_the_first_release_wrote_it(&Database::open(file(folder.path())).unwrap(), &keys);
    for name in ["journal.keys", "journal.keys.2"] {
        std::fs::remove_file(folder.path().join(name)).unwrap();
    }
    assert!(shows_words(folder.path()), "it is plain");
    (folder, Journal { store: Journal::memory().store, states, events })
}

fn file(folder: &Path) -> std::path::PathBuf {
    folder.join("journal.redb")
}

fn shows_words(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().any(|entry| {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        bytes.windows(WORDS.len()).any(|window| window == WORDS)
    })
}

fn open(folder: &Path) -> Result<Store, StoreError> {
    Store::open(folder, &StoreOptions::default())
}

/// Opens it, which migrates it, and compares everything with what was written.
fn check_migrated(folder: &Path, mut journal: Journal) {
    journal.store = open(folder).unwrap();
    assert!(!shows_words(folder));
    let mut names: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["journal.keys", "journal.keys.2", "journal.log", "journal.redb"]);
    let report = journal.store.verify(&Default::default(), |_| {}).unwrap();
    assert_eq!((report.events, report.payloads, report.faults), (13, 11, vec![]));
    for (session, state) in &journal.states {
        assert_eq!(journal.store.load(*session).unwrap().as_ref(), Some(state));
        assert_eq!(journal.store.history(*session, 1, 99).unwrap(), journal.of(*session));
    }
    assert_eq!(journal.read(13), Stored::Whole(WORDS.into()));
    assert_eq!(journal.read(6), Stored::Whole(noise(3, 300 << 10).into()));
    // It goes on as any other: what is appended, and what is removed.
    let (seq, removed) = (journal.commit(vec![span(journal.events[0].session, "x", b"x")]), [3, 6]);
    journal.remove(&removed);
    assert_eq!(journal.store.destroy_keys().unwrap().keys, 2);
    assert_eq!((journal.read(3), journal.read(6)), (Stored::Missing, Stored::Missing));
    assert_eq!(journal.read(seq), Stored::Whole(b"x"[..].into()));
    let Journal { store, states, events } = journal;
    store.close().unwrap();
    let journal = Journal { store: open(folder).unwrap(), states, events };
    assert_eq!(journal.read(4), Stored::Whole(b"second"[..].into()));
    assert_eq!(journal.store.verify(&Default::default(), |_| {}).unwrap().faults, []);
}

#[test]
fn opening_encrypts_every_payload_and_overwrites_the_old_file() {
    let (folder, journal) = first_format();
    let old = std::fs::File::open(file(folder.path())).unwrap();
    check_migrated(folder.path(), journal);
    let mut left = Vec::new();
    std::io::Read::read_to_end(&mut &old, &mut left).unwrap();
    assert!(left.len() > 300 << 10 && left.iter().all(|byte| *byte == 0));
    let db = Database::open(file(folder.path())).unwrap();
    let meta = db.begin_read().unwrap().open_table(META).unwrap();
    let format = meta.get("format").unwrap().unwrap();
    assert_eq!(format.value(), FORMAT.to_le_bytes());
}

#[test]
fn a_crash_at_any_step_leaves_the_old_journal_or_the_new_one() {
    // While it is copied: half a copy, keys or none.
    let (folder, journal) = first_format();
    std::fs::write(folder.path().join("journal.partial"), b"half a copy").unwrap();
    check_migrated(folder.path(), journal);
    // The old file has its second name, and is still in force.
    let (folder, journal) = first_format();
    std::fs::hard_link(file(folder.path()), folder.path().join("journal.redb.old")).unwrap();
    check_migrated(folder.path(), journal);
    // Renamed, and not overwritten yet.
    let (folder, journal) = first_format();
    let old = std::fs::read(file(folder.path())).unwrap();
    open(folder.path()).unwrap().close().unwrap();
    std::fs::write(folder.path().join("journal.redb.old"), old).unwrap();
    assert!(shows_words(folder.path()));
    check_migrated(folder.path(), journal);
}

#[test]
fn a_damaged_plain_pack_is_kept_as_it_is() {
    let (folder, journal) = first_format();
    let damaged = b"LCP1 and nothing that makes sense";
    let edit = |table: &mut redb::Table<'_, u64, &'static [u8]>| {
        table.insert(8, damaged.as_slice()).unwrap();
    };
    let db = Database::open(file(folder.path())).unwrap();
    let write = db.begin_write().unwrap();
    edit(&mut write.open_table(PAYLOADS).unwrap());
    write.commit().unwrap();
    drop(db);
    let store = open(folder.path()).unwrap();
    let report = store.verify(&Default::default(), |_| {}).unwrap();
    let seqs: Vec<_> = report.faults.iter().map(|fault| fault.seq).collect();
    assert_eq!(seqs, [Some(8), Some(9)]);
    store.close().unwrap();
    let db = Database::open(file(folder.path())).unwrap();
    let packs = db.begin_read().unwrap().open_table(PAYLOADS).unwrap();
    assert_eq!(packs.get(8).unwrap().unwrap().value(), damaged);
    drop(journal);
}

/// A backend has no folder to put a copy into.
#[test]
fn on_a_backend_plain_packs_stay_until_they_are_rewritten() {
    let (backend, keys) = (Shared::default(), MemoryKeys::default());
    let options = StoreOptions::default();
    let mut journal = Journal::on(
        Store::open_backends_with(backend.clone(), backend.log(), &keys, &options).unwrap(),
    );
    let (a, _) = ordinary(&mut journal);
    let Journal { store, states, events } = journal;
    store.close().unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(file(folder.path()), b"").unwrap();
    std::fs::write(folder.path().join("journal.keys"), keys.files()[0].as_ref().unwrap()).unwrap();
    let db = Database::builder().create_with_backend(backend.clone()).unwrap();
    as_the_first_release_wrote_it(&db, &Keys::in_folder(folder.path()).unwrap());
    drop(db);
    assert!(backend.len().unwrap() > 0);
    // No keys are there, and none are needed.
    let keys = MemoryKeys::default();
    let open =
        || Store::open_backends_with(backend.clone(), backend.log(), &keys, &options).unwrap();
    let mut journal = Journal { store: open(), states, events };
    assert_eq!(journal.store.verify(&Default::default(), |_| {}).unwrap().faults, []);
    let seq = journal.commit(vec![span(a, "new", b"new")]);
    journal.commit(vec![span(a, "large", &noise(9, 300 << 10))]);
    // A copy of it is encrypted throughout, and stays readable however often it is opened.
    let copy = tempfile::tempdir().unwrap();
    journal.store.backup(copy.path(), |_| {}).unwrap();
    for _ in 0..2 {
        let copied = Store::open(copy.path(), &options).unwrap();
        let report = copied.verify(&Default::default(), |_| {}).unwrap();
        assert_eq!((report.payloads, report.faults), (12, vec![]));
        drop(copied);
    }
    let db = Database::open(file(copy.path())).unwrap();
    let packs = db.begin_read().unwrap().open_table(PAYLOADS).unwrap();
    assert!(packs.iter().unwrap().all(|row| row.unwrap().1.value().starts_with(b"LCP2")));
    journal.remove(&[3, 6]);
    journal.store.destroy_keys().unwrap();
    let Journal { store, states, events } = journal;
    store.close().unwrap();
    let journal = Journal { store: open(), states, events };
    assert_eq!(journal.read(seq), Stored::Whole(b"new"[..].into()));
    assert_eq!((journal.read(3), journal.read(6)), (Stored::Missing, Stored::Missing));
    assert_eq!(journal.read(4), Stored::Whole(b"second"[..].into()));
    assert_eq!(journal.read(8), Stored::Whole(noise(4, 5_000).into()));
    // From now on something needs them.
    drop(journal);
    assert!(matches!(
        Store::open_backends(backend.clone(), backend.log(), &options),
        Err(StoreError::KeysLost { .. })
    ));
}
