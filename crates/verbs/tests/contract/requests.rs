//! Requests are strict, replies have their shape, and events carry no words.

use std::collections::BTreeSet;

use lacuna_wire::Code;
use serde_json::{Value, json};

use crate::rig::{AUDITOR, Rig, S, cited, honest, keys, user};

#[test]
fn summarize_has_its_shape_whatever_its_verdict() {
    let rig = Rig::recorded();
    let common = ["attempts_left", "depth", "findings", "handle", "omitted_identifiers"];
    let common: BTreeSet<&str> =
        common.into_iter().chain(["omitted_total", "status", "summary", "version"]).collect();
    let accepted =
        rig.call("t.reader.session.s", "expand", json!({ "span": "a", "purpose": "reground" }));
    assert!(accepted.is_ok());
    // Another one than the worker of this session, which has read what it covers.
    let accepted = rig.call("t.reader.session.s", "summarize", honest()).unwrap();
    assert_eq!(accepted["status"], "accepted", "{accepted}");
    assert_eq!(keys(&accepted), common);
    assert_eq!((&accepted["summary"], &accepted["depth"]), (&json!("sum"), &json!(1)));
    assert!(accepted["handle"].as_str().unwrap().starts_with("sum@"));
    assert_eq!(accepted["findings"], json!([]));
    let omitted = json!([
        { "text": "req-77ae-0042", "span": "a", "kind": "request_id" },
        { "text": "/var/log/ledger.log", "span": "a", "kind": "path" }
    ]);
    assert_eq!(accepted["omitted_identifiers"], omitted);
    assert_eq!((&accepted["omitted_total"], &accepted["attempts_left"]), (&json!(2), &json!(3)));
    let mut other = honest();
    other["id"] = "sum2".into();
    let needs = rig.call(S, "summarize", other).unwrap();
    assert_eq!((&needs["status"], keys(&needs)), (&json!("needs_audit"), common.clone()));
    let mut rejected = rig.call(S, "summarize", cited("wrong", "The port is 5432.", "a")).unwrap();
    assert_eq!((&rejected["status"], keys(&rejected)), (&json!("rejected"), common.clone()));
    assert_eq!(rejected["summary"], "wrong:refused1");
    let finding = &rejected["findings"][0];
    assert_eq!(keys(finding), BTreeSet::from(["claim", "code", "message"]));
    assert_eq!((&finding["code"], &finding["claim"]), (&json!("anchor_not_in_source"), &json!(0)));
    assert!(finding["message"].as_str().unwrap().contains("5432"), "{finding}");
    for left in [1, 0] {
        rejected = rig.call(S, "summarize", cited("wrong", "The port is 5432.", "a")).unwrap();
        assert_eq!(rejected["attempts_left"], left);
    }
    let with_fallback = common.into_iter().chain(["fallback"]).collect::<BTreeSet<_>>();
    assert_eq!(keys(&rejected), with_fallback);
    assert_eq!(keys(&rejected["fallback"]), BTreeSet::from(["directive"]));
    let pruned = rig.call(S, "prune", rejected["fallback"]["directive"].clone()).unwrap();
    assert_eq!(pruned["status"], "reversible", "{pruned}");
}

#[test]
fn a_command_id_gives_the_first_reply_again() {
    let rig = Rig::recorded();
    for body in [honest(), cited("wrong", "The port is 5432.", "a")] {
        let mut body = body;
        body["command_id"] = format!("c-{}", body["id"]).into();
        let first = rig.call(S, "summarize", body.clone()).unwrap();
        let mut expected = first.clone();
        expected["duplicate"] = true.into();
        assert_eq!(rig.call(S, "summarize", body.clone()).unwrap(), expected);
        body["claims"][0]["sources"][0]["quote"] = "port".into();
        assert_eq!(rig.call(S, "summarize", body).unwrap_err().code, Code::CommandIdReused);
    }
    let audit =
        |verdict: &str| json!({ "summary": "sum", "verdict": verdict, "command_id": "c-audit" });
    rig.read(AUDITOR, "a");
    let first = rig.call(AUDITOR, "audit", audit("pass")).unwrap();
    assert!(first.get("duplicate").is_none(), "{first}");
    assert_eq!(rig.call(AUDITOR, "audit", audit("pass")).unwrap()["duplicate"], true);
    assert_eq!(rig.call(AUDITOR, "audit", audit("fail")).unwrap_err().code, Code::CommandIdReused);
}

