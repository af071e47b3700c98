//! The events behind the golden files: the smallest, an ordinary and the largest of every kind.
//! They are written out by hand and change only together with the files in `schemas/golden`.

use lacuna_core::event::{
    Cause, Check, Claim, ClaimSource, ContradictionNoted, ContradictionResolved, Cost, Event,
    LossyCommitted, LostSpan, PruneExecuted, PruneRejected, PrunedSpan, Recorded, SessionOpened,
    SpanRead, SpanRecorded, SpanRestored, SummaryRecorded,
};
use lacuna_core::{
    ClaimOrigin, CommandStamp, Contract, Digest, DirectiveNo, Origin, PruneMode, Purpose,
    RejectReason, Role, SessionKey, SessionNo, Source, SpanId, SpanKind, Storage, Timestamp,
    TokensFrom,
};

/// Outside the basic plane, combining, right to left, and a byte order mark.
pub(crate) const TEXT: &str = "𝔏acuna 🕳️ e\u{301} שלום \u{feff}\u{0}";

pub(crate) fn id(text: &str) -> SpanId {
    text.parse().unwrap()
}

pub(crate) fn ids(range: std::ops::RangeInclusive<u32>) -> Vec<SpanId> {
    range.map(|n| id(&format!("s{n}"))).collect()
}

fn labels(pairs: &[(&str, &str)]) -> std::collections::BTreeMap<String, String> {
    pairs.iter().map(|&(key, value)| (key.into(), value.into())).collect()
}

fn some(text: &str) -> Option<String> {
    Some(text.into())
}

/// An event with one of three headers: the smallest, an ordinary one, the largest.
pub(crate) fn recorded(header: usize, event: Event) -> Recorded {
    let (number, principal) =
        [(1, "a".into()), (65_536, "worker-1".into()), (u64::MAX, "P".repeat(64))][header].clone();
    let command = [
        None,
        Some(CommandStamp { id: "cmd-0001".parse().unwrap(), request: [0x5a; 16] }),
        // 128 characters of four bytes: the longest there can be.
        Some(CommandStamp { id: "𝕫".repeat(128).parse().unwrap(), request: [0xff; 16] }),
    ][header]
        .clone();
    Recorded {
        seq: number,
        version: [1, 251, u64::MAX][header],
        at: Timestamp([0, 1_796_018_400_123, u64::MAX][header]),
        session: SessionNo([1, 1 << 32, u64::MAX][header]),
        principal: principal.parse().unwrap(),
        command,
        previous: [Digest::default(), Digest::of(b"previous"), Digest([0xff; 32])][header],
        hash: Digest::default(),
        event,
    }
}

/// Every golden event with the name of its files.
pub(crate) fn golden() -> Vec<(String, Recorded)> {
    let kinds = [
        opened(),
        spans(),
        summaries(),
        executed(),
        rejected(),
        lossy(),
        ["a", "block_7", &"x".repeat(128)]
            .map(|span| Event::SpanRestored(SpanRestored { span: id(span) }))
            .to_vec(),
        [("a", Purpose::Expand), ("a.b:c-d_1", Purpose::Audit), ("s65536", Purpose::Reground)]
            .map(|(span, purpose)| Event::SpanRead(SpanRead { span: id(span), purpose }))
            .to_vec(),
        noted(),
        // A length of one byte, of three (251 and more) and of five (65536 and more).
        [(0, String::new()), (65_535, TEXT.into()), (u32::MAX, "n".repeat(65_536))]
            .map(|(contradiction, note)| {
                Event::ContradictionResolved(ContradictionResolved { contradiction, note })
            })
            .to_vec(),
        vec![Event::SessionClosed; 3],
    ];
    let mut all = Vec::new();
    for events in kinds {
        for (number, event) in (1..).zip(events) {
            let name = format!("{}.v1.{number}", event.kind());
            all.push((name, recorded((number - 1) % 3, event)));
        }
    }
    all
}

