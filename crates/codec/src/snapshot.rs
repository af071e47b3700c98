//! A session's folded state, stored as a shortcut. Of another format or damaged, it is passed over
//! and the state is folded from the events: nothing rests on a snapshot.
//!
//! ```text
//! offset size
//!      0    4  "LCS1"
//!      4    2  format of the state
//!      6    1  flags: 1 = zstd
//!      7    1  0
//!      8    4  length before compression
//!     12   16  first half of BLAKE3 over the rest
//!     28    …  the state: bincode 2, standard configuration
//! ```

use lacuna_core::SessionState;

use crate::CodecError;
use crate::compress::{ZSTD, compress, decompress};
use crate::reader::Reader;

const WHAT: &str = "snapshot";
const MAGIC: [u8; 4] = *b"LCS1";
const MAX_RAW: usize = 1 << 30;

/// The format of the state. It moves with any change to what [`SessionState`] holds.
pub const SNAPSHOT_FORMAT: u16 = 5;

/// Encodes a state. The same state always gives the same bytes.
pub fn encode_snapshot(state: &SessionState) -> Result<Vec<u8>, CodecError> {
    let raw = bincode::serde::encode_to_vec(state, bincode::config::standard())
        .map_err(|error| CodecError::damaged(WHAT, error.to_string()))?;
    let size = raw.len();
    let length = u32::try_from(size)
        .ok()
        .filter(|_| size <= MAX_RAW)
        .ok_or(CodecError::TooLarge { what: WHAT, size, limit: MAX_RAW })?;
    let (flags, stored) = compress(&raw);
    let mut out = Vec::with_capacity(28 + stored.len());
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&SNAPSHOT_FORMAT.to_le_bytes());
    out.extend_from_slice(&[flags, 0]);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&blake3::hash(&stored).as_bytes()[..16]);
    out.extend_from_slice(&stored);
    Ok(out)
}

/// Decodes a state; none if the snapshot is of another format.
pub fn decode_snapshot(bytes: &[u8]) -> Result<Option<SessionState>, CodecError> {
    let mut reader = Reader::new(WHAT, bytes);
    if reader.array()? != MAGIC {
        return Err(reader.damaged("it does not begin as one"));
    }
    if reader.u16()? != SNAPSHOT_FORMAT {
        return Ok(None);
    }
    let flags = reader.u8()?;
    if flags & !ZSTD != 0 || reader.u8()? != 0 {
        return Err(reader.damaged(format!("unknown flags {flags:#x}")));
    }
    let length = reader.u32()? as usize;
    let sum = reader.array::<16>()?;
    let stored = reader.rest();
    if blake3::hash(stored).as_bytes()[..16] != sum {
        return Err(reader.damaged("its checksum does not match"));
    }
    let raw = decompress(WHAT, flags, stored, length, MAX_RAW)?;
    let config = bincode::config::standard().with_limit::<MAX_RAW>();
    let (mut state, read): (SessionState, usize) = bincode::serde::decode_from_slice(&raw, config)
        .map_err(|error| CodecError::damaged(WHAT, error.to_string()))?;
    if read != raw.len() {
        return Err(reader.damaged("bytes are left over"));
    }
    state.reindex();
    Ok(Some(state))
}
