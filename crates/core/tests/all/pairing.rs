//! A tool call and its results: what may leave, what may come back, and what is named otherwise.

use lacuna_core::{NewSpan, Refusal, RejectReason, Verdict};

use crate::scenario::{Scenario, call, drop_spans, ids, result, span};

fn called() -> Scenario {
    Scenario::given(vec![
        span("ask"),
        call("c"),
        result("r1", "c"),
        result("r2", "c"),
        span("next"),
    ])
}

#[test]
fn a_call_does_not_leave_without_the_results_that_stand_in_the_window() {
    let mut s = called();
    for (named, missing) in [(&["c"][..], &["r1", "r2"][..]), (&["c", "r2"], &["r1"])] {
        let reply = s.prune(drop_spans(named));
        assert_eq!(reply.reason, Some(RejectReason::WouldOrphan));
        assert_eq!(reply.concerned, ids(missing), "what is missing is named");
    }
    assert_eq!(s.window(), "ask c r1 r2 next");
    assert_eq!(s.prune(drop_spans(&["r2", "c", "r1"])).verdict, Verdict::Reversible);
    assert_eq!(s.window(), "ask stub(c r1 r2) next");
}

#[test]
fn an_open_call_stays_until_its_result_is_recorded() {
    let mut s = Scenario::given(vec![call("c"), call("d"), result("rd", "d")]);
    let reply = s.prune(drop_spans(&["c", "d", "rd"]));
    assert_eq!(reply.reason, Some(RejectReason::WouldOrphan));
    assert_eq!(reply.concerned, ids(&["c"]));
    assert!(reply.advice.unwrap().contains("append the result"), "the advice says what to do");
    s.append(vec![result("rc", "c")]);
    assert_eq!(s.prune(drop_spans(&["c", "d", "rd", "rc"])).verdict, Verdict::Reversible);
    assert_eq!(s.window(), "stub(c d rd rc)");
}

#[test]
fn results_leave_alone_and_the_call_after_them() {
    let mut s = called();
    assert_eq!(s.prune(drop_spans(&["r1"])).verdict, Verdict::Reversible);
    assert_eq!(s.window(), "ask c stub(r1) r2 next");
    assert_eq!(s.prune(drop_spans(&["c"])).concerned, ids(&["r2"]), "only what stands there");
    assert_eq!(s.prune(drop_spans(&["r2"])).verdict, Verdict::Reversible);
    assert_eq!(s.prune(drop_spans(&["c"])).verdict, Verdict::Reversible);
    assert_eq!(s.window(), "ask stub(c) stub(r1) stub(r2) next");
}

#[test]
fn a_lost_result_keeps_no_call_back() {
    let mut s = called();
    s.lose(&["r1"]);
    assert_eq!(s.window(), "ask c tombstone(r1) r2 next");
    assert_eq!(s.prune(drop_spans(&["c", "r2"])).verdict, Verdict::Reversible);
    assert_eq!(s.window(), "ask stub(c) tombstone(r1) stub(r2) next");
}

#[test]
fn a_result_that_never_stood_in_the_window_keeps_no_call_back() {
    let hidden = NewSpan { in_window: false, ..result("r", "c") };
    let mut s = Scenario::given(vec![call("c"), hidden]);
    assert_eq!(s.prune(drop_spans(&["c"])).verdict, Verdict::Reversible);
}

#[test]
fn a_result_comes_back_only_behind_its_call() {
    let mut s = called();
    s.prune(drop_spans(&["c", "r1", "r2"]));
    let refused = s.restore(&["r1", "r2"]);
    let Err(Refusal::ContractViolation { message, spans }) = refused else { panic!("{refused:?}") };
    assert_eq!(spans, ids(&["c"]), "each missing call is named once");
    assert!(message.contains("restore c with it"), "{message}");
    assert_eq!(s.window(), "ask stub(c r1 r2) next");
    s.restore(&["r2", "c"]).unwrap();
    assert_eq!(s.window(), "ask c stub(r1) r2 next");
    s.restore(&["r1"]).unwrap();
    assert_eq!(s.window(), "ask c r1 r2 next");
}

#[test]
fn missing_calls_are_named_once_though_their_results_alternate() {
    let mut s = Scenario::given(vec![
        call("c"),
        call("d"),
        result("c1", "c"),
        result("d1", "d"),
        result("c2", "c"),
    ]);
    s.prune(drop_spans(&["c", "d", "c1", "d1", "c2"]));
    let refused = s.restore(&["c1", "d1", "c2"]);
    let Err(Refusal::ContractViolation { spans, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(spans, ids(&["c", "d"]));
}

#[test]
fn a_call_comes_back_without_its_results() {
    let mut s = called();
    s.prune(drop_spans(&["c", "r1", "r2"]));
    s.restore(&["c"]).unwrap();
    assert_eq!(s.window(), "ask c stub(r1 r2) next", "their stub stands for them");
}

/// The call is gone for good; asking for it with the result would wall the result off for ever.
#[test]
fn a_result_comes_back_alone_where_its_call_is_lost() {
    let mut s = called();
    s.prune(drop_spans(&["c", "r1", "r2"]));
    s.lose(&["c"]);
    s.restore(&["r1"]).unwrap();
    assert_eq!(s.window(), "ask tombstone(c) r1 stub(r2) next");
}

#[test]
fn a_late_result_of_a_call_that_left_stands_in_the_window() {
    let mut s = called();
    s.prune(drop_spans(&["c", "r1", "r2"]));
    s.append(vec![result("r3", "c")]);
    assert_eq!(s.window(), "ask stub(c r1 r2) next r3");
    assert_eq!(s.prune(drop_spans(&["r3"])).verdict, Verdict::Reversible);
}

#[test]
fn a_result_comes_back_alone_where_its_call_never_stood_in_the_window() {
    let mut s = Scenario::given(vec![NewSpan { in_window: false, ..call("c") }, result("r", "c")]);
    s.prune(drop_spans(&["r"]));
    s.restore(&["r"]).unwrap();
    assert_eq!(s.window(), "r");
}
