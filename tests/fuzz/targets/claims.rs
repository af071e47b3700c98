//! The claims of a summary: what is read is written again as something that reads the same.
#![no_main]

use lacuna_codec::{decode_claims, encode_claims};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(claims) = decode_claims(bytes) else { return };
    let (stored, again) = encode_claims(&claims).expect("what was read can be written");
    assert_eq!(stored.count as usize, claims.len());
    assert_eq!(stored.bytes as usize, again.len());
    assert_eq!(decode_claims(&again).expect("what was written can be read"), claims);
});
