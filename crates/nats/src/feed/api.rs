//! What is asked of JetStream's API, with a reply subject for each request: one that is not answered
//! leaves nothing behind in the client library, which keeps those of its own requests for ever.

use std::time::Duration;

use async_nats::{Client, Request, RequestErrorKind};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use lacuna_wire::{FEED_STREAM, FEED_SUBJECTS, MESSAGE_ID};
use serde_json::{Map, Value, json};

use super::trouble::Trouble;

/// How long the broker has for an answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// Error numbers of JetStream.
pub(super) mod number {
    /// There is no message with this sequence.
    pub(crate) const NO_MESSAGE: u64 = 10_037;
    /// JetStream is not enabled for the account.
    pub(crate) const NOT_FOR_ACCOUNT: u64 = 10_039;
    /// There is no such stream.
    pub(crate) const NO_STREAM: u64 = 10_059;
    /// Another stream has some of the subjects.
    pub(crate) const OVERLAP: u64 = 10_065;
    /// The stream does not end where the publisher believes.
    pub(crate) const WRONG_LAST: u64 = 10_071;
    /// The stream's last message is not the one that the publisher believes.
    pub(crate) const WRONG_LAST_ID: u64 = 10_070;
    /// JetStream is not enabled.
    pub(crate) const NOT_ENABLED: u64 = 10_076;
}

/// What the stream says about itself.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Info {
    /// Its configuration, as the broker has it.
    pub(super) config: Map<String, Value>,
    /// When it was made, as the broker writes it: another time is another stream.
    pub(super) created: String,
    /// Messages in it.
    pub(super) messages: u64,
    /// The sequence of its first message.
    pub(super) first_seq: u64,
    /// The sequence of its last message, which may be gone already.
    pub(super) last_seq: u64,
}

/// A message that the stream holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stored {
    /// Its id, if it has one.
    pub(super) id: Option<String>,
    /// Its body, as JSON; null if it is none.
    pub(super) body: Value,
}

/// The API of the broker that a client is connected to.
#[derive(Debug, Clone)]
pub(super) struct Api(pub(super) Client);

impl Api {
    /// What the stream says about itself; none if there is no such stream.
    pub(super) async fn info(&self) -> Result<Option<Info>, Trouble> {
        match self.ask(&format!("STREAM.INFO.{FEED_STREAM}"), &Value::Null).await {
            Ok(reply) => Ok(Some(info(&reply))),
            Err(Trouble::Broker { number: number::NO_STREAM, .. }) => Ok(None),
            Err(trouble) => Err(trouble),
        }
    }

    /// Makes the stream.
    pub(super) async fn create(&self, config: &Map<String, Value>) -> Result<Info, Trouble> {
        let config = Value::Object(config.clone());
        match self.ask(&format!("STREAM.CREATE.{FEED_STREAM}"), &config).await {
            Ok(reply) => Ok(info(&reply)),
            Err(Trouble::Broker { number: number::OVERLAP, .. }) => {
                let reply = self.ask("STREAM.NAMES", &json!({ "subject": FEED_SUBJECTS })).await?;
                let names = reply["streams"].as_array().into_iter().flatten();
                let names: Vec<&str> = names.filter_map(Value::as_str).collect();
                Err(Trouble::Taken { by: names.join(", ") })
            }
            Err(trouble) => Err(trouble),
        }
    }

    /// The message at a sequence of the stream; none if it is gone.
    pub(super) async fn message(&self, seq: u64) -> Result<Option<Stored>, Trouble> {
        let what = format!("STREAM.MSG.GET.{FEED_STREAM}");
        match self.ask(&what, &json!({ "seq": seq })).await {
            Ok(reply) => Ok(Some(stored(&reply["message"]))),
            Err(Trouble::Broker { number: number::NO_MESSAGE, .. }) => Ok(None),
            Err(trouble) => Err(trouble),
        }
    }

    async fn ask(&self, what: &str, body: &Value) -> Result<Value, Trouble> {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request =
            Request::new().payload(body.into()).timeout(Some(PATIENCE)).inbox(self.0.new_inbox());
        let asking = self.0.send_request(format!("$JS.API.{what}"), request);
        // The client's own patience begins only once it has room to send.
        let reply = match tokio::time::timeout(PATIENCE * 2, asking).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(error)) if error.kind() == RequestErrorKind::NoResponders => {
                return Err(Trouble::NoJetStream);
            }
            Ok(Err(error)) if error.kind() != RequestErrorKind::TimedOut => {
                return Err(Trouble::Sending(error.to_string()));
            }
            Ok(Err(_)) | Err(_) => return Err(Trouble::Silent("its JetStream API")),
        };
        let reply: Value = serde_json::from_slice(&reply.payload)
            .map_err(|error| Trouble::Sending(format!("{what}: {error}")))?;
        match reply.get("error") {
            None => Ok(reply),
            Some(error) => Err(refusal(error)),
        }
    }
}

/// The trouble that an error of JetStream stands for.
pub(super) fn refusal(error: &Value) -> Trouble {
    let number = error["err_code"].as_u64().unwrap_or_default();
    match number {
        number::NOT_ENABLED | number::NOT_FOR_ACCOUNT => Trouble::NoJetStream,
        number::WRONG_LAST | number::WRONG_LAST_ID => Trouble::Moved,
        _ => {
            let why = error["description"].as_str().unwrap_or("it does not say why");
            Trouble::Broker { number, why: why.to_owned() }
        }
    }
}

fn info(reply: &Value) -> Info {
    let number = |name: &str| reply["state"][name].as_u64().unwrap_or_default();
    Info {
        config: reply["config"].as_object().cloned().unwrap_or_default(),
        created: reply["created"].as_str().unwrap_or_default().to_owned(),
        messages: number("messages"),
        first_seq: number("first_seq"),
        last_seq: number("last_seq"),
    }
}

fn stored(message: &Value) -> Stored {
    let bytes = |name: &str| {
        let text = message[name].as_str().unwrap_or_default();
        BASE64_STANDARD.decode(text).unwrap_or_default()
    };
    let headers = bytes("hdrs");
    let id = String::from_utf8_lossy(&headers).lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case(MESSAGE_ID).then(|| value.trim().to_owned())
    });
    Stored { id, body: serde_json::from_slice(&bytes("data")).unwrap_or_default() }
}
