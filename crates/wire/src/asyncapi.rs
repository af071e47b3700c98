//! The AsyncAPI 3 document of the subjects, made from the table of verbs.

use serde_json::{Map, Value, json};

use crate::verbs::{
    JOURNAL_VERBS, RETENTION_VERBS, SESSION_VERBS, VerbSpec, error_schema, event_schema,
};
use crate::{Group, MAX_DEPTH};

/// The document, as JSON.
pub fn asyncapi() -> Value {
    let (mut channels, mut operations) = (Map::new(), Map::new());
    for verb in SESSION_VERBS.iter().chain(RETENTION_VERBS).chain(JOURNAL_VERBS) {
        let id = id(verb);
        channels.insert(id.clone(), channel(verb));
        operations.insert(id.clone(), operation(verb, &id));
    }
    channels.insert("feed".into(), feed());
    operations.insert(
        "feed".into(),
        json!({
            "action": "send",
            "summary": "every event of the journal, in order, on the stream LACUNA_EVENTS",
            "channel": { "$ref": "#/channels/feed" },
            "messages": [{ "$ref": "#/channels/feed/messages/event" }],
        }),
    );
    json!({
        "asyncapi": "3.0.0",
        "info": {
            "title": "Lacuna",
            "version": "1",
            "description": format!(
                "The journal of agents' context windows. Requests are JSON objects nested at most \
                 {MAX_DEPTH} deep; unknown request fields are errors, unknown reply fields are to \
                 be ignored."
            ),
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "defaultContentType": "application/json",
        "channels": channels,
        "operations": operations,
        "components": {
            "messages": {
                "error": {
                    "headers": {
                        "type": "object",
                        "required": ["Nats-Service-Error", "Nats-Service-Error-Code"],
                        "properties": {
                            "Nats-Service-Error": { "type": "string" },
                            "Nats-Service-Error-Code": { "type": "string" },
                        },
                    },
                    "payload": {
                        "type": "object",
                        "required": ["error"],
                        "properties": { "error": error_schema() },
                    },
                },
                "event": { "payload": event_schema() },
            },
        },
    })
}

/// The feed: see `feed.md` for what else stands on it.
fn feed() -> Value {
    let name = |description: &str| json!({ "description": description });
    json!({
        "address": "lacuna.v1.events.{tenant}.{session}.{kind}",
        "parameters": {
            "tenant": name("the session's tenant; `_journal` for what concerns the journal itself"),
            "session": name("the session; the journal's id behind `_journal`"),
            "kind": name("what happened, as in the event"),
        },
        "messages": { "event": { "$ref": "#/components/messages/event" } },
    })
}

fn id(verb: &VerbSpec) -> String {
    match verb.group {
        Group::Session => format!("session.{}", verb.name),
        Group::Retention => format!("retention.{}", verb.name),
        Group::Journal => format!("journal.{}", verb.name),
    }
}

fn channel(verb: &VerbSpec) -> Value {
    let name = |description: &str| json!({ "description": description });
    let mut parameters = Map::new();
    parameters.insert("tenant".into(), name("[A-Za-z0-9_-]{1,64}, not `events`"));
    parameters.insert("principal".into(), name("who asks; the broker's permissions bind it"));
    let address = match verb.group {
        Group::Session => {
            parameters.insert("session".into(), name("[A-Za-z0-9_-]{1,64}"));
            format!("lacuna.v1.{{tenant}}.{{principal}}.session.{{session}}.{}", verb.name)
        }
        Group::Retention => format!("lacuna.v1.{{tenant}}.{{principal}}.retention.{}", verb.name),
        Group::Journal => format!("lacuna.v1.{{tenant}}.{{principal}}.journal.{}", verb.name),
    };
    json!({
        "address": address,
        "parameters": parameters,
        "messages": {
            "request": { "payload": (verb.request)() },
            "reply": { "payload": (verb.reply)() },
            "error": { "$ref": "#/components/messages/error" },
        },
    })
}

fn operation(verb: &VerbSpec, id: &str) -> Value {
    let pointer = id.replace('~', "~0").replace('/', "~1");
    let message = |name: &str| json!({ "$ref": format!("#/channels/{pointer}/messages/{name}") });
    json!({
        "action": "receive",
        "summary": format!("{} {}", verb.name, verb.about),
        "channel": { "$ref": format!("#/channels/{pointer}") },
        "messages": [message("request")],
        "reply": {
            "channel": { "$ref": format!("#/channels/{pointer}") },
            "messages": [message("reply"), message("error")],
        },
    })
}
