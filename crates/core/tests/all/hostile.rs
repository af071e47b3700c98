//! Journals that no decision wrote: whatever the events say, folding and asking must not panic,
//! and the sizes must add up. (I9)

use std::collections::BTreeSet;

use lacuna_core::event::{
    ContradictionNoted, ContradictionResolved, LossyCommitted, LostSpan, PruneExecuted, PrunedSpan,
    SpanRecorded, SpanRestored, StoredClaims, SummaryRecorded, SummaryStatus,
};
use lacuna_core::{
    Cause, Check, Command, Cost, Digest, DirectiveNo, Event, Prune, PruneMode, Recorded, SessionNo,
    SpanId, TokensFrom, decide, render,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::scenario::{Scenario, call, drop_spans, id, replace, result, span, spans};

fn name() -> impl Strategy<Value = SpanId> {
    (0..6_u8).prop_map(|n| id(&format!("x{n}")))
}

fn span_recorded() -> impl Strategy<Value = Event> {
    (name(), name(), 0..4_u8, any::<bool>(), prop_oneof![Just(100_u32), any::<u32>()]).prop_map(
        |(name, other, shape, in_window, tokens)| {
            let new = match shape {
                0 => call(name.as_str()),
                1 => result(name.as_str(), other.as_str()),
                _ => span(name.as_str()),
            };
            Event::SpanRecorded(SpanRecorded {
                span: name,
                role: new.role,
                origin: new.origin,
                kind: new.kind,
                storage: new.storage(),
                digest: new.digest,
                bytes: new.bytes(),
                media_type: new.media_type,
                tokens,
                tokens_from: TokensFrom::Declared,
                hedged: false,
                pinned: false,
                turn: None,
                answers: new.answers,
                supersedes: None,
                labels: new.labels,
                source: None,
                in_window,
            })
        },
    )
}

fn prune_executed() -> impl Strategy<Value = Event> {
    (0..6_u32, vec((name(), any::<bool>()), 0..6), option::of(name()), any::<i64>()).prop_map(
        |(directive, spans, replace_with, freed_tokens)| {
            let pruned = spans.into_iter().map(|(span, holds)| PrunedSpan {
                span,
                digest: Digest::default(),
                check: Check {
                    existence: holds,
                    addressability: true,
                    provenance: true,
                    why: None,
                },
                durable_until: None,
            });
            Event::PruneExecuted(PruneExecuted {
                directive: DirectiveNo(directive),
                mode: PruneMode::Drop,
                spans: pruned.collect(),
                replace_with,
                accept_lossy: true,
                min_durability_ms: None,
                reason: None,
                freed_tokens,
                cost: Cost::default(),
            })
        },
    )
}

fn event() -> impl Strategy<Value = Event> {
    let lost = vec(name(), 0..4).prop_map(|names| {
        let lost = |span| LostSpan { span, digest: Digest::default(), bytes: 1, tokens: 1 };
        let spans = names.into_iter().map(lost).collect();
        Event::LossyCommitted(LossyCommitted {
            spans,
            cause: Cause::Damage { found: "x".into() },
            residue: false,
        })
    });
    let summary = (name(), vec(name(), 0..4)).prop_map(|(span, covers)| {
        Event::SummaryRecorded(SummaryRecorded {
            span,
            covers,
            digest: Digest::of(b"summary"),
            bytes: 7,
            tokens: 20,
            claims: StoredClaims::default(),
            cites: Vec::new(),
            asked: None,
            status: SummaryStatus::Accepted,
            findings: Vec::new(),
            depth: 1,
            tag_tokens: 0,
            identifiers: 0,
            identifiers_kept: 0,
        })
    });
    let noted = (any::<u32>(), vec(name(), 0..4)).prop_map(|(contradiction, spans)| {
        Event::ContradictionNoted(ContradictionNoted { contradiction, spans, note: None })
    });
    prop_oneof![
        8 => span_recorded(),
        4 => summary,
        8 => prune_executed(),
        3 => lost,
        6 => name().prop_map(|span| Event::SpanRestored(SpanRestored { span })),
        1 => noted,
        1 => any::<u32>().prop_map(|n| Event::ContradictionResolved(ContradictionResolved {
            contradiction: n % 8,
            note: String::new(),
        })),
        1 => Just(Event::SessionClosed),
    ]
}

/// An event as no decision would have recorded it.
fn stray(scenario: &Scenario, version: u64, event: Event) -> Recorded {
    Recorded {
        seq: version,
        version,
        at: scenario.now(),
        session: SessionNo(41),
        principal: "stranger".parse().unwrap(),
        command: None,
        previous: Digest::default(),
        hash: Digest::default(),
        event,
        imported: None,
    }
}

/// Folds a directive that no decision made: each span with a check that holds.
fn prune_unasked(scenario: &mut Scenario, spans: &[&str], replace_with: Option<&str>) -> String {
    let holds = Check { existence: true, addressability: true, provenance: true, why: None };
    let pruned = |span: &&str| PrunedSpan {
        span: id(span),
        digest: Digest::default(),
        check: holds.clone(),
        durable_until: None,
    };
    let event = Event::PruneExecuted(PruneExecuted {
        directive: DirectiveNo(9),
        mode: PruneMode::Drop,
        spans: spans.iter().map(pruned).collect(),
        replace_with: replace_with.map(id),
        accept_lossy: false,
        min_durability_ms: None,
        reason: None,
        freed_tokens: 0,
        cost: Cost::default(),
    });
    let recorded = stray(scenario, scenario.state().version + 1, event);
    scenario.state.as_mut().unwrap().evolve(&recorded);
    scenario.window()
}

/// An ordered map panics on a range between a key and itself.
#[test]
fn a_directive_that_names_a_span_twice_takes_it_out_once() {
    let mut s = Scenario::given(spans(&["a", "b", "c"]));
    assert_eq!(prune_unasked(&mut s, &["b", "b", "a", "b"], None), "stub(a b) c");
}

#[test]
fn a_directive_leaves_alone_what_does_not_stand_in_the_window() {
    let mut s = Scenario::given(spans(&["a", "b", "c", "d"]));
    s.prune(drop_spans(&["a", "b"]));
    s.lose(&["c"]);
    assert_eq!(prune_unasked(&mut s, &["a", "c", "d"], None), "stub(a b) tombstone(c) stub(d)");
}

#[test]
fn a_summary_that_left_is_not_torn_out_of_the_stub_that_it_shares() {
    let mut s = Scenario::given(spans(&["a", "b", "c"]));
    s.summarize("S", &["a", "c"]);
    s.prune(replace(&["a"], "S"));
    s.prune(drop_spans(&["S", "b"]));
    assert_eq!(prune_unasked(&mut s, &["c"], Some("S")), "stub(S b) stub(c)");
}

#[test]
fn a_summary_does_not_replace_itself() {
    let mut s = Scenario::given(spans(&["a", "b"]));
    s.summarize("S", &["a"]);
    s.prune(replace(&["a"], "S"));
    assert_eq!(prune_unasked(&mut s, &["S"], Some("S")), "stub(S) b");
}

proptest! {
    #[test]
    fn no_journal_makes_the_fold_panic(events in vec(event(), 1..60), names in vec(name(), 0..6)) {
        let mut scenario = Scenario::open();
        let mut directives = 0;
        for (mut event, version) in events.into_iter().zip(2_u64..) {
            // Mostly the right number, or no directive would ever be found again.
            if let Event::PruneExecuted(PruneExecuted { directive, .. }) = &mut event {
                directives += 1;
                if directive.0 > 0 {
                    *directive = DirectiveNo(directives);
                }
            }
            let recorded = stray(&scenario, version, event);
            let state = scenario.state.as_mut().unwrap();
            state.evolve(&recorded);
            let sum: u64 = state.entries().map(|entry| u64::from(entry.tokens)).sum();
            prop_assert_eq!(state.budget().used_tokens, sum, "after {:?}", recorded.event);
            let shown: Vec<u32> = state.entries().flat_map(|entry| entry.spans).collect();
            let distinct: BTreeSet<u32> = shown.iter().copied().collect();
            prop_assert_eq!(shown.len(), distinct.len(), "a span is shown twice: {:?}", shown);
            let lost: Vec<u32> = state.ledger().iter().map(|entry| entry.span).collect();
            let distinct: BTreeSet<u32> = lost.iter().copied().collect();
            prop_assert_eq!(lost.len(), distinct.len(), "a span is lost twice: {:?}", lost);
        }
        scenario.state().addressable();
        // Two spans of one id make requests that no provider takes; they must only be made.
        render::openai(scenario.state(), &scenario.shown());
        render::anthropic(scenario.state(), &scenario.shown());
        render::text(scenario.state(), &scenario.shown());
        let names: Vec<&str> = names.iter().map(SpanId::as_str).collect();
        let lossy = Prune { accept_lossy: true, ..drop_spans(&names) };
        for command in [
            Command::Prune(lossy.clone()),
            Command::Prune(Prune { replace_with: Some(id("x1")), ..lossy }),
            Command::Restore { spans: names.iter().map(|name| id(name)).collect() },
        ] {
            let context = scenario.context(&command);
            let (mut open, closed) = (scenario.state().clone(), scenario.state());
            open.closed_at = None;
            let answers = [&open, closed].map(|state| decide(Some(state), &command, &context).is_ok());
            prop_assert!(!answers[1] || closed.closed_at.is_none(), "a closed session took {:?}", command);
        }
    }
}
