//! Recording spans: ids, duplicates and conflicts, references, all or none.

use lacuna_core::{
    AppendedSpan, Command, Content, Digest, Event, NewSpan, Origin, Refusal, Reply, Role, SpanId,
    SpanKind, TokensFrom,
};

use crate::scenario::{
    Scenario, call, drop_spans, id, ids, result, saying, span, spans, summary, withheld,
};

fn appended(s: &mut Scenario, spans: Vec<NewSpan>) -> Vec<AppendedSpan> {
    match s.append(spans) {
        Reply::Appended { spans, .. } => spans,
        other => panic!("an append was answered by {other:?}"),
    }
}

fn refused(s: &mut Scenario, spans: Vec<NewSpan>) -> Refusal {
    let (state, events) = (s.state.clone(), s.log.len());
    let refusal = s.send(Command::Append { spans }).unwrap_err();
    assert_eq!((&s.state, s.log.len()), (&state, events), "all or none");
    refusal
}

fn unnamed(text: &str) -> NewSpan {
    NewSpan { id: None, ..saying("unnamed", text) }
}

fn names(replies: &[AppendedSpan]) -> Vec<&str> {
    replies.iter().map(|reply| reply.id.as_str()).collect()
}

#[test]
fn the_reply_describes_what_was_recorded() {
    let mut s = Scenario::open();
    let now = s.now();
    let uncounted = NewSpan { tokens: None, ..saying("b", "twelve bytes") };
    let replies = appended(&mut s, vec![span("a"), uncounted, withheld("key")]);
    let expected = |name: &str, seq, digest, tokens, tokens_from, durable_until| AppendedSpan {
        id: id(name),
        seq,
        handle: lacuna_core::Handle::new(&id(name), &digest),
        digest,
        tokens,
        tokens_from,
        durable_until,
        duplicate: false,
    };
    let digests = ["text of a", "twelve bytes", "key"].map(|text| Digest::of(text.as_bytes()));
    let first = s.log[1].seq;
    assert_eq!(
        replies,
        [
            expected("a", first, digests[0], 100, TokensFrom::Declared, None),
            expected("b", first + 1, digests[1], 3, TokensFrom::Estimated, None),
            // Its content ends with the recording: it was never stored.
            expected("key", first + 2, digests[2], 100, TokensFrom::Declared, Some(now)),
        ]
    );
    assert_eq!(s.state().budget().used_tokens, 203);
}

#[test]
fn assigned_ids_count_up_and_skip_those_taken() {
    let mut s = Scenario::open();
    let replies = appended(&mut s, vec![span("s2"), unnamed("x"), unnamed("x"), span("s5")]);
    assert_eq!(names(&replies), ["s2", "s1", "s3", "s5"], "equal contents are two spans");
    let replies = appended(&mut s, vec![unnamed("y"), unnamed("z")]);
    assert_eq!(names(&replies), ["s4", "s6"]);
    s.send(Command::Summarize(summary("s7", &["s1"]))).unwrap();
    assert_eq!(names(&appended(&mut s, vec![unnamed("w")])), ["s8"]);
}

/// Else a client that names its second span `s1` is refused for ever, or has two spans made one.
#[test]
fn assigned_ids_skip_those_that_the_same_append_names_later() {
    let mut s = Scenario::open();
    let replies = appended(&mut s, vec![unnamed("ok"), saying("s1", "ok"), saying("s2", "no")]);
    assert_eq!(names(&replies), ["s3", "s1", "s2"]);
    assert!(replies.iter().all(|reply| !reply.duplicate), "{replies:?}");
    assert_eq!(s.window(), "s3 s1 s2");
}

#[test]
fn the_same_span_again_is_a_duplicate_and_takes_no_second_place() {
    let mut s = Scenario::open();
    let first = appended(&mut s, vec![span("a"), withheld("key")]);
    let (events, used) = (s.log.len(), s.state().budget().used_tokens);
    let again = appended(&mut s, vec![span("a"), withheld("key")]);
    let expected: Vec<_> =
        first.iter().map(|r| AppendedSpan { duplicate: true, ..r.clone() }).collect();
    assert_eq!(again, expected);
    assert_eq!((s.log.len(), s.state().budget().used_tokens), (events, used));
    // What the client counts or labels otherwise does not make it another span.
    let counted = NewSpan { tokens: Some(7), pinned: true, ..span("a") };
    assert_eq!(appended(&mut s, vec![counted, span("b")])[0].tokens, 100);
    s.prune(drop_spans(&["a"]));
    assert!(appended(&mut s, vec![span("a")])[0].duplicate);
    assert_eq!(s.window(), "stub(a) key b", "a duplicate restores nothing");
}

#[test]
fn the_same_id_for_anything_else_is_a_conflict() {
    let mut s = Scenario::given(vec![span("a"), withheld("key")]);
    s.summarize("S", &["a"]);
    let stored = NewSpan { content: Content::Bytes(b"key".as_slice().into()), ..withheld("key") };
    for other in [
        saying("a", "other words"),
        NewSpan { role: Role::Assistant, ..span("a") },
        NewSpan { origin: Origin::Model, ..span("a") },
        NewSpan { kind: SpanKind::Note, ..span("a") },
        stored,
        saying("S", summary("S", &[]).text),
    ] {
        let name = other.id.clone().unwrap();
        let refusal = refused(&mut s, vec![span("fresh"), other]);
        assert_eq!(refusal, Refusal::SpanConflict(name));
    }
    assert_eq!(s.window(), "a key");
}

