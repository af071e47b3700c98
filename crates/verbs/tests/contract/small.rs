//! Brokers with small messages: the verdict always travels, lists are cut and what was cut is said.

use serde_json::{Value, json};

use crate::rig::{AUDITOR, Rig, S, cited, user};

const SMALL: [usize; 2] = [2 << 10, 8 << 10];

/// Spans whose ids and contents hold many identifiers.
fn recorded(spans: usize) -> (Rig, Vec<String>) {
    let rig = Rig::opened(json!({ "window_tokens": 1_000_000 }));
    let ids: Vec<String> = (0..spans).map(|n| format!("span-with-a-long-name-{n:04}")).collect();
    let content = |n: usize| {
        let names: Vec<String> = (0..6).map(|m| format!("req-{n:04}-{m}abc")).collect();
        format!("The port is 5433, and these were seen: {}.", names.join(", "))
    };
    for (part, ids) in ids.chunks(500).enumerate() {
        let spans = ids.iter().enumerate();
        let spans: Vec<Value> = spans.map(|(n, id)| user(id, &content(part * 500 + n))).collect();
        rig.append(json!(spans));
    }
    (rig, ids)
}

/// A summary of all of these with many claims that say a wrong port.
fn wrong(ids: &[String], claims: usize) -> Value {
    let claim = |n: usize| {
        let source = &ids[n % ids.len()];
        json!({ "text": format!("The port is {}.", 6_000 + n), "origin": "user-said",
            "sources": [{ "span": source }] })
    };
    let claims: Vec<Value> = (0..claims).map(claim).collect();
    json!({ "id": "sum", "covers": ids, "text": "The port is 5433.", "claims": claims })
}

#[test]
fn the_verdict_of_a_summary_travels_and_what_is_cut_is_counted() {
    let (rig, ids) = recorded(40);
    for max in SMALL {
        let body = wrong(&ids[..20], 150);
        let (reply, size) = rig.sized(S, "summarize", body, max).unwrap();
        assert!(size <= max, "{size} bytes");
        assert_eq!(reply["status"], "rejected");
        assert!(reply["version"].is_u64() && reply["handle"].is_string());
        let findings = reply["findings"].as_array().unwrap().len() as u64;
        assert!(findings >= 1, "its author learns something: {reply}");
        assert_eq!(findings + reply["findings_omitted"].as_u64().unwrap(), 150);
        assert_eq!(reply["omitted_total"], 120);
    }
    let (whole, _) = rig.sized(S, "summarize", wrong(&ids[20..], 150), 1 << 20).unwrap();
    assert_eq!(whole["findings"].as_array().unwrap().len(), 150);
    assert!(whole.get("findings_omitted").is_none());
    assert_eq!(whole["omitted_identifiers"].as_array().unwrap().len(), 50);
}

/// The mechanical way out names hundreds of spans; the verdict beside it must arrive all the same.
#[test]
fn the_verdict_travels_beside_a_large_way_out() {
    let (rig, ids) = recorded(400);
    for max in SMALL {
        for _ in 0..3 {
            let (reply, size) = rig.sized(S, "summarize", wrong(&ids, 20), max).unwrap();
            assert_eq!(reply["status"], "rejected");
            assert!(size <= max, "{size} bytes are over {max}");
            // The way out works as given, or it is not given.
            assert!(reply.get("fallback").is_none());
            let last = reply["attempts_left"] == 0;
            assert_eq!(reply.get("fallback_omitted"), last.then_some(&json!(true)), "{reply}");
        }
    }
    let (reply, _) = rig.sized(S, "summarize", wrong(&ids, 20), 32 << 10).unwrap();
    assert!(reply.get("fallback_omitted").is_none(), "{reply}");
    let directive = reply["fallback"]["directive"].clone();
    assert_eq!(directive["spans"], json!(ids));
    assert_eq!(rig.call(S, "prune", directive).unwrap()["status"], "reversible");
}

/// One finding is always kept, however long.
#[test]
fn one_long_finding_fits_too() {
    let rig = Rig::recorded();
    let long = format!("The file is {}.", "/a/very/long/path".repeat(200));
    for max in SMALL {
        let (reply, size) = rig.sized(S, "summarize", cited("sum", &long, "a"), max).unwrap();
        assert_eq!(reply["status"], "rejected");
        assert!(size <= max, "{size} bytes are over {max}");
    }
}

