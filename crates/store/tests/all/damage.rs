//! Damage, row by row: `verify` finds it and says where, and reading refuses it or goes around.

use std::sync::Arc;

use lacuna_codec::{Block, BlockBuilder, CodecError, PackBuilder};
use lacuna_core::{Digest, Extent, SessionNo, SessionState, Timestamp};
use lacuna_store::{Store, StoreError, StoreOptions, Stored, VerifyOptions};
use redb::{Database, ReadableTable, TableDefinition, WriteTransaction};

use crate::journal::{Journal, key, noise, ordinary};

type Rows<K> = TableDefinition<'static, K, &'static [u8]>;
const EVENTS: Rows<u64> = TableDefinition::new("events");
const PAYLOADS: Rows<u64> = TableDefinition::new("payloads");
const CHUNKS: Rows<(u64, u32)> = TableDefinition::new("chunks");
const SNAPSHOTS: Rows<(u64, u64)> = TableDefinition::new("snapshots");
const SESSIONS: TableDefinition<'static, &str, u64> = TableDefinition::new("sessions");
const SESSION_BLOCKS: TableDefinition<'static, (u64, u64), u64> =
    TableDefinition::new("session_blocks");

const A: SessionNo = SessionNo(1);
const B: SessionNo = SessionNo(2);

/// The ordinary journal, closed, to be damaged: a = session 1, b = session 2, events 1 to 12,
/// blocks at 1, 2, 3, 6, 8 and 10, a snapshot of `a` at version 4.
struct Damaged {
    folder: tempfile::TempDir,
    states: std::collections::BTreeMap<SessionNo, lacuna_core::SessionState>,
    events: Vec<lacuna_core::Recorded>,
}

impl Damaged {
    fn journal() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::in_folder(folder.path());
        assert_eq!(ordinary(&mut journal), (A, B));
        journal.store.close().unwrap();
        Self { folder, states: journal.states, events: journal.events }
    }

    /// Changes rows behind the store's back.
    fn edit(&self, edit: impl FnOnce(&WriteTransaction)) -> &Self {
        let db = Database::create(self.folder.path().join("journal.redb")).unwrap();
        let write = db.begin_write().unwrap();
        edit(&write);
        write.commit().unwrap();
        self
    }

    fn value<K: redb::Key + 'static>(&self, table: Rows<K>, key: K::SelfType<'_>) -> Vec<u8> {
        let mut value = Vec::new();
        self.edit(|write| {
            value = write.open_table(table).unwrap().get(key).unwrap().unwrap().value().to_vec();
        });
        value
    }

    fn open(&self) -> Store {
        Store::open(self.folder.path(), &StoreOptions::default()).unwrap()
    }

    /// The faults that verifying finds, each with its seq.
    fn faults(&self) -> Vec<(Option<u64>, String)> {
        let report = self.open().verify(&VerifyOptions::default(), |_| {}).unwrap();
        report.faults.into_iter().map(|fault| (fault.seq, fault.what)).collect()
    }

    fn put(&self, table: Rows<u64>, key: u64, value: &[u8]) {
        self.edit(|write| drop(write.open_table(table).unwrap().insert(key, value).unwrap()));
    }

    fn remove(&self, table: Rows<u64>, key: u64) {
        self.edit(|write| {
            assert!(
                write.open_table(table).unwrap().remove(key).unwrap().is_some(),
                "it was there"
            );
        });
    }
}

fn fault(seq: u64, what: &str) -> (Option<u64>, String) {
    (Some(seq), what.into())
}

#[test]
fn a_flipped_bit_in_a_pack_is_found_and_nothing_of_the_pack_is_served() {
    let damaged = Damaged::journal();
    let sound = damaged.value(PAYLOADS, 3);
    // The payloads of events 3 to 5 are `first`, `second` and nothing. Header, body, tag:
    for at in [10, 24, 30, 55, 62, sound.len() - 20, sound.len() - 1] {
        let mut pack = sound.clone();
        pack[at] ^= 1;
        damaged.put(PAYLOADS, 3, &pack);
        let faults = damaged.faults();
        let seqs: Vec<_> = faults.iter().map(|(seq, _)| seq.unwrap()).collect();
        assert_eq!(seqs, [3, 4, 5], "byte {at}: {faults:?}");
        assert!(faults.iter().all(|(_, what)| what.contains("payload pack is damaged")));
    }
    let store = damaged.open();
    let mut reader = store.payloads().unwrap();
    let found = reader.read(4, &Digest::of(b"second"), 6).unwrap();
    assert!(matches!(&found, Stored::Damaged(why) if why.contains("not what was encrypted")));
    // What stands in other packs, and in chunks right behind it, is whole.
    assert_eq!(
        reader.read(7, &Digest::of(b"third"), 5).unwrap(),
        Stored::Whole(b"third"[..].into())
    );
    let large = noise(3, 300 << 10);
    let found = reader.read(6, &Digest::of(&large), large.len() as u64).unwrap();
    assert_eq!(found, Stored::Whole(large.into()));
}

