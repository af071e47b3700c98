//! Compression of stored blocks: zstd level 1, kept only where it helps.

use crate::CodecError;

const LEVEL: i32 = 1;
/// Below this size a frame header costs more than it saves.
const WORTH_TRYING: usize = 64;

/// Flag bit: the bytes are a zstd frame.
pub(crate) const ZSTD: u8 = 1;

/// Compresses if that makes the bytes smaller; gives the flag that says which.
pub(crate) fn compress(raw: &[u8]) -> (u8, Vec<u8>) {
    if raw.len() >= WORTH_TRYING
        && let Ok(packed) = zstd::bulk::compress(raw, LEVEL)
        && packed.len() < raw.len()
    {
        return (ZSTD, packed);
    }
    (0, raw.to_vec())
}

/// Undoes [`compress`]. `raw_length` comes from untrusted bytes: it is bounded by `limit` before
/// anything is allocated, and must be what comes out.
pub(crate) fn decompress(
    what: &'static str,
    flags: u8,
    stored: &[u8],
    raw_length: usize,
    limit: usize,
) -> Result<Vec<u8>, CodecError> {
    if raw_length > limit {
        return Err(CodecError::damaged(what, format!("claims {raw_length} bytes")));
    }
    let raw = match flags & ZSTD {
        0 => stored.to_vec(),
        _ => zstd::bulk::decompress(stored, raw_length)
            .map_err(|error| CodecError::damaged(what, error.to_string()))?,
    };
    if raw.len() != raw_length {
        return Err(CodecError::damaged(
            what,
            format!("holds {} bytes, not {raw_length}", raw.len()),
        ));
    }
    Ok(raw)
}
