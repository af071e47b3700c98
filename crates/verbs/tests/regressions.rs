//! Faults that were found in the verbs and mended, each under a name that says what it was.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::Arc;

use lacuna_engine::{Journal, Options};
use lacuna_verbs::{Call, Service, Settings};
use lacuna_wire::{Code, Subject, WireError};
use serde_json::{Value, json};
use tempfile::TempDir;

struct Rig {
    folder: TempDir,
    service: Service,
}

impl Rig {
    fn new(settings: Settings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(&folder.path().join("journal"), Options::default()).unwrap();
        Self { folder, service: Service::new(Arc::new(journal), settings) }
    }

    fn call(&self, target: &str, verb: &str, body: Value) -> Result<Value, WireError> {
        let subject = Subject::parse(&format!("lacuna.v1.{target}.{verb}")).unwrap();
        let body = body.to_string();
        let call = Call { subject: &subject, body: body.as_bytes(), max_reply: 1 << 20 };
        self.service.call_and_wait(call).map(|reply| serde_json::from_slice(&reply).unwrap())
    }

    fn opened(&self, target: &str) {
        self.call(target, "open", json!({ "window_tokens": 1_000 })).unwrap();
    }

    /// Uploads this many bytes of `x`; gives the upload's name.
    fn upload(&self, target: &str, bytes: usize) -> Result<String, WireError> {
        use base64::Engine as _;
        let content = vec![b'x'; bytes];
        let opened = self.call(target, "put-open", json!({ "bytes": bytes }))?;
        let name = opened["upload"].as_str().unwrap().to_owned();
        let data = base64::prelude::BASE64_STANDARD.encode(&content);
        self.call(target, "put-chunk", json!({ "upload": name, "offset": 0, "data_b64": data }))?;
        let digest = blake3::hash(&content).to_hex().to_string();
        self.call(target, "put-close", json!({ "upload": name, "digest": digest }))?;
        Ok(name)
    }
}

const S: &str = "t.p.session.s";

/// Uploads that an append had used kept their room for ten minutes and locked everybody out.
#[test]
fn a_used_upload_makes_room_for_the_next() {
    let rig = Rig::new(Settings { upload_bytes: 4_000, ..Settings::default() });
    rig.opened(S);
    for number in 0..8 {
        let name = rig.upload(S, 1_200).unwrap();
        let span = json!({ "role": "tool", "origin": "tool", "upload": name });
        let reply = rig.call(S, "append", json!({ "spans": [span] })).unwrap();
        assert_eq!(reply["spans"][0]["id"], format!("s{}", number + 1));
    }
}

/// One tenant's unused uploads took all the room there was.
#[test]
fn one_tenants_uploads_leave_room_for_another() {
    let rig = Rig::new(Settings { upload_bytes: 4_000, ..Settings::default() });
    let other = "other.p.session.s";
    rig.opened(S);
    rig.opened(other);
    rig.upload(S, 1_200).unwrap();
    let refused = rig.upload(S, 1_200).unwrap_err();
    assert_eq!(refused.code, Code::Overloaded, "{refused}");
    rig.upload(other, 1_200).unwrap();
}

/// The same `command_id` opened a second upload.
#[test]
fn put_open_keeps_its_command_id_and_expected_version() {
    let rig = Rig::new(Settings::default());
    rig.opened(S);
    let open = |body: Value| rig.call(S, "put-open", body);
    let first = open(json!({ "bytes": 3, "command_id": "c" })).unwrap();
    assert_eq!(open(json!({ "bytes": 3, "command_id": "c" })).unwrap(), first);
    let reused = open(json!({ "bytes": 4, "command_id": "c" })).unwrap_err();
    assert_eq!(reused.code, Code::CommandIdReused);
    let elsewhere = open(json!({ "bytes": 3, "expected_version": 99 })).unwrap_err();
    assert_eq!(elsewhere.code, Code::VersionConflict);
}

/// A reading for audit that delivered nothing counted as evidence.
#[test]
fn only_a_whole_reading_is_evidence() {
    let rig = Rig::new(Settings::default());
    rig.opened(S);
    let span = json!({ "id": "a", "role": "user", "origin": "user", "content": "alphabet" });
    rig.call(S, "append", json!({ "spans": [span] })).unwrap();
    let read = |extra: Value| {
        let mut body = json!({ "span": "a", "purpose": "audit" });
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        rig.call(S, "expand", body).unwrap();
        let history = rig.call(S, "history", json!({})).unwrap();
        let events = history["events"].as_array().unwrap().clone();
        events.iter().filter(|event| event["kind"] == "span-read").count()
    };
    for part in [json!({ "limit": 0 }), json!({ "offset": 8 }), json!({ "offset": 3, "limit": 2 })]
    {
        assert_eq!(read(part.clone()), 0, "{part}");
    }
    assert_eq!(read(json!({})), 1);
}

/// A backup over an existing one was reported as made.
#[test]
fn a_backup_never_goes_over_another_or_outside_its_root() {
    let mut rig = Rig::new(Settings::default());
    let root = rig.folder.path().join("backups");
    let settings = Settings { backup_root: Some(root), ..Settings::default() };
    rig.service = Service::new(Arc::clone(rig.service.journal()), settings);
    let backup = |dir: &str| rig.call("t.p.journal", "backup", json!({ "dir": dir }));
    assert_eq!(backup("one").unwrap()["seq"], 0);
    assert_eq!(backup("one").unwrap_err().code, Code::BadRequest);
    for outside in ["../two", "/two", "", "one/../../two"] {
        assert_eq!(backup(outside).unwrap_err().code, Code::NotPermitted, "{outside:?}");
    }
}

/// A range behind the journal's end was reported as sound, and a page of nothing had no end.
#[test]
fn questions_about_nothing_are_refused() {
    let rig = Rig::new(Settings::default());
    rig.opened(S);
    let verify = rig.call("t.p.journal", "verify", json!({ "from": 1_000 })).unwrap_err();
    assert_eq!(verify.code, Code::BadRequest);
    let history = rig.call(S, "history", json!({ "limit": 0 })).unwrap_err();
    assert_eq!(history.code, Code::BadRequest);
}
