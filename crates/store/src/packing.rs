//! Payloads on their way into a commit: gathered into packs, then sealed. Sealing is the dear part, so it
//! is apart from the transaction: whoever commits can have it done elsewhere, while others go on.
//!
//! The database gives a value of more than a page as many pages as the next power of two, so packs are
//! closed at a raw size that makes them fill just under one, as far as those before them tell.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lacuna_codec::{CompressedPack, PackBuilder};
use redb::WriteTransaction;

use crate::StoreError;
use crate::open::Store;
use crate::tables::{CHUNKS, PAYLOADS};

/// Payloads up to this size share packs; larger ones are cut into chunks of it.
const CHUNK: usize = (256 << 10) - (1 << 10);

/// Bytes of a page of the database, and what stands in it beside a value and its key.
const PAGE: usize = 4 << 10;
const AROUND: usize = 64;
/// The stored size that full packs are to come near to, and the least and the most raw bytes for that.
const FILL: usize = (30 << 10) + (1 << 9);
const LEAST: usize = 40 << 10;
const MOST: usize = 128 << 10;
/// Raw bytes from which on a pack tells something about others.
const TELLING: usize = 16 << 10;

/// The raw size at which packs are closed now. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Target(Arc<AtomicUsize>);

impl Target {
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicUsize::new(PackBuilder::TARGET)))
    }

    fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Learns from a pack that has become so large.
    fn learn(&self, raw: usize, stored: usize) {
        if raw >= TELLING {
            let told = FILL.saturating_mul(raw) / stored.max(1);
            let next = (7 * self.get() + told.clamp(LEAST, MOST)) / 8;
            self.0.store(next, Ordering::Relaxed);
        }
    }
}

/// Gathers payloads, by the seq of the event that records them, ascending.
#[derive(Debug)]
pub struct Packing {
    pack: PackBuilder,
    target: Target,
}

/// A pack that is full, or a payload with a pack for each of its chunks.
#[derive(Debug)]
pub enum Unsealed {
    /// Payloads that share a pack.
    Pack(PackBuilder),
    /// A large one, by the seq of its event.
    Large(u64, Arc<[u8]>),
}

/// The sealed payloads of one commit, to be stored with it.
#[derive(Debug, Clone, Default)]
pub struct Packs {
    packs: Vec<(u64, Vec<u8>)>,
    chunks: Vec<(u64, u32, Vec<u8>)>,
}

impl Packs {
    /// Its bytes.
    pub(crate) fn len(&self) -> usize {
        let packs = self.packs.iter().map(|(_, stored)| stored.len());
        packs.chain(self.chunks.iter().map(|(_, _, stored)| stored.len())).sum()
    }

    /// The packs, by the seq of their first payload.
    pub(crate) fn packs(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.packs.iter().map(|(base, stored)| (*base, stored.as_slice()))
    }

    /// The parts of large payloads.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = (u64, u32, &[u8])> {
        self.chunks.iter().map(|(seq, part, stored)| (*seq, *part, stored.as_slice()))
    }

    /// Such as they stand elsewhere.
    pub(crate) fn of(packs: &[(u64, &[u8])], chunks: &[(u64, u32, &[u8])]) -> Self {
        Self {
            packs: packs.iter().map(|&(base, stored)| (base, stored.to_vec())).collect(),
            chunks: chunks
                .iter()
                .map(|&(seq, part, stored)| (seq, part, stored.to_vec()))
                .collect(),
        }
    }
}

impl Packing {
    /// Takes a payload; gives back what is complete with it.
    pub fn push(&mut self, seq: u64, payload: &Arc<[u8]>) -> Option<Unsealed> {
        if payload.len() > CHUNK {
            return Some(Unsealed::Large(seq, Arc::clone(payload)));
        }
        let full = self.pack.is_full_for(payload.len(), self.target.get());
        let full = full.then(|| Unsealed::Pack(std::mem::take(&mut self.pack)));
        self.pack.push(seq, payload);
        full
    }

    /// An empty one, for what comes behind it.
    pub fn another(&self) -> Self {
        Self { pack: PackBuilder::default(), target: self.target.clone() }
    }

    /// The last pack, if there is anything in it.
    pub fn finish(self) -> Option<Unsealed> {
        (!self.pack.is_empty()).then_some(Unsealed::Pack(self.pack))
    }
}

impl Store {
    /// Gathers payloads for the next commit.
    pub fn packing(&self) -> Packing {
        Packing { pack: PackBuilder::default(), target: self.target.clone() }
    }

