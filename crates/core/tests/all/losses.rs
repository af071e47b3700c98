//! Damage and consented losses: a tombstone where something stood, and nothing walled off by it.

use lacuna_core::{Cause, Command, CopyEvidence, NewSpan, Outcome, Prune, Reply, Verdict};

use crate::scenario::{Scenario, drop_spans, id, ids, replace, span, spans, withheld};

#[test]
fn only_damage_that_the_evidence_confirms_is_recorded() {
    let mut s = Scenario::given(vec![span("a"), span("b"), withheld("key")]);
    let report = Command::ReportDamage { spans: ids(&["a", "ghost", "key"]), ended: false };
    let reply = s.send(report.clone()).unwrap();
    assert_eq!(reply, Reply::DamageReported { version: 4, lost: vec![] });
    s.evidence.insert(id("a"), CopyEvidence::missing("its digest differs"));
    let reply = s.send(report.clone()).unwrap();
    // `key` never had a copy that could be damaged.
    assert_eq!(reply, Reply::DamageReported { version: 5, lost: ids(&["a"]) });
    assert_eq!(s.ledger(), ["a: damage its digest differs"]);
    let reply = s.send(report).unwrap();
    assert_eq!(reply, Reply::DamageReported { version: 5, lost: vec![] }, "once");
    assert_eq!(s.window(), "tombstone(a) b key");
}

#[test]
fn each_finding_is_an_event_of_its_own() {
    let mut s = Scenario::given(spans(&["a", "b", "c"]));
    s.evidence.insert(id("a"), CopyEvidence::missing("missing"));
    s.evidence.insert(id("c"), CopyEvidence::missing("damaged"));
    let from = s.log.len() + 1;
    s.send(Command::ReportDamage { spans: ids(&["c", "b", "a", "c"]), ended: false }).unwrap();
    assert_eq!(s.kinds(from), ["lossy-committed", "lossy-committed"]);
    assert_eq!(s.ledger(), ["c: damage damaged", "a: damage missing"]);
    let entry = &s.state().ledger()[0];
    assert_eq!(entry.version, 5);
    assert_eq!(entry.cause, Cause::Damage { found: "damaged".into() });
}

#[test]
fn a_span_lost_inside_a_shared_stub_becomes_a_tombstone_there() {
    let mut s = Scenario::given(spans(&["a", "b", "c", "d", "e"]));
    s.prune(drop_spans(&["a", "b", "c", "d", "e"]));
    s.lose(&["c"]);
    assert_eq!(s.window(), "stub(a b) tombstone(c) stub(d e)");
    s.lose(&["a", "e"]);
    assert_eq!(s.window(), "tombstone(a) stub(b) tombstone(c) stub(d) tombstone(e)");
    s.restore(&["b"]).unwrap();
    assert_eq!(s.window(), "tombstone(a) b tombstone(c) stub(d) tombstone(e)");
}

#[test]
fn a_lost_summary_exposes_the_spans_behind_it() {
    let mut s = Scenario::given(spans(&["a", "b", "c", "d"]));
    s.summarize("S", &["a", "c", "d"]);
    s.prune(replace(&["a", "c"], "S"));
    s.prune(replace(&["d"], "S"));
    s.lose(&["S"]);
    assert_eq!(s.window(), "tombstone(S) stub(a) b stub(c) stub(d)");
    s.restore(&["a", "c", "d"]).unwrap();
    assert_eq!(s.window(), "tombstone(S) a b c d");
}

#[test]
fn a_summary_lost_behind_its_stub_exposes_them_too() {
    let mut s = Scenario::given(spans(&["a", "b", "c"]));
    s.summarize("S", &["a", "b"]);
    s.prune(replace(&["a", "b"], "S"));
    s.prune(drop_spans(&["S", "c"]));
    s.lose(&["S"]);
    assert_eq!(s.window(), "tombstone(S) stub(a) stub(b) stub(c)");
}

#[test]
fn a_summary_lost_behind_another_exposes_what_only_it_led_to() {
    let mut s = Scenario::given(spans(&["a", "b", "c"]));
    s.summarize("S", &["a", "b"]);
    s.prune(replace(&["a", "b"], "S"));
    s.summarize("T", &["S", "c"]);
    s.prune(replace(&["S", "c"], "T"));
    s.lose(&["S"]);
    assert_eq!(s.window(), "summary(T: c) tombstone(S) stub(a) stub(b)");
    s.lose(&["T"]);
    assert_eq!(s.window(), "tombstone(T) tombstone(S) stub(a) stub(b) stub(c)");
}

#[test]
fn losing_the_outer_summary_shows_the_inner_one_as_a_stub() {
    let mut s = Scenario::given(spans(&["a", "b", "c"]));
    s.summarize("S", &["a", "b"]);
    s.prune(replace(&["a", "b"], "S"));
    s.summarize("T", &["S", "c"]);
    s.prune(replace(&["S", "c"], "T"));
    s.lose(&["T"]);
    assert_eq!(s.window(), "tombstone(T) stub(S) stub(c)", "a and b are reached through S");
    s.restore(&["S"]).unwrap();
    assert_eq!(s.window(), "tombstone(T) summary(S: a b) stub(c)");
}

