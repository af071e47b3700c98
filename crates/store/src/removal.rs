//! Removing payloads so that their bytes are nowhere in the journal's folder (I8).
//!
//! ```text
//! prepare_removal   rewrites packs without the payloads, under keys of their own     (any thread)
//! append            puts them in place, with the events that say so, and notes
//!                   which keys are to be destroyed                          (one transaction)
//! destroy_keys      first key file, second key file, then the notes go
//! ```
//!
//! Old pages of the database keep what they held, and nobody can read it any more. After a crash the
//! next open does the last line again, which changes nothing where it was done.

use std::collections::{BTreeMap, BTreeSet};

use lacuna_codec::{PackBuilder, PackHeader};
use lacuna_core::Digest;
use redb::{ReadOnlyTable, ReadableTable, WriteTransaction};

use crate::StoreError;
use crate::leaves::put;
use crate::open::{Store, defensively};
use crate::steps::step_taken;
use crate::tables::{CHUNKS, META, META_REWRITTEN, PAYLOADS, PUNCTURES};

/// Payloads to remove, prepared off the journal's threads: the packs rewritten without them.
///
/// It rests on the packs as they were. Whichever of them is changed before it is committed makes it
/// stale: it is then refused whole. One that is never committed costs a few numbers.
#[derive(Clone)]
pub struct Removal {
    taken: usize,
    removes: Vec<u64>,
    unparted: Vec<u64>,
    bytes: u64,
    packs: Vec<Rewrite>,
    chunks: Vec<(u64, u32, Was)>,
    punctures: BTreeSet<u64>,
    /// The number behind the last that a rewritten pack has.
    rewritten: u64,
}

/// A row of `payloads` that a removal replaces, or deletes.
#[derive(Clone)]
struct Rewrite {
    key: u64,
    was: Was,
    becomes: Option<(u64, Vec<u8>)>,
}

/// What tells a stored pack from every other that may stand in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Was(usize, Digest);

impl Was {
    fn of(stored: &[u8]) -> Self {
        // Of an encrypted pack the nonce is enough, which stands in front.
        let encrypted = PackHeader::read(stored).is_ok_and(|header| header.leaf().is_some());
        let telling = if encrypted { stored.get(..60).unwrap_or(stored) } else { stored };
        Self(stored.len(), Digest::of(telling))
    }
}

impl std::fmt::Debug for Removal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Removal")
            .field("taken", &self.taken)
            .field("removes", &self.removes.len())
            .field("unparted", &self.unparted)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl Removal {
    /// How many of the seqs asked for it has dealt with, from the first on. The others are for the next
    /// removal.
    pub fn taken(&self) -> usize {
        self.taken
    }

    /// The seqs whose payloads it removes. Of those taken, others were not stored any more.
    pub fn removes(&self) -> &[u64] {
        &self.removes
    }

    /// The seqs whose payloads stay: they are in damaged packs, which cannot be taken apart, together
    /// with others that were not asked for. Asked for all, such a pack is removed; but not one whose
    /// header is damaged as well, as neither what it held nor its key can be told.
    pub fn unparted(&self) -> &[u64] {
        &self.unparted
    }

    /// Stored bytes that it takes out or rewrites.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Stored bytes by which it makes the journal smaller.
    pub(crate) fn freed(&self) -> u64 {
        let becomes = self.packs.iter().filter_map(|pack| pack.becomes.as_ref());
        let becomes: u64 = becomes.map(|(_, stored)| stored.len() as u64).sum();
        self.bytes.saturating_sub(becomes)
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.packs.is_empty() && self.chunks.is_empty()
    }

    /// Puts it into a transaction. Checks everything before it changes anything.
    pub(crate) fn apply(&self, write: &WriteTransaction) -> Result<(), StoreError> {
        let mut packs = write.open_table(PAYLOADS)?;
        let mut chunks = write.open_table(CHUNKS)?;
        for Rewrite { key, was, .. } in &self.packs {
            if packs.get(key)?.is_none_or(|row| Was::of(row.value()) != *was) {
                return Err(StoreError::StaleRemoval { seq: *key });
            }
        }
        for (seq, part, was) in &self.chunks {
            if chunks.get((*seq, *part))?.is_none_or(|row| Was::of(row.value()) != *was) {
                return Err(StoreError::StaleRemoval { seq: *seq });
            }
        }
        for Rewrite { key, becomes, .. } in &self.packs {
            packs.remove(key)?;
            if let Some((base, stored)) = becomes {
                packs.insert(base, stored.as_slice())?;
            }
        }
        for (seq, part, _) in &self.chunks {
            chunks.remove((*seq, *part))?;
        }
        let mut punctures = write.open_table(PUNCTURES)?;
        for (first, last) in ranges(self.punctures.iter().map(|leaf| (*leaf, *leaf))) {
            punctures.insert(first, last)?;
        }
        if self.rewritten > 0 {
            let mut meta = write.open_table(META)?;
            let before = meta.get(META_REWRITTEN)?.and_then(|row| row.value().try_into().ok());
            let before = before.map_or(0, u64::from_le_bytes);
            put(&mut meta, META_REWRITTEN, before.max(self.rewritten))?;
        }
        Ok(())
    }
}

