//! The golden samples of policies, holds, notices and runs.

use lacuna_core::event::{
    Event, HoldPlaced, HoldReleased, Keep, LiveHandles, Match, NoticeGiven, Noticed, PolicySet,
    Rule, RunClosed, RunEnd, RunOpened, RunTally, Since,
};
use lacuna_core::retention::Period;
use lacuna_core::{Origin, SpanKind, Timestamp};

use crate::samples::{TEXT, id, labels, some};

/// A match of everything, an ordinary one and the largest.
fn matches(n: usize) -> Match {
    let ordinary = Match {
        sessions: some("run-*"),
        origins: vec![Origin::Tool],
        kinds: vec![SpanKind::ToolResult, SpanKind::File],
        labels: labels(&[("team", TEXT)]),
        pruned: Some(true),
    };
    let largest = Match {
        origins: Origin::ALL.to_vec(),
        kinds: SpanKind::ALL.to_vec(),
        pruned: Some(false),
        ..ordinary.clone()
    };
    [Match::default(), ordinary, largest][n].clone()
}

pub(crate) fn policies() -> Vec<Event> {
    let smallest = Rule {
        id: "a".into(),
        matches: matches(0),
        keep: Keep { forever: true, ..Keep::default() },
        notice: Period(0),
        live_handles: LiveHandles::Defer,
        residue: false,
    };
    let ordinary = Rule {
        id: "tool output".into(),
        matches: matches(1),
        keep: Keep { period: Some((Period(30 * 86_400_000), Since::Pruned)), ..Keep::default() },
        notice: Period(86_400_000),
        live_handles: LiveHandles::Commit,
        residue: true,
    };
    let largest = Rule {
        id: "r".repeat(128),
        matches: matches(2),
        keep: Keep {
            period: Some((Period::MAX, Since::Closed)),
            max_bytes: Some(u64::MAX),
            max_spans: Some(u64::MAX),
            ..Keep::default()
        },
        notice: Period::MAX,
        ..ordinary.clone()
    };
    let now = Keep { period: Some((Period(0), Since::Recorded)), ..Keep::default() };
    let at_once = Rule { keep: now, ..smallest.clone() };
    [
        (1, Vec::new()),
        (250, vec![smallest.clone(), ordinary.clone()]),
        (u32::MAX, vec![smallest, ordinary, largest, at_once]),
    ]
    .into_iter()
    .map(|(policy, rules)| Event::PolicySet(PolicySet { policy, rules }))
    .collect()
}

pub(crate) fn placed() -> Vec<Event> {
    [(1, String::new()), (251, TEXT.into()), (u32::MAX, "r".repeat(251))]
        .into_iter()
        .zip(0..)
        .map(|((hold, reason), n)| {
            Event::HoldPlaced(HoldPlaced { hold, matches: matches(n), reason })
        })
        .collect()
}

pub(crate) fn released() -> Vec<Event> {
    [(1, String::new()), (251, TEXT.into()), (u32::MAX, "r".repeat(65_536))]
        .into_iter()
        .map(|(hold, reason)| Event::HoldReleased(HoldReleased { hold, reason }))
        .collect()
}

pub(crate) fn noticed() -> Vec<Event> {
    let noticed = |n: u32| Noticed {
        span: id(&format!("s{n}")),
        rule: format!("rule {n}"),
        erases_at: Timestamp(1_796_018_400_000 + u64::from(n)),
    };
    let last = Noticed { span: id("z"), rule: TEXT.into(), erases_at: Timestamp(u64::MAX) };
    [
        (0, 0, Vec::new()),
        (1, 250, vec![noticed(1)]),
        (u32::MAX, u32::MAX, { (1..=300).map(noticed).chain([last]).collect() }),
    ]
    .into_iter()
    .map(|(run, policy, spans)| Event::NoticeGiven(NoticeGiven { run, policy, spans }))
    .collect()
}

pub(crate) fn opened_runs() -> Vec<Event> {
    [
        (1, 0, 0, 0, false),
        (251, 65_536, 1_796_018_400_123, 3, true),
        (u32::MAX, u64::MAX, u64::MAX, u32::MAX, true),
    ]
    .into_iter()
    .map(|(run, cut, now, policy, unlimited)| {
        let effective_now = Timestamp(now);
        Event::RunOpened(RunOpened { run, cut, effective_now, policy, unlimited })
    })
    .collect()
}

pub(crate) fn closed_runs() -> Vec<Event> {
    let tally = |n: u64| RunTally {
        removed_spans: n,
        removed_bytes: n.saturating_mul(1_000),
        noticed: n,
        deferred: n.saturating_add(1),
        held: n,
    };
    [(1, RunEnd::Done, 0), (251, RunEnd::OverLimit, 65_535), (u32::MAX, RunEnd::Done, u64::MAX)]
        .into_iter()
        .map(|(run, end, n)| Event::RunClosed(RunClosed { run, end, tally: tally(n) }))
        .collect()
}
