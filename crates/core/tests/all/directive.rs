//! Every rule of a directive besides the gate: each with its reason, the spans concerned and what
//! stays as it was.

use lacuna_core::{
    Check, Command, CopyEvidence, DirectiveNo, NewSpan, Prune, RejectReason, Reply, SpanId, Verdict,
};

use crate::scenario::{Scenario, call, drop_spans, id, ids, replace, result, span, spans};

/// Sends a directive that must be refused, and says why and about which spans.
fn refused(s: &mut Scenario, prune: Prune) -> (RejectReason, Vec<SpanId>) {
    let (window, from) = (s.window(), s.log.len() + 1);
    let reply = s.prune(prune);
    assert_eq!(reply.verdict, Verdict::Rejected);
    assert_eq!(s.kinds(from), ["prune-rejected"]);
    assert_eq!(s.window(), window);
    assert_eq!(s.ledger(), Vec::<String>::new());
    assert!(reply.advice.is_some_and(|advice| !advice.is_empty()), "a refusal says what to do");
    (reply.reason.expect("a refusal has a reason"), reply.concerned)
}

#[test]
fn an_empty_directive_is_refused_and_recorded() {
    let mut s = Scenario::given(spans(&["a"]));
    assert_eq!(refused(&mut s, drop_spans(&[])), (RejectReason::EmptyDirective, vec![]));
    let number = s.state().directive(DirectiveNo(1)).map(|d| (d.executed, d.spans.len()));
    assert_eq!(number, Some((false, 0)));
}

#[test]
fn a_span_that_was_never_recorded_is_named_and_nothing_else_leaves() {
    let mut s = Scenario::given(spans(&["a", "b"]));
    let lossy = Prune { accept_lossy: true, ..drop_spans(&["a", "ghost", "b", "shade"]) };
    let expected = (RejectReason::UnknownSpan, ids(&["ghost", "shade"]));
    assert_eq!(refused(&mut s, lossy), expected, "consent to loss is no licence to guess");
    let reply = s.prune(drop_spans(&["ghost"]));
    let why = Some("this session never recorded it".to_owned());
    assert_eq!(reply.spans[0].check, Check { why, ..Check::default() });
    assert_eq!((&reply.spans[0].handle, reply.spans[0].durable_until), (&None, None));
}

#[test]
fn what_left_before_cannot_leave_again() {
    let mut s = Scenario::given(spans(&["a", "b", "c"]));
    s.prune(drop_spans(&["a"]));
    let again = refused(&mut s, drop_spans(&["b", "a"]));
    assert_eq!(again, (RejectReason::AlreadyPruned, ids(&["a"])));
    s.lose(&["b"]);
    let lost = s.prune(Prune { accept_lossy: true, ..drop_spans(&["b"]) });
    assert_eq!(
        lost.reason,
        Some(RejectReason::AlreadyPruned),
        "its tombstone stands there already"
    );
    assert_eq!(s.window(), "stub(a) tombstone(b) c");
    s.restore(&["a"]).unwrap();
    assert_eq!(
        s.prune(drop_spans(&["a"])).verdict,
        Verdict::Reversible,
        "what came back may leave"
    );
}

#[test]
fn what_takes_no_place_in_the_window_cannot_leave_it() {
    let hidden = NewSpan { in_window: false, ..span("hidden") };
    let mut s = Scenario::given(vec![span("a"), hidden]);
    s.summarize("S", &["a"]);
    for name in ["hidden", "S"] {
        let found = refused(&mut s, drop_spans(&["a", name]));
        assert_eq!(found, (RejectReason::NotInWindow, ids(&[name])));
    }
    assert_eq!(s.window(), "a");
}

#[test]
fn a_pinned_span_stays_even_with_consent_to_loss() {
    let pinned = NewSpan { pinned: true, ..span("rule") };
    let mut s = Scenario::given(vec![span("a"), pinned]);
    let lossy = Prune { accept_lossy: true, ..drop_spans(&["a", "rule"]) };
    assert_eq!(refused(&mut s, lossy), (RejectReason::Pinned, ids(&["rule"])));
}

#[test]
fn both_sides_of_a_contradiction_are_protected_until_it_is_resolved() {
    let mut s = Scenario::given(spans(&["a", "b", "c"]));
    let contradict =
        |x: &str, y: &str| Command::Contradict { spans: ids(&[x, y]), note: Some("ports".into()) };
    let first = s.send(contradict("a", "b")).unwrap();
    assert_eq!(first, Reply::Contradicted { contradiction: 1, version: 5 });
    let second = s.send(contradict("b", "c")).unwrap();
    assert_eq!(second, Reply::Contradicted { contradiction: 2, version: 6 });
    let protected = |names: &[&str]| (RejectReason::ContradictionProtected, ids(names));
    assert_eq!(refused(&mut s, drop_spans(&["a", "b", "c"])), protected(&["a", "b", "c"]));
    let resolve = |n| Command::Resolve { contradiction: n, note: "it is 5433".into() };
    s.send(resolve(1)).unwrap();
    // `b` is still a side of the second.
    assert_eq!(refused(&mut s, drop_spans(&["a", "b"])), protected(&["b"]));
    s.send(resolve(2)).unwrap();
    assert_eq!(s.prune(drop_spans(&["a", "b", "c"])).verdict, Verdict::Reversible);
}

