//! The event header read by hand, at the offsets that `schemas/storage.md` gives: whoever has that
//! page and no code of ours can walk a journal.

use lacuna_codec::{CodecError, decode_event, encode_event, peek_session};
use lacuna_core::{CommandStamp, Digest, Event, Recorded, SessionNo};

use crate::samples::recorded;
use crate::{json, samples};

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

#[test]
fn the_header_stands_where_the_page_says() {
    for (name, mut event) in samples::golden() {
        let mut b = Vec::new();
        encode_event(&mut event, &mut b).unwrap();
        assert_eq!((b[0], b[1]), (1, 1), "{name}: envelope and codec");
        let (word, principal) = match &event.imported {
            None => (event.event.kind(), event.principal.as_str()),
            Some(imported) => ("event-imported", imported.by.as_str()),
        };
        let kind = lacuna_codec::KINDS.iter().find(|k| k.name == word).unwrap();
        assert_eq!(number(&b[2..4]), u64::from(kind.number));
        assert_eq!(number(&b[4..6]), u64::from(kind.version));
        assert_eq!(b[6..8], [0; 2], "flags");
        assert_eq!(number(&b[8..16]), event.seq);
        assert_eq!(number(&b[16..24]), event.version);
        assert_eq!(number(&b[24..32]), event.session.0);
        assert_eq!(number(&b[32..40]), event.at.0);
        let (request, command) = match &event.command {
            Some(CommandStamp { id, request }) => (*request, id.as_str()),
            None => ([0; 16], ""),
        };
        assert_eq!(b[40..56], request);
        assert_eq!(b[56..88], event.previous.0);
        assert_eq!((usize::from(b[88]), b[89]), (principal.len(), 0));
        assert_eq!(number(&b[90..92]) as usize, command.len());
        let body = number(&b[92..96]) as usize;
        let texts = format!("{principal}{command}");
        assert_eq!(&b[96..96 + texts.len()], texts.as_bytes());
        assert_eq!(b.len(), 96 + texts.len() + body);
        assert_eq!(peek_session(&b), Some(event.session));
        let mut hasher = blake3::Hasher::new_derive_key("lacuna 2026-11 event v1");
        assert_eq!(event.hash.0, *hasher.update(&b).finalize().as_bytes(), "{name}: hash");
    }
}

#[test]
fn names_of_the_greatest_length_fit_the_header() {
    let mut largest = recorded(2, Event::SessionClosed);
    let command = largest.command.clone().unwrap();
    assert_eq!((command.id.as_str().chars().count(), command.id.as_str().len()), (128, 512));
    assert_eq!(largest.principal.as_str().len(), 64);
    let mut stored = Vec::new();
    encode_event(&mut largest, &mut stored).unwrap();
    assert_eq!(stored.len(), 96 + 64 + 512);
    assert_eq!(decode_event(&stored), Ok(largest));
}

/// The stored form of a small event, and where its principal begins.
fn small() -> Vec<u8> {
    let mut stored = Vec::new();
    encode_event(&mut recorded(1, Event::SessionClosed), &mut stored).unwrap();
    stored
}

fn damaged(stored: &[u8]) -> String {
    match decode_event(stored) {
        Err(CodecError::Damaged { why, .. }) => why,
        other => panic!("{other:?} of {}", json::hex(stored)),
    }
}

#[test]
fn names_beyond_their_limits_are_refused() {
    let (principal, command) = ("p".repeat(65), "𝕫".repeat(129));
    let mut long = small();
    long[88] = 65;
    long.splice(96..104, principal.bytes());
    assert!(damaged(&long).contains("use 1 to 64 characters"));
    let mut long = small();
    long[90..92].copy_from_slice(&516_u16.to_le_bytes());
    long.splice(104..112, command.bytes());
    assert!(damaged(&long).contains("use 1 to 128 characters"));
    // No principal at all, and a command id that is no text.
    let mut none = small();
    none[88] = 0;
    none.drain(96..104);
    assert!(damaged(&none).contains("principal"));
    let mut binary = small();
    binary[104] = 0xff;
    assert!(damaged(&binary).contains("utf-8"));
}

#[test]
fn what_a_newer_release_wrote_is_called_newer_and_names_both() {
    let newer = |at: usize, value: u8| {
        let mut stored = small();
        stored[at] = value;
        decode_event(&stored)
    };
    let is = |what, found, known| Err(CodecError::Newer { what, found, known });
    assert_eq!(newer(0, 2), is("event envelope", 2, 1));
    assert_eq!(newer(0, 255), is("event envelope", 255, 1));
    assert_eq!(newer(1, 2), is("event body codec", 2, 1));
    assert_eq!(newer(2, 99), is("event kind", 99, 22));
    assert_eq!(newer(3, 255), is("event kind", 255 << 8 | 11, 22));
    assert_eq!(newer(4, 2), is("session-closed", 2, 1));
    let text = newer(2, 99).unwrap_err().to_string();
    assert_eq!(text, "event kind has format 99, this release reads up to 22: use a newer release");
    // Nothing was ever numbered 0: that is damage.
    for at in [0, 1, 2, 4] {
        assert!(matches!(newer(at, 0), Err(CodecError::Damaged { .. })), "byte {at}");
    }
}

#[test]
fn reserved_places_must_be_empty() {
    for (at, why) in [(6, "unknown flags 0x1"), (7, "unknown flags 0x100"), (89, "a reserved byte")]
    {
        let mut stored = small();
        stored[at] = 1;
        assert!(damaged(&stored).starts_with(why), "byte {at}");
    }
    // Without a command id there is no request either: it would be lost on reading.
    let mut anonymous = recorded(0, Event::SessionClosed);
    let mut stored = Vec::new();
    encode_event(&mut anonymous, &mut stored).unwrap();
    stored[40] = 1;
    assert_eq!(damaged(&stored), "a request digest without a command id");
}

#[test]
fn a_chain_of_events_is_told_from_any_other() {
    let mut first = recorded(1, Event::SessionClosed);
    encode_event(&mut first, &mut Vec::new()).unwrap();
    let follow = |previous| {
        let mut next = Recorded { previous, ..first.clone() };
        encode_event(&mut next, &mut Vec::new()).unwrap();
        next.hash
    };
    assert_eq!(follow(first.hash), follow(first.hash));
    assert_ne!(follow(first.hash), follow(Digest::default()));
    assert_eq!(peek_session(&[0; 31]), None);
    assert_eq!(peek_session(&[0; 32]), Some(SessionNo(0)));
}
