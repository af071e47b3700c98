//! After removal the payload's bytes are not in the journal's folder (I8): looked for in the raw files,
//! with the keys that are left, whatever step a crash came behind.

use std::path::Path;

use lacuna_codec::PackHeader;
use lacuna_core::SessionNo;
use lacuna_store::{Keys, MemoryKeys, Store, StoreOptions, Stored};

use crate::journal::{Journal, noise, span};
use crate::shared::Shared;

/// What a removed payload holds, and no other.
const CANARY: &[u8] = b"-the canary is in here-";

/// A payload with the canary in it: one that is compressed, or one on which that is tried in vain.
fn canary(seed: u64, noisy: bool, size: usize) -> Vec<u8> {
    let mut payload = if noisy { noise(seed, size) } else { vec![b'.'; size] };
    payload[size / 2..][..CANARY.len()].copy_from_slice(CANARY);
    payload
}

/// Sessions with canaries among others: in a pack of noise, in one that is compressed, in chunks.
/// Gives the seqs of the canaries and of the others.
fn with_canaries(journal: &mut Journal) -> (Vec<u64>, Vec<u64>) {
    let session = journal.open("a");
    let (mut canaries, mut others) = (Vec::new(), Vec::new());
    for commit in 0..3_u64 {
        let payloads = [
            (noise(10 * commit + 1, 700), false),
            (canary(10 * commit + 2, true, 900), true),
            (noise(10 * commit + 3, 300), false),
        ];
        let more = [(b"small".repeat(30), false), (canary(0, false, 200), true)];
        let large =
            [(canary(10 * commit + 4, true, 300 << 10), true), (noise(9, 260 << 10), false)];
        for group in [&payloads[..], &more, &large] {
            let drafts = group
                .iter()
                .map(|(payload, _)| span(session, &format!("p{}", Digits::next()), payload));
            let first = journal.commit(drafts.collect());
            for (seq, (_, is_canary)) in (first..).zip(group) {
                if *is_canary { &mut canaries } else { &mut others }.push(seq);
            }
        }
    }
    (canaries, others)
}

/// Names that come once in a test process.
struct Digits;

impl Digits {
    fn next() -> u64 {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed)
    }
}

fn holds(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}

/// How many canaries come out of these bytes: as they stand, decompressed, or decrypted with the keys.
/// Wherever a pack begins, whatever its length may be.
fn canaries_in(bytes: &[u8], keys: &Keys) -> usize {
    let mut found = usize::from(holds(bytes, CANARY));
    for at in 0..bytes.len().saturating_sub(4) {
        if bytes[at..].starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            let mut out = Vec::new();
            let frame = &bytes[at..bytes.len().min(at + (1 << 20))];
            if let Ok(mut decoder) = zstd::Decoder::new(frame) {
                // What comes before the end of the frame, or before it makes no sense any more.
                drop(std::io::Read::read_to_end(
                    &mut std::io::Read::take(&mut decoder, 1 << 20),
                    &mut out,
                ));
            }
            found += usize::from(holds(&out, CANARY));
        }
        if bytes[at..].starts_with(b"LCP2") {
            found += usize::from(canary_in_pack(&bytes[at..], keys));
        }
    }
    found
}

/// Whether a pack that begins here can be opened and holds a canary. Where it ends does not stand in
/// it: every length is tried that is possible.
fn canary_in_pack(bytes: &[u8], keys: &Keys) -> bool {
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let clear = 60 + 8 * usize::from(u16::from_le_bytes([bytes[6], bytes[7]]));
    let longest = clear + word(16) + 16;
    let shortest = if bytes[4] & 1 == 0 { longest } else { clear + 16 };
    (shortest..=longest.min(bytes.len())).any(|end| {
        PackHeader::read(&bytes[..end]).is_ok()
            && keys.open_pack(&bytes[..end]).is_ok_and(|pack| {
                pack.is_some_and(|pack| {
                    pack.seqs().any(|seq| pack.get(seq).is_some_and(|p| holds(p, CANARY)))
                })
            })
    })
}

