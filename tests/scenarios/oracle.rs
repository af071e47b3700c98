//! Random histories, and a naive account beside them: every answer of window (now and at a moment),
//! expand, search, explain, durability, tombstones and diff must be the account's, also after retention
//! runs, erasures, forks, damage and restarts. The account shares no rule with the product.
//!
//! `LACUNA_ORACLE_CASES` sets how many histories there are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use lacuna_engine::{Journal, Options};
use lacuna_verbs::{Call, Service, Settings};
use lacuna_wire::{Subject, WireError};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::rig::{Cli, Dice, flip_the_payload_at};

pub(crate) const WORDS: &[&str] =
    &["pool", "5433", "ledger", "naïve", "retry", "é", "staging", "req-7f3a"];
const STEPS: u64 = 40;

/// How the account says a span stands in a window: `span`, `stub` or `tombstone`.
pub(crate) type Stands = BTreeMap<String, &'static str>;

#[derive(Debug, Clone, Default)]
pub(crate) struct Session {
    /// Its spans in the order of recording, and whether each was pruned.
    pub(crate) spans: Vec<(String, bool)>,
    version: u64,
    /// What stood at versions at which an answer was taken.
    pub(crate) moments: BTreeMap<u64, (Vec<(String, bool)>, Stands)>,
}

/// The account.
#[derive(Default)]
pub(crate) struct Account {
    pub(crate) sessions: BTreeMap<String, Session>,
    pub(crate) texts: BTreeMap<String, String>,
    /// Those that the next retention run takes.
    goes: BTreeSet<String>,
    /// Payloads that are gone, for every window.
    pub(crate) gone: BTreeMap<String, &'static str>,
}

impl Account {
    pub(crate) fn stands(&self, session: &Session) -> Stands {
        let of = |(id, pruned): &(String, bool)| {
            let how = match (self.gone.contains_key(id), pruned) {
                (true, _) => "tombstone",
                (false, true) => "stub",
                (false, false) => "span",
            };
            (id.clone(), how)
        };
        session.spans.iter().map(of).collect()
    }
}

