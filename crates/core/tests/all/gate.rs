//! The gate: existence, addressability, provenance, and consent to loss.

use lacuna_core::{
    Check, CopyEvidence, Digest, Event, Gate, Outcome, Prune, RejectReason, Timestamp, Verdict,
    check, gate,
};

use crate::scenario::{Scenario, drop_spans, id, spans, withheld};

/// What a directive over one span comes to.
#[derive(Debug, PartialEq)]
struct Effect {
    verdict: Verdict,
    gate: Gate,
    reason: Option<RejectReason>,
    kinds: Vec<&'static str>,
    window: String,
    outcome: Outcome,
    ledger: Vec<String>,
    handle: Option<String>,
    tombstone: Option<String>,
}

fn evidence(existence: bool, provenance: bool) -> CopyEvidence {
    let answer = |holds: bool, found: &str| if holds { Ok(()) } else { Err(found.to_owned()) };
    CopyEvidence {
        existence: answer(existence, "no copy"),
        provenance: answer(provenance, "the store cannot tell"),
        durable_until: None,
        unanswered: false,
    }
}

fn effect(existence: bool, provenance: bool, accept_lossy: bool, reason: Option<&str>) -> Effect {
    let mut s = Scenario::given(spans(&["a", "b", "c"]));
    s.evidence.insert(id("b"), evidence(existence, provenance));
    let from = s.log.len() + 1;
    let reason = reason.map(str::to_owned);
    let reply = s.prune(Prune { accept_lossy, reason, ..drop_spans(&["b"]) });
    let [only] = reply.spans.as_slice() else { panic!("{:?}", reply.spans) };
    assert_eq!((only.check.existence, only.check.provenance), (existence, provenance));
    assert!(only.check.addressability, "the registry finds its own spans");
    Effect {
        verdict: reply.verdict,
        gate: only.gate,
        reason: reply.reason,
        kinds: s.kinds(from),
        window: s.window(),
        outcome: s.outcome("b"),
        ledger: s.ledger(),
        handle: only.handle.as_ref().map(ToString::to_string),
        tombstone: only.tombstone.clone(),
    }
}

fn handle_of_b() -> Option<String> {
    let s = Scenario::given(spans(&["b"]));
    s.state().find(&id("b")).map(|span| span.handle().to_string())
}

fn reversible() -> Effect {
    Effect {
        verdict: Verdict::Reversible,
        gate: Gate::Reversible,
        reason: None,
        kinds: vec!["prune-executed"],
        window: "a stub(b) c".into(),
        outcome: Outcome::Recoverable,
        ledger: vec![],
        handle: handle_of_b(),
        tombstone: None,
    }
}

fn lossy() -> Effect {
    Effect {
        verdict: Verdict::Lossy,
        gate: Gate::Lossy,
        reason: None,
        kinds: vec!["prune-executed", "lossy-committed"],
        window: "a tombstone(b) c".into(),
        outcome: Outcome::Lossy,
        ledger: vec!["b: p1@prune worker-1".into()],
        handle: None,
        tombstone: Some("b: pruned, unrecoverable, contents unknown".into()),
    }
}

fn rejected() -> Effect {
    Effect {
        verdict: Verdict::Rejected,
        gate: Gate::Rejected,
        reason: Some(RejectReason::NotReversible),
        kinds: vec!["prune-rejected"],
        window: "a b c".into(),
        outcome: Outcome::Live,
        ledger: vec![],
        handle: handle_of_b(),
        tombstone: None,
    }
}

#[test]
fn the_verdict_of_all_sixteen_combinations() {
    let mut reversibles = 0;
    for bits in 0..16_u8 {
        let [existence, addressability, provenance, accept_lossy] =
            [1, 2, 4, 8].map(|bit| bits & bit != 0);
        let check = Check { existence, addressability, provenance, why: None };
        let expected = match (existence && addressability && provenance, accept_lossy) {
            (true, _) => Gate::Reversible,
            (false, true) => Gate::Lossy,
            (false, false) => Gate::Rejected,
        };
        assert_eq!(gate(&check, accept_lossy), expected, "{check:?}, accept_lossy {accept_lossy}");
        reversibles += u8::from(expected == Gate::Reversible);
    }
    assert_eq!(reversibles, 2, "all three conditions, with and without consent");
}

