//! The gate's three conditions over real stores: every combination that one can produce.

use lacuna_core::{Command, Content, Digest, Gate, NewSpan, Outcome, RejectReason, Reply, Verdict};
use lacuna_engine::{EngineError, Options};

use crate::outside::{Outside, SILENT, TELLING, external, stores};
use crate::rig::{Rig, append, ids, key, prune, span};

const TEXT: &str = "request req-77ae-0042 failed";

/// What has become of the file by the time of the prune.
#[derive(Debug, Clone, Copy, PartialEq)]
enum File {
    There,
    Removed,
    OtherBytes,
    Shorter,
    Longer,
    Hangs,
}

fn given(store: &str, file: File) -> Outside {
    let outside = Outside::new();
    outside.record(store, "block_7", TEXT);
    match file {
        File::There => {}
        File::Removed => outside.remove("block_7"),
        File::OtherBytes => outside.write("block_7", &TEXT.replace('7', "8")),
        File::Shorter => outside.write("block_7", &TEXT[1..]),
        File::Longer => outside.write("block_7", &format!("{TEXT}!")),
        File::Hangs => outside.hang("block_7"),
    }
    outside
}

#[test]
fn every_state_of_a_store_has_its_verdict() {
    let files = [
        (File::There, None),
        (File::Removed, Some("has no \"block_7\"")),
        (File::OtherBytes, Some("do not match the digest")),
        (File::Shorter, Some("27 bytes instead of 28")),
        (File::Longer, Some("more than 28 bytes")),
        (File::Hangs, Some("did not answer within 150ms")),
    ];
    let mut seen = std::collections::BTreeSet::new();
    for (file, missing) in files {
        for store in [TELLING, SILENT] {
            for accept_lossy in [false, true] {
                let outside = given(store, file);
                let before = outside.version();
                let reply = outside.rig.prune("s", &["block_7"], accept_lossy);
                let case = format!("{file:?} {store} {accept_lossy}: {reply:?}");
                let check = &reply.spans[0].check;
                seen.insert((check.existence, check.addressability, check.provenance));
                assert_eq!(check.existence, missing.is_none(), "{case}");
                assert!(check.addressability, "{case}");
                assert_eq!(check.provenance, store == TELLING, "{case}");
                let why = check.why.clone().unwrap_or_default();
                assert!(why.contains(missing.unwrap_or_default()), "{case}");
                assert_eq!(why.contains("answers alike"), store == SILENT, "{case}");
                let holds = missing.is_none() && store == TELLING;
                let expected = match (holds, accept_lossy) {
                    (true, _) => (Verdict::Reversible, Gate::Reversible, Outcome::Recoverable),
                    (false, true) => (Verdict::Lossy, Gate::Lossy, Outcome::Lossy),
                    (false, false) => (Verdict::Rejected, Gate::Rejected, Outcome::Live),
                };
                let state = outside.rig.journal.state(&key("s")).unwrap();
                let outcome = state.outcome(state.find(&"block_7".parse().unwrap()).unwrap());
                assert_eq!((reply.verdict, reply.spans[0].gate, outcome), expected, "{case}");
                assert!(state.version > before, "each directive is on record: {case}");
                if expected.0 == Verdict::Rejected {
                    assert_eq!(reply.reason, Some(RejectReason::NotReversible), "{case}");
                }
            }
        }
    }
    let all = [(true, true, true), (true, true, false), (false, true, true), (false, true, false)];
    assert_eq!(seen, all.into_iter().collect());
}

#[test]
fn what_was_withheld_can_only_be_lost() {
    let outside = Outside::new();
    let digest = Digest::of(b"secret");
    let content = Content::Withheld { digest, bytes: 6, reason: "a password".into() };
    let spans = vec![NewSpan { content, digest, ..span(Some("w"), "") }];
    outside.rig.send("s", Command::Append { spans }).unwrap();
    let refused = outside.rig.prune("s", &["w"], false);
    let check = &refused.spans[0].check;
    assert_eq!((check.existence, check.provenance), (false, true));
    assert!(check.why.as_deref().unwrap().contains("withheld, never stored"));
    assert_eq!(outside.rig.prune("s", &["w"], true).verdict, Verdict::Lossy);
}

