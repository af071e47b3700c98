//! What is written is read back as it was, whatever it holds.

use lacuna_codec::{KINDS, decode_event, encode_event, event_hash};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::arbitrary;

#[test]
fn every_kind_comes_back_as_it_was() {
    for (kind, event) in KINDS.iter().zip(arbitrary::kinds()) {
        let strategy = arbitrary::recorded(event);
        let mut runner = TestRunner::new(Config { cases: 64, ..Config::default() });
        let tried = runner.run(&strategy, |mut recorded| {
            // The buffer is shared by the events of a block: what stood in it stays.
            let mut out = b"before".to_vec();
            encode_event(&mut recorded, &mut out).unwrap();
            prop_assert_eq!(&out[..6], b"before");
            let stored = &out[6..];
            prop_assert_eq!(recorded.event.kind(), kind.name);
            prop_assert_eq!(&stored[2..4], &kind.number.to_le_bytes()[..]);
            prop_assert_eq!(recorded.hash, event_hash(stored));
            prop_assert_eq!(decode_event(stored).unwrap(), recorded);
            Ok(())
        });
        tried.unwrap_or_else(|error| panic!("{}: {error}\n{runner}", kind.name));
    }
    assert_eq!(arbitrary::kinds().len(), KINDS.len());
}

proptest! {
    #[test]
    fn the_same_value_always_gives_the_same_bytes(
        mut recorded in arbitrary::recorded(arbitrary::event().boxed()),
    ) {
        let (mut once, mut again) = (Vec::new(), Vec::new());
        encode_event(&mut recorded, &mut once).unwrap();
        encode_event(&mut recorded.clone(), &mut again).unwrap();
        prop_assert_eq!(once, again);
    }
}
