//! Forks: two windows from one past. Each goes its own way, the payloads that both have go for both or
//! for neither, and each has its own lossy commitment.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use lacuna_core::event::{Event, Keep, LiveHandles, Match, Rule, Since};
use lacuna_core::retention::{Period, STREAM};
use lacuna_core::{Cause, Command, EntryKind, Outcome, Refusal, Reply, Timestamp};
use lacuna_engine::{
    Done, EngineError, Journal, Moment, Options, RunRequest, Sender, VerifyOptions,
};
use lacuna_store::{STEPS, at_each_step};
use redb::{Database, TableDefinition};

use crate::damage::damage;
use crate::rig::{Rig, append, ids, key, principal, prune, request};

const ALWAYS: Timestamp = Timestamp(u64::MAX);

fn sender() -> Sender {
    Sender { principal: principal(), command_id: None, expected_version: None }
}

fn fork_at(
    journal: &Journal,
    child: &str,
    parent: &str,
    version: Option<u64>,
) -> Result<Done, EngineError> {
    let state = match version {
        None => journal.state(&key(parent))?,
        Some(version) => journal.state_at(&key(parent), version, ALWAYS)?,
    };
    journal.fork(&key(child), sender(), state)
}

fn forked(journal: &Journal, child: &str, parent: &str) -> u64 {
    let done = fork_at(journal, child, parent, None).unwrap();
    let Reply::Forked { at, version, duplicate: false, .. } = done.reply else {
        panic!("{:?}", done.reply)
    };
    assert_eq!(version, at + 1);
    version
}

/// A session with four spans, of which one is pruned.
fn parent() -> Rig {
    let rig = Rig::new();
    rig.opened("s");
    let spans = [("a", "alpha"), ("b", "beta"), ("c", "gamma"), ("d", "delta")];
    rig.append("s", &spans);
    rig.prune("s", &["b"], false);
    rig
}

fn outcome(journal: &Journal, session: &str, span: &str) -> Outcome {
    journal.expand(&key(session), &span.parse().unwrap(), 0, 99).unwrap().outcome
}

fn content(journal: &Journal, session: &str, span: &str) -> String {
    let found = journal.expand(&key(session), &span.parse().unwrap(), 0, 99).unwrap();
    String::from_utf8(found.content.expect("it can be read").bytes.to_vec()).unwrap()
}

fn window(journal: &Journal, session: &str) -> Vec<(EntryKind, u32, Option<String>)> {
    let state = journal.state(&key(session)).unwrap();
    state.entries().map(|entry| (entry.kind, entry.tokens, entry.text)).collect()
}

fn faults(journal: &Journal) -> Vec<String> {
    let report = journal.verify(&VerifyOptions::default(), |_| {}).unwrap();
    report.faults.into_iter().map(|fault| fault.what).collect()
}

fn at_once(sessions: &str) -> Command {
    let period = Some((Period(0), Since::Recorded));
    Command::SetPolicy {
        rules: vec![Rule {
            id: "all".into(),
            matches: Match { sessions: Some(sessions.into()), ..Match::default() },
            keep: Keep { period, ..Keep::default() },
            notice: Period(0),
            live_handles: LiveHandles::Commit,
            residue: false,
        }],
    }
}

fn run(journal: &Journal) -> (u64, u64, u64, u64) {
    let (closed, _) = journal.run(&key("s").tenant, RunRequest::scheduled()).unwrap();
    let tally = closed.tally;
    (tally.removed_spans, tally.removed_bytes, tally.deferred, tally.held)
}

