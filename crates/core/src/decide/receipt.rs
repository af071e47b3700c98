//! Receipts: what was shown to the model.

use super::{Decision, Reply};
use crate::command::Receipt;
use crate::event::WindowReceipted;
use crate::{Event, Refusal, SessionState};

pub(super) fn decide(state: &SessionState, receipt: &Receipt) -> Result<Decision, Refusal> {
    let Receipt { window_version, turn, entries, entries_digest, rendered, sent_digest } = *receipt;
    if window_version == 0 || window_version > state.version {
        return Err(Refusal::BadRequest(format!(
            "the session is at version {}: there was no window at {window_version}",
            state.version
        )));
    }
    let number = u32::try_from(state.receipts.len()).unwrap_or(u32::MAX).saturating_add(1);
    let event = WindowReceipted {
        receipt: number,
        window_version,
        turn,
        entries,
        entries_digest,
        rendered,
        sent_digest,
    };
    let reply = Reply::Receipted { receipt: Box::new(event.clone()), version: state.version + 1 };
    Ok(Decision { events: vec![Event::WindowReceipted(event)], reply })
}
