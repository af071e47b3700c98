//! The race of the first seed document: a prune and a run that removes its payload, in both orders and
//! interleaved at every step. Whatever comes of it, no handle in the window resolves to nothing, and
//! what is held stays.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use lacuna_core::event::{Keep, LiveHandles, Match, Rule, Since};
use lacuna_core::retention::{Period, STREAM};
use lacuna_core::{Command, EntryKind, Outcome, Reply};
use lacuna_engine::{EngineError, Journal, Options, RunRequest, VerifyOptions};
use lacuna_store::{STEPS, at_each_step};

use crate::rig::{append, ids, key, open, prune, request, summarize};

fn policy(notice: u64, live_handles: LiveHandles) -> Command {
    let period = Some((Period(0), Since::Recorded));
    Command::SetPolicy {
        rules: vec![Rule {
            id: "all".into(),
            matches: Match { sessions: Some("s*".into()), ..Match::default() },
            keep: Keep { period, ..Keep::default() },
            notice: Period(notice),
            live_handles,
            residue: false,
        }],
    }
}

struct World {
    _folder: tempfile::TempDir,
    journal: Arc<Journal>,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let journal = Arc::new(Journal::open(folder.path(), Options::default()).unwrap());
        for session in ["s", "s2"] {
            journal.execute(request(session, None, open())).unwrap();
            let spans = [("a", "alpha"), ("b", "beta"), ("c", "gamma"), ("d", "delta")];
            journal.execute(request(session, None, append(&spans))).unwrap();
            journal.execute(request(session, None, prune(&["a"], false))).unwrap();
            journal.execute(request(session, None, summarize("S", &["c"], "in short"))).unwrap();
        }
        journal.execute(request(STREAM, None, policy(0, LiveHandles::Commit))).unwrap();
        Self { _folder: folder, journal }
    }

    /// Runs, and lets something else happen at one step; gives what came of that.
    fn run_with<T: 'static>(
        &self,
        at: &'static str,
        act: impl Fn(&Journal) -> T + 'static,
    ) -> Option<T> {
        let journal = Arc::clone(&self.journal);
        let came = Rc::new(RefCell::new(None));
        let seen = Rc::clone(&came);
        let hook = move |step| {
            if step == at && seen.borrow().is_none() {
                let done = act(&journal);
                *seen.borrow_mut() = Some(done);
            }
        };
        let tenant = key("s").tenant;
        let run = || self.journal.run(&tenant, RunRequest::scheduled());
        at_each_step(hook, run).unwrap();
        came.take()
    }

    /// Every handle that the window holds leads to content, or says why it cannot.
    fn holds_together(&self, what: &str) {
        for session in ["s", "s2"] {
            let state = self.journal.state(&key(session)).unwrap();
            for entry in state.entries() {
                for &index in &entry.spans {
                    let span = state.span(index);
                    let address = span.handle().to_string().parse().unwrap();
                    let found = self.journal.expand(&key(session), &address, 0, 99).unwrap();
                    let expected = match entry.kind {
                        EntryKind::Tombstone => (Outcome::Lossy, false),
                        EntryKind::Stub => (Outcome::Recoverable, true),
                        EntryKind::Span | EntryKind::Summary => (Outcome::Live, true),
                    };
                    let content = found.content.is_some();
                    assert_eq!((found.outcome, content), expected, "{what}: {}", span.id);
                }
            }
        }
        let report = self.journal.verify(&VerifyOptions::default(), |_| {}).unwrap();
        assert_eq!(report.faults, vec![], "{what}");
    }

    fn outcome(&self, span: &str) -> Outcome {
        self.journal.expand(&key("s"), &span.parse().unwrap(), 0, 99).unwrap().outcome
    }
}

/// The steps that a run takes on the thread that asked for it, and where its payloads are gone.
fn steps() -> Vec<(&'static str, bool)> {
    let removed = STEPS.iter().position(|step| *step == "slice-removed").unwrap();
    let mine = |step: &&str| !["notice-given", "removal-committed"].contains(step);
    STEPS.iter().enumerate().filter(|(_, s)| mine(s)).map(|(at, s)| (*s, at >= removed)).collect()
}