fn opened() -> Vec<Event> {
    let key = |tenant: &str, session: &str| SessionKey {
        tenant: tenant.parse().unwrap(),
        session: session.parse().unwrap(),
    };
    // Labels are kept in order and counted: 251 of them take a length of three bytes.
    let many = (0..251).map(|n| (format!("k{n:03}"), format!("{n}"))).collect();
    [
        (key("t", "s"), 0, 0, Contract::Enforce, labels(&[])),
        (key("acme", "run-7"), 200_000, 150_000, Contract::Record, labels(&[("lang", TEXT)])),
        (key(&"T".repeat(64), &"S".repeat(64)), u64::MAX, u32::MAX, Contract::Enforce, many),
        (key("t", "s"), 250, 251, Contract::Enforce, labels(&[("", "")])),
        (key("t", "s"), 65_535, 65_536, Contract::Enforce, labels(&[])),
        (key("t", "s"), 1 << 32, 250, Contract::Enforce, labels(&[])),
    ]
    .into_iter()
    .map(|(key, window_tokens, reserve_ppm, contract, labels)| {
        Event::SessionOpened(SessionOpened { key, window_tokens, reserve_ppm, contract, labels })
    })
    .collect()
}

fn spans() -> Vec<Event> {
    let smallest = SpanRecorded {
        span: id("a"),
        role: Role::System,
        origin: Origin::User,
        kind: SpanKind::Message,
        storage: Storage::Journal,
        digest: Digest::default(),
        bytes: 0,
        media_type: String::new(),
        tokens: 0,
        tokens_from: TokensFrom::Declared,
        hedged: false,
        pinned: false,
        turn: None,
        answers: None,
        supersedes: None,
        labels: labels(&[]),
        source: None,
        in_window: false,
    };
    let ordinary = SpanRecorded {
        span: id("block_7"),
        role: Role::Tool,
        origin: Origin::Tool,
        kind: SpanKind::ToolResult,
        storage: Storage::Withheld { reason: TEXT.into() },
        digest: Digest::of(b"content"),
        bytes: 65_536,
        media_type: "text/plain".into(),
        tokens: 251,
        tokens_from: TokensFrom::Counted,
        hedged: true,
        pinned: false,
        turn: Some(250),
        answers: Some(id("call_1")),
        supersedes: None,
        labels: labels(&[("a", "1"), ("b", "2")]),
        source: Some(Source { format: "jsonl".into(), id: None, parent: None, time: None }),
        in_window: true,
    };
    let largest = SpanRecorded {
        span: id(&"z".repeat(128)),
        role: Role::Assistant,
        origin: Origin::Harness,
        kind: SpanKind::Constraint,
        storage: Storage::External { store: "s3".into(), key: TEXT.into() },
        digest: Digest([0xff; 32]),
        bytes: u64::MAX,
        media_type: "m".repeat(251),
        tokens: u32::MAX,
        tokens_from: TokensFrom::Estimated,
        pinned: true,
        turn: Some(u64::MAX),
        supersedes: Some(id("old")),
        source: Some(Source {
            format: TEXT.into(),
            id: some("i"),
            parent: some(""),
            time: some("2026-11-30T06:00:00Z"),
        }),
        ..ordinary.clone()
    };
    let turns = [0, 251, 65_535, 65_536, 1 << 32];
    let boundaries =
        turns.map(|turn| SpanRecorded { turn: Some(turn), bytes: turn, ..smallest.clone() });
    [smallest, ordinary, largest].into_iter().chain(boundaries).map(Event::SpanRecorded).collect()
}

fn summaries() -> Vec<Event> {
    let source = |span: &str, quote: Option<&str>| ClaimSource {
        span: id(span),
        quote: quote.map(Into::into),
    };
    let claim = |text: &str, origin, sources| Claim { text: text.into(), origin, sources };
    let claims = vec![
        claim("It failed.", ClaimOrigin::ToolOutput, vec![source("s1", some("failed").as_deref())]),
        claim(TEXT, ClaimOrigin::Hedged, vec![source("s1", None), source("s2", Some(""))]),
        claim("", ClaimOrigin::UserSaid, Vec::new()),
    ];
    let many = (0..300).map(|n| claim(&n.to_string(), ClaimOrigin::Inferred, Vec::new())).collect();
    [
        ("a", Vec::new(), Digest::default(), 0, 0, Vec::new()),
        ("sum_1", ids(1..=2), Digest::of(b"summary"), 250, 65_535, claims),
        ("sum_2", ids(1..=300), Digest([0xff; 32]), u64::MAX, u32::MAX, many),
    ]
    .into_iter()
    .map(|(span, covers, digest, bytes, tokens, claims)| {
        let span = id(span);
        Event::SummaryRecorded(SummaryRecorded { span, covers, digest, bytes, tokens, claims })
    })
    .collect()
}

fn pruned(n: u32) -> PrunedSpan {
    let check = Check {
        existence: n & 1 != 0,
        addressability: n & 2 != 0,
        provenance: n & 4 != 0,
        why: (n != 7).then(|| format!("conditions {n} {TEXT}")),
    };
    let durable_until = n.is_multiple_of(2).then(|| Timestamp(1 << (8 * n)));
    PrunedSpan { span: id(&format!("s{n}")), digest: Digest::of(&[n as u8]), check, durable_until }
}

