//! Bodies, version 2. Frozen: a change is a new version in a file of its own.

use bincode::{Decode, Encode};

use super::v1::{FindingV1, frozen};

frozen! {
    /// Version 1 held the claims themselves. They are content, which retention must be able to
    /// remove, and stand behind the text in the payload since.
    struct SummaryRecordedV2 {
        span: String,
        covers: Vec<String>,
        digest: [u8; 32],
        bytes: u64,
        tokens: u32,
        claim_count: u32,
        claim_bytes: u64,
        claim_digest: [u8; 32],
        cites: Vec<String>,
        asked: Option<String>,
        status: u8,
        findings: Vec<FindingV1>,
        depth: u32,
        tag_tokens: u32,
        identifiers: u32,
        identifiers_kept: u32,
    }
}
