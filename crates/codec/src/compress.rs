//! Compression of stored blocks: zstd level 1, kept only where it helps.

use std::cell::RefCell;

use zstd::bulk::{Compressor, Decompressor};

use crate::CodecError;

const LEVEL: i32 = 1;
/// Below this size a frame header costs more than it saves.
const WORTH_TRYING: usize = 64;

/// Flag bit: the bytes are a zstd frame.
pub(crate) const ZSTD: u8 = 1;

thread_local! {
    // Making a context costs as much as compressing several KiB. None where one could not be made.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> =
        RefCell::new(Compressor::new(LEVEL).ok());
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> =
        RefCell::new(Decompressor::new().ok());
}

/// Compresses if that makes the bytes smaller; gives the flag that says which.
pub(crate) fn compress(raw: &[u8]) -> (u8, Vec<u8>) {
    let packed = (raw.len() >= WORTH_TRYING)
        .then(|| COMPRESSOR.with_borrow_mut(|compressor| compressor.as_mut()?.compress(raw).ok()));
    match packed.flatten() {
        Some(packed) if packed.len() < raw.len() => (ZSTD, packed),
        _ => (0, raw.to_vec()),
    }
}

/// The most that this many bytes decompress to: a zstd block takes at least 3 bytes and gives at
/// most 128 KiB.
fn most_from(stored: usize) -> usize {
    (stored / 3 + 1).saturating_mul(128 << 10)
}

/// Undoes [`compress`]. `raw_length` comes from untrusted bytes: before anything is allocated it is
/// bounded by `limit` and by what so few bytes can expand to; and it must be what comes out.
pub(crate) fn decompress(
    what: &'static str,
    flags: u8,
    stored: &[u8],
    raw_length: usize,
    limit: usize,
) -> Result<Vec<u8>, CodecError> {
    if raw_length > limit || raw_length > most_from(stored.len()) {
        return Err(CodecError::damaged(what, format!("claims {raw_length} bytes")));
    }
    let raw = match flags & ZSTD {
        0 => stored.to_vec(),
        _ => DECOMPRESSOR
            .with_borrow_mut(|decompressor| match decompressor {
                Some(decompressor) => decompressor.decompress(stored, raw_length),
                None => zstd::bulk::decompress(stored, raw_length),
            })
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
