//! Verbs called as JSON on a journal of its own, and a session under the contract.

use std::collections::BTreeSet;
use std::sync::Arc;

use lacuna_engine::{Journal, Options};
use lacuna_verbs::{Call, Service, Settings};
use lacuna_wire::{Subject, WireError};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The session's worker.
pub(crate) const S: &str = "t.worker.session.s";
/// Somebody else in the same session.
pub(crate) const AUDITOR: &str = "t.auditor.session.s";

pub(crate) struct Rig {
    service: Service,
    // Goes after the journal.
    _folder: TempDir,
}

impl Rig {
    /// A session `s` under the contract, opened with these parameters besides.
    pub(crate) fn opened(open: Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(&folder.path().join("journal"), Options::default()).unwrap();
        let rig =
            Self { service: Service::new(Arc::new(journal), Settings::default()), _folder: folder };
        rig.call(S, "open", open).unwrap();
        rig
    }

    /// With a span `a` that says a port, and `b` that thinks it knows another one.
    pub(crate) fn recorded() -> Self {
        let rig = Self::opened(json!({ "window_tokens": 100_000 }));
        rig.append(json!([
            user("a", "The port is 5433, see req-77ae-0042 in /var/log/ledger.log, nothing else."),
            user("b", "I think the staging port might be 5434, but I am not sure about that."),
        ]));
        rig
    }

    pub(crate) fn call(&self, target: &str, verb: &str, body: Value) -> Result<Value, WireError> {
        self.sized(target, verb, body, 1 << 20).map(|(reply, _)| reply)
    }

    /// With a limit on the reply; gives its size, too.
    pub(crate) fn sized(
        &self,
        target: &str,
        verb: &str,
        body: Value,
        max_reply: usize,
    ) -> Result<(Value, usize), WireError> {
        let subject = Subject::parse(&format!("lacuna.v1.{target}.{verb}")).unwrap();
        let body = body.to_string();
        let call = Call { subject: &subject, body: body.as_bytes(), max_reply };
        let reply = self.service.call_and_wait(call)?;
        Ok((serde_json::from_slice(&reply).unwrap(), reply.len()))
    }

    pub(crate) fn append(&self, spans: Value) {
        self.call(S, "append", json!({ "spans": spans })).unwrap();
    }

    pub(crate) fn read(&self, target: &str, span: &str) {
        let body = json!({ "span": span, "purpose": "audit" });
        self.call(target, "expand", body).unwrap();
    }

    pub(crate) fn history(&self) -> Vec<Value> {
        let reply = self.call(S, "history", json!({})).unwrap();
        reply["events"].as_array().unwrap().clone()
    }
}

pub(crate) fn user(id: &str, content: &str) -> Value {
    json!({ "id": id, "role": "user", "origin": "user", "content": content })
}

/// A summary of one span with its text as its only claim, said by the user.
pub(crate) fn cited(id: &str, text: &str, span: &str) -> Value {
    json!({ "id": id, "covers": [span], "text": text,
        "claims": [{ "text": text, "origin": "user-said", "sources": [{ "span": span }] }] })
}

pub(crate) fn honest() -> Value {
    cited("sum", "The port is 5433.", "a")
}

pub(crate) fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}
