//! The identity of commands.

use lacuna_core::{CommandId, CommandStamp};
use lacuna_wire::WireError;

/// A command's identity, from the id that the client gave and what it asks.
pub(crate) fn stamp(
    command_id: Option<String>,
    fingerprint: impl FnOnce() -> [u8; 16],
) -> Result<Option<CommandStamp>, WireError> {
    let Some(text) = command_id else { return Ok(None) };
    let id: CommandId = text.parse().map_err(|error| WireError::bad_request(format!("{error}")))?;
    Ok(Some(CommandStamp { id, request: fingerprint() }))
}
