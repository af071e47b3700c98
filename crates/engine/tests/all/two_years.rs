//! Two years of policies, holds, notices, runs, erasures and forks, in seconds: after each step every projection
//! says what the account of [`crate::naive`] says, and so it does after a restart or
//! a kill.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lacuna_core::event::{Keep, LiveHandles, Match, Rule, Since};
use lacuna_core::retention::Period;
use lacuna_core::{
    Cause, Command, EntryKind, Origin, Outcome, Reply, SessionState, SpanKind, Timestamp,
};
use lacuna_engine::{EngineError, Journal, Options, RunRequest, Sender, VerifyOptions};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::naive::{Naive, Says, Span};
use crate::rig::{as_killed, ids, key, open, principal, prune, request, span};

const DAY: u64 = 86_400_000;
/// The first three are opened at once, the others are forks, once they are.
const SESSIONS: [&str; 5] = ["a1", "a2", "b1", "a3", "b2"];
const OPENED: usize = 3;
const BEGIN: u64 = 1_796_018_400_000;

#[derive(Debug, Clone)]
enum Step {
    Append { session: usize, origin: Origin, kind: SpanKind, labelled: bool, bytes: usize },
    Prune { session: usize, picks: Vec<usize> },
    Restore { session: usize, pick: usize },
    Close { session: usize },
    Fork { child: usize, parent: usize },
    Set(Vec<Rule>),
    Hold(Match),
    Release(usize),
    Run,
    Erase { session: usize, picks: Option<Vec<usize>> },
    Reopen,
    Kill,
}

fn matches() -> impl Strategy<Value = Match> {
    let sessions = select(vec![None, None, Some("a*"), Some("a2"), Some("b*")]);
    let origins =
        select(vec![vec![], vec![], vec![Origin::Tool], vec![Origin::User, Origin::Model]]);
    let kinds = select(vec![vec![], vec![], vec![], vec![SpanKind::Note]]);
    let pruned = select(vec![None, None, Some(true), Some(false)]);
    let labelled = select(vec![false, false, false, true]);
    (sessions, origins, kinds, labelled, pruned).prop_map(
        |(sessions, origins, kinds, labelled, pruned)| Match {
            sessions: sessions.map(str::to_owned),
            origins,
            kinds,
            labels: labelled.then(|| ("team".into(), "x".into())).into_iter().collect(),
            pruned,
        },
    )
}

fn keep() -> impl Strategy<Value = Keep> {
    let days = select(vec![0_u64, 0, 1, 7, 30, 90, 365]);
    let since = select(Since::ALL);
    let timed = (days, since).prop_map(|(days, since)| Keep {
        period: Some((Period(days * DAY), since)),
        ..Keep::default()
    });
    prop_oneof![
        1 => Just(Keep { forever: true, ..Keep::default() }),
        6 => timed,
        1 => (1_u64..4).prop_map(|n| Keep { max_spans: Some(n), ..Keep::default() }),
        1 => (1_u64..4).prop_map(|n| Keep { max_bytes: Some(n * 40), ..Keep::default() }),
        1 => (1_u64..4, 1_u64..100).prop_map(|(n, days)| Keep {
            max_spans: Some(n),
            period: Some((Period(days * DAY), Since::Recorded)),
            ..Keep::default()
        }),
    ]
}

fn rules() -> impl Strategy<Value = Vec<Rule>> {
    let handles = select(vec![LiveHandles::Commit, LiveHandles::Commit, LiveHandles::Defer]);
    let rule = (matches(), keep(), select(vec![0_u64, 0, 1, 20]), handles);
    vec(rule, 1..4).prop_map(|rules| {
        let rule = |(number, (matches, keep, notice, live_handles))| Rule {
            id: format!("rule{number}"),
            matches,
            keep,
            notice: Period(notice * DAY),
            live_handles,
            residue: false,
        };
        rules.into_iter().enumerate().map(rule).collect()
    })
}

fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
    let session = || 0..SESSIONS.len();
    let origin = select(vec![Origin::User, Origin::Tool, Origin::Model]);
    let kind = select(vec![SpanKind::Message, SpanKind::Note]);
    let append = (session(), origin, kind, any::<bool>(), 1_usize..60).prop_map(
        |(session, origin, kind, labelled, bytes)| Step::Append {
            session,
            origin,
            kind,
            labelled,
            bytes,
        },
    );
    let picks = || vec(0_usize..40, 1..4);
    let step = prop_oneof![
        30 => append,
        12 => (session(), picks()).prop_map(|(session, picks)| Step::Prune { session, picks }),
        4 => (session(), 0_usize..40).prop_map(|(session, pick)| Step::Restore { session, pick }),
        1 => session().prop_map(|session| Step::Close { session }),
        2 => (OPENED..SESSIONS.len(), session())
            .prop_map(|(child, parent)| Step::Fork { child, parent }),
        3 => rules().prop_map(Step::Set),
        1 => matches().prop_map(Step::Hold),
        3 => (1_usize..8).prop_map(Step::Release),
        16 => Just(Step::Run),
        2 => (session(), prop::option::of(picks()))
            .prop_map(|(session, picks)| Step::Erase { session, picks }),
        1 => Just(Step::Reopen),
        1 => Just(Step::Kill),
    ];
    // A hundred and twenty steps of six days each on average are two years.
    vec((0_u64..13, step), 120)
}

