//! The summary contract through the whole shell: contents are read back from the store, verdicts
//! are events, and a restart changes nothing.

use std::path::Path;

use lacuna_codec::SNAPSHOT_FORMAT;
use lacuna_core::{
    Alert, Candidate, Cause, ClaimOrigin, Command, EntryKind, Event, FindingCode, Outcome,
    RejectReason, SUMMARY_ATTEMPTS, SummaryStatus, Verdict,
};
use lacuna_engine::{Journal, Options, VerifyOptions};
use redb::{Database, ReadableTable as _, TableDefinition};

use crate::honest::{
    audited, by, check_folded, claim, codes, damaged, enforced, honest, large, summarized, summary,
};
use crate::rig::{Rig, append, ids, key, prune, request};

/// A session `s` under the contract with `a` of some size, which says a port, and `b`.
fn recorded(bytes: usize) -> Rig {
    let rig = Rig::new();
    enforced(&rig, "s");
    let said = "The port is 5433, see req-77ae-0042 in /var/log/ledger.log.";
    rig.send("s", Command::Append { spans: vec![large("a", bytes, said)] }).unwrap();
    rig.append("s", &[("b", "Thanks, that is all for now, and it is a long sentence of nothing.")]);
    rig
}

fn replacing(spans: &[&str], summary: &str) -> Command {
    let Command::Prune(mut directive) = prune(spans, false) else { panic!("it prunes") };
    directive.replace_with = Some(summary.parse().unwrap());
    Command::Prune(directive)
}

fn pruned(rig: &Rig, who: &str, command: Command) -> lacuna_core::PruneReply {
    match rig.journal.execute(by(who, "s", command)).unwrap().reply {
        lacuna_core::Reply::Pruned(reply) => *reply,
        other => panic!("{other:?}"),
    }
}

/// In the writer, and in the lane beside it.
const SIZES: [usize; 2] = [500, 1_300_000];

#[test]
fn a_summary_lives_through_restarts_from_its_writing_to_its_use() {
    for bytes in SIZES {
        let rig = recorded(bytes);
        let reply = summarized(rig.send("s", honest("sum", "a")));
        assert_eq!((reply.status, codes(&reply)), (SummaryStatus::NeedsAudit, vec![]));
        let omitted: Vec<&str> =
            reply.omitted.iter().map(|omitted| omitted.text.as_str()).collect();
        assert_eq!(omitted, ["req-77ae-0042", "/var/log/ledger.log"]);
        assert_eq!((reply.omitted_total, reply.depth), (2, 1));
        let before = rig.journal.state(&key("s")).unwrap();
        let rig = rig.reopened();
        assert_eq!(*rig.journal.state(&key("s")).unwrap(), *before);

        let own = pruned(&rig, "tester", replacing(&["a"], "sum"));
        assert_eq!(own.reason, Some(RejectReason::SummaryNotAudited));
        let careless = audited(&rig, "auditor", "sum", &[], true);
        assert!(!careless.counts && !careless.accepted);
        assert_eq!(careless.findings[0].0.code, FindingCode::AuditorWithoutEvidence);
        let rig = rig.reopened();
        let careful = audited(&rig, "auditor", "sum", &["a"], true);
        assert!(careful.counts && careful.accepted, "{careful:?}");
        let rig = rig.reopened();
        let own = pruned(&rig, "tester", replacing(&["a"], "sum"));
        assert_eq!((own.verdict, own.reason), (Verdict::Reversible, None), "{bytes}");
        check_folded(&rig, "s");
        let before = rig.journal.state(&key("s")).unwrap();
        let rig = rig.reopened();
        assert_eq!(*rig.journal.state(&key("s")).unwrap(), *before);

        // Text and claims come back, and what was replaced.
        let answer = rig.journal.expand(&key("s"), &"sum".parse().unwrap(), 0, 999).unwrap();
        assert_eq!(
            (answer.outcome, answer.content.unwrap().bytes),
            (Outcome::Live, b"The port is 5433.".to_vec())
        );
        let sum = answer.state.find(&"sum".parse().unwrap()).unwrap();
        let Command::Summarize(sent) = honest("sum", "a") else { panic!("it summarises") };
        assert_eq!(rig.journal.claims(sum).unwrap(), Some(sent.claims));
        let account = rig.journal.account(&answer.state, sum).unwrap().unwrap();
        assert_eq!(account.examined.identifiers(), (3, 1));
        assert_eq!(account.examined.omitted, reply.omitted);
        let answer = rig.journal.expand(&key("s"), &"a".parse().unwrap(), 0, 9).unwrap();
        assert_eq!(
            (answer.outcome, answer.content.unwrap().bytes),
            (Outcome::Recoverable, b"so it wen".to_vec())
        );
        assert_eq!(rig.journal.verify(&VerifyOptions::default(), |_| {}).unwrap().faults, vec![]);
    }
}

