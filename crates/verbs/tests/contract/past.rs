//! Moments of the past: what the model saw then, what could have been recovered, and what has become of
//! it since. Retention runs and erasures have come in between.

use lacuna_wire::Code;
use serde_json::{Value, json};

use crate::rig::{Rig, S, user};

const R: &str = "t.officer.retention";

/// At version 2 `a` and `b` are recorded, at 3 `c`, at 4 `a` and `b` are pruned, at 5 `a` is back, at 6 `b`
/// is erased.
fn lived() -> Rig {
    let rig = Rig::opened(json!({ "window_tokens": 10_000 }));
    let turn = |id: &str, text: &str, turn: u64| {
        let mut span = user(id, text);
        span["turn"] = turn.into();
        span
    };
    rig.append(json!([turn("a", "the first words", 1)]));
    rig.append(json!([turn("b", "the second words", 1), turn("c", "the third words", 2)]));
    let reply = rig.call(S, "prune", json!({ "spans": ["a", "b"], "reason": "no use" })).unwrap();
    assert_eq!((&reply["status"], &reply["version"]), (&json!("reversible"), &json!(5)));
    rig.call(S, "restore", json!({ "spans": ["a"] })).unwrap();
    let erase = json!({ "session": "s", "spans": ["b"], "reason": "asked for" });
    rig.call(R, "erase", erase).unwrap();
    rig
}

fn at(rig: &Rig, verb: &str, version: u64) -> Value {
    rig.call(S, verb, json!({ "at": { "version": version } })).unwrap()
}

fn entries(window: &Value) -> Vec<(&str, &str)> {
    let entries = window["entries"].as_array().unwrap().iter();
    let id =
        |entry: &'_ Value| entry["id"].as_str().or(entry["handle"].as_str()).unwrap().to_owned();
    entries
        .map(|entry| {
            assert!(!id(entry).is_empty(), "{entry}");
            let name = entry["id"].as_str().or(entry["handle"].as_str()).unwrap();
            (entry["kind"].as_str().unwrap(), name)
        })
        .collect()
}

#[test]
fn the_window_of_the_past_is_what_was_shown_and_says_what_was_lost_since() {
    let rig = lived();
    let then = at(&rig, "window", 4);
    assert_eq!(entries(&then), [("span", "a"), ("span", "b"), ("span", "c")]);
    let [a, b, _] = then["entries"].as_array().unwrap().as_slice() else { panic!("{then}") };
    assert_eq!(a["content"], "the first words");
    assert!(b.get("content").is_none() && b.get("content_omitted").is_none(), "{b}");
    assert_eq!(
        (&b["lost_since"]["kind"], &b["lost_since"]["why"]),
        (&json!("erasure"), &json!("asked for"))
    );
    assert_eq!(
        (&then["evidence"]["version"], &then["evidence"]["spans_recorded"]),
        (&json!(4), &json!(3))
    );
    let history = rig.history();
    assert_eq!(then["evidence"]["head"], history[3]["hash"]);
    // Rendered, a text stands for it, whatever the form.
    for render in ["text", "openai", "anthropic"] {
        let body = json!({ "at": { "version": 4 }, "render": render });
        let text = rig.call(S, "window", body).unwrap().to_string();
        assert!(text.contains("shown then, lost since: erasure at"), "{text}");
        assert!(!text.contains("the second words"), "{text}");
    }
    assert_eq!(entries(&at(&rig, "window", 5)), [("stub", "p1@prune"), ("span", "c")]);
    let now = rig.call(S, "window", json!({})).unwrap();
    assert_eq!(entries(&now), [("span", "a"), ("tombstone", "b"), ("span", "c")]);
    let version = now["version"].as_u64().unwrap();
    assert_eq!(at(&rig, "window", version), now, "the same reply, asked for as a moment");
    // A turn is what stood before the first span of a later one.
    let body = json!({ "at": { "turn": 1 } });
    let turn = rig.call(S, "window", body).unwrap();
    assert_eq!((&turn["version"], entries(&turn).len()), (&json!(3), 2));
}

