//! Checks and lengths made to fit, so that decoders are reached behind them.
//!
//! The layouts are those drawn in the product's modules. They are written down a second time on purpose: if one
//! of them moves, the forged forms are refused and the coverage that `ops/fuzz` prints falls.

use chacha20poly1305::aead::AeadInOut;
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};

/// The id of the journal that forged records belong to.
pub const JOURNAL: &str = "0123456789abcdef0123456789abcdef";
/// The key of forged packs.
pub const KEY: [u8; 32] = *b"a key that only these tests know";

fn put(stored: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = stored.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

fn number(stored: &[u8], at: usize) -> usize {
    let bytes = stored.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, |bytes| u32::from_le_bytes(bytes) as usize)
}

/// BLAKE3 of these parts in a domain.
fn hash(context: &str, parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key(context);
    for part in parts {
        hasher.update(part);
    }
    *hasher.finalize().as_bytes()
}

/// A block whose check fits. Where it is not compressed, its length does, too.
pub fn block(bytes: &[u8]) -> Vec<u8> {
    let mut stored = bytes.to_vec();
    if stored.len() < 72 {
        return stored;
    }
    put(&mut stored, 0, b"LCB1");
    if stored[4] & 1 == 0 {
        let raw = stored.len() as u32 - 72;
        put(&mut stored, 20, &raw.to_le_bytes());
    }
    let sum = hash("lacuna 2026-11 block check v1", &[&stored[..56], &stored[72..]]);
    put(&mut stored, 56, &sum[..16]);
    stored
}

/// An encrypted pack: the header's check fits, and what stands behind the directory is encrypted with [`KEY`].
pub fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut stored = bytes.to_vec();
    let count = stored.get(6..8).map_or(0, |c| usize::from(u16::from_le_bytes([c[0], c[1]])));
    let clear = 60 + 8 * count;
    if stored.len() < clear {
        return stored;
    }
    put(&mut stored, 0, b"LCP2");
    stored[4] = stored[4] & 1 | 2;
    let sum = hash("lacuna 2026-11 pack header check v1", &[&stored[..52], &stored[60..clear]]);
    put(&mut stored, 52, &sum[..8]);
    let mut nonce = [0; 24];
    nonce.copy_from_slice(&stored[28..52]);
    let (bound, body) = stored.split_at_mut(clear);
    let cipher = XChaCha20Poly1305::new(&KEY.into());
    let tag = cipher.encrypt_inout_detached(&XNonce::from(nonce), bound, body.into());
    if let Ok(tag) = tag {
        stored.extend_from_slice(&tag);
    }
    stored
}

/// A snapshot of the format in force whose two checks fit. Where a part is not compressed, its length does,
/// too.
pub fn snapshot(bytes: &[u8]) -> Vec<u8> {
    const HEADER: usize = 108;
    let mut stored = bytes.to_vec();
    if stored.len() < HEADER {
        return stored;
    }
    put(&mut stored, 0, b"LCS1");
    put(&mut stored, 4, &lacuna_codec::SNAPSHOT_FORMAT.to_le_bytes());
    let end = (HEADER + number(&stored, 68)).min(stored.len());
    put(&mut stored, 68, &((end - HEADER) as u32).to_le_bytes());
    for (bit, at, length) in [(1, 64, end - HEADER), (2, 72, bytes.len() - end)] {
        if stored[6] & bit == 0 {
            put(&mut stored, at, &(length as u32).to_le_bytes());
        }
    }
    for (at, part) in [(76, HEADER..end), (92, end..stored.len())] {
        let sum = blake3::Hasher::new().update(&stored[..76]).update(&stored[part]).finalize();
        put(&mut stored, at, &sum.as_bytes()[..16]);
    }
    stored
}

