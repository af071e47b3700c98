//! The events of one commit as one stored value, chained to the block before it.
//!
//! ```text
//! offset size
//!      0    4  "LCB1"
//!      4    1  flags: 1 = zstd
//!      5    3  0
//!      8    8  first seq
//!     16    4  number of events
//!     20    4  length of the events before compression
//!     24   32  hash of the block before, zero for the first
//!     56   16  check: first half of BLAKE3 over every other byte of the value
//!     72    …  the events: length (u32), stored form; and again
//! ```
//!
//! The check makes a block answer for itself: whoever opens one learns of any bit that is not as it
//! was written. A block's hash is BLAKE3 over the whole value as stored. Each has a domain of its
//! own.

use lacuna_core::{Digest, Recorded};

use crate::CodecError;
use crate::compress::{ZSTD, compress, decompress};
use crate::event::{decode_event, encode_event};
use crate::reader::Reader;

const WHAT: &str = "event block";
const MAGIC: [u8; 4] = *b"LCB1";
const HASH_CONTEXT: &str = "lacuna 2026-11 block v1";
const CHECK_CONTEXT: &str = "lacuna 2026-11 block check v1";
const CHECK_SIZE: usize = 16;
/// Length of the header before the check.
const CHECK_AT: usize = 56;
/// No commit makes a block larger than this.
const MAX_RAW: usize = 1 << 30;

/// The hash of a block's stored bytes.
pub fn block_hash(stored: &[u8]) -> Digest {
    Digest(*blake3::Hasher::new_derive_key(HASH_CONTEXT).update(stored).finalize().as_bytes())
}

/// The check of a block: of its header before the check, and of all behind it.
fn check(header: &[u8], events: &[u8]) -> [u8; CHECK_SIZE] {
    let mut hasher = blake3::Hasher::new_derive_key(CHECK_CONTEXT);
    let hash = hasher.update(header).update(events).finalize();
    let mut out = [0; CHECK_SIZE];
    out.copy_from_slice(&hash.as_bytes()[..CHECK_SIZE]);
    out
}

/// Collects the events of one commit.
#[derive(Debug, Default)]
pub struct BlockBuilder {
    raw: Vec<u8>,
    first: u64,
    count: u32,
}

impl BlockBuilder {
    /// Appends an event and sets its hash. Events come in the order of `seq`, without gaps.
    pub fn push(&mut self, recorded: &mut Recorded) -> Result<(), CodecError> {
        let at = self.raw.len();
        self.raw.extend_from_slice(&[0; 4]);
        if let Err(error) = encode_event(recorded, &mut self.raw) {
            self.raw.truncate(at);
            return Err(error);
        }
        // What could not be opened again must not be written.
        let size = self.raw.len();
        if size > MAX_RAW {
            self.raw.truncate(at);
            return Err(CodecError::TooLarge { what: WHAT, size, limit: MAX_RAW });
        }
        let length = u32::try_from(size - at - 4).expect("MAX_RAW is far below 4 GiB");
        self.raw[at..at + 4].copy_from_slice(&length.to_le_bytes());
        if self.count == 0 {
            self.first = recorded.seq;
        }
        debug_assert_eq!(recorded.seq, self.first + u64::from(self.count));
        self.count += 1;
        Ok(())
    }

    /// Bytes collected so far, before compression.
    pub fn len(&self) -> usize {
        self.raw.len()
    }

    /// Whether no event was collected.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The stored value, behind the block of this hash.
    pub fn finish(self, previous: &Digest) -> Vec<u8> {
        let (flags, stored) = compress(&self.raw);
        let mut out = Vec::with_capacity(CHECK_AT + CHECK_SIZE + stored.len());
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&[flags, 0, 0, 0]);
        out.extend_from_slice(&self.first.to_le_bytes());
        out.extend_from_slice(&self.count.to_le_bytes());
        let raw = u32::try_from(self.raw.len()).expect("push bounds it by MAX_RAW");
        out.extend_from_slice(&raw.to_le_bytes());
        out.extend_from_slice(&previous.0);
        debug_assert_eq!(out.len(), CHECK_AT);
        let check = check(&out, &stored);
        out.extend_from_slice(&check);
        out.extend_from_slice(&stored);
        out
    }
}

/// A stored block, opened. It is as it was written, and the lengths of its events have been checked;
/// the events themselves are decoded on demand.
#[derive(Debug)]
pub struct Block {
    /// The seq of its first event.
    pub first: u64,
    /// The number of its events.
    pub count: u32,
    /// The hash of the block before it.
    pub previous: Digest,
    raw: Vec<u8>,
}

impl Block {
    /// Opens a stored value.
    pub fn open(stored: &[u8]) -> Result<Self, CodecError> {
        let mut reader = Reader::new(WHAT, stored);
        if reader.array()? != MAGIC {
            return Err(reader.damaged("it does not begin as one"));
        }
        let flags = reader.u8()?;
        if flags & !ZSTD != 0 || reader.array::<3>()? != [0; 3] {
            return Err(reader.damaged(format!("unknown flags {flags:#x}")));
        }
        let (first, count, raw_length) = (reader.u64()?, reader.u32()?, reader.u32()?);
        let previous = Digest(reader.array()?);
        let expected = reader.array()?;
        let events = reader.rest();
        // Before anything is made of the rest: a flipped bit never reaches the decompressor.
        if check(&stored[..CHECK_AT], events) != expected {
            return Err(reader.damaged("its checksum does not match"));
        }
        // Seqs begin at 1, every commit has an event, and the seq behind the last one is a number:
        // whoever walks a block may rely on it.
        if first == 0 || count == 0 || first.checked_add(u64::from(count)).is_none() {
            return Err(reader.damaged(format!("{count} events from {first} on")));
        }
        let raw = decompress(WHAT, flags, events, raw_length as usize, MAX_RAW)?;
        let mut pieces = Reader::new(WHAT, &raw);
        for _ in 0..count {
            let length = pieces.u32()? as usize;
            pieces.take(length)?;
        }
        pieces.end()?;
        Ok(Self { first, count, previous, raw })
    }

    /// The seq behind its last event.
    pub fn end(&self) -> u64 {
        self.first.saturating_add(u64::from(self.count))
    }

    /// The stored forms of its events, in order.
    pub fn stored_events(&self) -> impl Iterator<Item = Result<&[u8], CodecError>> {
        let mut reader = Reader::new(WHAT, &self.raw);
        (0..self.count).map(move |_| {
            let length = reader.u32()? as usize;
            reader.take(length)
        })
    }

    /// Its events, in order, each checked to stand where the block says.
    pub fn events(&self) -> impl Iterator<Item = Result<Recorded, CodecError>> {
        self.stored_events().zip(self.first..).map(|(stored, seq)| {
            let recorded = decode_event(stored?)?;
            if recorded.seq != seq {
                let why = format!("event {} stands at {seq}", recorded.seq);
                return Err(CodecError::damaged(WHAT, why));
            }
            Ok(recorded)
        })
    }
}
