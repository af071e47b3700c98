//! Tampering: what `verify` finds, what only a checkpoint finds, and what a checkpoint does not cover.

use std::collections::HashMap;
use std::path::Path;

use lacuna_codec::{Block, BlockBuilder, Checkpoint, PackBuilder, block_hash};
use lacuna_core::{Digest, Event, Recorded, SessionNo, Timestamp};
use lacuna_store::{Standing, Store, StoreError, StoreOptions, VerifyOptions, read_copy};
use proptest::prelude::*;
use redb::{Database, ReadableTable, TableDefinition, WriteTransaction};

use crate::journal::{Journal, ordinary};

type Rows<K> = TableDefinition<'static, K, &'static [u8]>;
const EVENTS: Rows<u64> = TableDefinition::new("events");
const PAYLOADS: Rows<u64> = TableDefinition::new("payloads");
const CHUNKS: Rows<(u64, u32)> = TableDefinition::new("chunks");
const SNAPSHOTS: Rows<(u64, u64)> = TableDefinition::new("snapshots");
const SESSION_BLOCKS: TableDefinition<'static, (u64, u64), u64> =
    TableDefinition::new("session_blocks");

/// The ordinary journal, closed: events 1 to 12, blocks at 1, 2, 3, 6, 8 and 10, which end with 1, 2, 5,
/// 7, 9 and 12; and a checkpoint of each of these ends.
struct Signed {
    folder: tempfile::TempDir,
    checkpoints: Vec<Checkpoint>,
}

fn signed() -> Signed {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::in_folder(folder.path());
    ordinary(&mut journal);
    let id = journal.store.journal().to_owned();
    journal.store.close().unwrap();
    let mut checkpoints = Vec::new();
    edit(folder.path(), |write| {
        for row in write.open_table(EVENTS).unwrap().iter().unwrap() {
            let (_, value) = row.unwrap();
            let seq = Block::open(value.value()).unwrap().end() - 1;
            let (journal, head) = (id.clone(), block_hash(value.value()));
            checkpoints.push(Checkpoint { journal, seq, head, at: Timestamp(0) });
        }
    });
    assert_eq!(checkpoints.iter().map(|c| c.seq).collect::<Vec<_>>(), [1, 2, 5, 7, 9, 12]);
    Signed { folder, checkpoints }
}

/// Changes rows behind the store's back.
fn edit(folder: &Path, edit: impl FnOnce(&WriteTransaction)) {
    let db = Database::create(folder.join("journal.redb")).unwrap();
    let write = db.begin_write().unwrap();
    edit(&write);
    write.commit().unwrap();
}

fn open(folder: &Path) -> Store {
    Store::open(folder, &StoreOptions::default()).unwrap()
}

impl Signed {
    fn faults(&self) -> Vec<String> {
        let report = open(self.folder.path()).verify(&VerifyOptions::default(), |_| {}).unwrap();
        report.faults.into_iter().map(|fault| fault.what).collect()
    }

    /// Where the checkpoints stand, in the journal and, the same, in a copy of its file alone.
    fn standings(&self) -> Vec<Standing> {
        let file = self.folder.path().join("journal.redb");
        let before = std::fs::read(&file).unwrap();
        let copy = read_copy(&file, &self.checkpoints).unwrap().standings;
        assert!(std::fs::read(&file).unwrap() == before, "the copy was changed by reading it");
        let found = open(self.folder.path()).standings(&self.checkpoints).unwrap();
        assert_eq!(found, copy);
        found
    }
}

/// Rewrites the journal as somebody would who may write everywhere, knows the format and has no key that
/// checkpoints are signed with: changes events, and makes every hash fit again.
fn forge(folder: &Path, change: impl Fn(&mut Recorded)) {
    edit(folder, |write| {
        let mut table = write.open_table(EVENTS).unwrap();
        let rows: Vec<(u64, Vec<u8>)> = table
            .iter()
            .unwrap()
            .map(|row| row.map(|(key, value)| (key.value(), value.value().to_vec())).unwrap())
            .collect();
        let (mut before, mut heads) = (Digest::default(), HashMap::<SessionNo, Digest>::new());
        for (first, stored) in rows {
            let mut block = BlockBuilder::default();
            for recorded in Block::open(&stored).unwrap().events() {
                let mut recorded = recorded.unwrap();
                change(&mut recorded);
                recorded.previous = heads.get(&recorded.session).copied().unwrap_or_default();
                block.push(&mut recorded).unwrap();
                heads.insert(recorded.session, recorded.hash);
            }
            let stored = block.finish(&before);
            before = block_hash(&stored);
            table.insert(first, stored.as_slice()).unwrap();
        }
        // Shortcuts that tell of the old events go, as they may at any time.
        write.open_table(SNAPSHOTS).unwrap().retain(|_, _| false).unwrap();
    });
}

