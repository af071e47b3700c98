//! Blocks: the events of a commit, chained to the block before.

use lacuna_codec::{Block, BlockBuilder, CodecError, block_hash, decode_event};
use lacuna_core::{Digest, Event, Recorded};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::golden_storage::plain_block;
use crate::{arbitrary, samples};

/// A block of these events, renumbered from `first` on.
pub(crate) fn block(first: u64, previous: &Digest, events: &mut [Recorded]) -> Vec<u8> {
    let mut builder = BlockBuilder::default();
    for (seq, recorded) in (first..).zip(events) {
        recorded.seq = seq;
        builder.push(recorded).unwrap();
    }
    builder.finish(previous)
}

/// The block with a check that fits, whatever else it says.
pub(crate) fn sealed(mut stored: Vec<u8>) -> Vec<u8> {
    let mut hasher = blake3::Hasher::new_derive_key("lacuna 2026-11 block check v1");
    let check = hasher.update(&stored[..56]).update(&stored[72..]).finalize();
    stored[56..72].copy_from_slice(&check.as_bytes()[..16]);
    stored
}

fn why(stored: &[u8]) -> String {
    match Block::open(stored) {
        Err(CodecError::Damaged { what: "event block", why }) => why,
        other => panic!("{other:?}"),
    }
}

/// A small block of three events, and the events.
pub(crate) fn three() -> (Vec<u8>, Vec<Recorded>) {
    let close = || samples::recorded(0, Event::SessionClosed);
    let mut events = vec![close(), close(), close()];
    (block(7, &Digest::of(b"before"), &mut events), events)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_block_gives_back_its_events(
        mut events in vec(arbitrary::recorded(arbitrary::event().boxed()), 1..12),
        first in 1..u64::MAX - 100,
        previous in any::<[u8; 32]>().prop_map(Digest),
    ) {
        let stored = block(first, &previous, &mut events);
        let opened = Block::open(&stored).unwrap();
        prop_assert_eq!((opened.first, opened.count), (first, events.len() as u32));
        prop_assert_eq!(opened.end(), first + events.len() as u64);
        prop_assert_eq!(opened.previous, previous);
        let read: Vec<Recorded> = opened.events().collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(&read, &events);
        let pieces = opened.stored_events().map(|piece| decode_event(piece.unwrap()).unwrap());
        prop_assert_eq!(pieces.collect::<Vec<_>>(), events);
    }

    #[test]
    fn a_changed_block_is_refused(
        mut events in vec(arbitrary::recorded(arbitrary::event().boxed()), 1..6),
        at in any::<prop::sample::Index>(),
        bit in 0..8,
    ) {
        let mut stored = block(1, &Digest::default(), &mut events);
        let hash = block_hash(&stored);
        let at = at.index(stored.len());
        stored[at] ^= 1_u8 << bit;
        prop_assert_ne!(block_hash(&stored), hash);
        prop_assert!(Block::open(&stored).is_err(), "byte {}", at);
        // Even if somebody made the check fit, no harm is done.
        if let Ok(opened) = Block::open(&sealed(stored.clone())) {
            prop_assert_eq!(opened.events().count(), opened.count as usize);
        }
        stored.truncate(at);
        prop_assert!(Block::open(&stored).is_err(), "cut short at {}", at);
    }
}

#[test]
fn the_builder_counts_and_leaves_out_what_it_refused() {
    let mut builder = BlockBuilder::default();
    assert!(builder.is_empty());
    assert_eq!(builder.len(), 0);
    let mut event = samples::recorded(0, Event::SessionClosed);
    builder.push(&mut event).unwrap();
    assert!(!builder.is_empty());
    // A length of 4, a header of 96 and a principal of 1.
    assert_eq!(builder.len(), 101);
}

#[test]
fn the_same_event_at_another_place_is_refused() {
    let (stored, _) = three();
    // The block says that it begins at 8; its events say 7, 8, 9.
    let mut moved = stored;
    moved[8] = 8;
    let events: Vec<_> = Block::open(&sealed(moved)).unwrap().events().collect();
    let why = "event 7 stands at 8".into();
    assert_eq!(events[0], Err(CodecError::Damaged { what: "event block", why }));
}

