//! The front of the log: as it is, and with a check that fits.
#![no_main]

use lacuna_codec::LogFront;
use lacuna_fuzz::forge::{self, JOURNAL};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for stored in [bytes.to_vec(), forge::log_front(bytes)] {
        let Some(front) = LogFront::read(&stored, JOURNAL) else { continue };
        assert_eq!(front.encode(JOURNAL), stored[..LogFront::SIZE]);
    }
});