#[test]
fn the_verdict_of_an_audit_travels() {
    let (rig, ids) = recorded(150);
    let claims = json!([{ "text": "The port is 5433.", "origin": "user-said", "sources": [{ "span": ids[0] }] }]);
    let body = json!({ "id": "sum", "covers": ids, "text": "The port is 5433.", "claims": claims });
    assert_eq!(rig.call(S, "summarize", body).unwrap()["status"], "needs_audit");
    for max in SMALL {
        let audit = json!({ "summary": "sum", "verdict": "pass" });
        let (reply, size) = rig.sized(AUDITOR, "audit", audit, max).unwrap();
        assert!(size <= max, "{size} bytes are over {max}");
        assert_eq!((&reply["status"], &reply["counts"]), (&json!("rejected"), &json!(false)));
        assert!(!reply["findings"].as_array().unwrap().is_empty());
    }
}

/// Nothing is cut where the whole fits to the byte, and one byte less costs one finding.
#[test]
fn what_fits_is_not_cut() {
    let (rig, ids) = recorded(60);
    let claims = json!([{ "text": "The port is 5433.", "origin": "user-said", "sources": [{ "span": ids[0] }] }]);
    let body = json!({ "id": "sum", "covers": ids, "text": "The port is 5433.", "claims": claims });
    rig.call(S, "summarize", body).unwrap();
    let summary = json!({ "span": "sum", "handle": null });
    let audit =
        || json!({ "summary": "sum", "verdict": "pass", "command_id": "the-same", "findings": [] });
    rig.sized(AUDITOR, "audit", audit(), 1 << 20).unwrap();
    for (target, verb, body) in [
        (AUDITOR, "audit", audit()),
        (S, "explain", json!({ "span": "sum" })),
        (S, "expand", summary),
    ] {
        let (whole, size) = rig.sized(target, verb, body.clone(), 1 << 20).unwrap();
        assert!(rig.sized(target, verb, body.clone(), size).unwrap().0 == whole, "{verb}");
        assert!(!whole.to_string().contains("_omitted\""), "{verb}");
        let (cut, smaller) = rig.sized(target, verb, body, size - 1).unwrap();
        assert!(smaller < size && cut != whole, "{verb}");
    }
}

/// The auditor reads what the list names and is told of others only then.
#[test]
fn findings_of_an_audit_that_were_cut_are_counted() {
    let (rig, ids) = recorded(150);
    let claims = json!([{ "text": "The port is 5433.", "origin": "user-said", "sources": [{ "span": ids[0] }] }]);
    let body = json!({ "id": "sum", "covers": ids, "text": "The port is 5433.", "claims": claims });
    rig.call(S, "summarize", body).unwrap();
    let audit = json!({ "summary": "sum", "verdict": "pass" });
    let (reply, _) = rig.sized(AUDITOR, "audit", audit, 8 << 10).unwrap();
    let told = reply["findings"].as_array().unwrap().len() as u64;
    assert_eq!(told + reply["findings_omitted"].as_u64().unwrap_or(0), 150, "{reply}");
}

#[test]
fn explain_pages_to_its_end_in_small_messages() {
    let (rig, ids) = recorded(3);
    for n in 0..160 {
        rig.read(if n % 2 == 0 { AUDITOR } else { S }, &ids[0]);
    }
    let (whole, _) = rig.sized(S, "explain", json!({ "span": ids[0] }), 1 << 20).unwrap();
    assert_eq!(whole["story"].as_array().unwrap().len(), 161);
    assert!(whole.get("next").is_none());
    for max in SMALL {
        let (mut pages, mut told, mut from) = (0, Vec::new(), json!(0));
        loop {
            let body = json!({ "span": ids[0], "from": from });
            let (page, size) = rig.sized(S, "explain", body, max).unwrap();
            assert!(size <= max, "{size} bytes are over {max}");
            told.extend(page["story"].as_array().unwrap().clone());
            pages += 1;
            match page.get("next") {
                None => break,
                Some(next) => from = next.clone(),
            }
        }
        assert!(pages > 1, "{max}");
        assert_eq!(json!(told), whole["story"]);
    }
    let past =
        rig.sized(S, "explain", json!({ "span": ids[0], "from": u64::MAX }), 2 << 10).unwrap();
    assert_eq!((&past.0["story"], past.0.get("next")), (&json!([]), None));
}

#[test]
fn explain_of_a_summary_fits_and_its_story_is_whole() {
    explained(150, &SMALL[1..]);
    explained(20, &SMALL);
}

/// Its story names the code of each finding, the same one a hundred times.
#[test]
fn explain_of_a_summary_with_many_findings_fits() {
    explained(150, &SMALL);
}

fn explained(claims: usize, sizes: &[usize]) {
    let (rig, ids) = recorded(40);
    rig.call(S, "summarize", wrong(&ids, claims)).unwrap();
    for &max in sizes {
        let body = json!({ "span": "sum:refused1" });
        let (reply, size) = rig.sized(S, "explain", body, max).unwrap();
        assert!(size <= max, "{size} bytes are over {max}");
        assert_eq!(reply["summary"]["status"], "rejected");
        assert_eq!(reply["story"].as_array().unwrap().len(), 1, "{reply}");
        assert_eq!(reply["story"][0]["why"], format!("anchor_not_in_source ×{claims}"));
        let left = reply["summary"]["identifiers"].as_u64().unwrap()
            - reply["summary"]["identifiers_kept"].as_u64().unwrap();
        assert_eq!(left, 240, "those that are not listed are counted");
    }
}

