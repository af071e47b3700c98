//! Prune, restore, fork, retention, hold and erasure in every order up to a length: wherever a window has a
//! handle, it leads to the content, or to the event that says why there is none.

use lacuna_core::event::{Keep, LiveHandles, Match, Rule, Since};
use lacuna_core::retention::{Period, STREAM};
use lacuna_core::{Cause, Command, Outcome, SessionKey, Tenant};
use lacuna_engine::{Journal, Options, Request, RunRequest, Sender, VerifyOptions};

use crate::rig::{append, ids, open, principal, prune, request};

/// What may happen next. Each is one command, or one run of the policy, which keeps nothing.
const STEPS: [Step; 9] = [
    Step::Prune("s"),
    Step::Restore("s"),
    Step::Fork,
    Step::Prune("f"),
    Step::Restore("f"),
    Step::Run,
    Step::Hold,
    Step::Release,
    Step::Erase("s"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Prune(&'static str),
    Restore(&'static str),
    Fork,
    Run,
    Hold,
    Release,
    Erase(&'static str),
}

/// One order of steps, in a tenant of its own.
struct World<'a> {
    journal: &'a Journal,
    tenant: Tenant,
    held: u32,
}

impl World<'_> {
    fn key(&self, session: &str) -> SessionKey {
        SessionKey { tenant: self.tenant.clone(), session: session.parse().unwrap() }
    }

    /// Whether it was carried out: refusals are answers like others.
    fn send(&self, session: &str, command: Command) -> bool {
        self.journal.execute(self.request(session, command)).is_ok()
    }

    fn request(&self, session: &str, command: Command) -> Request {
        Request { session: self.key(session), ..request("s", None, command) }
    }

    fn begin(&self) {
        let keep = Keep { period: Some((Period(0), Since::Recorded)), ..Keep::default() };
        let rule = Rule {
            id: "nothing".into(),
            matches: Match::default(),
            keep,
            notice: Period(0),
            live_handles: LiveHandles::Commit,
            residue: false,
        };
        assert!(self.send(STREAM, Command::SetPolicy { rules: vec![rule] }));
        assert!(self.send("s", open()));
        assert!(self.send("s", append(&[("a", "alpha"), ("b", "beta")])));
    }

    fn step(&mut self, step: Step) -> bool {
        match step {
            Step::Prune(session) => self.send(session, prune(&["a"], false)),
            Step::Restore(session) => self.send(session, Command::Restore { spans: ids(&["a"]) }),
            Step::Fork => match self.journal.state(&self.key("s")) {
                Ok(state) => {
                    let principal = principal();
                    let sender = Sender { principal, command_id: None, expected_version: None };
                    self.journal.fork(&self.key("f"), sender, state).is_ok()
                }
                Err(_) => false,
            },
            Step::Run => self.journal.run(&self.tenant, RunRequest::scheduled()).is_ok(),
            Step::Hold => {
                let matches = Match { sessions: Some("s".into()), ..Match::default() };
                let placed = Command::PlaceHold { matches, reason: "case 7".into() };
                self.held += u32::from(self.send(STREAM, placed));
                true
            }
            Step::Release => {
                let reason = "closed".into();
                self.send(STREAM, Command::ReleaseHold { hold: self.held, reason })
            }
            Step::Erase(session) => {
                let erase = Command::Erase {
                    spans: Some(ids(&["a"])),
                    cut: u64::MAX,
                    reason: "asked".into(),
                };
                self.journal.erase(self.request(session, erase)).is_ok()
            }
        }
    }

    /// What looking up every handle leads to; panics where that is nothing.
    fn check(&self, order: &[Step]) -> [usize; 2] {
        let mut found = [0; 2];
        for session in ["s", "f"] {
            let key = self.key(session);
            let Ok(state) = self.journal.state(&key) else { continue };
            for (id, text) in [("a", "alpha"), ("b", "beta")] {
                let answer = self.journal.expand(&key, &id.parse().unwrap(), 0, 99).unwrap();
                let why = || format!("{order:?}: {session}/{id} is {:?}", answer.outcome);
                let told = state.ledger().iter().any(|loss| {
                    let cause =
                        matches!(loss.cause, Cause::Retention { .. } | Cause::Erasure { .. });
                    cause && state.span(loss.span).id.as_str() == id
                });
                match answer.outcome {
                    Outcome::Live | Outcome::Recoverable | Outcome::Scheduled => {
                        let content = answer.content.as_ref().map(|content| content.bytes.to_vec());
                        assert_eq!(content.as_deref(), Some(text.as_bytes()), "{}", why());
                        assert!(!told, "{}, and an event says that it is lost", why());
                        found[0] += 1;
                    }
                    Outcome::Lossy => {
                        assert!(answer.content.is_none(), "{}, and is there", why());
                        assert!(told, "{}, and no event says so", why());
                        found[1] += 1;
                    }
                    Outcome::Withheld | Outcome::NeverRecorded => panic!("{}", why()),
                }
            }
        }
        found
    }
}

/// Every order of so many steps, one behind the other.
fn orders(length: usize) -> impl Iterator<Item = Vec<Step>> {
    (0..STEPS.len().pow(length as u32)).map(move |number| {
        let place = |at: usize| number / STEPS.len().pow(at as u32) % STEPS.len();
        (0..length).map(|at| STEPS[place(at)]).collect()
    })
}

#[test]
fn in_every_order_a_handle_leads_to_the_content_or_to_the_event_that_tells_why_not() {
    let length = std::env::var("LACUNA_STEPS").map_or(3, |length| length.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::open(folder.path(), Options::default()).unwrap();
    let (mut count, mut done, mut total) = (0, [0; STEPS.len()], [0; 2]);
    for (number, order) in orders(length).enumerate() {
        let tenant = format!("t{number}").parse().unwrap();
        let mut world = World { journal: &journal, tenant, held: 0 };
        world.begin();
        for (at, step) in order.iter().enumerate() {
            let carried_out = world.step(*step);
            let place = STEPS.iter().position(|one| one == step).unwrap();
            done[place] += u64::from(carried_out);
            let found = world.check(&order[..=at]);
            total = [total[0] + found[0], total[1] + found[1]];
            count += 1;
        }
    }
    eprintln!(
        "{count} steps in every order of {length}: {total:?} lookups of contents and tombstones"
    );
    assert!(done.iter().all(|done| *done > 0), "a step was never carried out: {done:?}");
    assert!(total.iter().all(|total| *total > 0), "{total:?}");
    assert_eq!(journal.verify(&VerifyOptions::default(), |_| {}).unwrap().faults, []);
}
