//! A session's state at one version, stored as a shortcut. Of another format or damaged, it is passed
//! over and the state is folded from the events: nothing rests on a snapshot.
//!
//! It is in two parts. The first holds what the session has gained since the snapshot before it, so
//! that many snapshots of one session share what only grows; the second whatever may change.
//!
//! ```text
//! offset size
//!      0    4  "LCS1"
//!      4    2  format of the state
//!      6    1  flags: 1 = the first part is zstd, 2 = the second is
//!      7    1  0
//!      8    8  session number
//!     16    8  record time of the last event folded, ms since 1970
//!     24   20  extent that it stands on: version (8), spans, directives, losses (4 each); 0 for none
//!     44   20  its own extent, the same way
//!     64    4  length of the first part before compression
//!     68    4  length of the first part as stored
//!     72    4  length of the second part before compression
//!     76   16  check of the first part: first half of BLAKE3 over bytes 0 to 75 and it
//!     92   16  check of the second part, the same way
//!    108    …  the first part, the second part: bincode 2, standard configuration
//! ```

use lacuna_core::{Extent, Grown, Rest, SessionNo, SessionState, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::CodecError;
use crate::compress::{ZSTD, compress, decompress};
use crate::reader::Reader;

const WHAT: &str = "snapshot";
const MAGIC: [u8; 4] = *b"LCS1";
const MAX_RAW: usize = 1 << 30;
/// What a part may claim for each byte of its own: a number of one byte claims eight.
const GROWTH: usize = 32;
const SMALL: usize = 64 << 10;
const MEDIUM: usize = 4 << 20;
/// Flag bits: a part is a zstd frame.
const FIRST: u8 = 1;
const SECOND: u8 = 2;
/// Bytes that both checks cover.
const COVERED: usize = 76;
const HEADER: usize = 108;

/// The format of the state. It moves with any change to what its parts hold.
pub const SNAPSHOT_FORMAT: u16 = 6;

/// Encodes a state for a reader that has the snapshot of extent `since`, or none. The same state always
/// gives the same bytes.
pub fn encode_snapshot(state: &SessionState, since: Extent) -> Result<Vec<u8>, CodecError> {
    let (first, second) = (encode(&state.grown(since))?, encode(&state.rest())?);
    let length = |raw: &[u8]| {
        let size = raw.len();
        u32::try_from(size).ok().filter(|_| size <= MAX_RAW).ok_or(CodecError::TooLarge {
            what: WHAT,
            size,
            limit: MAX_RAW,
        })
    };
    let (raw_first, raw_second) = (length(&first)?, length(&second)?);
    let ((flag_first, first), (flag_second, second)) = (compress(&first), compress(&second));
    let flag = |set: u8, bit: u8| if set & ZSTD != 0 { bit } else { 0 };
    let mut out = Vec::with_capacity(HEADER + first.len() + second.len());
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&SNAPSHOT_FORMAT.to_le_bytes());
    out.extend_from_slice(&[flag(flag_first, FIRST) | flag(flag_second, SECOND), 0]);
    out.extend_from_slice(&state.number.0.to_le_bytes());
    out.extend_from_slice(&state.at.0.to_le_bytes());
    for extent in [since, state.extent()] {
        out.extend_from_slice(&extent.version.to_le_bytes());
        for count in [extent.spans, extent.directives, extent.ledger] {
            out.extend_from_slice(&count.to_le_bytes());
        }
    }
    out.extend_from_slice(&raw_first.to_le_bytes());
    out.extend_from_slice(&length(&first)?.to_le_bytes());
    out.extend_from_slice(&raw_second.to_le_bytes());
    debug_assert_eq!(out.len(), COVERED);
    let checks = [check(&out, &first), check(&out, &second)];
    out.extend_from_slice(checks.as_flattened());
    out.extend_from_slice(&first);
    out.extend_from_slice(&second);
    Ok(out)
}

fn check(header: &[u8], part: &[u8]) -> [u8; 16] {
    let hash = blake3::Hasher::new().update(header).update(part).finalize();
    let mut out = [0; 16];
    out.copy_from_slice(&hash.as_bytes()[..16]);
    out
}

/// A stored snapshot whose header has been read. Each part is checked when it is decoded.
#[derive(Debug, Clone)]
pub struct StoredSnapshot<'a> {
    /// The session.
    pub session: SessionNo,
    /// The record time of the last event folded.
    pub at: Timestamp,
    /// The extent of the snapshot that it stands on; of version 0 if it stands alone.
    pub since: Extent,
    /// Its own.
    pub extent: Extent,
    flags: u8,
    raw: (usize, usize),
    checks: ([u8; 16], [u8; 16]),
    header: &'a [u8],
    first: &'a [u8],
    second: &'a [u8],
}

