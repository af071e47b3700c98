//! The key files: two copies, each of which is enough; healed, or refused with a reason, and never made
//! anew where something needs the old ones.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use lacuna_store::{Keys, MemoryKeys, Store, StoreError, StoreOptions, Stored};
use proptest::prelude::*;
use redb::backends::InMemoryBackend;

use crate::journal::{Journal, ordinary};
use crate::shared::Shared;

const NAMES: [&str; 2] = ["journal.keys", "journal.keys.2"];

fn open(path: &Path) -> Result<Store, StoreError> {
    Store::open(path, &StoreOptions::default())
}

/// A closed journal, and the bytes of its key files, which are the same.
fn closed() -> (tempfile::TempDir, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::in_folder(folder.path());
    ordinary(&mut journal);
    journal.store.close().unwrap();
    let files = NAMES.map(|name| std::fs::read(folder.path().join(name)).unwrap());
    assert_eq!(files[0], files[1]);
    (folder, files[0].clone())
}

fn faults(store: &Store) -> usize {
    store.verify(&Default::default(), |_| {}).unwrap().faults.len()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn sum(content: &[u8]) -> [u8; 32] {
    blake3::derive_key("lacuna 2026-11 key file v1", content)
}

#[test]
fn both_files_are_private_and_nothing_else_lies_beside_them() {
    let (folder, bytes) = closed();
    for name in NAMES {
        let mode = folder.path().join(name).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    assert_eq!(names(folder.path()), ["journal.keys", "journal.keys.2", "journal.redb"]);
    assert_eq!(bytes[..8], *b"LCKF\x01\0\0\0");
    assert_eq!(*bytes.last_chunk::<32>().unwrap(), sum(&bytes[..bytes.len() - 32]));
}

#[test]
fn a_copy_that_is_missing_or_damaged_is_healed_from_the_other() {
    for name in NAMES {
        let (folder, sound) = closed();
        let file = folder.path().join(name);
        let mut flipped = sound.clone();
        flipped[60] ^= 4;
        for content in [None, Some(&b""[..]), Some(b"LCKF"), Some(&sound[..70]), Some(&flipped)] {
            match content {
                None => std::fs::remove_file(&file).unwrap(),
                Some(content) => std::fs::write(&file, content).unwrap(),
            }
            let store = open(folder.path()).unwrap();
            assert_eq!(faults(&store), 0);
            store.close().unwrap();
            assert_eq!(std::fs::read(&file).unwrap(), sound, "{name}");
            assert_eq!(names(folder.path()).len(), 3, "no old or new file is left");
        }
    }
}

#[test]
fn without_a_readable_copy_the_journal_is_refused_and_nothing_is_made_anew() {
    for content in [None, Some(b"not keys at all, but more than long enough to be some".as_slice())]
    {
        let (folder, sound) = closed();
        for name in NAMES {
            std::fs::remove_file(folder.path().join(name)).unwrap();
            content.iter().for_each(|c| std::fs::write(folder.path().join(name), c).unwrap());
        }
        for error in [open(folder.path()).unwrap_err(), Keys::in_folder(folder.path()).unwrap_err()]
        {
            let text = error.to_string();
            match error {
                StoreError::KeysLost { file, .. } => {
                    assert_eq!(file, folder.path().join("journal.keys"));
                }
                other => panic!("{other:?}"),
            }
            assert!(
                text.contains("from a backup") && text.contains("no payload can be read"),
                "{text}"
            );
        }
        for name in NAMES {
            assert_eq!(std::fs::read(folder.path().join(name)).ok().as_deref(), content);
        }
        // Put back, one of them is enough.
        std::fs::write(folder.path().join("journal.keys.2"), &sound).unwrap();
        assert_eq!(faults(&open(folder.path()).unwrap()), 0);
        assert_eq!(std::fs::read(folder.path().join("journal.keys")).unwrap(), sound);
    }
}

#[test]
fn keys_are_made_for_a_journal_in_which_nothing_needs_them_yet() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path()).unwrap().close().unwrap();
    for name in NAMES {
        std::fs::remove_file(folder.path().join(name)).unwrap();
    }
    // Cut off right after the journal was made.
    open(folder.path()).unwrap().close().unwrap();
    assert_eq!(names(folder.path()).len(), 3);
}