/// The second event of block 3 to 5: a span of session b with the content `second`.
fn is_second(recorded: &Recorded) -> bool {
    recorded.seq == 4
}

#[test]
fn what_was_signed_and_only_grew_is_extended() {
    let signed = signed();
    let extends = |events| Standing::Extends { events };
    let expected = [11, 10, 7, 5, 3, 0].map(extends);
    assert_eq!(signed.standings(), expected);
    assert_eq!(signed.faults(), [""; 0]);
    // The start of any journal is that of this one, too; another journal's end is not.
    let mut others = signed.checkpoints.clone();
    others[0] = Checkpoint { seq: 0, head: Digest::default(), ..others[0].clone() };
    others[1].journal = "f".repeat(32);
    // Between two ends there is no block to be signed.
    others[2].seq = 4;
    let found = open(signed.folder.path()).standings(&others[..3]).unwrap();
    let expected = [extends(12), Standing::OtherJournal, Standing::Rewritten { good: Some(0) }];
    assert_eq!(found, expected);
}

#[test]
fn the_forger_who_makes_every_hash_fit_is_found_by_checkpoints_alone() {
    let signed = signed();
    forge(signed.folder.path(), |recorded| {
        if is_second(recorded) {
            recorded.principal = "somebody-else".parse().unwrap();
        }
    });
    assert_eq!(signed.faults(), [""; 0], "nothing is wrong with it, taken by itself");
    let rewritten = Standing::Rewritten { good: Some(2) };
    let found = signed.standings();
    assert_eq!(found[..2], [Standing::Extends { events: 11 }, Standing::Extends { events: 10 }]);
    assert_eq!(found[2..], [(); 4].map(|()| rewritten.clone()));
    // With one checkpoint nothing is known of where it began.
    let found = open(signed.folder.path()).standings(&signed.checkpoints[4..5]).unwrap();
    assert_eq!(found, [Standing::Rewritten { good: None }]);
}

#[test]
fn a_forged_content_needs_a_forged_event_and_that_is_found() {
    let signed = signed();
    let mut pack = PackBuilder::default();
    [(3, &b"first"[..]), (4, b"seconD"), (5, b"")].iter().for_each(|(seq, p)| pack.push(*seq, p));
    let pack = pack.finish().1;
    edit(signed.folder.path(), |write| {
        drop(write.open_table(PAYLOADS).unwrap().insert(3, pack.as_slice()).unwrap());
    });
    // The content alone: its digest tells. A checkpoint does not read contents.
    let faults = signed.faults();
    assert!(matches!(faults.as_slice(), [one] if one.starts_with("b1: ")), "{faults:?}");
    assert_eq!(signed.standings()[5], Standing::Extends { events: 0 });
    // The content with its event: nothing tells but the checkpoints.
    forge(signed.folder.path(), |recorded| {
        if let (true, Event::SpanRecorded(span)) = (is_second(recorded), &mut recorded.event) {
            span.digest = Digest::of(b"seconD");
        }
    });
    assert_eq!(signed.faults(), [""; 0]);
    assert_eq!(signed.standings()[5], Standing::Rewritten { good: Some(2) });
}

/// Takes the last block away; with everything that leads to it, or alone.
fn drop_last_block(folder: &Path, carefully: bool) {
    edit(folder, |write| {
        assert!(write.open_table(EVENTS).unwrap().remove(10).unwrap().is_some());
        if carefully {
            write.open_table(PAYLOADS).unwrap().retain(|seq, _| seq < 10).unwrap();
            write.open_table(CHUNKS).unwrap().retain(|(seq, _), _| seq < 10).unwrap();
            write.open_table(SESSION_BLOCKS).unwrap().retain(|_, first| first < 10).unwrap();
        }
    });
}

#[test]
fn a_journal_that_lost_its_end_is_found_out_and_one_that_went_on_from_there_too() {
    let clumsy = signed();
    drop_last_block(clumsy.folder.path(), false);
    assert_eq!(clumsy.faults(), ["2 rows of the sessions' index lead nowhere"]);
    assert_eq!(clumsy.standings()[5], Standing::Truncated { ends: 9 });
    let careful = signed();
    drop_last_block(careful.folder.path(), true);
    assert_eq!(careful.faults(), [""; 0]);
    let found = careful.standings();
    assert_eq!(found[4..], [Standing::Extends { events: 0 }, Standing::Truncated { ends: 9 }]);
    // What is recorded from there on takes the place of what was taken away.
    let store = open(careful.folder.path());
    let mut journal = Journal::memory();
    ordinary(&mut journal);
    journal.states.clear();
    let drafts = (0..5).map(|n| crate::journal::opened(&format!("new-{n}"))).collect();
    let commit = journal.prepare_on(&store, drafts);
    store.append(commit.clone()).unwrap();
    store.close().unwrap();
    assert_eq!(careful.faults(), [""; 0]);
    let found = careful.standings();
    assert_eq!(
        found[4..],
        [Standing::Extends { events: 5 }, Standing::Rewritten { good: Some(9) }]
    );
}

