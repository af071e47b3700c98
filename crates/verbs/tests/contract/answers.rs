//! What is told about summaries: by `explain`, `suggest`, `window` and `expand`.

use std::collections::BTreeSet;

use lacuna_wire::Code;
use serde_json::{Value, json};

use crate::rig::{AUDITOR, Rig, S, cited, honest, keys, user};

const TAG: &str = "[hedged by user, not established: ";

/// A session whose spans `a` and `b` were replaced by `sum`, which keeps a hedge as a claim.
fn replaced() -> Rig {
    let rig = Rig::recorded();
    rig.append(json!([
        { "id": "call", "role": "assistant", "origin": "model", "kind": "tool_call",
          "media_type": "application/json", "content": "{\"name\":\"ls\",\"arguments\":{}}" },
        { "id": "result", "role": "tool", "origin": "tool", "kind": "tool_result",
          "answers": "call", "content": "ledger.log" },
        user("c", "And now?"),
    ]));
    let text = "The port is 5433. Staging might be 5434.";
    let claims = json!([
        { "text": "The port is 5433.", "origin": "user-said", "sources": [{ "span": "a" }] },
        { "text": "The staging port might be 5434.", "origin": "hedged",
          "sources": [{ "span": "b", "quote": "might be 5434" }] },
    ]);
    let body = json!({ "id": "sum", "covers": ["a", "b"], "text": text, "claims": claims });
    let reply = rig.call(S, "summarize", body).unwrap();
    assert_eq!(reply["status"], "needs_audit", "{reply}");
    rig.read(AUDITOR, "a");
    rig.read(AUDITOR, "b");
    let audit = json!({ "summary": "sum", "verdict": "pass", "findings": ["as it was said"] });
    assert_eq!(rig.call(AUDITOR, "audit", audit).unwrap()["status"], "accepted");
    let prune = json!({ "spans": ["a", "b"], "replace_with": "sum", "reason": "settled" });
    assert_eq!(rig.call(S, "prune", prune).unwrap()["status"], "reversible");
    rig
}

fn explain(rig: &Rig, span: &str) -> Value {
    rig.call(S, "explain", json!({ "span": span })).unwrap()
}

fn story(reply: &Value) -> Vec<(u64, &str, &str)> {
    let entries = reply["story"].as_array().unwrap().iter();
    let text = |entry: &'_ Value, field: &str| entry[field].as_str().unwrap().to_owned();
    entries
        .map(|entry| {
            assert!(!text(entry, "at").is_empty() && !text(entry, "what").is_empty(), "{entry}");
            let fields = (entry["by"].as_str().unwrap(), entry["what"].as_str().unwrap());
            (entry["version"].as_u64().unwrap(), fields.0, fields.1)
        })
        .collect()
}

#[test]
fn explain_tells_everything_that_happened_to_a_span() {
    let rig = replaced();
    let reply = explain(&rig, "a");
    assert_eq!(keys(&reply), BTreeSet::from(["evidence", "handle", "outcome", "span", "story"]));
    assert_eq!((&reply["span"], &reply["outcome"]), (&json!("a"), &json!("recoverable")));
    let told = story(&reply);
    let expected = [
        (2, "worker", "recorded as message of origin user"),
        (7, "worker", "covered and cited by the summary sum (needs_audit)"),
        (8, "auditor", "read, purpose audit"),
        (11, "worker", "pruned under p1@prune, replaced by sum: existence holds"),
    ];
    assert_eq!(told.len(), expected.len(), "{told:?}");
    for (told, expected) in told.iter().zip(expected) {
        assert_eq!((told.0, told.1), (expected.0, expected.1));
        assert!(told.2.starts_with(expected.2), "{told:?}, not {expected:?}");
    }
    assert_eq!(reply["story"][3]["why"], "settled");
    rig.call(S, "restore", json!({ "spans": ["a"] })).unwrap();
    let restored = explain(&rig, "a");
    assert_eq!(
        (&restored["outcome"], restored["story"].as_array().unwrap().len()),
        (&json!("live"), 5)
    );

    let reply = explain(&rig, "sum");
    let told = story(&reply);
    let whats: Vec<&str> = told.iter().map(|told| told.2).collect();
    assert!(whats[0].starts_with("recorded as a summary of 2 spans, depth 1"), "{whats:?}");
    assert_eq!(whats[1], "passed an audit");
    assert_eq!(reply["story"][1]["why"], "as it was said");
    assert!(whats[2].starts_with("put in the place of 2 spans by p1@prune"), "{whats:?}");
    let summary = &reply["summary"];
    assert_eq!(
        keys(summary),
        BTreeSet::from([
            "claims",
            "covers",
            "depth",
            "findings",
            "identifiers",
            "identifiers_kept",
            "kinds",
            "omitted_identifiers",
            "status"
        ])
    );
    assert_eq!((&summary["status"], &summary["covers"]), (&json!("accepted"), &json!(2)));
    assert_eq!(summary["claims"][1]["origin"], "hedged");
    assert_eq!(
        summary["identifiers"].as_u64().unwrap() - summary["identifiers_kept"].as_u64().unwrap(),
        summary["omitted_identifiers"].as_array().unwrap().len() as u64
    );
}

