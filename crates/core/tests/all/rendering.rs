//! The window as provider requests. Every test's every command is rendered and held to the
//! providers' rules; here are the windows that are hard to put into form, and what they read like.

use lacuna_core::render::{anthropic, openai, text};
use lacuna_core::{NewSpan, Role, SpanKind, stub_text, tombstone_text};
use serde_json::{Value, json};

use crate::scenario::{
    Scenario, assistant, call, drop_spans, id, replace, result, saying, span, spans, thinking,
    withheld,
};

fn chat(s: &Scenario) -> Vec<Value> {
    openai(s.state(), &s.shown())
}

fn messages(s: &Scenario) -> (Vec<Value>, Vec<Value>) {
    anthropic(s.state(), &s.shown())
}

/// A conversation in one line: the role of each message, with the calls made or answered.
fn outline(messages: &[Value]) -> String {
    let line = |message: &Value| {
        let role = message["role"].as_str().unwrap();
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        let mut ids: Vec<&str> = calls.filter_map(|call| call["id"].as_str()).collect();
        ids.extend(message["tool_call_id"].as_str());
        let blocks = message["content"].as_array().into_iter().flatten();
        ids.extend(blocks.filter_map(|b| b["id"].as_str().or(b["tool_use_id"].as_str())));
        if ids.is_empty() { role.to_owned() } else { format!("{role}({})", ids.join(" ")) }
    };
    messages.iter().map(line).collect::<Vec<_>>().join(" ")
}

#[test]
fn parallel_calls_are_one_message_and_their_results_follow_at_once() {
    let s = Scenario::given(vec![
        span("u"),
        assistant("a"),
        call("c1"),
        call("c2"),
        result("r2", "c2"),
        result("r1", "c1"),
        assistant("b"),
    ]);
    assert_eq!(outline(&chat(&s)), "user assistant(c1 c2) tool(c1) tool(c2) assistant");
    assert_eq!(outline(&messages(&s).1), "user assistant(c1 c2) user(c1 c2) assistant");
    let results: Vec<Value> = chat(&s)[2..4].iter().map(|m| m["content"].clone()).collect();
    assert_eq!(results, ["text of r1", "text of r2"], "each behind its own call");
}

#[test]
fn calls_made_after_a_result_are_another_message() {
    let s = Scenario::given(vec![
        span("u"),
        call("c1"),
        result("r1", "c1"),
        call("c2"),
        result("r2", "c2"),
    ]);
    assert_eq!(outline(&chat(&s)), "user assistant(c1) tool(c1) assistant(c2) tool(c2)");
    let expected = "user assistant(c1) user(c1) assistant(c2) user(c2)";
    assert_eq!(outline(&messages(&s).1), expected);
}

#[test]
fn results_that_were_recorded_late_move_up_to_their_call() {
    let s = Scenario::given(vec![
        span("u"),
        call("c1"),
        span("meanwhile"),
        call("c2"),
        result("r1", "c1"),
        assistant("waiting"),
        result("r2", "c2"),
    ]);
    let expected = "user assistant(c1) tool(c1) user assistant(c2) tool(c2) assistant";
    assert_eq!(outline(&chat(&s)), expected);
    let expected = "user assistant(c1) user(c1) assistant(c2) user(c2) assistant";
    assert_eq!(outline(&messages(&s).1), expected);
}

#[test]
fn what_stands_for_a_result_stands_in_its_place() {
    let mut s = Scenario::given(vec![
        span("u"),
        call("c1"),
        call("c2"),
        call("c3"),
        call("c4"),
        result("r1", "c1"),
        result("r2", "c2"),
        result("r3", "c3"),
        result("r3b", "c3"),
    ]);
    s.prune(drop_spans(&["r1", "r3"]));
    s.lose(&["r2"]);
    let handle = |name| stub_text(&s.state().find(&id(name)).unwrap().handle());
    let results: Vec<Value> = chat(&s)[2..].iter().map(|m| m["content"].clone()).collect();
    let expected = [
        handle("r1"),
        tombstone_text(&id("r2")),
        format!("{}\ntext of r3b", handle("r3")),
        "[no result recorded]".to_owned(),
    ];
    assert_eq!(results, expected);
    let blocks = messages(&s).1[2]["content"].clone();
    let contents: Vec<&str> =
        blocks.as_array().unwrap().iter().map(|b| b["content"].as_str().unwrap()).collect();
    assert_eq!(contents, expected);
}

#[test]
fn a_result_behind_a_summary_is_reached_from_its_call_too() {
    let mut s = Scenario::given(vec![span("u"), call("c"), result("r", "c"), assistant("a")]);
    s.summarize("S", &["r", "a"]);
    s.prune(replace(&["r", "a"], "S"));
    let chat = chat(&s);
    assert_eq!(outline(&chat), "user assistant(c) tool(c) user");
    assert_eq!(chat[2]["content"], stub_text(&s.state().find(&id("r")).unwrap().handle()));
    let summary = chat[3]["content"].as_str().unwrap();
    assert!(summary.starts_with("[summary S@"), "{summary}");
    assert!(summary.ends_with("[p1@prune 2 spans replaced; expand to read]"), "{summary}");
}

