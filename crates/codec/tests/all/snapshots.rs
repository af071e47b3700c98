//! Snapshots: a state comes back as it was, or not at all.

use lacuna_codec::{CodecError, SNAPSHOT_FORMAT, decode_snapshot, encode_snapshot};
use lacuna_core::{Event, Recorded, SessionNo, SessionState, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::{arbitrary, samples};

/// Folds any events into a session: the state need not make sense, only survive.
pub(crate) fn fold(events: Vec<Recorded>) -> SessionState {
    let (_, opening) = samples::golden().swap_remove(1);
    let mut state =
        SessionState::open(&Recorded { version: 1, seq: 1, session: SessionNo(1), ..opening })
            .expect("the second golden event opens a session");
    for (at, recorded) in (2..).zip(events) {
        state.evolve(&Recorded { version: at, seq: at, at: Timestamp(at), ..recorded });
    }
    state
}

/// A state with something of everything that events of the golden kinds leave behind.
pub(crate) fn ordinary() -> SessionState {
    let span = |n: u32| {
        let (_, mut recorded) =
            samples::golden().into_iter().find(|(name, _)| name == "span-recorded.v1.2").unwrap();
        if let Event::SpanRecorded(event) = &mut recorded.event {
            event.span = samples::id(&format!("s{n}"));
            event.digest = lacuna_core::Digest::of(&n.to_le_bytes());
        }
        recorded
    };
    let other = |wanted: &str| {
        samples::golden()
            .into_iter()
            .find(|(name, _)| name == wanted)
            .map(|(_, event)| event)
            .unwrap()
    };
    let mut events: Vec<Recorded> = (0..10).map(span).collect();
    events.push(other("summary-recorded.v2.2"));
    events.push(other("summary-recorded.v2.3"));
    events.push(other("summary-audited.v1.2"));
    events.push(other("span-read.v1.2"));
    events.push(other("contradiction-noted.v1.2"));
    events.push(other("prune-rejected.v1.2"));
    events.push(other("prune-executed.v1.2"));
    events.push(other("lossy-committed.v2.2"));
    fold(events)
}

fn checked_again(mut stored: Vec<u8>) -> Vec<u8> {
    let sum = blake3::hash(&stored[28..]);
    stored[12..28].copy_from_slice(&sum.as_bytes()[..16]);
    stored
}

fn why(stored: &[u8]) -> String {
    match decode_snapshot(stored) {
        Err(CodecError::Damaged { what: "snapshot", why }) => why,
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_state_comes_back_as_it_was(
        events in vec(arbitrary::recorded(arbitrary::event().boxed()), 0..12),
    ) {
        let state = fold(events);
        let stored = encode_snapshot(&state).unwrap();
        let read = decode_snapshot(&stored).unwrap().unwrap();
        prop_assert_eq!(&read, &state);
        // The index of span ids is left out and rebuilt.
        for span in state.spans() {
            prop_assert_eq!(read.find(&span.id), state.find(&span.id));
        }
        // The same state gives the same bytes (I4), also after a detour.
        prop_assert_eq!(encode_snapshot(&read).unwrap(), stored);
    }

    #[test]
    fn any_flipped_byte_is_found(at in any::<prop::sample::Index>(), bit in 0..8) {
        let mut stored = encode_snapshot(&ordinary()).unwrap();
        let at = at.index(stored.len());
        stored[at] ^= 1_u8 << bit;
        match decode_snapshot(&stored) {
            Err(CodecError::Damaged { .. }) => {}
            // The one field that is no damage by itself: then it is of another format, and passed
            // over.
            Ok(None) => prop_assert!((4..6).contains(&at)),
            other => panic!("byte {at}: {other:?}"),
        }
    }
}

#[test]
fn a_snapshot_of_another_format_is_passed_over() {
    let mut stored = encode_snapshot(&ordinary()).unwrap();
    assert_eq!(stored[4..6], SNAPSHOT_FORMAT.to_le_bytes());
    for other in [SNAPSHOT_FORMAT - 1, SNAPSHOT_FORMAT + 1, u16::MAX] {
        stored[4..6].copy_from_slice(&other.to_le_bytes());
        // Also if nothing behind the format is as this release knows it.
        assert_eq!(decode_snapshot(&stored), Ok(None));
        assert_eq!(decode_snapshot(&stored[..6]), Ok(None));
    }
}

#[test]
fn damage_behind_a_right_checksum_is_found_too() {
    let stored = encode_snapshot(&ordinary()).unwrap();
    let raw_length = u32::from_le_bytes(stored[8..12].try_into().unwrap());
    assert_eq!(stored[6], 1, "this one is compressed");
    let change = |at: usize, bytes: &[u8]| {
        let mut stored = stored.clone();
        stored[at..at + bytes.len()].copy_from_slice(bytes);
        checked_again(stored)
    };
    assert_eq!(why(&change(0, b"LCB1")), "it does not begin as one");
    assert_eq!(why(&change(6, &[2])), "unknown flags 0x2");
    assert_eq!(why(&change(7, &[1])), "unknown flags 0x1");
    assert_eq!(
        why(&change(8, &(raw_length + 1).to_le_bytes())),
        format!("holds {raw_length} bytes, not {}", raw_length + 1)
    );
    assert_eq!(why(&change(8, &[0xff; 4])), format!("claims {} bytes", u32::MAX));
    assert_eq!(why(&stored[..27]), "16 bytes wanted, 15 left");
    // Uncompressed: a state with a byte behind it, and one that claims more text than there is.
    let plain = |raw: &[u8]| {
        let mut out = [b"LCS1", &SNAPSHOT_FORMAT.to_le_bytes()[..], &[0, 0]].concat();
        out.extend_from_slice(&u32::try_from(raw.len()).unwrap().to_le_bytes());
        out.extend_from_slice(&[0; 16]);
        out.extend_from_slice(raw);
        checked_again(out)
    };
    let mut raw = zstd::bulk::decompress(&stored[28..], raw_length as usize).unwrap();
    assert_eq!(decode_snapshot(&plain(&raw)).unwrap().unwrap(), ordinary());
    raw.push(0);
    assert_eq!(why(&plain(&raw)), "bytes are left over");
    // The session's number, then a tenant of 2^60 bytes.
    let huge = [&[1, 253][..], &(1_u64 << 60).to_le_bytes()].concat();
    assert!(why(&plain(&huge)).contains("LimitExceeded"));
}