/// What the snapshots of a closed journal begin with, after `change`.
fn snapshots(folder: &Path, change: impl Fn(&mut Vec<u8>)) -> Vec<Vec<u8>> {
    const SNAPSHOTS: TableDefinition<'static, (u64, u64), &[u8]> =
        TableDefinition::new("snapshots");
    let db = Database::open(folder.join("journal.redb")).unwrap();
    let write = db.begin_write().unwrap();
    let mut all = Vec::new();
    {
        let mut table = write.open_table(SNAPSHOTS).unwrap();
        let keys: Vec<_> = table.iter().unwrap().map(|row| row.unwrap().0.value()).collect();
        for key in keys {
            let mut stored = table.get(key).unwrap().unwrap().value().to_vec();
            change(&mut stored);
            table.insert(key, stored.as_slice()).unwrap();
            all.push(stored);
        }
    }
    write.commit().unwrap();
    all
}

#[test]
fn a_snapshot_of_the_format_before_summaries_were_judged_is_passed_over() {
    // Older ones, this one, and one that is still to come.
    for format in [1, 2, SNAPSHOT_FORMAT, SNAPSHOT_FORMAT + 1] {
        let rig = recorded(500);
        summarized(rig.send("s", honest("sum", "a")));
        audited(&rig, "auditor", "sum", &["a"], true);
        // In so many blocks that a snapshot is left behind.
        for n in 0..12 {
            rig.append("s", &[(&format!("m{n}"), "words")]);
        }
        let before = rig.journal.state(&key("s")).unwrap();
        let Rig { folder, journal, .. } = rig;
        journal.close().unwrap();
        drop(journal);
        let all =
            snapshots(folder.path(), |stored| stored[4..6].copy_from_slice(&format.to_le_bytes()));
        assert!(!all.is_empty() && all.iter().all(|stored| stored.starts_with(b"LCS1")));
        let journal = Journal::open(folder.path(), Options::default()).unwrap();
        let rig = Rig::of(folder, journal);
        assert_eq!(*rig.journal.state(&key("s")).unwrap(), *before, "format {format}");
        assert_eq!(pruned(&rig, "tester", replacing(&["a"], "sum")).verdict, Verdict::Reversible);
        assert_eq!(rig.journal.verify(&VerifyOptions::default(), |_| {}).unwrap().faults, vec![]);
    }
}

