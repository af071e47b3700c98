//! Replies as bytes, and making lists fit into one message.

use lacuna_wire::{Code, WireError};
use serde::Serialize;
use serde_json::json;

/// Room to leave around a list for the reply's other fields.
pub(crate) fn headroom(max: usize) -> usize {
    (max / 4).min(4 << 10)
}

/// Encodes a reply.
pub(crate) fn encode(reply: &impl Serialize) -> Result<Vec<u8>, WireError> {
    serde_json::to_vec(reply)
        .map_err(|error| WireError::new(Code::Unavailable, format!("encoding the reply: {error}")))
}

/// Encodes a reply and refuses it if it cannot travel.
pub(crate) fn encode_within(reply: &impl Serialize, max: usize) -> Result<Vec<u8>, WireError> {
    let bytes = encode(reply)?;
    if bytes.len() <= max {
        return Ok(bytes);
    }
    Err(WireError::new(
        Code::TooLarge,
        format!(
            "the reply: {} bytes are over the broker's limit of {max}; ask for less, or raise \
             max_payload",
            bytes.len()
        ),
    )
    .with(json!({ "given": bytes.len(), "limit": max })))
}

/// How many of these pieces, in order, take at most this many bytes, and how many they take. There
/// may be none: for lists beside an answer, which must not keep it from arriving.
pub(crate) fn as_many<T: Serialize>(
    pieces: &[T],
    room: usize,
) -> Result<(usize, usize), WireError> {
    let (mut count, mut taken) = (0, 0);
    for piece in pieces {
        let size = encode(piece)?.len() + usize::from(count > 0);
        if size > room - taken {
            break;
        }
        taken += size;
        count += 1;
    }
    Ok((count, taken))
}

/// Cuts a list to this many bytes; says how many pieces that leaves out.
pub(crate) fn cut<T: Serialize>(pieces: &mut Vec<T>, room: usize) -> Result<u64, WireError> {
    let kept = as_many(pieces, room)?.0;
    let omitted = pieces.len() - kept;
    pieces.truncate(kept);
    Ok(omitted as u64)
}

/// How many of these pieces fit into a message of at most `max` bytes. At least one is taken, so
/// that paging always goes on.
pub(crate) fn fitting<T: Serialize>(pieces: &[T], max: usize) -> Result<usize, WireError> {
    let mut room = max.saturating_sub(headroom(max));
    let mut count = 0;
    for piece in pieces {
        let size = encode(piece)?.len() + 1;
        if size > room && count > 0 {
            break;
        }
        room = room.saturating_sub(size);
        count += 1;
    }
    Ok(count)
}