fn executed() -> Vec<Event> {
    let cost = |kept, rewritten, invalid| Cost {
        prefix_kept_tokens: kept,
        prefix_rewritten_tokens: rewritten,
        thinking_invalidated: invalid,
    };
    let smallest = PruneExecuted {
        directive: DirectiveNo(0),
        mode: PruneMode::Drop,
        spans: Vec::new(),
        replace_with: None,
        accept_lossy: false,
        min_durability_ms: None,
        reason: None,
        freed_tokens: 0,
        cost: cost(0, 0, Vec::new()),
    };
    let ordinary = PruneExecuted {
        directive: DirectiveNo(250),
        mode: PruneMode::Summarize,
        spans: (0..8).map(pruned).collect(),
        replace_with: Some(id("sum_1")),
        accept_lossy: true,
        min_durability_ms: Some(65_536),
        reason: some(TEXT),
        freed_tokens: -125,
        cost: cost(251, 1 << 32, ids(1..=3)),
    };
    let largest = PruneExecuted {
        directive: DirectiveNo(u32::MAX),
        mode: PruneMode::Compress,
        min_durability_ms: Some(u64::MAX),
        reason: some(""),
        freed_tokens: i64::MIN,
        cost: cost(u64::MAX, u64::MAX, ids(1..=300)),
        ..ordinary.clone()
    };
    // Signed numbers are stored zigzag: these stand at the boundaries of that.
    let freed = [i64::MAX, 125, -126, 126, 32_767, -32_769, 1 << 31];
    let signed = freed.map(|freed_tokens| PruneExecuted { freed_tokens, ..smallest.clone() });
    [smallest, ordinary, largest].into_iter().chain(signed).map(Event::PruneExecuted).collect()
}

fn rejected() -> Vec<Event> {
    let smallest = PruneRejected {
        directive: DirectiveNo(1),
        mode: PruneMode::Drop,
        spans: Vec::new(),
        why: RejectReason::EmptyDirective,
        advice: String::new(),
        concerned: Vec::new(),
        replace_with: None,
        accept_lossy: false,
        reason: None,
    };
    let ordinary = PruneRejected {
        directive: DirectiveNo(65_536),
        mode: PruneMode::Summarize,
        spans: vec![pruned(5), pruned(7)],
        why: RejectReason::NotReversible,
        advice: TEXT.into(),
        concerned: ids(5..=5),
        replace_with: Some(id("sum_1")),
        accept_lossy: false,
        reason: some("tidying"),
    };
    let largest = PruneRejected {
        directive: DirectiveNo(u32::MAX),
        mode: PruneMode::Compress,
        spans: (0..251).map(|n| PrunedSpan { span: id(&format!("s{n}")), ..pruned(6) }).collect(),
        why: RejectReason::SummaryNotAudited,
        concerned: ids(0..=250),
        accept_lossy: true,
        ..ordinary.clone()
    };
    vec![smallest, ordinary, largest].into_iter().map(Event::PruneRejected).collect()
}

fn lossy() -> Vec<Event> {
    let lost = |n: u32| LostSpan {
        span: id(&format!("s{n}")),
        digest: Digest::of(&n.to_le_bytes()),
        bytes: u64::from(n),
        tokens: n,
    };
    let by = "P".repeat(64).parse().unwrap();
    let directive = Cause::Directive { directive: DirectiveNo(7), by: "worker-1".parse().unwrap() };
    [
        (Vec::new(), Cause::Damage { found: String::new() }),
        (vec![lost(0), lost(250), lost(251), lost(65_535), lost(65_536)], directive),
        ((1..=300).map(lost).collect(), Cause::Directive { directive: DirectiveNo(u32::MAX), by }),
        (vec![lost(u32::MAX)], Cause::Damage { found: TEXT.into() }),
    ]
    .into_iter()
    .map(|(spans, cause)| Event::LossyCommitted(LossyCommitted { spans, cause }))
    .collect()
}

fn noted() -> Vec<Event> {
    [(0, Vec::new(), None), (251, ids(1..=2), some(TEXT)), (u32::MAX, ids(1..=300), some(""))]
        .into_iter()
        .map(|(contradiction, spans, note)| {
            Event::ContradictionNoted(ContradictionNoted { contradiction, spans, note })
        })
        .collect()
}
