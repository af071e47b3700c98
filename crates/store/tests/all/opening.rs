//! Opening: the right folder, the right format, one process at a time, and no panic whatever the
//! file holds (I9).

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use lacuna_store::{FORMAT, Store, StoreError, StoreOptions, VerifyOptions, guarding};
use redb::{ReadableDatabase, TableDefinition};

use crate::journal::{Journal, key, noise, ordinary};

const META: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("meta");

fn open(path: &Path) -> Result<Store, StoreError> {
    Store::open(path, &StoreOptions::default())
}

fn existing(path: &Path) -> Result<Store, StoreError> {
    Store::open(path, &StoreOptions { create: false, ..StoreOptions::default() })
}

fn set_meta(path: &Path, name: &str, value: Option<&[u8]>) {
    let db = redb::Database::create(path.join("journal.redb")).unwrap();
    let write = db.begin_write().unwrap();
    {
        let mut meta = write.open_table(META).unwrap();
        match value {
            Some(value) => drop(meta.insert(name, value).unwrap()),
            None => drop(meta.remove(name).unwrap()),
        }
    }
    write.commit().unwrap();
}

#[test]
fn a_journal_in_use_is_not_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).unwrap();
    for second in [open(folder.path()), existing(folder.path())] {
        let error = second.unwrap_err();
        assert!(matches!(&error, StoreError::InUse(path) if path == folder.path()), "{error:?}");
        assert!(error.to_string().contains("in use by another process"), "{error}");
    }
    store.close().unwrap();
    open(folder.path()).unwrap();
}

#[test]
fn a_folder_that_cannot_be_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, b"not a folder").unwrap();
    // Below a regular file: nobody may make a folder there, whoever runs the tests.
    for path in [file.join("journal"), file.clone()] {
        let error = open(&path).unwrap_err();
        assert!(
            matches!(&error, StoreError::Folder { folder, .. } if *folder == path),
            "{error:?}"
        );
        let text = error.to_string();
        assert!(text.contains("cannot be used") && text.contains("may be written"), "{text}");
        assert!(matches!(existing(&path), Err(StoreError::NoJournal(at)) if at == path));
    }
    assert_eq!(std::fs::read(&file).unwrap(), b"not a folder");
}

#[test]
fn a_missing_journal_is_made_only_if_asked() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().to_owned(), folder.path().join("missing")] {
        let error = existing(&path).unwrap_err();
        assert!(matches!(&error, StoreError::NoJournal(at) if *at == path), "{error:?}");
        assert!(error.to_string().contains("there is no journal in"), "{error}");
    }
    assert!(!folder.path().join("missing").exists(), "looking for one makes nothing");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    open(folder.path()).unwrap().close().unwrap();
    existing(folder.path()).unwrap();
}

#[test]
fn a_newer_format_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path()).unwrap().close().unwrap();
    for newer in [FORMAT + 1, u32::MAX] {
        set_meta(folder.path(), "format", Some(&newer.to_le_bytes()));
        let error = open(folder.path()).unwrap_err();
        let text = error.to_string();
        match error {
            StoreError::Newer { found, known, .. } => assert_eq!((found, known), (newer, FORMAT)),
            other => panic!("{other:?}"),
        }
        assert!(text.contains(&format!("format {newer},")), "{text}");
        assert!(text.contains(&format!("reads up to {FORMAT}:")), "{text}");
    }
    set_meta(folder.path(), "format", Some(&FORMAT.to_le_bytes()));
    open(folder.path()).unwrap();
}

#[test]
fn a_journal_that_does_not_say_what_it_is_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path()).unwrap().close().unwrap();
    let why = || match open(folder.path()) {
        Err(StoreError::Damaged(why)) => why,
        other => panic!("{other:?}"),
    };
    set_meta(folder.path(), "format", Some(b"1"));
    assert_eq!(why(), "it names no format");
    set_meta(folder.path(), "format", None);
    assert_eq!(why(), "it names no format");
    set_meta(folder.path(), "format", Some(&FORMAT.to_le_bytes()));
    set_meta(folder.path(), "journal", Some(b"\xff"));
    assert_eq!(why(), "it names no journal id");
    set_meta(folder.path(), "journal", None);
    assert_eq!(why(), "it names no journal id");
}

#[test]
fn the_folder_is_private_to_its_owner() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/journal");
    open(&path).unwrap();
    for made in [path.as_path(), path.parent().unwrap()] {
        assert_eq!(made.metadata().unwrap().permissions().mode() & 0o777, 0o700, "{made:?}");
    }
}

