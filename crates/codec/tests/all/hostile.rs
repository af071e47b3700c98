//! Bytes that may be anything: refused or read, never a panic, never more memory than the bytes
//! themselves justify (I9).

use lacuna_codec::{
    Block, CodecError, Pack, PackHeader, decode_event, decode_snapshot, encode_event,
};
use lacuna_core::Event;
use lacuna_core::Purpose;
use lacuna_core::event::{ContradictionNoted, SpanRead};
use proptest::prelude::*;

use crate::{arbitrary, blocks, samples, sealed};

pub(crate) fn read_as_everything(bytes: &[u8]) {
    if let Ok(mut recorded) = decode_event(bytes) {
        encode_event(&mut recorded, &mut Vec::new()).unwrap();
    }
    if let Ok(block) = Block::open(bytes) {
        assert!(block.end() > block.first);
        assert_eq!(block.stored_events().filter(Result::is_ok).count(), block.count as usize);
        block.events().for_each(drop);
    }
    if let Ok(pack) = Pack::open(bytes) {
        for seq in pack.seqs() {
            assert!(pack.get(seq).is_some());
        }
        for seq in [0, 1, u64::MAX] {
            assert_eq!(pack.get(seq).is_some(), pack.seqs().any(|held| held == seq));
        }
    }
    if let Ok(header) = PackHeader::read(bytes) {
        let seqs: Vec<u64> = header.seqs().collect();
        assert!(seqs.is_sorted());
        if let Ok(pack) = header.open(Some(&sealed::KEY)) {
            assert!(pack.seqs().eq(seqs));
        }
    }
    _ = decode_snapshot(bytes);
}

/// A byte that is likely to matter.
fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![any::<u8>(), Just(0), Just(1), Just(250), Just(251), Just(253), Just(255)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_bytes_are_harmless(
        begin in prop_oneof![
            Just(&b""[..]), Just(&b"LCB1\x00\0\0\0"[..]), Just(&b"LCB1\x01\0\0\0"[..]),
            Just(&b"LCP1\x00\0"[..]), Just(&b"LCP1\x01\0\x01\0"[..]),
            Just(&b"LCP2\x02\0\0\0"[..]), Just(&b"LCP2\x03\0\x01\0"[..]), Just(&b"LCS1\x01\0"[..]),
            Just(&b"\x01\x01\x02\0\x01\0\0\0"[..]),
        ],
        rest in proptest::collection::vec(byte(), 0..300),
    ) {
        let bytes = [begin, &rest].concat();
        read_as_everything(&bytes);
        // Behind a check that fits, too.
        if bytes.len() >= 72 {
            read_as_everything(&blocks::sealed(bytes));
        }
    }

    #[test]
    fn an_encrypted_pack_with_changed_bytes_is_harmless(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), byte()), 1..4),
    ) {
        let mut bytes = sealed::sealed([(1, &b"some"[..]), (2, b"payloads")]);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        read_as_everything(&bytes);
    }

    #[test]
    fn changed_events_are_refused_or_can_be_written_again(
        mut recorded in arbitrary::recorded(arbitrary::event().boxed()),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), byte()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut stored = Vec::new();
        encode_event(&mut recorded, &mut stored).unwrap();
        let original = stored.clone();
        prop_assert!(decode_event(&stored[..cut.index(stored.len())]).is_err(), "cut short");
        stored.push(0);
        prop_assert!(decode_event(&stored).is_err(), "a byte too many");
        stored.pop();
        for (at, value) in changes {
            let at = at.index(stored.len());
            stored[at] = value;
        }
        if let Ok(mut changed) = decode_event(&stored) {
            prop_assert_eq!(changed.hash == recorded.hash, stored == original);
            let mut again = Vec::new();
            encode_event(&mut changed, &mut again).unwrap();
            prop_assert_eq!(decode_event(&again).unwrap(), changed);
        }
    }
}

/// The stored form of an event whose body is these bytes.
fn with_body(event: Event, body: &[u8]) -> Vec<u8> {
    let mut stored = Vec::new();
    let mut recorded = samples::recorded(0, event);
    encode_event(&mut recorded, &mut stored).unwrap();
    stored.truncate(96 + 1);
    stored[92..96].copy_from_slice(&u32::try_from(body.len()).unwrap().to_le_bytes());
    stored.extend_from_slice(body);
    stored
}

fn why(stored: &[u8]) -> String {
    match decode_event(stored) {
        Err(CodecError::Damaged { why, .. }) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_small_body_cannot_claim_much_memory() {
    let noted = || {
        Event::ContradictionNoted(ContradictionNoted {
            contradiction: 0,
            spans: Vec::new(),
            note: None,
        })
    };
    // A list of 8 Mi texts (192 MiB of memory) and one of more than there is memory. The refusal
    // must come from the limit, which is asked before memory is: not from running out of bytes.
    for claim in [&[252, 0, 0, 0x80, 0][..], &[253, 0, 0, 0, 0, 0, 0, 0, 0x10]] {
        let body = [&[0], claim].concat();
        assert_eq!(why(&with_body(noted(), &body)), "LimitExceeded");
    }
    // A text of 16 MiB that is not there.
    let read = Event::SpanRead(SpanRead { span: samples::id("a"), purpose: Purpose::Audit });
    assert_eq!(why(&with_body(read, &[252, 0, 0, 0, 1, b'x'])), "LimitExceeded");
}

#[test]
fn lists_of_the_smallest_pieces_stay_within_the_limit() {
    // The worst that is honest: empty texts take 24 bytes of memory for one that is stored. They
    // are no valid names, and it is for being that, not for their size, that they are refused.
    for texts in [100_u32, 4_000, 70_000, 1_100_000] {
        let mut body = vec![0, 252];
        body.extend_from_slice(&texts.to_le_bytes());
        body.resize(body.len() + texts as usize, 0);
        body.push(0);
        let event = Event::ContradictionNoted(ContradictionNoted {
            contradiction: 0,
            spans: Vec::new(),
            note: None,
        });
        let why = why(&with_body(event, &body));
        assert!(why.contains("span id \"\" is not valid"), "{texts}: {why}");
    }
}

#[test]
fn bytes_behind_a_body_are_refused() {
    for event in [Event::SessionClosed, samples::golden().swap_remove(3).1.event] {
        let mut stored = Vec::new();
        encode_event(&mut samples::recorded(0, event.clone()), &mut stored).unwrap();
        let mut body = stored[97..].to_vec();
        assert_eq!(decode_event(&with_body(event.clone(), &body)).unwrap().event, event);
        body.push(0);
        assert!(decode_event(&with_body(event, &body)).is_err());
    }
}

#[test]
fn words_that_were_never_numbered_are_refused() {
    // span "a", purpose 4: a newer release would have raised the version of the body.
    let read = Event::SpanRead(SpanRead { span: samples::id("a"), purpose: Purpose::Audit });
    assert!(decode_event(&with_body(read.clone(), &[1, b'a', 3])).is_ok());
    assert_eq!(why(&with_body(read.clone(), &[1, b'a', 4])), "unknown number 4");
    assert_eq!(why(&with_body(read.clone(), &[1, b'a', 0])), "unknown number 0");
    // Numbers have longer forms too; they decode, and the hash is of what is stored.
    let long = with_body(read.clone(), &[251, 1, 0, b'a', 2]);
    let short = with_body(read, &[1, b'a', 2]);
    let (long, short) = (decode_event(&long).unwrap(), decode_event(&short).unwrap());
    assert_eq!(long.event, short.event);
    assert_ne!(long.hash, short.hash);
}
