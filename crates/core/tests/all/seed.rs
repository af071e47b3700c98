//! The conditions under which an instance may prune its own context and summarise the summary:
//! origin tags survive, contradiction is protected, author and auditor are separate, the reserve is
//! kept. And the failure that they prevent: a guess that is read back as a fact.

use lacuna_core::{
    Claim, ClaimOrigin as O, Command, Contract, EntryKind, Open, Purpose, RejectReason as Why,
    SummaryStatus, Verdict, tags_text,
};

use crate::scenario::{Scenario, drop_spans, id, replace};
use crate::telling::{
    claim, enforced, enforced_in, honest, plain, refused, tell_as, tell_one, tool, user,
};

const GUESS: &str = "I think the staging DB is on port 5433.";
const FACT: &str = "staging DB port is 5433.";

/// The user guesses a port; a tool reports something else; more follows.
fn guessed() -> Scenario {
    enforced(vec![
        user("guess", GUESS),
        tool("build", "build finished in 42 s"),
        user("next", "Please write the migration."),
        user("last", "Go on."),
    ])
}

fn hedged() -> Claim {
    claim("The user thinks the staging DB is on port 5433.", O::Hedged, &["guess"])
}

fn built() -> Claim {
    claim("The build took 42 s.", O::ToolOutput, &["build"])
}

/// First compaction, by the rules: the guess and the build leave behind `S1`.
fn compacted_once() -> Scenario {
    let mut s = guessed();
    let text = "The user thinks the staging DB is on port 5433. The build took 42 s.";
    s.told(tell_as("S1", &["guess", "build"], text, vec![hedged(), built()]));
    s.audited_by("auditor", "S1", &["guess", "build"], true);
    s.prune(replace(&["guess", "build"], "S1"));
    assert_eq!(s.window(), "summary(S1: guess build) next last");
    s
}

/// The text of the only summary in the window, with the tags behind it.
fn shown(s: &Scenario, claims: &[Claim]) -> String {
    let state = s.state();
    let entry = state.entries().find(|entry| entry.kind == EntryKind::Summary).unwrap();
    let text = &s.contents[&state.span(entry.spans[0]).id];
    let tags = tags_text(state, claims).unwrap_or_default();
    format!("{}\n{tags}", std::str::from_utf8(text).unwrap())
}

/// Every way to tell the guess as a fact, over these spans.
#[track_caller]
fn never_a_fact(s: &Scenario, covers: &[&str], summary: Option<&str>) {
    let fact =
        |origin, sources: &[&str]| tell_as("F", covers, FACT, vec![claim(FACT, origin, sources)]);
    let dropped = ["hedge_dropped 0 guess"];
    refused(s, fact(O::UserSaid, &["guess"]), &dropped, &["tag it hedged"]);
    refused(s, fact(O::Inferred, &["guess"]), &dropped, &["tag it hedged"]);
    let both = ["origin_upgraded 0 guess", "hedge_dropped 0 guess"];
    refused(s, fact(O::ToolOutput, &["guess"]), &both, &["of origin user"]);
    refused(s, fact(O::Inferred, &[]), &["unsourced_claim 0"], &[]);
    let elsewhere = ["anchor_not_in_source 0 \"5433\""];
    refused(s, fact(O::UserSaid, &["next"]), &elsewhere, &["“5433”"]);
    if let Some(summary) = summary {
        let second_hand = format!("source_not_primary 0 {summary}");
        let hedged = format!("hedge_dropped 0 {summary}");
        for origin in [O::UserSaid, O::ToolOutput, O::Inferred, O::Hedged] {
            let says = ["second-hand", "guess"];
            let expected = [&*second_hand, &*hedged];
            let expected = if origin == O::Hedged { &expected[..1] } else { &expected };
            refused(s, fact(origin, &[summary]), expected, &says);
        }
        let both = [&*hedged, dropped[0]];
        refused(s, fact(O::Inferred, &[summary, "guess"]), &both, &[]);
    }
}

