//! What happens in a random history.

use serde_json::{Value, json};

use super::{Session, Stands, World};
use crate::rig::flip_the_payload_at;

impl World {
    pub(super) fn pick<T: Clone>(&mut self, list: &[T]) -> Option<T> {
        (!list.is_empty()).then(|| list[self.dice.below(list.len() as u64) as usize].clone())
    }

    pub(super) fn pick_session(&mut self) -> String {
        let names: Vec<String> = self.account.sessions.keys().cloned().collect();
        self.pick(&names).expect("there is one")
    }

    /// A few of a session's spans that stand like this.
    pub(super) fn some(&mut self, session: &str, how: &[&str]) -> Vec<String> {
        let stands = self.account.stands(&self.account.sessions[session]);
        let all: Vec<String> =
            stands.iter().filter(|(_, is)| how.contains(is)).map(|(id, _)| id.clone()).collect();
        let count = 1 + self.dice.below(3);
        let picked: BTreeSet<String> = (0..count).filter_map(|_| self.pick(&all)).collect();
        picked.into_iter().collect()
    }

    pub(super) fn step(&mut self) {
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

    pub(super) fn events(&self, session: &str) -> Vec<Value> {
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

    /// Takes down how every session stands now.
    pub(super) fn mark(&mut self) {
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
