//! Reading payloads back. Nothing is served whose digest does not match (I10).

use std::ops::{Bound, RangeBounds};
use std::sync::{Arc, Weak};

use lacuna_codec::{Pack, PackHeader};
use lacuna_core::{Digest, SpanState, StoredClaims};
use redb::{ReadOnlyTable, ReadTransaction};

use crate::StoreError;
use crate::database::Guarded;
use crate::keys::Keys;
use crate::open::{Store, defensively};
use crate::tables::{CHUNKS, PAYLOADS};

/// What reading a payload back has shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stored<T = Arc<[u8]>> {
    /// It is there, whole: its bytes, or what was made of them.
    Whole(T),
    /// It is not there.
    Missing,
    /// Something is there that is not it.
    Damaged(String),
}

/// Reads payloads at one commit, or at a later one where a removal has destroyed keys since: what was
/// removed is then missing, and what was kept is found. Neighbours share packs, so reading in order
/// opens each once.
#[derive(Debug)]
pub struct PayloadReader {
    packs: ReadOnlyTable<u64, &'static [u8]>,
    chunks: ReadOnlyTable<(u64, u32), &'static [u8]>,
    keys: Keys,
    db: Weak<Guarded>,
    /// Payloads of events up to this seq are looked for where it reads; for others it looks again.
    upto: u64,
    last: Option<(u64, Pack)>,
}

impl Store {
    /// A reader of payloads as of the last commit. Do not keep it: while it lives, the file grows. While the
    /// database is synced it waits only for what it is asked for.
    pub fn payloads(&self) -> Result<PayloadReader, StoreError> {
        defensively(|| {
            let upto = self.db.applied();
            let reader = self.payloads_at(&self.db.begin_read_applied()?)?;
            Ok(PayloadReader { upto, ..reader })
        })
    }

    /// A reader of payloads as of the commit that this transaction reads.
    pub(crate) fn payloads_at(&self, read: &ReadTransaction) -> Result<PayloadReader, StoreError> {
        Ok(PayloadReader {
            packs: read.open_table(PAYLOADS)?,
            chunks: read.open_table(CHUNKS)?,
            keys: self.ring.keys.clone(),
            db: Arc::downgrade(&self.db),
            upto: u64::MAX,
            last: None,
        })
    }
}

impl PayloadReader {
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

    /// The same as [`PayloadReader::read_span`] for who needs no copy of its own: `take` looks at the
    /// content where it lies, once its digest was found to match.
    pub fn see_span<R>(
        &mut self,
        span: &SpanState,
        take: impl FnOnce(&[u8]) -> R,
    ) -> Result<Stored<R>, StoreError> {
        let Some(claims) = span.stored_claims().filter(|claims| claims.bytes > 0) else {
            return self.see(span.seq, span.bytes, .., &span.digest, take);
        };
        if let Some(Stored::Damaged(why)) = self.read_claims(span.seq, span.bytes, claims)? {
            return Ok(Stored::Damaged(format!("its claims: {why}")));
        }
        let end = usize::try_from(span.bytes).unwrap_or(usize::MAX);
        let whole = span.bytes.saturating_add(claims.bytes);
        self.see(span.seq, whole, ..end, &span.digest, take)
    }

    fn part(
        &mut self,
        seq: u64,
        whole: u64,
        part: impl RangeBounds<usize>,
        digest: &Digest,
    ) -> Result<Stored, StoreError> {
        self.see(seq, whole, part, digest, |content| content.into())
    }

    fn see<R>(
        &mut self,
        seq: u64,
        whole: u64,
        part: impl RangeBounds<usize>,
        digest: &Digest,
        take: impl FnOnce(&[u8]) -> R,
    ) -> Result<Stored<R>, StoreError> {
        let place = match defensively(|| self.find(seq, whole)) {
            Ok(Some(place)) => place,
            Ok(None) => return Ok(Stored::Missing),
            Err(StoreError::Damaged(why)) => return Ok(Stored::Damaged(why)),
            Err(error) => return Err(error),
        };
        let payload = match &place {
            Place::Pack => self.last.as_ref().and_then(|(_, pack)| pack.get(seq)),
            Place::Chunks(whole) => Some(whole.as_slice()),
        };
        let payload = payload.unwrap_or_default();
        let bound = |bound: Bound<&usize>, open: usize| match bound {
            Bound::Included(at) | Bound::Excluded(at) => (*at).min(payload.len()),
            Bound::Unbounded => open,
        };
        let (start, end) = (bound(part.start_bound(), 0), bound(part.end_bound(), payload.len()));
        let content = &payload[start..end];
        // Also of a pack that was sealed: its tag says that it is what somebody with the key has sealed,
        // the digest that this is what the event committed to.
        if Digest::of(content) == *digest {
            return Ok(Stored::Whole(take(content)));
        }
        Ok(Stored::Damaged("the stored copy does not match its digest".into()))
    }

