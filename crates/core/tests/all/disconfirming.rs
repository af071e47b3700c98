//! While something contradicts a summary, the window keeps something beside it that could disprove
//! it: when the summary is written and at every prune.

use lacuna_core::{CopyEvidence, NewSpan, Prune, RejectReason as Why};

use crate::scenario::{Scenario, drop_spans, id, ids, replace, span, spans};
use crate::telling::{WORKER, enforced, honest, plain, plain_citing, refused};

fn five() -> Scenario {
    enforced(spans(&["a", "b", "c", "d", "e"]))
}

/// `S` over `a` and `b`, passed by an auditor and in their place.
fn standing() -> Scenario {
    let mut s = five();
    s.told(plain("S", &["a", "b"]));
    s.audited_by("auditor", "S", &["a", "b"], true);
    s.prune(replace(&["a", "b"], "S"));
    assert_eq!(s.window(), "summary(S: a b) c d e");
    s
}

#[track_caller]
fn why(s: &Scenario, prune: Prune) -> (Option<Why>, Vec<String>) {
    let reply = s.clone().dry(prune);
    (reply.reason, reply.concerned.iter().map(ToString::to_string).collect())
}

#[test]
fn a_summary_that_swallows_all_that_contradicts_it() {
    let mut s = five();
    let first = s.contradict("a", "b");
    let both = ["disconfirming_removed - a", "disconfirming_removed - b"];
    let says =
        ["a contradicts what this summarises", "leave it out of covers", "restore it", "resolve"];
    refused(&s, plain("S", &["a", "b"]), &both, &says);
    refused(&s, plain("S", &["b", "c", "a"]), &both, &says);
    // One of them left out stays beside it.
    honest(&s, plain("S", &["a", "c"]));
    honest(&s, plain("S", &["b", "c"]));
    honest(&s, plain("S", &["c", "d"]));
    // Covered or cited, it rests on it.
    honest(&s, plain_citing("S", &["a"], &["a", "b"]));
    honest(&s, plain_citing("S", &["b"], &["c"]));
    s.resolve(first);
    honest(&s, plain("S", &["a", "b"]));
}

/// One that stays is enough, whatever else leaves.
#[test]
fn one_that_stays_is_enough() {
    let mut s = five();
    s.contradict("a", "b");
    s.contradict("a", "c");
    let all = ["a", "b", "c"].map(|span| format!("disconfirming_removed - {span}"));
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    refused(&s, plain("S", &["a", "b", "c"]), &all, &[]);
    honest(&s, plain("S", &["a", "b"]));
    honest(&s, plain("S", &["b", "c"]));
}

/// What contradicts it but stands outside the window disproves nothing there.
#[test]
fn what_contradicts_it_stands_outside_the_window() {
    let mut s = five();
    s.append(vec![NewSpan { in_window: false, ..span("out") }]);
    s.prune(drop_spans(&["e"]));
    for other in ["out", "e"] {
        let mut s = s.clone();
        let number = s.contradict("a", other);
        let expected = format!("disconfirming_removed - {other}");
        refused(&s, plain("S", &["a"]), &[&expected], &[&format!("{other} contradicts")]);
        honest(&s, plain("S", &["b"]));
        s.resolve(number);
        honest(&s, plain("S", &["a"]));
    }
    s.contradict("a", "e");
    s.restore(&["e"]).unwrap();
    honest(&s, plain("S", &["a"]));
    s.contradict("b", "d");
    s.lose(&["d"]);
    refused(&s, plain("S", &["b"]), &["disconfirming_removed - d"], &["resolve the contradiction"]);
}

/// A contradiction with the summary itself, before and after it stands.
#[test]
fn a_summary_is_a_side_of_a_contradiction() {
    let mut s = five();
    s.told(plain("S", &["a", "b"]));
    s.audited_by("auditor", "S", &["a", "b"], true);
    let number = s.contradict("S", "c");
    // `c` stays: S may come. Neither S nor c may leave then.
    s.prune(replace(&["a", "b"], "S"));
    assert_eq!(s.window(), "summary(S: a b) c d e");
    assert_eq!(why(&s, drop_spans(&["c"])), (Some(Why::DisconfirmingRemoved), vec!["c".into()]));
    assert_eq!(why(&s, drop_spans(&["c", "d"])).0, Some(Why::DisconfirmingRemoved));
    assert_eq!(why(&s, drop_spans(&["S"])), (Some(Why::ContradictionProtected), vec!["S".into()]));
    let consents = Prune { accept_lossy: true, ..drop_spans(&["c"]) };
    assert_eq!(why(&s, consents).0, Some(Why::DisconfirmingRemoved), "consent is no way around");
    // With the summary gone as well nothing is left to disprove, but both are protected.
    assert_eq!(why(&s, drop_spans(&["S", "c"])).0, Some(Why::ContradictionProtected));
    // A summary over both is refused, over one is not.
    let over = plain_citing("T", &["S", "c"], &["a", "c"]);
    let both = ["disconfirming_removed - c", "disconfirming_removed - S"];
    refused(&s, over.clone(), &both, &["c contradicts"]);
    honest(&s, plain_citing("T", &["S", "d"], &["a"]));
    s.resolve(number);
    assert_eq!(why(&s, drop_spans(&["c"])).0, None);
    honest(&s, over);
}

