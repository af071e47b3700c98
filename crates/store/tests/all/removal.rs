//! Removal: what is asked for goes, everything else stays byte for byte, and what cannot be done is
//! said.

use std::collections::BTreeSet;

use lacuna_core::{Event, SessionNo};
use lacuna_store::{
    KeysDestroyed, MemoryKeys, PayloadReader, Store, StoreError, StoreOptions, Stored,
    VerifyOptions,
};
use proptest::prelude::*;
use redb::{Database, TableDefinition};

use crate::journal::{Journal, noise, read, span};
use crate::shared::Shared;

const PAYLOADS: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("payloads");
const CHUNKS: TableDefinition<'static, (u64, u32), &[u8]> = TableDefinition::new("chunks");

/// A journal with small, middling and large payloads in several commits and packs: events 2 to 61.
/// Also the contents, by seq.
fn filled(mut journal: Journal) -> (Journal, Vec<(u64, Vec<u8>)>) {
    let session = journal.open("a");
    let mut contents = Vec::new();
    for commit in 0..6_u64 {
        let sizes = [10, 300, 0, 20_000, 300 << 10, 7, 40_000, 64, 900, 5];
        let payloads: Vec<_> = (0..)
            .zip(sizes)
            .map(|(n, size)| match n % 3 {
                0 => noise(100 * commit + n + 1, size),
                _ => format!("{commit} {n} ").repeat(size).into_bytes()[..size].to_vec(),
            })
            .collect();
        let drafts = (0..).zip(&payloads).map(|(n, p)| span(session, &format!("p{commit}-{n}"), p));
        let first = journal.commit(drafts.collect());
        contents.extend((first..).zip(payloads));
    }
    (journal, contents)
}

