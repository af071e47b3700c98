//! Summaries in the window: where they stand, what they keep addressable, when they leave.

use lacuna_core::{
    Command, CopyEvidence, Digest, EntryKind, Handle, Outcome, Prune, Refusal, Reply, Summarize,
    Verdict,
};

use crate::scenario::{Scenario, drop_spans, id, ids, replace, spans, summary};

/// What a summary says after its text.
fn trailer(s: &Scenario, name: &str) -> Option<String> {
    let state = s.state();
    let index = state.index(&id(name)).unwrap();
    let entry = state.entries().find(|e| e.kind == EntryKind::Summary && e.spans == [index]);
    entry.unwrap_or_else(|| panic!("{name} is not shown in {}", s.window())).text
}

#[test]
fn a_summary_is_recorded_beside_the_window() {
    let mut s = Scenario::given(spans(&["a", "b"]));
    let reply = s.send(Command::Summarize(summary("S", &["a", "b"]))).unwrap();
    let digest = Digest::of(summary("S", &[]).text.as_bytes());
    let handle = Handle::new(&id("S"), &digest);
    let Reply::Summarized(reply) = reply else { panic!("{reply:?}") };
    assert_eq!((reply.summary, reply.handle, reply.version), (id("S"), handle, 4));
    assert_eq!(s.window(), "a b");
    let span = s.state().find(&id("S")).unwrap();
    assert_eq!((span.tokens, s.state().covers(span)), (25, ids(&["a", "b"])));
}

#[test]
fn summary_ids_are_assigned_and_the_same_summary_is_one() {
    let mut s = Scenario::given(spans(&["a", "b", "sum2"]));
    let unnamed = || Summarize { id: None, ..summary("S", &["a"]) };
    for expected in ["sum1", "sum3"] {
        let Ok(Reply::Summarized(reply)) = s.send(Command::Summarize(unnamed())) else { panic!() };
        assert_eq!(reply.summary, id(expected));
    }
    s.summarize("S", &["a", "b"]);
    let events = s.log.len();
    s.summarize("S", &["a", "b"]);
    assert_eq!(s.log.len(), events, "the same again is no second summary");
    // A client that got a plain reply to this would prune `b` on the strength of it.
    for other in [
        Summarize {
            text: "other".into(),
            digest: Digest::of(b"other"),
            ..summary("S", &["a", "b"])
        },
        summary("S", &["a"]),
        summary("S", &["a", "b", "sum2"]),
        summary("a", &["b"]),
    ] {
        let name = other.id.clone().unwrap();
        assert_eq!(s.send(Command::Summarize(other)), Err(Refusal::SpanConflict(name)));
    }
}

#[test]
fn a_summary_stands_where_the_first_span_that_it_replaced_stood() {
    let mut s = Scenario::given(spans(&["a", "b", "c", "d", "e"]));
    s.summarize("S", &["b", "c", "d"]);
    let reply = s.prune(replace(&["d", "b"], "S"));
    assert_eq!(reply.verdict, Verdict::Reversible);
    assert_eq!(s.window(), "a summary(S: b d) c e");
    assert_eq!(trailer(&s, "S").as_deref(), Some("[p1@prune 2 spans replaced; expand to read]"));
    let entry = s.state().entries().nth(1).unwrap();
    assert_eq!((entry.handle.as_deref(), entry.pruned_tokens), (Some("p1@prune"), 200));
    // 25 of its own, 43 bytes of stand-in at three a token.
    assert_eq!(entry.tokens, 25 + 15);
}

#[test]
fn used_again_it_moves_to_the_front_and_keeps_every_handle() {
    let mut s = Scenario::given(spans(&["a", "b", "c", "d"]));
    s.summarize("S", &["a", "b", "c", "d"]);
    s.prune(replace(&["c"], "S"));
    s.prune(replace(&["a"], "S"));
    assert_eq!(s.window(), "summary(S: c a) b d");
    s.prune(replace(&["d"], "S"));
    assert_eq!(s.window(), "summary(S: c a d) b", "later spans do not pull it back");
    let text = "[p1@prune p2@prune p3@prune 3 spans replaced; expand to read]";
    assert_eq!(trailer(&s, "S").as_deref(), Some(text));
}

#[test]
fn restoring_one_by_one_until_the_summary_retires() {
    let mut s = Scenario::given(spans(&["a", "b", "c", "d"]));
    s.summarize("S", &["b", "c", "d"]);
    s.prune(replace(&["b", "c", "d"], "S"));
    let mut windows = Vec::new();
    for name in ["c", "b", "d"] {
        s.restore(&[name]).unwrap();
        windows.push(s.window());
    }
    assert_eq!(windows, ["a summary(S: b d) c", "a summary(S: d) b c", "a b c d"]);
    assert_eq!((s.outcome("S"), s.state().budget().used_tokens), (Outcome::Recoverable, 400));
    // Retired, not pruned: there is no place to restore it to, and it may serve again.
    assert_eq!(s.restore(&["S"]).unwrap_err().code(), "contract_violation");
    s.prune(replace(&["c"], "S"));
    assert_eq!(s.window(), "a b summary(S: c) d", "in the place of what it replaces now");
}

