//! A commit on its way into the database, as the log in front of it holds it.
//!
//! ```text
//! offset size
//!      0    4  "LCR1"
//!      4    4  length of the body
//!      8    8  seq of the first event
//!     16   32  the journal's id
//!     48   32  check: BLAKE3 of bytes 0 to 47 and the body
//!     80    …  the body
//!
//! body: six counts of rows (u32 each), length of the block (u32), the block, then the rows
//!   touched   session number, version of its first event in the block
//!   opened    session number, tenant, name of the session
//!   forks     parent, child, last version that they share
//!   losses    seq, session number, spans, tenant
//!   packs     base, length (u32), pack
//!   chunks    seq, part (u32), length (u32), pack
//! ```
//!
//! Numbers without a size are u64; names have their length (u16) in front. What a commit holds besides is
//! not in a record: snapshots are only shortcuts, and what removes anything goes to the database at once.

use lacuna_core::{SessionKey, SessionNo, Tenant};

use crate::CodecError;
use crate::reader::Reader;

const WHAT: &str = "record of the log";
const MAGIC: [u8; 4] = *b"LCR1";
const CHECK_CONTEXT: &str = "lacuna 2026-11 log record v1";
const ID: usize = 32;
/// Bytes that the check covers in front of the body.
const COVERED: usize = 16 + ID;

/// What one commit writes into the database, borrowed from wherever it stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogRecord<'a> {
    /// The seq of the first event.
    pub first: u64,
    /// The events: a stored block.
    pub block: &'a [u8],
    /// For every session touched, the version of its first event in the block.
    pub touched: Vec<(SessionNo, u64)>,
    /// The sessions that begin in the block.
    pub opened: Vec<(SessionKey, SessionNo)>,
    /// Forks among them: parent, child, the last version that they share.
    pub forks: Vec<(SessionNo, SessionNo, u64)>,
    /// Lossy commitments: seq, tenant, session, number of spans.
    pub losses: Vec<(u64, Tenant, SessionNo, u64)>,
    /// Packs of payloads by the seq of the first.
    pub packs: Vec<(u64, &'a [u8])>,
    /// Parts of large payloads: seq, part, pack.
    pub chunks: Vec<(u64, u32, &'a [u8])>,
}

/// The header of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogHeader {
    /// The seq of the first event.
    pub first: u64,
    /// Length of the body, in bytes.
    pub length: usize,
    covered: [u8; COVERED],
    check: [u8; 32],
}

impl LogHeader {
    /// Its own length, in bytes.
    pub const SIZE: usize = COVERED + 32;

    /// Reads one; none if these bytes do not begin a record of this journal. Nothing of it is to be believed
    /// before the body is opened.
    pub fn read(bytes: &[u8], journal: &str) -> Option<Self> {
        let mut reader = Reader::new(WHAT, bytes);
        let covered: [u8; COVERED] = reader.array().ok()?;
        let check = reader.array().ok()?;
        let mut reader = Reader::new(WHAT, &covered);
        let magic: [u8; 4] = reader.array().ok()?;
        let length = reader.u32().ok()? as usize;
        let first = reader.u64().ok()?;
        let ours = magic == MAGIC && reader.rest() == journal.as_bytes();
        ours.then_some(Self { first, length, covered, check })
    }

    /// Whether this is the body that was written with this header.
    pub fn fits(&self, body: &[u8]) -> bool {
        body.len() == self.length && check(&self.covered, body) == self.check
    }

    /// Reads the body, if it is the one that was written with this header.
    pub fn open<'a>(&self, body: &'a [u8]) -> Result<LogRecord<'a>, CodecError> {
        let mut reader = Reader::new(WHAT, body);
        if !self.fits(body) {
            return Err(reader.damaged("its check does not fit"));
        }
        let mut counts = [0; 6];
        for count in &mut counts {
            *count = reader.u32()?;
        }
        let [touched, opened, forks, losses, packs, chunks] = counts;
        let length = reader.u32()? as usize;
        let mut record =
            LogRecord { first: self.first, block: reader.take(length)?, ..LogRecord::default() };
        for _ in 0..touched {
            record.touched.push((SessionNo(reader.u64()?), reader.u64()?));
        }
        for _ in 0..opened {
            let number = SessionNo(reader.u64()?);
            let (tenant, session) = (named(&mut reader)?, named(&mut reader)?);
            record.opened.push((SessionKey { tenant, session }, number));
        }
        for _ in 0..forks {
            let (parent, child) = (SessionNo(reader.u64()?), SessionNo(reader.u64()?));
            record.forks.push((parent, child, reader.u64()?));
        }
        for _ in 0..losses {
            let (seq, session, spans) = (reader.u64()?, SessionNo(reader.u64()?), reader.u64()?);
            record.losses.push((seq, named(&mut reader)?, session, spans));
        }
        for _ in 0..packs {
            let (base, length) = (reader.u64()?, reader.u32()? as usize);
            record.packs.push((base, reader.take(length)?));
        }
        for _ in 0..chunks {
            let (seq, part, length) = (reader.u64()?, reader.u32()?, reader.u32()? as usize);
            record.chunks.push((seq, part, reader.take(length)?));
        }
        reader.end()?;
        Ok(record)
    }
}