fn check(journal: &Journal, contents: &[(u64, Vec<u8>)], removed: &BTreeSet<u64>) {
    let mut reader = journal.store.payloads().unwrap();
    for (seq, content) in contents.iter().chain(contents.iter().rev()) {
        let found = read(&mut reader, &journal.events, *seq);
        match removed.contains(seq) {
            true => assert_eq!(found, Stored::Missing, "{seq}"),
            false => assert_eq!(found, Stored::Whole(content.as_slice().into()), "{seq}"),
        }
    }
    let report = journal.store.verify(&VerifyOptions::default(), |_| {}).unwrap();
    assert_eq!(report.faults, [], "what is gone is explained");
    assert_eq!(report.payloads as usize, contents.len() - removed.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_is_removed_is_missing_and_the_rest_is_as_it_was(
        rounds in prop::collection::vec(prop::collection::btree_set(2..=61_u64, 1..25), 1..4),
        budget in prop_oneof![Just(1), 1_000..200_000_u64, Just(u64::MAX)],
        destroy in any::<bool>(),
    ) {
        let backend = Shared::default();
        let keys = MemoryKeys::default();
        let options = StoreOptions::default();
        let open = || Store::open_backends_with(backend.clone(), backend.log(), &keys, &options).unwrap();
        let (mut journal, contents) = filled(Journal::on(open()));
        let mut removed = BTreeSet::new();
        for round in &rounds {
            let seqs: Vec<u64> = round.iter().copied().collect();
            let mut left = seqs.as_slice();
            while !left.is_empty() {
                let removal = journal.store.prepare_removal(left, budget).unwrap();
                prop_assert!(removal.taken() > 0, "each makes some way");
                prop_assert_eq!(removal.unparted(), &[] as &[u64]);
                let (taken, rest) = left.split_at(removal.taken());
                let expected: Vec<_> =
                    taken.iter().copied().filter(|seq| !removed.contains(seq)).collect();
                prop_assert_eq!(removal.removes(), expected);
                prop_assert_eq!(removal.is_empty(), removal.removes().is_empty());
                removed.extend(taken);
                left = rest;
                if !removal.is_empty() {
                    journal.commit_removal(removal);
                }
                if destroy {
                    journal.store.destroy_keys().unwrap();
                }
            }
            check(&journal, &contents, &removed);
        }
        journal.store.destroy_keys().unwrap();
        check(&journal, &contents, &removed);
        // Also after a restart, and what comes then goes on as before.
        let Journal { store, states, events } = journal;
        drop(store);
        let mut journal = Journal { store: open(), states, events };
        check(&journal, &contents, &removed);
        let seq = journal.commit(vec![span(SessionNo(1), "later", b"later")]);
        prop_assert_eq!(journal.read(seq), Stored::Whole(b"later"[..].into()));
    }
}

#[test]
fn destroying_keys_says_what_it_has_done_and_does_it_once() {
    let (mut journal, _) = filled(Journal::memory());
    assert_eq!(journal.store.destroy_keys().unwrap(), KeysDestroyed { keys: 0, nodes: 1 });
    // One of several in a pack, and one in chunks: two keys.
    journal.remove(&[2, 6]);
    let done = journal.store.destroy_keys().unwrap();
    assert_eq!(done.keys, 2);
    assert!((60..=128).contains(&done.nodes), "{done:?}");
    assert_eq!(journal.store.destroy_keys().unwrap(), KeysDestroyed { keys: 0, ..done });
    // What goes altogether takes no room.
    let all: Vec<u64> = (3..=61).filter(|seq| *seq != 6).collect();
    let packs = journal.store.stats().unwrap().packs;
    assert!(packs >= 6, "a commit has one at least");
    journal.remove(&all);
    let done = journal.store.destroy_keys().unwrap();
    // The packs, of which one was rewritten, and five payloads in chunks.
    assert_eq!(done.keys, packs + 5);
    assert!(done.nodes <= 64, "{done:?}");
    assert_eq!(journal.store.stats().unwrap().packs, 0);
}

#[test]
fn a_stale_removal_is_refused_and_nothing_is_written() {
    let (mut journal, contents) = filled(Journal::memory());
    for (seqs, overlapping) in [([2, 3], 3), ([6, 7], 6)] {
        let stale = journal.store.prepare_removal(&seqs, u64::MAX).unwrap();
        journal.remove(&[overlapping]);
        let (head, states) = (journal.store.head(), journal.states.clone());
        let events = journal.events.len();
        let payload = span(SessionNo(1), "beside", b"beside");
        let mut commit = journal.prepare(vec![payload]);
        commit.removal = Some(stale);
        match journal.store.append(commit.clone()) {
            Err(StoreError::StaleRemoval { seq }) => assert!(seqs.contains(&seq) || seq == 2),
            other => panic!("{other:?}"),
        }
        assert_eq!(journal.store.head(), head);
        (journal.states, journal.events) = (states, journal.events[..events].to_vec());
    }
    // The store goes on, and a new preparation goes through.
    journal.remove(&[2]);
    journal.remove(&[7]);
    check(&journal, &contents, &[2, 3, 6, 7].into());
}

#[test]
fn a_removal_may_come_alone_or_twice_or_of_nothing() {
    let (mut journal, contents) = filled(Journal::memory());
    // Of payloads that never were, or are gone: nothing to do.
    journal.remove(&[5]);
    let nothing = journal.store.prepare_removal(&[1, 5, 62, 99, u64::MAX], u64::MAX).unwrap();
    assert_eq!((nothing.taken(), nothing.removes(), nothing.bytes()), (5, &[][..], 0));
    assert!(nothing.is_empty());
    let none = journal.store.prepare_removal(&[], 0).unwrap();
    assert_eq!(none.taken(), 0);
    // Two at a time that do not touch the same packs.
    let (first, second) = (
        journal.store.prepare_removal(&[12], u64::MAX).unwrap(),
        journal.store.prepare_removal(&[22, 26], u64::MAX).unwrap(),
    );
    journal.commit_removal(second);
    journal.commit_removal(first);
    check(&journal, &contents, &[5, 12, 22, 26].into());
}

#[test]
fn a_budget_cuts_a_removal_between_packs() {
    let (journal, _) = filled(Journal::memory());
    let all: Vec<u64> = (2..=61).collect();
    let whole = journal.store.prepare_removal(&all, u64::MAX).unwrap();
    assert_eq!((whole.taken(), whole.removes().len()), (60, 60));
    assert!(whole.bytes() > 300 << 10, "{whole:?}");
    let little = journal.store.prepare_removal(&all, 1).unwrap();
    // The first pack holds events 2 to 5 and what follows the chunks of event 6, up to its size.
    assert_eq!(little.removes(), [2, 3, 4, 5]);
    assert!(little.bytes() < whole.bytes() / 6);
}

/// A journal in memory, closed, to be damaged in its rows.
fn damaged(edit: impl FnOnce(&redb::WriteTransaction)) -> (Journal, Vec<(u64, Vec<u8>)>) {
    let backend = Shared::default();
    let keys = MemoryKeys::default();
    let options = StoreOptions::default();
    let open =
        || Store::open_backends_with(backend.clone(), backend.log(), &keys, &options).unwrap();
    let (journal, contents) = filled(Journal::on(open()));
    let Journal { store, states, events } = journal;
    store.close().unwrap();
    let db = Database::builder().create_with_backend(backend.clone()).unwrap();
    let write = db.begin_write().unwrap();
    edit(&write);
    write.commit().unwrap();
    drop(db);
    (Journal { store: open(), states, events }, contents)
}

fn flip<K: redb::Key + 'static>(
    write: &redb::WriteTransaction,
    table: TableDefinition<'static, K, &[u8]>,
    key: K::SelfType<'_>,
    at: impl Fn(usize) -> usize,
) {
    let mut table = write.open_table(table).unwrap();
    let mut stored = redb::ReadableTable::get(&table, &key).unwrap().unwrap().value().to_vec();
    let at = at(stored.len());
    stored[at] ^= 1;
    table.insert(key, stored.as_slice()).unwrap();
}

