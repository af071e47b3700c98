//! Payloads on their way into a commit: gathered into packs, then sealed. Sealing is the dear part, so it
//! is apart from the transaction: whoever commits can have it done elsewhere, while others go on.

use std::sync::Arc;

use lacuna_codec::PackBuilder;
use redb::WriteTransaction;

use crate::StoreError;
use crate::open::Store;
use crate::tables::{CHUNKS, PAYLOADS};

/// Payloads up to this size share packs; larger ones are cut into chunks of it.
const CHUNK: usize = (256 << 10) - (1 << 10);

/// Gathers payloads, by the seq of the event that records them, ascending.
#[derive(Debug, Default)]
pub struct Packing {
    pack: PackBuilder,
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
#[derive(Debug, Default)]
pub struct Packs {
    packs: Vec<(u64, Vec<u8>)>,
    chunks: Vec<(u64, u32, Vec<u8>)>,
}

impl Packing {
    /// Takes a payload; gives back what is complete with it.
    pub fn push(&mut self, seq: u64, payload: &Arc<[u8]>) -> Option<Unsealed> {
        if payload.len() > CHUNK {
            return Some(Unsealed::Large(seq, Arc::clone(payload)));
        }
        let full = self.pack.is_full_for(payload.len());
        let full = full.then(|| Unsealed::Pack(std::mem::take(&mut self.pack)));
        self.pack.push(seq, payload);
        full
    }

    /// The last pack, if there is anything in it.
    pub fn finish(self) -> Option<Unsealed> {
        (!self.pack.is_empty()).then_some(Unsealed::Pack(self.pack))
    }
}

impl Store {
    /// Compresses and encrypts what belongs to the next commit. Each pack gets a key of its own; the chunks
    /// of one payload share one. Once in a while it reserves numbers for new keys, in a commit of its own:
    /// if that fails, see [`Store::append`].
    pub fn seal(&self, unsealed: Unsealed, packs: &mut Packs) -> Result<(), StoreError> {
        let leaf = self.leaves(1)?.take();
        let keys = &self.ring.keys;
        match unsealed {
            Unsealed::Pack(pack) => packs.packs.push(keys.seal(pack, leaf)?),
            Unsealed::Large(seq, payload) => {
                for (part, chunk) in (0..).zip(payload.chunks(CHUNK)) {
                    let mut pack = PackBuilder::default();
                    pack.push(seq, chunk);
                    packs.chunks.push((seq, part, keys.seal(pack, leaf)?.1));
                }
            }
        }
        Ok(())
    }

    /// Gathers and seals the payloads of one commit at once.
    pub fn pack(&self, payloads: &[(u64, Arc<[u8]>)]) -> Result<Packs, StoreError> {
        let (mut packing, mut packs) = (Packing::default(), Packs::default());
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