fn canaries_in_folder(folder: &Path) -> usize {
    let keys = Keys::in_folder(folder).unwrap();
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.map(|file| canaries_in(&std::fs::read(file).unwrap(), &keys)).sum()
}

#[test]
fn a_removed_payload_is_in_no_file_of_the_folder_in_any_form() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::in_folder(folder.path());
    let (canaries, others) = with_canaries(&mut journal);
    assert_eq!(canaries.len(), 9);
    let kept: Vec<Stored> = others.iter().map(|seq| journal.read(*seq)).collect();
    assert!(canaries_in_folder(folder.path()) >= 9, "the search finds what is there");
    journal.remove(&canaries);
    // The control: nothing refers to them any more, and yet they can be had from the file.
    canaries.iter().for_each(|seq| assert_eq!(journal.read(*seq), Stored::Missing));
    let left = canaries_in_folder(folder.path());
    assert!(left >= 5, "without destroying keys they are still there: {left}");
    let done = journal.store.destroy_keys().unwrap();
    assert_eq!(done.keys, 9);
    assert_eq!(canaries_in_folder(folder.path()), 0, "while it is open");
    assert_eq!(others.iter().map(|seq| journal.read(*seq)).collect::<Vec<_>>(), kept);
    journal.store.close().unwrap();
    assert_eq!(canaries_in_folder(folder.path()), 0, "closed");
    let store = Store::open(folder.path(), &StoreOptions::default()).unwrap();
    assert_eq!(store.verify(&Default::default(), |_| {}).unwrap().faults, []);
    store.close().unwrap();
    assert_eq!(canaries_in_folder(folder.path()), 0, "opened again");
}

