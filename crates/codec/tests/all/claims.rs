//! Claims behind a summary's text: they come back as they were, or are refused by name.

use lacuna_codec::{CodecError, decode_claims, encode_claims};
use lacuna_core::{Claim, ClaimOrigin, ClaimSource, Digest, StoredClaims};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use crate::samples;

prop_compose! {
    fn source()(span in "[A-Za-z0-9_.:-]{1,128}", quote in of(any::<String>())) -> ClaimSource {
        ClaimSource { span: samples::id(&span), quote }
    }
}

prop_compose! {
    fn claim()(
        text in any::<String>(),
        origin in select(ClaimOrigin::ALL),
        sources in vec(source(), 0..5),
    ) -> Claim {
        Claim { text, origin, sources }
    }
}

/// A claim `x` of this origin that cites span `a`, and its bytes.
fn one(origin: ClaimOrigin) -> (Vec<Claim>, Vec<u8>) {
    let sources = vec![ClaimSource { span: samples::id("a"), quote: None }];
    let claims = vec![Claim { text: "x".into(), origin, sources }];
    let stored = encode_claims(&claims).unwrap().1;
    (claims, stored)
}

fn why(stored: &[u8]) -> String {
    match decode_claims(stored) {
        Err(CodecError::Damaged { why, .. }) => why,
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn claims_come_back_as_they_were(claims in vec(claim(), 0..8)) {
        let (at, stored) = encode_claims(&claims).unwrap();
        prop_assert_eq!(at.count as usize, claims.len());
        prop_assert_eq!(at.bytes as usize, stored.len());
        prop_assert_eq!(stored.is_empty(), claims.is_empty());
        if !claims.is_empty() {
            prop_assert_eq!(at.digest, Digest::of(&stored));
            prop_assert_eq!(stored[0], 1);
        }
        prop_assert_eq!(decode_claims(&stored).unwrap(), claims.clone());
        // The same claims give the same bytes: their digest is what tells a resent summary.
        prop_assert_eq!(encode_claims(&claims).unwrap(), (at, stored));
    }

    #[test]
    fn cut_short_or_run_on_they_are_refused(
        claims in vec(claim(), 1..5),
        cut in any::<prop::sample::Index>(),
    ) {
        let (_, mut stored) = encode_claims(&claims).unwrap();
        let cut = cut.index(stored.len());
        match decode_claims(&stored[..cut]) {
            // Nothing at all is what is stored for no claims.
            Ok(read) => prop_assert_eq!((cut, read.len()), (0, 0)),
            Err(error) => prop_assert!(matches!(error, CodecError::Damaged { .. }), "{error:?}"),
        }
        stored.push(0);
        prop_assert_eq!(why(&stored), "bytes are left over");
    }

    #[test]
    fn any_bytes_are_harmless(
        version in select(&[0_u8, 1, 1, 1, 1, 2, 255]),
        rest in vec(prop_oneof![any::<u8>(), 0_u8..3, Just(b'a')], 0..200),
    ) {
        let stored = [&[version], &rest[..]].concat();
        match decode_claims(&stored) {
            Ok(claims) => {
                prop_assert_eq!(version, 1);
                let again = encode_claims(&claims).unwrap().1;
                prop_assert_eq!(decode_claims(&again).unwrap(), claims);
            }
            Err(CodecError::Newer { what, found, known }) => {
                prop_assert_eq!((what, found, known), ("claims", u32::from(version), 1));
                prop_assert!(version != 1);
            }
            Err(CodecError::Damaged { .. }) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
}

#[test]
fn no_claims_take_no_bytes() {
    assert_eq!(encode_claims(&[]), Ok((StoredClaims::default(), Vec::new())));
    assert_eq!(decode_claims(b""), Ok(Vec::new()));
    // Not written by anyone, but it says what it says.
    assert_eq!(decode_claims(&[1, 0]), Ok(Vec::new()));
}

#[test]
fn a_version_without_claims_behind_it_is_cut_short() {
    assert_eq!(why(&[1]), "UnexpectedEnd { additional: 1 }");
}

#[test]
fn a_newer_version_is_refused_by_name_whatever_follows() {
    for found in [2_u8, 3, 250, 255] {
        let newer = CodecError::Newer { what: "claims", found: found.into(), known: 1 };
        assert_eq!(decode_claims(&[found]), Err(newer.clone()));
        assert_eq!(
            decode_claims(&[&[found], &one(ClaimOrigin::Hedged).1[1..]].concat()),
            Err(newer)
        );
    }
}

/// No release wrote version 0, so no newer one reads it either.
#[test]
fn version_0_is_damage_and_not_newer() {
    assert!(why(&[0, 0]).contains('0'));
}

#[test]
fn origins_have_numbers_of_their_own_and_others_are_refused() {
    let mut numbers = std::collections::BTreeSet::new();
    for &origin in ClaimOrigin::ALL {
        let (claims, mut stored) = one(origin);
        // Version, one claim, the text "x", its origin, one source "a" without a quote.
        assert_eq!(stored[..4], [1, 1, 1, b'x']);
        assert_eq!(stored[5..], [1, 1, b'a', 0]);
        assert!(numbers.insert(stored[4]), "{origin} has a number of another one");
        assert_eq!(decode_claims(&stored).unwrap(), claims);
        for unknown in [0, 5, 100, 255] {
            stored[4] = unknown;
            assert!(why(&stored).contains(&format!("unknown number {unknown}")), "{unknown}");
        }
    }
    assert_eq!(numbers.len(), 4);
}

#[test]
fn names_and_texts_that_cannot_be_are_refused() {
    let (_, stored) = one(ClaimOrigin::UserSaid);
    let with = |at: usize, byte: u8| {
        let mut stored = stored.clone();
        stored[at] = byte;
        why(&stored)
    };
    assert!(with(7, b'/').contains("span id \"/\" is not valid"));
    assert!(with(3, 0xff).contains("Utf8"), "{}", with(3, 0xff));
    // A quote is there or not; there is no third.
    assert!(with(8, 2).contains("Option"), "{}", with(8, 2));
    let nameless = [&stored[..6], &[0, 0]].concat();
    assert!(why(&nameless).contains("span id \"\" is not valid"));
    // What is damaged is the claims, not the event that tells where they lie.
    assert!(matches!(decode_claims(&nameless), Err(CodecError::Damaged { what: "claims", .. })));
}

#[test]
fn lengths_that_cannot_be_are_refused_before_memory_is_asked_for() {
    // 2^60 claims; a text of 2^60 bytes; 2^60 sources; a quote of 2^60 bytes.
    let huge = [&[253][..], &(1_u64 << 60).to_le_bytes()].concat();
    for before in [&[1][..], &[1, 1], &[1, 1, 1, b'x', 1], &[1, 1, 1, b'x', 1, 1, 1, b'a', 1]] {
        assert_eq!(why(&[before, &huge].concat()), "LimitExceeded");
    }
}

/// As with the bodies of events: memory is asked for only as far as the bytes justify it.
#[test]
fn a_few_bytes_cannot_claim_much_memory() {
    // 8 Mi claims (448 MiB of memory), and a text of 512 MiB, that are not there.
    let claims = [1, 252, 0, 0, 0x80, 0];
    let text = [1, 1, 252, 0, 0, 0, 0x20, b'x'];
    for stored in [&claims[..], &text] {
        assert_eq!(why(stored), "LimitExceeded");
    }
}

#[test]
fn what_could_not_be_read_again_is_not_written() {
    let claim = |bytes: usize| Claim {
        text: "x".repeat(bytes),
        origin: ClaimOrigin::Inferred,
        sources: Vec::new(),
    };
    let (limit, beside) = (1 << 26, 9);
    let (at, stored) = encode_claims(&[claim(limit - beside)]).unwrap();
    assert_eq!((at.bytes, stored.len()), (limit as u64, limit));
    assert_eq!(decode_claims(&stored).unwrap()[0].text.len(), limit - beside);
    let refused = encode_claims(&[claim(limit - beside + 1)]).unwrap_err();
    assert_eq!(refused, CodecError::TooLarge { what: "claims", size: limit + 1, limit });
    // The most memory for its bytes: claims that say nothing.
    let empty = vec![Claim { text: String::new(), ..claim(0) }; 300_000];
    let (at, stored) = encode_claims(&empty).unwrap();
    assert_eq!((at.count, at.bytes), (300_000, 1 + 5 + 3 * 300_000));
    assert_eq!(decode_claims(&stored), Ok(empty));
}
