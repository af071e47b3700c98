//! One principal in every role at once: whatever it sends, in whatever order, no raw span leaves
//! the window behind its own summary until somebody else has read the spans and passed it.

use std::cell::Cell;

use lacuna_core::{
    Audit, ClaimOrigin, Command, Event, NewSpan, Origin, Prune, Purpose, RejectReason, Reply,
    SpanId, SpanState,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::scenario::{Scenario, call, drop_spans, id, ids, result, span};
use crate::telling::{WORKER, claim, enforced, from, tell_as};

/// Ids that the principal gives its spans and summaries.
const NAMES: &[&str] = &["a", "b", "S", "T", "S:refused1", "sum1", "sum:refused1", "s1"];

#[derive(Debug, Clone)]
enum Move {
    Append {
        name: Option<usize>,
        shape: u8,
        against: Option<usize>,
    },
    Tell {
        name: Option<usize>,
        covers: Vec<usize>,
        cites: Vec<usize>,
        origin: usize,
    },
    Read(usize),
    Audit(usize, bool),
    Prune {
        spans: Vec<usize>,
        with: Option<usize>,
        lossy: bool,
    },
    Restore(usize),
    Contradict(usize, usize),
    Resolve(u32),
    Damage(usize),
    /// Somebody else audits, with or without having read.
    Other {
        summary: usize,
        reads: bool,
        pass: bool,
    },
}

fn moves() -> impl Strategy<Value = Move> {
    let name = || proptest::option::weighted(0.4, 0..NAMES.len());
    let some = || vec(0..64_usize, 1..5);
    let against = proptest::option::weighted(0.1, 0..64_usize);
    prop_oneof![
        5 => (name(), 0..7_u8, against)
            .prop_map(|(name, shape, against)| Move::Append { name, shape, against }),
        5 => (name(), some(), vec(0..64_usize, 0..3), 0..4_usize)
            .prop_map(|(name, covers, cites, origin)| Move::Tell { name, covers, cites, origin }),
        3 => (0..64_usize).prop_map(Move::Read),
        4 => (0..64_usize, any::<bool>()).prop_map(|(at, pass)| Move::Audit(at, pass)),
        9 => (some(), proptest::option::weighted(0.9, 0..64_usize), any::<bool>())
            .prop_map(|(spans, with, lossy)| Move::Prune { spans, with, lossy }),
        2 => (0..64_usize).prop_map(Move::Restore),
        1 => (0..64_usize, 0..64_usize).prop_map(|(a, b)| Move::Contradict(a, b)),
        2 => (1..4_u32).prop_map(Move::Resolve),
        1 => (0..64_usize).prop_map(Move::Damage),
        1 => (0..64_usize, any::<bool>(), any::<bool>())
            .prop_map(|(summary, reads, pass)| Move::Other { summary, reads, pass }),
    ]
}

fn pick(s: &Scenario, at: usize, wanted: impl Fn(&SpanState) -> bool) -> SpanId {
    let spans: Vec<&SpanState> = s.state().spans().iter().filter(|span| wanted(span)).collect();
    match spans.get(at % spans.len().max(1)) {
        Some(span) if at != 63 => span.id.clone(),
        _ => id(NAMES[at % NAMES.len()]),
    }
}

fn any_span(s: &Scenario, at: usize) -> SpanId {
    pick(s, at, |_| true)
}

fn summary(s: &Scenario, at: usize) -> SpanId {
    pick(s, at, SpanState::is_summary)
}

fn append(s: &Scenario, name: Option<usize>, shape: u8, against: Option<usize>) -> Command {
    let calls: Vec<_> = s.state().spans().iter().filter(|span| span.results.is_empty()).collect();
    let open = calls.iter().find(|span| span.kind == lacuna_core::SpanKind::ToolCall);
    let made = match (shape, open) {
        (0, _) => call("x"),
        (1 | 2, Some(call)) => result("x", call.id.as_str()),
        (3, _) => from(Origin::Model, "x", "text of x"),
        (4, _) => from(Origin::Tool, "x", "text of x"),
        _ => span("x"),
    };
    let contradicts = against.map(|at| any_span(s, at)).into_iter().collect();
    let name = name.map(|at| id(NAMES[at]));
    Command::Append { spans: vec![NewSpan { id: name, contradicts, ..made }] }
}

fn tell(
    s: &Scenario,
    name: Option<usize>,
    covers: &[usize],
    cites: &[usize],
    origin: usize,
) -> Command {
    let covers: Vec<SpanId> = covers.iter().map(|&at| any_span(s, at)).collect();
    let cites: Vec<SpanId> = match cites {
        [] => covers
            .iter()
            .filter(|id| s.state().find(id).is_some_and(|s| !s.is_summary()))
            .cloned()
            .collect(),
        _ => cites.iter().map(|&at| any_span(s, at)).collect(),
    };
    let cites: Vec<&str> = cites.iter().map(SpanId::as_str).collect();
    let covers: Vec<&str> = covers.iter().map(SpanId::as_str).collect();
    // Mostly what is never wrong.
    let origin =
        [ClaimOrigin::Inferred, ClaimOrigin::Inferred, ClaimOrigin::UserSaid, ClaimOrigin::Hedged]
            [origin];
    let claims = vec![claim("Noted.", origin, &cites)];
    let mut summarize = tell_as("x", &covers, "Noted.", claims);
    summarize.id = name.map(|at| id(NAMES[at]));
    Command::Summarize(summarize)
}

fn prune(s: &Scenario, spans: &[usize], with: Option<usize>, lossy: bool) -> Command {
    let with = with.map(|at| summary(s, at));
    let covered = with.as_ref().and_then(|id| s.state().find(id)).map(|own| s.state().covers(own));
    // Mostly what the summary covers; else anything.
    let spans = match covered {
        Some(covered) if !covered.is_empty() && !spans[0].is_multiple_of(5) => {
            spans.iter().map(|at| covered[at % covered.len()].clone()).collect()
        }
        _ => spans.iter().map(|&at| any_span(s, at)).collect(),
    };
    Command::Prune(Prune { spans, replace_with: with, accept_lossy: lossy, ..drop_spans(&[]) })
}

fn make(s: &mut Scenario, step: &Move) {
    let command = match step {
        Move::Append { name, shape, against } => append(s, *name, *shape, *against),
        Move::Tell { name, covers, cites, origin } => tell(s, *name, covers, cites, *origin),
        Move::Read(at) => Command::Read { span: any_span(s, *at), purpose: Purpose::Audit },
        Move::Audit(at, pass) => {
            Command::Audit(Audit { summary: summary(s, *at), pass: *pass, notes: Vec::new() })
        }
        Move::Prune { spans, with, lossy } => prune(s, spans, *with, *lossy),
        Move::Restore(at) => {
            Command::Restore { spans: vec![pick(s, *at, |span| span.pruned_under().is_some())] }
        }
        Move::Contradict(a, b) => {
            Command::Contradict { spans: vec![any_span(s, *a), any_span(s, *b)], note: None }
        }
        Move::Resolve(contradiction) => {
            Command::Resolve { contradiction: *contradiction, note: "settled".into() }
        }
        Move::Damage(at) => {
            let span = any_span(s, *at);
            if s.state().find(&span).is_none() || at % 4 > 0 {
                return;
            }
            s.lose(&[span.as_str()]);
            return;
        }
        Move::Other { summary: at, reads, pass } => {
            s.by("other");
            let summary = summary(s, *at);
            let all: Vec<SpanId> = s.state().spans().iter().map(|span| span.id.clone()).collect();
            for span in all.iter().filter(|_| *reads) {
                s.read(&[span.as_str()], Purpose::Audit);
            }
            let audit = Audit { summary, pass: *pass, notes: Vec::new() };
            let _ = s.send(Command::Audit(audit));
            s.by(WORKER);
            return;
        }
    };
    let _ = s.send(command);
}

/// From the events alone: who wrote a summary that took the place of spans, and who had passed it
/// by then, after reading something.
fn judge(s: &Scenario) -> (usize, usize) {
    let (mut used, mut stopped) = (0, 0);
    for (at, recorded) in s.log.iter().enumerate() {
        let by = &recorded.principal;
        let before = &s.log[..at];
        match &recorded.event {
            Event::PruneExecuted(prune) => {
                let Some(summary) = &prune.replace_with else { continue };
                let wrote = before.iter().any(|r| {
                    r.principal == *by
                        && matches!(&r.event, Event::SummaryRecorded(e) if e.span == *summary)
                });
                assert!(wrote, "{summary} was written by another than {by}");
                let passed = before.iter().any(|r| {
                    r.principal != *by
                        && matches!(&r.event, Event::SummaryAudited(e)
                            if e.summary == *summary && e.accepted && e.pass)
                });
                assert!(passed, "{by} pruned with {summary}, which nobody else has passed");
                used += 1;
            }
            Event::PruneRejected(prune) => {
                stopped += usize::from(prune.why == RejectReason::SummaryNotAudited);
            }
            _ => {}
        }
    }
    (used, stopped)
}

#[test]
fn one_principal_never_frees_a_raw_span_behind_its_own_summary() {
    let config = ProptestConfig { source_file: Some(file!()), ..ProptestConfig::default() };
    let mut runner = TestRunner::new(config);
    let (used, stopped) = (Cell::new(0), Cell::new(0));
    let outcome = runner.run(&vec(moves(), 1..60), |steps| {
        let mut s = enforced(vec![span("a"), span("b"), span("s1")]);
        steps.iter().for_each(|step| make(&mut s, step));
        let (now_used, now_stopped) = judge(&s);
        used.set(used.get() + now_used);
        stopped.set(stopped.get() + now_stopped);
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}\n{runner}");
    }
    // Both must have been tried: its own summaries alone, and those that somebody else passed.
    assert!(used.get() > 2 && stopped.get() > 100, "{used:?} used, {stopped:?} stopped");
}

/// The same alone: nobody else there at all, nothing ever leaves behind a summary.
#[test]
fn alone_it_frees_nothing_behind_a_summary() {
    let alone = moves().prop_filter("alone", |step| !matches!(step, Move::Other { .. }));
    proptest!(ProptestConfig { source_file: Some(file!()), ..ProptestConfig::default() }, |(steps in vec(alone, 1..80))| {
        let mut s = enforced(vec![span("a"), span("b"), span("s1")]);
        steps.iter().for_each(|step| make(&mut s, step));
        prop_assert_eq!(judge(&s).0, 0);
    });
}

/// The plain case in words.
#[test]
fn author_auditor_and_pruner_in_one() {
    let mut s = enforced(vec![span("a"), span("b")]);
    s.read(&["a", "b"], Purpose::Audit);
    s.told(crate::telling::plain("S", &["a", "b"]));
    assert!(!s.audit("S", true).counts);
    for _ in 0..3 {
        let reply = s.prune(crate::scenario::replace(&["a", "b"], "S"));
        assert_eq!(reply.reason, Some(RejectReason::SummaryNotAudited));
        assert_eq!(reply.concerned, ids(&["S"]));
        let advice = reply.advice.unwrap();
        assert!(advice.contains("let another principal audit it"), "{advice}");
    }
    // A copy of its own words is its own, too, and so is a summary of its summary.
    s.told(crate::telling::plain("T", &["a", "b"]));
    s.told(crate::telling::plain_citing("U", &["S", "a"], &["a"]));
    for (spans, with) in [(vec!["a"], "T"), (vec!["a"], "U")] {
        let why = s.refuses(crate::scenario::replace(&spans, with));
        assert_eq!(why, Some(RejectReason::SummaryNotAudited), "{with}");
    }
    // What is left to it is to prune without a summary: nothing is claimed, everything comes back.
    let Ok(Reply::Pruned(reply)) = s.send(Command::Prune(drop_spans(&["a", "b"]))) else {
        panic!()
    };
    assert_eq!(reply.reason, None);
    assert_eq!(s.window(), "stub(a b)");
}