pub(crate) struct World {
    folder: TempDir,
    service: Option<Service>,
    pub(crate) journal: Option<Arc<Journal>>,
    pub(crate) account: Account,
    dice: Dice,
    next: u64,
    done: BTreeMap<&'static str, u64>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut world = Self {
            folder: tempfile::tempdir().unwrap(),
            service: None,
            journal: None,
            account: Account::default(),
            dice: Dice::of(seed),
            next: 0,
            done: BTreeMap::new(),
        };
        world.open();
        world
            .call(
                "officer.retention",
                "policy-set",
                json!({ "rules": [{ "id": "goes",
            "match": { "labels": { "lot": "goes" } }, "keep": { "for": "0s" }, "notice": "0s",
            "live_handles": "commit" }] }),
            )
            .unwrap();
        world.call("worker.session.s", "open", json!({ "window_tokens": 1_000_000 })).unwrap();
        world.account.sessions.insert("s".into(), Session::default());
        world.mark();
        world
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("journal")
    }

    fn open(&mut self) {
        let journal = Arc::new(Journal::open(&self.path(), Options::default()).unwrap());
        self.service = Some(Service::new(Arc::clone(&journal), Settings::default()));
        self.journal = Some(journal);
    }

    fn close(&mut self) {
        self.service = None;
        let journal = self.journal.take().expect("it is open");
        journal.close().unwrap();
        assert_eq!(Arc::strong_count(&journal), 1);
    }

    fn call(&self, target: &str, verb: &str, body: Value) -> Result<Value, WireError> {
        let subject = Subject::parse(&format!("lacuna.v1.t.{target}.{verb}")).unwrap();
        let body = body.to_string();
        let call = Call { subject: &subject, body: body.as_bytes(), max_reply: 1 << 20 };
        let reply = self.service.as_ref().expect("it is open").call_and_wait(call)?;
        Ok(serde_json::from_slice(&reply).unwrap())
    }

    pub(crate) fn ask(&self, session: &str, verb: &str, body: Value) -> Value {
        let told = format!("{session} {verb} {body}");
        self.call(&format!("worker.session.{session}"), verb, body)
            .unwrap_or_else(|error| panic!("{told}: {error:?}"))
    }

    pub(crate) fn pick<T: Clone>(&mut self, list: &[T]) -> Option<T> {
        (!list.is_empty()).then(|| list[self.dice.below(list.len() as u64) as usize].clone())
    }

    pub(crate) fn pick_session(&mut self) -> String {
        let names: Vec<String> = self.account.sessions.keys().cloned().collect();
        self.pick(&names).expect("there is one")
    }

    /// A few of a session's spans that stand like this.
    fn some(&mut self, session: &str, how: &[&str]) -> Vec<String> {
        let stands = self.account.stands(&self.account.sessions[session]);
        let all: Vec<String> =
            stands.iter().filter(|(_, is)| how.contains(is)).map(|(id, _)| id.clone()).collect();
        let count = 1 + self.dice.below(3);
        let picked: BTreeSet<String> = (0..count).filter_map(|_| self.pick(&all)).collect();
        picked.into_iter().collect()
    }

    fn step(&mut self) {
        let session = self.pick_session();
        let what = match self.dice.below(16) {
            0..=4 => self.append(&session),
            5..=7 => self.prune(&session),
            8..=9 => self.restore(&session),
            10..=11 => self.fork(&session),
            12 => self.erase(&session),
            13 => self.run(),
            14 => self.damage(),
            _ => {
                self.close();
                self.open();
                "reopen"
            }
        };
        *self.done.entry(what).or_default() += 1;
        self.mark();
    }

    fn append(&mut self, session: &str) -> &'static str {
        let mut spans = Vec::new();
        for _ in 0..=self.dice.below(3) {
            self.next += 1;
            let id = format!("m{}", self.next);
            let words: Vec<&str> =
                (0..=self.dice.below(6)).map(|_| self.pick(WORDS).unwrap()).collect();
            // No two payloads are alike.
            let text = format!("{id}: {}", words.join(" "));
            let goes = self.dice.below(4) == 0;
            let lot = if goes { "goes" } else { "stays" };
            if goes {
                self.account.goes.insert(id.clone());
            }
            spans.push(json!({ "id": id, "role": "user", "origin": "user", "content": text,
                "labels": { "lot": lot } }));
            self.account.texts.insert(id.clone(), text);
            self.account.sessions.get_mut(session).unwrap().spans.push((id, false));
        }
        self.ask(session, "append", json!({ "spans": spans }));
        "append"
    }

    fn prune(&mut self, session: &str) -> &'static str {
        let wrong = self.dice.below(4) == 0;
        let how: &[&str] = if wrong { &["span", "stub", "tombstone"] } else { &["span"] };
        let ids = self.some(session, how);
        if ids.is_empty() {
            return "nothing";
        }
        let stands = self.account.stands(&self.account.sessions[session]);
        let right = ids.iter().all(|id| stands[id] == "span");
        let reply = self.ask(session, "prune", json!({ "spans": ids }));
        let expected = if right { "reversible" } else { "rejected" };
        assert_eq!(reply["status"], expected, "{reply}");
        if right {
            let spans = &mut self.account.sessions.get_mut(session).unwrap().spans;
            spans
                .iter_mut()
                .filter(|(id, _)| ids.contains(id))
                .for_each(|(_, pruned)| *pruned = true);
        }
        if right { "prune" } else { "refused" }
    }

    fn restore(&mut self, session: &str) -> &'static str {
        let ids = self.some(session, &["stub"]);
        if ids.is_empty() {
            return "nothing";
        }
        self.ask(session, "restore", json!({ "spans": ids }));
        let spans = &mut self.account.sessions.get_mut(session).unwrap().spans;
        spans.iter_mut().filter(|(id, _)| ids.contains(id)).for_each(|(_, pruned)| *pruned = false);
        "restore"
    }

    fn fork(&mut self, session: &str) -> &'static str {
        if self.account.sessions.len() > 4 {
            return "nothing";
        }
        let versions: Vec<u64> = self.account.sessions[session].moments.keys().copied().collect();
        let version = self.pick(&versions).expect("it was marked");
        let name = format!("f{}", self.account.sessions.len());
        let body = json!({ "from": session, "at": { "version": version } });
        let reply = self.ask(&name, "fork", body);
        assert_eq!(reply["at"], version, "{reply}");
        let parent = &self.account.sessions[session];
        let moments = parent.moments.range(..=version).map(|(at, m)| (*at, m.clone())).collect();
        let spans = parent.moments[&version].0.clone();
        self.account.sessions.insert(name, Session { spans, version: 0, moments });
        "fork"
    }

    fn erase(&mut self, session: &str) -> &'static str {
        let ids = self.some(session, &["span", "stub"]);
        if ids.is_empty() {
            return "nothing";
        }
        let body = json!({ "session": session, "spans": ids, "reason": "asked for" });
        self.call("officer.retention", "erase", body).unwrap();
        self.account.gone.extend(ids.into_iter().map(|id| (id, "erasure")));
        "erase"
    }

    fn run(&mut self) -> &'static str {
        let goes = std::mem::take(&mut self.account.goes);
        self.call("officer.retention", "run", json!({ "unlimited": true })).unwrap();
        for id in goes {
            self.account.gone.entry(id).or_insert("retention");
        }
        "run"
    }

    /// Changes a stored copy behind the product's back; the next reading finds it.
    fn damage(&mut self) -> &'static str {
        let session = self.pick_session();
        let Some(id) = self.some(&session, &["span", "stub"]).pop() else { return "nothing" };
        let events = self.events(&session);
        let recorded = events.iter().find(|e| e["kind"] == "span-recorded" && e["span"] == *id);
        let seq = recorded.unwrap()["seq"].as_u64().unwrap();
        self.close();
        flip_the_payload_at(&self.path(), seq);
        self.open();
        let reply = self.ask(&session, "expand", json!({ "span": id }));
        assert_eq!(
            (&reply["outcome"], &reply["cause"]["kind"]),
            (&json!("lossy"), &json!("damage"))
        );
        self.account.gone.insert(id, "damage");
        "damage"
    }

    pub(crate) fn events(&self, session: &str) -> Vec<Value> {
        let (mut events, mut from) = (Vec::new(), 1);
        loop {
            let page = self.ask(session, "history", json!({ "from_version": from }));
            let list = page["events"].as_array().unwrap();
            if list.is_empty() {
                return events;
            }
            events.extend(list.iter().cloned());
            from = page["next_version"].as_u64().unwrap();
        }
    }

    /// Every session goes into a journal of its own and comes out as the same file, with the same window.
    fn carried_over(&mut self) {
        self.close();
        let here = Cli::journal(&self.path());
        for name in self.account.sessions.keys() {
            let file = |name: &str| self.folder.path().join(name).display().to_string();
            let (first, again) = (file("first.jsonl"), file("again.jsonl"));
            let other = Cli::journal(&self.folder.path().join(format!("with-{name}")));
            let done = |cli: &Cli, words: &[&str]| {
                cli.done(&[&["--tenant", "t", "-s", name.as_str()], words].concat())
            };
            done(&here, &["export", "-o", &first]);
            other.done(&["--tenant", "t", "import", &first]);
            done(&other, &["export", "-o", &again]);
            let (first, again) = (std::fs::read(first).unwrap(), std::fs::read(again).unwrap());
            assert!(first == again, "another file of {name} came out");
            let window = |cli: &Cli| {
                let window = done(cli, &["window"]);
                ["version", "entries", "budget"].map(|field| window[field].clone())
            };
            assert_eq!(window(&other), window(&here), "the window of {name}");
            assert_eq!(other.done(&["verify"])["faults"], json!([]), "{name}");
        }
    }

    /// Takes down how every session stands now.
    fn mark(&mut self) {
        let names: Vec<String> = self.account.sessions.keys().cloned().collect();
        for name in names {
            let window = self.ask(&name, "window", json!({ "content": false }));
            let version = window["version"].as_u64().unwrap();
            let session = &self.account.sessions[&name];
            let moment = (session.spans.clone(), self.account.stands(session));
            let session = self.account.sessions.get_mut(&name).unwrap();
            session.version = version;
            session.moments.insert(version, moment);
        }
    }
}

#[test]
fn every_answer_is_that_of_a_naive_account() {
    let cases = std::env::var("LACUNA_ORACLE_CASES").ok().and_then(|cases| cases.parse().ok());
    let mut dice = Dice::roll("random histories");
    let mut done: BTreeMap<&'static str, u64> = BTreeMap::new();
    for case in 0..cases.unwrap_or(40) {
        let seed = dice.below(u64::MAX);
        eprintln!("history {case}: seed {seed}");
        let mut world = World::new(seed);
        for step in 1..=STEPS {
            world.step();
            if step % 20 == 0 {
                world.compare();
            }
        }
        if case % 4 == 0 {
            world.carried_over();
        }
        for (what, times) in &world.done {
            *done.entry(what).or_default() += times;
        }
    }
    eprintln!("{done:?}");
    // Something of everything has happened, or nothing was tested.
    for what in
        ["append", "prune", "refused", "restore", "fork", "erase", "run", "damage", "reopen"]
    {
        assert!(done.get(what).is_some_and(|times| *times > 0), "no {what}: {done:?}");
    }
}