#[test]
fn another_content_than_the_event_says_is_found_and_not_served() {
    let damaged = Damaged::journal();
    // Plain, as the first release wrote them: no key can vouch for it.
    let mut pack = PackBuilder::default();
    [(3, &b"first"[..]), (4, b"seconD"), (5, b"")].iter().for_each(|(seq, p)| pack.push(*seq, p));
    damaged.put(PAYLOADS, 3, &pack.finish().1);
    let what = "b1: the stored copy does not match its digest, and no event says so";
    assert_eq!(damaged.faults(), [fault(4, what)]);
    let store = damaged.open();
    let mut reader = store.payloads().unwrap();
    let mut read = |session, span: &str| {
        let state = store.load(session).unwrap().unwrap();
        reader.read_span(state.find(&span.parse().unwrap()).unwrap()).unwrap()
    };
    let why = "the stored copy does not match its digest".into();
    assert_eq!(read(B, "b1"), Stored::Damaged(why));
    // Its neighbours are whole.
    assert_eq!(read(A, "a1"), Stored::Whole(b"first"[..].into()));
    assert_eq!(read(A, "a2"), Stored::Whole(b""[..].into()));
}

#[test]
fn a_pack_that_cannot_be_opened_is_damage_of_all_its_payloads() {
    let damaged = Damaged::journal();
    damaged.put(PAYLOADS, 8, b"LCP1 and nothing that makes sense");
    let faults = damaged.faults();
    let seqs: Vec<_> = faults.iter().map(|(seq, _)| seq.unwrap()).collect();
    assert_eq!(seqs, [8, 9]);
    assert!(faults[0].1.starts_with("b3: payload pack is damaged: "), "{faults:?}");
}

#[test]
fn a_removed_pack_is_missing() {
    let damaged = Damaged::journal();
    damaged.remove(PAYLOADS, 8);
    let what = |span| format!("{span}: its payload is missing, and no event says so");
    assert_eq!(damaged.faults(), [fault(8, &what("b3")), fault(9, &what("b4"))]);
    let read = damaged.open().payloads().unwrap().read(8, &Digest::of(&noise(4, 5_000)), 5_000);
    assert_eq!(read.unwrap(), Stored::Missing);
}

#[test]
fn removed_chunks_are_found() {
    let remove = |damaged: &Damaged, part| {
        damaged.edit(|write| {
            let mut chunks = write.open_table(CHUNKS).unwrap();
            assert!(chunks.remove((6, part)).unwrap().is_some());
        });
    };
    let mismatch = "a3: the stored copy does not match its digest, and no event says so";
    for part in [0, 1] {
        let damaged = Damaged::journal();
        remove(&damaged, part);
        assert_eq!(damaged.faults(), [fault(6, mismatch)], "part {part}");
        remove(&damaged, 1 - part);
        let missing = "a3: its payload is missing, and no event says so";
        assert_eq!(damaged.faults(), [fault(6, missing)]);
    }
}

#[test]
fn a_flip_of_any_byte_of_a_block_is_found() {
    let damaged = Damaged::journal();
    let sound = damaged.value(EVENTS, 6);
    for at in (0..sound.len()).step_by(5) {
        let mut block = sound.clone();
        block[at] ^= 1 << (at % 8);
        assert!(Block::open(&block).is_err(), "byte {at}: verifying is not the only one to see it");
        damaged.put(EVENTS, 6, &block);
        let faults = damaged.faults();
        assert!(!faults.is_empty(), "byte {at}");
        assert!(faults.iter().all(|(seq, _)| seq.is_none_or(|s| s >= 6)), "byte {at}: {faults:?}");
    }
    damaged.put(EVENTS, 6, &sound);
    assert_eq!(damaged.faults(), []);
}