#[test]
fn explain_of_what_was_never_recorded_says_so() {
    let rig = Rig::recorded();
    let reply = explain(&rig, "nobody");
    assert_eq!(keys(&reply), BTreeSet::from(["evidence", "outcome", "span", "story"]));
    assert_eq!(reply["outcome"], "never_recorded");
    // Not even the story is empty: it says what was considered.
    assert_eq!(story(&reply), [(3, "lacuna", "never recorded")]);
    assert!(reply["story"][0]["why"].as_str().unwrap().contains("none of the 2 spans"), "{reply}");
    assert_eq!(reply["evidence"]["spans_recorded"], 2);
    let error = rig.call("t.worker.session.none", "explain", json!({ "span": "a" })).unwrap_err();
    assert_eq!(error.code, Code::UnknownSession);
    let error = rig.call(S, "explain", json!({ "span": "a", "expected_version": 9 })).unwrap_err();
    assert_eq!(error.code, Code::VersionConflict);
}

#[test]
fn explain_tells_of_refused_summaries_prunes_and_alerts() {
    let rig = Rig::recorded();
    for _ in 0..3 {
        rig.call(S, "summarize", cited("sum", "The port is 5432.", "a")).unwrap();
    }
    rig.call(S, "summarize", honest()).unwrap();
    rig.call(S, "prune", json!({ "spans": ["a"], "replace_with": "sum" })).unwrap();
    let reply = explain(&rig, "a");
    let whats: Vec<&str> = story(&reply).iter().map(|told| told.2).collect();
    let refused = whats.iter().filter(|what| what.contains("(rejected)")).count();
    assert_eq!(refused, 3, "{whats:?}");
    assert!(whats.iter().any(|what| what.contains("alert was raised")), "{whats:?}");
    assert!(whats.last().unwrap().contains("summary_not_audited"), "{whats:?}");
    let reply = explain(&rig, "sum:refused1");
    assert_eq!(reply["story"][0]["why"], "anchor_not_in_source");
    assert_eq!(reply["summary"]["status"], "rejected");
    assert!(reply["summary"]["findings"][0]["message"].as_str().unwrap().contains("5432"));
}

/// A story without its end: whoever reads it believes that the spans are protected still.
#[test]
fn explain_tells_how_a_contradiction_was_settled() {
    let rig = Rig::recorded();
    let noted = rig.call(S, "contradict", json!({ "spans": ["a", "b"], "note": "ports" })).unwrap();
    let body = json!({ "contradiction": noted["contradiction"], "note": "it was asked" });
    rig.call(S, "resolve", body).unwrap();
    for span in ["a", "b"] {
        let reply = explain(&rig, span);
        let last = reply["story"].as_array().unwrap().last().unwrap().clone();
        assert_eq!((&last["version"], &last["why"]), (&json!(5), &json!("it was asked")), "{last}");
        let other = if span == "a" { "b" } else { "a" };
        assert_eq!(last["what"], format!("its contradiction with {other} was resolved (c1)"));
    }
    // Another one of the session is no part of their story.
    rig.append(json!([user("x", "The port is 1."), user("y", "The port is 2.")]));
    rig.call(S, "contradict", json!({ "spans": ["x", "y"] })).unwrap();
    rig.call(S, "resolve", json!({ "contradiction": "c2", "note": "both are" })).unwrap();
    assert_eq!(story(&explain(&rig, "a")).len(), 3);
    assert_eq!(story(&explain(&rig, "x")).len(), 3);
}

