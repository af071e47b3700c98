//! OpenHands V0 and V1.

use lacuna_core::{Origin, Role, SpanKind};

use super::{file, import, noted, one, who};
use crate::Format::Openhands;
use crate::Step;
use crate::replay::Replay;

fn message(id: &str, source: &str, role: &str, text: &str) -> String {
    format!(
        r#"{{"id":"{id}","timestamp":"2026-01-01T00:00:00.1","source":"{source}","llm_message":{{"role":"{role}","content":[{{"type":"text","text":"{text}","cache_prompt":false}}]}},"kind":"MessageEvent"}}"#
    )
}

fn action(id: &str, call: &str) -> String {
    format!(
        r#"{{"id":"{id}","timestamp":"t","source":"agent","thought":[{{"type":"text","text":"try {call}"}}],"reasoning_content":"why","thinking_blocks":[{{"type":"thinking","thinking":"why","signature":"s"}}],"action":{{"kind":"RunAction","command":"x"}},"tool_name":"run","tool_call_id":"{call}","tool_call":{{"id":"{call}","name":"run","arguments":"{{\"command\": \"x\"}}"}},"llm_response_id":"r1","kind":"ActionEvent"}}"#
    )
}

fn observation(id: &str, action: &str, call: &str) -> String {
    format!(
        r#"{{"id":"{id}","timestamp":"t","source":"environment","tool_name":"run","tool_call_id":"{call}","action_id":"{action}","observation":{{"kind":"RunObservation","content":[{{"type":"text","text":"out {call}"}}],"is_error":true,"exit_code":3}},"kind":"ObservationEvent"}}"#
    )
}

#[test]
fn a_folder_of_events_is_one_session_in_the_order_of_its_indices() {
    let system = r#"{"id":"sys","timestamp":"t","source":"agent","system_prompt":{"type":"text","text":"You are."},"dynamic_context":{"type":"text","text":"Today."},"tools":[{"kind":"T"}],"kind":"SystemPromptEvent"}"#;
    let state = r#"{"id":"conv","agent":{},"workspace":{}}"#;
    let status = r#"{"id":"st","timestamp":"t","source":"environment","key":"k","value":1,"kind":"ConversationStateUpdateEvent"}"#;
    let files = [
        file("c1/events/event-100000-z.json", message("last", "agent", "assistant", "Done.")),
        file("c1/events/event-99998-y.json", observation("o1", "a1", "call_1")),
        file("c1/events/event-00002-d.json", action("a1", "call_1")),
        file("c1/events/event-00001-c.json", message("u1", "user", "user", "Run it.")),
        file("c1/events/event-00000-b.json", system),
        file("c1/events/event-00003-b.json", status),
        file("c1/base_state.json", state),
    ];
    let mut sessions = import(Openhands, &files);
    assert_eq!(sessions.len(), 1);
    let session = sessions.remove(0);
    let replay = Replay::of(&session);
    assert_eq!(session.name.as_str(), "c1");
    assert_eq!(
        replay.live(),
        ["sys", "sys.context", "u1", "a1.think0", "a1.thought", "call_1", "call_1.result", "last"]
    );
    assert_eq!(who(replay.span("sys")), (Role::System, Origin::System, SpanKind::Message));
    assert_eq!(who(replay.span("sys.context")), (Role::System, Origin::Harness, SpanKind::Message));
    assert_eq!(replay.content("u1"), "Run it.");
    assert_eq!(
        replay.content("a1.think0"),
        r#"{"type":"thinking","thinking":"why","signature":"s"}"#
    );
    assert_eq!(
        replay.content("call_1"),
        r#"{"id":"call_1","name":"run","arguments":"{\"command\": \"x\"}"}"#
    );
    let result = replay.span("call_1.result");
    assert_eq!(who(result), (Role::Tool, Origin::Tool, SpanKind::ToolResult));
    assert_eq!(replay.content("call_1.result"), "out call_1");
    assert_eq!(result.answers.as_ref().unwrap().as_str(), "call_1");
    assert_eq!(result.labels["is_error"], "true");
    assert_eq!(
        replay.content("o1.rest"),
        r#"{"observation":{"kind":"RunObservation","exit_code":3}}"#
    );
    assert_eq!(replay.content("conv"), state);
    assert_eq!(replay.content("st"), status);
    assert!(noted(&session, "event files that are missing: 99995"));
}