#[test]
fn a_guess_is_a_guess_after_two_compactions() {
    let mut s = compacted_once();
    never_a_fact(&guessed(), &["guess", "build"], None);
    never_a_fact(&s, &["S1", "next"], Some("S1"));
    let own = s.state().find(&id("guess")).unwrap().handle();
    let tag = format!("[hedged by user, not established: {} ({own})]", hedged().text);
    assert!(shown(&s, &[hedged(), built()]).ends_with(&tag));
    // Second compaction: what S1 says of the guess is cited from the guess itself.
    let text = "The user thinks the staging DB is on port 5433, and wants a migration.";
    let migration = || claim("The user wants a migration.", O::UserSaid, &["next"]);
    let claims = || vec![hedged(), migration()];
    s.told(tell_as("S2", &["S1", "next"], text, claims()));
    assert_eq!(s.state().find(&id("S2")).unwrap().depth(), Some(2));
    s.audited_by("auditor", "S2", &["guess", "next"], true);
    assert_eq!(s.prune(replace(&["S1", "next"], "S2")).verdict, Verdict::Reversible);
    assert_eq!(s.window(), "summary(S2: S1 next) last");
    let shown = shown(&s, &claims());
    assert!(shown.ends_with(&tag), "{shown}");
    assert!(!shown.contains(FACT));
    never_a_fact(&s, &["S2", "last"], Some("S2"));
    // The guess itself is two handles away, letter for letter.
    assert!(s.state().addressable().contains(&id("guess")));
    s.restore(&["guess"]).unwrap();
    assert_eq!(&*s.contents[&id("guess")], GUESS.as_bytes());
}

/// Without a claim that stands for it, the text itself is held to the hedge.
#[test]
fn the_text_alone_does_not_launder_it_either() {
    let mut s = guessed();
    let flat = |covers: &[&str]| tell_as("F", covers, FACT, vec![built()]);
    let found = ["hedge_dropped - guess \"5433\""];
    refused(&s, flat(&["guess", "build"]), &found, &["keep the hedge"]);
    s = compacted_once();
    honest(&s, tell_as("T", &["S1", "next"], "The build took 42 s.", vec![built()]));
}

/// What the text of a summary says of the spans behind a summary that it covers is held to them,
/// even if no claim cites them.
#[test]
fn a_text_over_a_summary_is_held_to_what_is_behind_it() {
    let mut s = guessed();
    // Honest, because the claim beside it is hedged and its tag is shown.
    s.told(tell_as("S1", &["guess", "build"], FACT, vec![hedged(), built()]));
    s.audited_by("auditor", "S1", &["guess", "build"], true);
    s.prune(replace(&["guess", "build"], "S1"));
    // The second time the hedged claim is left out, and the tag goes with it.
    let again = tell_as("S2", &["S1"], FACT, vec![built()]);
    let (found, said) = crate::telling::tried(&s, &again);
    assert!(found.iter().any(|f| f.starts_with("hedge_dropped -")), "{found:?} {said:?}");
}

/// Once the guess is gone for good only what was said of it remains, and says so.
#[test]
fn a_guess_whose_source_is_lost_stays_second_hand() {
    let mut s = compacted_once();
    s.lose(&["guess", "build"]);
    let flat = |origin| tell_as("F", &["S1", "next"], FACT, vec![claim(FACT, origin, &["S1"])]);
    for origin in [O::UserSaid, O::ToolOutput, O::Inferred] {
        let found = ["source_not_primary 0 S1", "hedge_dropped 0 S1"];
        refused(&s, flat(origin), &found, &["tag it hedged"]);
    }
    honest(&s, flat(O::Hedged));
    refused(
        &s,
        tell_as("F", &["S1"], FACT, vec![hedged()]),
        &["source_unrecoverable 0 guess"],
        &[],
    );
}