impl<'a> StoredSnapshot<'a> {
    /// Reads the header; none if the snapshot is of another format.
    pub fn read(stored: &'a [u8]) -> Result<Option<Self>, CodecError> {
        let mut reader = Reader::new(WHAT, stored);
        if reader.array()? != MAGIC {
            return Err(reader.damaged("it does not begin as one"));
        }
        if reader.u16()? != SNAPSHOT_FORMAT {
            return Ok(None);
        }
        let flags = reader.u8()?;
        if flags & !(FIRST | SECOND) != 0 || reader.u8()? != 0 {
            return Err(reader.damaged(format!("unknown flags {flags:#x}")));
        }
        let (session, at) = (SessionNo(reader.u64()?), Timestamp(reader.u64()?));
        let mut extent = || {
            Ok::<_, CodecError>(Extent {
                version: reader.u64()?,
                spans: reader.u32()?,
                directives: reader.u32()?,
                ledger: reader.u32()?,
            })
        };
        let (since, extent) = (extent()?, extent()?);
        let (raw_first, length) = (reader.u32()? as usize, reader.u32()? as usize);
        let raw = (raw_first, reader.u32()? as usize);
        let checks = (reader.array()?, reader.array()?);
        let first = reader.take(length)?;
        let (header, second) = (&stored[..COVERED], reader.rest());
        Ok(Some(Self { session, at, since, extent, flags, raw, checks, header, first, second }))
    }

    /// What the session has gained since the snapshot that this one stands on.
    pub fn grown(&self) -> Result<Grown, CodecError> {
        let (raw, sum) = (self.raw.0, self.checks.0);
        let grown: Grown = self.decode(self.first, self.flags & FIRST != 0, raw, sum)?;
        match (grown.since, grown.until) == (self.since, self.extent) {
            true => Ok(grown),
            false => Err(CodecError::damaged(WHAT, "its first part is of another extent")),
        }
    }

    /// Whatever of the state may change.
    pub fn rest(&self) -> Result<Rest, CodecError> {
        let (raw, sum) = (self.raw.1, self.checks.1);
        let rest: Rest = self.decode(self.second, self.flags & SECOND != 0, raw, sum)?;
        match (rest.number, rest.extent, rest.at) == (self.session, self.extent, self.at) {
            true => Ok(rest),
            false => Err(CodecError::damaged(WHAT, "its second part is of another state")),
        }
    }

    /// The size of the second part as stored, in bytes.
    pub fn rest_bytes(&self) -> usize {
        self.second.len()
    }

    fn decode<T: DeserializeOwned>(
        &self,
        stored: &[u8],
        zstd: bool,
        length: usize,
        sum: [u8; 16],
    ) -> Result<T, CodecError> {
        if check(self.header, stored) != sum {
            return Err(CodecError::damaged(WHAT, "its checksum does not match"));
        }
        let flags = if zstd { ZSTD } else { 0 };
        let raw = decompress(WHAT, flags, stored, length, MAX_RAW)?;
        // The limit is bincode's guard against claims of huge lengths, and a constant of the type.
        let decoded = if raw.len() <= SMALL {
            within::<T, { SMALL * GROWTH }>(&raw)
        } else if raw.len() <= MEDIUM {
            within::<T, { MEDIUM * GROWTH }>(&raw)
        } else {
            within::<T, MAX_RAW>(&raw)
        };
        let (value, read) =
            decoded.map_err(|error| CodecError::damaged(WHAT, error.to_string()))?;
        match read == raw.len() {
            true => Ok(value),
            false => Err(CodecError::damaged(WHAT, "bytes are left over")),
        }
    }
}

fn within<T: DeserializeOwned, const LIMIT: usize>(
    raw: &[u8],
) -> Result<(T, usize), bincode::error::DecodeError> {
    bincode::serde::decode_from_slice(raw, bincode::config::standard().with_limit::<LIMIT>())
}

fn encode(part: &impl Serialize) -> Result<Vec<u8>, CodecError> {
    bincode::serde::encode_to_vec(part, bincode::config::standard())
        .map_err(|error| CodecError::damaged(WHAT, error.to_string()))
}

/// Decodes the state of a snapshot that stands alone; none if it is of another format.
pub fn decode_snapshot(stored: &[u8]) -> Result<Option<SessionState>, CodecError> {
    let Some(snapshot) = StoredSnapshot::read(stored)? else { return Ok(None) };
    let state = SessionState::assembled(vec![snapshot.grown()?], snapshot.rest()?);
    state.map(Some).ok_or_else(|| CodecError::damaged(WHAT, "its parts do not fit together"))
}
