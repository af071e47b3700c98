//! Reading payloads back. Nothing is served whose digest does not match (I10).

use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use lacuna_codec::Pack;
use lacuna_core::{Digest, SpanState, StoredClaims};
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

    /// Reads a span's content back and compares its digest. A summary is whole only with its claims:
    /// without them nobody can tell what its words are worth.
    pub fn read_span(&mut self, span: &SpanState) -> Result<Stored, StoreError> {
        let Some(claims) = span.stored_claims() else {
            return self.read(span.seq, &span.digest, span.bytes);
        };
        let text = self.read_text(span.seq, &span.digest, span.bytes, claims.bytes)?;
        if matches!(text, Stored::Whole(_))
            && let Some(Stored::Damaged(why)) = self.read_claims(span.seq, span.bytes, claims)?
        {
            return Ok(Stored::Damaged(format!("its claims: {why}")));
        }
        Ok(text)
    }

    /// Reads the claims behind a summary's text of this length back and compares their digest; none
    /// if none are stored.
    pub fn read_claims(
        &mut self,
        seq: u64,
        bytes: u64,
        claims: &StoredClaims,
    ) -> Result<Option<Stored>, StoreError> {
        if claims.bytes == 0 {
            return Ok(None);
        }
        let before = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.part(seq, bytes.saturating_add(claims.bytes), before.., &claims.digest).map(Some)
    }

    /// Reads the payload of the event at `seq` back and compares its digest.
    pub fn read(&mut self, seq: u64, digest: &Digest, bytes: u64) -> Result<Stored, StoreError> {
        self.read_text(seq, digest, bytes, 0)
    }

    /// Reads a summary's text back and compares its digest. `behind` is the length of the claims that
    /// stand behind it in the same payload.
    pub(crate) fn read_text(
        &mut self,
        seq: u64,
        digest: &Digest,
        bytes: u64,
        behind: u64,
    ) -> Result<Stored, StoreError> {
        let end = match behind {
            0 => usize::MAX,
            _ => usize::try_from(bytes).unwrap_or(usize::MAX),
        };
        self.part(seq, bytes.saturating_add(behind), ..end, digest)
    }

    fn part(
        &mut self,
        seq: u64,
        whole: u64,
        part: impl RangeBounds<usize>,
        digest: &Digest,
    ) -> Result<Stored, StoreError> {
        let payload = match defensively(|| self.find(seq, whole)) {
            Ok(Some(payload)) => payload,
            Ok(None) => return Ok(Stored::Missing),
            Err(StoreError::Damaged(why)) => return Ok(Stored::Damaged(why)),
            Err(error) => return Err(error),
        };
        let bound = |bound: Bound<&usize>, open: usize| match bound {
            Bound::Included(at) | Bound::Excluded(at) => (*at).min(payload.len()),
            Bound::Unbounded => open,
        };
        let (start, end) = (bound(part.start_bound(), 0), bound(part.end_bound(), payload.len()));
        let content = &payload[start..end];
        if Digest::of(content) == *digest {
            return Ok(Stored::Whole(content.into()));
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
