//! What a prune frees and what it costs at the provider. That the numbers agree with the fold is a
//! law held for every prune of every test; here they are written out.

use lacuna_core::{Budget, CopyEvidence, NewSpan, Prune, Reply, Role, estimate_tokens};

use crate::scenario::{
    Scenario, assistant, call, drop_spans, id, ids, replace, result, span, spans, thinking,
};

fn invalidated(s: &mut Scenario, prune: Prune) -> Vec<lacuna_core::SpanId> {
    s.prune(prune).cost.thinking_invalidated
}

#[test]
fn the_budget_counts_what_stands_and_keeps_a_reserve() {
    let mut s = Scenario::open();
    let empty = Budget {
        window_tokens: 10_000,
        reserve_tokens: 1_500,
        used_tokens: 0,
        free_tokens: 8_500,
        over: false,
    };
    assert_eq!(s.state().budget(), empty);
    let sized = |name, tokens| NewSpan { tokens: Some(tokens), ..span(name) };
    let reply = s.append(vec![sized("a", 8_500)]);
    let Reply::Appended { budget, .. } = reply else { panic!("{reply:?}") };
    assert_eq!(budget, Budget { used_tokens: 8_500, free_tokens: 0, ..empty });
    s.append(vec![sized("b", 1)]);
    let over = Budget { used_tokens: 8_501, free_tokens: 0, over: true, ..empty };
    assert_eq!(s.state().budget(), over);
    let reply = s.prune(drop_spans(&["a"]));
    // "[a@12345678 pruned; expand to read]" is 35 bytes.
    assert_eq!(reply.freed_tokens, 8_500 - 12);
    assert_eq!(reply.budget, Budget { used_tokens: 13, free_tokens: 8_487, ..empty });
}

#[test]
fn tokens_are_estimated_by_length_and_never_overflow() {
    assert_eq!([0, 1, 4, 5].map(estimate_tokens), [0, 1, 1, 2]);
    assert_eq!(estimate_tokens(u64::MAX), u32::MAX);
    let mut s = Scenario::open();
    let vast = |name| NewSpan { tokens: Some(u32::MAX), ..span(name) };
    s.append(vec![vast("a"), vast("b"), vast("c")]);
    assert_eq!(s.state().budget().used_tokens, 3 * u64::from(u32::MAX));
    s.prune(drop_spans(&["a", "b"]));
    s.prune(drop_spans(&["c"]));
    assert_eq!(s.state().budget().used_tokens, 14 + 12);
}

#[test]
fn the_prefix_before_the_first_change_is_kept() {
    let mut s = Scenario::given(spans(&["a", "b", "c", "d", "e"]));
    let reply = s.prune(drop_spans(&["d", "c"]));
    assert_eq!(reply.freed_tokens, 200 - 14);
    assert_eq!(reply.cost.prefix_kept_tokens, 200);
    assert_eq!(reply.cost.prefix_rewritten_tokens, 14 + 100);
    let reply = s.prune(drop_spans(&["a"]));
    assert_eq!(reply.cost.prefix_kept_tokens, 0);
    assert_eq!(reply.cost.prefix_rewritten_tokens, 12 + 100 + 14 + 100);
}

#[test]
fn a_summary_that_stands_further_ahead_breaks_the_prefix_there() {
    let mut s = Scenario::given(spans(&["a", "b", "c", "d"]));
    s.summarize("S", &["b", "d"]);
    s.prune(replace(&["b"], "S"));
    assert_eq!(s.window(), "a summary(S: b) c d");
    // Its text names the new directive, so the provider reads anew from there.
    let reply = s.prune(replace(&["d"], "S"));
    assert_eq!(reply.cost.prefix_kept_tokens, 100);
}

#[test]
fn a_summary_that_comes_before_another_breaks_the_prefix_there() {
    let mut s = Scenario::given(spans(&["a", "b", "c"]));
    s.summarize("S", &["b", "c"]);
    s.prune(replace(&["b", "c"], "S"));
    s.restore(&["b"]).unwrap();
    s.summarize("T", &["b"]);
    let reply = s.prune(replace(&["b"], "T"));
    assert_eq!(s.window(), "a summary(T: b) summary(S: c)");
    assert_eq!(reply.cost.prefix_kept_tokens, 100);
}

