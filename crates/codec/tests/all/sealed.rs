//! Encrypted packs: read with their key, refused with any other and after any change.

use lacuna_codec::{CodecError, Pack, PackBuilder, PackHeader, Seal};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

pub(crate) const KEY: [u8; 32] = *b"a key that only these tests know";
pub(crate) const NONCE: [u8; 24] = *b"a nonce that comes once.";
const LEAF: u64 = 0x0102_0304_0506_0708;

pub(crate) fn sealed<'a>(payloads: impl IntoIterator<Item = (u64, &'a [u8])>) -> Vec<u8> {
    let mut builder = PackBuilder::default();
    for (seq, payload) in payloads {
        builder.push(seq, payload);
    }
    builder.seal(&Seal { leaf: LEAF, nonce: NONCE, key: &KEY }).1
}

fn open(stored: &[u8], key: &[u8; 32]) -> Result<Pack, CodecError> {
    PackHeader::read(stored)?.open(Some(key))
}

fn why<T: std::fmt::Debug>(result: Result<T, CodecError>) -> String {
    match result {
        Err(CodecError::Damaged { what: "payload pack", why }) => why,
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn an_encrypted_pack_gives_back_its_payloads_and_keeps_them_from_others(
        base in 0..u64::MAX - (1 << 32),
        payloads in btree_map(
            0..u64::from(u32::MAX),
            prop_oneof![vec(any::<u8>(), 0..400), vec(Just(b'x'), 0..4_000)],
            1..20,
        ),
        leaf in any::<u64>(),
        nonce in any::<[u8; 24]>(),
        key in any::<[u8; 32]>(),
        other in any::<[u8; 32]>(),
    ) {
        let first = *payloads.keys().next().unwrap();
        let mut builder = PackBuilder::default();
        payloads.iter().for_each(|(delta, payload)| builder.push(base + delta - first, payload));
        let (at, stored) = builder.seal(&Seal { leaf, nonce, key: &key });
        prop_assert_eq!(at, base);
        let header = PackHeader::read(&stored).unwrap();
        prop_assert_eq!(header.leaf(), Some(leaf));
        let seqs: Vec<u64> = payloads.keys().map(|delta| base + delta - first).collect();
        prop_assert_eq!(header.seqs().collect::<Vec<_>>(), seqs);
        let opened = header.open(Some(&key)).unwrap();
        for (delta, payload) in &payloads {
            prop_assert_eq!(opened.get(base + delta - first), Some(payload.as_slice()));
        }
        prop_assume!(key != other);
        prop_assert!(open(&stored, &other).is_err());
        // Eight bytes in a row of what is inside do not stand outside.
        for payload in payloads.values().filter(|payload| payload.len() >= 8) {
            prop_assert!(!stored.windows(8).any(|window| window == &payload[..8]));
        }
    }

    #[test]
    fn a_change_anywhere_is_refused(
        payloads in vec(vec(any::<u8>(), 0..100), 1..8),
        at in any::<prop::sample::Index>(),
        bit in 0..8,
    ) {
        let sound = sealed((1..).zip(payloads.iter().map(Vec::as_slice)));
        let mut stored = sound.clone();
        let at = at.index(stored.len());
        stored[at] ^= 1_u8 << bit;
        prop_assert!(open(&stored, &KEY).is_err(), "bit {} of byte {}", bit, at);
        prop_assert!(open(&sound[..at], &KEY).is_err(), "cut short at {}", at);
        stored[at] ^= 1_u8 << bit;
        stored.push(0);
        prop_assert!(open(&stored, &KEY).is_err(), "a byte too many");
    }
}

#[test]
fn a_flip_of_every_bit_is_refused_and_in_the_header_even_without_the_key() {
    let sound = sealed([(10, &b"ab"[..]), (12, b""), (13, b"c")]);
    let body = 60 + 3 * 8;
    assert_eq!(sound.len(), body + 3 + 16);
    for bit in 0..8 * sound.len() {
        let mut stored = sound.clone();
        stored[bit / 8] ^= 1 << (bit % 8);
        assert!(open(&stored, &KEY).is_err(), "bit {bit}");
        let header = PackHeader::read(&stored);
        // What the header says of a pack whose body is damaged can be believed.
        assert_eq!(header.is_ok(), bit / 8 >= body, "bit {bit}");
    }
}

#[test]
fn each_refusal_says_what_is_wrong() {
    let sound = sealed([(10, &b"ab"[..]), (13, b"c")]);
    let change = |at: usize, value: u8| {
        let mut stored = sound.clone();
        stored[at] = value;
        stored
    };
    assert_eq!(open(&sound, &KEY).unwrap().get(13), Some(&b"c"[..]));
    assert_eq!(why(open(&sound, &[0; 32])), "it is not what was encrypted, or not with this key");
    assert_eq!(why(Pack::open(&sound)), "it is encrypted, and no key is at hand");
    assert_eq!(why(PackHeader::read(&change(3, b'3'))), "it does not begin as one");
    // Neither of the two may pass for the other.
    assert_eq!(why(PackHeader::read(&change(3, b'1'))), "unknown flags 0x2");
    assert_eq!(why(PackHeader::read(&change(4, 0))), "unknown flags 0x0");
    assert_eq!(why(PackHeader::read(&change(20, 9))), "the check of its header does not match");
    assert_eq!(why(PackHeader::read(&change(6, 255))), "the check of its header does not match");
    assert_eq!(why(PackHeader::read(&sound[..40])), "24 bytes wanted, 12 left");
    let last = sound.len() - 1;
    let why = why(open(&change(last, !sound[last]), &KEY));
    assert_eq!(why, "it is not what was encrypted, or not with this key");
}

#[test]
fn a_plain_pack_needs_no_key() {
    let mut builder = PackBuilder::default();
    builder.push(7, b"plain");
    let (_, stored) = builder.finish();
    let header = PackHeader::read(&stored).unwrap();
    assert_eq!((header.leaf(), header.seqs().collect::<Vec<_>>()), (None, vec![7]));
    assert_eq!(header.clone().open(None).unwrap().get(7), Some(&b"plain"[..]));
    assert_eq!(header.open(Some(&KEY)).unwrap().get(7), Some(&b"plain"[..]));
}

#[test]
fn what_is_written_about_a_seal_keeps_its_key() {
    let seal = Seal { leaf: 3, nonce: NONCE, key: &KEY };
    assert_eq!(format!("{seal:?}"), "Seal { leaf: 3, .. }");
}
