//! Rows out of a file that nothing needs to be right in: whatever verifies by itself is found, wherever it
//! stands.
//!
//! A leaf of the database begins at a page. In front stand its kind and its number of rows, 2 bytes each;
//! then where each value ends, counted from the leaf's begin (u32); then the keys, all of one length; then
//! the values. Blocks and packs begin with their magic and have a check, so that all which is believed of a
//! leaf are the ends; the number of rows follows from where the first value begins, too. (redb 4, file format 4;
//! `schemas/storage.md` describes the rest.)

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use lacuna_codec::{Block, LogHeader, PackHeader};
use memchr::memmem;

/// Leaves begin at multiples of this, and so do records of the log.
const PAGE: usize = 4_096;
/// Read at once.
const WINDOW: usize = 1 << 20;
/// Lengths of the keys of `chunks`, and of `events` and `payloads`, whose rows are taken as they come.
const KEYS: [usize; 2] = [12, 8];
/// What stands in front of the ends.
const FRONT: usize = 4;
/// How often the file may be read over for what is no value.
const TIMES: u64 = 16;

/// Something that was found, whole as far as it can tell by itself.
#[derive(Debug)]
pub(crate) enum Carved<'a> {
    Block(Block, &'a [u8]),
    Pack(PackHeader<'a>, &'a [u8]),
    /// One part of a large payload, by its number.
    Chunk(PackHeader<'a>, u32, &'a [u8]),
}

/// Finds rows of the database's file. `take` gets each with the place of its first byte.
///
/// What is none is tried only until many times the file was read for such: a file whose pages claim whatever they
/// like takes no longer than that.
pub(crate) fn database(
    file: &File,
    length: u64,
    mut take: impl FnMut(u64, Carved<'_>),
    mut progress: impl FnMut(u64),
) -> std::io::Result<()> {
    let (mut window, mut begin) = (Vec::new(), 0);
    let mut at = 0;
    let mut budget = length.saturating_mul(TIMES);
    while at + PAGE as u64 <= length {
        if at < begin || at + PAGE as u64 > begin + window.len() as u64 {
            window.resize(WINDOW.min(usize::try_from(length - at).unwrap_or(WINDOW)), 0);
            file.read_exact_at(&mut window, at)?;
            begin = at;
            progress(at);
        }
        let inside = usize::try_from(at - begin).unwrap_or(usize::MAX);
        let page: [u8; PAGE] = window[inside..inside + PAGE].try_into().expect("a page of it");
        let behind = leaf(file, length, at, &page, &mut budget, &mut take)?;
        // What stands within a value is that value's, whatever it looks like.
        at = behind.max(at + 1).next_multiple_of(PAGE as u64);
    }
    Ok(())
}

/// Takes the rows of a leaf that begins here, if one does; says where the last of them ends.
fn leaf(
    file: &File,
    length: u64,
    at: u64,
    page: &[u8; PAGE],
    budget: &mut u64,
    take: &mut impl FnMut(u64, Carved<'_>),
) -> std::io::Result<u64> {
    let number = |at: usize| u32::from_le_bytes(page[at..at + 4].try_into().expect("4 bytes"));
    let said = usize::from(u16::from_le_bytes([page[2], page[3]]));
    let first = ["LCB1", "LCP1", "LCP2"].iter();
    let first = first.filter_map(|magic| memmem::find(&page[FRONT..], magic.as_bytes())).min();
    let mut behind = 0;
    for key in KEYS {
        let each = 4 + key;
        // The number as said, and as it must be for the first value to begin where one does.
        let shown = first.filter(|first| first % each == 0).map(|first| first / each);
        for rows in [Some(said), shown.filter(|rows| *rows != said)].into_iter().flatten() {
            let values = FRONT + rows * each;
            if rows == 0 || values > PAGE {
                continue;
            }
            let mut from = values;
            for row in 0..rows {
                let to = number(FRONT + 4 * row) as usize;
                let begin = std::mem::replace(&mut from, to);
                if to <= begin || at.saturating_add(to as u64) > length {
                    continue;
                }
                let place = at + begin as u64;
                let mut stored = vec![0; 4];
                file.read_exact_at(&mut stored, place)?;
                if !matches!(stored.as_slice(), b"LCB1" | b"LCP1" | b"LCP2") {
                    continue;
                }
                let size = to - begin;
                let Some(left) = budget.checked_sub(size as u64) else { continue };
                stored.resize(size, 0);
                file.read_exact_at(&mut stored, place)?;
                let keys = FRONT + 4 * rows + key * row;
                let found = value(&stored, &page[keys..keys + key]);
                if found.is_none() {
                    *budget = left;
                }
                if let Some(found) = found {
                    // What a block, or a pack in clear, holds may look like anything. One that is encrypted
                    // looks like nothing, and that its front is whole says nothing of what lies behind.
                    let clear = match &found {
                        Carved::Block(..) => true,
                        Carved::Pack(pack, _) | Carved::Chunk(pack, ..) => pack.leaf().is_none(),
                    };
                    if clear {
                        behind = behind.max(at + to as u64);
                    }
                    take(place, found);
                }
            }
        }
    }
    Ok(behind)
}

/// What a value is, if it is one. Its key counts only where nothing else tells the same.
fn value<'a>(stored: &'a [u8], key: &[u8]) -> Option<Carved<'a>> {
    if stored.starts_with(b"LCB1") {
        return Block::open(stored).ok().map(|block| Carved::Block(block, stored));
    }
    let pack = PackHeader::read(stored).ok()?;
    let (seq, part) = key.split_at(8);
    match <[u8; 4]>::try_from(part) {
        Err(_) => Some(Carved::Pack(pack, stored)),
        Ok(part) => {
            let ours = pack.seqs().next()?.to_le_bytes() == *seq;
            ours.then(|| Carved::Chunk(pack, u32::from_le_bytes(part), stored))
        }
    }
}

/// Finds rows in the records of the log. What a record holds is in front of nothing else.
pub(crate) fn log(
    file: &File,
    length: u64,
    journal: &str,
    mut take: impl FnMut(u64, Carved<'_>),
) -> std::io::Result<()> {
    let (mut at, mut body) = (0, Vec::new());
    while at + LogHeader::SIZE as u64 <= length {
        let mut header = [0; LogHeader::SIZE];
        file.read_exact_at(&mut header, at)?;
        let (mut step, inside) = (1, at + LogHeader::SIZE as u64);
        if let Some(header) = LogHeader::read(&header, journal)
            && header.length as u64 <= length - inside
        {
            body.resize(header.length, 0);
            file.read_exact_at(&mut body, inside)?;
            if let Ok(record) = header.open(&body) {
                let place =
                    |part: &[u8]| inside + (part.as_ptr().addr() - body.as_ptr().addr()) as u64;
                if let Ok(block) = Block::open(record.block) {
                    take(place(record.block), Carved::Block(block, record.block));
                }
                for &(_, pack) in &record.packs {
                    if let Ok(header) = PackHeader::read(pack) {
                        take(place(pack), Carved::Pack(header, pack));
                    }
                }
                for &(_, part, pack) in &record.chunks {
                    if let Ok(header) = PackHeader::read(pack) {
                        take(place(pack), Carved::Chunk(header, part, pack));
                    }
                }
                step = LogHeader::SIZE + header.length;
            }
        }
        at += (step as u64).next_multiple_of(PAGE as u64);
    }
    Ok(())
}