fn why<T: std::fmt::Debug>(result: Result<T, StoreError>) -> String {
    match result {
        Err(StoreError::Damaged(why)) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_flipped_bit_in_an_event_is_never_served_as_truth() {
    let damaged = Damaged::journal();
    let sound = damaged.value(EVENTS, 8);
    for at in (0..sound.len()).step_by(sound.len().div_ceil(60)).chain([40, 56, 71, 72]) {
        let mut block = sound.clone();
        block[at] ^= 1 << (at % 8);
        damaged.put(EVENTS, 8, &block);
        let store = damaged.open();
        // Events 8 and 9 are the versions 4 and 5 of `b`, of which there is no snapshot.
        let mut whys = vec![
            why(store.history(B, 1, 99)),
            why(store.history(B, 4, 1)),
            why(store.history(B, 5, 1)),
            why(store.load(B)),
            why(store.load_at(B, 4, Timestamp(u64::MAX))),
            why(store.load_at(B, u64::MAX, damaged.events[8].at)),
        ];
        // What lies before is there, and is no less true.
        assert_eq!(store.history(B, 1, 3).unwrap().len(), 3);
        let mut state = Arc::new(store.load_at(B, 3, Timestamp(u64::MAX)).unwrap().unwrap());
        whys.push(why(store.catch_up(&mut state)));
        assert_eq!(state.version, 3);
        assert!(whys.iter().all(|why| why.starts_with("event block is damaged: ")), "{whys:?}");
        assert!(at < 8 || whys[0].ends_with("its checksum does not match"), "byte {at}: {whys:?}");
        // Who has nothing in this block is not concerned.
        assert_eq!(store.load(A).unwrap().unwrap(), damaged.states[&A]);
    }
    // In the last block, where no other confirms it, the journal does not open.
    damaged.put(EVENTS, 8, &sound);
    let mut last = damaged.value(EVENTS, 10);
    *last.last_mut().unwrap() ^= 1;
    damaged.put(EVENTS, 10, &last);
    let opened = Store::open(damaged.folder.path(), &StoreOptions::default());
    assert_eq!(why(opened), "event block is damaged: its checksum does not match");
}

/// A block whose check fits, in which an event follows another one than it did.
fn unchained(block: u64, last: u64, seq: u64) -> Damaged {
    let damaged = Damaged::journal();
    let old = Block::open(&damaged.value(EVENTS, block)).unwrap();
    let mut forged = BlockBuilder::default();
    for event in &damaged.events[block as usize - 1..last as usize] {
        let mut event = event.clone();
        if event.seq == seq {
            event.previous = Digest::of(b"of another life");
        }
        forged.push(&mut event).unwrap();
    }
    damaged.put(EVENTS, block, &forged.finish(&old.previous));
    damaged
}

#[test]
fn an_event_that_does_not_follow_the_one_before_it_is_never_served() {
    let broken = |session: SessionNo, seq| {
        format!("session {}: event {seq} does not follow the one before it", session.0)
    };
    // The first event of a session follows none.
    let store = unchained(2, 2, 2).open();
    assert_eq!(why(store.history(B, 1, 1)), broken(B, 2));
    assert_eq!(why(store.load(B)), broken(B, 2));
    // Event 7 is version 3 of `b`.
    let store = unchained(6, 7, 7).open();
    assert_eq!(why(store.history(B, 1, 99)), broken(B, 7));
    assert_eq!(why(store.history(B, 2, 2)), broken(B, 7));
    assert_eq!(why(store.load(B)), broken(B, 7));
    let mut state = Arc::new(store.load_at(B, 2, Timestamp(u64::MAX)).unwrap().unwrap());
    assert_eq!(why(store.catch_up(&mut state)), broken(B, 7));
    assert_eq!(state.version, 2);
    // As it is another event now, the one behind it follows it no more.
    assert_eq!(why(store.history(B, 3, 2)), broken(B, 8));
    // Event 10 is version 5 of `a`, right behind the snapshot.
    let store = unchained(10, 12, 10).open();
    assert_eq!(why(store.load(A)), broken(A, 10));
    assert_eq!(why(store.history(A, 4, 2)), broken(A, 10));
    assert_eq!(store.load_at(A, 4, Timestamp(u64::MAX)).unwrap().unwrap().version, 4);
}

#[test]
fn a_removed_block_in_the_middle_is_found() {
    let damaged = Damaged::journal();
    damaged.remove(EVENTS, 6);
    let faults = damaged.faults();
    assert_eq!(
        faults[..2],
        [
            fault(6, "events 6 to 7 are missing"),
            fault(8, "the block does not follow the one before it"),
        ]
    );
    assert!(faults.contains(&fault(8, "version 4 follows 2")), "{faults:?}");
    assert!(faults.contains(&(None, "2 rows of the sessions' index lead nowhere".into())));
    // Loading does not fold around the hole; what lies before it is there.
    let store = damaged.open();
    assert_eq!(why(store.load(B)), "block 6 is missing");
    let before = store.load_at(B, 2, Timestamp(u64::MAX)).unwrap().unwrap();
    assert_eq!(before.version, 2);
    // The snapshot of `a` stands behind the hole. It is the last witness of what was there.
    assert_eq!(store.load(A).unwrap().unwrap(), damaged.states[&A]);
}

#[test]
fn a_block_out_of_its_place_is_found() {
    let damaged = Damaged::journal();
    let block = damaged.value(EVENTS, 8);
    damaged.remove(EVENTS, 8);
    damaged.put(EVENTS, 9, &block);
    let faults = damaged.faults();
    assert!(faults.contains(&fault(9, "the block here begins at 8")), "{faults:?}");
    assert!(faults.contains(&fault(8, "events 8 to 8 are missing")), "{faults:?}");
    // The same block twice.
    damaged.put(EVENTS, 8, &block);
    let faults = damaged.faults();
    assert!(faults.contains(&fault(9, "the block overlaps the one before it")), "{faults:?}");
}

#[test]
fn a_removed_first_block_is_found() {
    let damaged = Damaged::journal();
    damaged.remove(EVENTS, 1);
    let faults = damaged.faults();
    assert_eq!(faults[0], fault(1, "events 1 to 1 are missing"));
    assert!(faults.contains(&fault(3, "an event of a session that was never opened")));
    assert!(faults.contains(&(None, "session acme/a was never opened".into())), "{faults:?}");
}

#[test]
fn a_removed_last_block_is_given_away_by_the_index() {
    let damaged = Damaged::journal();
    damaged.remove(EVENTS, 10);
    assert_eq!(damaged.open().head().seq, 9);
    assert_eq!(damaged.faults(), [(None, "2 rows of the sessions' index lead nowhere".into())]);
}

/// What a chain of hashes cannot do, said where it cannot be overlooked.
#[test]
fn a_forged_last_block_is_seen_only_by_who_knows_its_hash() {
    let damaged = Damaged::journal();
    let head = damaged.open().head();
    let mut forged = BlockBuilder::default();
    let mut previous = None;
    for event in &damaged.events[9..] {
        let mut event = event.clone();
        // Chained properly within the block: somebody took the trouble.
        if event.session == A {
            event.previous = previous.unwrap_or(event.previous);
        }
        event.principal = "mallory".parse().unwrap();
        forged.push(&mut event).unwrap();
        if event.session == A {
            previous = Some(event.hash);
        }
    }
    let old = Block::open(&damaged.value(EVENTS, 10)).unwrap();
    damaged.put(EVENTS, 10, &forged.finish(&old.previous));
    assert_eq!(damaged.faults(), []);
    assert_ne!(damaged.open().head().block, head.block);
}

#[test]
fn a_wrong_row_of_the_index_is_found() {
    let edit = |key: (u64, u64), value: Option<u64>| {
        let damaged = Damaged::journal();
        damaged.edit(|write| {
            let mut index = write.open_table(SESSION_BLOCKS).unwrap();
            match value {
                Some(value) => drop(index.insert(key, value).unwrap()),
                None => assert!(index.remove(key).unwrap().is_some()),
            }
        });
        damaged
    };
    let misses = |seq| fault(seq, "the session's index misses this block");
    let nowhere = (None, "1 rows of the sessions' index lead nowhere".to_owned());
    // Leads to another block; then the snapshot cannot be folded again either.
    let unfolded = (None, "the snapshot of session 1 at 4 is not its fold".to_owned());
    assert_eq!(edit((1, 2), Some(6)).faults(), [misses(3), nowhere.clone(), unfolded]);
    // Is missing; is one too many.
    assert_eq!(edit((2, 3), None).faults(), [misses(7)]);
    assert_eq!(edit((1, 99), Some(3)).faults(), std::slice::from_ref(&nowhere));
    assert_eq!(edit((77, 1), Some(3)).faults(), [nowhere]);
    // With a row missing, catching up would jump over events: it refuses instead.
    let damaged = edit((2, 3), None);
    let store = damaged.open();
    let mut state = Arc::new(store.load_at(B, 2, Timestamp(u64::MAX)).unwrap().unwrap());
    let gap = "session 2: its versions have a gap";
    assert_eq!(why(store.catch_up(&mut state)), gap);
    assert_eq!(state.version, 2);
    // So does reading, also where the answer would begin behind the gap.
    assert_eq!(why(store.history(B, 1, 99)), gap);
    assert_eq!(why(store.history(B, 3, 1)), gap);
}

#[test]
fn wrong_names_are_found() {
    let damaged = Damaged::journal();
    damaged.edit(|write| {
        let mut names = write.open_table(SESSIONS).unwrap();
        names.insert("acme/a", 2).unwrap();
        names.remove("acme/b").unwrap();
        names.insert("acme/ghost", 3).unwrap();
    });
    let mut faults = damaged.faults();
    faults.sort();
    assert_eq!(
        faults,
        [
            (None, "session acme/ghost was never opened".into()),
            fault(1, "session acme/a is not found by its name"),
            fault(2, "session acme/b is not found by its name"),
        ]
    );
    assert_eq!(damaged.open().session(&key("b")).unwrap(), None);
}

fn encode_snapshot(state: &SessionState) -> Result<Vec<u8>, CodecError> {
    lacuna_codec::encode_snapshot(state, Extent::default())
}

/// Puts a snapshot of `a` under a version and says what verifying and loading make of it.
fn with_snapshot(version: u64, stored: &[u8]) -> Vec<(Option<u64>, String)> {
    let damaged = Damaged::journal();
    damaged.edit(|write| {
        let mut table = write.open_table(SNAPSHOTS).unwrap();
        assert!(table.remove((1, 4)).unwrap().is_some(), "the one that was there");
        table.insert((1, version), stored).unwrap();
    });
    // Whatever it holds, loading goes around it.
    let store = damaged.open();
    assert_eq!(store.load(A).unwrap().unwrap(), damaged.states[&A]);
    // One that is ahead of its name must not answer for a moment before its own.
    assert_eq!(store.load_at(A, 4, Timestamp(u64::MAX)).unwrap().unwrap().version, 4);
    store.close().unwrap();
    damaged.faults()
}

#[test]
fn wrong_snapshots_are_found_and_passed_over() {
    let mut journal = Journal::memory();
    ordinary(&mut journal);
    let at = |version| encode_snapshot(&journal.folded(A, version)).unwrap();
    let not_its_fold =
        |version| [(None, format!("the snapshot of session 1 at {version} is not its fold"))];
    assert_eq!(with_snapshot(4, &at(4)), []);
    // Of another version than it is filed under: stale, or ahead.
    assert_eq!(with_snapshot(4, &at(3)), not_its_fold(4));
    assert_eq!(with_snapshot(4, &at(5)), not_its_fold(4));
    assert_eq!(with_snapshot(99, &at(6)), not_its_fold(99));
    // Damaged.
    let mut flipped = at(4);
    *flipped.last_mut().unwrap() ^= 1;
    assert_eq!(with_snapshot(4, &flipped), not_its_fold(4));
    assert_eq!(with_snapshot(4, b""), not_its_fold(4));
    // Of another session.
    assert_eq!(with_snapshot(4, &encode_snapshot(&journal.folded(B, 4)).unwrap()), not_its_fold(4));
    // Of another format: what an older release leaves behind is no fault.
    let mut other = at(4);
    other[4..6].copy_from_slice(&7_u16.to_le_bytes());
    assert_eq!(with_snapshot(4, &other), []);
}

/// A snapshot that is sound but says something else is believed: it is a shortcut, not a witness.
#[test]
fn a_snapshot_that_lies_is_found_by_verifying_only() {
    let damaged = Damaged::journal();
    let mut lie = damaged.states[&A].clone();
    lie.window_tokens += 1;
    damaged.edit(|write| {
        let stored = encode_snapshot(&lie).unwrap();
        let mut table = write.open_table(SNAPSHOTS).unwrap();
        table.insert((1, lie.version), stored.as_slice()).unwrap();
    });
    assert_eq!(damaged.open().load(A).unwrap().unwrap(), lie);
    let what = format!("the snapshot of session 1 at {} is not its fold", lie.version);
    assert_eq!(damaged.faults(), [(None, what)]);
}
