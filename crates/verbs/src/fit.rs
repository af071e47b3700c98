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
