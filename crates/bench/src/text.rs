//! Payloads: prose-like text that no two requests share, so that nothing compresses by accident.

const WORDS: &[&str] = &[
    "the",
    "service",
    "returned",
    "an",
    "error",
    "while",
    "reading",
    "from",
    "ledger",
    "pool",
    "request",
    "with",
    "status",
    "retry",
    "after",
    "commit",
    "failed",
    "because",
    "connection",
    "was",
    "closed",
    "by",
    "peer",
    "and",
    "then",
    "again",
    "until",
    "deadline",
    "exceeded",
    "in",
    "function",
    "handle",
    "returns",
    "value",
    "expected",
    "found",
    "line",
    "column",
    "module",
];

/// A text of exactly this many bytes, different for each seed.
pub(crate) fn text(seed: u64, bytes: usize) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut out = String::with_capacity(bytes + 16);
    while out.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        if state.is_multiple_of(9) {
            out.push_str(&format!("{:x} ", state >> 40));
        } else {
            out.push_str(WORDS[(state >> 20) as usize % WORDS.len()]);
            out.push(' ');
        }
    }
    out.truncate(bytes);
    out
}