#[test]
fn the_effect_of_the_eight_combinations_that_a_session_reaches() {
    // Addressability cannot fail through `decide`: the alphabet of ids leaves no handle that reads
    // back as another, and a state finds the spans that it holds. The other eight combinations are
    // held by the test above and by the one below.
    for (existence, provenance) in [(true, true), (true, false), (false, true), (false, false)] {
        for accept_lossy in [false, true] {
            let expected = match (existence && provenance, accept_lossy) {
                (true, _) => reversible(),
                (false, true) => lossy(),
                (false, false) => rejected(),
            };
            let found = effect(existence, provenance, accept_lossy, None);
            assert_eq!(found, expected, "{existence} {provenance} {accept_lossy}");
        }
    }
}

#[test]
fn a_handle_that_leads_elsewhere_fails_addressability() {
    let s = Scenario::given(spans(&["a", "b"]));
    let genuine = s.state().find(&id("a")).unwrap().clone();
    let verified = CopyEvidence::verified();
    assert!(check(s.state(), &genuine, Some(&verified)).holds());

    let mut moved = genuine.clone();
    moved.seq += 1;
    let mut altered = genuine.clone();
    altered.digest = Digest::of(b"other bytes");
    let mut unknown = genuine;
    unknown.id = id("nobody");
    for strange in [moved, altered, unknown] {
        let found = check(s.state(), &strange, Some(&verified));
        let why = format!("its handle {} resolves to something else", strange.handle());
        let expected =
            Check { existence: true, addressability: false, provenance: true, why: Some(why) };
        assert_eq!(found, expected);
        assert_eq!(gate(&found, false), Gate::Rejected);
        assert_eq!(gate(&found, true), Gate::Lossy);
    }
}

#[test]
fn without_evidence_nothing_is_established_and_every_failure_is_said() {
    let s = Scenario::given(spans(&["a"]));
    let span = s.state().find(&id("a")).unwrap();
    let unread = check(s.state(), span, None);
    let why = "its copy was not read back; its copy was not read back".to_owned();
    let expected = Check { addressability: true, why: Some(why), ..Check::default() };
    assert_eq!(unread, expected);
    let both = check(s.state(), span, Some(&evidence(false, false)));
    assert_eq!(both.why.as_deref(), Some("no copy; the store cannot tell"));
}

#[test]
fn what_the_model_says_of_a_span_never_changes_the_verdict() {
    let words = [
        "this is safe, everything is logged",
        "existence=true addressability=true provenance=true accept_lossy=true",
        "confidence 0.99",
        "reversible",
    ];
    for (existence, provenance) in [(true, true), (true, false), (false, true), (false, false)] {
        for accept_lossy in [false, true] {
            let silent = effect(existence, provenance, accept_lossy, None);
            for said in words {
                assert_eq!(effect(existence, provenance, accept_lossy, Some(said)), silent);
            }
        }
    }
}

#[test]
fn the_words_are_recorded_with_the_directive_whatever_its_verdict() {
    let mut s = Scenario::given(spans(&["a", "b"]));
    s.evidence.insert(id("a"), CopyEvidence::missing("no copy"));
    let said = |span| Prune { reason: Some("sure".into()), ..drop_spans(&[span]) };
    s.prune(said("a"));
    s.prune(said("b"));
    let reasons: Vec<Option<&str>> = s
        .log
        .iter()
        .filter_map(|recorded| match &recorded.event {
            Event::PruneExecuted(event) => Some(event.reason.as_deref()),
            Event::PruneRejected(event) => Some(event.reason.as_deref()),
            _ => None,
        })
        .collect();
    assert_eq!(reasons, [Some("sure"), Some("sure")]);
}

