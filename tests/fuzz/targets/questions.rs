//! Questions about a journal, as they come from the network: every one is answered, within the size that a
//! message may have.
//!
//! Input: the target and the verb on a line, then the body.
#![no_main]

use lacuna_fuzz::desk;
use lacuna_wire::Code;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// Those that change nothing, and take no longer than the session is large.
const QUESTIONS: [&str; 19] = [
    "session.s.expand",
    "session.s.window",
    "session.s.durability",
    "session.s.tombstones",
    "session.s.history",
    "session.s.suggest",
    "session.s.explain",
    "session.s.diff",
    "session.s.search",
    "session.s.export",
    "session.f.window",
    "session.f.history",
    "session.f.diff",
    "retention.policy-get",
    "retention.evaluate",
    "retention.plan",
    "retention.ledger",
    "journal.events",
    "journal.sessions",
];

fuzz_target!(|bytes: &[u8]| {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (target, body) = (&bytes[..end], bytes.get(end + 1..).unwrap_or_default());
    let Some(target) = QUESTIONS.iter().find(|question| question.as_bytes() == target) else {
        return;
    };
    // An auditor's expand is recorded: it would make the session longer with every run.
    let recorded = [&b"audit"[..], b"reground", b"\\u"];
    if recorded.iter().any(|word| body.windows(word.len()).any(|window| window == *word)) {
        return;
    }
    for max in [1 << 20, 4_096] {
        match desk::ask(target, body, max) {
            Ok(reply) => {
                assert!(reply.len() <= max, "{target}: {} bytes", reply.len());
                let reply: Value = serde_json::from_slice(&reply).expect("a reply is JSON");
                assert!(reply.is_object());
            }
            Err(error) => {
                let ours = [Code::Unavailable, Code::Overloaded, Code::NotPermitted];
                assert!(!ours.contains(&error.code), "{target}: {error}");
            }
        }
    }
});