    /// Compresses and encrypts what belongs to the next commit. Each pack gets a key of its own; the chunks
    /// of one payload share one. Once in a while it reserves numbers for new keys, in a commit of its own:
    /// if that fails, see [`Store::append`].
    pub fn seal(&self, unsealed: Unsealed, packs: &mut Packs) -> Result<(), StoreError> {
        match unsealed {
            Unsealed::Pack(pack) => {
                let raw = pack.raw_len();
                let pack = pack.compress();
                self.target.learn(raw, pack.len());
                for pack in fitted(pack) {
                    let leaf = self.leaves(1)?.take();
                    packs.packs.push(self.ring.keys.seal_compressed(pack, leaf)?);
                }
            }
            Unsealed::Large(seq, payload) => {
                let leaf = self.leaves(1)?.take();
                for (part, chunk) in (0..).zip(payload.chunks(CHUNK)) {
                    let mut pack = PackBuilder::default();
                    pack.push(seq, chunk);
                    packs.chunks.push((seq, part, self.ring.keys.seal(pack, leaf)?.1));
                }
            }
        }
        Ok(())
    }

    /// Gathers and seals the payloads of one commit at once.
    pub fn pack(&self, payloads: &[(u64, Arc<[u8]>)]) -> Result<Packs, StoreError> {
        let (mut packing, mut packs) = (self.packing(), Packs::default());
        for (seq, payload) in payloads {
            if let Some(full) = packing.push(*seq, payload) {
                self.seal(full, &mut packs)?;
            }
        }
        if let Some(last) = packing.finish() {
            self.seal(last, &mut packs)?;
        }
        Ok(packs)
    }
}

/// Bytes that the database takes for a value. Small ones share pages.
fn taken(stored: usize) -> usize {
    let whole = stored + AROUND;
    if whole <= PAGE / 2 { whole } else { whole.div_ceil(PAGE).next_power_of_two() * PAGE }
}

/// Parts a pack for which the database would take much more than it has, if that makes it less.
fn fitted(pack: CompressedPack) -> Vec<CompressedPack> {
    let (stored, room) = (pack.len(), taken(pack.len()));
    // So much of it as should fill half of the room.
    let raw = pack.raw_len() * (room / 2 - room / 32) / stored;
    if room <= PAGE || (room - stored) * 4 < room {
        return vec![pack];
    }
    let Some(parts) = pack.parted(raw) else { return vec![pack] };
    let parts = parts.map(PackBuilder::compress);
    let smaller = parts.iter().map(|part| taken(part.len())).sum::<usize>() < room;
    if smaller { parts.into() } else { vec![pack] }
}

/// Stores what was sealed.
pub(crate) fn put(write: &WriteTransaction, packs: &Packs) -> Result<(), StoreError> {
    if !packs.packs.is_empty() {
        let mut table = write.open_table(PAYLOADS)?;
        for (base, stored) in &packs.packs {
            table.insert(base, stored.as_slice())?;
        }
    }
    if !packs.chunks.is_empty() {
        let mut table = write.open_table(CHUNKS)?;
        for (seq, part, stored) in &packs.chunks {
            table.insert((*seq, *part), stored.as_slice())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that cannot be compressed.
    fn noise(seed: u64, length: usize) -> Vec<u8> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut byte = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        };
        (0..length).map(|_| byte()).collect()
    }

    fn of_noise(count: u64, each: usize) -> CompressedPack {
        let mut pack = PackBuilder::default();
        (1..=count).for_each(|seq| pack.push(seq, &noise(seq, each)));
        pack.compress()
    }

    #[test]
    fn a_pack_that_would_waste_its_room_is_parted_and_others_are_left_whole() {
        // Nine halves of a KiB take two pages, of which they need little more than one.
        let parts = fitted(of_noise(9, 512));
        assert_eq!(parts.len(), 2);
        assert!(parts.iter().map(|part| taken(part.len())).sum::<usize>() < 2 * PAGE);
        assert_eq!(parts.iter().map(CompressedPack::raw_len).sum::<usize>(), 9 * 512);
        // Full enough; within one page; nothing to part.
        for (count, each) in [(13, 512), (6, 512), (1, 5_000)] {
            assert_eq!(fitted(of_noise(count, each)).len(), 1, "{count} of {each}");
        }
    }

    #[test]
    fn packs_are_closed_where_those_before_them_would_have_filled_their_room() {
        let target = Target::new();
        assert_eq!(target.get(), PackBuilder::TARGET);
        // Contents that shrink to a third, then some that do not shrink at all, then next to nothing.
        for (raw, stored, wanted) in
            [(90_000, 30_000, 3 * FILL), (90_000, 90_000, LEAST), (90_000, 900, MOST)]
        {
            (0..60).for_each(|_| target.learn(raw, stored));
            let got = target.get();
            assert!(got.abs_diff(wanted) <= wanted / 100, "{got} instead of {wanted}");
        }
        // A small one says nothing about others.
        let before = target.get();
        target.learn(TELLING - 1, TELLING);
        assert_eq!(target.get(), before);
    }
}
