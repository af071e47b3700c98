//! The events behind the golden files: the smallest, an ordinary and the largest of every kind.
//! They are written out by hand and change only together with the files in `schemas/golden`.

use lacuna_codec::KINDS;
use lacuna_core::event::{
    AlertRaised, AuditNote, Cause, Check, ContradictionNoted, ContradictionResolved, Cost, Event,
    LossyCommitted, LostSpan, PruneExecuted, PruneRejected, PrunedSpan, Recorded, SessionOpened,
    SpanRead, SpanRecorded, SpanRestored, StoredClaims, SummaryAudited, SummaryRecorded,
    SummaryStatus,
};
use lacuna_core::{
    Alert, CommandStamp, Contract, Digest, DirectiveNo, Finding, FindingCode, Origin, PruneMode,
    Purpose, RejectReason, Role, SessionKey, SessionNo, Source, SpanId, SpanKind, Storage,
    Timestamp, TokensFrom,
};

use crate::{samples_imported, samples_past, samples_retention};

/// Outside the basic plane, combining, right to left, and a byte order mark.
pub(crate) const TEXT: &str = "𝔏acuna 🕳️ e\u{301} שלום \u{feff}\u{0}";

pub(crate) fn id(text: &str) -> SpanId {
    text.parse().unwrap()
}

pub(crate) fn ids(range: std::ops::RangeInclusive<u32>) -> Vec<SpanId> {
    range.map(|n| id(&format!("s{n}"))).collect()
}

pub(crate) fn labels(pairs: &[(&str, &str)]) -> std::collections::BTreeMap<String, String> {
    pairs.iter().map(|&(key, value)| (key.into(), value.into())).collect()
}

pub(crate) fn some(text: &str) -> Option<String> {
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
        imported: None,
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
        audited(),
        alerts(),
        samples_retention::policies(),
        samples_retention::placed(),
        samples_retention::released(),
        samples_retention::noticed(),
        samples_retention::opened_runs(),
        samples_retention::closed_runs(),
        samples_past::receipts(),
        samples_past::forks(),
    ];
    let mut all = Vec::new();
    for events in kinds {
        for (number, event) in (1..).zip(events) {
            let kind = KINDS.iter().find(|kind| kind.name == event.kind()).unwrap();
            let name = format!("{}.v{}.{number}", kind.name, kind.version);
            all.push((name, recorded((number - 1) % 3, event)));
        }
    }
    let kind = KINDS.iter().find(|kind| kind.name == "event-imported").unwrap();
    for (number, imported) in (1..).zip(samples_imported::imported()) {
        all.push((format!("{}.v{}.{number}", kind.name, kind.version), imported));
    }
    all
}