#[test]
fn the_header_must_tell_the_truth() {
    let change = |at: usize, bytes: &[u8]| {
        let mut stored = three().0;
        stored[at..at + bytes.len()].copy_from_slice(bytes);
        sealed(stored)
    };
    assert_eq!(why(&change(0, b"LCB2")), "it does not begin as one");
    assert_eq!(why(&change(4, &[3])), "unknown flags 0x3");
    assert_eq!(why(&change(7, &[1])), "unknown flags 0x1");
    assert_eq!(why(&change(16, &[2])), "101 bytes too many");
    assert_eq!(why(&change(16, &[4])), "4 bytes wanted, 0 left");
    assert_eq!(why(&change(16, &[0])), "0 events from 7 on");
    assert_eq!(why(&change(8, &[0])), "3 events from 0 on");
    // The seq behind the last event must be a number, or whoever counts on would overflow.
    assert_eq!(why(&change(8, &[0xff; 8])), format!("3 events from {} on", u64::MAX));
    assert!(Block::open(&change(8, &(u64::MAX - 3).to_le_bytes())).is_ok());
    // More events than there are bytes: found at once, not after four billion steps.
    assert_eq!(why(&change(16, &[0xff; 4])), "4 bytes wanted, 0 left");
}

#[test]
fn a_claim_of_a_huge_length_is_refused_before_memory_is_asked_for() {
    for claim in [u32::MAX, 1 << 30, 64 << 20] {
        let mut stored = three().0;
        stored[20..24].copy_from_slice(&claim.to_le_bytes());
        assert_eq!(why(&sealed(stored)), format!("claims {claim} bytes"));
    }
    // What really is that repetitive passes: 64 MiB of one letter.
    let note = "x".repeat(64 << 20);
    let resolved = lacuna_core::event::ContradictionResolved { contradiction: 1, note };
    let mut events = [samples::recorded(0, Event::ContradictionResolved(resolved))];
    let stored = block(1, &Digest::default(), &mut events);
    assert!(stored.len() < 16 << 10, "{} bytes", stored.len());
    assert_eq!(Block::open(&stored).unwrap().events().next().unwrap().unwrap(), events[0]);
}

#[test]
fn bytes_behind_a_block_are_refused() {
    let (mut stored, _) = three();
    stored.push(0);
    assert_eq!(why(&stored), "its checksum does not match");
    assert!(matches!(Block::open(&sealed(stored)), Err(CodecError::Damaged { .. })));
}

#[test]
fn every_flipped_bit_of_a_block_is_found_before_anything_is_made_of_it() {
    let compressed = three().0;
    assert_eq!(compressed[4], 1);
    let plain = plain_block(&mut samples::recorded(0, Event::SessionClosed));
    assert_eq!(plain[4], 0);
    for stored in [compressed, plain] {
        assert_eq!(sealed(stored.clone()), stored);
        Block::open(&stored).unwrap();
        for at in 0..stored.len() {
            for bit in 0..8 {
                let mut flipped = stored.clone();
                flipped[at] ^= 1_u8 << bit;
                let why = why(&flipped);
                match at {
                    0..4 => assert_eq!(why, "it does not begin as one", "byte {at}, bit {bit}"),
                    4 if bit == 0 => assert_eq!(why, "its checksum does not match"),
                    4..8 => assert!(why.starts_with("unknown flags"), "byte {at}, bit {bit}"),
                    _ => assert_eq!(why, "its checksum does not match", "byte {at}, bit {bit}"),
                }
            }
        }
        for length in 0..stored.len() {
            why(&stored[..length]);
        }
    }
}

#[test]
fn the_hash_of_a_block_is_of_its_stored_bytes() {
    let (stored, _) = three();
    let mut hasher = blake3::Hasher::new_derive_key("lacuna 2026-11 block v1");
    assert_eq!(block_hash(&stored).0, *hasher.update(&stored).finalize().as_bytes());
}
