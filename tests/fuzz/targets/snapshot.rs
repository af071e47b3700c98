//! Snapshots: the stored value as it is, and with checks that fit. Of parts that fit together comes a state
//! that can be asked everything.
#![no_main]

use lacuna_codec::{StoredSnapshot, decode_snapshot, encode_snapshot};
use lacuna_core::render::{entry_digest, window_digest};
use lacuna_core::{Extent, SessionState};
use lacuna_fuzz::forge;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    read(&forge::snapshot(bytes));
    read(&forge::snapshot_of_one_extent(bytes));
});

fn read(stored: &[u8]) {
    let Ok(Some(snapshot)) = StoredSnapshot::read(stored) else {
        assert!(!matches!(decode_snapshot(stored), Ok(Some(_))));
        return;
    };
    let (grown, rest) = (snapshot.grown(), snapshot.rest());
    let Ok(Some(state)) = decode_snapshot(stored) else { return };
    assert!(grown.is_ok() && rest.is_ok());
    ask(&state);
    let again = encode_snapshot(&state, Extent::default()).expect("what was read can be written");
    let read = decode_snapshot(&again).expect("what was written can be read");
    let read = read.expect("it is of the format in force");
    let third = encode_snapshot(&read, Extent::default()).expect("what was read can be written");
    assert_eq!(third, again, "a state has one form");
    if let Ok(rest) = rest {
        state.earlier(rest);
    }
}

fn ask(state: &SessionState) {
    for entry in state.entries() {
        entry_digest(state, &entry);
    }
    window_digest(state);
    (state.budget(), state.addressable(), state.window_len(), state.forked_from());
    for (index, span) in (0..).zip(state.spans()) {
        (state.outcome(span), state.tombstone(span), state.form(index), state.shows(index));
        (state.covers(span), state.replaced_by(span), state.stands_for(span), span.handle());
    }
}
