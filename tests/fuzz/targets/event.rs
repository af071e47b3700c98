//! Events as stored, header and all.
#![no_main]

use lacuna_fuzz::event::holds;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    holds(bytes);
    // Whatever the lengths in the header say: with one that fits, the body is reached.
    if bytes.len() > 96 {
        let mut stored = bytes.to_vec();
        let around =
            96 + usize::from(bytes[88]) + usize::from(u16::from_le_bytes([bytes[90], bytes[91]]));
        let body = stored.len().saturating_sub(around) as u32;
        stored[92..96].copy_from_slice(&body.to_le_bytes());
        holds(&stored);
    }
});