#[test]
fn keys_of_another_journal_are_refused_and_left_alone() {
    let (other, foreign) = closed();
    let expected = open(other.path()).unwrap().journal().to_owned();
    for name in NAMES {
        let (folder, _) = closed();
        std::fs::write(folder.path().join(name), &foreign).unwrap();
        let error = open(folder.path()).unwrap_err();
        assert!(error.to_string().contains("move that file"), "{error}");
        match error {
            StoreError::KeysOfAnother { file, found, .. } => {
                assert_eq!((file, found), (folder.path().join(name), expected.clone()));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(std::fs::read(folder.path().join(name)).unwrap(), foreign);
    }
}

#[test]
fn a_newer_key_file_is_refused_by_name() {
    let (folder, mut bytes) = closed();
    bytes[4] = 2;
    let at = bytes.len() - 32;
    let sum = sum(&bytes[..at]);
    bytes[at..].copy_from_slice(&sum);
    std::fs::write(folder.path().join(NAMES[1]), &bytes).unwrap();
    match open(folder.path()) {
        Err(StoreError::Newer { what: "key file", found: 2, known: 1, .. }) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(std::fs::read(folder.path().join(NAMES[1])).unwrap(), bytes, "it is left alone");
}

#[test]
fn what_a_cut_off_replacement_left_behind_is_erased() {
    let (folder, sound) = closed();
    let file = |name: &str| folder.path().join(name);
    // Before the renaming: a second name of the file in force, and a new one. Behind it: an old file.
    std::fs::hard_link(file("journal.keys"), file("journal.keys.old")).unwrap();
    std::fs::write(file("journal.keys.new"), b"half of it").unwrap();
    std::fs::write(file("journal.keys.2.old"), &sound).unwrap();
    let kept = std::fs::File::open(file("journal.keys.2.old")).unwrap();
    assert_eq!(faults(&open(folder.path()).unwrap()), 0);
    assert_eq!(names(folder.path()), ["journal.keys", "journal.keys.2", "journal.redb"]);
    assert_eq!(std::fs::read(file("journal.keys")).unwrap(), sound);
    let mut left = Vec::new();
    std::io::Read::read_to_end(&mut &kept, &mut left).unwrap();
    assert_eq!(left, vec![0; sound.len()], "its bytes are gone, not only its name");
}

#[test]
fn a_journal_in_memory_is_read_with_its_own_keys_only() {
    let backend = Shared::default();
    let keys = MemoryKeys::default();
    let options = StoreOptions::default();
    let store = Store::open_backends_with(backend.clone(), backend.log(), &keys, &options).unwrap();
    let mut journal = Journal::on(store);
    ordinary(&mut journal);
    journal.store.close().unwrap();
    let again = Store::open_backends_with(backend.clone(), backend.log(), &keys, &options).unwrap();
    assert_eq!(faults(&again), 0);
    again.close().unwrap();
    let error = Store::open_backends(backend.clone(), backend.log(), &options).unwrap_err();
    assert!(matches!(error, StoreError::KeysLost { .. }), "{error:?}");
    // Of another journal.
    let others = MemoryKeys::default();
    Store::open_backends_with(InMemoryBackend::new(), InMemoryBackend::new(), &others, &options)
        .unwrap();
    let error =
        Store::open_backends_with(backend.clone(), backend.log(), &others, &options).unwrap_err();
    assert!(matches!(error, StoreError::KeysOfAnother { .. }), "{error:?}");
}

/// Whatever is done to one copy, the journal opens and reads; whatever is done to both, it is refused or
/// it reads: never anything else, and never a panic.
fn damaged_copies(damage: impl Fn(&mut Vec<u8>), both: bool) -> Result<(), TestCaseError> {
    static SOUND: OnceLock<(Shared, [Option<Vec<u8>>; 2])> = OnceLock::new();
    let options = StoreOptions::default();
    let (backend, sound) = SOUND.get_or_init(|| {
        let (backend, keys) = (Shared::default(), MemoryKeys::default());
        let store =
            Store::open_backends_with(backend.clone(), backend.log(), &keys, &options).unwrap();
        let mut journal = Journal::on(store);
        ordinary(&mut journal);
        journal.store.close().unwrap();
        (backend, keys.files())
    });
    let keys = MemoryKeys::default();
    let mut files = sound.clone();
    damage(files[0].as_mut().unwrap());
    if both {
        damage(files[1].as_mut().unwrap());
    }
    let changed = files != *sound;
    keys.set_files(files.clone());
    let copy = backend.copy();
    match Store::open_backends_with(copy.clone(), copy.log(), &keys, &options) {
        Ok(store) => {
            prop_assert!(!both || !changed);
            let read = store.payloads().unwrap().read(3, &lacuna_core::Digest::of(b"first"), 5);
            prop_assert_eq!(read.unwrap(), Stored::Whole(b"first"[..].into()));
            prop_assert_eq!(&keys.files(), sound);
        }
        Err(StoreError::KeysLost { .. }) => {
            prop_assert!(both && changed);
            prop_assert_eq!(keys.files(), files);
        }
        Err(other) => panic!("{other:?}"),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_key_file_with_flipped_bits_is_healed_or_refused(
        flips in proptest::collection::vec((any::<prop::sample::Index>(), 0..8), 1..4),
        both in any::<bool>(),
    ) {
        let damage = |file: &mut Vec<u8>| {
            for (at, bit) in &flips {
                let at = at.index(file.len());
                file[at] ^= 1_u8 << bit;
            }
        };
        damaged_copies(damage, both)?;
    }

    #[test]
    fn a_key_file_that_is_cut_short_or_runs_on_is_healed_or_refused(
        at in any::<prop::sample::Index>(),
        more in proptest::collection::vec(any::<u8>(), 0..3),
        both in any::<bool>(),
    ) {
        let damage = |file: &mut Vec<u8>| {
            file.truncate(at.index(file.len()));
            file.extend_from_slice(&more);
        };
        damaged_copies(damage, both)?;
    }
}

#[test]
fn reading_keys_changes_nothing() {
    let (folder, sound) = closed();
    let path: PathBuf = folder.path().join("journal.keys.2");
    std::fs::write(&path, b"damaged").unwrap();
    Keys::in_folder(folder.path()).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"damaged");
    assert_eq!(std::fs::read(folder.path().join("journal.keys")).unwrap(), sound);
}