#[test]
fn a_copy_taken_in_use_is_read_as_it_was_and_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::in_folder(folder.path());
    ordinary(&mut journal);
    let head = journal.store.head();
    let copy = folder.path().join("copy.redb");
    // The journal is open: the file says that it must be repaired.
    std::fs::copy(folder.path().join("journal.redb"), &copy).unwrap();
    let before = std::fs::read(&copy).unwrap();
    let id = journal.store.journal().to_owned();
    let checkpoint = Checkpoint { journal: id.clone(), seq: 12, head: head.block, at: head.at };
    let report = read_copy(&copy, &[checkpoint]).unwrap();
    assert_eq!((report.journal, report.seq, report.blocks, report.fault), (id, 12, 6, None));
    assert_eq!(report.standings, [Standing::Extends { events: 0 }]);
    assert!(std::fs::read(&copy).unwrap() == before, "it was changed");
    std::fs::write(&copy, b"no database").unwrap();
    assert!(matches!(read_copy(&copy, &[]), Err(StoreError::Damaged(_))));
    assert!(matches!(read_copy(&folder.path().join("none"), &[]), Err(StoreError::Io { .. })));
}

/// Flips a bit of a row's value, whichever table; says whether it is of the events.
fn flip(folder: &Path, row: prop::sample::Index, byte: prop::sample::Index, bit: u8) -> bool {
    let mut of_events = false;
    edit(folder, |write| {
        let mut events = write.open_table(EVENTS).unwrap();
        let mut payloads = write.open_table(PAYLOADS).unwrap();
        let mut chunks = write.open_table(CHUNKS).unwrap();
        let keys = |table: &redb::Table<'_, u64, &[u8]>| -> Vec<u64> {
            table.iter().unwrap().map(|row| row.unwrap().0.value()).collect()
        };
        let (blocks, packs) = (keys(&events), keys(&payloads));
        let parts: Vec<_> = chunks.iter().unwrap().map(|row| row.unwrap().0.value()).collect();
        assert_eq!((blocks.len(), packs.len() > 3, parts.len()), (6, true, 2));
        let at = row.index(blocks.len() + packs.len() + parts.len());
        let flipped = |mut value: Vec<u8>| {
            let at = byte.index(value.len());
            value[at] ^= 1 << bit;
            value
        };
        of_events = at < blocks.len();
        if of_events {
            let value = flipped(events.get(blocks[at]).unwrap().unwrap().value().to_vec());
            events.insert(blocks[at], value.as_slice()).unwrap();
        } else if let Some(pack) = packs.get(at - blocks.len()) {
            let value = flipped(payloads.get(pack).unwrap().unwrap().value().to_vec());
            payloads.insert(pack, value.as_slice()).unwrap();
        } else {
            let part = parts[at - blocks.len() - packs.len()];
            let value = flipped(chunks.get(part).unwrap().unwrap().value().to_vec());
            chunks.insert(part, value.as_slice()).unwrap();
        }
    });
    of_events
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_bit_flipped_in_an_event_or_a_payload_is_found(
        row in any::<prop::sample::Index>(),
        byte in any::<prop::sample::Index>(),
        bit in 0_u8..8,
    ) {
        let signed = signed();
        let of_events = flip(signed.folder.path(), row, byte, bit);
        let last = &signed.checkpoints[5..];
        let file = signed.folder.path().join("journal.redb");
        let copy = read_copy(&file, last).unwrap();
        // A checkpoint covers every event; contents only by the digests in them.
        let holds = copy.standings == [Standing::Extends { events: 0 }];
        prop_assert_eq!(holds, !of_events, "{:?}", copy);
        match Store::open(signed.folder.path(), &StoreOptions::default()) {
            // The last block says where the journal ends: damaged, it is not even opened.
            Err(StoreError::Damaged(_)) => prop_assert!(of_events),
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
            Ok(store) => {
                let report = store.verify(&VerifyOptions::default(), |_| {}).unwrap();
                prop_assert!(!report.faults.is_empty(), "verify saw nothing");
            }
        }
    }
}
