//! The front of the log's file: whose it is, and how long it is at least.
//!
//! ```text
//! offset size
//!      0    4  "LCL1"
//!      4    4  zero
//!      8    8  bytes that the file has at least
//!     16   32  the journal's id
//!     48   16  the log's own id, which the database names while it needs the log
//!     64   32  check: BLAKE3 of bytes 0 to 63
//! ```
//!
//! It stands twice in the file, in pages of its own. When the file has grown, the older one is replaced: so one
//! of them is whole at any moment.

use crate::reader::Reader;

const MAGIC: [u8; 4] = *b"LCL1";
const CHECK_CONTEXT: &str = "lacuna 2026-11 log file v1";
const COVERED: usize = 64;

/// What the front of a log says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogFront {
    /// The log's own id.
    pub id: [u8; 16],
    /// Bytes that the file has at least.
    pub length: u64,
}

impl LogFront {
    /// Its own length, in bytes.
    pub const SIZE: usize = COVERED + 32;

    /// Reads one; none if these bytes do not begin with a whole one of this journal.
    pub fn read(bytes: &[u8], journal: &str) -> Option<Self> {
        let mut reader = Reader::new("front of the log", bytes);
        let covered: [u8; COVERED] = reader.array().ok()?;
        let check: [u8; 32] = reader.array().ok()?;
        let mut reader = Reader::new("front of the log", &covered);
        let (magic, zero): ([u8; 4], u32) = (reader.array().ok()?, reader.u32().ok()?);
        let length = reader.u64().ok()?;
        let ours = reader.take(32).ok()? == journal.as_bytes();
        let whole = magic == MAGIC && zero == 0 && ours && check == checked(&covered);
        whole.then_some(Self { id: reader.array().ok()?, length })
    }

    /// Its bytes. The id of a journal has 32.
    pub fn encode(&self, journal: &str) -> [u8; Self::SIZE] {
        let mut out = [0; Self::SIZE];
        out[..4].copy_from_slice(&MAGIC);
        out[8..16].copy_from_slice(&self.length.to_le_bytes());
        out[16..48].copy_from_slice(journal.as_bytes());
        out[48..COVERED].copy_from_slice(&self.id);
        let check = checked(&out[..COVERED]);
        out[COVERED..].copy_from_slice(&check);
        out
    }
}

fn checked(covered: &[u8]) -> [u8; 32] {
    blake3::derive_key(CHECK_CONTEXT, covered)
}