#[test]
fn a_fork_has_its_parents_past_and_goes_its_own_way() {
    let rig = parent();
    let before = window(&rig.journal, "s");
    let at = rig.journal.state(&key("s")).unwrap().version;
    assert_eq!(forked(&rig.journal, "f", "s"), at + 1);
    assert_eq!(window(&rig.journal, "f"), before);
    rig.append("f", &[("e", "of the fork")]);
    rig.append("s", &[("e", "of the parent")]);
    rig.prune("f", &["a"], false);
    assert_eq!(content(&rig.journal, "f", "e"), "of the fork");
    assert_eq!(content(&rig.journal, "s", "e"), "of the parent");
    assert_eq!(content(&rig.journal, "f", "a"), "alpha");
    assert_eq!(
        (outcome(&rig.journal, "f", "a"), outcome(&rig.journal, "s", "a")),
        (Outcome::Recoverable, Outcome::Live)
    );
    // A restart and the history say the same: versions without a gap, from the parent's first on.
    let rig = rig.reopened();
    assert_eq!(content(&rig.journal, "f", "b"), "beta");
    let history = rig.journal.history(&key("f"), 1, 100).unwrap();
    let versions: Vec<u64> = history.iter().map(|event| event.version).collect();
    assert_eq!(versions, (1..=at + 3).collect::<Vec<_>>());
    assert!(matches!(&history[at as usize].event, Event::SessionForked(event)
        if event.parent == key("s") && event.at == at));
    assert!(history.windows(2).all(|pair| pair[1].previous == pair[0].hash));
    // Any moment of the shared past is the parent's.
    for version in 1..=at {
        let of = |name| rig.journal.state_at(&key(name), version, ALWAYS).unwrap();
        assert_eq!(of("f"), of("s"), "version {version}");
    }
    assert_eq!(faults(&rig.journal), Vec::<String>::new());
}

#[test]
fn forks_of_forks_and_of_the_past_and_after_a_restart() {
    let rig = parent();
    let at = rig.journal.state(&key("s")).unwrap().version;
    forked(&rig.journal, "f", "s");
    rig.append("f", &[("e", "echo")]);
    forked(&rig.journal, "g", "f");
    // Before the prune: the span still stands in the window.
    fork_at(&rig.journal, "h", "g", Some(at - 1)).unwrap();
    rig.send("s", Command::Close).unwrap();
    fork_at(&rig.journal, "i", "s", None).unwrap();
    let rig = rig.reopened();
    assert_eq!(outcome(&rig.journal, "g", "b"), Outcome::Recoverable);
    assert_eq!(content(&rig.journal, "g", "e"), "echo");
    assert_eq!(outcome(&rig.journal, "h", "b"), Outcome::Live);
    assert_eq!(outcome(&rig.journal, "h", "e"), Outcome::NeverRecorded);
    rig.append("i", &[("j", "a closed session can be gone on with")]);
    rig.append("h", &[("k", "kilo")]);
    let state = rig.journal.state(&key("h")).unwrap();
    // It was forked from what was then the parent's own past, of whichever ancestor.
    assert_eq!(state.forked_from().unwrap().at, at - 1);
    assert_eq!(faults(&rig.journal), Vec::<String>::new());
}

#[test]
fn what_cannot_be_forked_says_why() {
    let rig = parent();
    forked(&rig.journal, "f", "s");
    let at = rig.journal.state(&key("f")).unwrap().forked_from().unwrap().at;
    let again = fork_at(&rig.journal, "f", "s", Some(at)).unwrap().reply;
    assert!(matches!(again, Reply::Forked { duplicate: true, .. }), "{again:?}");
    let refused =
        |child: &str, parent: &str, version| match fork_at(&rig.journal, child, parent, version)
            .unwrap_err()
        {
            EngineError::Refused(refusal) => refusal.to_string(),
            other => panic!("{other:?}"),
        };
    assert!(refused("f", "s", Some(1)).contains("a fork of s at version"));
    assert!(refused("s", "f", None).contains("no fork"));
    assert!(refused("s", "s", None).contains("fork of itself"));
    assert!(refused("new", "nowhere", None).contains("ever opened"));
    rig.send(STREAM, at_once("x")).unwrap();
    assert!(refused("new", STREAM, None).contains("cannot be forked"));
    rig.send("f", Command::Close).unwrap();
    assert!(refused("f", "s", Some(at)).contains("was closed"));
}

