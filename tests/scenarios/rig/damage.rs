//! Changes to a journal's file behind the product's back, with the database's own library.

use std::path::Path;

use lacuna_codec::PackBuilder;
use lacuna_store::Keys;
use redb::{Database, ReadableTable as _, TableDefinition, WriteTransaction};

const META: TableDefinition<'static, &str, &[u8]> = TableDefinition::new("meta");
const PAYLOADS: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("payloads");

const EVENTS: TableDefinition<'static, u64, &[u8]> = TableDefinition::new("events");

fn edit(journal: &Path, edit: impl FnOnce(&WriteTransaction)) {
    let database = Database::open(journal.join("journal.redb")).unwrap();
    let write = database.begin_write().unwrap();
    edit(&write);
    write.commit().unwrap();
}

/// Flips one bit of the block of events that begins there.
pub(crate) fn flip_a_byte_of_events(journal: &Path, first: u64) {
    edit(journal, |write| {
        let mut events = write.open_table(EVENTS).unwrap();
        let mut block = events.get(first).unwrap().expect("a block begins there").value().to_vec();
        *block.last_mut().unwrap() ^= 1;
        events.insert(first, block.as_slice()).unwrap();
    });
}

/// Flips one bit at the end of the first pack of payloads: a pack is there, and cannot be opened.
pub(crate) fn flip_a_payload_byte(journal: &Path) {
    edit(journal, |write| {
        let mut packs = write.open_table(PAYLOADS).unwrap();
        let (seq, mut pack) = {
            let (seq, pack) = packs.first().unwrap().expect("a pack of payloads");
            (seq.value(), pack.value().to_vec())
        };
        *pack.last_mut().unwrap() ^= 1;
        packs.insert(seq, pack.as_slice()).unwrap();
    });
}

/// Flips one bit at the end of what was recorded last, and leaves everything around it whole.
pub(crate) fn flip_the_last_payload_byte(journal: &Path) {
    let keys = Keys::in_folder(journal).unwrap();
    edit(journal, |write| {
        let mut packs = write.open_table(PAYLOADS).unwrap();
        let (base, pack) = {
            let (base, stored) = packs.last().unwrap().expect("a pack of payloads");
            (base.value(), keys.open_pack(stored.value()).unwrap().expect("its key is there"))
        };
        let last = pack.seqs().last().unwrap();
        let mut changed = PackBuilder::default();
        for seq in pack.seqs() {
            let mut payload = pack.get(seq).unwrap().to_vec();
            if seq == last {
                *payload.last_mut().unwrap() ^= 1;
            }
            changed.push(seq, &payload);
        }
        packs.insert(base, changed.finish().1.as_slice()).unwrap();
    });
}

/// Flips one bit of the payload of the event at this position, and leaves everything around it whole.
pub(crate) fn flip_the_payload_at(journal: &Path, seq: u64) {
    let keys = Keys::in_folder(journal).unwrap();
    edit(journal, |write| {
        let mut packs = write.open_table(PAYLOADS).unwrap();
        let (base, pack) = {
            let row = packs.range(..=seq).unwrap().next_back().expect("a pack of payloads");
            let (base, stored) = row.unwrap();
            (base.value(), keys.open_pack(stored.value()).unwrap().expect("its key is there"))
        };
        let mut changed = PackBuilder::default();
        for held in pack.seqs() {
            let mut payload = pack.get(held).unwrap().to_vec();
            if held == seq {
                *payload.last_mut().unwrap() ^= 1;
            }
            changed.push(held, &payload);
        }
        assert!(pack.get(seq).is_some(), "the payload of {seq} is in no pack");
        packs.insert(base, changed.finish().1.as_slice()).unwrap();
    });
}

/// Makes the journal say that it has this format.
pub(crate) fn set_format(journal: &Path, format: u32) {
    edit(journal, |write| {
        let mut meta = write.open_table(META).unwrap();
        meta.insert("format", format.to_le_bytes().as_slice()).unwrap().expect("a format");
    });
}

/// Puts zeros into every copy of the block of events that begins there, wherever the file has one.
pub(crate) fn destroy_events(journal: &Path, first: u64) {
    let path = journal.join("journal.redb");
    let database = Database::open(&path).unwrap();
    let read = redb::ReadableDatabase::begin_read(&database).unwrap();
    let events = read.open_table(EVENTS).unwrap();
    let block = events.get(first).unwrap().expect("a block begins there").value().to_vec();
    drop((events, read, database));
    let mut file = std::fs::read(&path).unwrap();
    let places: Vec<usize> = memchr::memmem::find_iter(&file, &block).collect();
    places.iter().for_each(|at| file[*at..at + block.len()].fill(0));
    assert!(!places.is_empty(), "it is nowhere in the file");
    std::fs::write(&path, file).unwrap();
}
