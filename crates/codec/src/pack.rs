//! Payloads of neighbouring events as one stored value. Events commit to payloads by digest, so a
//! pack carries no digests of its own; it is the only thing that retention may rewrite.
//!
//! ```text
//! offset size
//!      0    4  "LCP1", or "LCP2": encrypted
//!      4    1  flags: 1 = zstd, 2 = encrypted, in LCP2 and always there
//!      5    1  0
//!      6    2  number of payloads
//!      8    8  base: the seq that the directory counts from
//!     16    4  length of the payloads before compression
//!              LCP2 only:
//!     20    8  leaf: the number of the key
//!     28   24  nonce
//!     52    8  check: first 8 bytes of the BLAKE3 of bytes 0 to 51 and the directory
//!      …    …  directory: seq less base (u32, ascending), length (u32); and again
//!      …    …  the payloads, one behind the other, compressed together
//!              LCP2 only: encrypted, and behind them
//!      …   16  tag: vouches for everything in front of it, together with the key
//! ```
//!
//! The check is no protection against anybody. It lets header and directory be believed where the
//! body is damaged: which key to destroy, and whose payloads are lost.

use crate::CodecError;
use crate::compress::{ZSTD, compress, decompress};
use crate::reader::Reader;
use crate::seal::{KEY, NONCE, Seal, TAG, decrypt, encrypt};

const WHAT: &str = "payload pack";
const PLAIN: [u8; 4] = *b"LCP1";
const SEALED: [u8; 4] = *b"LCP2";
const ENCRYPTED: u8 = 2;
const CHECK_CONTEXT: &str = "lacuna 2026-11 pack header check v1";
const CHECK: usize = 8;
const MAX_RAW: usize = 1 << 28;
/// What stands around directory and payloads of an encrypted pack.
const SEALED_AROUND: usize = 20 + 8 + NONCE + CHECK + TAG;

/// Collects payloads for one pack.
#[derive(Debug, Default)]
pub struct PackBuilder {
    base: u64,
    directory: Vec<(u32, u32)>,
    raw: Vec<u8>,
}

impl PackBuilder {
    /// The raw size at which a pack is closed unless its content says otherwise. One lookup decompresses at
    /// most one pack.
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

    /// Whether another payload of this length should go into another pack, where packs are closed at this
    /// raw size.
    pub fn is_full_for(&self, length: usize, target: usize) -> bool {
        let full = self.raw.len() + length > target;
        !self.directory.is_empty() && (full || self.directory.len() == usize::from(u16::MAX))
    }

    /// Whether no payload was collected.
    pub fn is_empty(&self) -> bool {
        self.directory.is_empty()
    }

    /// The seq of the first payload, and the stored value as the first release wrote it: readable for
    /// everybody.
    pub fn finish(self) -> (u64, Vec<u8>) {
        let (flags, stored) = compress(&self.raw);
        let mut out = self.header(PLAIN, flags, stored.len());
        self.append_directory(&mut out);
        out.extend_from_slice(&stored);
        (self.base, out)
    }

    /// Bytes of the payloads.
    pub fn raw_len(&self) -> usize {
        self.raw.len()
    }

    /// Compresses it, to see how large it becomes.
    pub fn compress(self) -> CompressedPack {
        let (flags, stored) = compress(&self.raw);
        CompressedPack { pack: self, flags, stored }
    }

    /// The seq of the first payload, and the stored value, encrypted.
    pub fn seal(self, seal: &Seal<'_>) -> (u64, Vec<u8>) {
        self.compress().seal(seal)
    }

    fn header(&self, magic: [u8; 4], flags: u8, stored: usize) -> Vec<u8> {
        let around = SEALED_AROUND + 8 * self.directory.len();
        let mut out = Vec::with_capacity(around + stored);
        out.extend_from_slice(&magic);
        out.extend_from_slice(&[flags, 0]);
        let count = u16::try_from(self.directory.len()).expect("is_full_for bounds the count");
        out.extend_from_slice(&count.to_le_bytes());
        out.extend_from_slice(&self.base.to_le_bytes());
        let raw = u32::try_from(self.raw.len()).expect("a pack is bounded");
        out.extend_from_slice(&raw.to_le_bytes());
        out
    }