#[test]
fn refused_again_and_again_the_way_out_works_as_given_and_every_reply_is_repeatable() {
    for bytes in SIZES {
        let rig = recorded(bytes);
        let wrong = || {
            let text = "The port is 5432.";
            summary("sum", &["a", "b"], text, vec![claim(text, ClaimOrigin::UserSaid, "a", None)])
        };
        let send = |rig: &Rig, id: &str| rig.journal.execute(request("s", Some((id, 1)), wrong()));
        let mut replies = Vec::new();
        for attempt in 1..=SUMMARY_ATTEMPTS {
            let id = format!("try-{attempt}");
            let reply = summarized(send(&rig, &id));
            assert_eq!(reply.status, SummaryStatus::Rejected);
            assert_eq!(codes(&reply), [FindingCode::AnchorNotInSource]);
            assert_eq!(reply.summary.as_str(), format!("sum:refused{attempt}"));
            assert_eq!(reply.attempts_left, SUMMARY_ATTEMPTS - attempt);
            assert_eq!(reply.fallback.is_some(), attempt == SUMMARY_ATTEMPTS);
            assert_eq!(reply.omitted.len(), 3, "{:?}", reply.omitted);
            replies.push((id, reply));
        }
        let check = |rig: &Rig| {
            for (id, reply) in &replies {
                let done = send(rig, id).unwrap();
                assert!(done.again, "{id}");
                assert_eq!(summarized(Ok(done)), *reply, "{id}");
            }
        };
        check(&rig);
        let alerts: Vec<Event> = rig
            .journal
            .history(&key("s"), 1, 99)
            .unwrap()
            .into_iter()
            .map(|e| e.event)
            .filter(|e| e.kind() == "alert-raised")
            .collect();
        let [Event::AlertRaised(alert)] = alerts.as_slice() else { panic!("{alerts:?}") };
        assert_eq!((alert.alert, &alert.spans), (Alert::SummariesRefused, &ids(&["a", "b"])));
        // One more is answered, and not recorded: nothing grows without bound.
        let version = rig.journal.state(&key("s")).unwrap().version;
        let more = summarized(send(&rig, "one-more"));
        assert_eq!((more.status, more.attempts_left), (SummaryStatus::Rejected, 0));
        assert_eq!(more.fallback, replies.last().unwrap().1.fallback);
        assert_eq!(rig.journal.state(&key("s")).unwrap().version, version);
        let rig = rig.reopened();
        check(&rig);
        let spans = replies.pop().unwrap().1.fallback.unwrap();
        let spans: Vec<&str> = spans.iter().map(lacuna_core::SpanId::as_str).collect();
        let done = pruned(&rig, "tester", prune(&spans, false));
        assert_eq!(done.verdict, Verdict::Reversible);
        assert!(done.freed_tokens > 0);
    }
}

#[test]
fn what_a_damaged_copy_said_cannot_be_claimed_and_cannot_be_pruned() {
    for bytes in SIZES {
        let rig = damaged(recorded(bytes), "s", &["a"]);
        let reply = summarized(rig.send("s", honest("sum", "a")));
        assert_eq!(reply.status, SummaryStatus::Rejected);
        assert_eq!(codes(&reply), [FindingCode::SourceUnrecoverable], "{bytes}");
        assert_eq!(reply.findings[0].0.span, Some("a".parse().unwrap()));
        assert!(reply.findings[0].1.contains("cannot be read"), "{:?}", reply.findings);
        assert_eq!((reply.omitted.len(), reply.omitted_total), (0, 0), "nobody can tell");
        // Said of the other span it is sound; the gate keeps what cannot be brought back.
        let text = "Thanks, that is all.";
        let claims = vec![claim(text, ClaimOrigin::UserSaid, "b", Some("that is all"))];
        let reply = summarized(rig.send("s", summary("sum", &["a", "b"], text, claims)));
        assert_eq!((reply.status, codes(&reply)), (SummaryStatus::NeedsAudit, vec![]));
        let refused = pruned(&rig, "other", replacing(&["a", "b"], "sum"));
        assert_eq!(refused.reason, Some(RejectReason::NotReversible));
        let exist: Vec<bool> = refused.spans.iter().map(|span| span.check.existence).collect();
        assert_eq!(exist, [false, true]);
        // Read as what it is, it is a loss on record, and no auditor is asked for it.
        let answer = rig.journal.expand(&key("s"), &"a".parse().unwrap(), 0, 9).unwrap();
        assert_eq!(answer.outcome, Outcome::Lossy);
        let audit = audited(&rig, "auditor", "sum", &["b"], true);
        assert!(audit.counts && audit.accepted, "{audit:?}");
        assert_eq!(pruned(&rig, "tester", replacing(&["b"], "sum")).verdict, Verdict::Reversible);
        check_folded(&rig, "s");
    }
}