#[test]
fn refusals_and_errors_answer_their_call_as_the_harness() {
    let refused = r#"{"id":"r1","timestamp":"t","source":"environment","action_id":"a1","tool_call_id":"call_1","tool_name":"run","rejection_reason":"not now","kind":"UserRejectObservation"}"#;
    let error = r#"{"id":"r2","timestamp":"t","source":"agent","tool_call_id":"call_2","tool_name":"run","error":"no such tool","kind":"AgentErrorEvent"}"#;
    let text =
        [action("a1", "call_1"), refused.to_owned(), action("a2", "call_2"), error.to_owned()];
    let (_, replay) = one(Openhands, &text.join("\n"));
    for (id, text) in [("call_1.result", "not now"), ("call_2.result", "no such tool")] {
        assert_eq!(who(replay.span(id)), (Role::Tool, Origin::Harness, SpanKind::ToolResult));
        assert_eq!(replay.content(id), text);
        assert!(replay.span(id).answers.is_some());
    }
}

#[test]
fn a_condensation_takes_exactly_its_forgotten_events() {
    let condense = |id: &str, forgotten: &str, summary: &str| {
        format!(
            r#"{{"id":"{id}","timestamp":"t","source":"environment","forgotten_event_ids":[{forgotten}],"summary":{summary},"summary_offset":1,"llm_response_id":"r","kind":"Condensation"}}"#
        )
    };
    let text = [
        message("u1", "user", "user", "one"),
        action("a1", "call_1"),
        observation("o1", "a1", "call_1"),
        action("a2", "call_2"),
        observation("o2", "a2", "call_2"),
        condense("c1", r#""u1","a1","o1","gone""#, r#""Did one.""#),
        message("u2", "user", "user", "two"),
        // The call's event without its result's: the call has to stay.
        condense("c2", r#""a2","u2""#, r#""Did two.""#),
        condense("c3", r#""o2""#, "null"),
        condense("c4", "", r#""Nothing new.""#),
    ];
    let (session, replay) = one(Openhands, &text.join("\n"));
    let summaries: Vec<_> = session
        .steps
        .iter()
        .filter_map(|step| match step {
            Step::Summarize { id, covers, .. } => {
                Some(format!("{id}: {covers:?}").replace('"', ""))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        summaries,
        [
            "c1: [u1, a1.think0, a1.thought, call_1, call_1.result]",
            "c2: [a2.think0, a2.thought, call_2, u2, c1]",
            "c4: [c2]",
        ]
    );
    assert_eq!(replay.live(), ["call_2", "c4"]);
    assert!(noted(&session, "tool calls left in the window, because a result of theirs stays: 1"));
    assert!(noted(&session, "forgotten events that are not in this transcript: 1"));
    assert_eq!(
        replay.content("c1.rest"),
        r#"{"source":"environment","forgotten_event_ids":["u1","a1","o1","gone"],"summary_offset":1,"llm_response_id":"r"}"#
    );
}

fn v0(id: u64, fields: &str) -> String {
    format!(
        r#"{{"id":{id},"timestamp":"2025-01-01T00:00:00","message":"for people {id}",{fields}}}"#
    )
}

#[test]
fn v0_trajectories_pair_by_call_and_by_cause() {
    let metadata = r#""tool_call_metadata":{"function_name":"execute_bash","tool_call_id":"toolu_1","model_response":{"choices":[{"message":{"role":"assistant","content":"Listing.","tool_calls":[{"id":"toolu_1","function":{"name":"execute_bash","arguments":"{\"command\":  \"ls\"}"}}]}}]}}"#;
    let text = [
        v0(
            0,
            r#""source":"agent","action":"system","args":{"content":"You are.","tools":[{"x":1}]}"#,
        ),
        v0(
            1,
            r#""source":"user","action":"message","args":{"content":"List.","image_urls":["data:image/png;base64,AAEC"]}"#,
        ),
        v0(
            2,
            r#""source":"environment","observation":"agent_state_changed","content":"","extras":{"agent_state":"running"}"#,
        ),
        v0(
            3,
            &format!(
                r#""source":"agent","action":"run","args":{{"command":"ls","thought":"Listing."}},{metadata}"#
            ),
        ),
        v0(
            4,
            &format!(
                r#""source":"agent","observation":"run","cause":3,"content":"a b","extras":{{"exit_code":0}},{metadata}"#
            ),
        ),
        v0(5, r#""source":"agent","action":"browse","args":{"url":"u"}"#),
        v0(6, r#""source":"agent","observation":"browse","cause":5,"content":"page","extras":{}"#),
        v0(7, r#""source":"agent","observation":"error","content":"bad call","extras":{}"#),
        v0(
            8,
            r#""source":"environment","observation":"recall","content":"Added","extras":{"date":"2025"}"#,
        ),
        v0(
            9,
            r#""source":"agent","action":"condensation","args":{"forgotten_events_start_id":1,"forgotten_events_end_id":18446744073709551615,"summary":"Listed.","summary_offset":1}"#,
        ),
    ];
    let document = format!(
        r#"{{"instance_id":"inst-one","history":[{}],"error":null,"test_result":{{"ok":1}}}}"#,
        text.join(",")
    );
    let (session, replay) = one(Openhands, &document);
    assert_eq!(session.name.as_str(), "inst-one");
    assert_eq!(replay.live(), ["e0", "e9"]);
    assert_eq!(who(replay.span("e0")), (Role::System, Origin::System, SpanKind::Message));
    assert_eq!(who(replay.span("e1.image")), (Role::User, Origin::User, SpanKind::File));
    assert_eq!(replay.content("e3.thought"), "Listing.");
    // As the model wrote them, not as the harness read them.
    assert_eq!(
        replay.content("toolu_1"),
        r#"{"id":"toolu_1","name":"execute_bash","arguments":"{\"command\":  \"ls\"}"}"#
    );
    assert_eq!(replay.span("toolu_1.result").answers.as_ref().unwrap().as_str(), "toolu_1");
    assert_eq!(replay.content("e5.call"), r#"{"id":null,"name":"browse","arguments":{"url":"u"}}"#);
    let result = replay.span("e5.call.result");
    assert_eq!(result.answers.as_ref().unwrap().as_str(), "e5.call");
    assert_eq!(result.source.as_ref().unwrap().parent.as_deref(), Some("5"));
    assert_eq!(who(replay.span("e7")), (Role::User, Origin::Harness, SpanKind::Note));
    assert_eq!(replay.content("e8"), r#"{"date":"2025"}"#);
    // The response stands once, though two events carry it.
    let kept = |id: &str| replay.content(id).contains("model_response");
    assert_eq!((kept("e3.rest"), kept("e4.rest")), (true, false));
    assert_eq!(replay.content("around0"), r#"{"instance_id":"inst-one","test_result":{"ok":1}}"#);
    assert_eq!(session.report.pruned, 9);
}

#[test]
fn events_of_unknown_kinds_are_kept_raw() {
    let odd = r#"{"id":"x","timestamp":"t","source":"agent","kind":"FutureEvent","deep":[1]}"#;
    let twice = message("u1", "user", "user", "hi");
    let hook = message("h1", "hook", "user", "injected");
    let (session, replay) = one(Openhands, &format!("{odd}\n{twice}\n{twice}\n{hook}\n17\n"));
    assert_eq!(replay.content("x"), odd);
    assert_eq!(replay.span("h1").origin, Origin::Harness);
    assert_eq!(replay.live(), ["u1", "h1"]);
    let raw: Vec<_> = session.report.raw.iter().map(|(kind, n)| (kind.as_str(), *n)).collect();
    assert_eq!(raw, [("FutureEvent", 1), ("duplicate", 1), ("not-an-event", 1)]);
}