#[test]
fn a_prune_at_any_step_of_a_run_leaves_no_handle_that_resolves_to_nothing() {
    for (step, gone) in steps() {
        let world = World::new();
        let pruned = world.run_with(step, |journal| {
            let done = journal.execute(request("s", None, prune(&["b", "d"], false))).unwrap();
            let Reply::Pruned(reply) = done.reply else { panic!("no verdict") };
            reply.verdict
        });
        let expected =
            if gone { lacuna_core::Verdict::Rejected } else { lacuna_core::Verdict::Reversible };
        assert_eq!(pruned, Some(expected), "{step}: the prune came in between");
        world.holds_together(step);
        for span in ["a", "b", "c", "d", "S"] {
            assert_eq!(world.outcome(span), Outcome::Lossy, "{step}: {span}");
        }
    }
}

#[test]
fn a_restore_or_an_append_at_any_step_is_as_safe() {
    for (step, gone) in steps() {
        let world = World::new();
        let restored = world.run_with(step, |journal| {
            let appended = journal.execute(request("s", None, append(&[("e", "epsilon")])));
            appended.unwrap();
            let command = Command::Restore { spans: ids(&["a"]) };
            journal.execute(request("s", None, command)).is_ok()
        });
        assert_eq!(restored, Some(!gone), "{step}");
        world.holds_together(step);
        assert_eq!(world.outcome("e"), Outcome::Live, "{step}: recorded behind the cut");
    }
}

#[test]
fn a_hold_at_any_step_before_the_removal_keeps_what_it_holds() {
    for (step, gone) in steps() {
        let world = World::new();
        let matches = Match { sessions: Some("s".into()), ..Match::default() };
        let placed = world.run_with(step, move |journal| {
            let (matches, reason) = (matches.clone(), "why".to_owned());
            journal.execute(request(STREAM, None, Command::PlaceHold { matches, reason })).is_ok()
        });
        assert_eq!(placed, Some(true), "{step}");
        world.holds_together(step);
        for (span, live) in [("a", Outcome::Recoverable), ("b", Outcome::Live)] {
            let expected = if gone { Outcome::Lossy } else { live };
            assert_eq!(world.outcome(span), expected, "{step}: {span}");
        }
        // The other session was not held.
        let other = world.journal.expand(&key("s2"), &"b".parse().unwrap(), 0, 99).unwrap();
        assert_eq!(other.outcome, Outcome::Lossy, "{step}");
    }
}

#[test]
fn another_policy_at_any_step_before_the_removal_counts() {
    for (step, gone) in steps() {
        let world = World::new();
        world.run_with(step, |journal| {
            journal.execute(request(STREAM, None, policy(1_000, LiveHandles::Defer))).unwrap();
        });
        world.holds_together(step);
        let expected = if gone { Outcome::Lossy } else { Outcome::Live };
        assert_eq!(world.outcome("b"), expected, "{step}");
    }
}

#[test]
fn an_erasure_within_a_run_and_a_run_within_an_erasure_remove_once() {
    // A removal in the making keeps others waiting; here they would wait for themselves.
    let alone = ["removal-prepared", "key-file-1", "key-file-2"];
    for (step, _) in steps().into_iter().filter(|(step, _)| !alone.contains(step)) {
        let world = World::new();
        let erased = world.run_with(step, |journal| {
            let command = Command::Erase {
                spans: Some(ids(&["a", "b"])),
                cut: u64::MAX,
                reason: "asked".into(),
            };
            journal.erase(request("s", None, command)).map(|erased| erased.spans)
        });
        assert!(matches!(erased, Some(Ok(0 | 2))), "{step}: {erased:?}");
        world.holds_together(step);
        let losses = world.journal.ledger(&key("s").tenant, 0, usize::MAX).unwrap();
        let mut lost: Vec<String> = losses
            .iter()
            .flat_map(|loss| {
                loss.event.spans.iter().map(|s| format!("{}/{}", loss.session, s.span))
            })
            .collect();
        let all = lost.len();
        lost.sort();
        lost.dedup();
        assert_eq!((lost.len(), all), (10, 10), "{step}: each is lost once");
    }
}

#[test]
fn one_tenant_runs_once_at_a_time() {
    let world = World::new();
    let tenant = key("s").tenant;
    let second = world.run_with("removal-prepared", move |journal| {
        journal.run(&tenant, RunRequest::scheduled()).map(|_| ())
    });
    assert!(matches!(second, Some(Err(EngineError::Unavailable(_)))), "{second:?}");
    world.holds_together("two runs");
}
