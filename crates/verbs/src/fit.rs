//! Replies as bytes, and making lists fit into one message.

use lacuna_wire::{Code, EventBody, WireError};
use serde::Serialize;
use serde_json::{Value, json};

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

/// Leaves of these events as many as a reply of at most this many bytes takes, at least one; one that
/// is longer by itself is shortened.
pub(crate) fn fit_events(events: &mut Vec<EventBody>, max: usize) -> Result<(), WireError> {
    for event in events.iter_mut() {
        shorten(event, longest_event(max))?;
    }
    let taken = fitting(events, max)?;
    events.truncate(taken);
    Ok(())
}

/// How long an event may be where a message may have `max` bytes: `history` and the feed cut it alike.
pub fn longest_event(max: usize) -> usize {
    max / 2
}

/// Shortens the lists of an event over thousands of spans until it fits, and says how much is left
/// out; `expand` of its directive lists all of them, page by page. Should it still be too long, its longest
/// fields go, and their names stand there instead. Gives the event as it is now, encoded.
pub fn shorten(event: &mut EventBody, max: usize) -> Result<Vec<u8>, WireError> {
    let whole = encode(event)?;
    if whole.len() <= max {
        return Ok(whole);
    }
    let mut omitted = 0;
    let mut room = max / 2;
    for list in ["spans", "concerned", "covers"] {
        let Some(Value::Array(items)) = event.fields.get_mut(list) else { continue };
        let taken = fitting(items, room)?;
        omitted += items.len() - taken;
        items.truncate(taken);
        room /= 2;
    }
    if let Some(cost) = event.fields.get_mut("cost")
        && let Some(Value::Array(items)) = cost.get_mut("thinking_invalidated")
    {
        items.truncate(1_000);
    }
    event.fields.insert("omitted".to_owned(), Value::from(omitted));
    const NAMES: &str = "fields_omitted";
    loop {
        let encoded = encode(event)?;
        if encoded.len() <= max {
            return Ok(encoded);
        }
        let length = |value: &Value| encode(value).map_or(0, |bytes| bytes.len());
        let fields = event.fields.iter().filter(|(name, _)| *name != NAMES);
        let Some(longest) = fields.max_by_key(|(_, value)| length(value)) else {
            return Ok(encoded);
        };
        let name = longest.0.clone();
        event.fields.remove(&name);
        let names = event.fields.entry(NAMES).or_insert_with(|| json!([]));
        if let Value::Array(names) = names {
            names.push(name.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(fields: Value) -> EventBody {
        let Value::Object(fields) = fields else { panic!("{fields}") };
        EventBody {
            journal: "0".repeat(32),
            seq: 7,
            version: 3,
            tenant: "acme".into(),
            session: "s".into(),
            at: "2026-11-30T06:00:00.000Z".into(),
            principal: "w".into(),
            command_id: None,
            kind: "prune-executed".into(),
            hash: "0".repeat(64),
            imported: None,
            previous: "0".repeat(64),
            fields,
        }
    }

    #[test]
    fn an_event_that_fits_stays_as_it_is() {
        let mut short = event(json!({ "spans": ["a", "b"] }));
        let before = short.clone();
        shorten(&mut short, 4_096).unwrap();
        assert_eq!(short, before);
    }

    #[test]
    fn long_lists_are_cut_and_counted() {
        let ids: Vec<String> = (0..10_000).map(|n| format!("span-{n}")).collect();
        let mut long = event(json!({ "spans": ids, "reason": "because" }));
        shorten(&mut long, 4_096).unwrap();
        assert!(encode(&long).unwrap().len() <= 4_096);
        let kept = long.fields["spans"].as_array().unwrap().len();
        assert!(kept > 10 && long.fields["omitted"] == 10_000 - kept, "{kept}");
        assert_eq!(long.fields["reason"], "because");
    }

    #[test]
    fn fields_that_are_no_lists_go_by_name() {
        let text = "x".repeat(3_000);
        let mut long = event(json!({ "directive": "p1@prune", "reason": text, "advice": text }));
        shorten(&mut long, 4_096).unwrap();
        assert!(encode(&long).unwrap().len() <= 4_096);
        assert_eq!(long.fields["directive"], "p1@prune");
        assert_eq!(long.fields["fields_omitted"].as_array().unwrap().len(), 1);
        // Of one that is longer without any field only what all events have is left.
        shorten(&mut long, 1).unwrap();
        assert_eq!((long.seq, long.kind.as_str()), (7, "prune-executed"));
        assert_eq!(long.fields.len(), 1, "{:?}", long.fields);
    }
}
