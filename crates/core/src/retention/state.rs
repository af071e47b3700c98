//! A tenant's retention: its policy, its holds and its runs, as the events of its retention stream
//! say.

use serde::{Deserialize, Serialize};

use super::Facts;
use crate::event::{Event, Match, Recorded, Rule, RunEnd, RunTally};
use crate::{Principal, SessionState, Timestamp};

/// Closed runs that are remembered; older ones are in the events.
const REMEMBERED: usize = 100;

/// What the events of a tenant's retention stream fold into.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RetentionState {
    /// The number of the policy in force; 0 as long as none was set.
    pub policy: u32,
    /// When it was set, and by whom.
    pub set: Option<(Timestamp, Principal)>,
    /// Its rules, in order.
    pub rules: Vec<Rule>,
    /// Every hold ever placed.
    pub(crate) holds: Vec<Hold>,
    /// How many runs have begun.
    pub(crate) runs: u32,
    /// The run that has begun and not ended.
    pub(crate) open: Option<OpenRun>,
    /// The last runs that have ended.
    pub(crate) closed: Vec<ClosedRun>,
}

/// A hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// Its number.
    pub number: u32,
    /// What is held.
    pub matches: Match,
    /// Why.
    pub reason: String,
    /// When it was placed, and by whom.
    pub placed: (Timestamp, Principal),
    /// When it was released, and by whom.
    pub released: Option<(Timestamp, Principal)>,
}

impl Hold {
    /// How the wire contract names it.
    pub fn name(&self) -> String {
        hold_name(self.number)
    }
}

/// How the wire contract names a hold.
pub fn hold_name(number: u32) -> String {
    format!("h{number}")
}

/// A run that has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenRun {
    /// Its number.
    pub run: u32,
    /// Spans recorded behind this journal position are not looked at.
    pub cut: u64,
    /// The time by which periods are over.
    pub effective_now: Timestamp,
    /// The policy in force when it began.
    pub policy: u32,
    /// Whether it may remove any share.
    pub unlimited: bool,
    /// Who asked for it.
    pub by: Principal,
}

/// A run that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedRun {
    /// What it went by.
    pub run: OpenRun,
    /// When it ended.
    pub at: Timestamp,
    /// How it ended.
    pub end: RunEnd,
    /// What it did.
    pub tally: RunTally,
}

impl RetentionState {
    /// Takes other rules than those in force, to try what they would do. Err: what is wrong with them.
    pub fn try_rules(&mut self, rules: Vec<Rule>) -> Result<(), String> {
        match super::fault(&rules) {
            Some(fault) => Err(fault),
            None => {
                self.rules = rules;
                // Nothing was announced under them.
                self.policy = self.policy.saturating_add(1);
                Ok(())
            }
        }
    }

    /// The holds in force.
    pub fn holds(&self) -> impl Iterator<Item = &Hold> {
        self.holds.iter().filter(|hold| hold.released.is_none())
    }

    /// The hold of this number, in force or not.
    pub fn hold(&self, number: u32) -> Option<&Hold> {
        self.holds.iter().find(|hold| hold.number == number)
    }

    /// The holds in force that keep a span.
    pub fn held_by<'a>(&'a self, facts: &'a Facts<'_>) -> impl Iterator<Item = &'a Hold> {
        self.holds().filter(|hold| hold.matches.takes(facts))
    }

    /// Whether a hold has kept a span at any time since this moment, and does no longer.
    pub(crate) fn was_held_since(&self, since: Timestamp, facts: &Facts<'_>) -> bool {
        self.holds.iter().any(|hold| {
            let until = hold.released.as_ref().map(|released| released.0);
            until.is_some_and(|until| until >= since) && hold.matches.takes(facts)
        })
    }

    /// The run that has begun and not ended.
    pub fn open_run(&self) -> Option<&OpenRun> {
        self.open.as_ref()
    }

    /// The last runs that have ended, oldest first.
    pub fn closed_runs(&self) -> &[ClosedRun] {
        &self.closed
    }

    /// Folds an event of the stream in; what is of another kind is passed over.
    pub(crate) fn evolve(&mut self, recorded: &Recorded) {
        let here = || (recorded.at, recorded.principal.clone());
        match &recorded.event {
            Event::PolicySet(event) => {
                self.policy = event.policy;
                self.set = Some(here());
                self.rules = event.rules.clone();
            }
            Event::HoldPlaced(event) => self.holds.push(Hold {
                number: event.hold,
                matches: event.matches.clone(),
                reason: event.reason.clone(),
                placed: here(),
                released: None,
            }),
            Event::HoldReleased(event) => {
                let hold = self.holds.iter_mut().find(|hold| hold.number == event.hold);
                if let Some(hold) = hold {
                    hold.released.get_or_insert_with(here);
                }
            }
            Event::RunOpened(event) => {
                self.runs = event.run;
                self.open = Some(OpenRun {
                    run: event.run,
                    cut: event.cut,
                    effective_now: event.effective_now,
                    policy: event.policy,
                    unlimited: event.unlimited,
                    by: recorded.principal.clone(),
                });
            }
            Event::RunClosed(event) => {
                let open = self.open.take_if(|open| open.run == event.run);
                if let Some(run) = open {
                    if self.closed.len() >= REMEMBERED {
                        self.closed.remove(0);
                    }
                    let (end, tally) = (event.end, event.tally);
                    self.closed.push(ClosedRun { run, at: recorded.at, end, tally });
                }
            }
            _ => {}
        }
    }
}

impl SessionState {
    /// The tenant's retention, if this is its stream.
    pub fn retention(&self) -> Option<&std::sync::Arc<RetentionState>> {
        self.retention.as_ref()
    }
}
