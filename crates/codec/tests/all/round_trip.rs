//! What is written is read back as it was, whatever it holds.

use lacuna_codec::{KINDS, decode_event, encode_event, event_hash};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::{arbitrary, samples};

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
    // An imported event is any of them, in the bytes that it had elsewhere.
    assert_eq!(arbitrary::kinds().len() + 1, KINDS.len());
    assert_eq!(KINDS.last().unwrap().name, "event-imported");
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

#[test]
fn events_of_other_journals_lie_in_one_another_only_so_deep() {
    let mut event = samples::golden().pop().unwrap().1;
    let mut deepest = 0;
    for depth in 2_u32.. {
        let mut stored = Vec::new();
        encode_event(&mut event, &mut stored).unwrap();
        match decode_event(&stored) {
            Ok(read) => {
                assert_eq!(read.imported.as_ref().unwrap().passed, depth);
                assert_eq!(read, event);
                deepest = depth;
                let imported = event.imported.as_mut().unwrap();
                (imported.stored, imported.hash) = (stored.into(), read.hash);
                (imported.seq, imported.at, imported.session) = (read.seq, read.at, read.session);
                (imported.previous, imported.command) = (read.previous, read.command);
                imported.passed += 1;
            }
            Err(error) => {
                assert!(error.to_string().contains("too many journals"), "{error}");
                break;
            }
        }
    }
    assert_eq!(deepest, lacuna_core::MAX_PASSED);
}