pub(crate) fn opened() -> Vec<Event> {
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

fn finding(code: FindingCode, claim: Option<u32>, span: Option<&str>) -> Finding {
    Finding { claim, span: span.map(id), ..Finding::new(code) }
}

fn summaries() -> Vec<Event> {
    let smallest = SummaryRecorded {
        span: id("a"),
        covers: Vec::new(),
        digest: Digest::default(),
        bytes: 0,
        tokens: 0,
        claims: StoredClaims::default(),
        cites: Vec::new(),
        asked: None,
        status: SummaryStatus::Accepted,
        findings: Vec::new(),
        depth: 0,
        tag_tokens: 0,
        identifiers: 0,
        identifiers_kept: 0,
    };
    let ordinary = SummaryRecorded {
        span: id("sum_1"),
        covers: ids(1..=2),
        digest: Digest::of(b"summary"),
        bytes: 250,
        tokens: 65_535,
        claims: StoredClaims { count: 3, bytes: 251, digest: Digest::of(b"claims") },
        cites: ids(1..=3),
        status: SummaryStatus::NeedsAudit,
        depth: 1,
        tag_tokens: 12,
        identifiers: 300,
        identifiers_kept: 250,
        ..smallest.clone()
    };
    let refused = SummaryRecorded {
        span: id("sum_1:refused1"),
        asked: Some(id("sum_1")),
        status: SummaryStatus::Rejected,
        findings: FindingCode::ALL
            .iter()
            .zip(0..)
            .map(|(&code, n)| Finding {
                at: (n % 2 == 0).then_some((n, 65_536)),
                ..finding(code, (n > 2).then_some(n), (n % 3 == 0).then_some("s1"))
            })
            .collect(),
        ..ordinary.clone()
    };
    let largest = SummaryRecorded {
        span: id("sum_2"),
        covers: ids(1..=300),
        digest: Digest([0xff; 32]),
        bytes: u64::MAX,
        tokens: u32::MAX,
        claims: StoredClaims { count: u32::MAX, bytes: u64::MAX, digest: Digest([0xff; 32]) },
        cites: ids(0..=250),
        depth: u32::MAX,
        tag_tokens: u32::MAX,
        identifiers: u32::MAX,
        identifiers_kept: u32::MAX,
        ..refused.clone()
    };
    [smallest, ordinary, refused, largest].into_iter().map(Event::SummaryRecorded).collect()
}

/// What the golden files of version 1 are read as, by name: its claims are counted, and what they
/// cite is known.
pub(crate) fn summaries_of_version_1() -> Vec<(String, Recorded)> {
    [
        ("a", Vec::new(), Digest::default(), 0, 0, 0, Vec::new()),
        ("sum_1", ids(1..=2), Digest::of(b"summary"), 250, 65_535, 3, ids(1..=2)),
        ("sum_2", ids(1..=300), Digest([0xff; 32]), u64::MAX, u32::MAX, 300, Vec::new()),
    ]
    .into_iter()
    .zip(0..)
    .map(|((span, covers, digest, bytes, tokens, count, cites), header)| {
        let event = Event::SummaryRecorded(SummaryRecorded {
            span: id(span),
            covers,
            digest,
            bytes,
            tokens,
            claims: StoredClaims { count, ..StoredClaims::default() },
            cites,
            asked: None,
            status: SummaryStatus::Accepted,
            findings: Vec::new(),
            depth: 1,
            tag_tokens: 0,
            identifiers: 0,
            identifiers_kept: 0,
        });
        (format!("summary-recorded.v1.{}", header + 1), recorded(header, event))
    })
    .collect()
}

fn audited() -> Vec<Event> {
    let note = |code: &str, claim, span: Option<&str>, message: Option<&str>| AuditNote {
        code: some(code),
        claim,
        span: span.map(id),
        message: message.map(Into::into),
    };
    [
        ("a", false, false, Vec::new(), Vec::new()),
        ("sum_1", true, true, Vec::new(), vec![note("", Some(0), None, Some(TEXT))]),
        (
            "sum_2",
            true,
            false,
            vec![
                finding(FindingCode::SelfAudited, None, Some("sum_2")),
                finding(FindingCode::AuditorWithoutEvidence, None, Some("s1")),
            ],
            vec![note("hedge_dropped", Some(u32::MAX), Some("s1"), None); 300],
        ),
    ]
    .into_iter()
    .map(|(summary, pass, accepted, findings, notes)| {
        Event::SummaryAudited(SummaryAudited {
            summary: id(summary),
            pass,
            accepted,
            findings,
            notes,
        })
    })
    .collect()
}

fn alerts() -> Vec<Event> {
    [(Vec::new(), ""), (ids(1..=2), TEXT), (ids(1..=300), "look at it")]
        .into_iter()
        .map(|(spans, message)| {
            let alert = Alert::SummariesRefused;
            Event::AlertRaised(AlertRaised { alert, spans, message: message.into() })
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
    let mut events = lossy_before();
    let retention =
        Cause::Retention { run: u32::MAX, policy: 250, rule: format!("tool output {TEXT}") };
    let erasure = Cause::Erasure { by: "P".repeat(64).parse().unwrap(), reason: TEXT.into() };
    let spans = [lost_span(7), lost_span(65_536)];
    events.extend([retention, erasure].map(|cause| {
        Event::LossyCommitted(LossyCommitted { spans: spans.to_vec(), cause, residue: true })
    }));
    events
}

fn lost_span(n: u32) -> LostSpan {
    LostSpan {
        span: id(&format!("s{n}")),
        digest: Digest::of(&n.to_le_bytes()),
        bytes: u64::from(n),
        tokens: n,
    }
}

/// Losses with the causes of version 1.
fn lossy_before() -> Vec<Event> {
    let lost = lost_span;
    let by = "P".repeat(64).parse().unwrap();
    let directive = Cause::Directive { directive: DirectiveNo(7), by: "worker-1".parse().unwrap() };
    [
        (Vec::new(), Cause::Damage { found: String::new() }),
        (vec![lost(0), lost(250), lost(251), lost(65_535), lost(65_536)], directive),
        ((1..=300).map(lost).collect(), Cause::Directive { directive: DirectiveNo(u32::MAX), by }),
        (vec![lost(u32::MAX)], Cause::Damage { found: TEXT.into() }),
    ]
    .into_iter()
    .map(|(spans, cause)| Event::LossyCommitted(LossyCommitted { spans, cause, residue: false }))
    .collect()
}

/// What the golden files of version 1 are read as, by name.
pub(crate) fn lossy_of_version_1() -> Vec<(String, Recorded)> {
    let named = |(number, event): (usize, Event)| {
        (format!("lossy-committed.v1.{number}"), recorded((number - 1) % 3, event))
    };
    (1..).zip(lossy_before()).map(named).collect()
}

fn noted() -> Vec<Event> {
    [(0, Vec::new(), None), (251, ids(1..=2), some(TEXT)), (u32::MAX, ids(1..=300), some(""))]
        .into_iter()
        .map(|(contradiction, spans, note)| {
            Event::ContradictionNoted(ContradictionNoted { contradiction, spans, note })
        })
        .collect()
}