#[test]
fn durability_of_the_past_is_what_events_said_then() {
    let rig = lived();
    let spans = |version: u64| at(&rig, "durability", version)["spans"].clone();
    let recorded = spans(4);
    assert_eq!(recorded[1]["state"], "live");
    // Nobody had read it back then, and nobody does so now for the answer.
    assert_eq!(recorded[1]["copies"][0]["where"], "journal");
    assert_eq!(recorded[1]["copies"][0]["verified_at"], Value::Null);
    assert_eq!(recorded[1]["lost_since"]["kind"], "erasure");
    assert!(recorded[0].get("lost_since").is_none(), "{recorded}");
    let pruned = spans(5);
    assert_eq!(pruned[1]["state"], "recoverable");
    assert_eq!(pruned[1]["copies"][0]["verified_at"], rig.history()[4]["at"], "by the gate");
    let last = rig.history().last().unwrap()["version"].as_u64().unwrap();
    let lost = spans(last);
    assert_eq!((&lost[1]["state"], &lost[1]["copies"]), (&json!("lossy"), &json!([])));
    let body = json!({ "spans": ["c", "nobody"], "at": { "version": 3 } });
    let reply = rig.call(S, "durability", body).unwrap();
    assert_eq!(reply["spans"][1]["state"], "never_recorded");
    assert_eq!((&reply["version"], &reply["evidence"]["spans_recorded"]), (&json!(3), &json!(2)));
    assert_eq!(rig.history().len() as u64, last, "a question records nothing");
}

#[test]
fn tombstones_of_the_past_are_those_that_stood_then() {
    let rig = lived();
    let before = at(&rig, "tombstones", 5);
    assert_eq!((&before["tombstones"], &before["version"]), (&json!([]), &json!(5)));
    assert_eq!(before["evidence"]["spans_recorded"], 3);
    let now = rig.call(S, "tombstones", json!({})).unwrap();
    assert_eq!(now["tombstones"][0]["span"], "b");
    let time = now["tombstones"][0]["cause"]["at"].clone();
    let then = rig.call(S, "tombstones", json!({ "at": { "time": time } })).unwrap();
    assert_eq!((&then["tombstones"], &then["as_of"]), (&now["tombstones"], &time));
}

#[test]
fn holds_and_promises_are_those_of_the_moment() {
    let rig = Rig::opened(json!({ "window_tokens": 10_000 }));
    rig.append(json!([user("a", "the first words")]));
    let rules = json!([{ "id": "all", "match": {}, "keep": { "for": "30d" } }]);
    rig.call(R, "policy-set", json!({ "rules": rules })).unwrap();
    // Events of another stream do not count before they happened: the next one of this session comes later.
    rig.append(json!([user("b", "more words")]));
    let held = json!({ "match": { "sessions": "s" }, "reason": "a case" });
    let hold = rig.call(R, "hold", held).unwrap()["hold"].clone();
    rig.append(json!([user("c", "yet more words")]));
    rig.call(R, "release", json!({ "hold": hold, "reason": "closed" })).unwrap();
    rig.append(json!([user("d", "last words")]));
    let of = |version: u64| at(&rig, "durability", version)["spans"][0].clone();
    assert_eq!((&of(2)["durable_until"], &of(2)["holds"]), (&Value::Null, &json!([])));
    assert!(of(3)["durable_until"].is_string() && of(3)["holds"] == json!([]), "{}", of(3));
    assert_eq!(of(4)["holds"], json!([hold]));
    assert_eq!(of(5)["holds"], json!([]));
}

#[test]
fn explain_says_whether_it_could_have_been_recovered_then() {
    let rig = lived();
    let then = |version: u64| {
        let body = json!({ "span": "b", "at": { "version": version } });
        rig.call(S, "explain", body).unwrap()["then"].clone()
    };
    let before = then(2);
    assert_eq!(
        (&before["outcome"], &before["recoverable"]),
        (&json!("never_recorded"), &json!(false))
    );
    assert_eq!(before["evidence"]["spans_recorded"], 1);
    assert_eq!((&then(3)["outcome"], &then(3)["recoverable"]), (&json!("live"), &json!(true)));
    let pruned = then(5);
    assert_eq!((&pruned["outcome"], &pruned["recoverable"]), (&json!("recoverable"), &json!(true)));
    assert_eq!(pruned["verified_at"], rig.history()[4]["at"]);
    let last = rig.history().len() as u64;
    let lost = then(last);
    assert_eq!((&lost["outcome"], &lost["recoverable"]), (&json!("lossy"), &json!(false)));
    assert_eq!(
        (&lost["cause"]["kind"], &lost["cause"]["by"]),
        (&json!("erasure"), &json!("officer"))
    );
    for answer in [before, pruned, lost] {
        assert!(answer["why"].as_str().unwrap().len() > 10, "{answer}");
    }
}