struct World {
    folder: tempfile::TempDir,
    journal: Journal,
    clock: Arc<AtomicU64>,
    naive: Naive,
    /// The sessions that there are.
    open: Vec<&'static str>,
    /// Spans that forks took over.
    shared: usize,
    /// What has happened at all: a test in which nothing goes tests nothing.
    removed: u64,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(AtomicU64::new(BEGIN));
        let journal = Self::open(&folder, &clock);
        for session in &SESSIONS[..OPENED] {
            journal.execute(request(session, None, open())).unwrap();
        }
        let open = SESSIONS[..OPENED].to_vec();
        Self { folder, journal, clock, naive: Naive::default(), open, removed: 0, shared: 0 }
    }

    fn open(folder: &tempfile::TempDir, clock: &Arc<AtomicU64>) -> Journal {
        let told = Arc::clone(clock);
        let clock = Arc::new(move || Timestamp(told.load(Ordering::Relaxed)));
        Journal::open(folder.path(), Options { clock, ..Options::default() }).unwrap()
    }

    fn now(&self) -> u64 {
        self.clock.load(Ordering::Relaxed)
    }

    fn tenant(&self) -> lacuna_core::Tenant {
        key("x").tenant
    }

    /// A span of the session by a number, if it has any.
    fn pick(&self, session: &str, pick: usize) -> Option<String> {
        let names: Vec<&String> =
            self.naive.spans.keys().filter(|(of, _)| of == session).map(|(_, id)| id).collect();
        (!names.is_empty()).then(|| names[pick % names.len()].clone())
    }

    fn tenants(&self, command: Command) -> Result<Reply, EngineError> {
        let stream = lacuna_core::retention::STREAM;
        self.journal.execute(request(stream, None, command)).map(|done| done.reply)
    }

    /// Whether a step is about a session that there is not yet.
    fn is_too_early(&self, step: &Step) -> bool {
        let session = match step {
            Step::Append { session, .. }
            | Step::Prune { session, .. }
            | Step::Restore { session, .. }
            | Step::Close { session }
            | Step::Fork { parent: session, .. }
            | Step::Erase { session, .. } => *session,
            _ => return false,
        };
        !self.open.contains(&SESSIONS[session])
    }

    fn step(&mut self, step: &Step) {
        let now = self.now();
        if self.is_too_early(step) {
            return;
        }
        match step {
            Step::Append { session, origin, kind, labelled, bytes } => {
                let session = SESSIONS[*session];
                let order = self.naive.spans.len();
                let id = format!("m{order:03}");
                let mut new = span(Some(&id), &format!("{id} {}", "x".repeat(*bytes)));
                (new.origin, new.kind) = (*origin, *kind);
                if *labelled {
                    new.labels.insert("team".into(), "x".into());
                }
                let labels = new.labels.clone();
                let done = self.journal.execute(request(
                    session,
                    None,
                    Command::Append { spans: vec![new] },
                ));
                assert_eq!(done.is_ok(), !self.naive.closed.contains_key(session));
                if done.is_ok() {
                    let (origin, kind) = (*origin, *kind);
                    let span = Span {
                        session: session.to_owned(),
                        origin,
                        kind,
                        labels,
                        text: format!("{id} {}", "x".repeat(*bytes)),
                        at: now,
                        order,
                        pruned_at: None,
                        gone: None,
                        announced: None,
                    };
                    self.naive.spans.insert((session.to_owned(), id), span);
                }
            }
            Step::Prune { session, picks } => {
                let session = SESSIONS[*session];
                let named: std::collections::BTreeSet<String> =
                    picks.iter().filter_map(|&pick| self.pick(session, pick)).collect();
                let name = |id: &String| (session.to_owned(), id.clone());
                let live = named.iter().all(|id| {
                    let span = &self.naive.spans[&name(id)];
                    span.pruned_at.is_none() && span.gone.is_none()
                });
                let texts: Vec<&str> = named.iter().map(String::as_str).collect();
                let done = self.journal.execute(request(session, None, prune(&texts, false)));
                let closed = self.naive.closed.contains_key(session);
                assert_eq!(done.is_err(), closed);
                let Ok(done) = done else { return };
                let Reply::Pruned(reply) = done.reply else { panic!("no verdict") };
                let went = reply.verdict == lacuna_core::Verdict::Reversible;
                assert_eq!(went, live && !named.is_empty(), "{named:?}: {reply:?}");
                if went {
                    for id in &named {
                        self.naive.spans.get_mut(&name(id)).unwrap().pruned_at = Some(now);
                    }
                }
            }
            Step::Restore { session, pick } => {
                let session = SESSIONS[*session];
                let Some(id) = self.pick(session, *pick) else { return };
                let command = Command::Restore { spans: ids(&[&id]) };
                let done = self.journal.execute(request(session, None, command));
                let closed = self.naive.closed.contains_key(session);
                let span = self.naive.spans.get_mut(&(session.to_owned(), id)).unwrap();
                assert_eq!(done.is_ok(), !closed && span.gone.is_none());
                if done.is_ok() && span.pruned_at.take().is_some() {
                    span.announced = None;
                }
            }
            Step::Close { session } => {
                let session = SESSIONS[*session];
                self.journal.execute(request(session, None, Command::Close)).unwrap();
                self.naive.closed.entry(session.to_owned()).or_insert(now);
            }
            Step::Fork { child, parent } => {
                let (child, parent) = (SESSIONS[*child], SESSIONS[*parent]);
                let state = self.journal.state(&key(parent)).unwrap();
                let sender =
                    Sender { principal: principal(), command_id: None, expected_version: None };
                let done = self.journal.fork(&key(child), sender, state);
                // Forked again at the same version, nothing changes.
                let begun = matches!(
                    &done,
                    Ok(done) if matches!(done.reply, Reply::Forked { duplicate: false, .. })
                );
                assert_eq!(begun, !self.open.contains(&child), "{done:?}");
                if begun {
                    let before = self.naive.spans.len();
                    self.naive.fork(child, parent);
                    self.shared += self.naive.spans.len() - before;
                    self.open.push(child);
                }
            }
            Step::Set(rules) => {
                self.tenants(Command::SetPolicy { rules: rules.clone() }).unwrap();
                self.naive.set(rules);
            }
            Step::Hold(matches) => {
                let (matches, reason) = (matches.clone(), "why".to_owned());
                let number = self.naive.hold(&matches);
                let reply = self.tenants(Command::PlaceHold { matches, reason }).unwrap();
                let Reply::HoldPlaced { hold, .. } = reply else { panic!("{reply:?}") };
                assert_eq!(hold as usize, number);
            }
            Step::Release(number) => {
                let (hold, reason) = (*number as u32, "why".to_owned());
                let done = self.tenants(Command::ReleaseHold { hold, reason });
                assert_eq!(done.is_ok(), self.naive.release(*number, now));
            }
            Step::Run => {
                let planned = self.journal.plan(&self.tenant(), None, None).unwrap().tally;
                let request = RunRequest::scheduled();
                let (closed, again) = self.journal.run(&self.tenant(), request).unwrap();
                assert!(!again);
                assert_eq!(closed.tally, self.naive.run(now), "{:?}", closed.run);
                assert_eq!(planned, closed.tally, "a plan is what the run does");
                self.removed += closed.tally.removed_spans;
                // The same input again: nothing is left to do.
                let again = self.journal.plan(&self.tenant(), None, None).unwrap().tally;
                assert_eq!((again.removed_spans, again.noticed), (0, 0));
            }
            Step::Erase { session, picks } => {
                let session = SESSIONS[*session];
                let named: Option<Vec<String>> = picks.as_ref().map(|picks| {
                    picks.iter().filter_map(|&pick| self.pick(session, pick)).collect()
                });
                let spans = named
                    .as_ref()
                    .map(|named| ids(&named.iter().map(String::as_str).collect::<Vec<_>>()));
                let command = Command::Erase { spans, cut: u64::MAX, reason: "asked".into() };
                let done = self.journal.erase(request(session, None, command));
                let allowed = self.naive.erase(session, named.as_deref());
                assert_eq!(done.is_ok(), allowed, "{done:?}");
            }
            Step::Reopen => {
                self.journal.close().unwrap();
                // The file is free once the last of its users is gone.
                self.journal = {
                    let none = tempfile::tempdir().unwrap();
                    let idle = Journal::open(none.path(), Options::default()).unwrap();
                    drop(std::mem::replace(&mut self.journal, idle));
                    Self::open(&self.folder, &self.clock)
                };
            }
            Step::Kill => {
                let folder = as_killed(self.folder.path());
                self.journal = Self::open(&folder, &self.clock);
                self.folder = folder;
            }
        }
    }

    /// Every projection against the account.
    fn compare(&self) {
        for &session in &self.open {
            let state = self.journal.state(&key(session)).unwrap();
            let windowed: Vec<(EntryKind, String)> = state
                .entries()
                .flat_map(|entry| {
                    let ids = entry.spans.iter().map(|&index| state.span(index).id.to_string());
                    ids.map(|id| (entry.kind, id)).collect::<Vec<_>>()
                })
                .collect();
            let mut expected = Vec::new();
            for ((of, id), span) in self.naive.spans.iter().filter(|((of, _), _)| of == session) {
                let answer = self.journal.expand(&key(of), &id.parse().unwrap(), 0, 999).unwrap();
                let content = answer.content.as_ref().map(|slice| slice.bytes.clone());
                let erases_at = answer.erases_at.map(|time| time.0);
                match self.naive.says(of, id) {
                    Says::Gone(why) => {
                        assert_eq!((answer.outcome, content), (Outcome::Lossy, None), "{id}");
                        let entry = state.tombstone(state.find(&id.parse().unwrap()).unwrap());
                        assert_eq!(cause(&entry.unwrap().cause), why, "{id}");
                    }
                    says => {
                        let outcome = match says {
                            Says::Scheduled(_) => Outcome::Scheduled,
                            Says::Pruned => Outcome::Recoverable,
                            _ => Outcome::Live,
                        };
                        let at = if let Says::Scheduled(at) = says { Some(at) } else { None };
                        assert_eq!((answer.outcome, erases_at), (outcome, at), "{id}");
                        assert_eq!(content.as_deref(), Some(span.text.as_bytes()), "{id}");
                    }
                }
                let kind = match (&span.gone, span.pruned_at) {
                    (Some(_), _) => EntryKind::Tombstone,
                    (None, Some(_)) => EntryKind::Stub,
                    (None, None) => EntryKind::Span,
                };
                expected.push((kind, id.clone()));
            }
            assert_eq!(windowed, expected, "the window of {session}");
            let held: Vec<bool> = self.durability(session, &state);
            let says = self.naive.spans.iter().filter(|((of, _), _)| of == session);
            let says: Vec<bool> = says.map(|(_, span)| self.naive.held(span)).collect();
            assert_eq!(held, says, "holds in {session}");
        }
        let losses = self.journal.ledger(&self.tenant(), 0, usize::MAX).unwrap();
        let mut ledger: Vec<(String, String, String)> = Vec::new();
        for loss in losses {
            for lost in &loss.event.spans {
                let why = cause(&loss.event.cause);
                ledger.push((loss.session.to_string(), lost.span.to_string(), why));
            }
        }
        let mut expected = self.naive.ledger.clone();
        ledger.sort();
        expected.sort();
        assert_eq!(ledger, expected);
    }

    fn durability(&self, session: &str, state: &SessionState) -> Vec<bool> {
        let ids: Vec<_> = state.spans().iter().map(|span| span.id.clone()).collect();
        let (_, found) = self.journal.durability(&key(session), &ids).unwrap();
        found.iter().map(|span| !span.holds.is_empty()).collect()
    }
}

