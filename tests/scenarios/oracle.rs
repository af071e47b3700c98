//! Random histories, and a naive account beside them: every answer of window (now and at a moment),
//! expand, search, explain, durability, tombstones and diff must be the account's, also after retention
//! runs, erasures, forks, damage and restarts. The account shares no rule with the product.
//!
//! `LACUNA_ORACLE_CASES` sets how many histories there are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use lacuna_engine::{Journal, Options, VerifyOptions};
use lacuna_verbs::{Call, Service, Settings};
use lacuna_wire::{Subject, WireError};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::rig::Dice;

mod steps;

const WORDS: &[&str] = &["pool", "5433", "ledger", "naïve", "retry", "é", "staging", "req-7f3a"];
const STEPS: u64 = 40;

/// How the account says a span stands in a window: `span`, `stub` or `tombstone`.
type Stands = BTreeMap<String, &'static str>;

#[derive(Debug, Clone, Default)]
struct Session {
    /// Its spans in the order of recording, and whether each was pruned.
    spans: Vec<(String, bool)>,
    version: u64,
    /// What stood at versions at which an answer was taken.
    moments: BTreeMap<u64, (Vec<(String, bool)>, Stands)>,
}

/// The account.
#[derive(Default)]
struct Account {
    sessions: BTreeMap<String, Session>,
    texts: BTreeMap<String, String>,
    /// Those that the next retention run takes.
    goes: BTreeSet<String>,
    /// Payloads that are gone, for every window.
    gone: BTreeMap<String, &'static str>,
}