#[test]
fn contradiction_is_protected() {
    let mut s = guessed();
    let denial = lacuna_core::NewSpan {
        contradicts: vec![id("guess")],
        ..tool("denial", "psql: port 5433: connection refused")
    };
    s.append(vec![denial]);
    for span in ["guess", "denial"] {
        assert_eq!(s.refuses(drop_spans(&[span])), Some(Why::ContradictionProtected));
    }
    // A summary that swallows what denies it is refused; beside it, it may stand.
    let over = |covers: &[&str]| tell_as("S", covers, "A port was named.", vec![hedged()]);
    let both = ["disconfirming_removed - guess", "disconfirming_removed - denial"];
    refused(&s, over(&["guess", "denial"]), &both, &["leave it out of covers", "resolve"]);
    honest(&s, over(&["guess", "build"]));
    s.resolve(1);
    honest(&s, over(&["guess", "denial"]));
    assert_eq!(s.refuses(drop_spans(&["guess"])), None);
}

#[test]
fn author_and_auditor_are_separate() {
    let mut s = guessed();
    s.told(plain("S", &["guess", "build"]));
    let both = || replace(&["guess", "build"], "S");
    assert_eq!(s.refuses(both()), Some(Why::SummaryNotAudited));
    s.read(&["guess", "build"], Purpose::Audit);
    assert!(!s.audit("S", true).accepted);
    assert_eq!(s.refuses(both()), Some(Why::SummaryNotAudited));
    // Somebody else prunes, or somebody else audits.
    assert_eq!(s.by("supervisor").refuses(both()), None);
    s.by("worker-1").audited_by("auditor", "S", &["guess", "build"], true);
    assert_eq!(s.refuses(both()), None);
}

#[test]
fn the_reserve_is_kept() {
    let s = enforced_in(1_000, vec![user("a", GUESS)]);
    let budget = s.state().budget();
    assert_eq!((budget.window_tokens, budget.reserve_tokens), (1_000, 150));
    assert_eq!((budget.used_tokens, budget.free_tokens, budget.over), (100, 750, false));
    // The reserve is part of every budget, and what eats into it is told, not hidden.
    let mut s = s;
    let fill =
        |name: &str, tokens| lacuna_core::NewSpan { tokens: Some(tokens), ..user(name, GUESS) };
    s.append(vec![fill("b", 750)]);
    assert_eq!((s.state().budget().free_tokens, s.state().budget().over), (0, false));
    s.append(vec![fill("c", 1)]);
    let budget = s.state().budget();
    assert_eq!((budget.free_tokens, budget.over, budget.used_tokens), (0, true, 851));
    let long = "The user thinks the staging DB is on port 5433. ".repeat(8);
    let mut told = tell_one(&["a"], hedged_of_a());
    told.text = long.trim().to_owned();
    told.digest = lacuna_core::Digest::of(told.text.as_bytes());
    refused(&s, told, &["reserve_breached -"], &["reserve of 150 tokens", "shorten it by"]);
    honest(&s, tell_one(&["a"], hedged_of_a()));
}

fn hedged_of_a() -> Claim {
    claim("The user thinks the staging DB is on port 5433.", O::Hedged, &["a"])
}

/// A session that asks to be recorded only is told everything and refused nothing.
#[test]
fn under_record_findings_are_kept_and_nothing_is_refused() {
    let mut s = Scenario::nothing();
    let Command::Open(open) = crate::scenario::open_command() else { panic!() };
    assert_eq!(open.contract, Contract::Record);
    s.send(Command::Open(Open { ..open })).unwrap();
    s.append(vec![user("guess", GUESS)]);
    let fact = tell_one(&["guess"], claim(FACT, O::UserSaid, &["guess"]));
    let reply = s.tell(fact.clone());
    assert_eq!(reply.status, SummaryStatus::Accepted);
    assert_eq!(crate::telling::found(&fact, &reply), ["hedge_dropped 0 guess"]);
    assert_eq!(s.refuses(replace(&["guess"], "S")), None);
    let audit = s.audit("S", true);
    assert!(audit.counts && audit.accepted, "{audit:?}");
    assert_eq!(audit.findings.len(), 1);
}