#[test]
fn a_journal_is_as_it_was_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::in_folder(folder.path());
    let (a, b) = ordinary(&mut journal);
    let (head, id) = (journal.store.head(), journal.store.journal().to_owned());
    assert_eq!(id.len(), 32);
    assert!(id.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)), "{id}");
    journal.store.checkpoint().unwrap();
    journal.store.close().unwrap();
    // Closed, and dropped without being closed.
    for _ in 0..2 {
        let store = existing(folder.path()).unwrap();
        assert_eq!((store.head(), store.journal()), (head, id.as_str()));
        assert_eq!(store.session(&key("b")).unwrap(), Some(b));
        assert_eq!(store.load(a).unwrap().unwrap(), journal.states[&a]);
        assert!(store.stats().unwrap().file_bytes > 300 << 10);
    }
    // Another journal has another id.
    let other = tempfile::tempdir().unwrap();
    assert_ne!(open(other.path()).unwrap().journal(), id);
}

#[test]
fn after_an_io_failure_everything_is_checked_and_the_mark_goes() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::in_folder(folder.path());
    ordinary(&mut journal);
    let head = journal.store.head();
    journal.store.close().unwrap();
    let mark = folder.path().join("journal.failed");
    std::fs::write(&mark, "the disk was on fire").unwrap();
    let store = open(folder.path()).unwrap();
    assert_eq!(store.head(), head);
    assert!(!mark.exists());
    store.close().unwrap();
    // One changed byte of a payload, deep in the file: a plain open does not see it, this one does.
    let file = folder.path().join("journal.redb");
    let needle = {
        let db = redb::Database::open(&file).unwrap();
        let packs: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("payloads");
        let packs = db.begin_read().unwrap().open_table(packs).unwrap();
        packs.get(8).unwrap().unwrap().value().to_vec()
    };
    let mut bytes = std::fs::read(&file).unwrap();
    let at = bytes.windows(64).position(|window| window == &needle[100..164]).unwrap();
    bytes[at] ^= 1;
    std::fs::write(&file, &bytes).unwrap();
    open(folder.path()).unwrap().close().unwrap();
    std::fs::write(&mark, "again").unwrap();
    let error = open(folder.path()).unwrap_err();
    assert!(matches!(error, StoreError::Damaged(_)), "{error:?}");
    assert!(mark.exists(), "the next open must check again");
}

#[test]
fn what_is_no_database_is_refused_and_left_as_it_is() {
    for content in [b"hello".to_vec(), noise(1, 100_000), vec![0; 8_192], b"redb".repeat(4_096)] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("journal.redb");
        std::fs::write(&file, &content).unwrap();
        let error = existing(folder.path()).unwrap_err();
        assert!(matches!(error, StoreError::Damaged(_)), "{error:?}");
        assert!(error.to_string().contains("damaged"), "{error}");
        assert!(std::fs::read(&file).unwrap() == content, "it was overwritten");
    }
}

#[test]
fn a_changed_or_shortened_file_never_makes_us_panic() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::in_folder(folder.path());
    let (a, b) = ordinary(&mut journal);
    journal.store.close().unwrap();
    let file = folder.path().join("journal.redb");
    let sound = std::fs::read(&file).unwrap();
    let mut refused = 0;
    for round in 0..300_u64 {
        let mut bytes = sound.clone();
        let dice = noise(round + 1, 16);
        let at = u64::from_le_bytes(dice[..8].try_into().unwrap()) as usize;
        match round % 4 {
            // The header's page, any byte, a whole page, the end.
            0 => bytes[at % 4_096] ^= dice[8] | 1,
            1 => bytes[at % sound.len()] ^= dice[8] | 1,
            2 => bytes[at % sound.len() / 4_096 * 4_096..][..4_096].fill(dice[8]),
            _ => bytes.truncate(at % sound.len()),
        }
        std::fs::write(&file, &bytes).unwrap();
        let Ok(store) = open(folder.path()) else {
            refused += 1;
            continue;
        };
        // What opens answers every question, if only by saying that it is damaged.
        let mut reader = store.payloads();
        for session in [a, b] {
            _ = store.history(session, 1, 99);
            if let (Ok(Some(state)), Ok(reader)) = (store.load(session), &mut reader) {
                state.spans().iter().for_each(|span| drop(reader.read_span(span)));
            }
        }
        _ = store.verify(&Default::default(), |_| {});
        _ = store.stats();
    }
    assert!(refused > 30, "the faults have fired: {refused}");
}

#[test]
fn a_panic_hook_can_tell_which_panics_the_store_catches() {
    let mut journal = Journal::memory();
    ordinary(&mut journal);
    assert!(!guarding());
    let mut seen = Vec::new();
    let report = journal.store.verify(&VerifyOptions::default(), |_| {
        // Payloads were read meanwhile, in a guard of their own.
        seen.push(guarding());
        assert!(!std::thread::spawn(guarding).join().unwrap(), "it is of this thread");
    });
    assert_eq!((seen, report.unwrap().faults), (vec![true; 6], vec![]));
    assert!(!guarding());
    // A panic ends it as well, and is an answer.
    let report = journal.store.verify(&VerifyOptions::default(), |_| panic!("on purpose")).unwrap();
    assert_eq!(report.faults[0].what, "the database cannot make sense of its file");
    assert!(!guarding());
}
