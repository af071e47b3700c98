//! After any sequence of commands and restarts the journal says the same, live, replayed and
//! reopened; every span is in exactly one state; nothing reversible becomes unexpandable without a
//! lossy commitment.

use std::collections::BTreeMap;

use lacuna_core::{Command, Outcome, Reply, SessionState, Verdict};
use lacuna_engine::VerifyOptions;
use proptest::prelude::*;

use crate::rig::{Rig, ids, key, prune, summarize};

#[derive(Debug, Clone)]
enum Step {
    Append(Vec<u8>),
    Prune(Vec<u8>),
    Replace(Vec<u8>),
    Restore(Vec<u8>),
    Reopen,
    Kill,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let some = || prop::collection::vec(0_u8..12, 1..4);
    let step = prop_oneof![
        4 => some().prop_map(Step::Append),
        3 => some().prop_map(Step::Prune),
        2 => some().prop_map(Step::Replace),
        2 => some().prop_map(Step::Restore),
        1 => Just(Step::Reopen),
        1 => Just(Step::Kill),
    ];
    prop::collection::vec(step, 1..24)
}

fn names(numbers: &[u8]) -> Vec<String> {
    numbers.iter().map(|number| format!("m{number}")).collect()
}

/// What is expected of each span: its text, and whether it stands in the window.
type Model = BTreeMap<String, (String, bool)>;

fn check(rig: &Rig, model: &Model) {
    let state = rig.journal.state(&key("s")).unwrap();
    for (name, (text, live)) in model {
        let answer = rig.journal.expand(&key("s"), &name.parse().unwrap(), 0, 999).unwrap();
        let expected = if *live { Outcome::Live } else { Outcome::Recoverable };
        assert_eq!(answer.outcome, expected, "{name}");
        assert_eq!(answer.content.unwrap().bytes, text.as_bytes(), "{name}");
        let id: lacuna_core::SpanId = name.parse().unwrap();
        assert!(state.addressable().contains(&id), "{name} has no handle");
    }
    let events = rig.journal.history(&key("s"), 1, usize::MAX).unwrap();
    let mut replayed = SessionState::open(&events[0]).unwrap();
    events[1..].iter().for_each(|event| replayed.evolve(event));
    assert_eq!(replayed, *state);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn the_journal_agrees_with_a_naive_model(steps in steps()) {
        let mut rig = Rig::new();
        rig.opened("s");
        let mut model = Model::new();
        let mut summaries = 0;
        for step in &steps {
            match step {
                Step::Append(numbers) => {
                    for name in names(numbers) {
                        let text = format!("text of {name}");
                        rig.append("s", &[(&name, &text)]);
                        model.entry(name).or_insert((text, true));
                    }
                }
                Step::Prune(numbers) => {
                    let named = names(numbers);
                    let named: Vec<&str> = named.iter().map(String::as_str).collect();
                    settle(&rig, &mut model, prune(&named, false), &named);
                }
                Step::Replace(numbers) => {
                    let named = names(numbers);
                    let named: Vec<&str> = named.iter().map(String::as_str).collect();
                    summaries += 1;
                    let id = format!("sum{summaries}");
                    let covered = rig.send("s", summarize(&id, &named, "in short"));
                    let known = named.iter().all(|name| model.contains_key(*name));
                    prop_assert_eq!(covered.is_ok(), known);
                    let mut command = prune(&named, false);
                    if let Command::Prune(prune) = &mut command {
                        prune.replace_with = Some(id.parse().unwrap());
                    }
                    settle(&rig, &mut model, command, &named);
                }
                Step::Restore(numbers) => {
                    let named = names(numbers);
                    let named: Vec<&str> = named.iter().map(String::as_str).collect();
                    let done = rig.send("s", Command::Restore { spans: ids(&named) });
                    let known = named.iter().all(|name| model.contains_key(*name));
                    prop_assert_eq!(done.is_ok(), known);
                    if known {
                        named.iter().for_each(|name| model.get_mut(*name).unwrap().1 = true);
                    }
                }
                Step::Reopen => rig = rig.reopened(),
                Step::Kill => rig = rig.killed(),
            }
        }
        check(&rig, &model);
        let rig = rig.reopened();
        check(&rig, &model);
        prop_assert_eq!(rig.journal.verify(&VerifyOptions::default(), |_| {}).unwrap().faults, vec![]);
    }
}

/// A prune goes through exactly if every span that it names is live.
fn settle(rig: &Rig, model: &mut Model, command: Command, named: &[&str]) {
    let Reply::Pruned(reply) = rig.send("s", command).unwrap().reply else { panic!("no verdict") };
    let live = named.iter().all(|name| model.get(*name).is_some_and(|(_, live)| *live));
    assert_eq!(reply.verdict == Verdict::Reversible, live, "{named:?}: {reply:?}");
    if live {
        named.iter().for_each(|name| model.get_mut(*name).unwrap().1 = false);
    }
}
