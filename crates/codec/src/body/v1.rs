//! Bodies, version 1. Frozen: a change is a new version in a file of its own.

use bincode::{Decode, Encode};

pub(crate) type Pairs = Vec<(String, String)>;

macro_rules! frozen {
    ($($(#[$doc:meta])* struct $name:ident { $($field:ident: $type:ty),* $(,)? })+) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, PartialEq, Encode, Decode)]
            #[cfg_attr(test, derive(wincode::SchemaRead, wincode::SchemaWrite))]
            pub(crate) struct $name { $(pub(crate) $field: $type),* }
        )+
    };
}

frozen! {
    struct SessionOpenedV1 {
        tenant: String,
        session: String,
        window_tokens: u64,
        reserve_ppm: u32,
        contract: u8,
        labels: Pairs,
    }
    /// `storage`: 1 journal; 2 withheld, `store` is the reason; 3 external, `store` and `key`.
    struct SpanRecordedV1 {
        span: String,
        role: u8,
        origin: u8,
        kind: u8,
        storage: u8,
        store: String,
        key: String,
        digest: [u8; 32],
        bytes: u64,
        media_type: String,
        tokens: u32,
        tokens_from: u8,
        hedged: bool,
        pinned: bool,
        in_window: bool,
        turn: Option<u64>,
        answers: Option<String>,
        supersedes: Option<String>,
        labels: Pairs,
        source: Option<SourceV1>,
    }
    struct SourceV1 {
        format: String,
        id: Option<String>,
        parent: Option<String>,
        time: Option<String>,
    }
    struct SummaryRecordedV1 {
        span: String,
        covers: Vec<String>,
        digest: [u8; 32],
        bytes: u64,
        tokens: u32,
        claims: Vec<ClaimV1>,
    }
    struct ClaimV1 {
        text: String,
        origin: u8,
        sources: Vec<ClaimSourceV1>,
    }
    struct ClaimSourceV1 {
        span: String,
        quote: Option<String>,
    }
    /// `conditions`: 1 existence, 2 addressability, 4 provenance.
    struct PrunedSpanV1 {
        span: String,
        digest: [u8; 32],
        conditions: u8,
        why: Option<String>,
        durable_until: Option<u64>,
    }
    struct PruneExecutedV1 {
        directive: u32,
        mode: u8,
        spans: Vec<PrunedSpanV1>,
        replace_with: Option<String>,
        accept_lossy: bool,
        min_durability_ms: Option<u64>,
        reason: Option<String>,
        freed_tokens: i64,
        prefix_kept_tokens: u64,
        prefix_rewritten_tokens: u64,
        thinking_invalidated: Vec<String>,
    }
    struct PruneRejectedV1 {
        directive: u32,
        mode: u8,
        spans: Vec<PrunedSpanV1>,
        why: u8,
        advice: String,
        concerned: Vec<String>,
        replace_with: Option<String>,
        accept_lossy: bool,
        reason: Option<String>,
    }
    /// `cause`: 1 directive, `directive` and `text` (its sender); 2 damage, `text` (the finding).
    struct LossyCommittedV1 {
        spans: Vec<LostSpanV1>,
        cause: u8,
        directive: u32,
        text: String,
    }
    struct LostSpanV1 {
        span: String,
        digest: [u8; 32],
        bytes: u64,
        tokens: u32,
    }
    struct SpanRestoredV1 { span: String }
    struct SpanReadV1 { span: String, purpose: u8 }
    struct ContradictionNotedV1 {
        contradiction: u32,
        spans: Vec<String>,
        note: Option<String>,
    }
    struct ContradictionResolvedV1 { contradiction: u32, note: String }
    /// `at`: a range of bytes in the claim's text, or in the summary's if there is no claim.
    struct FindingV1 {
        code: u8,
        claim: Option<u32>,
        span: Option<String>,
        at: Option<TextRangeV1>,
    }
    struct TextRangeV1 { start: u32, end: u32 }
    struct AuditNoteV1 {
        code: Option<String>,
        claim: Option<u32>,
        span: Option<String>,
        message: Option<String>,
    }
    struct SummaryAuditedV1 {
        summary: String,
        pass: bool,
        accepted: bool,
        findings: Vec<FindingV1>,
        notes: Vec<AuditNoteV1>,
    }
    struct AlertRaisedV1 { alert: u8, spans: Vec<String>, message: String }
    struct PolicySetV1 { policy: u32, rules: Vec<RuleV1> }
    /// `since`: 0 if there is no period.
    struct RuleV1 {
        id: String,
        matches: MatchV1,
        forever: bool,
        period_ms: u64,
        since: u8,
        max_bytes: Option<u64>,
        max_spans: Option<u64>,
        notice_ms: u64,
        live_handles: u8,
        residue: bool,
    }
    struct MatchV1 {
        sessions: Option<String>,
        origins: Vec<u8>,
        kinds: Vec<u8>,
        labels: Pairs,
        pruned: Option<bool>,
    }
    struct HoldPlacedV1 { hold: u32, matches: MatchV1, reason: String }
    struct HoldReleasedV1 { hold: u32, reason: String }
    struct NoticeGivenV1 { run: u32, policy: u32, spans: Vec<NoticedV1> }
    struct NoticedV1 { span: String, rule: String, erases_at: u64 }
    struct RunOpenedV1 {
        run: u32,
        cut: u64,
        effective_now: u64,
        policy: u32,
        unlimited: bool,
    }
    struct RunClosedV1 {
        run: u32,
        end: u8,
        removed_spans: u64,
        removed_bytes: u64,
        noticed: u64,
        deferred: u64,
        held: u64,
    }
    /// `tenant` and `session`: the name of the session here, with the event that opens it.
    struct EventImportedV1 {
        journal: String,
        tenant: Option<String>,
        session: Option<String>,
        stored: Vec<u8>,
    }
    /// `form`: 0 if it is not known how it was shown.
    struct WindowReceiptedV1 {
        receipt: u32,
        window_version: u64,
        turn: Option<u64>,
        entries: u32,
        entries_digest: [u8; 32],
        form: u8,
        rendered_digest: [u8; 32],
        sent_digest: Option<[u8; 32]>,
    }
    struct SessionForkedV1 {
        tenant: String,
        session: String,
        parent: String,
        parent_number: u64,
        at: u64,
    }
    /// The stored form of a summary's claims, behind its text in the payload.
    struct ClaimsV1 { claims: Vec<ClaimV1> }
}

pub(super) use frozen;
