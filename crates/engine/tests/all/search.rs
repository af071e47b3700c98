//! Searching: found, certainly absent, or inconclusive with the spans named; residues of removed spans
//! tell what was certainly not in them.

use lacuna_core::event::{Keep, LiveHandles, Match, Rule, Since};
use lacuna_core::retention::{Period, STREAM};
use lacuna_core::{Command, Content, Digest, Outcome};
use lacuna_engine::{Among, Bounds, Pattern, RunRequest, Searched};

use crate::rig::{Rig, key, prune, request, span};

fn policy(residue: bool) -> Command {
    let period = Some((Period(0), Since::Recorded));
    let rule = |id: &str, labels: &[(&str, &str)], keep, residue| Rule {
        id: id.to_owned(),
        matches: Match {
            labels: labels.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect(),
            ..Match::default()
        },
        keep,
        notice: Period(0),
        live_handles: LiveHandles::Commit,
        residue,
    };
    let stays = Keep { forever: true, ..Keep::default() };
    let goes = Keep { period, ..Keep::default() };
    Command::SetPolicy {
        rules: vec![
            rule("stays", &[("lot", "stays")], stays, false),
            rule("goes", &[], goes, residue),
        ],
    }
}

/// `kept` stays; `gone` and `other` go with the next run.
fn world(residue: bool) -> Rig {
    let rig = Rig::new();
    rig.opened("s");
    let mut kept = span(Some("kept"), "the pool was at 10.0.0.7:5432 when req-11aa22bb failed");
    kept.labels.insert("lot".into(), "stays".into());
    let gone = span(Some("gone"), "worker-7 saw req-7f3a9c01 in src/pool/mod.rs and gave up");
    let other = span(Some("other"), "naïve text without a name — only words");
    let mut binary = span(Some("binary"), "");
    let bytes: &[u8] = &[0xff, 0xfe, 0, 1];
    (binary.content, binary.digest) = (Content::Bytes(bytes.into()), Digest::of(bytes));
    rig.send("s", Command::Append { spans: vec![kept, gone, other, binary] }).unwrap();
    rig.send("s", prune(&["gone"], false)).unwrap();
    rig.send(STREAM, policy(residue)).unwrap();
    rig
}

fn run(rig: &Rig) {
    let (closed, _) = rig.journal.run(&key("s").tenant, RunRequest::scheduled()).unwrap();
    assert_eq!(closed.tally.removed_spans, 3);
}

fn literal(rig: &Rig, text: &str, among: Among) -> Searched {
    rig.journal
        .search(&key("s"), &Pattern::Literal(text.into()), among, Bounds::places(50))
        .unwrap()
}

fn found(searched: &Searched) -> Vec<(&str, Outcome, u64)> {
    let place =
        |m: &lacuna_engine::Match| (searched.state.span(m.span).id.as_str(), m.outcome, m.offset);
    searched.matches.iter().map(place).collect()
}

fn unsearchable(searched: &Searched) -> Vec<(&str, &str)> {
    let one = |(span, why): &(u32, String)| -> (&str, &str) {
        let state = &searched.state;
        let why = searched.unsearchable.iter().find(|(at, w)| at == span && w == why);
        (state.span(*span).id.as_str(), why.map_or("", |(_, why)| why.as_str()))
    };
    searched.unsearchable.iter().map(one).collect()
}

#[test]
fn what_is_there_is_found_with_some_words_around_it() {
    let rig = world(false);
    let all = literal(&rig, "req-", Among::All);
    assert_eq!(found(&all), [("kept", Outcome::Live, 35), ("gone", Outcome::Recoverable, 13)]);
    assert_eq!((all.spans, all.unsearchable.len(), all.more), (4, 0, false));
    assert_eq!(all.matches[1].excerpt, "worker-7 saw req-7f3a9c01 in src/pool/mod.rs and gave up");
    assert_eq!(found(&literal(&rig, "req-", Among::Window)), [("kept", Outcome::Live, 35)]);
    assert_eq!(found(&literal(&rig, "req-", Among::Pruned)), [("gone", Outcome::Recoverable, 13)]);
    let regex = Pattern::Regex(regex::bytes::Regex::new(r"req-[0-9a-f]{8}\b").unwrap());
    let by_regex = rig.journal.search(&key("s"), &regex, Among::All, Bounds::places(1)).unwrap();
    assert_eq!((found(&by_regex), by_regex.more), (vec![("kept", Outcome::Live, 35)], true));
    // Certainly nowhere: every span was looked at.
    let absent = literal(&rig, "req-00000000", Among::All);
    assert_eq!((absent.matches.len(), absent.unsearchable.len(), absent.spans), (0, 0, 4));
    // An excerpt is cut between characters.
    let naive = literal(&rig, "ve text", Among::All);
    assert_eq!(naive.matches[0].excerpt, "naïve text without a name — only words");
}

