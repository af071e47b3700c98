//! A worker that speaks the wire contract with nothing but a NATS client and JSON.

use std::time::Duration;

use async_nats::{Client, ConnectOptions, Message, Request, RequestError, RequestErrorKind};
use serde_json::{Value, json};

/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// One principal of one tenant. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Worker {
    pub(crate) nats: Client,
    tenant: String,
    principal: String,
}

/// An error reply, as the contract has it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refused {
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) details: Value,
}

impl Worker {
    pub(crate) async fn connect(url: &str, tenant: &str, principal: &str) -> Self {
        let options = ConnectOptions::new().reconnect_delay_callback(|_| Duration::from_millis(20));
        let nats = options.connect(url).await.unwrap();
        Self::on(nats, tenant, principal)
    }

    /// Uses a connection that exists.
    pub(crate) fn on(nats: Client, tenant: &str, principal: &str) -> Self {
        Self { nats, tenant: tenant.to_owned(), principal: principal.to_owned() }
    }

    /// The subject of a session verb.
    pub(crate) fn subject(&self, session: &str, verb: &str) -> String {
        format!("lacuna.v1.{}.{}.session.{session}.{verb}", self.tenant, self.principal)
    }

    /// The subject of a journal verb.
    pub(crate) fn journal_subject(&self, verb: &str) -> String {
        format!("lacuna.v1.{}.{}.journal.{verb}", self.tenant, self.principal)
    }

    /// Sends bytes and gives whatever comes back, or why nothing did.
    pub(crate) async fn send(
        &self,
        subject: &str,
        body: Vec<u8>,
        patience: Duration,
    ) -> Result<Message, RequestError> {
        let request = Request::new().payload(body.into()).timeout(Some(patience));
        self.nats.send_request(subject.to_owned(), request).await
    }

    /// Sends bytes; the reply must be one of the two forms of the contract.
    pub(crate) async fn ask_bytes(&self, subject: &str, body: Vec<u8>) -> Result<Value, Refused> {
        let message = self.send(subject, body, PATIENCE).await;
        read(&message.unwrap_or_else(|error| panic!("no reply on {subject}: {error}")))
    }

    /// Calls a session verb.
    pub(crate) async fn ask(
        &self,
        session: &str,
        verb: &str,
        body: Value,
    ) -> Result<Value, Refused> {
        self.ask_bytes(&self.subject(session, verb), body.to_string().into_bytes()).await
    }

    /// Calls a session verb that must succeed.
    pub(crate) async fn call(&self, session: &str, verb: &str, body: Value) -> Value {
        let reply = self.ask(session, verb, body).await;
        reply.unwrap_or_else(|refused| panic!("{session} {verb}: {refused:?}"))
    }

    /// Calls a session verb that must be refused.
    pub(crate) async fn refused(&self, session: &str, verb: &str, body: Value) -> Refused {
        match self.ask(session, verb, body).await {
            Err(refused) => refused,
            Ok(reply) => panic!("{session} {verb} was carried out: {reply}"),
        }
    }

    /// Calls a journal verb that must succeed.
    pub(crate) async fn journal(&self, verb: &str, body: Value) -> Value {
        let subject = self.journal_subject(verb);
        let reply = self.ask_bytes(&subject, body.to_string().into_bytes()).await;
        reply.unwrap_or_else(|refused| panic!("{verb}: {refused:?}"))
    }

    /// Opens a session that summaries are only recorded in.
    pub(crate) async fn open(&self, session: &str) -> Value {
        let body = json!({ "window_tokens": 100_000, "contract": "record" });
        self.call(session, "open", body).await
    }

    /// Appends one span of the user.
    pub(crate) async fn append(&self, session: &str, id: &str, content: &str) -> Value {
        let span = json!({ "id": id, "role": "user", "origin": "user", "content": content });
        self.call(session, "append", json!({ "spans": [span] })).await
    }

    /// All events of a session, page by page.
    pub(crate) async fn history(&self, session: &str) -> Vec<Value> {
        let mut events: Vec<Value> = Vec::new();
        loop {
            let body = json!({ "from_version": events.len() + 1 });
            let mut page = self.call(session, "history", body).await;
            let Value::Array(more) = page["events"].take() else { panic!("no list: {page}") };
            if more.is_empty() {
                return events;
            }
            events.extend(more);
            assert_eq!(page["next_version"], events.len() + 1, "{session}");
        }
    }

    /// Verifies the journal; it must be sound.
    pub(crate) async fn verify(&self) -> Value {
        let report = self.journal("verify", json!({})).await;
        assert_eq!(report["ok"], true, "{report}");
        assert_eq!(report["faults"], json!([]));
        report
    }
}

/// Reads a reply. An error says the same in its headers and in its body.
pub(crate) fn read(message: &Message) -> Result<Value, Refused> {
    let body: Value = serde_json::from_slice(&message.payload).unwrap_or_else(|error| {
        panic!("{error} in {:?}", String::from_utf8_lossy(&message.payload))
    });
    assert!(body.is_object(), "{body}");
    let header = |name: &str| {
        let value = message.headers.as_ref().and_then(|headers| headers.get(name));
        value.map(|value| value.as_str().to_owned())
    };
    let number = header("Nats-Service-Error-Code");
    let Some(error) = body.get("error") else {
        assert_eq!(number, None, "{body}");
        return Ok(body);
    };
    let text = |field: &str| error[field].as_str().unwrap().to_owned();
    let (code, message) = (text("code"), text("message"));
    assert_eq!(number.as_deref(), Some(status(&code)), "{error}");
    let line = header("Nats-Service-Error").expect("an error has both headers");
    assert!(!line.is_empty() && !message.is_empty(), "{error}");
    assert!(error["details"].is_object(), "{error}");
    Err(Refused { code, message, details: error["details"].clone() })
}

/// The numbers of the contract.
fn status(code: &str) -> &'static str {
    match code {
        "bad_request" => "400",
        "not_permitted" => "403",
        "unknown_session" | "unknown_span" => "404",
        "session_exists" | "session_closed" | "span_conflict" | "version_conflict"
        | "command_id_reused" | "handle_mismatch" | "not_recoverable" => "409",
        "too_large" => "413",
        "contract_violation" => "422",
        "overloaded" => "429",
        "unavailable" => "503",
        other => panic!("{other} is no code of the contract"),
    }
}

/// Whether a request failed because nobody is there to answer.
pub(crate) fn nobody_there(error: &RequestError) -> bool {
    error.kind() == RequestErrorKind::NoResponders
}