#[test]
fn a_payload_stays_while_one_window_keeps_it_and_goes_for_all() {
    let rig = parent();
    forked(&rig.journal, "f", "s");
    rig.append("f", &[("e", "only here")]);
    rig.send(STREAM, at_once("s")).unwrap();
    let plan = rig.journal.plan(&key("s").tenant, None, None).unwrap();
    assert_eq!((plan.tally.removed_spans, plan.tally.deferred), (0, 4));
    assert_eq!(run(&rig.journal), (0, 0, 4, 0));
    assert_eq!(content(&rig.journal, "s", "a"), "alpha");
    rig.send(STREAM, at_once("*")).unwrap();
    let plan = rig.journal.plan(&key("s").tenant, None, None).unwrap();
    let bytes = "alphabetagammadeltaonly here".len() as u64;
    assert_eq!((plan.tally.removed_spans, plan.tally.removed_bytes), (5, bytes));
    assert!(plan.sessions.iter().all(|session| session.window));
    assert_eq!(run(&rig.journal), (5, bytes, 0, 0));
    let rig = rig.reopened();
    for session in ["s", "f"] {
        for span in ["a", "b", "c", "d"] {
            assert_eq!(outcome(&rig.journal, session, span), Outcome::Lossy, "{session}/{span}");
        }
    }
    assert_eq!(outcome(&rig.journal, "f", "e"), Outcome::Lossy);
    let losses = rig.journal.ledger(&key("s").tenant, 0, 99).unwrap();
    let lost: usize = losses.iter().map(|loss| loss.event.spans.len()).sum();
    assert_eq!(lost, 9, "each session has its own commitment");
    assert_eq!(faults(&rig.journal), Vec::<String>::new());
}

#[test]
fn a_hold_on_one_window_keeps_what_the_other_would_let_go() {
    let rig = parent();
    forked(&rig.journal, "f", "s");
    rig.send(STREAM, at_once("*")).unwrap();
    let matches = Match { sessions: Some("f".into()), ..Match::default() };
    rig.send(STREAM, Command::PlaceHold { matches, reason: "case 7".into() }).unwrap();
    assert_eq!(run(&rig.journal), (0, 0, 4, 4));
    let erase = |session| {
        let command =
            Command::Erase { spans: Some(ids(&["a"])), cut: u64::MAX, reason: "asked".into() };
        rig.journal.erase(request(session, None, command))
    };
    for session in ["s", "f"] {
        let error = erase(session).unwrap_err();
        assert!(matches!(error, EngineError::Refused(Refusal::Held { .. })), "{error:?}");
        assert_eq!(content(&rig.journal, session, "a"), "alpha");
    }
    rig.send(STREAM, Command::ReleaseHold { hold: 1, reason: "closed".into() }).unwrap();
    let erased = erase("f").unwrap();
    assert_eq!((erased.spans, erased.bytes), (1, 5));
    assert_eq!(erased.shared_with, ["s".parse().unwrap()]);
    for session in ["s", "f"] {
        assert_eq!(outcome(&rig.journal, session, "a"), Outcome::Lossy);
        let state = rig.journal.state(&key(session)).unwrap();
        let cause = &state.ledger()[0].cause;
        assert!(matches!(cause, Cause::Erasure { reason, .. } if reason == "asked"), "{cause:?}");
    }
    assert_eq!(faults(&rig.journal), Vec::<String>::new());
}

#[test]
fn damage_that_one_window_meets_is_recorded_for_both() {
    let rig = parent();
    forked(&rig.journal, "f", "s");
    let rig = damage(rig, true);
    assert_eq!(outcome(&rig.journal, "f", "a"), Outcome::Lossy);
    for session in ["s", "f"] {
        let state = rig.journal.state(&key(session)).unwrap();
        let tombstone = state.tombstone(state.find(&ids(&["a"])[0]).unwrap()).unwrap();
        assert!(matches!(tombstone.cause, Cause::Damage { .. }), "{session}: {tombstone:?}");
    }
}