#[test]
fn duplicates_and_conflicts_within_one_append() {
    let mut s = Scenario::open();
    let replies = appended(&mut s, vec![span("a"), span("b"), span("a")]);
    assert_eq!(replies[2], AppendedSpan { duplicate: true, ..replies[0].clone() });
    assert_eq!(s.window(), "a b");
    let refusal = refused(&mut s, vec![span("c"), saying("c", "other words")]);
    assert_eq!(refusal, Refusal::SpanConflict(id("c")));
}

#[test]
fn later_spans_of_an_append_may_name_earlier_ones() {
    let mut s = Scenario::open();
    let objects = NewSpan { contradicts: ids(&["a"]), ..span("b") };
    let replaces = NewSpan { supersedes: Some(id("a")), ..span("c") };
    s.append(vec![span("a"), call("call"), result("answer", "call"), objects, replaces]);
    let answer = s.state().find(&id("answer")).unwrap();
    assert_eq!(answer.answers, s.state().index(&id("call")));
    let call = s.state().find(&id("call")).unwrap();
    assert_eq!(call.results, [s.state().index(&id("answer")).unwrap()]);
}

#[test]
fn references_forward_or_to_nothing_are_refused_all_at_once() {
    let mut s = Scenario::given(spans(&["a"]));
    let refusal = refused(&mut s, vec![result("answer", "call"), call("call")]);
    assert_eq!(refusal, Refusal::UnknownSpan(ids(&["call"])), "its call must come first");
    let strange =
        NewSpan { contradicts: ids(&["a", "ghost"]), supersedes: Some(id("shade")), ..span("b") };
    let refusal = refused(&mut s, vec![span("c"), strange]);
    assert_eq!(refusal, Refusal::UnknownSpan(ids(&["ghost", "shade"])));
    let itself = NewSpan { contradicts: ids(&["b"]), ..span("b") };
    assert_eq!(refused(&mut s, vec![itself]), Refusal::UnknownSpan(ids(&["b"])));
}

#[test]
fn only_a_result_answers_and_only_a_call_is_answered() {
    let mut s = Scenario::given(vec![span("a"), call("call")]);
    for wrong in [
        NewSpan { answers: Some(id("call")), ..span("b") },
        result("answer", "a"),
        NewSpan { kind: SpanKind::ToolCall, ..result("answer", "call") },
    ] {
        let refusal = refused(&mut s, vec![wrong]);
        assert_eq!(refusal.code(), "bad_request", "{refusal:?}");
    }
}

#[test]
fn summaries_are_not_appended() {
    let mut s = Scenario::open();
    for wrong in [
        NewSpan { origin: Origin::Summary, ..span("a") },
        NewSpan { kind: SpanKind::Summary, ..span("a") },
    ] {
        assert_eq!(refused(&mut s, vec![wrong]).code(), "bad_request");
    }
}

#[test]
fn a_contradicting_span_notes_one_contradiction_for_each_that_it_names() {
    let mut s = Scenario::given(spans(&["a", "b"]));
    s.send(Command::Contradict { spans: ids(&["a", "b"]), note: None }).unwrap();
    let from = s.log.len() + 1;
    let objects = |name| NewSpan { contradicts: ids(&["a", "b"]), ..span(name) };
    s.append(vec![objects("x"), objects("y")]);
    let expected: Vec<&str> =
        ["span-recorded", "contradiction-noted", "contradiction-noted"].repeat(2);
    assert_eq!(s.kinds(from), expected);
    let noted: Vec<(u32, &[SpanId])> = s
        .log
        .iter()
        .filter_map(|recorded| match &recorded.event {
            Event::ContradictionNoted(event) => Some((event.contradiction, &event.spans[..])),
            _ => None,
        })
        .collect();
    let sides = [["a", "b"], ["x", "a"], ["x", "b"], ["y", "a"], ["y", "b"]].map(|s| ids(&s));
    let expected: Vec<(u32, &[SpanId])> =
        (1..).zip(&sides).map(|(n, sides)| (n, &sides[..])).collect();
    assert_eq!(noted, expected);
    let open: Vec<u32> = ["a", "b", "x", "y"]
        .map(|name| s.state().find(&id(name)).unwrap().open_contradictions)
        .into();
    assert_eq!(open, [3, 3, 2, 2]);
}

#[test]
fn what_the_model_never_saw_takes_neither_place_nor_room() {
    let hidden = NewSpan { in_window: false, ..span("hidden") };
    let mut s = Scenario::given(vec![span("a"), hidden, span("b")]);
    assert_eq!(s.window(), "a b");
    assert_eq!(s.state().budget().used_tokens, 200);
    assert_eq!(s.outcome("hidden"), lacuna_core::Outcome::Recoverable);
    let refused = s.restore(&["hidden"]).unwrap_err();
    assert_eq!(refused.code(), "contract_violation", "there is no place to restore it to");
}