/// The same of parts that are not compressed, with what the first part says of extents in all places where it
/// is said: in the header, and in the second part.
pub fn snapshot_of_one_extent(bytes: &[u8]) -> Vec<u8> {
    const HEADER: usize = 108;
    let Some(parts) = bytes.get(HEADER..) else { return bytes.to_vec() };
    let (first, second) = parts.split_at(number(bytes, 68).min(parts.len()));
    let mut stored = bytes[..HEADER].to_vec();
    stored[6] = 0;
    let (mut since, mut until) = (0, 0);
    for (nth, at) in [24, 32, 36, 40, 44, 52, 56, 60].into_iter().enumerate() {
        since = if nth == 4 { until } else { since };
        let (value, length) = varint(&first[until..]);
        until += length;
        let size = if nth % 4 == 0 { 8 } else { 4 };
        put(&mut stored, at, &value.to_le_bytes()[..size]);
    }
    put(&mut stored, 68, &(first.len() as u32).to_le_bytes());
    stored.extend_from_slice(first);
    // The second part begins with the session, its extent, and the time.
    let (session, mut at) = varint(second);
    stored.extend_from_slice(&second[..at]);
    stored.extend_from_slice(&first[since..until]);
    (0..4).for_each(|_| at += varint(&second[at..]).1);
    let (time, _) = varint(&second[at..]);
    stored.extend_from_slice(&second[at..]);
    put(&mut stored, 8, &session.to_le_bytes());
    put(&mut stored, 16, &time.to_le_bytes());
    snapshot(&stored)
}

/// A number as bincode writes it, and how many bytes it takes.
fn varint(bytes: &[u8]) -> (u64, usize) {
    let size = match bytes.first() {
        None => return (0, 0),
        Some(251) => 2,
        Some(252) => 4,
        Some(253..) => 8,
        Some(small) => return (u64::from(*small), 1),
    };
    let mut value = [0; 8];
    let Some(taken) = bytes.get(1..1 + size) else { return (0, bytes.len()) };
    value[..size].copy_from_slice(taken);
    (u64::from_le_bytes(value), 1 + size)
}

/// A record of the log of [`JOURNAL`] whose length and check fit.
pub fn log_record(bytes: &[u8]) -> Vec<u8> {
    let mut stored = bytes.to_vec();
    if stored.len() < 80 {
        return stored;
    }
    put(&mut stored, 0, b"LCR1");
    put(&mut stored, 4, &(bytes.len() as u32 - 80).to_le_bytes());
    put(&mut stored, 16, JOURNAL.as_bytes());
    let sum = hash("lacuna 2026-11 log record v1", &[&stored[..48], &stored[80..]]);
    put(&mut stored, 48, &sum);
    stored
}

/// The front of a log of [`JOURNAL`] whose check fits.
pub fn log_front(bytes: &[u8]) -> Vec<u8> {
    let mut stored = bytes.to_vec();
    if stored.len() < 96 {
        return stored;
    }
    put(&mut stored, 0, b"LCL1");
    put(&mut stored, 16, JOURNAL.as_bytes());
    let sum = hash("lacuna 2026-11 log file v1", &[&stored[..64]]);
    put(&mut stored, 64, &sum);
    stored
}

/// A key file: its count of nodes fits, and its checksum stands behind it.
pub fn key_file(bytes: &[u8]) -> Vec<u8> {
    let mut stored = bytes.to_vec();
    put(&mut stored, 0, b"LCKF\x01\0\0\0");
    if let Some(nodes) = stored.len().checked_sub(56) {
        put(&mut stored, 48, &((nodes / 41) as u64).to_le_bytes());
    }
    let sum = hash("lacuna 2026-11 key file v1", &[&stored]);
    stored.extend_from_slice(&sum);
    stored
}

/// An event with this body, in a header that says nothing else.
pub fn event(kind: u16, version: u16, body: &[u8]) -> Vec<u8> {
    let mut stored = vec![1, 1];
    stored.extend_from_slice(&kind.to_le_bytes());
    stored.extend_from_slice(&version.to_le_bytes());
    stored.resize(88, 0);
    stored.extend_from_slice(&[1, 0, 0, 0]);
    stored.extend_from_slice(&(body.len() as u32).to_le_bytes());
    stored.push(b'p');
    stored.extend_from_slice(body);
    stored
}

/// The body of an imported event that holds this one.
pub fn imported(inner: &[u8], opens: bool) -> Vec<u8> {
    let mut body = vec![JOURNAL.len() as u8];
    body.extend_from_slice(JOURNAL.as_bytes());
    // The name of the session here: given with the event that opens it.
    body.extend_from_slice(if opens { b"\x01\x01t\x01\x01s" } else { b"\0\0" });
    match inner.len() {
        length @ ..251 => body.push(length as u8),
        length => {
            body.push(252);
            body.extend_from_slice(&(length as u32).to_le_bytes());
        }
    }
    body.extend_from_slice(inner);
    body
}
