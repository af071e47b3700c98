//! The NATS service protocol (ADR-32): PING, INFO and STATS on `$SRV`.
//!
//! Written here and not taken from the client library, because its service sends error headers only
//! with an empty body, where the contract has both, and because it takes one subscription per
//! endpoint, which would let an append overtake the prune that the same worker sent before it.

use std::time::{Duration, SystemTime};

use lacuna_core::Timestamp;
use lacuna_wire::{Group, JOURNAL_VERBS, SESSION_VERBS, Subject, VerbSpec};
use serde::Serialize;
use serde_json::{Value, json};

/// The name of the service.
pub(crate) const NAME: &str = "lacuna";
/// The queue group of its subscriptions.
pub(crate) const QUEUE: &str = "lacuna";

/// The service's own record: identity and figures per verb.
pub(crate) struct Micro {
    journal: String,
    id: String,
    started: SystemTime,
    /// In the order of their names.
    endpoints: Vec<Endpoint>,
}

struct Endpoint {
    group: Group,
    verb: &'static str,
    name: String,
    subject: String,
    requests: u64,
    errors: u64,
    last_error: String,
    processing: Duration,
}

#[derive(Serialize)]
struct Identity<'a> {
    name: &'a str,
    id: &'a str,
    version: &'a str,
    metadata: Value,
    #[serde(rename = "type")]
    kind: String,
    #[serde(flatten)]
    rest: Value,
}

impl Micro {
    pub(crate) fn new(journal: String, id: String) -> Self {
        let verbs = SESSION_VERBS.iter().chain(JOURNAL_VERBS);
        let endpoint = |verb: &VerbSpec| Endpoint {
            group: verb.group,
            verb: verb.name,
            name: name(verb.group, verb.name),
            subject: Subject::verb_pattern(verb.group, verb.name),
            requests: 0,
            errors: 0,
            last_error: String::new(),
            processing: Duration::ZERO,
        };
        let mut endpoints: Vec<Endpoint> = verbs.map(endpoint).collect();
        endpoints.sort_by(|a, b| a.name.cmp(&b.name));
        Self { journal, id, started: SystemTime::now(), endpoints }
    }

    /// The subjects on which the service answers about itself.
    pub(crate) fn subjects(&self) -> Vec<String> {
        ["PING", "INFO", "STATS"]
            .iter()
            .flat_map(|verb| {
                let id = &self.id;
                [
                    format!("$SRV.{verb}"),
                    format!("$SRV.{verb}.{NAME}"),
                    format!("$SRV.{verb}.{NAME}.{id}"),
                ]
            })
            .collect()
    }

    /// The answer on one of those subjects.
    pub(crate) fn answer(&self, subject: &str) -> Vec<u8> {
        let body = match subject.split('.').nth(1) {
            Some("INFO") => self.identity("info", self.info()),
            Some("STATS") => self.identity("stats", self.stats()),
            _ => self.identity("ping", json!({})),
        };
        body.into_bytes()
    }

    /// Counts a request to a verb and how it ended.
    pub(crate) fn count(
        &mut self,
        group: Group,
        verb: &str,
        took: Duration,
        error: Option<&lacuna_wire::WireError>,
    ) {
        // Verbs that do not exist are answered, but a stranger's inventions get no row each.
        let asked = |endpoint: &&mut Endpoint| endpoint.group == group && endpoint.verb == verb;
        let Some(endpoint) = self.endpoints.iter_mut().find(asked) else { return };
        endpoint.requests += 1;
        endpoint.processing += took;
        if let Some(error) = error {
            endpoint.errors += 1;
            endpoint.last_error = format!("{}:{}", error.code.number(), error.code.word());
        }
    }

    fn identity(&self, kind: &str, rest: Value) -> String {
        let identity = Identity {
            name: NAME,
            id: &self.id,
            version: env!("CARGO_PKG_VERSION"),
            metadata: json!({ "journal": self.journal }),
            kind: format!("io.nats.micro.v1.{kind}_response"),
            rest,
        };
        serde_json::to_string(&identity).unwrap_or_default()
    }

    fn info(&self) -> Value {
        let endpoints = self.endpoints.iter().map(|endpoint| {
            json!({
                "name": endpoint.name,
                "subject": endpoint.subject,
                "queue_group": QUEUE,
                "metadata": {},
            })
        });
        json!({
            "description": "the journal of agents' context windows",
            "endpoints": endpoints.collect::<Vec<_>>(),
        })
    }

    fn stats(&self) -> Value {
        let nanos = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let endpoints = self.endpoints.iter().map(|endpoint| {
            let total = nanos(endpoint.processing);
            json!({
                "name": endpoint.name,
                "subject": endpoint.subject,
                "queue_group": QUEUE,
                "num_requests": endpoint.requests,
                "num_errors": endpoint.errors,
                "last_error": endpoint.last_error,
                "processing_time": total,
                "average_processing_time": total.checked_div(endpoint.requests).unwrap_or(0),
            })
        });
        let since = self.started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let millis = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        json!({
            "started": Timestamp(millis).to_string(),
            "endpoints": endpoints.collect::<Vec<_>>(),
        })
    }
}

fn name(group: Group, verb: &str) -> String {
    match group {
        Group::Session => format!("session-{verb}"),
        Group::Retention => format!("retention-{verb}"),
        Group::Journal => format!("journal-{verb}"),
    }
}