fn cause(cause: &Cause) -> String {
    match cause {
        Cause::Retention { run, rule, .. } => format!("run {run} rule {rule}"),
        Cause::Erasure { by, .. } if *by == principal() => "erased".to_owned(),
        other => panic!("{other:?}"),
    }
}

fn live(steps: &[(u64, Step)]) -> (u64, usize) {
    let mut world = World::new();
    for (days, step) in steps {
        world.clock.fetch_add(days * DAY, Ordering::Relaxed);
        world.step(step);
        world.compare();
    }
    world.step(&Step::Reopen);
    world.compare();
    let report = world.journal.verify(&VerifyOptions::default(), |_| {}).unwrap();
    assert_eq!(report.faults, vec![]);
    (world.removed, world.shared)
}

#[test]
fn two_years_agree_with_a_naive_account() {
    let source_file = Some(file!());
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let cases = cases.unwrap_or(12);
    let config = ProptestConfig { cases, source_file, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let (removed, shared) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    let result = runner.run(&steps(), |steps| {
        let (went, taken_over) = live(&steps);
        removed.set(removed.get() + went);
        shared.set(shared.get() + taken_over);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    assert!(removed.get() > 10, "{} spans were removed in all", removed.get());
    assert!(shared.get() > 5, "{} spans were taken over by forks", shared.get());
}
