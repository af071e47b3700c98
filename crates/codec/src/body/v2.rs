//! Bodies, version 2. Frozen: a change is a new version in a file of its own.

use bincode::{Decode, Encode};

use super::v1::{FindingV1, LostSpanV1, frozen};

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
    /// `cause`: 1 directive, `number` and `by`; 2 damage, `text` (the finding); 3 retention, `number`
    /// (the run), `policy` and `text` (the rule); 4 erasure, `by` and `text` (the reason).
    struct LossyCommittedV2 {
        spans: Vec<LostSpanV1>,
        cause: u8,
        number: u32,
        policy: u32,
        by: String,
        text: String,
        residue: bool,
    }
}
