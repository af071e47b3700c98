//! Sequences of commands over few ids, so that they meet: after each, the state agrees with the
//! simple account of [`crate::naive`], with a replay from the first event, and with every law.

use std::cell::RefCell;

use lacuna_core::{
    Audit, Claim, ClaimOrigin, Command, Contract, CopyEvidence, Gate, Outcome, Principal, Prune,
    PruneMode, Purpose, Recorded, Reply, SessionState, SpanId, SpanKind, Summarize, Verdict,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::naive::Naive;
use crate::ops::{NAMES, Op, SENDERS, step};
use crate::reached::Reached;
use crate::scenario::{Scenario, drop_spans, id, summary};
use crate::telling::{claim, enforced};

pub(crate) struct Run {
    pub(crate) scenario: Scenario,
    naive: Naive,
    refused: usize,
}

impl Run {
    fn step(&mut self, command: Command) {
        let before = self.scenario.state().clone();
        let Ok(reply) = self.scenario.send(command.clone()) else {
            assert_eq!(self.scenario.state(), &before, "refused: {command:?}");
            self.refused += 1;
            return;
        };
        self.naive.note(&command, &reply);
        if let (Command::Prune(prune), Reply::Pruned(reply)) = (&command, &reply) {
            self.gate_kept(&before, prune, reply.verdict, &reply.spans);
        }
        let state = self.scenario.state();
        self.naive.compare(state);
        let replayed = fold(&self.scenario.log);
        assert_eq!(&replayed, state, "a replay gives the same state");
        assert_eq!(canonical(&replayed), canonical(state), "and the same text of it");
        for ghost in ["ghost", "shade"] {
            assert_eq!(self.scenario.outcome(ghost), Outcome::NeverRecorded);
        }
    }

    /// Nothing leaves as reversible whose copy is not there, and what may leave does.
    fn gate_kept(
        &self,
        before: &SessionState,
        prune: &Prune,
        verdict: Verdict,
        spans: &[lacuna_core::SpanVerdict],
    ) {
        let mut simple = prune.replace_with.is_none() && !spans.is_empty();
        for found in spans {
            let span = before.find(&found.span);
            let copy = self.scenario.evidence.get(&found.span).is_none_or(|e| e.existence.is_ok());
            let stored = span.is_some_and(|span| before.outcome(span) != Outcome::Withheld);
            let whole = copy && stored;
            let expected = match (verdict, whole) {
                (Verdict::Rejected, _) => Gate::Rejected,
                (_, true) => Gate::Reversible,
                (_, false) => Gate::Lossy,
            };
            assert_eq!(found.gate, expected, "{} under {prune:?}", found.span);
            // What stands beside its pruner's own summary waits for an audit.
            let own = before
                .spans()
                .iter()
                .filter(|span| span.is_summary() && span.by == self.scenario.principal);
            simple &= !own.into_iter().any(|own| before.covers(own).contains(&found.span));
            simple &= whole
                && span.is_some_and(|span| {
                    before.outcome(span) == Outcome::Live
                        && !span.pinned
                        && span.open_contradictions == 0
                        && span.kind != SpanKind::ToolCall
                });
        }
        // The opposite failure counts as much: a gate that refuses what is safe.
        assert!(!simple || verdict == Verdict::Reversible, "{verdict:?} for {prune:?}");
    }

    fn run(&mut self, op: &Op) {
        match op {
            Op::Append(pieces) => {
                let spans = pieces.iter().map(|piece| self.new_span(piece)).collect();
                self.step(Command::Append { spans });
            }
            Op::Summarize { name, covers } => {
                let covers = covers.iter().map(|&pick| self.any(pick)).collect();
                let id = name.map(|name| id(NAMES[name]));
                self.step(Command::Summarize(lacuna_core::Summarize {
                    id,
                    covers,
                    ..summary("S", &[])
                }));
            }
            Op::Prune { picks, with, lossy, dry, hours } => {
                let mut spans = self.pick(picks, &self.live());
                if !picks.blind {
                    spans = self.with_results(spans);
                }
                let again = with.filter(|with| *with >= 8).and_then(|_| self.used_again());
                let (spans, replace_with) = match again {
                    Some((spans, summary)) => (spans, Some(summary)),
                    None => {
                        let summary = with.and_then(|with| self.replacement(with, &spans));
                        (spans, summary)
                    }
                };
                self.step(Command::Prune(Prune {
                    spans,
                    mode: PruneMode::Compress,
                    replace_with,
                    accept_lossy: *lossy,
                    min_durability_ms: hours.map(|hours| hours * 3_600_000),
                    dry_run: *dry,
                    ..drop_spans(&[])
                }));
            }
            Op::Restore(picks) => {
                let spans = self.pick(picks, &self.pruned());
                self.step(Command::Restore { spans });
            }
            Op::Spoil { pick, reported } => {
                let summaries: Vec<SpanId> = self.summaries();
                let span = match summaries.get(pick / 2 % summaries.len().max(1)) {
                    Some(summary) if pick.is_multiple_of(2) => summary.clone(),
                    _ => self.any(*pick),
                };
                let recorded = self.scenario.state().find(&span).is_some();
                // What the store lost before it was recorded is not lost.
                if recorded {
                    let found = CopyEvidence::missing("its stored copy is missing");
                    self.scenario.evidence.insert(span.clone(), found);
                }
                if *reported {
                    self.step(Command::ReportDamage { spans: vec![span], ended: false });
                }
            }
            Op::Report(picks) => {
                let spans = self.pick(picks, &[]);
                self.step(Command::ReportDamage { spans, ended: false });
            }
            Op::Contradict(a, b) => {
                let spans = vec![self.any(*a), self.any(*b)];
                self.step(Command::Contradict { spans, note: None });
            }
            Op::Resolve(contradiction) => {
                let note = "settled".to_owned();
                self.step(Command::Resolve { contradiction: *contradiction, note });
            }
            Op::Tell { name, covers, cites, origin, reads } => {
                let covers: Vec<SpanId> = covers.iter().map(|&pick| self.any(pick)).collect();
                let cites: Vec<SpanId> = cites.iter().map(|&pick| self.any(pick)).collect();
                if *reads {
                    self.read(&covers);
                    self.read(&cites);
                }
                let cites = if cites.is_empty() { self.primary(&covers) } else { cites };
                let origin = ClaimOrigin::ALL[*origin];
                let id = name.map(|name| id(NAMES[name]));
                self.step(Command::Summarize(told(id, covers, &cites, origin)));
            }
            Op::Wrong { covers, times } => {
                let covers: Vec<SpanId> = covers.iter().map(|&pick| self.any(pick)).collect();
                for _ in 0..*times {
                    let wrong = told(None, covers.clone(), &[], ClaimOrigin::Inferred);
                    self.step(Command::Summarize(wrong));
                }
            }
            Op::Audit { pick, pass, reads } => {
                let mut summaries = self.summaries();
                if pick.is_multiple_of(3) {
                    // Those whose verdict the window shows.
                    let live = |id: &SpanId| self.scenario.outcome(id.as_str()) == Outcome::Live;
                    summaries.retain(live);
                }
                let summary = match summaries.get(pick % summaries.len().max(1)) {
                    Some(summary) if !pick.is_multiple_of(16) => summary.clone(),
                    _ => self.any(*pick),
                };
                let own = self.scenario.state().find(&summary);
                let covers = own.map(|own| self.scenario.state().covers(own)).unwrap_or_default();
                if *reads {
                    self.read(&covers);
                }
                self.step(Command::Audit(Audit { summary, pass: *pass, notes: Vec::new() }));
            }
            Op::Read(pick, purpose) => {
                let purpose = Purpose::ALL[*purpose];
                let span = self.any(*pick);
                self.step(Command::Read { span, purpose });
            }
            Op::Close => self.step(Command::Close),
        }
    }

    fn read(&mut self, spans: &[SpanId]) {
        for span in spans {
            let recorded = self.scenario.state().find(span).is_some();
            if recorded {
                let purpose = Purpose::Reground;
                self.step(Command::Read { span: span.clone(), purpose });
            }
        }
    }

    fn replacement(&mut self, with: usize, spans: &[SpanId]) -> Option<SpanId> {
        if with < 4 {
            let known = self.scenario.state().spans().len();
            // Some cover more than they replace at first, and are used again.
            let mut covers = spans.to_vec();
            if with > 1 {
                covers.extend(self.live());
            }
            let fresh = if self.scenario.state().contract == Contract::Enforce {
                // By somebody else, who has read all of it.
                let sender = std::mem::replace(&mut self.scenario.principal, writer());
                self.read(&covers);
                let cites = self.primary(&covers);
                let told = told(None, covers, &cites, ClaimOrigin::Inferred);
                self.step(Command::Summarize(told));
                self.scenario.principal = sender;
                None
            } else {
                Some(lacuna_core::Summarize { id: None, covers, ..summary("S", &[]) })
            };
            if let Some(fresh) = fresh {
                self.step(Command::Summarize(fresh));
            }
            let state = self.scenario.state();
            return state.spans().get(known).map(|span| span.id.clone());
        }
        let state = self.scenario.state();
        let covering = state.spans().iter().filter(|summary| {
            let covers = state.covers(summary);
            spans.iter().all(|id| covers.contains(id)) && summary.is_summary()
        });
        let covering: Vec<&SpanId> = covering.map(|summary| &summary.id).collect();
        covering.get((with - 4) % covering.len().max(1)).map(|&summary| summary.clone())
    }
}

fn writer() -> Principal {
    SENDERS[1].parse().unwrap()
}

/// A summary of one claim that no span can belie.
fn told(
    id: Option<SpanId>,
    covers: Vec<SpanId>,
    cites: &[SpanId],
    origin: ClaimOrigin,
) -> Summarize {
    let cites: Vec<&str> = cites.iter().map(SpanId::as_str).collect();
    let claims = vec![claim("Noted.", origin, &cites)];
    Summarize { id, covers, ..tell("Noted.", claims) }
}

fn tell(text: &str, claims: Vec<Claim>) -> Summarize {
    crate::telling::tell(&[], text, claims)
}

fn fold(log: &[Recorded]) -> SessionState {
    let mut state = SessionState::open(&log[0]).expect("the first event opens the session");
    log[1..].iter().for_each(|recorded| state.evolve(recorded));
    state
}

/// A state as text, without what leads from names to spans, which serialisation leaves out as well. (JSON has no place
/// for a map whose keys are no strings.)
fn canonical(state: &SessionState) -> String {
    let text = format!("{state:?}");
    let (kept, names) = text.split_once(", known: Known { ").expect("the names are the last field");
    assert!(names.ends_with("} } }"), "something stands behind the names: {names}");
    kept.to_owned()
}

#[test]
fn every_sequence_keeps_every_law() {
    let config = ProptestConfig { source_file: Some(file!()), ..ProptestConfig::default() };
    let cases = config.cases;
    let mut runner = TestRunner::new(config);
    let reached = RefCell::new(Reached::default());
    let outcome =
        runner.run(&(prop::bool::weighted(0.4), vec(step(), 1..80)), |(enforce, steps)| {
            let scenario = if enforce { enforced(vec![]) } else { Scenario::open() };
            let mut run = Run { scenario, naive: Naive::default(), refused: 0 };
            for step in &steps {
                run.scenario.by(SENDERS[step.sender]);
                run.run(&step.op);
            }
            reached.borrow_mut().count(&run.scenario, run.refused);
            Ok(())
        });
    if let Err(failure) = outcome {
        panic!("{failure}\n{runner}");
    }
    let reached = reached.into_inner().0;
    let missed: Vec<_> = reached.iter().filter(|(_, count)| **count == 0).collect();
    assert_eq!((missed, reached.len()), (vec![], 34), "{cases} cases came to {reached:?}");
}