#[test]
fn what_is_removed_cannot_be_searched_and_is_named() {
    let rig = world(false);
    run(&rig);
    for text in ["req-7f3a9c01", "req-00000000"] {
        let searched = literal(&rig, text, Among::All);
        assert_eq!(found(&searched), []);
        let named = [("gone", "retention"), ("other", "retention"), ("binary", "retention")];
        assert_eq!(unsearchable(&searched), named, "{text}");
        assert_eq!(searched.spans, 1);
    }
    assert_eq!(found(&literal(&rig, "10.0.0.7", Among::All)), [("kept", Outcome::Live, 16)]);
}

#[test]
fn a_residue_tells_what_was_certainly_not_in_a_removed_text() {
    let rig = world(true);
    run(&rig);
    let rig = rig.reopened();
    let not_text = "retention";
    // Never there: only what is no text cannot tell.
    let never = literal(&rig, "req-00000000", Among::All);
    assert_eq!(unsearchable(&never), [("binary", not_text)]);
    assert_eq!((never.spans, never.by_residue), (3, 2));
    // It was there: the residue does not deny it.
    let was = literal(&rig, "req-7f3a9c01", Among::All);
    let why = "retention; by its residue it may have been in there";
    assert_eq!(unsearchable(&was), [("gone", why), ("binary", not_text)]);
    // A part of an identifier of its own, and what is no identifier.
    assert_eq!(unsearchable(&literal(&rig, "worker-7", Among::All))[0], ("gone", why));
    let words = unsearchable_words(&rig);
    assert_eq!(words, "retention; its residue tells only of words as identifiers have them");
    let losses = rig.journal.ledger(&key("s").tenant, 0, 99).unwrap();
    assert!(losses.iter().all(|loss| loss.event.residue), "the ledger says so: {losses:?}");
}

fn unsearchable_words(rig: &Rig) -> String {
    let searched = literal(rig, "gave up", Among::All);
    unsearchable(&searched)[0].1.to_owned()
}

#[test]
fn an_erasure_keeps_no_residue() {
    let rig = world(true);
    let command = Command::Erase { spans: None, cut: u64::MAX, reason: "asked".into() };
    rig.journal.erase(request("s", None, command)).unwrap();
    let searched = literal(&rig, "req-00000000", Among::All);
    let named = ["kept", "gone", "other", "binary"].map(|span| (span, "erasure"));
    assert_eq!(unsearchable(&searched), named);
}

#[test]
fn old_heads_still_verify_after_a_run() {
    let rig = world(false);
    let before = rig.journal.history(&key("s"), 1, 99).unwrap();
    let head = rig.journal.head();
    run(&rig);
    let after = rig.journal.history(&key("s"), 1, before.len()).unwrap();
    assert_eq!(after, before, "no event was rewritten, and each hash is what it was");
    let report = rig.journal.verify(&Default::default(), |_| {}).unwrap();
    assert_eq!(report.faults, vec![]);
    assert!(rig.journal.head().seq > head.seq);
    let upto = lacuna_engine::VerifyOptions { to: head.seq, ..Default::default() };
    assert_eq!(rig.journal.verify(&upto, |_| {}).unwrap().faults, vec![]);
}

#[test]
fn a_search_whose_time_is_over_says_what_it_has_not_reached() {
    let rig = world(false);
    let pattern = Pattern::Literal("req-".into());
    let (mut from, mut spans, mut places) = (0, 0, 0);
    let mut rounds = 0;
    loop {
        let bounds = Bounds { from, time: std::time::Duration::ZERO, ..Bounds::places(50) };
        let part = rig.journal.search(&key("s"), &pattern, Among::All, bounds).unwrap();
        // One is always looked at, so that going on comes to an end.
        assert_eq!(part.spans, 1);
        (spans, places) = (spans + part.spans, places + part.matches.len());
        rounds += 1;
        match part.reached {
            Some(next) => from = next as usize,
            None => break,
        }
    }
    let whole = literal(&rig, "req-", Among::All);
    assert_eq!((rounds, spans, places), (4, whole.spans, whole.matches.len()));
    assert_eq!((whole.reached, places), (None, 2));
}