#[test]
fn a_fork_of_the_past_says_what_went_since() {
    let rig = parent();
    let at = rig.journal.state(&key("s")).unwrap().version;
    rig.append("s", &[("e", "echo")]);
    rig.send(STREAM, at_once("s")).unwrap();
    assert_eq!(run(&rig.journal).0, 5);
    let done = fork_at(&rig.journal, "f", "s", Some(at)).unwrap();
    let Reply::Forked { version, .. } = done.reply else { panic!("{:?}", done.reply) };
    assert_eq!(version, at + 2, "the fork, and one commitment for what went");
    let state = rig.journal.state(&key("f")).unwrap();
    let lost: Vec<&str> =
        state.ledger().iter().map(|tombstone| state.span(tombstone.span).id.as_str()).collect();
    assert_eq!(lost, ["a", "b", "c", "d"]);
    assert!(matches!(&state.ledger()[0].cause, Cause::Retention { rule, .. } if rule == "all"));
    assert_eq!(outcome(&rig.journal, "f", "e"), Outcome::NeverRecorded);
    let rig = rig.reopened();
    assert_eq!(outcome(&rig.journal, "f", "a"), Outcome::Lossy);
    assert_eq!(faults(&rig.journal), Vec::<String>::new());
}

#[test]
fn a_fork_at_any_step_of_a_run_shares_or_says_what_went() {
    let removed = STEPS.iter().position(|step| *step == "slice-removed").unwrap();
    let mine = |step: &&&str| !["notice-given", "removal-committed"].contains(*step);
    for (number, step) in STEPS.iter().enumerate().filter(|(_, step)| mine(step)) {
        let rig = parent();
        rig.send(STREAM, at_once("s")).unwrap();
        let Rig { folder: _folder, journal, .. } = rig;
        let journal = Arc::new(journal);
        let fired = Rc::new(Cell::new(false));
        let (inner, seen) = (Arc::clone(&journal), Rc::clone(&fired));
        let hook = move |at| {
            if at == *step && !seen.replace(true) {
                fork_at(&inner, "f", "s", None).unwrap();
            }
        };
        let tenant = key("s").tenant;
        at_each_step(hook, || journal.run(&tenant, RunRequest::scheduled())).unwrap();
        assert!(fired.get(), "{step} was reached");
        // Forked before the removal, it keeps what the run was about to take: no rule is about it.
        let expected = if number >= removed { Outcome::Lossy } else { Outcome::Live };
        for session in ["s", "f"] {
            for span in ["a", "c", "d"] {
                assert_eq!(outcome(&journal, session, span), expected, "{step}: {session}/{span}");
            }
        }
        assert_eq!(faults(&journal), Vec::<String>::new(), "{step}");
    }
}

#[test]
fn a_directive_of_a_fork_and_its_parents_are_told_apart() {
    let rig = parent();
    forked(&rig.journal, "f", "s");
    let first = rig.prune("f", &["c"], false).directive;
    let second = rig.prune("s", &["d"], false).directive;
    assert_eq!(first, second, "both go on counting from the shared past");
    let restore = |session, span| rig.send(session, Command::Restore { spans: ids(&[span]) });
    assert!(restore("s", "d").is_ok() && restore("f", "c").is_ok());
    rig.send("f", append(&[("x", "xray")])).unwrap();
    assert!(matches!(rig.send("s", prune(&["x"], false)).unwrap().reply, Reply::Pruned(reply)
        if reply.reason == Some(lacuna_core::RejectReason::UnknownSpan)));
}