#[test]
fn a_summary_given_up_by_a_directive_exposes_them_as_well() {
    for replaced in [false, true] {
        let mut s = Scenario::given(spans(&["a", "b", "c", "d"]));
        s.summarize("S", &["b", "c"]);
        s.prune(replace(&["b", "c"], "S"));
        s.summarize("T", &["S"]);
        s.evidence.insert(id("S"), CopyEvidence::missing("gone"));
        let by = if replaced { replace(&["S"], "T") } else { drop_spans(&["S"]) };
        let reply = s.prune(Prune { accept_lossy: true, ..by });
        assert_eq!(reply.verdict, Verdict::Lossy);
        let outer = if replaced { "summary(T: ) " } else { "" };
        assert_eq!(s.window(), format!("a {outer}tombstone(S) stub(b) stub(c) d"));
        s.restore(&["b", "c"]).unwrap();
        assert_eq!(s.window(), format!("a {outer}tombstone(S) b c d"));
    }
}

/// The spans behind a given-up summary may lie within the reach of a shared stub.
#[test]
fn a_given_up_summary_parts_the_stubs_that_its_spans_lie_in() {
    let mut s = Scenario::given(spans(&["a", "b", "c", "d", "e"]));
    s.summarize("S", &["a", "c"]);
    s.prune(replace(&["a", "c"], "S"));
    s.prune(drop_spans(&["b", "d", "e"]));
    assert_eq!(s.window(), "summary(S: a c) stub(b d e)");
    s.evidence.insert(id("S"), CopyEvidence::missing("gone"));
    let reply = s.prune(Prune { accept_lossy: true, ..drop_spans(&["S"]) });
    assert_eq!(s.window(), "tombstone(S) stub(a) stub(b) stub(c) stub(d e)");
    assert!(reply.freed_tokens < 0, "it takes more than it frees, and says so: {reply:?}");
}

#[test]
fn a_summary_counts_only_what_can_still_be_expanded() {
    let mut s = Scenario::given(spans(&["a", "b", "c"]));
    s.summarize("S", &["a", "b", "c"]);
    s.prune(replace(&["a", "b", "c"], "S"));
    let trailer = |s: &Scenario| s.state().entries().next().and_then(|entry| entry.text);
    s.lose(&["b"]);
    assert_eq!(s.window(), "summary(S: a c) tombstone(b)");
    assert_eq!(trailer(&s).as_deref(), Some("[p1@prune 2 spans replaced; expand to read]"));
    s.lose(&["a", "c"]);
    assert_eq!(s.window(), "summary(S: ) tombstone(a) tombstone(b) tombstone(c)");
    assert_eq!(trailer(&s), None);
}

#[test]
fn a_summary_of_something_damaged_does_not_retire() {
    let mut s = Scenario::given(spans(&["a", "b"]));
    s.summarize("S", &["a", "b"]);
    s.prune(replace(&["a", "b"], "S"));
    s.lose(&["a"]);
    s.restore(&["b"]).unwrap();
    assert_eq!(s.window(), "summary(S: ) tombstone(a) b", "its words are all that is left of a");
}

#[test]
fn what_never_stood_in_the_window_is_lost_without_a_mark_there() {
    let hidden = NewSpan { in_window: false, ..span("hidden") };
    let mut s = Scenario::given(vec![span("a"), hidden, span("b")]);
    s.summarize("S", &["a"]);
    s.lose(&["hidden", "S"]);
    assert_eq!(s.window(), "a b");
    assert_eq!([s.outcome("hidden"), s.outcome("S")], [Outcome::Lossy; 2]);
    assert_eq!(s.ledger().len(), 2);
    // And nobody mistakes it for a span that never was.
    let reply = s.prune(Prune { accept_lossy: true, ..drop_spans(&["hidden"]) });
    assert_eq!(reply.reason, Some(lacuna_core::RejectReason::AlreadyPruned));
}

#[test]
fn a_summary_that_retired_is_lost_without_a_mark() {
    let mut s = Scenario::given(spans(&["a", "b"]));
    s.summarize("S", &["a"]);
    s.prune(replace(&["a"], "S"));
    s.restore(&["a"]).unwrap();
    s.lose(&["S"]);
    assert_eq!((s.window().as_str(), s.outcome("S")), ("a b", Outcome::Lossy));
}

#[test]
fn a_loss_is_committed_once_and_keeps_its_first_cause() {
    let mut s = Scenario::given(spans(&["a"]));
    s.evidence.insert(id("a"), CopyEvidence::missing("gone"));
    s.prune(Prune { accept_lossy: true, ..drop_spans(&["a"]) });
    s.lose(&["a"]);
    assert_eq!(s.ledger(), ["a: p1@prune worker-1"]);
    assert_eq!(s.window(), "tombstone(a)");
}

/// A store that gave no answer proves no copy, and no loss either.
#[test]
fn no_answer_rejects_a_prune_and_loses_nothing() {
    let mut s = Scenario::given(spans(&["a", "b"]));
    s.prune(drop_spans(&["a"]));
    for name in ["a", "b"] {
        s.evidence.insert(id(name), CopyEvidence::unanswered("store \"logs\" did not answer"));
    }
    let restored = s.send(Command::Restore { spans: vec![id("a")] }).unwrap_err();
    assert_eq!(restored.code(), "unavailable");
    assert!(restored.to_string().contains("did not answer"), "{restored}");
    let reported =
        s.send(Command::ReportDamage { spans: vec![id("a"), id("b")], ended: false }).unwrap();
    assert!(matches!(&reported, Reply::DamageReported { lost, .. } if lost.is_empty()));
    assert_eq!(s.prune(drop_spans(&["b"])).verdict, Verdict::Rejected);
    let lossy = s.prune(Prune { accept_lossy: true, ..drop_spans(&["b"]) });
    assert_eq!(lossy.verdict, Verdict::Lossy);
}
