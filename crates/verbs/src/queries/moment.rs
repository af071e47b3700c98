//! Moments of a session's past as requests name them.

use std::sync::Arc;

use lacuna_core::{SessionKey, SessionState, SpanState, Timestamp};
use lacuna_engine::Moment;
use lacuna_wire::WireError;
use lacuna_wire::session::{AtBody, receipt_number};

use crate::error::wire_error;
use crate::work::Inner;

/// The moment that a request names. `current`: the session's newest state. One that has not come yet is
/// refused: the same question could have another answer later.
pub(super) fn moment(
    inner: &Inner,
    key: &SessionKey,
    current: &SessionState,
    at: &AtBody,
) -> Result<Moment, WireError> {
    let now = inner.journal.now();
    match (at.version, &at.time, at.turn, &at.receipt) {
        (Some(version), None, None, None) => {
            if version == 0 || version > current.version {
                return Err(WireError::bad_request(format!(
                    "{key} has no version {version}: it is at {}, ask for one from 1 on",
                    current.version
                )));
            }
            Ok(Moment::version(version))
        }
        (None, Some(text), None, None) => {
            let time: Timestamp =
                text.parse().map_err(|error| WireError::bad_request(format!("{error}")))?;
            if time > now {
                return Err(WireError::bad_request(format!(
                    "{time} has not come yet: it is {now}, ask for a moment of the past"
                )));
            }
            Ok(Moment::time(time))
        }
        (None, None, None, Some(name)) => {
            let at = usize::try_from(receipt_number(name)? - 1).unwrap_or(usize::MAX);
            let receipt = current.receipts().get(at).ok_or_else(|| {
                let last = current.receipts().len();
                WireError::bad_request(format!("{key} has no receipt {name}: it has {last}"))
            })?;
            Ok(Moment::version(receipt.window_version))
        }
        (None, None, Some(turn), None) => {
            let shown = current.receipts().iter().rfind(|receipt| receipt.turn == Some(turn));
            let later = current.spans().iter().find(|span| span.turn.is_some_and(|t| t > turn));
            let before = later.map_or(current.version, |span| span.version - 1);
            let has = |span: &SpanState| span.turn == Some(turn);
            if shown.is_none() && later.is_none() && !current.spans().iter().any(has) {
                let last = current.spans().iter().filter_map(|span| span.turn).max();
                let last = last.map_or("none".to_owned(), |turn| turn.to_string());
                return Err(WireError::bad_request(format!(
                    "{key} has not come to turn {turn}: its last one is {last}"
                )));
            }
            Ok(Moment::version(shown.map_or(before, |receipt| receipt.window_version)))
        }
        _ => Err(WireError::bad_request("at has exactly one of version, time, turn and receipt")),
    }
}

/// The session's state at the moment that a request names.
pub(crate) fn state_at(
    inner: &Inner,
    key: &SessionKey,
    at: &AtBody,
) -> Result<Arc<SessionState>, WireError> {
    let current = inner.journal.state(key).map_err(wire_error)?;
    let until = moment(inner, key, &current, at)?;
    inner.journal.state_until(key, until).map_err(wire_error)
}

/// The time of a moment at which a session was in this state: what was asked for, or of the state's
/// last event.
pub(super) fn time_of(until: Moment, state: &SessionState) -> Timestamp {
    match until.time {
        Timestamp(u64::MAX) => state.at,
        time => time,
    }
}
