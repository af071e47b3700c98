//! The window's order and its stubs: shared, split, and put together nowhere again.

use lacuna_core::{EntryKind, NewSpan, Outcome, Prune, Refusal, Reply};

use crate::scenario::{Scenario, drop_spans, id, ids, replace, span, spans, withheld};

fn texts(s: &Scenario) -> Vec<String> {
    s.state().entries().filter_map(|entry| entry.text).collect()
}

#[test]
fn consecutive_spans_of_one_directive_share_a_stub() {
    let mut s = Scenario::given(spans(&["a", "b", "c", "d", "e"]));
    s.prune(drop_spans(&["e", "b", "c"]));
    assert_eq!(s.window(), "a stub(b c) d stub(e)");
    let handle = s.state().find(&id("e")).unwrap().handle();
    let expected = [
        "[p1@prune 2 spans pruned; expand to read]".to_owned(),
        format!("[{handle} pruned; expand to read]"),
    ];
    assert_eq!(texts(&s), expected);
    let stub = s.state().entries().nth(1).unwrap();
    assert_eq!((stub.kind, stub.handle.as_deref()), (EntryKind::Stub, Some("p1@prune")));
    assert_eq!(stub.pruned_tokens, 200);
    // 41 bytes of stand-in, three bytes a token.
    assert_eq!(stub.tokens, 14);
}

#[test]
fn neighbours_of_another_directive_keep_their_own_stub() {
    let mut s = Scenario::given(spans(&["a", "b", "c", "d"]));
    s.prune(drop_spans(&["b"]));
    s.prune(drop_spans(&["a", "c", "d"]));
    assert_eq!(s.window(), "stub(a) stub(b) stub(c d)", "a handle names one directive");
}

#[test]
fn spans_stay_neighbours_across_what_never_stood_between_them() {
    let hidden = NewSpan { in_window: false, ..span("hidden") };
    let mut s = Scenario::given(vec![span("a"), hidden, span("b")]);
    s.summarize("S", &["a", "b"]);
    s.append(spans(&["c"]));
    s.prune(drop_spans(&["a", "b", "c"]));
    assert_eq!(s.window(), "stub(a b c)");
}

#[test]
fn spans_stay_neighbours_across_what_a_summary_hides() {
    let mut s = Scenario::given(spans(&["a", "b", "c", "d"]));
    s.summarize("S", &["a", "c"]);
    s.prune(replace(&["a", "c"], "S"));
    assert_eq!(s.window(), "summary(S: a c) b d");
    s.prune(drop_spans(&["b", "d"]));
    assert_eq!(s.window(), "summary(S: a c) stub(b d)");
    // What was hidden inside a stub's reach parts it when it is shown again.
    s.restore(&["c"]).unwrap();
    assert_eq!(s.window(), "summary(S: a) stub(b) c stub(d)");
}

#[test]
fn a_span_lost_in_the_reach_of_a_stub_parts_it() {
    let mut s = Scenario::given(spans(&["a", "b", "c", "d"]));
    s.summarize("S", &["a", "c"]);
    s.prune(replace(&["a", "c"], "S"));
    s.prune(drop_spans(&["b", "d"]));
    s.lose(&["c"]);
    assert_eq!(s.window(), "summary(S: a) stub(b) tombstone(c) stub(d)");
}

#[test]
fn restoring_from_a_shared_stub_splits_it() {
    let mut s = Scenario::given(spans(&["a", "b", "c", "d", "e"]));
    s.prune(drop_spans(&["a", "b", "c", "d", "e"]));
    let reply = s.restore(&["c"]).unwrap();
    let Reply::Restored { version, restored, budget } = reply else { panic!("{reply:?}") };
    assert_eq!((version, restored), (8, ids(&["c"])));
    // Two stubs of two stand where one of five stood.
    assert_eq!(budget.used_tokens, 14 + 100 + 14);
    assert_eq!(s.window(), "stub(a b) c stub(d e)");
    s.restore(&["a"]).unwrap();
    assert_eq!(s.window(), "a stub(b) c stub(d e)");
    s.restore(&["e", "b"]).unwrap();
    assert_eq!(s.window(), "a b c stub(d) e");
    s.restore(&["d"]).unwrap();
    assert_eq!((s.window().as_str(), s.state().budget().used_tokens), ("a b c d e", 500));
}

