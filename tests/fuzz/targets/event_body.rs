//! Bodies of every kind and version, also inside of imported events.
//!
//! Input: kind, version, how deep it lies in imported events, body.
#![no_main]

use lacuna_codec::KINDS;
use lacuna_fuzz::{event::holds, first, forge};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (kind, rest) = first(bytes);
    let (version, rest) = first(rest);
    let (depth, body) = first(rest);
    let kind = &KINDS[usize::from(kind) % KINDS.len()];
    let mut stored = forge::event(kind.number, 1 + u16::from(version) % (kind.version + 1), body);
    let read = holds(&stored);
    for level in 0..depth % 12 {
        let body = forge::imported(&stored, kind.name == "session-opened");
        stored = forge::event(22, 1, &body);
        let inside = holds(&stored);
        // What is read by itself is read in an imported event; of those only so many lie in one another, and
        // what they open is not known here.
        let plain = level == 0 && kind.name != "event-imported";
        assert!(inside == read || !plain, "{} {level}", kind.name);
    }
});
