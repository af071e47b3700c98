//! The numbers of keys: each is given once, whatever a run ends with; and none that is in use is ever
//! destroyed.

use lacuna_codec::PackHeader;
use lacuna_core::SessionNo;
use lacuna_store::{MemoryKeys, Store, StoreOptions, Stored};
use redb::{Database, ReadableTable, TableDefinition};

use crate::journal::{Journal, noise, span};
use crate::shared::Shared;

const PAYLOADS: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("payloads");
const RESERVE: u64 = 1 << 16;

#[derive(Default)]
struct Disk(Shared, MemoryKeys);

impl Disk {
    fn store(&self) -> Store {
        Store::open_backends_with(self.0.clone(), self.0.log(), &self.1, &StoreOptions::default())
            .unwrap()
    }

    fn edit<T>(&self, edit: impl FnOnce(&mut redb::Table<'_, u64, &'static [u8]>) -> T) -> T {
        let db = Database::builder().create_with_backend(self.0.clone()).unwrap();
        let write = db.begin_write().unwrap();
        let result = edit(&mut write.open_table(PAYLOADS).unwrap());
        write.commit().unwrap();
        result
    }

    /// The numbers that stand in the packs, in the order of their rows.
    fn leaves(&self) -> Vec<u64> {
        self.edit(|table| {
            let rows = table.iter().unwrap().map(|row| row.unwrap().1.value().to_vec());
            rows.map(|stored| PackHeader::read(&stored).unwrap().leaf().unwrap()).collect()
        })
    }
}

/// Commits one pack and gives the journal on.
fn one_more(mut journal: Journal, n: u64) -> Journal {
    journal.commit(vec![span(SessionNo(1), &format!("p{n}"), &noise(n, 100))]);
    journal
}

fn whole(n: u64) -> Stored {
    Stored::Whole(noise(n, 100).into())
}

#[test]
fn a_clean_stop_leaves_no_gap_and_any_other_no_number_that_is_given_again() {
    let disk = Disk::default();
    let mut journal = Journal::on(disk.store());
    journal.open("a");
    let mut journal = one_more(one_more(journal, 1), 2);
    // Closed; with a checkpoint as the daemon ends with; dropped as a crash does.
    for (n, stop) in (3..).zip(["close", "checkpoint", "drop", "close", "drop", "drop"]) {
        let Journal { store, states, events } = journal;
        match stop {
            "close" => store.close().unwrap(),
            "checkpoint" => {
                store.checkpoint().unwrap();
                drop(store);
            }
            _ => drop(store),
        }
        journal = one_more(Journal { store: disk.store(), states, events }, n);
    }
    for seq in 2..=9 {
        assert_eq!(journal.read(seq), whole(seq - 1));
    }
    drop(journal);
    let crashed = |times: u64, behind: u64| times * RESERVE + behind;
    assert_eq!(
        disk.leaves(),
        [
            0,
            1,
            2,
            3,
            // From 4 on, and from the next begun reserve on.
            3 + crashed(1, 0),
            4 + crashed(1, 0),
            4 + crashed(2, 0),
            4 + crashed(3, 0),
        ]
    );
}

#[test]
fn numbers_go_on_behind_what_is_rewritten() {
    let disk = Disk::default();
    let mut journal = Journal::on(disk.store());
    journal.open("a");
    journal.commit(vec![span(SessionNo(1), "x", b"x"), span(SessionNo(1), "y", b"y")]);
    journal.commit(vec![span(SessionNo(1), "w", b"w")]);
    journal.remove(&[2]);
    let Journal { store, states, events } = journal;
    // As a crash right behind the removal: the number of what was rewritten is in use.
    drop(store);
    let mut journal = Journal { store: disk.store(), states, events };
    assert_eq!(journal.read(3), Stored::Whole(b"y"[..].into()));
    let seq = journal.commit(vec![span(SessionNo(1), "z", b"z")]);
    assert_eq!(journal.read(seq), Stored::Whole(b"z"[..].into()));
    drop(journal);
    assert_eq!(disk.leaves(), [2, 1, RESERVE]);
}

/// What stands in the last pack says which numbers are in use: if it could lie, it would cost others
/// their keys.
#[test]
fn damage_of_the_last_pack_destroys_no_key_of_another() {
    for at in 0..90 {
        let disk = Disk::default();
        let mut journal = Journal::on(disk.store());
        journal.open("a");
        let journal = one_more(one_more(one_more(journal, 1), 2), 3);
        let Journal { store, states, events } = journal;
        drop(store);
        disk.edit(|table| {
            let mut stored = table.get(4).unwrap().unwrap().value().to_vec();
            stored[at] ^= 1 << (at % 8);
            table.insert(4, stored.as_slice()).unwrap();
        });
        // Twice, as what is done at the first open must not mislead the second one.
        for _ in 0..2 {
            let journal =
                Journal { store: disk.store(), states: states.clone(), events: events.clone() };
            assert_eq!((journal.read(2), journal.read(3)), (whole(1), whole(2)), "byte {at}");
            assert!(matches!(journal.read(4), Stored::Damaged(_)), "byte {at}");
            drop(journal);
        }
    }
}

#[test]
fn an_older_copy_of_the_file_beside_newer_keys_goes_on() {
    let disk = Disk::default();
    let mut journal = Journal::on(disk.store());
    journal.open("a");
    let journal = one_more(journal, 1);
    let Journal { store, states, events } = journal;
    store.close().unwrap();
    let older = disk.0.copy();
    let mut journal =
        Journal { store: disk.store(), states: states.clone(), events: events.clone() };
    journal = one_more(journal, 2);
    journal.remove(&[3]);
    journal.store.destroy_keys().unwrap();
    drop(journal);
    let disk = Disk(older, disk.1);
    let journal = one_more(Journal { store: disk.store(), states, events }, 4);
    assert_eq!((journal.read(2), journal.read(3)), (whole(1), whole(4)));
    drop(journal);
    assert_eq!(disk.leaves(), [0, 2], "the number whose key is gone is passed over");
}