fn copied(from: &[(&Path, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (source, name) in from {
        std::fs::copy(source.join(name), folder.path().join(name)).unwrap();
    }
    folder
}

#[test]
fn a_crash_behind_any_step_is_finished_by_the_next_open() {
    const FILES: [&str; 3] = ["journal.redb", "journal.keys", "journal.keys.2"];
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::in_folder(folder.path());
    let (canaries, others) = with_canaries(&mut journal);
    journal.remove(&canaries);
    let events = journal.events.clone();
    journal.store.close().unwrap();
    // As the commit has left it, and as destroying the keys leaves it.
    let committed = copied(&FILES.map(|name| (folder.path(), name)));
    let store = Store::open(folder.path(), &StoreOptions::default()).unwrap();
    assert_eq!(store.destroy_keys().unwrap().keys, 0, "opening has done it");
    store.close().unwrap();
    let (before, after) = (committed.path(), folder.path());
    assert!(canaries_in_folder(before) >= 5, "the control");
    let steps = [
        ("commit", [before, before, before]),
        ("first key file", [before, after, before]),
        ("second key file", [before, after, after]),
        ("notes cleared", [after, after, after]),
        // Not in this order, but as a file system may bring it back.
        ("second key file alone", [before, before, after]),
    ];
    for (step, files) in steps {
        let files: Vec<_> = files.into_iter().zip(FILES).collect();
        let crashed = copied(&files);
        let store = Store::open(crashed.path(), &StoreOptions::default()).unwrap();
        assert_eq!(canaries_in_folder(crashed.path()), 0, "{step}");
        assert_eq!(store.destroy_keys().unwrap().keys, 0, "{step}: nothing is left to do");
        let mut reader = store.payloads().unwrap();
        for seq in &others {
            let found = crate::journal::read(&mut reader, &events, *seq);
            assert!(matches!(found, Stored::Whole(_)), "{step}: {seq}: {found:?}");
        }
        assert_eq!(store.verify(&Default::default(), |_| {}).unwrap().faults, [], "{step}");
        drop(reader);
        store.close().unwrap();
        let keys = FILES[1..].iter().map(|name| std::fs::read(crashed.path().join(name)).unwrap());
        assert!(keys.collect::<Vec<_>>().windows(2).all(|two| two[0] == two[1]), "{step}");
    }
}

/// The keys that are held in memory, to look for what they open.
fn keys_of(held: &MemoryKeys) -> Keys {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = held.files().map(Option::unwrap);
    std::fs::write(folder.path().join("journal.redb"), b"").unwrap();
    std::fs::write(folder.path().join("journal.keys"), first).unwrap();
    std::fs::write(folder.path().join("journal.keys.2"), second).unwrap();
    Keys::in_folder(folder.path()).unwrap()
}

const OPTIONS: StoreOptions =
    StoreOptions { cache_bytes: 1 << 20, log_bytes: 1 << 20, create: true };

/// Brings a canary in and removes it, until the power goes. Gives its seq.
fn until_the_cut(journal: &mut Journal) -> u64 {
    let session = SessionNo(1);
    let payload = canary(2, true, 1_000);
    let drafts = vec![span(session, "canary", &payload), span(session, "kept", b"kept")];
    let commit = journal.prepare(drafts);
    let seq = commit.first;
    let mut steps = || {
        journal.store.append(commit.clone())?;
        let mut removal = journal.prepare(vec![journal.lost(seq)]);
        removal.removal = Some(journal.store.prepare_removal(&[seq], u64::MAX)?);
        journal.store.append(removal.clone())?;
        journal.store.destroy_keys()
    };
    drop(steps());
    seq
}

/// The power goes at each sync in turn, from the commit that brings a canary to the end of its
/// removal. What was written and does not count stays in the file, or does not. In either case the
/// canary, sent again where it was not acknowledged and removed, cannot be had afterwards.
#[test]
fn a_power_cut_at_any_sync_leaves_nothing_that_a_removal_does_not_take() {
    let (mut cuts, mut unacknowledged, mut left_behind) = (0, 0, 0);
    for cut in 1.. {
        let (backend, keys) = (Shared::default(), MemoryKeys::default());
        let store =
            Store::open_backends_with(backend.clone(), backend.log(), &keys, &OPTIONS).unwrap();
        let mut journal = Journal::on(store);
        let session = journal.open("a");
        journal.commit(vec![span(session, "before", &noise(1, 900))]);
        backend.fail_at(backend.syncs() + cut);
        let seq = until_the_cut(&mut journal);
        if !backend.failed() {
            break;
        }
        cuts += 1;
        for pages in [false, true] {
            let disk = backend.after_the_cut(pages);
            let held = MemoryKeys::default();
            held.set_files(keys.files());
            left_behind += canaries_in(&disk.bytes(), &keys_of(&held)).min(1);
            let store =
                Store::open_backends_with(disk.clone(), disk.log(), &held, &OPTIONS).unwrap();
            let (head, state) = (store.head().seq, store.load(session).unwrap().unwrap());
            let events = store.history(session, 1, 99).unwrap();
            let mut journal = Journal { store, states: [(session, state)].into(), events };
            let mut seq = seq;
            if head < seq {
                unacknowledged += 1;
                // Nobody will ever ask for it to be removed: opening has seen to it.
                assert_eq!(canaries_in(&disk.bytes(), &keys_of(&held)), 0, "cut at sync {cut}");
                // Something else takes its place, and stays; it comes behind that.
                journal.commit(vec![span(session, "other", &noise(3, 800))]);
                seq = journal.commit(vec![span(session, "again", &canary(2, true, 1_000))]);
            }
            let removal = journal.store.prepare_removal(&[seq], u64::MAX).unwrap();
            if head > seq + 1 {
                assert!(removal.is_empty(), "it was removed before the cut");
            } else {
                assert_eq!(removal.removes(), [seq]);
                journal.commit_removal(removal);
            }
            journal.store.destroy_keys().unwrap();
            assert_eq!(journal.store.verify(&Default::default(), |_| {}).unwrap().faults, []);
            journal.store.close().unwrap();
            let found = canaries_in(&disk.bytes(), &keys_of(&held));
            assert_eq!(found, 0, "cut at sync {cut}, with pages behind it: {pages}");
        }
    }
    assert!(
        cuts >= 3 && unacknowledged >= 2 && left_behind >= 2,
        "{cuts} {unacknowledged} {left_behind}"
    );
}