#[test]
fn a_summary_that_is_pruned_keeps_what_it_replaced_in_reach() {
    let mut s = Scenario::given(spans(&["a", "b", "c"]));
    s.summarize("S", &["a", "b"]);
    s.prune(replace(&["a", "b"], "S"));
    s.prune(drop_spans(&["S", "c"]));
    assert_eq!(s.window(), "stub(S c)");
    let reach: Vec<&str> = s.state().addressable().into_iter().map(|id| id.as_str()).collect();
    assert_eq!(reach, ["S", "a", "b", "c"]);
    // What it replaced may come back before it does.
    s.restore(&["b"]).unwrap();
    assert_eq!(s.window(), "stub(S) b stub(c)");
    s.restore(&["S"]).unwrap();
    assert_eq!(s.window(), "summary(S: a) b stub(c)");
    s.restore(&["a"]).unwrap();
    assert_eq!(s.window(), "a b stub(c)");
}

#[test]
fn a_summary_restored_after_all_that_it_replaced_stands_for_nothing() {
    let mut s = Scenario::given(spans(&["a", "b"]));
    s.summarize("S", &["a"]);
    s.prune(replace(&["a"], "S"));
    s.prune(drop_spans(&["S"]));
    s.restore(&["a", "S"]).unwrap();
    assert_eq!(s.window(), "summary(S: ) a b", "it was asked for, so it is shown");
    assert_eq!(trailer(&s, "S"), None);
    s.prune(replace(&["a"], "S"));
    assert_eq!(s.window(), "summary(S: a) b");
}

#[test]
fn a_summary_of_a_summary_stands_in_its_place() {
    let mut s = Scenario::given(spans(&["a", "b", "c", "d"]));
    s.summarize("S", &["b", "c"]);
    s.prune(replace(&["b", "c"], "S"));
    s.summarize("T", &["S", "d"]);
    s.prune(replace(&["d", "S"], "T"));
    assert_eq!(s.window(), "a summary(T: S d)");
    let reach: Vec<&str> = s.state().addressable().into_iter().map(|id| id.as_str()).collect();
    assert_eq!(reach, ["S", "T", "a", "b", "c", "d"], "down to the primary spans");
    s.restore(&["S"]).unwrap();
    assert_eq!(s.window(), "a summary(T: d) summary(S: b c)");
    s.restore(&["b", "d"]).unwrap();
    assert_eq!(s.window(), "a summary(S: c) b d", "T replaced nothing any more");
    s.restore(&["c"]).unwrap();
    assert_eq!(s.window(), "a b c d");
}

#[test]
fn a_primary_span_comes_back_from_behind_two_summaries() {
    let mut s = Scenario::given(spans(&["a", "b", "c"]));
    s.summarize("S", &["a", "b"]);
    s.prune(replace(&["a", "b"], "S"));
    s.summarize("T", &["S"]);
    s.prune(replace(&["S"], "T"));
    s.restore(&["a"]).unwrap();
    assert_eq!(s.window(), "summary(T: S) a c");
    s.restore(&["b"]).unwrap();
    assert_eq!(s.window(), "summary(T: S) a b c", "S is still behind T, though it stands for none");
    s.restore(&["S"]).unwrap();
    assert_eq!(s.window(), "summary(S: ) a b c");
}

#[test]
fn a_summary_replaces_what_is_lost_without_a_handle_to_it() {
    let mut s = Scenario::given(spans(&["a", "b", "c"]));
    s.summarize("S", &["a", "b", "c"]);
    for name in ["a", "b"] {
        s.evidence.insert(id(name), CopyEvidence::missing("gone"));
    }
    let lossy = |names| Prune { accept_lossy: true, ..replace(names, "S") };
    let reply = s.prune(lossy(&["a", "b"]));
    assert_eq!(reply.verdict, Verdict::Lossy);
    assert_eq!(s.window(), "summary(S: ) tombstone(a) tombstone(b) c");
    assert_eq!(trailer(&s, "S"), None, "it holds no handle, for there is nothing to expand");
    let reply = s.prune(lossy(&["c"]));
    assert_eq!(reply.verdict, Verdict::Reversible);
    assert_eq!(s.window(), "summary(S: c) tombstone(a) tombstone(b)");
}

/// All that is left of `a` is what the summary says of it.
#[test]
fn a_summary_of_something_lost_does_not_retire() {
    let mut s = Scenario::given(spans(&["a", "b"]));
    s.summarize("S", &["a", "b"]);
    s.evidence.insert(id("a"), CopyEvidence::missing("gone"));
    s.prune(Prune { accept_lossy: true, ..replace(&["a", "b"], "S") });
    assert_eq!(s.window(), "summary(S: b) tombstone(a)");
    s.restore(&["b"]).unwrap();
    assert_eq!(s.window(), "summary(S: ) tombstone(a) b");
    assert_eq!(s.prune(drop_spans(&["S"])).verdict, Verdict::Reversible);
    assert_eq!(s.window(), "stub(S) tombstone(a) b");
}
