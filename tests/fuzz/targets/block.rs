//! Blocks: the stored value as it is, and with a check that fits.
#![no_main]

use lacuna_codec::{Block, BlockBuilder};
use lacuna_fuzz::forge;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    read(&forge::block(bytes));
});

fn read(stored: &[u8]) {
    let Ok(block) = Block::open(stored) else { return };
    assert!(block.end() > block.first);
    assert_eq!(block.stored_events().count(), block.count as usize);
    assert!(
        block.stored_events().all(|event| event.is_ok()),
        "lengths are checked when it is opened"
    );
    let events: Result<Vec<_>, _> = block.events().collect();
    let Ok(mut events) = events else { return };
    let mut builder = BlockBuilder::default();
    for event in &mut events {
        builder.push(event).expect("what was read can be written");
    }
    let again = builder.finish(&block.previous);
    let read = Block::open(&again).expect("what was written can be read");
    assert_eq!((read.first, read.count, read.previous), (block.first, block.count, block.previous));
    let same = read.events().zip(events).all(|(read, event)| read.is_ok_and(|read| read == event));
    assert!(same, "the events are the same");
}