#[test]
fn verify_tells_a_table_of_forks_that_says_something_else() {
    let rig = parent();
    forked(&rig.journal, "f", "s");
    let Rig { folder, journal, .. } = rig;
    let number = |session| journal.state(&key(session)).unwrap().number.0;
    let (parent, child) = (number("s"), number("f"));
    journal.close().unwrap();
    drop(journal);
    let table: TableDefinition<'_, (u64, u64), u64> = TableDefinition::new("forks");
    type Rows<'a> = redb::Table<'a, (u64, u64), u64>;
    let changed = |change: &dyn Fn(&mut Rows<'_>)| {
        let db = Database::open(folder.path().join("journal.redb")).unwrap();
        let write = db.begin_write().unwrap();
        change(&mut write.open_table(table).unwrap());
        write.commit().unwrap();
        drop(db);
        let journal = Journal::open(folder.path(), Options::default()).unwrap();
        faults(&journal)
    };
    let beyond = changed(&|table| drop(table.insert((parent, 99), 1).unwrap()));
    assert_eq!(beyond, ["1 rows of the table of forks lead nowhere"]);
    let other = changed(&|table| {
        table.remove((parent, 99)).unwrap();
        table.insert((child, parent), 1).unwrap();
    });
    assert_eq!(other, ["the table of forks misses this one"]);
}

#[test]
fn a_chain_of_forks_has_an_end_and_its_past_is_read_without_going_deep() {
    let rig = parent();
    let mut names = vec!["s".to_owned()];
    for depth in 1..=64 {
        let name = format!("f{depth}");
        forked(&rig.journal, &name, &names[depth - 1]);
        names.push(name);
    }
    let last = names.last().unwrap();
    let refused = fork_at(&rig.journal, "f65", last, None).unwrap_err().to_string();
    assert!(refused.contains("64 deep already"), "{refused}");
    let rig = rig.reopened();
    let at = |version| rig.journal.state_until(&key(last), Moment::version(version)).unwrap();
    assert_eq!(at(1).spans().len(), 0);
    assert_eq!(at(2), rig.journal.state_until(&key("s"), Moment::version(2)).unwrap());
    assert_eq!(content(&rig.journal, last, "a"), "alpha");
    assert_eq!(faults(&rig.journal), Vec::<String>::new());
}

#[test]
fn many_forks_lose_what_they_share_a_slice_at_a_time() {
    let rig = parent();
    for number in 0..60 {
        forked(&rig.journal, &format!("f{number}"), "s");
    }
    rig.send(STREAM, at_once("*")).unwrap();
    assert_eq!(run(&rig.journal).0, 4);
    let losses = rig.journal.ledger(&key("s").tenant, 0, 999).unwrap();
    let lost: usize = losses.iter().map(|loss| loss.event.spans.len()).sum();
    assert_eq!(lost, 4 * 61);
    assert_eq!(faults(&rig.journal), Vec::<String>::new());
}

#[test]
fn between_a_fork_and_what_it_lost_at_once_there_is_no_moment() {
    let rig = parent();
    let at = rig.journal.state(&key("s")).unwrap().version;
    rig.send(STREAM, at_once("s")).unwrap();
    run(&rig.journal);
    fork_at(&rig.journal, "f", "s", Some(at)).unwrap();
    rig.append("f", &[("e", "echo")]);
    let state = rig.journal.state_until(&key("f"), Moment::version(at + 1)).unwrap();
    assert_eq!((state.version, state.ledger().len()), (at + 2, 4));
}

#[test]
fn a_removal_that_was_announced_stays_so_in_a_fork() {
    let rig = parent();
    let period = Some((Period(0), Since::Recorded));
    let rule = Rule {
        id: "all".into(),
        matches: Match::default(),
        keep: Keep { period, ..Keep::default() },
        notice: Period(3_600_000),
        live_handles: LiveHandles::Commit,
        residue: false,
    };
    rig.send(STREAM, Command::SetPolicy { rules: vec![rule] }).unwrap();
    run(&rig.journal);
    assert_eq!(outcome(&rig.journal, "s", "a"), Outcome::Scheduled);
    forked(&rig.journal, "f", "s");
    assert_eq!(outcome(&rig.journal, "f", "a"), Outcome::Scheduled);
}