#[test]
fn of_a_damaged_pack_all_goes_or_nothing() {
    // In the body: header and directory can still be believed.
    let (mut journal, _) = damaged(|write| flip(write, PAYLOADS, 2, |len| len - 20));
    let some = journal.store.prepare_removal(&[2, 4, 12], u64::MAX).unwrap();
    assert_eq!((some.removes(), some.unparted()), (&[12][..], &[2, 4][..]));
    journal.commit_removal(some);
    assert!(matches!(journal.read(2), Stored::Damaged(_)), "it stays as it is");
    assert!(matches!(journal.read(3), Stored::Damaged(_)));
    assert_eq!(journal.read(12), Stored::Missing, "its header says that it never held this one");
    let held: Vec<u64> =
        (2..=61).filter(|seq| matches!(journal.read(*seq), Stored::Damaged(_))).collect();
    assert_eq!(held[..4], [2, 3, 4, 5]);
    let all = journal.store.prepare_removal(&held, u64::MAX).unwrap();
    assert_eq!((all.removes(), all.unparted()), (held.as_slice(), &[][..]));
    journal.commit_removal(all);
    assert!(
        journal.store.destroy_keys().unwrap().keys >= 2,
        "the damaged pack's key is among them"
    );
    held.iter().for_each(|seq| assert_eq!(journal.read(*seq), Stored::Missing));
}

#[test]
fn a_pack_whose_header_is_damaged_stays() {
    for at in [0, 8, 22, 30, 53, 61] {
        let (journal, _) = damaged(|write| flip(write, PAYLOADS, 2, |_| at));
        let removal = journal.store.prepare_removal(&[2, 3, 6], u64::MAX).unwrap();
        assert_eq!((removal.removes(), removal.unparted()), (&[6][..], &[2, 3][..]), "byte {at}");
    }
}

#[test]
fn damaged_chunks_go_by_whichever_of_them_has_a_sound_header() {
    let (mut journal, _) = damaged(|write| flip(write, CHUNKS, (6, 0), |_| 22));
    journal.remove(&[6]);
    assert_eq!(journal.store.destroy_keys().unwrap().keys, 1);
    assert_eq!(journal.read(6), Stored::Missing);
    let (journal, _) = damaged(|write| {
        flip(write, CHUNKS, (6, 0), |_| 22);
        flip(write, CHUNKS, (6, 1), |_| 22);
    });
    let removal = journal.store.prepare_removal(&[6], u64::MAX).unwrap();
    assert_eq!((removal.removes(), removal.unparted()), (&[][..], &[6][..]));
}

#[test]
fn a_reader_from_before_a_removal_finds_what_was_kept() {
    let (mut journal, contents) = filled(Journal::memory());
    let mut before = journal.store.payloads().unwrap();
    let mut idle = journal.store.payloads().unwrap();
    let whole = |seq: u64| Stored::Whole(contents[seq as usize - 2].1.as_slice().into());
    let read =
        |reader: &mut PayloadReader, journal: &Journal, seq| read(reader, &journal.events, seq);
    assert_eq!(read(&mut before, &journal, 12), whole(12));
    journal.remove(&[2, 6]);
    // Until the keys are destroyed it sees the commit that it was made at.
    assert_eq!(read(&mut before, &journal, 2), whole(2));
    assert_eq!(read(&mut before, &journal, 6), whole(6));
    assert_eq!(read(&mut before, &journal, 12), whole(12));
    journal.store.destroy_keys().unwrap();
    for reader in [&mut before, &mut idle] {
        // Missing, not damaged; and what was kept is found where it is now.
        assert_eq!(read(reader, &journal, 6), Stored::Missing);
        assert_eq!(read(reader, &journal, 3), whole(3));
        assert_eq!(read(reader, &journal, 2), Stored::Missing);
    }
}

#[test]
fn a_loss_without_an_event_is_a_fault_also_when_its_key_is_gone() {
    let (mut journal, _) = filled(Journal::memory());
    let removal = journal.store.prepare_removal(&[2, 6], u64::MAX).unwrap();
    let Event::SpanRecorded(e) = &journal.events[1].event else { panic!() };
    let name = e.span.clone();
    // Only one of them is explained.
    let drafts = vec![journal.lost(6)];
    let mut commit = journal.prepare(drafts);
    commit.removal = Some(removal);
    journal.store.append(commit.clone()).unwrap();
    journal.store.destroy_keys().unwrap();
    let report = journal.store.verify(&VerifyOptions::default(), |_| {}).unwrap();
    let faults: Vec<_> = report.faults.iter().map(|fault| fault.what.as_str()).collect();
    assert_eq!(faults, [format!("{name}: its payload is missing, and no event says so")]);
}