/// An empty or a short list says that there is no more.
#[test]
fn claims_that_were_cut_are_counted() {
    let (rig, ids) = recorded(40);
    rig.call(S, "summarize", wrong(&ids, 150)).unwrap();
    let body = json!({ "span": "sum:refused1" });
    let (reply, _) = rig.sized(S, "explain", body.clone(), 8 << 10).unwrap();
    for list in ["claims", "findings"] {
        let told = reply["summary"][list].as_array().unwrap().len() as u64;
        let cut = reply["summary"][format!("{list}_omitted")].as_u64().unwrap_or(0);
        assert_eq!(told + cut, 150, "{list}");
    }
    let (reply, _) = rig.sized(S, "expand", body, 8 << 10).unwrap();
    let told = reply["claims"].as_array().unwrap().len() as u64;
    assert_eq!(told + reply["claims_omitted"].as_u64().unwrap_or(0), 150);
}

/// A summary with one long claim: its text can be had, whatever the claims weigh.
#[test]
fn a_long_claim_does_not_lock_its_summary_up() {
    let rig = Rig::recorded();
    let mut body = cited("sum", "The port is 5433.", "a");
    body["claims"][0]["text"] =
        format!("The port is 5433. {}", "so they said ".repeat(1_000)).into();
    assert_eq!(rig.call(S, "summarize", body).unwrap()["status"], "needs_audit");
    for max in SMALL {
        for verb in ["expand", "explain"] {
            let (reply, size) = rig.sized(S, verb, json!({ "span": "sum" }), max).unwrap();
            assert!(size <= max && reply["outcome"] == "recoverable", "{verb}: {reply}");
        }
    }
}

#[test]
fn expand_of_a_summary_comes_in_parts_and_claims_with_the_first() {
    let (rig, ids) = recorded(200);
    let text = "The port is 5433, and that was all. ".repeat(200);
    let claims: Vec<Value> = (0..60)
        .map(|n| json!({ "text": "The port is 5433.", "origin": "user-said", "sources": [{ "span": ids[n] }] }))
        .collect();
    let body = json!({ "id": "sum", "covers": ids, "text": text, "claims": claims });
    assert_eq!(rig.call(S, "summarize", body).unwrap()["status"], "needs_audit");
    // What it covers is listed too; the smallest broker cannot carry two hundred handles.
    let max = 32 << 10;
    let (mut read, mut parts) = (String::new(), 0);
    while read.len() < text.len() {
        let body = json!({ "span": "sum", "offset": read.len() });
        let (reply, size) = rig.sized(S, "expand", body, max).unwrap();
        assert!(size <= max, "{size} bytes are over {max}");
        assert_eq!(reply.get("claims").is_some(), parts == 0, "{reply}");
        assert_eq!(reply["total_bytes"], text.len());
        read += reply["content"].as_str().unwrap();
        parts += 1;
    }
    assert_eq!((read, parts > 0), (text, true));
}

/// What is short enough for a message until it is escaped comes in parts, too, and whoever has read
/// the last one has read it.
#[test]
fn a_reading_in_parts_because_of_escapes_counts() {
    let rig = Rig::recorded();
    rig.append(json!([user("x", &"\u{1}".repeat(1_500)), user("y", "short")]));
    let reads = || rig.history().iter().filter(|event| event["kind"] == "span-read").count();
    let (mut offset, mut parts) = (0, 0);
    while offset < 1_500 {
        assert_eq!(reads(), 0);
        let body = json!({ "span": "x", "offset": offset, "purpose": "audit" });
        let (reply, _) = rig.sized(AUDITOR, "expand", body, SMALL[0]).unwrap();
        offset += reply["content"].as_str().unwrap().len();
        parts += 1;
    }
    assert!((parts > 1, reads()) == (true, 1), "{parts} parts");
    // Its end alone is no reading of what would have come whole.
    let body = json!({ "span": "y", "offset": 3, "purpose": "audit" });
    rig.sized(AUDITOR, "expand", body, SMALL[0]).unwrap();
    assert_eq!(reads(), 1);
}