    /// Finds a payload. Where a key was destroyed since this reader was made, it looks again at the
    /// last commit: there stand the neighbours of what was removed, under another key.
    fn find(&mut self, seq: u64, bytes: u64) -> Result<Option<Place>, StoreError> {
        if seq > self.upto && !self.renew()? {
            return Err(StoreError::Indeterminate("the journal is closed".into()));
        }
        let mut found = self.look(seq, bytes)?;
        if found.gone && self.renew()? {
            found = self.look(seq, bytes)?;
        }
        Ok(found.place)
    }

    /// Reads at the last commit from now on, if the journal is still open.
    fn renew(&mut self) -> Result<bool, StoreError> {
        let Some(db) = self.db.upgrade() else { return Ok(false) };
        let read = db.begin_read()?;
        (self.packs, self.chunks) = (read.open_table(PAYLOADS)?, read.open_table(CHUNKS)?);
        self.upto = u64::MAX;
        self.last = None;
        Ok(true)
    }

    fn look(&mut self, seq: u64, bytes: u64) -> Result<Found, StoreError> {
        // A pack that cannot be opened is no reason not to look for chunks.
        let packed = self.packed(seq);
        match &packed {
            Ok(Found { place: None, .. }) | Err(StoreError::Damaged(_)) => {}
            _ => return packed,
        }
        let mut whole: Option<Vec<u8>> = None;
        for entry in self.chunks.range((seq, 0)..=(seq, u32::MAX))? {
            let (_, value) = entry?;
            let Some(pack) = self.keys.open_pack(value.value())? else {
                return Ok(Found { place: None, gone: true });
            };
            let part = pack.get(seq).unwrap_or_default();
            let whole = whole.get_or_insert_default();
            whole.extend_from_slice(part);
            if whole.len() as u64 > bytes {
                break;
            }
        }
        whole.map_or(packed, |whole| Ok(Found { place: Some(Place::Chunks(whole)), gone: false }))
    }

    /// Looks for a payload in the only pack that can hold it.
    fn packed(&mut self, seq: u64) -> Result<Found, StoreError> {
        let found = |held: bool| Found { place: held.then_some(Place::Pack), gone: false };
        if self.last.as_ref().is_some_and(|(_, pack)| pack.get(seq).is_some()) {
            return Ok(found(true));
        }
        let row = self.packs.range(..=seq)?.next_back().transpose()?;
        let Some((key, value)) = row else { return Ok(found(false)) };
        let key = key.value();
        if self.last.as_ref().is_some_and(|(last, _)| *last == key) {
            return Ok(found(false));
        }
        let pack = match self.keys.open_pack(value.value()) {
            Ok(Some(pack)) => pack,
            Ok(None) => return Ok(Found { place: None, gone: true }),
            Err(StoreError::Damaged(_)) if never_held(value.value(), seq) => {
                return Ok(found(false));
            }
            Err(error) => return Err(error),
        };
        let (_, pack) = self.last.insert((key, pack));
        Ok(found(pack.get(seq).is_some()))
    }
}

/// Where a payload was found.
enum Place {
    /// In the pack that was opened last.
    Pack,
    /// In chunks, here put together.
    Chunks(Vec<u8>),
}

/// What looking for a payload has shown.
struct Found {
    place: Option<Place>,
    /// Whether a key that was needed for it is destroyed.
    gone: bool,
}

/// Whether a pack that cannot be opened says by a header that can be believed that this payload is not
/// among those that it has lost.
fn never_held(stored: &[u8], seq: u64) -> bool {
    PackHeader::read(stored)
        .is_ok_and(|header| header.leaf().is_some() && header.seqs().all(|held| held != seq))
}
