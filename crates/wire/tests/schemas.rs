//! The published schemas are what the code says, and the code's messages fit them.
//!
//! `LACUNA_BLESS=1 cargo test -p lacuna-wire` writes them anew; the difference is then a decision
//! to be explained in `schemas/README.md`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use lacuna_wire::{
    Group, JOURNAL_VERBS, RETENTION_VERBS, SESSION_VERBS, WireError, asyncapi, find,
};
use serde_json::{Value, json};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas")
}

fn wanted() -> BTreeMap<PathBuf, Value> {
    let mut files = BTreeMap::new();
    for verb in SESSION_VERBS.iter().chain(RETENTION_VERBS).chain(JOURNAL_VERBS) {
        let group = match verb.group {
            Group::Session => "session",
            Group::Retention => "retention",
            Group::Journal => "journal",
        };
        let file = |side: &str| folder().join(format!("wire/{group}.{}.{side}.json", verb.name));
        files.insert(file("request"), json!((verb.request)()));
        files.insert(file("reply"), json!((verb.reply)()));
    }
    files.insert(folder().join("asyncapi.json"), asyncapi());
    files
}

#[test]
fn published_schemas_are_those_of_the_code() {
    let bless = std::env::var_os("LACUNA_BLESS").is_some();
    let wanted = wanted();
    if bless {
        fs::create_dir_all(folder().join("wire")).unwrap();
    }
    for (path, schema) in &wanted {
        let text = serde_json::to_string_pretty(schema).unwrap() + "\n";
        if bless {
            fs::write(path, &text).unwrap();
        }
        let found = fs::read_to_string(path).unwrap_or_default();
        assert!(
            found == text,
            "{} differs from the code: if that is meant, run LACUNA_BLESS=1 cargo test -p \
             lacuna-wire and write the decision into schemas/README.md",
            path.display()
        );
    }
    for entry in fs::read_dir(folder().join("wire")).unwrap() {
        let path = entry.unwrap().path();
        assert!(wanted.contains_key(&path), "{} belongs to no verb", path.display());
    }
}

fn validator(group: Group, verb: &str) -> jsonschema::Validator {
    let spec = find(group, verb).unwrap();
    jsonschema::validator_for(&json!((spec.request)())).unwrap()
}

#[test]
fn requests_of_the_contract_fit_their_schemas_and_misspelt_ones_do_not() {
    let append = validator(Group::Session, "append");
    let span = json!({ "role": "user", "origin": "user", "content": "x" });
    assert!(append.is_valid(&json!({ "spans": [span], "command_id": "c", "expected_version": 3 })));
    let misspelt = json!({ "role": "user", "origin": "user", "contents": "x" });
    assert!(!append.is_valid(&json!({ "spans": [misspelt] })));
    let prune = validator(Group::Session, "prune");
    assert!(prune.is_valid(&json!({ "spans": ["a"], "accept_lossy": true })));
    assert!(!prune.is_valid(&json!({ "spans": ["a"], "accept_losy": true })));
    assert!(!prune.is_valid(&json!({ "spans": ["a"], "accept_lossy": "true" })));
    assert!(validator(Group::Session, "window").is_valid(&json!({ "at": { "version": 3 } })));
    assert!(!validator(Group::Session, "window").is_valid(&json!({ "at": { "verson": 3 } })));
}

#[test]
fn the_asyncapi_document_refers_only_to_what_it_has() {
    let document = asyncapi();
    let mut open = vec![&document];
    let mut references = 0;
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(map) => {
                if let Some(Value::String(pointer)) = map.get("$ref")
                    && let Some(pointer) = pointer.strip_prefix('#')
                {
                    assert!(document.pointer(pointer).is_some(), "{pointer} leads nowhere");
                    references += 1;
                }
                open.extend(map.values());
            }
            _ => {}
        }
    }
    assert!(references > 5 * SESSION_VERBS.len());
    let error = &document["components"]["messages"]["error"]["payload"];
    let validator = jsonschema::validator_for(error).unwrap();
    let body: Value = serde_json::from_slice(&WireError::bad_request("no").body()).unwrap();
    assert!(validator.is_valid(&body), "{body}");
}
