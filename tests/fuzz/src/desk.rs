//! A journal with one session in it, to be asked. Questions change nothing, so it serves for all runs.

use std::sync::{Arc, LazyLock};

use lacuna_engine::{Journal, Options};
use lacuna_verbs::{Call, Service, Settings};
use lacuna_wire::{Subject, WireError};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The contents of the spans in it, in order.
pub const CONTENTS: [&str; 5] = [
    "The port is 5433, see req-77ae-0042 in /var/log/ledger.log, nothing else.",
    "I think the staging port might be 5434, but I am not sure about that.",
    "{\"id\":\"call_1\",\"name\":\"read\",\"arguments\":{\"path\":\"src/main.rs\"}}",
    "fn main() {\n    println!(\"h\u{e9}llo, w\u{f6}rld \u{1f980}\");\n}\n",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\0\r\n\tend",
];

/// A journal in a temporary folder.
pub struct Desk {
    service: Service,
    // Goes after the journal.
    _folder: TempDir,
}

static DESK: LazyLock<Desk> = LazyLock::new(Desk::furnished);

/// The answer to a question of `t.worker`, of at most so many bytes.
pub fn ask(target: &str, body: &[u8], max_reply: usize) -> Result<Vec<u8>, WireError> {
    DESK.ask(target, body, max_reply)
}

impl Desk {
    fn furnished() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let options = Options { scrub: None, ..Options::default() };
        let journal = Journal::open(&folder.path().join("journal"), options).expect("a journal");
        let service = Service::new(Arc::new(journal), Settings::default());
        let desk = Self { service, _folder: folder };
        let of = [("user", "message"), ("user", "message"), ("assistant", "tool_call")];
        let of = of.into_iter().chain([("tool", "tool_result"), ("assistant", "message")]);
        let spans: Vec<Value> = (1..)
            .zip(of.zip(CONTENTS))
            .map(|(number, ((role, kind), content))| {
                let origin = if role == "assistant" { "model" } else { role };
                let mut span = json!({ "id": format!("b{number}"), "role": role, "origin": origin,
                    "kind": kind, "content": content, "turn": number / 2 });
                if kind == "tool_result" {
                    span["answers"] = "b3".into();
                }
                span
            })
            .collect();
        for (target, body) in [
            ("session.s.open", json!({ "window_tokens": 100_000, "labels": { "team": "a" } })),
            ("session.s.append", json!({ "spans": spans })),
            ("session.s.receipt", json!({ "turn": 1, "rendered": "text" })),
            ("session.s.contradict", json!({ "spans": ["b1", "b2"] })),
            ("session.s.prune", json!({ "spans": ["b5"], "reason": "long" })),
            (
                "retention.policy-set",
                json!({ "rules": [{ "id": "all", "keep": { "for": "30d" }, "notice": "1d" }] }),
            ),
            ("session.f.fork", json!({ "from": "s" })),
        ] {
            let done = desk.ask(target, body.to_string().as_bytes(), 1 << 20);
            // A desk that lacks something would answer less than it should, and nobody would notice.
            done.unwrap_or_else(|error| panic!("{target}: {error}"));
        }
        desk
    }

    fn ask(&self, target: &str, body: &[u8], max_reply: usize) -> Result<Vec<u8>, WireError> {
        let subject = Subject::parse(&format!("lacuna.v1.t.worker.{target}"));
        let subject = subject.map_err(|error| WireError::bad_request(error.to_string()))?;
        self.service.call_and_wait(Call { subject: &subject, body, max_reply })
    }
}