impl LogRecord<'_> {
    /// Writes it behind what `out` holds, header first. The id of a journal has 32 bytes.
    pub fn encode(&self, journal: &str, out: &mut Vec<u8>) -> Result<(), CodecError> {
        let begin = out.len();
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.first.to_le_bytes());
        out.extend_from_slice(journal.as_bytes());
        assert_eq!(out.len() - begin, COVERED, "a journal's id has {ID} bytes");
        out.extend_from_slice(&[0; 32]);
        self.body(out)?;
        let length = size(out.len() - begin - LogHeader::SIZE)?;
        out[begin + 4..begin + 8].copy_from_slice(&length.to_le_bytes());
        let (header, body) = out[begin..].split_at_mut(LogHeader::SIZE);
        let (covered, place) = header.split_at_mut(COVERED);
        place.copy_from_slice(&check(covered, body));
        Ok(())
    }

    fn body(&self, out: &mut Vec<u8>) -> Result<(), CodecError> {
        let counts = [
            self.touched.len(),
            self.opened.len(),
            self.forks.len(),
            self.losses.len(),
            self.packs.len(),
            self.chunks.len(),
        ];
        for count in counts {
            out.extend_from_slice(&size(count)?.to_le_bytes());
        }
        bytes(out, self.block)?;
        for (session, version) in &self.touched {
            numbers(out, [session.0, *version]);
        }
        for (key, number) in &self.opened {
            numbers(out, [number.0]);
            name(out, key.tenant.as_str())?;
            name(out, key.session.as_str())?;
        }
        for (parent, child, at) in &self.forks {
            numbers(out, [parent.0, child.0, *at]);
        }
        for (seq, tenant, session, spans) in &self.losses {
            numbers(out, [*seq, session.0, *spans]);
            name(out, tenant.as_str())?;
        }
        for (base, pack) in &self.packs {
            numbers(out, [*base]);
            bytes(out, pack)?;
        }
        for (seq, part, pack) in &self.chunks {
            numbers(out, [*seq]);
            out.extend_from_slice(&part.to_le_bytes());
            bytes(out, pack)?;
        }
        Ok(())
    }
}

fn check(covered: &[u8], body: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key(CHECK_CONTEXT);
    *hasher.update(covered).update(body).finalize().as_bytes()
}

fn size(size: usize) -> Result<u32, CodecError> {
    let limit = u32::MAX as usize;
    u32::try_from(size).map_err(|_| CodecError::TooLarge { what: WHAT, size, limit })
}

fn numbers<const N: usize>(out: &mut Vec<u8>, numbers: [u64; N]) {
    numbers.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
}

fn bytes(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), CodecError> {
    out.extend_from_slice(&size(bytes.len())?.to_le_bytes());
    out.extend_from_slice(bytes);
    Ok(())
}

fn name(out: &mut Vec<u8>, name: &str) -> Result<(), CodecError> {
    let (size, limit) = (name.len(), usize::from(u16::MAX));
    let length =
        u16::try_from(size).map_err(|_| CodecError::TooLarge { what: WHAT, size, limit })?;
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(name.as_bytes());
    Ok(())
}

fn named<T: std::str::FromStr>(reader: &mut Reader<'_>) -> Result<T, CodecError> {
    let length = usize::from(reader.u16()?);
    let name = std::str::from_utf8(reader.take(length)?).ok().and_then(|name| name.parse().ok());
    name.ok_or_else(|| reader.damaged("a name in it is none"))
}