/// Without its claims nobody can tell what a summary's words are worth: it is lost as a whole, on
/// record, and what it stood for has stubs of its own again.
#[test]
fn damaged_claims_make_a_loss_of_the_summary() {
    let rig = recorded(500);
    summarized(rig.send("s", honest("sum", "a")));
    assert_eq!(pruned(&rig, "other", replacing(&["a"], "sum")).verdict, Verdict::Reversible);
    // The payload ends with the claims.
    let rig = damaged(rig, "s", &["sum"]);
    let state = rig.journal.state(&key("s")).unwrap();
    let sum = state.find(&"sum".parse().unwrap()).unwrap();
    assert_eq!(rig.journal.claims(sum).unwrap(), None, "not an empty list");
    let (state, shown, _) = rig.journal.window(&key("s"), state, 1 << 20).unwrap();
    let kinds: Vec<EntryKind> = shown.iter().map(|shown| shown.entry.kind).collect();
    assert_eq!(kinds, [EntryKind::Tombstone, EntryKind::Stub, EntryKind::Span]);
    let found = state.ledger().iter().map(|entry| match &entry.cause {
        Cause::Damage { found } => found.clone(),
        other => panic!("{other:?}"),
    });
    let found: Vec<String> = found.collect();
    assert!(found[0].contains("its claims"), "{found:?}");
    let report = rig.journal.verify(&Default::default(), |_| {}).unwrap();
    assert_eq!(report.faults, [], "the loss explains it");
}

fn suggested(rig: &Rig, tokens: u64) -> Vec<Candidate> {
    rig.journal.suggest(&key("s"), tokens, &"tester".parse().unwrap()).unwrap().1
}

#[test]
fn suggestions_leave_damaged_copies_out_and_are_reversible_as_given() {
    let rig = Rig::new();
    enforced(&rig, "s");
    let words = "some words that take a good part of the window ".repeat(40);
    let names: Vec<String> = (0..12).map(|n| format!("m{n}")).collect();
    for name in &names {
        rig.append("s", &[(name, &format!("{name}: {words}"))]);
    }
    let broken: Vec<&str> = names.iter().take(9).step_by(2).map(String::as_str).collect();
    let rig = damaged(rig, "s", &broken);
    for tokens in [1, 400, 1_500, 3_000] {
        let found = suggested(&rig, tokens);
        assert!(!found.is_empty());
        for candidate in &found {
            assert!(candidate.freed_tokens >= i64::try_from(tokens).unwrap(), "{candidate:?}");
            let named: Vec<&str> =
                candidate.spans.iter().map(lacuna_core::SpanId::as_str).collect();
            assert!(broken.iter().all(|id| !named.contains(id)), "{named:?}");
            let Command::Prune(mut dry) = prune(&named, false) else { panic!("it prunes") };
            dry.dry_run = true;
            let verdict = pruned(&rig, "tester", Command::Prune(dry));
            assert_eq!(verdict.verdict, Verdict::Reversible);
            assert_eq!(verdict.freed_tokens, candidate.freed_tokens);
        }
    }
    // All that is left and no more, where more is asked for than there is.
    let [all] = suggested(&rig, 1_000_000).try_into().unwrap();
    assert_eq!(all.spans.len(), names.len() - broken.len());
    assert!(!rig.journal.state(&key("s")).unwrap().ledger().iter().any(|_| true), "a question");
}

/// Later spans are larger, so the largest, which is tried first, is a damaged one again and again.
#[test]
fn a_suggestion_is_found_behind_any_number_of_damaged_copies() {
    let rig = Rig::new();
    enforced(&rig, "s");
    let words = "some words that take a part of the window ";
    let names: Vec<String> = (0..30).map(|n| format!("m{n:02}")).collect();
    for (n, name) in names.iter().enumerate() {
        rig.send("s", append(&[(name, &format!("{name}: {}", words.repeat(40 + n)))])).unwrap();
    }
    let broken: Vec<&str> = names.iter().skip(1).map(String::as_str).collect();
    let rig = damaged(rig, "s", &broken);
    let found = suggested(&rig, 100);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].spans, ids(&["m00"]));
}