#[test]
fn a_dry_run_gives_the_verdict_and_leaves_no_trace() {
    let mut s = Scenario::given(spans(&["a", "b"]));
    let (before, events) = (s.state().clone(), s.log.len());
    let dry = |prune| Prune { dry_run: true, ..prune };
    let reply = s.prune(dry(drop_spans(&["a"])));
    assert_eq!((reply.verdict, reply.directive), (Verdict::Reversible, None));
    assert!(reply.freed_tokens > 0, "{reply:?}");
    assert_eq!(reply.budget.used_tokens, 200 - reply.freed_tokens.unsigned_abs());
    let reply = s.prune(dry(drop_spans(&["ghost"])));
    assert_eq!((reply.verdict, reply.directive), (Verdict::Rejected, None));
    s.evidence.insert(id("a"), CopyEvidence::missing("gone"));
    let reply = s.prune(Prune { accept_lossy: true, ..dry(drop_spans(&["a"])) });
    assert_eq!((reply.verdict, reply.directive), (Verdict::Lossy, None));
    assert_eq!((s.state(), s.log.len()), (&before, events));
    // The number is free for the first directive that is recorded.
    assert_eq!(s.prune(drop_spans(&["b"])).directive, Some(DirectiveNo(1)));
}

#[test]
fn a_span_named_twice_is_one_span() {
    let mut s = Scenario::given(spans(&["a", "b"]));
    let reply = s.prune(drop_spans(&["b", "a", "b", "a"]));
    let named: Vec<&str> = reply.spans.iter().map(|span| span.span.as_str()).collect();
    assert_eq!((named, s.window().as_str()), (vec!["a", "b"], "stub(a b)"));
    let reply = s.prune(drop_spans(&["ghost", "ghost"]));
    assert_eq!((reply.spans.len(), reply.concerned), (1, ids(&["ghost"])));
}

#[test]
fn rules_of_the_window_come_before_the_gate() {
    // Otherwise a directive that can never succeed would advise to accept a loss.
    let pinned = NewSpan { pinned: true, ..span("rule") };
    let mut s = Scenario::given(vec![pinned, call("call"), result("answer", "call")]);
    for name in ["rule", "call", "answer"] {
        s.evidence.insert(id(name), CopyEvidence::missing("gone"));
    }
    assert_eq!(refused(&mut s, drop_spans(&["rule"])).0, RejectReason::Pinned);
    assert_eq!(refused(&mut s, drop_spans(&["call"])).0, RejectReason::WouldOrphan);
    assert_eq!(refused(&mut s, drop_spans(&["answer"])).0, RejectReason::NotReversible);
}

#[test]
fn the_replacement_must_be_a_summary_that_covers_what_leaves() {
    let mut s = Scenario::given(spans(&["a", "b", "c"]));
    s.summarize("S", &["a", "b"]);
    let unknown = |name: &str| (RejectReason::UnknownReplacement, ids(&[name]));
    assert_eq!(refused(&mut s, replace(&["a"], "ghost")), unknown("ghost"));
    assert_eq!(refused(&mut s, replace(&["a"], "c")), unknown("c"), "a span is no summary");
    let uncovered = refused(&mut s, replace(&["a", "b", "c"], "S"));
    assert_eq!(uncovered, (RejectReason::SummaryNotAccepted, ids(&["c"])));
    assert_eq!(s.prune(replace(&["b"], "S")).verdict, Verdict::Reversible, "a part will do");
}

#[test]
fn a_summary_that_left_the_window_replaces_nothing() {
    let mut s = Scenario::given(spans(&["a", "b", "c"]));
    s.summarize("S", &["a", "b", "c"]);
    s.prune(replace(&["a"], "S"));
    s.prune(drop_spans(&["S"]));
    let gone = (RejectReason::SummaryNotAccepted, ids(&["S"]));
    assert_eq!(refused(&mut s, replace(&["b"], "S")), gone);
    s.restore(&["S"]).unwrap();
    assert_eq!(s.prune(replace(&["b"], "S")).verdict, Verdict::Reversible);
    s.lose(&["S"]);
    let lost = s.prune(replace(&["c"], "S"));
    assert_eq!((lost.reason, lost.concerned), (Some(gone.0), gone.1));
    assert_eq!(s.window(), "tombstone(S) stub(a) stub(b) c");
}

#[test]
fn every_directive_is_numbered_whatever_its_verdict() {
    let mut s = Scenario::given(spans(&["a", "b"]));
    let numbers: Vec<_> = [drop_spans(&["a"]), drop_spans(&["a"]), drop_spans(&["b"])]
        .map(|prune| s.prune(prune).directive)
        .into();
    assert_eq!(numbers, [1, 2, 3].map(|n| Some(DirectiveNo(n))));
    let executed: Vec<_> = (1..=4).map(|n| s.state().directive(DirectiveNo(n))).collect();
    let executed: Vec<_> = executed.iter().map(|d| d.map(|d| d.executed)).collect();
    assert_eq!(executed, [Some(true), Some(false), Some(true), None]);
    assert_eq!(s.state().directive(DirectiveNo(0)), None);
}