#[test]
fn a_replacement_larger_than_what_it_replaces_frees_less_than_nothing() {
    let small = NewSpan { tokens: Some(3), ..span("a") };
    let mut s = Scenario::given(vec![small, span("b")]);
    s.summarize("S", &["a"]);
    let reply = s.prune(replace(&["a"], "S"));
    assert_eq!(reply.freed_tokens, 3 - (25 + 15));
    assert_eq!(s.state().budget().used_tokens, 140);
}

#[test]
fn a_summary_without_anything_to_expand_is_charged_for_its_text_alone() {
    let mut s = Scenario::given(spans(&["a"]));
    s.summarize("S", &["a"]);
    s.evidence.insert(id("a"), CopyEvidence::missing("gone"));
    let reply = s.prune(Prune { accept_lossy: true, ..replace(&["a"], "S") });
    // "a: pruned, unrecoverable, contents unknown" is 42 bytes.
    assert_eq!(reply.freed_tokens, 100 - 25 - 14);
}

fn turns() -> Scenario {
    Scenario::given(vec![
        span("u1"),
        thinking("t1", "first"),
        call("c1"),
        result("r1", "c1"),
        thinking("t2", "second"),
        assistant("a1"),
        span("u2"),
        thinking("t3", "third"),
        assistant("a2"),
        span("u3"),
        assistant("a3"),
    ])
}

#[test]
fn reasoning_that_stays_in_a_turn_that_something_leaves_is_named() {
    assert_eq!(invalidated(&mut turns(), drop_spans(&["c1", "r1"])), ids(&["t1", "t2"]));
    assert_eq!(invalidated(&mut turns(), drop_spans(&["a1"])), ids(&["t1", "t2"]));
    assert_eq!(invalidated(&mut turns(), drop_spans(&["u2"])), ids(&["t3"]), "a turn's question");
    assert_eq!(invalidated(&mut turns(), drop_spans(&["a3"])), ids(&[]), "no reasoning there");
    let both = invalidated(&mut turns(), drop_spans(&["r1", "a2"]));
    assert_eq!(both, ids(&["t1", "t2", "t3"]));
}

#[test]
fn reasoning_that_leaves_itself_is_not_named() {
    assert_eq!(invalidated(&mut turns(), drop_spans(&["t1", "r1"])), ids(&["t2"]));
    let whole = ["u1", "t1", "c1", "r1", "t2", "a1"];
    assert_eq!(invalidated(&mut turns(), drop_spans(&whole)), ids(&[]));
    assert_eq!(invalidated(&mut turns(), drop_spans(&["t3"])), ids(&[]));
}

#[test]
fn only_a_users_message_begins_a_turn() {
    // A tool's side, a note under the user's role or a user's stub continue the turn before.
    let note = NewSpan { kind: lacuna_core::SpanKind::Note, ..span("note") };
    let tool = NewSpan { role: Role::Tool, ..span("tool") };
    let mut s = Scenario::given(vec![
        thinking("t0", "before any turn"),
        span("u1"),
        thinking("t1", "first"),
        note,
        tool,
        assistant("a1"),
    ]);
    assert_eq!(invalidated(&mut s, drop_spans(&["a1"])), ids(&["t1"]));
    assert_eq!(invalidated(&mut s, drop_spans(&["u1"])), ids(&["t1"]));
    assert_eq!(invalidated(&mut s, drop_spans(&["tool"])), ids(&["t0", "t1"]), "u1 is a stub now");
}

#[test]
fn a_summary_that_leaves_a_turn_changes_it() {
    let mut s = turns();
    s.summarize("S", &["c1", "r1"]);
    s.prune(replace(&["c1", "r1"], "S"));
    assert_eq!(invalidated(&mut s, drop_spans(&["S"])), ids(&["t1", "t2"]));
}

/// A summary that stands for nothing and is given nothing to lead to does not change.
#[test]
fn an_idle_summary_used_for_what_is_lost() {
    let mut s = Scenario::given(spans(&["a", "b"]));
    s.summarize("S", &["a", "b"]);
    s.prune(replace(&["a"], "S"));
    s.prune(drop_spans(&["S"]));
    s.restore(&["a", "S"]).unwrap();
    assert_eq!(s.window(), "summary(S: ) a b");
    s.evidence.insert(id("b"), lacuna_core::CopyEvidence::missing("gone"));
    // The laws compare what is said of the prefix with the entries before and after.
    s.prune(lacuna_core::Prune { accept_lossy: true, ..replace(&["b"], "S") });
}
