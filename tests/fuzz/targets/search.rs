//! Searches: an answer says no more and no less than is in the contents.
//!
//! Input: a byte that says whether it is a regular expression (odd) or the very words, then the pattern.
#![no_main]

use lacuna_fuzz::{desk, first};
use lacuna_wire::session::SearchReply;
use lacuna_wire::{Code, WireError};
use libfuzzer_sys::fuzz_target;
use regex::bytes::RegexBuilder;
use serde_json::json;

/// What the product lets a regular expression take.
const PROGRAM: usize = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    let (which, pattern) = first(bytes);
    let Ok(pattern) = std::str::from_utf8(pattern) else { return };
    let is_regex = which % 2 == 1;
    let body = json!({ if is_regex { "regex" } else { "literal" }: pattern }).to_string();
    let answer = desk::ask("session.s.search", body.as_bytes(), 1 << 20);
    let contents = desk::CONTENTS;
    if is_regex && let Ok(regex) = RegexBuilder::new(pattern).size_limit(PROGRAM).build() {
        check(answer, pattern, contents.iter().any(|content| regex.is_match(content.as_bytes())));
    } else if is_regex {
        assert_eq!(answer.map_err(|error| error.code), Err(Code::BadRequest));
    } else {
        check(answer, pattern, contents.iter().any(|content| content.contains(pattern)));
    }
});

fn check(answer: Result<Vec<u8>, WireError>, pattern: &str, is_there: bool) {
    if pattern.is_empty() {
        assert_eq!(answer.map_err(|error| error.code), Err(Code::BadRequest));
        return;
    }
    let answer = answer.expect("a pattern is searched");
    let reply: SearchReply = serde_json::from_slice(&answer).expect("a reply of the contract");
    assert_eq!(reply.verdict, if is_there { "found" } else { "absent" }, "{pattern:?}");
    // One that is found so often that the rest does not matter ends early.
    assert!(is_there || reply.scanned.spans as usize == desk::CONTENTS.len());
}