impl Account {
    fn stands(&self, session: &Session) -> Stands {
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

struct World {
    folder: TempDir,
    service: Option<Service>,
    journal: Option<Arc<Journal>>,
    account: Account,
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

    fn ask(&self, session: &str, verb: &str, body: Value) -> Value {
        let told = format!("{session} {verb} {body}");
        self.call(&format!("worker.session.{session}"), verb, body)
            .unwrap_or_else(|error| panic!("{told}: {error:?}"))
    }

    fn compare(&mut self) {
        for (name, session) in &self.account.sessions {
            self.now(name, session);
            let events = self.events(name);
            self.stories(name, session, &events);
            for word in WORDS {
                self.search(name, session, word);
            }
            self.search(name, session, "nowhere at all");
        }
        for _ in 0..6 {
            let name = self.pick_session();
            let session = &self.account.sessions[&name];
            let versions: Vec<u64> = session.moments.keys().copied().collect();
            let (one, other) = (self.pick(&versions).unwrap(), self.pick(&versions).unwrap());
            let session = &self.account.sessions[&name];
            self.then(&name, session, one);
            self.diff(&name, session, one.min(other), one.max(other));
        }
        let report = self.journal.as_ref().unwrap().verify(&VerifyOptions::default(), |_| {});
        assert_eq!(report.unwrap().faults, vec![]);
    }

    /// Each entry of a window for each of its spans: how it stands, and the content.
    fn window(&self, name: &str, body: Value) -> (Vec<(String, String)>, Value) {
        let reply = self.ask(name, "window", body);
        let mut stands = Vec::new();
        for entry in reply["entries"].as_array().unwrap() {
            let kind = entry["kind"].as_str().unwrap().to_owned();
            match entry["spans"].as_array() {
                Some(spans) => {
                    stands
                        .extend(spans.iter().map(|id| (id.as_str().unwrap().into(), kind.clone())));
                }
                None => stands.push((entry["id"].as_str().unwrap().to_owned(), kind)),
            }
        }
        (stands, reply)
    }

    fn now(&self, name: &str, session: &Session) {
        let (found, _) = self.window(name, json!({}));
        let stands = self.account.stands(session);
        let expected: Vec<(String, String)> =
            session.spans.iter().map(|(id, _)| (id.clone(), stands[id].to_owned())).collect();
        assert_eq!(found, expected, "the window of {name}");
        let mut tombstones = Vec::new();
        for (id, how) in &stands {
            let reply = self.ask(name, "expand", json!({ "span": id }));
            let outcome = match *how {
                "span" => "live",
                "stub" => "recoverable",
                _ => "lossy",
            };
            assert_eq!(reply["outcome"], outcome, "{name} {id}: {reply}");
            if *how == "tombstone" {
                assert_eq!(reply["cause"]["kind"], self.account.gone[id], "{reply}");
                assert!(reply.get("content").is_none(), "{reply}");
                tombstones.push(id.clone());
            } else {
                assert_eq!(reply["content"], *self.account.texts[id], "{name} {id}");
            }
        }
        let reply = self.ask(name, "tombstones", json!({}));
        let ledger = reply["tombstones"].as_array().unwrap().iter();
        let mut ledger: Vec<&str> = ledger.map(|entry| entry["span"].as_str().unwrap()).collect();
        ledger.sort_unstable();
        assert_eq!(ledger, tombstones, "the ledger of {name}");
        // What only relatives have recorded since they parted is not known here.
        let elsewhere = self.account.texts.keys().filter(|id| !stands.contains_key(*id));
        for id in elsewhere.map(String::as_str).chain(["nobody"]) {
            let reply = self.ask(name, "expand", json!({ "span": id }));
            assert_eq!(reply["outcome"], "never_recorded", "{name} {id}: {reply}");
            assert_eq!(reply["evidence"]["spans_recorded"], session.spans.len());
        }
    }

    /// The story of each span is made of the events that name it, and of no others.
    fn stories(&self, name: &str, session: &Session, events: &[Value]) {
        for (id, _) in &session.spans {
            let recorded = events.iter().find(|event| event["span"] == **id).unwrap();
            let names = |event: &&Value| {
                let listed = event["spans"].as_array().into_iter().flatten();
                // A fork takes over what was recorded before it.
                let taken = event["kind"] == "session-forked"
                    && event["version"].as_u64() > recorded["version"].as_u64();
                taken || event["span"] == **id || listed.into_iter().any(|s| s["id"] == **id)
            };
            let expected: Vec<&Value> =
                events.iter().filter(names).map(|e| &e["version"]).collect();
            let reply = self.ask(name, "explain", json!({ "span": id }));
            let story = reply["story"].as_array().unwrap();
            let told: Vec<&Value> = story.iter().map(|entry| &entry["version"]).collect();
            assert_eq!(told, expected, "the story of {id} in {name}: {reply}");
        }
        let reply = self.ask(name, "explain", json!({ "span": "nobody" }));
        assert_eq!(reply["outcome"], "never_recorded");
        assert_eq!(reply["story"][0]["what"], "never recorded");
    }

    fn search(&self, name: &str, session: &Session, word: &str) {
        let body = json!({ "literal": word, "limit": 10_000 });
        let reply = self.ask(name, "search", body);
        let gone: Vec<&String> = session
            .spans
            .iter()
            .map(|(id, _)| id)
            .filter(|id| self.account.gone.contains_key(*id))
            .collect();
        let mut places = Vec::new();
        for (id, _) in session.spans.iter().filter(|(id, _)| !self.account.gone.contains_key(id)) {
            let text = &self.account.texts[id];
            places.extend(text.match_indices(word).map(|(at, _)| (id.as_str(), at as u64)));
        }
        let found = reply["matches"].as_array().unwrap().iter();
        let found: Vec<(&str, u64)> = found
            .map(|place| {
                assert!(place["excerpt"].as_str().unwrap().contains(word), "{place}");
                (place["span"].as_str().unwrap(), place["offset"].as_u64().unwrap())
            })
            .collect();
        assert_eq!(found, places, "{word:?} in {name}");
        let verdict = match (places.is_empty(), gone.is_empty()) {
            (false, _) => "found",
            (true, true) => "absent",
            (true, false) => "inconclusive",
        };
        assert_eq!(reply["verdict"], verdict, "{word:?} in {name}: {reply}");
        let named = reply["unsearchable"].as_array().unwrap().iter();
        let named: Vec<&str> = named.map(|span| span["span"].as_str().unwrap()).collect();
        assert_eq!(named, gone, "what cannot be searched in {name}");
    }

    /// A moment of the past, as it was taken down when it was the present.
    fn then(&self, name: &str, session: &Session, version: u64) {
        let (spans, stands) = &session.moments[&version];
        let at = json!({ "version": version });
        let (found, reply) = self.window(name, json!({ "at": at }));
        let expected: Vec<(String, String)> =
            spans.iter().map(|(id, _)| (id.clone(), stands[id].to_owned())).collect();
        assert_eq!(found, expected, "the window of {name} at {version}");
        assert_eq!(reply["evidence"]["version"], version);
        for entry in reply["entries"].as_array().unwrap().iter().filter(|e| e["kind"] == "span") {
            let id = entry["id"].as_str().unwrap();
            match self.account.gone.get(id) {
                None => assert_eq!(entry["content"], *self.account.texts[id], "{entry}"),
                Some(why) => {
                    assert!(entry.get("content").is_none(), "{entry}");
                    assert_eq!(entry["lost_since"]["kind"], *why, "{entry}");
                }
            }
        }
        let durability = self.ask(name, "durability", json!({ "at": at }));
        for (span, (id, _)) in durability["spans"].as_array().unwrap().iter().zip(spans) {
            assert_eq!(span["id"], **id);
            let state = match stands[id] {
                "span" => "live",
                "stub" => "recoverable",
                _ => "lossy",
            };
            assert_eq!(span["state"], state, "{name} at {version}: {span}");
            let lost_since = state != "lossy" && self.account.gone.contains_key(id);
            assert_eq!(span.get("lost_since").is_some(), lost_since, "{span}");
        }
        let lost = stands.values().filter(|how| **how == "tombstone").count();
        let ledger = self.ask(name, "tombstones", json!({ "at": at }));
        assert_eq!(ledger["tombstones"].as_array().unwrap().len(), lost, "{name} at {version}");
        for (id, _) in &session.spans {
            let then = self.ask(name, "explain", json!({ "span": id, "at": at }))["then"].clone();
            let could = matches!(stands.get(id), Some(&"span" | &"stub"));
            assert_eq!(then["recoverable"], could, "{name} {id} at {version}: {then}");
            assert_eq!(then["outcome"] == "never_recorded", !stands.contains_key(id), "{then}");
        }
    }

    fn diff(&self, name: &str, session: &Session, from: u64, to: u64) {
        let body = json!({ "from": { "version": from }, "to": { "version": to } });
        let reply = self.ask(name, "diff", body);
        let (before, after) = (&session.moments[&from].1, &session.moments[&to].1);
        let expected: BTreeSet<&String> = after
            .iter()
            .filter(|(id, how)| before.get(*id) != Some(how))
            .map(|(id, _)| id)
            .collect();
        let mut found = BTreeSet::new();
        for change in reply["changes"].as_array().unwrap() {
            let id = change["span"].as_str().unwrap().to_owned();
            // A stub of another directive is another one.
            let alike = before.get(&id) == after.get(&id);
            assert!(!alike || after[&id] == "stub", "{change}");
            let made_by = change["made_by"]["version"].as_u64().unwrap();
            assert!(made_by > from && made_by <= to, "{from} to {to}: {change}");
            if !alike {
                found.insert(id);
            }
        }
        assert_eq!(found.iter().collect::<BTreeSet<_>>(), expected, "{name} from {from} to {to}");
        let changes = reply["changes"].as_array().unwrap().len() as u64;
        assert_eq!(reply["counts"]["unchanged"].as_u64().unwrap() + changes, after.len() as u64);
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