/// The first seed: the log was rotated out of the durable store two hours before the prune, under a
/// retention of its own that the model knew nothing of.
#[test]
fn a_log_that_was_rotated_away_two_hours_ago_is_not_taken_on_trust() {
    let outside = Outside::new();
    outside.record(TELLING, "tool-calls.log", TEXT);
    outside.rig.append("s", &[("digest", "the deployment failed")]);
    outside.remove("tool-calls.log");
    let refused = outside.rig.prune("s", &["tool-calls.log"], false);
    assert_eq!(
        (refused.verdict, refused.reason),
        (Verdict::Rejected, Some(RejectReason::NotReversible))
    );
    let check = &refused.spans[0].check;
    assert_eq!((check.existence, check.addressability, check.provenance), (false, true, true));
    assert!(refused.advice.unwrap().contains("accept_lossy"));
    // The span still stands in the window, and nothing is lost by a refusal.
    assert_eq!(outside.rig.journal.state(&key("s")).unwrap().ledger().len(), 0);

    let lossy = outside.rig.prune("s", &["tool-calls.log"], true);
    assert_eq!(lossy.verdict, Verdict::Lossy);
    let tombstone = "tool-calls.log: pruned, unrecoverable, contents unknown";
    assert_eq!(lossy.spans[0].tombstone.as_deref(), Some(tombstone));
    let state = outside.rig.journal.state(&key("s")).unwrap();
    let (_, shown, _) = outside.rig.journal.window(&key("s"), state, 1 << 20).unwrap();
    assert_eq!(shown[0].entry.text.as_deref(), Some(tombstone));
    // Turn N+5: the answer is that it was pruned, never that it was not there.
    let address = "tool-calls.log".parse().unwrap();
    let answer = outside.rig.journal.expand(&key("s"), &address, 0, 99).unwrap();
    assert_eq!(answer.outcome, Outcome::Lossy);
}

#[test]
fn a_directive_is_atomic_over_stores_and_the_journal() {
    let outside = Outside::new();
    outside.rig.append("s", &[("a", "here")]);
    outside.record(TELLING, "b", "there");
    outside.record(TELLING, "c", "gone soon");
    outside.remove("c");
    let refused = outside.rig.prune("s", &["a", "b", "c"], false);
    assert_eq!(refused.verdict, Verdict::Rejected);
    let checks: Vec<bool> = refused.spans.iter().map(|span| span.check.existence).collect();
    assert_eq!(checks, [true, true, false]);
    let state = outside.rig.journal.state(&key("s")).unwrap();
    assert!(state.spans().iter().all(|span| state.outcome(span) == Outcome::Live));
    let mixed = outside.rig.prune("s", &["a", "b", "c"], true);
    assert_eq!(mixed.verdict, Verdict::Mixed);
    let gates: Vec<Gate> = mixed.spans.iter().map(|span| span.gate).collect();
    assert_eq!(gates, [Gate::Reversible, Gate::Reversible, Gate::Lossy]);
}

#[test]
fn a_dry_run_asks_the_store_and_records_nothing() {
    let outside = Outside::new();
    outside.record(TELLING, "a", TEXT);
    let dry = |spans: &[&str]| match prune(spans, false) {
        Command::Prune(prune) => Command::Prune(lacuna_core::Prune { dry_run: true, ..prune }),
        other => other,
    };
    let before = outside.version();
    for (there, verdict) in [(true, Verdict::Reversible), (false, Verdict::Rejected)] {
        if !there {
            outside.remove("a");
        }
        let Reply::Pruned(reply) = outside.rig.send("s", dry(&["a"])).unwrap().reply else {
            panic!("no verdict");
        };
        assert_eq!(reply.verdict, verdict);
    }
    assert_eq!(outside.version(), before);
}