/// What destroying keys has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeysDestroyed {
    /// Keys destroyed.
    pub keys: u64,
    /// Nodes of the key tree that are kept for the rest, 41 bytes each in both key files.
    pub nodes: usize,
}

impl Store {
    /// Reads the packs that hold these payloads and rewrites them without them. Seqs ascend. Takes as
    /// many as fit into `budget` stored bytes, but those of one pack in any case, and says how many.
    ///
    /// Nothing of the journal changes. Once in a while, and the first time in a run, it reserves
    /// numbers for new keys, in a commit of its own: if that fails, see [`Store::append`].
    pub fn prepare_removal(&self, seqs: &[u64], budget: u64) -> Result<Removal, StoreError> {
        assert!(seqs.is_sorted_by(|a, b| a < b), "seqs to remove ascend");
        defensively(|| Preparation::new(self)?.prepare(seqs, budget))
    }

    /// Destroys the keys of what committed removals have taken out; returns once that is durable in
    /// both key files. After an error it can be called again; the next open does so.
    pub fn destroy_keys(&self) -> Result<KeysDestroyed, StoreError> {
        defensively(|| {
            let pending = self.pending_punctures()?;
            let ranges: Vec<_> = ranges(pending.iter().copied()).collect();
            if !ranges.is_empty() {
                self.ring.puncture(&ranges, || self.clear_punctures(&pending))?;
                step_taken("punctures-cleared");
            }
            let keys = ranges.iter().map(|(first, last)| last - first + 1).sum();
            Ok(KeysDestroyed { keys, nodes: self.ring.keys.tree().cover().len() })
        })
    }

    fn pending_punctures(&self) -> Result<Vec<(u64, u64)>, StoreError> {
        let punctures = self.db.begin_read()?.open_table(PUNCTURES)?;
        let row = |row: Result<(redb::AccessGuard<'_, u64>, redb::AccessGuard<'_, u64>), _>| {
            let (first, last) = row?;
            Ok((first.value(), last.value().max(first.value())))
        };
        punctures.iter()?.map(row).collect()
    }

    /// Deletes the notes of keys that are destroyed; others may have come meanwhile.
    fn clear_punctures(&self, destroyed: &[(u64, u64)]) -> Result<(), StoreError> {
        self.write(|write| {
            let mut punctures = write.open_table(PUNCTURES)?;
            for (first, _) in destroyed {
                punctures.remove(first)?;
            }
            Ok(())
        })
    }
}

/// Joins ascending ranges that touch or overlap.
fn ranges(pieces: impl Iterator<Item = (u64, u64)>) -> impl Iterator<Item = (u64, u64)> {
    let mut pieces = pieces.peekable();
    std::iter::from_fn(move || {
        let (first, mut last) = pieces.next()?;
        while let Some((_, further)) = pieces.next_if(|(next, _)| *next <= last.saturating_add(1)) {
            last = last.max(further);
        }
        Some((first, last))
    })
}

/// A removal in the making, at one commit.
struct Preparation<'a> {
    store: &'a Store,
    packs: ReadOnlyTable<u64, &'static [u8]>,
    chunks: ReadOnlyTable<(u64, u32), &'static [u8]>,
    removal: Removal,
}