/// A summary of hundreds of spans lists them all beside its text.
#[test]
fn expand_of_a_summary_of_many_spans_fits() {
    let (rig, ids) = recorded(400);
    let claims = json!([{ "text": "The port is 5433.", "origin": "user-said", "sources": [{ "span": ids[0] }] }]);
    let body = json!({ "id": "sum", "covers": ids, "text": "The port is 5433.", "claims": claims });
    rig.call(S, "summarize", body).unwrap();
    for max in SMALL {
        let (reply, size) = rig.sized(S, "expand", json!({ "span": "sum" }), max).unwrap();
        assert!(size <= max, "{size} bytes are over {max}");
        assert_eq!(reply["content"], "The port is 5433.");
        assert_eq!(reply["claims"].as_array().unwrap().len(), 1, "{reply}");
        // The list goes on where it was cut.
        let mut told = reply["spans"].as_array().unwrap().clone();
        let mut left = reply["spans_omitted"].as_u64().unwrap();
        assert_eq!(told.len() as u64 + left, 400);
        while left > 0 {
            let body = json!({ "span": "sum", "limit": 0, "spans_from": told.len() });
            let (reply, size) = rig.sized(S, "expand", body, max).unwrap();
            assert!(size <= max && reply.get("claims").is_none(), "{reply}");
            let more = reply["spans"].as_array().unwrap();
            assert!(!more.is_empty(), "{reply}");
            told.extend(more.clone());
            left = reply["spans_omitted"].as_u64().unwrap_or(0);
            assert_eq!(told.len() as u64 + left, 400);
        }
        let told: Vec<&Value> = told.iter().map(|span| &span["id"]).collect();
        assert_eq!(json!(told), json!(ids));
    }
    let past = json!({ "span": "sum", "spans_from": u64::MAX });
    let (reply, _) = rig.sized(S, "expand", past, SMALL[0]).unwrap();
    assert_eq!((&reply["spans"], reply.get("spans_omitted")), (&json!([]), None));
}

/// An auditor may write a page, and an identifier may be a page: both are told as far as they fit.
#[test]
fn long_remarks_and_identifiers_do_not_stop_the_pages() {
    let rig = Rig::recorded();
    let path = format!("/a{}", "/very/long/path".repeat(250));
    rig.append(json!([user("c", &format!("It lies in {path}, and in /tmp/x, says req-1a2b-9."))]));
    let mut body = cited("sum", "The port is 5433.", "a");
    body["covers"] = json!(["a", "c"]);
    rig.call(S, "summarize", body).unwrap();
    for n in 0..3 {
        let remark = format!("{n} it is \u{1}\"so\" ").repeat(800);
        let audit = json!({ "summary": "sum", "verdict": "fail", "findings": [remark] });
        rig.call(AUDITOR, "audit", audit).unwrap();
    }
    for max in SMALL {
        let (mut story, mut omitted) = (Vec::new(), Vec::new());
        let mut next = (json!(0), json!(0));
        loop {
            let body = json!({ "span": "sum", "from": next.0 });
            let (page, size) = rig.sized(S, "explain", body, max).unwrap();
            assert!(size <= max, "{size} bytes are over {max}");
            story.extend(page["story"].as_array().unwrap().clone());
            assert!(story.len() <= 4, "{page}");
            let Some(from) = page.get("next") else { break };
            next.0 = from.clone();
        }
        let whys = story.iter().filter_map(|told| told["why"].as_str());
        let starts = whys.enumerate().filter(|(n, why)| why.contains(&format!("{n} it is")));
        assert_eq!((story.len(), starts.count()), (4, 3), "{story:?}");
        loop {
            let body = json!({ "span": "sum", "omitted_from": next.1 });
            let (page, size) = rig.sized(S, "explain", body, max).unwrap();
            assert!(size <= max, "{size} bytes are over {max}");
            let summary = &page["summary"];
            omitted.extend(summary["omitted_identifiers"].as_array().unwrap().clone());
            assert!(omitted.len() <= 5, "{page}");
            let Some(from) = summary.get("omitted_next") else { break };
            next.1 = from.clone();
        }
        let texts: Vec<&str> = omitted.iter().map(|o| o["text"].as_str().unwrap()).collect();
        assert_eq!(texts.iter().filter(|text| text.starts_with("/a/very")).count(), 1, "{texts:?}");
        assert!(texts.contains(&"/tmp/x") && texts.contains(&"req-1a2b-9"), "{texts:?}");
    }
}

#[test]
fn suggestions_give_the_dearer_ones_up() {
    let (rig, _) = recorded(60);
    let words = "and on and on ".repeat(60);
    rig.append(json!([user("last", &words)]));
    let ask = json!({ "free_tokens": 200 });
    let (whole, _) = rig.sized(S, "suggest", ask.clone(), 1 << 20).unwrap();
    let (cut, size) = rig.sized(S, "suggest", ask, 2 << 10).unwrap();
    assert!(size <= 2 << 10);
    assert_eq!(cut["candidates"][0], whole["candidates"][0], "the cheapest stays");
}