#[test]
fn diff_names_what_changed_and_the_event_that_did_it() {
    let rig = lived();
    let diff = |from: u64, to: u64| {
        let body = json!({ "from": { "version": from }, "to": { "version": to } });
        rig.call(S, "diff", body).unwrap()
    };
    let told = |reply: &Value| -> Vec<(String, String, u64)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let changes = reply["changes"].as_array().unwrap().iter();
        changes
            .map(|c| {
                (text(&c["span"]), text(&c["what"]), c["made_by"]["version"].as_u64().unwrap())
            })
            .collect()
    };
    let of = |span: &str, what: &str, version| (span.to_owned(), what.to_owned(), version);
    let last = rig.history().len() as u64;
    assert_eq!(told(&diff(2, 4)), [of("b", "entered", 3), of("c", "entered", 4)]);
    let pruned = diff(4, 5);
    assert_eq!(told(&pruned), [of("a", "left", 5), of("b", "left", 5)]);
    assert_eq!(
        pruned["changes"][0]["after"],
        json!({ "form": "stub", "under": "p1@prune", "state": "recoverable" })
    );
    assert_eq!(pruned["changes"][0]["made_by"]["why"], "no use");
    assert_eq!(pruned["counts"]["unchanged"], 1);
    assert!(pruned["to"]["budget"]["used_tokens"] != pruned["from"]["budget"]["used_tokens"]);
    assert_eq!(pruned["from"]["evidence"]["head"], rig.history()[3]["hash"]);
    assert_eq!(pruned["to"]["evidence"]["head"], rig.history()[4]["hash"]);
    assert_eq!(told(&diff(5, last)), [of("a", "returned", 6), of("b", "lost", last)]);
    // Over everything what came and went shows as it is in the end.
    assert_eq!(
        told(&rig.call(S, "diff", json!({})).unwrap()),
        [of("a", "entered", 6), of("b", "lost", last), of("c", "entered", 4)]
    );
    let same = diff(4, 4);
    assert_eq!((&same["changes"], &same["counts"]["unchanged"]), (&json!([]), &json!(3)));
    let body = json!({ "from": { "version": 5 }, "to": { "version": 4 } });
    let error = rig.call(S, "diff", body).unwrap_err();
    assert_eq!(error.code, Code::BadRequest);
    assert!(error.message.contains("give the earlier moment as from"), "{}", error.message);
}

#[test]
fn a_diff_that_does_not_fit_comes_in_pages() {
    let rig = Rig::opened(json!({ "window_tokens": 1_000_000 }));
    let spans: Vec<Value> =
        (0..200).map(|n| user(&format!("m{n}"), &format!("words {n}"))).collect();
    rig.append(json!(spans));
    let (mut body, mut found, mut pages) = (json!({}), Vec::new(), 0);
    loop {
        let (page, size) = rig.sized(S, "diff", body.clone(), 8 << 10).unwrap();
        assert!(size <= 8 << 10, "{size}");
        assert_eq!(page["counts"]["entered"], 200);
        let changes = page["changes"].as_array().unwrap().iter();
        found.extend(changes.map(|change| change["span"].as_str().unwrap().to_owned()));
        pages += 1;
        if page["next"].is_null() {
            break;
        }
        body["skip"] = page["next"].clone();
    }
    assert!(pages > 3, "{pages}");
    assert_eq!(found, (0..200).map(|n| format!("m{n}")).collect::<Vec<_>>());
}

#[test]
fn moments_that_no_session_has_are_refused() {
    let rig = lived();
    for verb in ["window", "durability", "tombstones"] {
        for at in [
            json!({ "version": 0 }),
            json!({ "version": 99 }),
            json!({}),
            json!({ "version": 1, "turn": 1 }),
        ] {
            let error = rig.call(S, verb, json!({ "at": at })).unwrap_err();
            assert_eq!(error.code, Code::BadRequest, "{verb} {at}");
        }
        let error =
            rig.call(S, verb, json!({ "at": { "time": "2001-01-01T00:00:00Z" } })).unwrap_err();
        assert!(error.message.contains("not open yet"), "{}", error.message);
    }
}
