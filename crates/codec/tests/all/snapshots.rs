//! Snapshots: a state comes back as it was, or not at all.

use lacuna_codec::{CodecError, SNAPSHOT_FORMAT, StoredSnapshot, decode_snapshot};
use lacuna_core::{Event, Extent, Recorded, SessionNo, SessionState, Timestamp};
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
    ordinary_until(usize::MAX)
}

/// The same after this many of the events behind the first.
fn ordinary_until(count: usize) -> SessionState {
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
    events.truncate(count);
    fold(events)
}

/// A snapshot that stands alone.
pub(crate) fn encode_snapshot(state: &SessionState) -> Result<Vec<u8>, CodecError> {
    lacuna_codec::encode_snapshot(state, Extent::default())
}

/// Where the first part begins, and how long it is.
const HEADER: usize = 108;

fn number(stored: &[u8], at: usize) -> usize {
    u32::from_le_bytes(stored[at..at + 4].try_into().unwrap()) as usize
}

fn checked_again(mut stored: Vec<u8>) -> Vec<u8> {
    let end = (HEADER + number(&stored, 68)).min(stored.len());
    for (at, part) in [(76, HEADER..end), (92, end..stored.len())] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&stored[..76]).update(&stored[part]);
        let sum = hasher.finalize();
        stored[at..at + 16].copy_from_slice(&sum.as_bytes()[..16]);
    }
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
        // So it does where what only grows is taken from another state.
        let rest = StoredSnapshot::read(&stored).unwrap().unwrap().rest().unwrap();
        prop_assert_eq!(&state.earlier(rest).unwrap(), &state);
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
    let (raw, first) = (number(&stored, 64), number(&stored, 68));
    let rest = number(&stored, 72);
    assert_eq!(stored[6], 3, "both parts are compressed");
    let change = |at: usize, bytes: &[u8]| {
        let mut stored = stored.clone();
        stored[at..at + bytes.len()].copy_from_slice(bytes);
        checked_again(stored)
    };
    let number = |number: usize| u32::try_from(number).unwrap().to_le_bytes();
    assert_eq!(why(&change(0, b"LCB1")), "it does not begin as one");
    assert_eq!(why(&change(6, &[4])), "unknown flags 0x4");
    assert_eq!(why(&change(7, &[1])), "unknown flags 0x3");
    assert_eq!(why(&change(64, &number(raw + 1))), format!("holds {raw} bytes, not {}", raw + 1));
    assert_eq!(why(&change(64, &[0xff; 4])), format!("claims {} bytes", u32::MAX));
    assert_eq!(
        why(&change(72, &number(rest + 1))),
        format!("holds {rest} bytes, not {}", rest + 1)
    );
    assert_eq!(why(&stored[..107]), "16 bytes wanted, 15 left");
    assert_eq!(why(&stored[..120]), format!("{first} bytes wanted, 12 left"));
    // Both parts name what they are of.
    assert_eq!(why(&change(8, &[9])), "its second part is of another state");
    assert_eq!(why(&change(44, &[9])), "its first part is of another extent");
    // Uncompressed: with a byte behind a part, and with one that claims more text than there is.
    let unpacked = |from: usize, to: usize, raw: usize| {
        zstd::bulk::decompress(&stored[from..to], raw).unwrap()
    };
    let parts =
        (unpacked(HEADER, HEADER + first, raw), unpacked(HEADER + first, stored.len(), rest));
    let plain = |first: &[u8], second: &[u8]| {
        let mut out = stored[..HEADER].to_vec();
        out[6] = 0;
        for (at, length) in [(64, first.len()), (68, first.len()), (72, second.len())] {
            out[at..at + 4].copy_from_slice(&number(length));
        }
        checked_again([&out, first, second].concat())
    };
    assert_eq!(decode_snapshot(&plain(&parts.0, &parts.1)).unwrap().unwrap(), ordinary());
    let longer = |part: &[u8]| [part, &[0]].concat();
    assert_eq!(why(&plain(&longer(&parts.0), &parts.1)), "bytes are left over");
    assert_eq!(why(&plain(&parts.0, &longer(&parts.1))), "bytes are left over");
    // The session's number, its extent and time, then a tenant of 2^60 bytes.
    let huge = [&[1, 1, 0, 0, 0, 0, 253][..], &(1_u64 << 60).to_le_bytes()].concat();
    assert!(why(&plain(&parts.0, &huge)).contains("LimitExceeded"));
}

/// What a session has gained is stored once, and the state is put together from all of it.
#[test]
fn a_snapshot_stands_on_the_one_before_it() {
    let (early, late) = (ordinary_until(9), ordinary());
    let whole = encode_snapshot(&late).unwrap();
    let on = lacuna_codec::encode_snapshot(&late, early.extent()).unwrap();
    let below = encode_snapshot(&early).unwrap();
    let read = |stored: &'static [u8]| StoredSnapshot::read(stored).unwrap().unwrap();
    let (below, on) = (read(below.leak()), read(on.leak()));
    assert_eq!((on.since, on.extent), (early.extent(), late.extent()));
    assert_eq!(on.grown().unwrap().since, below.extent);
    let grown = vec![below.grown().unwrap(), on.grown().unwrap()];
    let state = SessionState::assembled(grown.clone(), on.rest().unwrap()).unwrap();
    assert_eq!(state, late);
    assert_eq!(encode_snapshot(&state).unwrap(), whole);
    // Neither without the one below, nor in another order, nor with the rest of another moment.
    let rest = || on.rest().unwrap();
    assert_eq!(SessionState::assembled(vec![grown[1].clone()], rest()), None);
    assert_eq!(SessionState::assembled(vec![grown[0].clone()], rest()), None);
    assert_eq!(SessionState::assembled(vec![grown[1].clone(), grown[0].clone()], rest()), None);
    assert_eq!(SessionState::assembled(grown, below.rest().unwrap()), None);
    // Who has a later state needs the rest only; it may be of no later moment than that state.
    assert_eq!(late.earlier(below.rest().unwrap()).unwrap(), early);
    assert_eq!(early.earlier(rest()), None);
}