#[test]
fn suggestions_are_reversible_prunes_as_given() {
    let rig = Rig::opened(json!({ "window_tokens": 10_000 }));
    let words = "and so it went on and on ".repeat(40);
    let spans: Vec<Value> =
        (0..8).map(|n| user(&format!("m{n}"), &format!("{n} {words}"))).collect();
    rig.append(json!(spans));
    let mut pinned = user("pinned", &words);
    pinned["pinned"] = true.into();
    rig.append(json!([pinned, user("x", &words), user("y", &words), user("last", "Go on.")]));
    rig.call(S, "contradict", json!({ "spans": ["x", "y"] })).unwrap();
    let version = rig.history().len();
    let reply = rig.call(S, "suggest", json!({ "free_tokens": 500 })).unwrap();
    assert_eq!(keys(&reply), BTreeSet::from(["budget", "candidates", "version"]));
    assert_eq!(reply["version"], version);
    for candidate in reply["candidates"].as_array().unwrap() {
        assert_eq!(
            keys(candidate),
            BTreeSet::from(["cost", "durable_until", "freed_tokens", "spans", "status"])
        );
        assert_eq!(
            (&candidate["status"], &candidate["durable_until"]),
            (&json!("reversible"), &Value::Null)
        );
        assert!(candidate["freed_tokens"].as_i64().unwrap() >= 500);
        let spans = candidate["spans"].as_array().unwrap();
        for kept in ["pinned", "x", "y"] {
            assert!(!spans.contains(&json!(kept)), "{candidate}");
        }
        let dry = json!({ "spans": spans, "dry_run": true });
        let pruned = rig.call(S, "prune", dry).unwrap();
        assert_eq!(pruned["status"], "reversible");
        assert_eq!(pruned["freed_tokens"], candidate["freed_tokens"]);
    }
    assert_eq!(rig.history().len(), version, "a question records nothing");
    let all = rig.call(S, "suggest", json!({ "free_tokens": u64::MAX })).unwrap();
    assert_eq!(all["candidates"].as_array().unwrap().len(), 1, "what frees the most");
    let empty = Rig::opened(json!({ "window_tokens": 1_000 }));
    let none = empty.call(S, "suggest", json!({ "free_tokens": 1 })).unwrap();
    assert_eq!(none["candidates"], json!([]));
}

#[test]
fn the_window_shows_tags_behind_a_summary_in_every_form() {
    let rig = replaced();
    let window = |render: &str| rig.call(S, "window", json!({ "render": render })).unwrap();
    let entries = window("entries");
    let first = &entries["entries"][0];
    assert_eq!((&first["kind"], &first["origin"]), (&json!("summary"), &json!("summary")));
    assert_eq!(first["content"], "The port is 5433. Staging might be 5434.", "the text alone");
    let behind = first["text"].as_str().unwrap();
    assert!(behind.contains(TAG) && behind.contains("might be 5434. (b@"), "{behind}");
    assert!(!behind.contains("The port is 5433"), "a plain statement needs no tag: {behind}");
    assert!(behind.contains("p1@prune"), "{behind}");
    let text = window("text");
    assert!(text["text"].as_str().unwrap().contains(TAG), "{text}");
    let openai = window("openai");
    let messages = openai["messages"].as_array().unwrap();
    let tagged = messages.iter().filter(|message| message.to_string().contains(TAG));
    assert_eq!(tagged.count(), 1, "{openai}");
    let mut open = 0;
    for message in messages {
        if message["role"] == "tool" {
            open -= 1;
        } else {
            assert_eq!(open, 0, "a call is followed by its result: {openai}");
        }
        open += message["tool_calls"].as_array().map_or(0, Vec::len);
    }
    let anthropic = window("anthropic");
    let messages = anthropic["messages"].as_array().unwrap();
    assert_eq!(anthropic.to_string().matches(TAG).count(), 1, "{anthropic}");
    assert_eq!(messages[0]["role"], "user", "{anthropic}");
    for pair in messages.windows(2) {
        assert_ne!(pair[0]["role"], pair[1]["role"], "{anthropic}");
    }
    // The tags are counted where they stand.
    let tokens: u64 =
        entries["entries"].as_array().unwrap().iter().map(|e| e["tokens"].as_u64().unwrap()).sum();
    assert_eq!(entries["budget"]["used_tokens"], tokens);
    assert!(first["tokens"].as_u64().unwrap() >= (behind.len() as u64) / 5, "{first}");
}

#[test]
fn expand_of_a_summary_gives_claims_and_standing() {
    let rig = replaced();
    let reply = rig.call(S, "expand", json!({ "span": "sum" })).unwrap();
    assert_eq!((&reply["outcome"], &reply["status"]), (&json!("live"), &json!("accepted")));
    assert_eq!(reply["content"], "The port is 5433. Staging might be 5434.");
    assert_eq!(reply["origin"], "summary");
    assert_eq!(reply["claims"].as_array().unwrap().len(), 2);
    assert_eq!(
        reply["claims"][1],
        json!({ "text": "The staging port might be 5434.", "origin": "hedged",
            "sources": [{ "span": "b", "quote": "might be 5434" }] })
    );
    let spans: Vec<&str> = reply["spans"]
        .as_array()
        .unwrap()
        .iter()
        .map(|span| span["id"].as_str().unwrap())
        .collect();
    assert_eq!(spans, ["a", "b"]);
    // A fail wins, also afterwards.
    let audit = json!({ "summary": "sum", "verdict": "fail" });
    rig.call(AUDITOR, "audit", audit).unwrap();
    assert_eq!(rig.call(S, "expand", json!({ "span": "sum" })).unwrap()["status"], "rejected");
    let plain = rig.call(S, "expand", json!({ "span": "a" })).unwrap();
    assert!(plain.get("claims").is_none() && plain.get("status").is_none(), "{plain}");
}