/// A summary may not come while its contradiction stands nowhere in the window.
#[test]
fn a_summary_comes_only_beside_what_contradicts_it() {
    let mut s = five();
    s.told(plain("S", &["a", "b"]));
    s.audited_by("auditor", "S", &["a", "b"], true);
    s.prune(drop_spans(&["c"]));
    let number = s.contradict("S", "c");
    let refusal = s.dry(replace(&["a", "b"], "S"));
    assert_eq!((refusal.reason, refusal.concerned), (Some(Why::DisconfirmingRemoved), ids(&["c"])));
    let advice = refusal.advice.unwrap();
    assert!(advice.contains("all that contradicts the summary S"), "{advice}");
    assert!(advice.contains("keep one of them, or resolve"), "{advice}");
    let mut back = s.clone();
    back.restore(&["c"]).unwrap();
    assert_eq!(back.refuses(replace(&["a", "b"], "S")), None);
    s.resolve(number);
    assert_eq!(s.refuses(replace(&["a", "b"], "S")), None);
}

/// What contradicts something that the summary covers or cites contradicts the summary.
#[test]
fn a_contradiction_with_what_a_standing_summary_rests_on() {
    for (side, cites) in [("a", &["a"][..]), ("d", &["a", "d"])] {
        let mut s = five();
        s.told(plain_citing("S", &["a", "b"], cites));
        s.audited_by("auditor", "S", &["a", "b", "d"], true);
        s.by(WORKER).prune(replace(&["a", "b"], "S"));
        s.contradict(side, "c");
        let found = why(&s, drop_spans(&["c"]));
        assert_eq!(found, (Some(Why::DisconfirmingRemoved), vec!["c".into()]), "{side}");
        // A second one may stay in its place, and both are protected as sides.
        s.contradict(side, "e");
        assert_eq!(why(&s, drop_spans(&["c"])).0, Some(Why::ContradictionProtected));
        assert_eq!(why(&s, drop_spans(&["c", "e"])).0, Some(Why::DisconfirmingRemoved));
        assert_eq!(why(&s, drop_spans(&["b"])).0, Some(Why::AlreadyPruned));
    }
}

/// Where nothing stood beside it before, a prune takes nothing away.
#[test]
fn a_prune_of_others_is_not_refused_for_a_summary_that_stands_bare() {
    let mut s = standing();
    s.prune(drop_spans(&["c"]));
    s.contradict("a", "c");
    assert_eq!(why(&s, drop_spans(&["d"])), (None, vec![]));
    // A copy of what contradicts it is lost: the window has no witness left, and others may leave.
    let mut s = standing();
    s.contradict("a", "c");
    s.evidence.insert(id("c"), CopyEvidence::missing("gone"));
    s.lose(&["c"]);
    assert_eq!(why(&s, drop_spans(&["d"])), (None, vec![]));
}

/// A contradiction declared by an append protects as one declared by verb.
#[test]
fn contradictions_by_append_and_by_verb() {
    let mut s = five();
    s.append(vec![NewSpan { contradicts: ids(&["a"]), ..span("f") }]);
    let both = ["disconfirming_removed - a", "disconfirming_removed - f"];
    refused(&s, plain("S", &["a", "f"]), &both, &[]);
    assert_eq!(why(&s, drop_spans(&["f"])).0, Some(Why::ContradictionProtected));
    // Declared twice it is settled twice.
    let second = s.contradict("f", "a");
    s.resolve(second);
    refused(&s, plain("S", &["a", "f"]), &both, &[]);
    s.resolve(1);
    honest(&s, plain("S", &["a", "f"]));
}

/// A summary of a summary rests on what is behind it, as its readers do.
#[test]
fn a_contradiction_with_what_is_behind_a_covered_summary() {
    let mut s = standing();
    s.prune(drop_spans(&["c"]));
    s.contradict("a", "c");
    // Over S alone, citing what nobody contradicts.
    let outer = plain_citing("T", &["S", "d"], &["b", "d"]);
    refused(&s, outer, &["disconfirming_removed - c"], &["restore it"]);
}

/// Pruned, the outer summary would stand with nothing that contradicts what is behind it.
#[test]
fn a_prune_beside_an_outer_summary() {
    let mut s = standing();
    s.told(plain_citing("T", &["S", "d"], &["b", "d"]));
    s.audited_by("auditor", "T", &["S", "b", "d"], true);
    s.prune(replace(&["S", "d"], "T"));
    s.contradict("a", "c");
    assert_eq!(why(&s, drop_spans(&["c"])), (Some(Why::DisconfirmingRemoved), vec!["c".into()]));
}