    fn append_directory(&self, out: &mut Vec<u8>) {
        for (delta, length) in &self.directory {
            out.extend_from_slice(&delta.to_le_bytes());
            out.extend_from_slice(&length.to_le_bytes());
        }
    }
}

/// A pack whose payloads are compressed, and not encrypted yet.
#[derive(Debug)]
pub struct CompressedPack {
    pack: PackBuilder,
    flags: u8,
    stored: Vec<u8>,
}

impl CompressedPack {
    /// Bytes of the stored value, encrypted.
    #[expect(clippy::len_without_is_empty, reason = "a header stands in the smallest of them")]
    pub fn len(&self) -> usize {
        SEALED_AROUND + 8 * self.pack.directory.len() + self.stored.len()
    }

    /// Bytes of the payloads.
    pub fn raw_len(&self) -> usize {
        self.pack.raw_len()
    }

    /// What it holds as two packs: parted behind the payload that ends last within so many raw bytes, but
    /// behind the first one in any case. None if nothing is left for the second.
    pub fn parted(&self, raw: usize) -> Option<[PackBuilder; 2]> {
        let PackBuilder { base, directory, raw: all } = &self.pack;
        let mut end = 0;
        let ends = directory.iter().map(|(_, length)| {
            end += *length as usize;
            end
        });
        let first = ends.take_while(|end| *end <= raw).count().max(1);
        let &(between, _) = directory.get(first)?;
        let (front, behind) = directory.split_at(first);
        let at = front.iter().map(|(_, length)| *length as usize).sum();
        let behind = behind.iter().map(|(delta, length)| (delta - between, *length)).collect();
        Some([
            PackBuilder { base: *base, directory: front.to_vec(), raw: all[..at].to_vec() },
            PackBuilder {
                base: base + u64::from(between),
                directory: behind,
                raw: all[at..].to_vec(),
            },
        ])
    }

    /// The seq of the first payload, and the stored value, encrypted.
    pub fn seal(self, seal: &Seal<'_>) -> (u64, Vec<u8>) {
        let Self { pack, flags, stored } = self;
        let mut out = pack.header(SEALED, flags | ENCRYPTED, stored.len());
        out.extend_from_slice(&seal.leaf.to_le_bytes());
        out.extend_from_slice(&seal.nonce);
        let at = out.len();
        out.extend_from_slice(&[0; CHECK]);
        pack.append_directory(&mut out);
        let check = check(&out[..at], &out[at + CHECK..]);
        out[at..at + CHECK].copy_from_slice(&check);
        let clear = out.len();
        out.extend_from_slice(&stored);
        encrypt(seal, &mut out, clear);
        (pack.base, out)
    }
}

fn check(header: &[u8], directory: &[u8]) -> [u8; CHECK] {
    let mut hasher = blake3::Hasher::new_derive_key(CHECK_CONTEXT);
    hasher.update(header).update(directory);
    let mut check = [0; CHECK];
    hasher.finalize_xof().fill(&mut check);
    check
}

/// A stored pack whose header and directory have been read, and nothing behind them.
#[derive(Debug, Clone)]
pub struct PackHeader<'a> {
    base: u64,
    directory: Vec<(u32, u32)>,
    raw_length: usize,
    flags: u8,
    sealed: Option<(u64, [u8; NONCE])>,
    /// Header and directory, which the tag vouches for.
    clear: &'a [u8],
    body: &'a [u8],
}

