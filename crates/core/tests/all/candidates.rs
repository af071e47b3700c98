//! Suggested prunes against brute force: every set of spans of a small window, decided as a dry run.

use std::cell::Cell;
use std::collections::BTreeSet;

use lacuna_core::{
    Candidate, Limits, NewSpan, Outcome, Prune, SessionState, SpanId, Verdict, candidates,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::scenario::{
    Scenario, call, drop_spans, id, ids, replace, result, span, spans, summary, thinking, withheld,
};

#[derive(Debug, Clone)]
struct Piece {
    shape: u8,
    tokens: u32,
    pinned: bool,
    /// Taken by shapes that need another span.
    other: usize,
}

/// A pruner that wrote nothing.
fn somebody() -> lacuna_core::Principal {
    "somebody".parse().unwrap()
}

fn piece(tokens: std::ops::Range<u32>) -> impl Strategy<Value = Piece> {
    (0..10_u8, tokens, prop::bool::weighted(0.1), 0..16_usize)
        .prop_map(|(shape, tokens, pinned, other)| Piece { shape, tokens, pinned, other })
}

/// What happens to the window before anything is suggested.
#[derive(Debug, Clone)]
enum Before {
    Drop(usize),
    Summarise(usize, usize),
    Contradict(usize, usize),
    Lose(usize),
}

fn before() -> impl Strategy<Value = Before> {
    let at = || 0..16_usize;
    prop_oneof![
        at().prop_map(Before::Drop),
        (at(), at()).prop_map(|(a, b)| Before::Summarise(a, b)),
        (at(), at()).prop_map(|(a, b)| Before::Contradict(a, b)),
        at().prop_map(Before::Lose),
    ]
}

fn window(pieces: &[Piece], before: &[Before]) -> Scenario {
    let mut s = Scenario::open();
    for (at, piece) in pieces.iter().enumerate() {
        // Long names make long stubs.
        let name = if piece.other == 0 { format!("{:-<40}", at) } else { format!("x{at}") };
        let calls = s.state().spans().iter().filter(|s| s.kind == lacuna_core::SpanKind::ToolCall);
        let calls: Vec<SpanId> = calls.map(|span| span.id.clone()).collect();
        let made = match piece.shape {
            0 | 1 => call(&name),
            2..=4 if !calls.is_empty() => result(&name, calls[piece.other % calls.len()].as_str()),
            5 => thinking(&name, "hm"),
            6 => withheld(&name),
            7 => NewSpan { role: lacuna_core::Role::Assistant, ..span(&name) },
            _ => span(&name),
        };
        s.append(vec![NewSpan { tokens: Some(piece.tokens), pinned: piece.pinned, ..made }]);
    }
    let name = |s: &Scenario, at: usize| s.state().spans()[at % s.state().spans().len()].id.clone();
    for step in before {
        match step {
            Before::Drop(at) => {
                let spans = vec![name(&s, *at)];
                s.prune(Prune { spans, ..drop_spans(&[]) });
            }
            Before::Summarise(a, b) => {
                let covers = [name(&s, *a), name(&s, *b)];
                let covers: Vec<&str> = covers.iter().map(SpanId::as_str).collect();
                let told = summary("S", &covers);
                let number = s.state().spans().len();
                let told = lacuna_core::Summarize { id: Some(id(&format!("S{number}"))), ..told };
                let own = told.id.clone().unwrap();
                s.tell(told);
                s.prune(replace(&covers, own.as_str()));
            }
            Before::Contradict(a, b) => {
                let (a, b) = (name(&s, *a), name(&s, *b));
                if a != b {
                    s.contradict(a.as_str(), b.as_str());
                }
            }
            Before::Lose(at) => {
                let own = name(&s, *at);
                let stored = !matches!(s.outcome(own.as_str()), Outcome::Withheld | Outcome::Lossy);
                if stored {
                    s.lose(&[own.as_str()]);
                }
            }
        }
    }
    s
}

fn dry(s: &Scenario, spans: Vec<SpanId>) -> lacuna_core::PruneReply {
    let prune = Prune { spans, dry_run: true, ..drop_spans(&[]) };
    let command = lacuna_core::Command::Prune(prune);
    let context = s.context(&command);
    match lacuna_core::decide(s.state.as_ref(), &command, &context).unwrap().reply {
        lacuna_core::Reply::Pruned(reply) => *reply,
        other => panic!("{other:?}"),
    }
}

/// Whether a result leaves while its call stays. (A prune may do that; a suggestion never does.)
fn splits(state: &SessionState, spans: &[SpanId]) -> bool {
    spans.iter().filter_map(|id| state.find(id)?.answers).any(|call| {
        let call = state.span(call);
        state.outcome(call) == Outcome::Live && !spans.contains(&call.id)
    })
}

/// The most that any allowed set frees, and that set: all subsets of what stands in the window.
fn best(s: &Scenario) -> (i64, Vec<SpanId>) {
    let state = s.state();
    let standing: Vec<SpanId> = state
        .spans()
        .iter()
        .filter(|span| state.outcome(span) == Outcome::Live)
        .map(|span| span.id.clone())
        .collect();
    assert!(standing.len() <= 11, "too many for brute force: {}", standing.len());
    let mut best = (0, Vec::new());
    for set in 1..1_u32 << standing.len() {
        let spans: Vec<SpanId> = (0..standing.len())
            .filter(|at| set & 1 << at != 0)
            .map(|at| standing[at].clone())
            .collect();
        if splits(state, &spans) {
            continue;
        }
        let reply = dry(s, spans.clone());
        if reply.verdict == Verdict::Reversible && reply.freed_tokens > best.0 {
            best = (reply.freed_tokens, spans);
        }
    }
    best
}

fn ask(state: &SessionState, tokens: u64) -> Vec<Candidate> {
    candidates(state, tokens, &somebody(), &BTreeSet::new(), &Limits::default())
}

/// Tokens that are lost with the reasoning that a provider may refuse.
fn price(state: &SessionState, candidate: &Candidate) -> u64 {
    let thinking = candidate.cost.thinking_invalidated.iter();
    let lost: u64 = thinking.map(|id| u64::from(state.find(id).unwrap().tokens)).sum();
    candidate.cost.prefix_rewritten_tokens + lost
}

/// What must hold of every list of candidates.
fn holds(s: &Scenario, asked: u64, most: i64, slack: i64) -> Result<Vec<Candidate>, TestCaseError> {
    let state = s.state();
    let wanted = i64::try_from(asked.max(1)).unwrap_or(i64::MAX);
    let found = ask(state, asked);
    prop_assert_eq!(&found, &ask(state, asked), "the same question, the same answer");
    prop_assert!(found.len() <= 5);
    for candidate in &found {
        let mut own = candidate.spans.clone();
        own.sort_by_key(|id| state.index(id));
        own.dedup();
        prop_assert_eq!(own.len(), candidate.spans.len(), "each span once: {:?}", candidate);
        for span in candidate.spans.iter().map(|id| state.find(id).unwrap()) {
            prop_assert!(
                !span.pinned && span.open_contradictions == 0,
                "{} may not leave",
                span.id
            );
        }
        prop_assert!(!splits(state, &candidate.spans), "{:?}", candidate);
        let reply = dry(s, candidate.spans.clone());
        prop_assert_eq!(reply.verdict, Verdict::Reversible, "{:?} {:?}", candidate, reply.advice);
        prop_assert_eq!(reply.freed_tokens, candidate.freed_tokens);
        prop_assert_eq!(&reply.cost, &candidate.cost);
        prop_assert!(candidate.freed_tokens > 0);
    }
    let enough = |candidate: &Candidate| candidate.freed_tokens >= wanted;
    let reached = found.iter().all(enough);
    if most - slack >= wanted {
        prop_assert!(reached && !found.is_empty(), "{most} can be freed, {asked} asked: {found:?}");
    } else if !reached {
        prop_assert_eq!(found.len(), 1, "where it is impossible there is one way");
        prop_assert!(found[0].freed_tokens >= most - slack, "the most is {}: {:?}", most, found);
    }
    prop_assert!(!found.is_empty() || most <= slack, "{most} can be freed");
    let key = |c: &Candidate| (price(state, c), c.freed_tokens, c.spans.len());
    prop_assert!(found.is_sorted_by_key(key), "cheapest first: {:?}", found);
    let sets: BTreeSet<Vec<SpanId>> = found.iter().map(|c| c.spans.clone()).collect();
    prop_assert_eq!(sets.len(), found.len(), "each way once");
    Ok(found)
}

fn run(tokens: std::ops::Range<u32>, slack: i64, cases: u32) {
    let config = ProptestConfig { source_file: Some(file!()), cases, ..ProptestConfig::default() };
    let mut runner = TestRunner::new(config);
    let (several, none) = (Cell::new(0), Cell::new(0));
    let input = (vec(piece(tokens), 1..9), vec(before(), 0..4), 0..1_200_u64);
    let outcome = runner.run(&input, |(pieces, before, asked)| {
        let s = window(&pieces, &before);
        let (most, set) = best(&s);
        let near = most.unsigned_abs();
        for asked in
            [0, 1, asked, near / 2, near.saturating_sub(slack as u64), near, near + 1, u64::MAX]
        {
            let found = holds(&s, asked, most, slack).map_err(|why| {
                TestCaseError::fail(format!("{why}\n{} best {set:?}", s.window()))
            })?;
            several.set(several.get() + usize::from(found.len() > 1));
            none.set(none.get() + usize::from(found.is_empty()));
        }
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}\n{runner}");
    }
    assert!(several.get() > 10 && none.get() > 0, "{several:?} with several, {none:?} without");
}

/// Whatever the window: what is suggested is allowed, is what it says, and frees what was asked if
/// that is possible, but for what a few stubs take.
#[test]
fn candidates_free_what_was_asked_within_some_stubs() {
    run(0..200, 60, 200);
}

/// Where every span is larger than any stub the most is found to the token.
#[test]
fn candidates_free_what_was_asked_of_large_spans() {
    run(60..400, 0, 200);
}

#[test]
fn candidates_free_what_was_asked_exactly() {
    run(0..200, 0, 200);
}

fn sized(name: &str, tokens: u32) -> NewSpan {
    NewSpan { tokens: Some(tokens), ..span(name) }
}

/// A span of one token beside a large one: to take both costs two tokens more of stub, and frees one.
#[test]
fn a_small_neighbour_that_costs_more_than_it_frees() {
    let s = Scenario::given(vec![sized("a", 100), sized("b", 1)]);
    let (most, set) = best(&s);
    assert_eq!(set, ids(&["a"]));
    let found = ask(s.state(), most as u64);
    assert_eq!(found[0].freed_tokens, most, "{found:?}");
}

/// A call beside a large span, its tiny result elsewhere: to take the pair leaves another stub.
#[test]
fn a_pair_whose_result_costs_a_stub_of_its_own() {
    let small = |span| NewSpan { tokens: Some(1), ..span };
    let s = Scenario::given(vec![
        sized("a", 100),
        small(call("c")),
        NewSpan { pinned: true, ..span("pin") },
        small(result("r", "c")),
    ]);
    let (most, set) = best(&s);
    assert_eq!(set, ids(&["a"]));
    let found = ask(s.state(), most as u64);
    assert!(found[0].freed_tokens >= most, "{most}: {found:?}");
}

#[test]
fn nothing_may_leave_and_nothing_is_suggested() {
    let mut s = Scenario::given(vec![
        NewSpan { pinned: true, ..span("pin") },
        call("open"),
        withheld("key"),
        span("a"),
        span("b"),
        sized("tiny", 2),
    ]);
    s.contradict("a", "b");
    assert_eq!(ask(s.state(), 1), []);
    assert_eq!(ask(Scenario::open().state(), 1), []);
}

/// What `without` names stays, and its call or results with it.
#[test]
fn what_is_to_stay_stays() {
    let s = Scenario::given(vec![span("a"), call("c"), result("r", "c"), span("b")]);
    let state = s.state();
    let without = BTreeSet::from([state.index(&id("r")).unwrap(), state.index(&id("b")).unwrap()]);
    let found = candidates(state, 1_000, &somebody(), &without, &Limits::default());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].spans, ids(&["a"]));
}

/// The turn that the model works on leaves last.
#[test]
fn the_current_turn_is_spared_while_others_are_enough() {
    let s = Scenario::given(spans(&["a", "b", "c"]));
    for candidate in ask(s.state(), 80) {
        assert!(!candidate.spans.contains(&id("c")), "{candidate:?}");
    }
    assert!(ask(s.state(), 250).iter().all(|c| c.spans == ids(&["a", "b", "c"])));
}