#[test]
fn one_bad_span_of_forty_keeps_all_forty() {
    let names: Vec<String> = (0..40).map(|n| format!("block_{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut s = Scenario::given(spans(&names));
    s.evidence.insert(id("block_7"), CopyEvidence::missing("rotated out"));
    let before: Vec<_> = s.state().entries().collect();
    let reply = s.prune(drop_spans(&names));
    assert_eq!(reply.verdict, Verdict::Rejected);
    assert_eq!(reply.reason, Some(RejectReason::NotReversible));
    assert_eq!(reply.concerned, [id("block_7")]);
    assert_eq!(reply.freed_tokens, 0);
    let failing: Vec<&str> =
        reply.spans.iter().filter(|s| !s.check.holds()).map(|s| s.span.as_str()).collect();
    assert_eq!((reply.spans.len(), failing), (40, vec!["block_7"]));
    assert!(reply.spans.iter().all(|span| span.gate == Gate::Rejected));
    assert_eq!(s.state().entries().collect::<Vec<_>>(), before);
    let Some(Event::PruneRejected(event)) = s.log.last().map(|last| &last.event) else {
        panic!("{:?}", s.log.last())
    };
    assert_eq!((event.why, event.spans.len()), (RejectReason::NotReversible, 40));
    let advice = reply.advice.unwrap();
    assert!(advice.contains("rotated out") && advice.contains("accept_lossy"), "{advice}");
}

#[test]
fn with_consent_the_bad_one_is_lost_and_the_others_come_back() {
    let mut s = Scenario::given(spans(&["a", "b", "c"]));
    s.evidence.insert(id("b"), CopyEvidence::missing("rotated out"));
    let reply = s.prune(Prune { accept_lossy: true, ..drop_spans(&["c", "b", "a"]) });
    assert_eq!(reply.verdict, Verdict::Mixed);
    let gates: Vec<(&str, Gate)> = reply.spans.iter().map(|s| (s.span.as_str(), s.gate)).collect();
    let expected = [("a", Gate::Reversible), ("b", Gate::Lossy), ("c", Gate::Reversible)];
    assert_eq!(gates, expected, "in session order");
    assert_eq!(s.window(), "stub(a) tombstone(b) stub(c)");
    assert_eq!(s.ledger(), ["b: p1@prune worker-1"]);
}

#[test]
fn a_withheld_span_leaves_only_as_a_loss() {
    let mut s = Scenario::given(vec![withheld("key")]);
    assert_eq!(s.outcome("key"), Outcome::Withheld);
    let refused = s.prune(drop_spans(&["key"]));
    assert_eq!(refused.reason, Some(RejectReason::NotReversible));
    let lost = s.prune(Prune { accept_lossy: true, ..drop_spans(&["key"]) });
    assert_eq!(lost.verdict, Verdict::Lossy);
    assert_eq!((s.window().as_str(), s.outcome("key")), ("tombstone(key)", Outcome::Lossy));
}

/// The law must not rest on whoever gathers the evidence: there is no copy that could be whole.
#[test]
fn a_withheld_span_is_a_loss_even_to_evidence_that_claims_a_copy() {
    let mut s = Scenario::given(vec![withheld("key")]);
    s.evidence.insert(id("key"), CopyEvidence::verified());
    let refused = s.prune(drop_spans(&["key"]));
    assert_eq!(refused.reason, Some(RejectReason::NotReversible));
    assert!(!refused.spans[0].check.existence, "{:?}", refused.spans[0].check);
}

#[test]
fn the_reply_says_until_when_the_copy_lives() {
    let mut s = Scenario::given(spans(&["a", "b"]));
    let until = Timestamp(s.now().0 + 3_600_000);
    let dated = CopyEvidence { durable_until: Some(until), ..CopyEvidence::verified() };
    s.evidence.insert(id("a"), dated);
    let reply = s.prune(drop_spans(&["a", "b"]));
    let dates: Vec<_> = reply.spans.iter().map(|span| span.durable_until).collect();
    assert_eq!(dates, [Some(until), None]);
}

#[test]
fn a_copy_must_live_as_long_as_was_asked() {
    const HOUR: u64 = 3_600_000;
    for (asked, reason) in [
        (HOUR - 1, None),
        (HOUR, None),
        (HOUR + 1, Some(RejectReason::DurabilityTooShort)),
        (u64::MAX, Some(RejectReason::DurabilityTooShort)),
    ] {
        let mut s = Scenario::given(spans(&["a", "b"]));
        let until = Timestamp(s.now().0 + HOUR);
        let dated = CopyEvidence { durable_until: Some(until), ..CopyEvidence::verified() };
        s.evidence.insert(id("a"), dated);
        let asking = Prune { min_durability_ms: Some(asked), ..drop_spans(&["a", "b"]) };
        let reply = s.prune(asking.clone());
        assert_eq!(reply.reason, reason, "asked for {asked} ms");
        let concerned: &[_] = if reason.is_some() { &[id("a")] } else { &[] };
        assert_eq!(reply.concerned, concerned);
        if reason.is_some() {
            // Whoever consents to losing the span consents to a shorter life of its copy.
            let reply = s.prune(Prune { accept_lossy: true, ..asking });
            assert_eq!((reply.verdict, s.ledger()), (Verdict::Reversible, vec![]));
        }
    }
}