#[test]
fn requests_are_strict_at_every_level() {
    let rig = Rig::recorded();
    let with = |path: &str, value: Value| {
        let mut body = honest();
        let (at, field) = path.rsplit_once('/').unwrap();
        body.pointer_mut(at).unwrap()[field] = value;
        body
    };
    let refused = [
        with("/cover", json!(["a"])),
        with("/contract", json!("record")),
        with("/claims/0/orgin", json!("user-said")),
        with("/claims/0/confidence", json!(0.9)),
        with("/claims/0/sources/0/offset", json!(1)),
        with("/claims/0/origin", json!("user_said")),
        with("/claims/0/origin", json!("User-Said")),
        with("/claims/0/origin", json!("summary")),
        with("/claims/0/origin", Value::Null),
        with("/claims/0/sources", json!(["a"])),
        with("/claims/0/sources", json!({ "span": "a" })),
        with("/claims/0/sources", json!([["a", "5433"]])),
        with("/claims/0/sources/0/span", json!("a/b")),
        with("/claims/0/sources/0/quote", json!(5433)),
        with("/claims/0/text", json!(["The port"])),
        with("/claims", json!([["The port is 5433.", "user-said", []]])),
        with("/claims", json!(["The port is 5433."])),
        with("/claims", json!({})),
        with("/covers", json!("a")),
        with("/covers", json!([])),
        with("/covers", json!([1])),
        with("/text", json!(1)),
        with("/id", json!("")),
    ];
    for body in refused {
        let error = rig.call(S, "summarize", body.clone()).unwrap_err();
        assert_eq!(error.code, Code::BadRequest, "{body}: {error}");
    }
    let error = rig.call(S, "summarize", with("/covers", json!(["nobody"]))).unwrap_err();
    assert_eq!(error.code, Code::UnknownSpan);
    // A claim without sources is a finding; one without the field is a mistake.
    let mut body = honest();
    body["claims"][0].as_object_mut().unwrap().remove("sources");
    assert_eq!(rig.call(S, "summarize", body).unwrap_err().code, Code::BadRequest);
    assert_eq!(rig.history().len(), 3, "nothing of all this was recorded");

    rig.call(S, "summarize", honest()).unwrap();
    for body in [
        json!({ "summary": "sum" }),
        json!({ "summary": "sum", "verdict": "PASS" }),
        json!({ "summary": "sum", "verdict": "passed" }),
        json!({ "summary": "sum", "verdict": "accepted" }),
        json!({ "summary": "sum", "verdict": "" }),
        json!({ "summary": "sum", "verdict": true }),
        json!({ "summary": "sum", "verdict": null }),
        json!({ "summary": "sum", "verdict": ["pass"] }),
        json!({ "summary": "sum", "verdict": "pass", "force": true }),
        json!({ "summary": "sum", "verdict": "pass", "findings": "all is well" }),
        json!({ "summary": "sum", "verdict": "pass", "findings": [1] }),
        json!({ "summary": "sum", "verdict": "pass", "findings": [null] }),
        json!({ "summary": "sum", "verdict": "pass", "findings": [{ "codes": "x" }] }),
        json!({ "summary": "sum", "verdict": "pass", "findings": [{ "claim": -1 }] }),
        json!({ "summary": "sum", "verdict": "pass", "findings": [{ "span": "a b" }] }),
        json!({ "summary": "a", "verdict": "pass" }),
    ] {
        let error = rig.call(AUDITOR, "audit", body.clone()).unwrap_err();
        assert_eq!(error.code, Code::BadRequest, "{body}: {error}");
    }
    let unknown = rig.call(AUDITOR, "audit", json!({ "summary": "nobody", "verdict": "pass" }));
    assert_eq!(unknown.unwrap_err().code, Code::UnknownSpan);
    for (verb, bodies) in [
        (
            "suggest",
            vec![
                json!({}),
                json!({ "free_tokens": -1 }),
                json!({ "free_tokens": "9" }),
                json!({ "free_tokens": 1.5 }),
                json!({ "free_tokens": 9, "max": 1 }),
            ],
        ),
        (
            "explain",
            vec![
                json!({}),
                json!({ "span": 1 }),
                json!({ "span": "a b" }),
                json!({ "span": "a", "from": -1 }),
                json!({ "span": "a", "purpose": "audit" }),
            ],
        ),
    ] {
        for body in bodies {
            let error = rig.call(S, verb, body.clone()).unwrap_err();
            assert_eq!(error.code, Code::BadRequest, "{verb} {body}: {error}");
        }
    }
    assert_eq!(rig.history().len(), 4, "only the summary");
}