#[test]
fn restoring_asks_the_store_too() {
    let restore = || Command::Restore { spans: ids(&["a"]) };
    let pruned = || {
        let outside = Outside::new();
        outside.record(TELLING, "a", TEXT);
        assert_eq!(outside.rig.prune("s", &["a"], false).verdict, Verdict::Reversible);
        outside
    };
    let outside = pruned();
    outside.rig.send("s", restore()).unwrap();
    let state = outside.rig.journal.state(&key("s")).unwrap();
    assert_eq!(state.outcome(&state.spans()[0]), Outcome::Live);

    let outside = pruned();
    outside.remove("a");
    match outside.rig.send("s", restore()) {
        Err(EngineError::Refused(refusal)) => assert_eq!(refusal.code(), "not_recoverable"),
        other => panic!("{other:?}"),
    }
    // No answer is no loss: it says to come again.
    let outside = pruned();
    outside.hang("a");
    match outside.rig.send("s", restore()) {
        Err(EngineError::Refused(refusal)) => assert_eq!(refusal.code(), "unavailable"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_store_that_is_configured_no_longer_proves_and_loses_nothing() {
    let outside = Outside::new();
    outside.record(TELLING, "a", TEXT);
    let Outside { rig, files } = outside;
    let rig = rig.reopened();
    let refused = rig.prune("s", &["a"], false);
    let check = &refused.spans[0].check;
    assert_eq!((check.existence, check.provenance), (false, false));
    assert!(check.why.as_deref().unwrap().contains("no external store \"archive\""), "{check:?}");
    match rig.journal.expand(&key("s"), &"a".parse().unwrap(), 0, 99) {
        Err(EngineError::Refused(refusal)) => assert_eq!(refusal.code(), "unavailable"),
        other => panic!("{other:?}"),
    }
    let stores = stores(files.path());
    let rig = rig.reopened_with(Options { stores, ..Options::default() });
    assert_eq!(rig.prune("s", &["a"], false).verdict, Verdict::Reversible);
}

#[test]
fn a_span_that_is_recorded_right_before_is_asked_for_as_well() {
    let outside = Outside::new();
    let (sender, answers) = std::sync::mpsc::sync_channel(64);
    for n in 0..20 {
        let id = format!("f{n}");
        outside.write(&id, TEXT);
        let spans = vec![external(TELLING, &id, TEXT)];
        for command in [Command::Append { spans }, prune(&[&id], false)] {
            let sender = sender.clone();
            let callback = Box::new(move |answer| sender.send(answer).unwrap());
            outside.rig.journal.submit(crate::rig::request("s", None, command), callback).unwrap();
        }
    }
    drop(sender);
    let mut reversible = 0;
    for answer in answers {
        if let Reply::Pruned(reply) = answer.unwrap().reply {
            assert_eq!(reply.verdict, Verdict::Reversible, "{reply:?}");
            reversible += 1;
        }
    }
    assert_eq!(reversible, 20);
}

#[test]
fn keys_lead_nowhere_else() {
    let outside = Outside::new();
    let stores = outside.rig.journal.stores();
    for bad in ["", "/etc/passwd", "../x", "a/../b", "a/..", "./a", "a/", "a\\b", "a\0"] {
        let why = stores.check(TELLING, bad).unwrap_err();
        assert!(why.contains("relative"), "{bad:?}: {why}");
    }
    for good in ["a", "a/b.log", "2026/11/30/x", "..a"] {
        stores.check(TELLING, good).unwrap();
    }
    let why = stores.check("nowhere", "a").unwrap_err();
    assert!(why.contains("archive, logs"), "{why}");
    // Nor do links.
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::write(elsewhere.path().join("f"), TEXT).unwrap();
    let link = |to: &std::path::Path, name: &str| {
        std::os::unix::fs::symlink(to, outside.path(name)).unwrap();
    };
    link(&elsewhere.path().join("f"), "out");
    link(elsewhere.path(), "folder");
    outside.write("real", TEXT);
    link(std::path::Path::new("real"), "in");
    std::fs::create_dir(outside.path("dir")).unwrap();
    for (name, id, holds) in [
        ("out", "out", false),
        ("folder/f", "folder.f", false),
        ("in", "in", true),
        ("dir", "dir", false),
    ] {
        let mut span = external(TELLING, id, TEXT);
        if let Content::External { key, .. } = &mut span.content {
            *key = name.into();
        }
        outside.rig.send("s", Command::Append { spans: vec![span] }).unwrap();
        let reply = outside.rig.prune("s", &[id], false);
        assert_eq!(reply.spans[0].check.existence, holds, "{name}: {reply:?}");
    }
    outside.rig.send("s", append(&[("end", "here")])).unwrap();
}

/// A volume that is not mounted has no files; none of them is lost.
#[test]
fn a_folder_that_is_gone_is_no_proof_of_loss() {
    let outside = Outside::new();
    outside.record(TELLING, "a", TEXT);
    let moved = outside.files.path().with_extension("away");
    std::fs::rename(outside.files.path(), &moved).unwrap();
    let before = outside.version();
    match outside.rig.journal.expand(&key("s"), &"a".parse().unwrap(), 0, 99) {
        Err(EngineError::Refused(refusal)) => {
            assert_eq!(refusal.code(), "unavailable");
            assert!(refusal.to_string().contains("is it mounted?"), "{refusal}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(outside.version(), before);
    std::fs::rename(&moved, outside.files.path()).unwrap();
    let answer = outside.rig.journal.expand(&key("s"), &"a".parse().unwrap(), 0, 99).unwrap();
    assert_eq!(answer.outcome, Outcome::Live);
}

#[test]
fn an_old_rig_without_stores_refuses_by_name() {
    let rig = Rig::new();
    let why = rig.journal.stores().check("logs", "a").unwrap_err();
    assert!(why.contains("nor any other") && why.contains("[stores.logs]"), "{why}");
}