#[test]
fn a_result_whose_call_left_is_told_in_words() {
    let mut s = Scenario::given(vec![span("u"), call("c"), result("r", "c")]);
    s.lose(&["c"]);
    assert_eq!(s.window(), "u tombstone(c) r");
    assert_eq!(outline(&chat(&s)), "user user user");
    let messages = chat(&s);
    let texts: Vec<&str> =
        messages.iter().map(|message| message["content"].as_str().unwrap()).collect();
    let tombstone = tombstone_text(&id("c"));
    let orphan = "[result of a call outside the window]\ntext of r";
    assert_eq!(texts, ["text of u", tombstone.as_str(), orphan]);
}

#[test]
fn a_window_that_begins_with_the_model_gets_an_opening() {
    let s = Scenario::given(vec![assistant("a"), span("u")]);
    assert_eq!(outline(&chat(&s)), "assistant user");
    let (_, messages) = messages(&s);
    assert_eq!(outline(&messages), "user assistant user");
    assert_eq!(messages[0]["content"][0]["text"], "[the window begins here]");
}

#[test]
fn standing_instructions_keep_their_place_or_move_to_the_front() {
    let of = |role| move |name| NewSpan { role, ..span(name) };
    let (system, developer) = (of(Role::System), of(Role::Developer));
    let s = Scenario::given(vec![
        system("rules"),
        assistant("a"),
        developer("more"),
        assistant("b"),
        NewSpan { role: Role::System, ..saying("blank", "  ") },
    ]);
    assert_eq!(outline(&chat(&s)), "system assistant developer assistant system");
    let (system, messages) = messages(&s);
    let texts: Vec<&Value> = system.iter().map(|block| &block["text"]).collect();
    assert_eq!(texts, ["text of rules", "text of more"]);
    assert_eq!(outline(&messages), "user assistant", "what stood apart is one message now");
}

#[test]
fn blank_texts_never_become_blocks() {
    let blank = |name| saying(name, "");
    let s = Scenario::given(vec![
        blank("first"),
        NewSpan { role: Role::Assistant, ..saying("spaces", " \n") },
        span("u"),
        thinking("t", ""),
        NewSpan { content: blank("r").content, digest: blank("r").digest, ..call("c") },
        NewSpan { content: blank("r").content, digest: blank("r").digest, ..result("r", "c") },
        blank("last"),
    ]);
    let (_, messages) = messages(&s);
    assert_eq!(outline(&messages), "user assistant(c) user(c)");
    assert_eq!(messages[2]["content"], json!([{ "type": "tool_result", "tool_use_id": "c" }]));
    assert_eq!(outline(&chat(&s)), "user assistant user assistant(c) tool(c) user");
}

#[test]
fn signed_reasoning_goes_back_as_it_came_and_other_reasoning_in_words() {
    let signed = json!({ "type": "thinking", "thinking": "hm", "signature": "c2ln" });
    let redacted = json!({ "type": "redacted_thinking", "data": "eHl6" });
    let s = Scenario::given(vec![
        span("u"),
        thinking("t1", &signed.to_string()),
        thinking("t2", &redacted.to_string()),
        thinking("t3", "plain"),
        assistant("a"),
    ]);
    let (_, messages) = messages(&s);
    let said = json!({ "type": "text", "text": "<thinking>\nplain\n</thinking>" });
    let answer = json!({ "type": "text", "text": "text of a" });
    assert_eq!(messages[1]["content"], json!([signed, redacted, said, answer]));
    let content = chat(&s)[1]["content"].as_str().unwrap().to_owned();
    assert!(content.starts_with("<thinking>\nhm\n</thinking>"), "{content}");
}

/// The provider refuses a request whose reasoning lacks its signature.
#[test]
fn reasoning_that_only_looks_signed_is_put_into_words() {
    for unsigned in [
        json!({ "type": "thinking", "thinking": "hm" }),
        json!({ "type": "thinking", "signature": "c2ln" }),
        json!({ "type": "thinking", "thinking": 7, "signature": "c2ln" }),
        json!({ "type": "redacted_thinking" }),
    ] {
        let s = Scenario::given(vec![span("u"), thinking("t", &unsigned.to_string())]);
        let block = messages(&s).1[1]["content"][0].clone();
        assert_eq!(block["type"], "text", "{unsigned} became {block}");
    }
}

#[test]
fn reasoning_between_two_calls_stays_between_them() {
    let signed = json!({ "type": "thinking", "thinking": "hm", "signature": "c2ln" });
    let s = Scenario::given(vec![
        span("u"),
        call("c1"),
        thinking("t", &signed.to_string()),
        call("c2"),
        result("r1", "c1"),
        result("r2", "c2"),
    ]);
    let (_, messages) = messages(&s);
    assert_eq!(outline(&messages), "user assistant(c1) user(c1) assistant(c2) user(c2)");
    assert_eq!(messages[3]["content"][0], signed);
}