/// A list of the fields in order is no object: claims refuse it, remarks must too.
#[test]
fn a_remark_is_a_sentence_or_an_object() {
    let rig = Rig::recorded();
    rig.call(S, "summarize", honest()).unwrap();
    let body = json!({ "summary": "sum", "verdict": "fail", "findings": [["hedge_dropped", 0, "a", "x"]] });
    let error = rig.call(AUDITOR, "audit", body).unwrap_err();
    assert_eq!(error.code, Code::BadRequest);
    assert!(error.message.contains("expected a sentence or an object"), "{error}");
    let body = json!({ "summary": "sum", "verdict": "fail", "findings": [{ "cod": "x" }] });
    let error = rig.call(AUDITOR, "audit", body).unwrap_err();
    assert!(error.message.contains("unknown field `cod`"), "{error}");
}

#[test]
fn an_audit_has_its_shape_and_takes_sentences_and_findings() {
    let rig = Rig::recorded();
    rig.call(S, "summarize", honest()).unwrap();
    let body = json!({ "summary": "sum", "verdict": "fail", "findings": [
        "It leaves out the request.",
        { "code": "anchor_not_in_source", "claim": 0, "span": "a", "message": "where?" },
        { "code": "a word of my own" }, {},
    ] });
    let blind = rig.call(AUDITOR, "audit", body.clone()).unwrap();
    assert_eq!(keys(&blind), BTreeSet::from(["counts", "findings", "status", "version"]));
    assert_eq!((&blind["status"], &blind["counts"]), (&json!("rejected"), &json!(false)));
    assert_eq!(blind["findings"][0]["code"], "auditor_without_evidence");
    assert_eq!(blind["findings"][0]["span"], "a");
    rig.read(AUDITOR, "a");
    let failed = rig.call(AUDITOR, "audit", body).unwrap();
    assert_eq!((&failed["status"], &failed["counts"]), (&json!("rejected"), &json!(true)));
    assert_eq!(failed["findings"], json!([]));
    let own = rig.call(S, "audit", json!({ "summary": "sum", "verdict": "pass" })).unwrap();
    assert_eq!(own["findings"][0]["code"], "self_audited");
    let passed =
        rig.call(AUDITOR, "audit", json!({ "summary": "sum", "verdict": "pass" })).unwrap();
    assert_eq!((&passed["status"], &passed["counts"]), (&json!("accepted"), &json!(true)));
}

#[test]
fn no_event_carries_words_of_spans_claims_quotes_or_remarks() {
    let rig = Rig::recorded();
    let words = [
        "ZEBRA-said-0001",
        "ZEBRA-text-0002",
        "ZEBRA-claim-0003",
        "ZEBRA-quote-0004",
        "ZEBRA-remark-0005",
    ];
    rig.append(json!([user(
        "z",
        &format!("{} {} and much more of it besides", words[0], words[3])
    )]));
    let mut body = cited("zsum", &format!("It is {}.", words[1]), "z");
    body["claims"][0]["text"] = format!("It is {}.", words[2]).into();
    body["claims"][0]["sources"][0]["quote"] = words[3].into();
    let rejected = rig.call(S, "summarize", body).unwrap();
    assert_eq!(rejected["status"], "rejected");
    assert!(rejected.to_string().contains(words[2]), "its author is told: {rejected}");
    let mut body = cited("zsum", &format!("It is {}.", words[0]), "z");
    body["claims"][0]["sources"][0]["quote"] = words[3].into();
    let summary = rig.call(S, "summarize", body).unwrap();
    assert_eq!(summary["status"], "needs_audit", "{summary}");
    rig.read(AUDITOR, "z");
    let remark = json!({ "code": words[4], "claim": 0, "message": words[4] });
    let audit = json!({ "summary": "zsum", "verdict": "pass", "findings": [words[4], remark] });
    rig.call(AUDITOR, "audit", audit).unwrap();
    for _ in 0..3 {
        rig.call(S, "summarize", cited("x", &format!("It is {}.", words[2]), "z")).unwrap();
    }
    rig.call(S, "prune", json!({ "spans": ["z"], "replace_with": "zsum" })).unwrap();
    let history = rig.history();
    let kinds: BTreeSet<&str> = history.iter().map(|e| e["kind"].as_str().unwrap()).collect();
    for kind in
        ["summary-recorded", "summary-audited", "alert-raised", "prune-executed", "span-read"]
    {
        assert!(kinds.contains(kind), "{kinds:?}");
    }
    for event in &history {
        let text = event.to_string();
        let told = words.iter().find(|word| text.contains(*word));
        assert!(told.is_none(), "{told:?} in {event}");
    }
    // They are where they may be removed: behind the handles.
    let expanded = rig.call(S, "expand", json!({ "span": "zsum" })).unwrap();
    assert_eq!(expanded["claims"][0]["sources"][0]["quote"], words[3]);
    let story = rig.call(S, "explain", json!({ "span": "zsum" })).unwrap();
    assert!(story.to_string().contains(words[4]), "the remark is told to who asks: {story}");
}
