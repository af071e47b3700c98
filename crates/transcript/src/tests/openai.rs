//! OpenAI chat messages.

use lacuna_core::{Origin, Role, SpanKind};

use super::{file, import, noted, one, who};
use crate::Format::OpenaiChat;
use crate::replay::{Replay, bytes};

#[test]
fn roles_calls_and_results_become_spans() {
    let text = r#"{"id":"conv-1234","messages":[
      {"role":"system","content":"Be brief."},
      {"role":"developer","content":"Use tools."},
      {"role":"user","content":[{"type":"text","text":"Weather?"},{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,AAEC"}}],"name":"eve"},
      {"role":"assistant","content":"","reasoning_content":"look it up","tool_calls":[
        {"id":"call_a","type":"function","function":{"name":"get","arguments":"{\"q\": 1}"}},
        {"id":"call_b","type":"function","index":1,"function":{"name":"get","arguments":"{broken"}}]},
      {"role":"tool","tool_call_id":"call_b","content":"B"},
      {"role":"tool","tool_call_id":"call_a","content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]},
      {"role":"assistant","content":null,"refusal":"No."}],
      "tools":[{"type":"function"}]}"#;
    let (session, replay) = one(OpenaiChat, text);
    assert_eq!(session.name.as_str(), "conv-1234");
    assert_eq!(
        replay.live(),
        [
            "m0",
            "m1",
            "m2.0",
            "m2.1",
            "m3.think",
            "call_a",
            "call_b",
            "call_b.result",
            "call_a.result",
            "m6.refusal"
        ]
    );
    assert_eq!(who(replay.span("m0")), (Role::System, Origin::System, SpanKind::Message));
    assert_eq!(who(replay.span("m1")), (Role::Developer, Origin::System, SpanKind::Message));
    assert_eq!(replay.span("m2.0").labels["name"], "eve");
    assert_eq!(bytes(replay.span("m2.1")), [0, 1, 2]);
    assert_eq!(replay.span("m2.1").media_type, "image/jpeg");
    assert_eq!(who(replay.span("m3.think")), (Role::Assistant, Origin::Model, SpanKind::Thinking));
    assert_eq!(
        replay.content("call_a"),
        r#"{"id":"call_a","name":"get","arguments":"{\"q\": 1}"}"#
    );
    assert!(replay.content("call_b").ends_with(r#""arguments":"{broken"}"#));
    assert!(noted(&session, "tool arguments that are no JSON, kept as text: 1 (first: call_b)"));
    assert_eq!(replay.span("call_b.result").answers.as_ref().unwrap().as_str(), "call_b");
    assert_eq!(replay.span("call_a.result").media_type, "application/json");
    assert_eq!(replay.span("m6.refusal").labels["refusal"], "true");
    assert_eq!(replay.content("m3.rest"), r#"{"tool_calls.1":{"index":1}}"#);
    assert_eq!(replay.content("around0"), r#"{"id":"conv-1234","tools":[{"type":"function"}]}"#);
    assert_eq!(session.report.records, 7);
}

#[test]
fn old_function_calls_and_results_without_ids_pair_by_position() {
    let text = r#"{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}
{"role":"function","name":"f","content":"1"}
{"role":"assistant","content":null,"tool_calls":[{"id":"a","name":"g","arguments":{"x":1},"requestor":"assistant"},{"id":"b","name":"h","arguments":{}}]}
{"role":"tool","content":"A"}
{"role":"tool","content":"B"}
{"role":"tool","content":"C"}
"#;
    let (session, replay) = one(OpenaiChat, text);
    assert_eq!(session.name.as_str(), "file");
    assert_eq!(
        replay.live(),
        ["m0.call", "m1.result", "a", "b", "m3.result", "m4.result", "m5.result"]
    );
    let answers = |id: &str| replay.span(id).answers.as_ref().map(ToString::to_string);
    assert_eq!(answers("m1.result").as_deref(), Some("m0.call"));
    assert_eq!(answers("m3.result").as_deref(), Some("a"));
    assert_eq!(answers("m4.result").as_deref(), Some("b"));
    assert_eq!(answers("m5.result"), None);
    assert_eq!(replay.span("m3.result").labels["paired"], "position");
    assert_eq!(replay.content("a"), r#"{"id":"a","name":"g","arguments":{"x":1}}"#);
    assert!(noted(&session, "tool results without an earlier call in this session: 1"));
}

#[test]
fn every_conversation_in_a_file_is_a_session() {
    let text = r#"[{"task_id":0,"trial":1,"reward":0.5,"traj":[{"role":"user","content":"a"}]},
        {"task_id":0,"trial":2,"traj":[{"role":"user","content":"b"}]},
        {"stray":true}]"#;
    let sessions = import(OpenaiChat, &[file("d/tau.json", text), file("d/empty.json", " ")]);
    let names: Vec<_> = sessions.iter().map(|session| session.name.as_str()).collect();
    assert_eq!(names, ["tau-0-1", "tau-0-2"]);
    let first = Replay::of(&sessions[0]);
    assert_eq!(first.content("around0"), r#"{"task_id":0,"trial":1,"reward":0.5}"#);
    assert!(noted(&sessions[0], "empty files in this import: 1 (first: d/empty.json)"));
    assert_eq!(
        {
            let r = Replay::of(&sessions[1]);
            r.content(&r.nameless(1))
        },
        r#"{"stray":true}"#
    );
}

#[test]
fn wrapped_conversations_are_found_and_their_wrappers_kept() {
    let text = r#"{"corpus":"c","records":[{"id":"rec-alpha","raw":{"messages":[{"role":"user","content":"a"}],"k":1},"gold":[2]}]}"#;
    let (session, replay) = one(OpenaiChat, text);
    assert_eq!(session.name.as_str(), "file");
    let around: Vec<_> = ["around0", "around1", "around2"].map(|id| replay.content(id)).into();
    assert_eq!(around, [r#"{"corpus":"c"}"#, r#"{"id":"rec-alpha","gold":[2]}"#, r#"{"k":1}"#]);
    assert_eq!(replay.live(), ["m0"]);
}

#[test]
fn a_logged_response_ends_the_conversation() {
    let text = r#"{"messages":[{"role":"user","content":"a"}],"cost":1,"response":{"id":"r","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"b"}}],"usage":{"n":1}}}"#;
    let (_, replay) = one(OpenaiChat, text);
    assert_eq!(replay.live(), ["m0", "m1"]);
    assert_eq!(replay.content("m1"), "b");
    let around: Vec<_> = ["around0", "around1", "around2"].map(|id| replay.content(id)).into();
    assert_eq!(
        around,
        [r#"{"cost":1}"#, r#"{"id":"r","usage":{"n":1}}"#, r#"{"index":0,"finish_reason":"stop"}"#]
    );
}

#[test]
fn messages_that_are_none_are_kept_raw() {
    let text = r#"{"messages":[{"role":"user","content":"a"},{"role":"alien","content":"b"},7,{"role":"assistant"}]}"#;
    let (session, replay) = one(OpenaiChat, text);
    assert_eq!(replay.live(), ["m0", "m3"]);
    assert_eq!(replay.content("m3"), "");
    assert_eq!(replay.content(&replay.nameless(1)), r#"{"role":"alien","content":"b"}"#);
    assert_eq!(session.report.raw["not-a-message"], 2);
}