impl<'a> Preparation<'a> {
    fn new(store: &'a Store) -> Result<Self, StoreError> {
        let read = store.db.begin_read()?;
        let (packs, chunks) = (read.open_table(PAYLOADS)?, read.open_table(CHUNKS)?);
        let removal = Removal {
            taken: 0,
            removes: Vec::new(),
            unparted: Vec::new(),
            bytes: 0,
            packs: Vec::new(),
            chunks: Vec::new(),
            punctures: BTreeSet::new(),
            rewritten: 0,
        };
        Ok(Self { store, packs, chunks, removal })
    }

    fn prepare(mut self, seqs: &[u64], budget: u64) -> Result<Removal, StoreError> {
        // Which payloads are asked for of each pack, by the key of its row.
        let mut asked: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for seq in seqs {
            let row = self.packs.range(..=*seq)?.next_back().transpose()?;
            let chunked = self.chunks.range((*seq, 0)..=(*seq, u32::MAX))?.next().is_some();
            let full = self.removal.bytes >= budget && self.removal.bytes > 0;
            match row {
                _ if chunked && full => break,
                _ if chunked => self.take_chunks(*seq)?,
                None => {}
                Some((key, value)) => {
                    let (key, stored) = (key.value(), value.value());
                    match PackHeader::read(stored) {
                        Ok(header) if !header.seqs().any(|held| held == *seq) => {}
                        // Neither what it holds nor its key can be told.
                        Err(_) => self.removal.unparted.push(*seq),
                        Ok(_) => {
                            if !asked.contains_key(&key) {
                                if full {
                                    break;
                                }
                                self.removal.bytes += stored.len() as u64;
                            }
                            asked.entry(key).or_default().push(*seq);
                        }
                    }
                }
            }
            self.removal.taken += 1;
        }
        for (key, asked) in asked {
            self.rewrite(key, &asked)?;
        }
        self.removal.removes.sort_unstable();
        self.removal.unparted.sort_unstable();
        Ok(self.removal)
    }

    fn take_chunks(&mut self, seq: u64) -> Result<(), StoreError> {
        let (mut rows, mut leaves, mut readable) = (Vec::new(), BTreeSet::new(), false);
        for row in self.chunks.range((seq, 0)..=(seq, u32::MAX))? {
            let (key, value) = row?;
            let stored = value.value();
            // All parts have one key, so one header that is sound is enough.
            if let Ok(header) = PackHeader::read(stored) {
                readable = true;
                leaves.extend(header.leaf());
            }
            self.removal.bytes += stored.len() as u64;
            rows.push((seq, key.value().1, Was::of(stored)));
        }
        if !readable {
            self.removal.unparted.push(seq);
            return Ok(());
        }
        self.removal.punctures.extend(leaves);
        self.removal.chunks.extend(rows);
        self.removal.removes.push(seq);
        Ok(())
    }

    fn rewrite(&mut self, key: u64, asked: &[u64]) -> Result<(), StoreError> {
        let row = self.packs.get(key)?;
        let row = row.ok_or_else(|| StoreError::Damaged(format!("pack {key} has gone")))?;
        let stored = row.value();
        let header = PackHeader::read(stored)?;
        let leaf = header.leaf();
        let stays = |seq: &u64| asked.binary_search(seq).is_err();
        let mut becomes = None;
        if header.seqs().any(|seq| stays(&seq)) {
            let pack = match self.store.ring.keys.open_pack(stored) {
                Ok(Some(pack)) => pack,
                // Its key is gone already, and with it everything that it held.
                Ok(None) => return Ok(()),
                Err(StoreError::Damaged(_)) => {
                    self.removal.unparted.extend(asked);
                    return Ok(());
                }
                Err(error) => return Err(error),
            };
            let mut left = PackBuilder::default();
            for seq in pack.seqs().filter(stays) {
                left.push(seq, pack.get(seq).expect("a pack holds what its directory says"));
            }
            let fresh = self.store.leaves(1)?.take();
            becomes = Some(self.store.ring.keys.seal(left, fresh)?);
            self.removal.rewritten = fresh + 1;
        }
        self.removal.packs.push(Rewrite { key, was: Was::of(stored), becomes });
        self.removal.punctures.extend(leaf);
        self.removal.removes.extend(asked);
        Ok(())
    }
}