#[test]
fn images_are_shown_where_a_provider_takes_them() {
    let png = |name, bytes: &[u8]| NewSpan {
        media_type: "image/png".into(),
        kind: SpanKind::File,
        ..saying(name, bytes)
    };
    let s = Scenario::given(vec![
        span("u"),
        png("shot", &[0x89, b'P', b'N', b'G']),
        NewSpan { role: Role::Assistant, ..png("drawn", &[0xff, 0]) },
        NewSpan { media_type: "image/tiff".into(), ..saying("scan", [0xff, 0]) },
        NewSpan { media_type: "application/pdf".into(), ..saying("pdf", [0xff, 1]) },
    ]);
    let shot = chat(&s)[1]["content"].clone();
    assert_eq!(shot[0]["image_url"]["url"], "data:image/png;base64,iVBORw==");
    let source = json!({ "type": "base64", "media_type": "image/png", "data": "iVBORw==" });
    assert_eq!(messages(&s).1[0]["content"][1]["source"], source);
    let handle = s.state().find(&id("scan")).unwrap().handle();
    let said = chat(&s)[3]["content"].clone();
    assert_eq!(said, format!("[{handle}: 2 bytes of image/tiff]"));
    let empty = Scenario::given(vec![span("u"), png("empty", b"")]);
    assert_eq!(messages(&empty).1.len(), 1, "an image of no bytes is no image block");
}

#[test]
fn call_ids_are_plain_and_no_two_meet() {
    let long = "x".repeat(128);
    let other = format!("{}y", "x".repeat(127));
    let forty = "z".repeat(40);
    let names = ["a.b", "a:b", "a_b", long.as_str(), other.as_str(), forty.as_str(), "call_1"];
    let mut given: Vec<NewSpan> = names.iter().map(|name| call(name)).collect();
    // Ids that the rewritten ones might take: the first call is span 0.
    given.extend((0..7).map(|n| call(&format!("a_b_{n}"))));
    let pad = 40 - "a_b".len() - 2;
    given.push(call(&format!("a_b{}_0", "_".repeat(pad))));
    // That no two are equal is one of the rules that every rendering is held to.
    let s = Scenario::given(given);
    let calls = chat(&s)[0]["tool_calls"].as_array().unwrap().clone();
    assert_eq!(calls.len(), 15);
    let kept: Vec<&str> = ["a_b", "call_1", "a_b_0", "a_b_6"].into();
    for name in kept {
        assert!(calls.iter().any(|call| call["id"] == name), "{name} was rewritten for no reason");
    }
}

#[test]
fn tool_names_and_arguments_of_any_shape_are_put_into_form() {
    let long = format!(r#"{{"name":"{}","arguments":{{}}}}"#, "n".repeat(90));
    let cases = [
        (r#"{"name":"fs/read é","input":{"path":"a"}}"#, "fs_read__", json!({ "path": "a" })),
        (r#"{"name":"","arguments":{}}"#, "tool", json!({})),
        (r#"{"name":"f"}"#, "f", json!({})),
        (r#"{"name":"f","arguments":"{\"a\":1}"}"#, "f", json!({ "a": 1 })),
        (r#"{"name":"f","arguments":"{broken"}"#, "f", json!({ "arguments": "{broken" })),
        (r#"{"name":"f","arguments":[1]}"#, "f", json!({ "arguments": [1] })),
        (r#"{"name":7}"#, "tool", json!({ "content": r#"{"name":7}"# })),
        ("ls -l", "tool", json!({ "content": "ls -l" })),
        (long.as_str(), &"n".repeat(64), json!({})),
    ];
    for (content, name, input) in cases {
        let shape = saying("c", content);
        let s = Scenario::given(vec![NewSpan {
            content: shape.content,
            digest: shape.digest,
            ..call("c")
        }]);
        let block = messages(&s).1[1]["content"][0].clone();
        assert_eq!((block["name"].as_str(), &block["input"]), (Some(name), &input), "{content}");
        let function = chat(&s)[0]["tool_calls"][0]["function"].clone();
        assert_eq!(function["name"], name, "{content}");
        assert!(function["arguments"].is_string(), "{function}");
    }
}

#[test]
fn the_text_form_reads_like_the_window() {
    let mut s = Scenario::given(vec![span("a"), span("b"), withheld("key"), assistant("c")]);
    s.append(spans(&["d", "e"]));
    s.summarize("S", &["d", "e"]);
    s.prune(drop_spans(&["a"]));
    s.prune(replace(&["d", "e"], "S"));
    s.lose(&["b"]);
    let a = s.state().find(&id("a")).unwrap().handle();
    let expected = [
        format!("[{a} pruned; expand to read]"),
        "b: pruned, unrecoverable, contents unknown".into(),
        "--- key user message".into(),
        "[key: withheld, 9 bytes never stored: a secret]".into(),
        "--- c assistant message".into(),
        "text of c".into(),
        "--- S user summary".into(),
        format!("{:-<100}", "S"),
        "[p2@prune 2 spans replaced; expand to read]\n".into(),
    ];
    assert_eq!(text(s.state(), &s.shown()), expected.join("\n"));
}
