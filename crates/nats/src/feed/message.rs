//! Messages of the feed.

use bytes::Bytes;
use lacuna_core::{Recorded, SessionKey, Timestamp};
use lacuna_verbs::shorten;
use lacuna_wire::{MessageId, WireError, event_body, event_subject, journal_subject};
use serde_json::json;

use super::Announcement;

/// A message that is about to be published.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Message {
    pub(super) id: MessageId,
    pub(super) subject: String,
    pub(super) body: Bytes,
    /// When what it tells was recorded.
    pub(super) at: Timestamp,
    /// Up to which seq the feed is complete once it is published; none for what is said beside the events.
    pub(super) passes: Option<u64>,
    /// What is said beside the events, to be said again should this message be lost.
    pub(super) said: Option<Announcement>,
}

/// An event, as `history` gives it, cut to this many bytes.
pub(super) fn of_event(
    journal: &str,
    key: &SessionKey,
    recorded: &Recorded,
    longest: usize,
) -> Result<Message, WireError> {
    let mut body = event_body(journal, key, recorded);
    let body = shorten(&mut body, longest)?;
    Ok(Message {
        id: MessageId::event(journal, recorded.seq),
        subject: event_subject(key, recorded.event.kind()),
        body: body.into(),
        at: recorded.at,
        passes: Some(recorded.seq),
        said: None,
    })
}

/// What stands in the place of events that cannot be read: a hole that followers can see.
pub(super) fn of_gap(journal: &str, (from, to): (u64, u64), why: &str, at: Timestamp) -> Message {
    const KIND: &str = "gap-found";
    let body = json!({
        "journal": journal,
        "seq": to,
        "kind": KIND,
        "at": at.to_string(),
        "from": from,
        "to": to,
        "why": why,
    });
    Message {
        id: MessageId::about(journal, to, "gap"),
        subject: journal_subject(journal, KIND),
        body: body.to_string().into(),
        at,
        passes: Some(to),
        said: None,
    }
}

/// An announcement.
pub(super) fn of_announcement(journal: &str, said: Announcement, at: Timestamp) -> Message {
    Message {
        id: MessageId::about(journal, said.seq, said.about),
        subject: said.subject.clone(),
        body: said.body.clone(),
        at,
        passes: None,
        said: Some(said),
    }
}
