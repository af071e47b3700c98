//! Copying every row of a journal into a new file, in which every payload is encrypted.

use lacuna_codec::{PackBuilder, PackHeader};
use redb::{Builder, Database, Key, ReadTransaction, ReadableTable, TableDefinition, Value};

use crate::StoreError;
use crate::folder::Folder;
use crate::keys::Keys;
use crate::leaves::{number, put};
use crate::tables::{
    CHUNKS, EVENTS, FORKS, FORMAT, LEDGER, META, META_FORMAT, META_LEAVES, META_LOG,
    META_REWRITTEN, PAYLOADS, PUNCTURES, RESIDUES, SESSION_BLOCKS, SESSIONS, SNAPSHOTS,
};

/// Bytes copied in one transaction: bounds the memory that a copy takes.
const BATCH_BYTES: usize = 16 << 20;

/// Pages of the copy kept in memory: it is written once, from front to back.
const CACHE_BYTES: usize = 16 << 20;

/// A copy in the making, under [`Folder::copying`].
pub(crate) struct Copying<'a> {
    from: &'a ReadTransaction,
    to: Database,
    keys: &'a Keys,
    /// The number behind the last pack that is encrypted here, and behind all that the original may
    /// give.
    leaf: u64,
    rows: u64,
    bytes: u64,
}

impl<'a> Copying<'a> {
    /// Begins a copy, in place of what an earlier attempt has left behind.
    pub(crate) fn begin(
        from: &'a ReadTransaction,
        folder: &Folder,
        keys: &'a Keys,
    ) -> Result<Self, StoreError> {
        let partial = folder.copying();
        if partial.exists() {
            let doing = || format!("removing {}", partial.display());
            std::fs::remove_file(&partial)
                .map_err(|source| StoreError::Io { doing: doing(), source })?;
        }
        let to = Builder::new()
            .set_cache_size(CACHE_BYTES)
            .create(&partial)
            .map_err(|error| StoreError::Database(error.into()))?;
        Ok(Self { from, to, keys, leaf: number(from, META_LEAVES)?, rows: 0, bytes: 0 })
    }

    /// Copies all tables. `progress` gets the bytes of values copied.
    pub(crate) fn tables(&mut self, progress: &mut impl FnMut(u64)) -> Result<(), StoreError> {
        self.table(META, progress)?;
        self.table(SESSIONS, progress)?;
        self.table(SESSION_BLOCKS, progress)?;
        self.packs(PAYLOADS, |seq| seq, progress)?;
        self.packs(CHUNKS, |(seq, _)| seq, progress)?;
        self.table(SNAPSHOTS, progress)?;
        // The first format has none.
        if self.from.open_table(PUNCTURES).is_ok() {
            self.table(PUNCTURES, progress)?;
        }
        if self.from.open_table(LEDGER).is_ok() {
            self.table(LEDGER, progress)?;
        }
        if self.from.open_table(FORKS).is_ok() {
            self.table(FORKS, progress)?;
        }
        if self.from.open_table(RESIDUES).is_ok() {
            self.table(RESIDUES, progress)?;
        }
        self.table(EVENTS, progress)?;
        self.says_what_it_is()
    }

    /// Closes the copy, which is durable then. Gives the rows and the bytes of their values.
    pub(crate) fn finish(self) -> Result<(u64, u64), StoreError> {
        self.to.close().map_err(|error| StoreError::Database(error.into()))?;
        Ok((self.rows, self.bytes))
    }

    fn says_what_it_is(&mut self) -> Result<(), StoreError> {
        let write = self.to.begin_write()?;
        {
            let mut meta = write.open_table(META)?;
            meta.insert(META_FORMAT, FORMAT.to_le_bytes().as_slice())?;
            // What is copied is all there is.
            self.rows -= u64::from(meta.remove(META_LOG)?.is_some());
            let reserved = number(self.from, META_LEAVES)?;
            if self.leaf > reserved {
                put(&mut meta, META_LEAVES, self.leaf)?;
                put(&mut meta, META_REWRITTEN, self.leaf)?;
            }
            write.open_table(PUNCTURES)?;
        }
        write.commit().map_err(|error| StoreError::Indeterminate(error.to_string()))
    }

    fn table<K: Key + 'static, V: Value + 'static>(
        &mut self,
        definition: TableDefinition<'static, K, V>,
        progress: &mut impl FnMut(u64),
    ) -> Result<(), StoreError> {
        let source = self.from.open_table(definition)?;
        let mut rows = source.iter()?.peekable();
        loop {
            let write = self.to.begin_write()?;
            {
                let mut table = write.open_table(definition)?;
                let mut batch = 0;
                while batch < BATCH_BYTES {
                    let Some(entry) = rows.next() else { break };
                    let (key, value) = entry?;
                    let size = V::as_bytes(&value.value()).as_ref().len();
                    table.insert(key.value(), value.value())?;
                    batch += size;
                    self.rows += 1;
                    self.bytes += size as u64;
                }
            }
            write.commit().map_err(|error| StoreError::Indeterminate(error.to_string()))?;
            progress(self.bytes);
            if rows.peek().is_none() {
                return Ok(());
            }
        }
    }

    /// Copies packs, and encrypts those that are plain. Those of one group share a key.
    fn packs<K: Key + 'static>(
        &mut self,
        definition: TableDefinition<'static, K, &'static [u8]>,
        group: impl Fn(K::SelfType<'_>) -> u64,
        progress: &mut impl FnMut(u64),
    ) -> Result<(), StoreError> {
        let source = self.from.open_table(definition)?;
        let mut rows = source.iter()?.peekable();
        // The group for which the key was taken last.
        let mut taken = None;
        loop {
            let write = self.to.begin_write()?;
            {
                let mut table = write.open_table(definition)?;
                let mut batch = 0;
                while batch < BATCH_BYTES {
                    let Some(entry) = rows.next() else { break };
                    let (key, value) = entry?;
                    let sealed = match opened(value.value()) {
                        None => None,
                        Some(pack) => {
                            let group = group(key.value());
                            if taken.replace(group) != Some(group) {
                                self.leaf += 1;
                            }
                            Some(self.keys.seal(pack, self.leaf - 1)?.1)
                        }
                    };
                    let stored = sealed.as_deref().unwrap_or(value.value());
                    table.insert(key.value(), stored)?;
                    batch += stored.len();
                    self.rows += 1;
                    self.bytes += stored.len() as u64;
                }
            }
            write.commit().map_err(|error| StoreError::Indeterminate(error.to_string()))?;
            progress(self.bytes);
            if rows.peek().is_none() {
                return Ok(());
            }
        }
    }
}

/// What a plain pack holds, to be encrypted; none if it is encrypted already, or damaged so that it
/// cannot be opened: then it is copied as it is.
fn opened(stored: &[u8]) -> Option<PackBuilder> {
    let header = PackHeader::read(stored).ok()?;
    if header.leaf().is_some() {
        return None;
    }
    let plain = header.open(None).ok()?;
    let mut pack = PackBuilder::default();
    for seq in plain.seqs() {
        pack.push(seq, plain.get(seq).expect("a pack holds what its directory says"));
    }
    Some(pack)
}
