//! What the random histories of [`crate::oracle`] are asked, and what their account says to it.

use std::collections::BTreeSet;

use lacuna_engine::VerifyOptions;
use serde_json::{Value, json};

use crate::oracle::{Session, WORDS, World};

impl World {
    pub(crate) fn compare(&mut self) {
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
            let names = |event: &&Value| {
                let listed = event["spans"].as_array().into_iter().flatten();
                event["span"] == **id || listed.into_iter().any(|span| span["id"] == **id)
            };
            let mut known = false;
            let mut concerns = |event: &&Value| {
                let named = names(event);
                known |= named && event["kind"] == "span-recorded";
                // A fork takes over whatever was recorded before it.
                named || (known && event["kind"] == "session-forked")
            };
            let expected: Vec<&Value> =
                events.iter().filter(&mut concerns).map(|event| &event["version"]).collect();
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
