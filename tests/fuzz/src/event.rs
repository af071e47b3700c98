//! What must hold of every event that can be read.

use lacuna_codec::{
    NameSeeker, decode_event, encode_event, event_hash, peek_session, peek_version,
};
use lacuna_core::event::{Event, Recorded};
use lacuna_core::{SessionKey, SpanId};
use lacuna_wire::{EventBody, event_body};

/// Reads these bytes as an event; of one that is read, tells it again in all ways that there are.
pub fn holds(stored: &[u8]) -> bool {
    let Ok(mut recorded) = decode_event(stored) else { return false };
    assert_eq!(recorded.hash, event_hash(stored));
    assert_eq!(peek_session(stored), Some(recorded.session));
    assert_eq!(peek_version(stored), Some(recorded.version));

    // Bytes have longer forms that are read, too; what is written has one.
    let mut again = Vec::new();
    encode_event(&mut recorded, &mut again).expect("what was read can be written");
    let mut read = decode_event(&again).expect("what was written can be read");
    assert_eq!(read, recorded);
    let mut third = Vec::new();
    encode_event(&mut read, &mut third).expect("what was read can be written");
    assert_eq!(third, again, "an event has one form");

    for span in named(&recorded.event) {
        assert!(NameSeeker::new(span).may_be_in(&again), "{span} is overlooked");
    }
    tells(&recorded);
    true
}

/// Events travel as JSON: no field may hide another one.
fn tells(recorded: &Recorded) {
    let (Ok(tenant), Ok(session)) = ("t".parse(), "s".parse()) else { return };
    let told = event_body("journal", &SessionKey { tenant, session }, recorded);
    let text = serde_json::to_string(&told).expect("an event is told as JSON");
    let read: EventBody = serde_json::from_str(&text).expect("the JSON of an event is read");
    assert_eq!(serde_json::to_string(&read).expect("an event is told as JSON"), text);
}

/// The spans that an event names, as far as somebody looks for them.
fn named(event: &Event) -> Vec<&SpanId> {
    match event {
        Event::SpanRecorded(e) => {
            [&e.span].into_iter().chain(&e.answers).chain(&e.supersedes).collect()
        }
        Event::SummaryRecorded(e) => {
            [&e.span].into_iter().chain(&e.covers).chain(&e.cites).chain(&e.asked).collect()
        }
        Event::PruneExecuted(e) => {
            e.spans.iter().map(|pruned| &pruned.span).chain(&e.replace_with).collect()
        }
        Event::PruneRejected(e) => {
            e.spans.iter().map(|pruned| &pruned.span).chain(&e.concerned).collect()
        }
        Event::LossyCommitted(e) => e.spans.iter().map(|lost| &lost.span).collect(),
        Event::NoticeGiven(e) => e.spans.iter().map(|noticed| &noticed.span).collect(),
        Event::SpanRestored(e) => vec![&e.span],
        Event::SpanRead(e) => vec![&e.span],
        Event::ContradictionNoted(e) => e.spans.iter().collect(),
        Event::SummaryAudited(e) => vec![&e.summary],
        Event::AlertRaised(e) => e.spans.iter().collect(),
        _ => Vec::new(),
    }
}
