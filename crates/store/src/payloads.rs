//! Reading payloads back. Nothing is served whose digest does not match (I10).

use std::sync::Arc;

use lacuna_codec::Pack;
use lacuna_core::{Digest, SpanState};
use redb::{ReadOnlyTable, ReadTransaction, ReadableDatabase};

use crate::StoreError;
use crate::open::{Store, defensively};
use crate::tables::{CHUNKS, PAYLOADS};

/// What reading a payload back has shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stored {
    /// It is there, whole.
    Whole(Arc<[u8]>),
    /// It is not there.
    Missing,
    /// Something is there that is not it.
    Damaged(String),
}

/// Reads payloads at one commit. Neighbours share packs, so reading in order opens each once.
#[derive(Debug)]
pub struct PayloadReader {
    packs: ReadOnlyTable<u64, &'static [u8]>,
    chunks: ReadOnlyTable<(u64, u32), &'static [u8]>,
    last: Option<(u64, Pack)>,
}

impl Store {
    /// A reader of payloads as of the last commit. Do not keep it: while it lives, the file grows.
    pub fn payloads(&self) -> Result<PayloadReader, StoreError> {
        defensively(|| PayloadReader::at(&self.db.begin_read()?))
    }
}

impl PayloadReader {
    /// A reader of payloads as of the commit that this transaction reads.
    pub(crate) fn at(read: &ReadTransaction) -> Result<Self, StoreError> {
        let (packs, chunks) = (read.open_table(PAYLOADS)?, read.open_table(CHUNKS)?);
        Ok(Self { packs, chunks, last: None })
    }

    /// Reads a span's payload back and compares its digest.
    pub fn read_span(&mut self, span: &SpanState) -> Result<Stored, StoreError> {
        self.read(span.seq, &span.digest, span.bytes)
    }

    /// Reads the payload of the event at `seq` back and compares its digest.
    pub fn read(&mut self, seq: u64, digest: &Digest, bytes: u64) -> Result<Stored, StoreError> {
        let payload = match defensively(|| self.find(seq, bytes)) {
            Ok(Some(payload)) => payload,
            Ok(None) => return Ok(Stored::Missing),
            Err(StoreError::Damaged(why)) => return Ok(Stored::Damaged(why)),
            Err(error) => return Err(error),
        };
        if Digest::of(&payload) == *digest {
            return Ok(Stored::Whole(payload.into()));
        }
        Ok(Stored::Damaged("the stored copy does not match its digest".into()))
    }

    fn find(&mut self, seq: u64, bytes: u64) -> Result<Option<Vec<u8>>, StoreError> {
        if let Some((_, pack)) = &self.last
            && let Some(payload) = pack.get(seq)
        {
            return Ok(Some(payload.to_vec()));
        }
        if let Some((base, value)) = self.packs.range(..=seq)?.next_back().transpose()?
            && self.last.as_ref().is_none_or(|(last, _)| *last != base.value())
        {
            self.last = Some((base.value(), Pack::open(value.value())?));
        }
        if let Some((_, pack)) = &self.last
            && let Some(payload) = pack.get(seq)
        {
            return Ok(Some(payload.to_vec()));
        }
        let mut whole: Option<Vec<u8>> = None;
        for entry in self.chunks.range((seq, 0)..=(seq, u32::MAX))? {
            let (_, value) = entry?;
            let pack = Pack::open(value.value())?;
            let part = pack.get(seq).unwrap_or_default();
            let whole = whole.get_or_insert_default();
            whole.extend_from_slice(part);
            if whole.len() as u64 > bytes {
                break;
            }
        }
        Ok(whole)
    }
}