impl<'a> PackHeader<'a> {
    /// Reads the header of a stored value. Of an encrypted pack it is as it was written, but for
    /// deliberate changes; of a plain one it is whatever stands there.
    pub fn read(stored: &'a [u8]) -> Result<Self, CodecError> {
        let mut reader = Reader::new(WHAT, stored);
        let magic: [u8; 4] = reader.array()?;
        let expected = match magic {
            PLAIN => 0,
            SEALED => ENCRYPTED,
            _ => return Err(reader.damaged("it does not begin as one")),
        };
        let flags = reader.u8()?;
        if flags & !ZSTD != expected || reader.u8()? != 0 {
            return Err(reader.damaged(format!("unknown flags {flags:#x}")));
        }
        let count = reader.u16()?;
        let (base, raw_length) = (reader.u64()?, reader.u32()? as usize);
        let mut sealed = None;
        if expected == ENCRYPTED {
            sealed = Some((reader.u64()?, reader.array()?));
            let says: [u8; CHECK] = reader.array()?;
            let at = 20 + 8 + NONCE;
            let end = at + CHECK + 8 * usize::from(count);
            let directory = stored.get(at + CHECK..end);
            if directory.is_none_or(|directory| check(&stored[..at], directory) != says) {
                return Err(reader.damaged("the check of its header does not match"));
            }
        }
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
        let body = reader.rest();
        let clear = &stored[..stored.len() - body.len()];
        Ok(Self { base, directory, raw_length, flags, sealed, clear, body })
    }

    /// The number of the key that the pack is encrypted with; none if it is plain.
    pub fn leaf(&self) -> Option<u64> {
        self.sealed.map(|(leaf, _)| leaf)
    }

    /// The seqs of the payloads that it holds.
    pub fn seqs(&self) -> impl Iterator<Item = u64> + '_ {
        self.directory.iter().map(|(delta, _)| self.base + u64::from(*delta))
    }

    /// Opens the pack. `key` is that of [`PackHeader::leaf`], and is not asked for where the pack is
    /// plain; another one, and any change to an encrypted pack, is refused as damage.
    pub fn open(self, key: Option<&[u8; KEY]>) -> Result<Pack, CodecError> {
        let damaged = |why: &str| CodecError::damaged(WHAT, why);
        let opened;
        let stored = match (self.sealed, key) {
            (None, _) => self.body,
            (Some(_), None) => return Err(damaged("it is encrypted, and no key is at hand")),
            (Some((_, nonce)), Some(key)) => {
                opened = decrypt(key, nonce, self.clear, self.body)
                    .ok_or_else(|| damaged("it is not what was encrypted, or not with this key"))?;
                &opened
            }
        };
        let raw = decompress(WHAT, self.flags, stored, self.raw_length, MAX_RAW)?;
        let mut end = 0;
        let entry = |(delta, length): (u32, u32)| {
            end += length as usize;
            (delta, end)
        };
        let directory = self.directory.into_iter().map(entry).collect();
        Ok(Pack { base: self.base, directory, raw })
    }
}

/// A stored pack, opened.
#[derive(Debug)]
pub struct Pack {
    base: u64,
    /// Seq less base, ascending, and where the payload ends.
    directory: Vec<(u32, usize)>,
    raw: Vec<u8>,
}

impl Pack {
    /// Opens a stored value that is not encrypted.
    pub fn open(stored: &[u8]) -> Result<Self, CodecError> {
        PackHeader::read(stored)?.open(None)
    }

    /// The payload of the event at `seq`, if this pack holds it. Its digest is for the caller to
    /// check.
    pub fn get(&self, seq: u64) -> Option<&[u8]> {
        let delta = u32::try_from(seq.checked_sub(self.base)?).ok()?;
        let at = self.directory.binary_search_by_key(&delta, |(delta, _)| *delta).ok()?;
        let start = at.checked_sub(1).map_or(0, |before| self.directory[before].1);
        self.raw.get(start..self.directory[at].1)
    }

    /// The seqs of the payloads that it holds.
    pub fn seqs(&self) -> impl Iterator<Item = u64> + '_ {
        self.directory.iter().map(|(delta, _)| self.base + u64::from(*delta))
    }
}
