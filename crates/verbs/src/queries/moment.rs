//! Moments of a session's past as requests name them.

use lacuna_core::{SessionKey, SessionState, Timestamp};
use lacuna_engine::Moment;
use lacuna_wire::WireError;
use lacuna_wire::session::AtBody;

/// The moment that a request names. `current`: the session's newest state.
pub(super) fn moment(
    key: &SessionKey,
    current: &SessionState,
    at: &AtBody,
) -> Result<Moment, WireError> {
    match (at.version, &at.time, at.turn) {
        (Some(version), None, None) => {
            if version == 0 || version > current.version {
                return Err(WireError::bad_request(format!(
                    "{key} has no version {version}: it is at {}, ask for one from 1 on",
                    current.version
                )));
            }
            Ok(Moment::version(version))
        }
        (None, Some(text), None) => {
            let time: Timestamp =
                text.parse().map_err(|error| WireError::bad_request(format!("{error}")))?;
            Ok(Moment::time(time))
        }
        (None, None, Some(turn)) => {
            let later = current.spans().iter().find(|span| span.turn.is_some_and(|t| t > turn));
            Ok(Moment::version(later.map_or(current.version, |span| span.version - 1)))
        }
        _ => Err(WireError::bad_request("at has exactly one of version, time and turn")),
    }
}

/// The time of a moment at which a session was in this state: what was asked for, or of the state's
/// last event.
pub(super) fn time_of(until: Moment, state: &SessionState) -> Timestamp {
    match until.time {
        Timestamp(u64::MAX) => state.at,
        time => time,
    }
}
