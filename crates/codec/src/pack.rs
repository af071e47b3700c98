//! Payloads of neighbouring events as one stored value. Events commit to payloads by digest, so a
//! pack carries no digests of its own; it is the only thing that retention may rewrite.
//!
//! ```text
//! offset size
//!      0    4  "LCP1"
//!      4    1  flags: 1 = zstd, 2 = reserved for encryption
//!      5    1  0
//!      6    2  number of payloads
//!      8    8  base: the seq that the directory counts from
//!     16    4  length of the payloads before compression
//!     20    …  directory: seq less base (u32, ascending), length (u32); and again
//!      …    …  the payloads, one behind the other, compressed together
//! ```

use crate::CodecError;
use crate::compress::{ZSTD, compress, decompress};
use crate::reader::Reader;

const WHAT: &str = "payload pack";
const MAGIC: [u8; 4] = *b"LCP1";
const MAX_RAW: usize = 1 << 28;

/// Collects payloads for one pack.
#[derive(Debug, Default)]
pub struct PackBuilder {
    base: u64,
    directory: Vec<(u32, u32)>,
    raw: Vec<u8>,
}

impl PackBuilder {
    /// The raw size at which a pack is closed. One lookup decompresses at most one pack.
    pub const TARGET: usize = 64 << 10;

    /// Appends the payload of the event at `seq`. Seqs ascend.
    pub fn push(&mut self, seq: u64, payload: &[u8]) {
        if self.directory.is_empty() {
            self.base = seq;
        }
        let delta = u32::try_from(seq - self.base).expect("a pack spans one commit");
        let length = u32::try_from(payload.len()).expect("a payload in a pack is bounded");
        self.directory.push((delta, length));
        self.raw.extend_from_slice(payload);
    }

    /// Whether another payload of this length should go into another pack.
    pub fn is_full_for(&self, length: usize) -> bool {
        let full = self.raw.len() + length > Self::TARGET;
        !self.directory.is_empty() && (full || self.directory.len() == usize::from(u16::MAX))
    }

    /// Whether no payload was collected.
    pub fn is_empty(&self) -> bool {
        self.directory.is_empty()
    }

    /// The seq of the first payload, and the stored value.
    pub fn finish(self) -> (u64, Vec<u8>) {
        let (flags, stored) = compress(&self.raw);
        let mut out = Vec::with_capacity(20 + 8 * self.directory.len() + stored.len());
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&[flags, 0]);
        let count = u16::try_from(self.directory.len()).expect("is_full_for bounds the count");
        out.extend_from_slice(&count.to_le_bytes());
        out.extend_from_slice(&self.base.to_le_bytes());
        let raw = u32::try_from(self.raw.len()).expect("a pack is bounded");
        out.extend_from_slice(&raw.to_le_bytes());
        for (delta, length) in &self.directory {
            out.extend_from_slice(&delta.to_le_bytes());
            out.extend_from_slice(&length.to_le_bytes());
        }
        out.extend_from_slice(&stored);
        (self.base, out)
    }
}

/// A stored pack, opened.
#[derive(Debug)]
pub struct Pack {
    base: u64,
    directory: Vec<(u32, u32)>,
    raw: Vec<u8>,
}

impl Pack {
    /// Opens a stored value.
    pub fn open(stored: &[u8]) -> Result<Self, CodecError> {
        let mut reader = Reader::new(WHAT, stored);
        if reader.array()? != MAGIC {
            return Err(reader.damaged("it does not begin as one"));
        }
        let flags = reader.u8()?;
        if flags & !ZSTD != 0 || reader.u8()? != 0 {
            return Err(reader.damaged(format!("unknown flags {flags:#x}")));
        }
        let count = reader.u16()?;
        let (base, raw_length) = (reader.u64()?, reader.u32()? as usize);
        let mut directory = Vec::with_capacity(usize::from(count));
        for _ in 0..count {
            let (delta, length) = (reader.u32()?, reader.u32()?);
            if directory.last().is_some_and(|(last, _)| *last >= delta)
                || base.checked_add(u64::from(delta)).is_none()
            {
                return Err(reader.damaged("its directory is out of order"));
            }
            directory.push((delta, length));
        }
        let total: u64 = directory.iter().map(|(_, length)| u64::from(*length)).sum();
        if total != raw_length as u64 {
            return Err(reader.damaged(format!("directory of {total} bytes for {raw_length}")));
        }
        let raw = decompress(WHAT, flags, reader.rest(), raw_length, MAX_RAW)?;
        Ok(Self { base, directory, raw })
    }

    /// The payload of the event at `seq`, if this pack holds it. Its digest is for the caller to
    /// check.
    pub fn get(&self, seq: u64) -> Option<&[u8]> {
        let delta = u32::try_from(seq.checked_sub(self.base)?).ok()?;
        let mut at = 0;
        for (entry, length) in &self.directory {
            let end = at + *length as usize;
            if *entry == delta {
                return self.raw.get(at..end);
            }
            at = end;
        }
        None
    }

    /// The seqs of the payloads that it holds.
    pub fn seqs(&self) -> impl Iterator<Item = u64> + '_ {
        self.directory.iter().map(|(delta, _)| self.base + u64::from(*delta))
    }
}