#[test]
fn restoring_is_in_session_order_and_once_each() {
    let mut s = Scenario::given(spans(&["a", "b", "c"]));
    s.prune(drop_spans(&["a", "c"]));
    let reply = s.restore(&["c", "b", "a", "c"]).unwrap();
    let Reply::Restored { restored, .. } = reply else { panic!("{reply:?}") };
    assert_eq!(restored, ids(&["a", "c"]), "b never left");
    let events = s.log.len();
    let Ok(Reply::Restored { restored, .. }) = s.restore(&["a", "b"]) else { panic!() };
    assert_eq!((restored, s.log.len()), (vec![], events));
}

#[test]
fn what_cannot_come_back_keeps_the_others_away_too() {
    let mut s = Scenario::given(vec![span("a"), span("b"), span("c"), withheld("key")]);
    s.prune(Prune { accept_lossy: true, ..drop_spans(&["a", "b", "c", "key"]) });
    s.lose(&["b"]);
    s.evidence.insert(id("c"), lacuna_core::CopyEvidence::missing("its copy does not match"));
    let window = s.window();
    for (span, outcome, why) in [
        ("b", "lossy", "committed as lost"),
        ("key", "lossy", "committed as lost"),
        // Not in the ledger yet: what was found is the answer.
        ("c", "lossy", "does not match"),
    ] {
        let refused = s.restore(&["a", span]).unwrap_err();
        let Refusal::NotRecoverable { span: named, outcome: found, why: said } = &refused else {
            panic!("{refused:?}")
        };
        assert_eq!((named, *found), (&id(span), outcome));
        assert!(said.contains(why), "{said}");
        assert_eq!(s.window(), window);
    }
    s.restore(&["a"]).unwrap();
    assert_eq!(s.window(), "a tombstone(b) stub(c) tombstone(key)");
}

#[test]
fn every_span_has_one_answer() {
    let hidden = NewSpan { in_window: false, ..span("hidden") };
    let mut s =
        Scenario::given(vec![span("a"), span("b"), span("c"), span("d"), hidden, withheld("key")]);
    s.summarize("S", &["a", "b"]);
    s.summarize("T", &["a"]);
    s.prune(drop_spans(&["b"]));
    s.prune(replace(&["a"], "S"));
    s.lose(&["c"]);
    let names = ["a", "b", "c", "d", "hidden", "key", "S", "T", "ghost"];
    let words: Vec<&str> = names.map(|name| s.outcome(name).word()).into();
    let expected = [
        "recoverable",
        "recoverable",
        "lossy",
        "live",
        "recoverable",
        "withheld",
        "live",
        "recoverable",
        "never_recorded",
    ];
    assert_eq!(words, expected);
    s.prune(Prune { accept_lossy: true, ..drop_spans(&["key"]) });
    assert_eq!(s.outcome("key"), Outcome::Lossy);
}

#[test]
fn a_copy_that_was_read_back_is_noted_with_the_time() {
    let mut s = Scenario::given(spans(&["a", "b"]));
    let verified = |s: &Scenario, name| s.state().find(&id(name)).unwrap().verified_at;
    assert_eq!(verified(&s, "a"), None);
    let pruned_at = s.now();
    s.prune(drop_spans(&["a", "b"]));
    assert_eq!([verified(&s, "a"), verified(&s, "b")], [Some(pruned_at); 2]);
    let restored_at = s.now();
    s.restore(&["b"]).unwrap();
    assert_eq!(verified(&s, "b"), Some(restored_at));
    assert_eq!(verified(&s, "a"), Some(pruned_at));
}
