//! Packs: payloads of neighbouring events as one value.

use lacuna_codec::{CodecError, Pack, PackBuilder, Seal};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

fn pack<'a>(payloads: impl IntoIterator<Item = (u64, &'a [u8])>) -> (u64, Vec<u8>) {
    let mut builder = PackBuilder::default();
    for (seq, payload) in payloads {
        builder.push(seq, payload);
    }
    builder.finish()
}

fn why(stored: &[u8]) -> String {
    match Pack::open(stored) {
        Err(CodecError::Damaged { what: "payload pack", why }) => why,
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_pack_gives_back_its_payloads(
        base in 0..u64::MAX - (1 << 32),
        // Compressible and not, empty and not.
        payloads in btree_map(
            0..u64::from(u32::MAX),
            prop_oneof![vec(any::<u8>(), 0..400), vec(Just(b'x'), 0..4_000)],
            1..20,
        ),
    ) {
        // A directory counts from its first payload, so the span of the seqs is what must fit.
        let first = *payloads.keys().next().unwrap();
        let seq = |delta: u64| base + delta - first;
        let (key, stored) = pack(payloads.iter().map(|(d, payload)| (seq(*d), payload.as_slice())));
        prop_assert_eq!(key, base);
        let opened = Pack::open(&stored).unwrap();
        let seqs: Vec<u64> = payloads.keys().map(|delta| seq(*delta)).collect();
        prop_assert_eq!(opened.seqs().collect::<Vec<_>>(), seqs);
        for (delta, payload) in &payloads {
            prop_assert_eq!(opened.get(seq(*delta)), Some(payload.as_slice()));
            if !payloads.contains_key(&(delta + 1)) {
                prop_assert_eq!(opened.get(seq(delta + 1)), None);
            }
        }
        prop_assert_eq!(opened.get(base.wrapping_sub(1)), None);
    }

    #[test]
    fn a_changed_pack_is_refused_or_read_without_harm(
        payloads in vec(vec(any::<u8>(), 0..100), 1..8),
        at in any::<prop::sample::Index>(),
        bit in 0..8,
    ) {
        let (_, mut stored) = pack((1..).zip(payloads.iter().map(Vec::as_slice)));
        let at = at.index(stored.len());
        stored[at] ^= 1_u8 << bit;
        if let Ok(opened) = Pack::open(&stored) {
            for seq in opened.seqs().collect::<Vec<_>>() {
                prop_assert!(opened.get(seq).is_some());
            }
        }
        stored.truncate(at);
        prop_assert!(Pack::open(&stored).is_err(), "cut short at {}", at);
    }
}

#[test]
fn a_pack_is_full_at_its_target_but_takes_one_payload_of_any_size() {
    let mut builder = PackBuilder::default();
    assert!(builder.is_empty());
    assert!(!builder.is_full_for(1 << 20, PackBuilder::TARGET), "the first payload always goes in");
    builder.push(1, &[0; PackBuilder::TARGET - 1]);
    assert!(!builder.is_empty());
    assert!(!builder.is_full_for(1, PackBuilder::TARGET));
    assert!(builder.is_full_for(2, PackBuilder::TARGET));
    builder.push(2, &[0; 1]);
    assert!(!builder.is_full_for(0, PackBuilder::TARGET), "an empty payload takes no room");
    assert!(builder.is_full_for(1, PackBuilder::TARGET));
}

#[test]
fn a_pack_is_full_when_its_directory_is() {
    let mut builder = PackBuilder::default();
    for seq in 1..=u64::from(u16::MAX) {
        assert!(!builder.is_full_for(0, PackBuilder::TARGET));
        builder.push(seq, &[]);
    }
    assert!(builder.is_full_for(0, PackBuilder::TARGET));
    let (_, stored) = builder.finish();
    let opened = Pack::open(&stored).unwrap();
    assert_eq!(opened.seqs().count(), usize::from(u16::MAX));
    assert_eq!(opened.get(65_535), Some(&[][..]));
    assert_eq!(opened.get(65_536), None);
}

#[test]
fn the_header_must_tell_the_truth() {
    let change = |at: usize, bytes: &[u8]| {
        let (_, mut stored) = pack([(10, &b"ab"[..]), (12, b""), (13, b"c")]);
        stored[at..at + bytes.len()].copy_from_slice(bytes);
        stored
    };
    assert_eq!(Pack::open(&change(0, b"L")).unwrap().get(13), Some(&b"c"[..]));
    assert_eq!(why(&change(0, b"LCP3")), "it does not begin as one");
    // 2 says encrypted: ciphertext must not be taken for content.
    assert_eq!(why(&change(4, &[2])), "unknown flags 0x2");
    assert_eq!(why(&change(5, &[1])), "unknown flags 0x0");
    assert_eq!(why(&change(16, &[4])), "directory of 3 bytes for 4");
    assert_eq!(why(&change(24, &[3])), "directory of 4 bytes for 3");
    // Two payloads of one event, and payloads out of order: one lookup would hide the other.
    assert_eq!(why(&change(28, &[0])), "its directory is out of order");
    assert_eq!(why(&change(28, &[3])), "its directory is out of order");
    assert_eq!(why(&change(8, &[0xff; 8])), "its directory is out of order");
    assert_eq!(why(&change(6, &[0xff; 2])), "4 bytes wanted, 3 left");
    let mut longer = change(0, b"L");
    longer.push(b'd');
    assert_eq!(why(&longer), "holds 4 bytes, not 3");
}

#[test]
fn a_claim_of_a_huge_length_is_refused_before_memory_is_asked_for() {
    for claim in [u32::MAX, 1 << 28, 16 << 20] {
        let (_, mut stored) = pack([(1, &[0_u8; 1_000][..])]);
        assert_eq!(stored[4], 1, "this one is compressed");
        stored[16..20].copy_from_slice(&claim.to_le_bytes());
        stored[24..28].copy_from_slice(&claim.to_le_bytes());
        assert_eq!(why(&stored), format!("claims {claim} bytes"));
    }
}

#[test]
fn a_pack_is_parted_between_payloads_and_both_parts_hold_what_it_held() {
    let payloads: Vec<Vec<u8>> = (0..6_u8).map(|n| vec![n; 10 * usize::from(n)]).collect();
    // Raw ends: 0, 10, 30, 60, 100, 150.
    for (raw, first) in [(0, 1), (9, 1), (10, 2), (59, 3), (60, 4), (149, 5), (150, 6), (999, 6)] {
        let mut pack = PackBuilder::default();
        for (seq, payload) in (40..).step_by(3).zip(&payloads) {
            pack.push(seq, payload);
        }
        let parted = pack.compress().parted(raw);
        assert_eq!(parted.is_some(), first < 6, "{raw}");
        let Some(parted) = parted else { continue };
        let parts = parted.map(PackBuilder::finish);
        let (mut held, mut bases) = (Vec::new(), Vec::new());
        for (base, stored) in &parts {
            bases.push(*base);
            let pack = Pack::open(stored).unwrap();
            held.extend(pack.seqs().map(|seq| (seq, pack.get(seq).unwrap().to_vec())));
        }
        let all: Vec<(u64, Vec<u8>)> = (40..).step_by(3).zip(payloads.clone()).collect();
        assert_eq!(held, all, "{raw}");
        assert_eq!(bases, [40, 40 + 3 * first as u64], "{raw}");
    }
}

#[test]
fn a_compressed_pack_tells_how_large_it_will_be() {
    let key = [7; 32];
    for count in [1, 2, 9] {
        let mut pack = PackBuilder::default();
        (0..count)
            .for_each(|n| pack.push(n, "the same words again and again ".repeat(9).as_bytes()));
        let compressed = pack.compress();
        let told = compressed.len();
        let seal = Seal { leaf: 1, nonce: [3; 24], key: &key };
        assert_eq!(compressed.seal(&seal).1.len(), told);
    }
}
