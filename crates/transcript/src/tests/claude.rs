//! Claude Code: origins, ids, pairing, sessions.

use lacuna_core::{Origin, Role, SpanKind};

use super::{file, import, noted, one, who};
use crate::Format::ClaudeCode;
use crate::replay::{Replay, bytes};

fn user(uuid: &str, content: &str, more: &str) -> String {
    format!(
        r#"{{"type":"user","uuid":"{uuid}","parentUuid":null,"sessionId":"s","timestamp":"2025-01-01T00:00:00Z","cwd":"/w","message":{{"role":"user","content":{content}}}{more}}}"#
    )
}

fn assistant(uuid: &str, content: &str, more: &str) -> String {
    format!(
        r#"{{"type":"assistant","uuid":"{uuid}","parentUuid":"p","sessionId":"s","cwd":"/w","requestId":"req1","message":{{"role":"assistant","type":"message","id":"msg1","model":"m-1","content":{content},"usage":{{"input_tokens":3}}}}{more}}}"#
    )
}

#[test]
fn one_block_is_one_span_with_its_true_origin() {
    let text = [
        user("u1", r#""Fix the parser.""#, ""),
        assistant(
            "a1",
            r#"[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"On it."},{"type":"tool_use","id":"toolu_1","name":"Read","input":{"path":"x.rs","b": 1.50,"a":2}}]"#,
            "",
        ),
        user(
            "u2",
            r#"[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"fn main(){}"}],"is_error":true}]"#,
            r#","toolUseResult":{"file":{"lines":1}}"#,
        ),
        user("u3", r#""Thanks.""#, r#","isMeta":false"#),
    ]
    .join("\n");
    let (session, replay) = one(ClaudeCode, &text);
    assert_eq!(session.name.as_str(), "s");
    assert_eq!(replay.live(), ["u1", "a1.0", "a1.1", "toolu_1", "toolu_1.result", "u3"]);
    assert_eq!(who(replay.span("u1")), (Role::User, Origin::User, SpanKind::Message));
    assert_eq!(who(replay.span("a1.0")), (Role::Assistant, Origin::Model, SpanKind::Thinking));
    // Signed thinking stays what the provider will check.
    assert_eq!(replay.content("a1.0"), r#"{"type":"thinking","thinking":"hm","signature":"c2ln"}"#);
    assert_eq!(replay.content("a1.1"), "On it.");
    // Arguments exactly as written: order and spelling of numbers.
    assert_eq!(
        replay.content("toolu_1"),
        r#"{"id":"toolu_1","name":"Read","arguments":{"path":"x.rs","b": 1.50,"a":2}}"#
    );
    let result = replay.span("toolu_1.result");
    assert_eq!(who(result), (Role::Tool, Origin::Tool, SpanKind::ToolResult));
    assert_eq!(replay.content("toolu_1.result"), "fn main(){}");
    assert_eq!(result.media_type, "text/plain");
    assert_eq!(result.answers.as_ref().unwrap().as_str(), "toolu_1");
    assert_eq!(result.labels["is_error"], "true");
    assert_eq!(result.turn, Some(1));
    assert_eq!(replay.span("u3").turn, Some(2));
    let first = replay.span("a1.0");
    assert_eq!(first.labels["requestId"], "req1");
    assert_eq!(first.labels["message.model"], "m-1");
    let source = first.source.as_ref().unwrap();
    assert_eq!((source.id.as_deref(), source.parent.as_deref()), (Some("a1"), Some("p")));
    let source = replay.span("u1").source.clone().unwrap();
    assert_eq!(source.time.as_deref(), Some("2025-01-01T00:00:00Z"));
    // What spans cannot express is kept beside them.
    assert_eq!(replay.content("a1.rest"), r#"{"message":{"usage":{"input_tokens":3}}}"#);
    assert_eq!(replay.span("a1.rest").labels["of"], "a1.0");
    assert_eq!(replay.content("u2.rest"), r#"{"toolUseResult":{"file":{"lines":1}}}"#);
    assert_eq!(replay.content("u1.env"), r#"{"cwd":"/w"}"#);
    let raw: Vec<_> = session.report.raw.iter().map(|(kind, n)| (kind.as_str(), *n)).collect();
    assert_eq!(raw, [("envelope", 1), ("remainder:assistant", 1), ("remainder:user", 1)]);
    assert_eq!(session.report.notes, [""; 0]);
}

#[test]
fn what_the_harness_wrote_is_not_the_users() {
    let cases = [
        (r#""plain words""#, "", Origin::User),
        (r#""<bash-input>ls</bash-input>""#, "", Origin::User),
        (r#""<bash-stdout>x</bash-stdout>""#, "", Origin::Harness),
        (r#""anything""#, r#","isMeta":true"#, Origin::Harness),
        (
            r#""<command-name>/exit</command-name><command-args></command-args>""#,
            "",
            Origin::Harness,
        ),
        (
            r#""<command-name>/review</command-name><command-args>only src</command-args>""#,
            "",
            Origin::User,
        ),
        (r#"[{"type":"text","text":"[Request interrupted by user]"}]"#, "", Origin::Harness),
        (r#""\n<system-reminder>be brief</system-reminder>""#, "", Origin::Harness),
        (r#""done""#, r#","origin":{"kind":"task-notification"}"#, Origin::Harness),
        (r#""done""#, r#","origin":{"kind":"human"}"#, Origin::User),
    ];
    for (content, more, origin) in cases {
        let (_, replay) = one(ClaudeCode, &user("u1", content, more));
        let span = replay.span("u1");
        assert_eq!((span.role, span.origin), (Role::User, origin), "{content}");
        assert_eq!(span.turn, Some(u64::from(origin != Origin::Harness)), "{content}");
    }
}

#[test]
fn synthetic_messages_are_the_harness_and_notices_are_not_shown() {
    let said = r#"{"type":"assistant","uuid":"a1","sessionId":"s","message":{"role":"assistant","model":"<synthetic>","content":[{"type":"text","text":"No response requested."}]}}"#;
    let notice = said
        .replace("a1", "a2")
        .replace("\"message\":{", "\"isApiErrorMessage\":true,\"message\":{");
    let (_, replay) = one(ClaudeCode, &format!("{said}\n{notice}\n"));
    assert_eq!(who(replay.span("a1")), (Role::Assistant, Origin::Harness, SpanKind::Message));
    assert_eq!(replay.live(), ["a1"]);
    assert_eq!(replay.span("a2").labels["isApiErrorMessage"], "true");
}

#[test]
fn records_outside_the_conversation_are_kept_byte_for_byte() {
    let progress =
        r#"{"type":"progress", "uuid":"p1","sessionId":"s","data":{"type":"bash_progress"}}"#;
    let title = r#"{"type":"summary","summary":"A title","leafUuid":"u1"}"#;
    let hook = r#"{"type":"attachment","uuid":"h1","sessionId":"s","attachment":{"type":"hook_success","hookEvent":"Stop","content":"x"}}"#;
    let text = format!("{title}\n{progress}\n{hook}\n[1]\n{}\n", user("u1", r#""hi""#, ""));
    let (session, replay) = one(ClaudeCode, &text);
    assert_eq!(replay.live(), ["u1"]);
    assert_eq!(replay.content("p1"), progress);
    assert_eq!(replay.content(&replay.nameless(1)), title);
    assert_eq!(replay.content(&replay.nameless(2)), "[1]");
    assert_eq!(replay.span("h1").labels["raw"], "attachment:hook_success");
    assert_eq!(session.report.records, 5);
    assert_eq!((session.report.understood, session.report.kept_raw), (1, 4));
}

#[test]
fn attachments_that_the_model_sees_are_in_the_window() {
    let attachment =
        r#"{"type":"nested_memory","path":"/w/NOTES.md","content":{"content":"be kind"}}"#;
    let memory =
        format!(r#"{{"type":"attachment","uuid":"m1","sessionId":"s","attachment":{attachment}}}"#);
    let queued = r#"{"type":"attachment","uuid":"q1","sessionId":"s","attachment":{"type":"queued_command","prompt":"also the docs","commandMode":"prompt","source_uuid":"z"}}"#;
    let task = queued.replace("q1", "q2").replace("\"prompt\",", "\"task-notification\",");
    let (_, replay) = one(ClaudeCode, &format!("{memory}\n{queued}\n{task}\n"));
    assert_eq!(replay.live(), ["m1", "q1", "q2"]);
    assert_eq!(who(replay.span("m1")), (Role::User, Origin::Harness, SpanKind::File));
    assert_eq!(replay.content("m1"), attachment);
    assert_eq!(replay.content("q1"), "also the docs");
    assert_eq!(replay.span("q1").origin, Origin::User);
    assert_eq!(replay.span("q2").origin, Origin::Harness);
    assert_eq!(
        replay.content("q1.rest"),
        r#"{"attachment":{"commandMode":"prompt","source_uuid":"z"}}"#
    );
}

#[test]
fn a_result_without_its_call_and_one_before_it_answer_nothing() {
    let result = |uuid: &str, call: &str| {
        user(
            uuid,
            &format!(r#"[{{"type":"tool_result","tool_use_id":"{call}","content":"r"}}]"#),
            "",
        )
    };
    let call = assistant("a1", r#"[{"type":"tool_use","id":"toolu_2","name":"X","input":{}}]"#, "");
    let text = [result("u1", "toolu_1"), result("u2", "toolu_2"), call, result("u3", "toolu_2")];
    let (session, replay) = one(ClaudeCode, &text.join("\n"));
    assert_eq!(replay.span("toolu_1.result").answers, None);
    assert_eq!(replay.span("toolu_1.result").labels["call"], "toolu_1");
    assert_eq!(replay.span("toolu_2.result").answers, None);
    assert_eq!(replay.span("toolu_2.result.d2").answers.as_ref().unwrap().as_str(), "toolu_2");
    assert!(noted(&session, "tool results without an earlier call in this session: 2"));
    assert!(noted(&session, "tool calls that stand behind their result: 1"));
}

#[test]
fn repeated_records_are_kept_raw_and_repeated_uuids_get_new_ids() {
    let first = user("u1", r#""hi""#, "");
    let resumed = first.replace("2025-01-01", "2025-02-02");
    let other = user("u1", r#""something else""#, "");
    let (session, replay) = one(ClaudeCode, &format!("{first}\n{resumed}\n{other}\n"));
    assert_eq!(replay.live(), ["u1", "u1.d3"]);
    assert_eq!(replay.content("u1.d2"), resumed);
    assert_eq!(replay.span("u1.d2").labels["raw"], "duplicate:user");
    assert!(noted(&session, "records repeated under the same uuid, kept raw: 1 (first: u1)"));
    assert!(noted(&session, "uuids that stand for two different records: 1"));
}

#[test]
fn images_become_files_and_stay_text_when_they_do_not_decode() {
    let image = |data: &str| {
        format!(
            r#"{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{data}"}}}}"#
        )
    };
    let shown = user("u1", &format!(r#"[{},{{"type":"text","text":"look"}}]"#, image("AAEC")), "");
    let broken = user("u2", &format!("[{}]", image("REDACTED!")), "");
    let call = assistant("a1", r#"[{"type":"tool_use","id":"t1","name":"Shot","input":{}}]"#, "");
    let result = format!(
        r#"[{{"type":"tool_result","tool_use_id":"t1","content":[{{"type":"text","text":"one"}},{}]}}]"#,
        image("/w==")
    );
    let text = [shown, broken, call, user("u3", &result, "")].join("\n");
    let (session, replay) = one(ClaudeCode, &text);
    let span = replay.span("u1.0");
    assert_eq!(who(span), (Role::User, Origin::User, SpanKind::File));
    assert_eq!((bytes(span), span.media_type.as_str()), (&[0, 1, 2][..], "image/png"));
    assert_eq!(replay.content("u2"), "REDACTED!");
    assert_eq!(replay.span("u2").media_type, "text/plain");
    assert!(noted(&session, "embedded images that are no base64, kept as text: 1"));
    assert_eq!(replay.content("t1.result"), "one");
    let span = replay.span("t1.result.img0");
    assert_eq!(who(span), (Role::User, Origin::Tool, SpanKind::File));
    assert_eq!(bytes(span), [255]);
}

#[test]
fn unknown_blocks_and_extra_fields_are_kept() {
    let content = r#"[{"type":"server_thing","x":1},{"type":"text","text":"t","citations":[1]}]"#;
    let (_, replay) = one(ClaudeCode, &assistant("a1", content, ""));
    assert_eq!(replay.content("a1.0"), r#"{"type":"server_thing","x":1}"#);
    assert_eq!(replay.span("a1.0").labels["block"], "server_thing");
    assert_eq!(
        replay.content("a1.rest"),
        r#"{"content.1":{"citations":[1]},"message":{"usage":{"input_tokens":3}}}"#
    );
}

#[test]
fn an_unpaired_surrogate_stays_in_its_place() {
    let call = assistant("a1", r#"[{"type":"tool_use","id":"t1","name":"X","input":{}}]"#, "");
    let result = r#"[{"type":"tool_result","tool_use_id":"t1","content":"a\ud800b"}]"#;
    let text = [user("u0", r#""bad \udfff word""#, ""), call, user("u1", result, "")].join("\n");
    let (session, replay) = one(ClaudeCode, &text);
    assert_eq!(replay.live(), ["u0", "t1", "t1.result"]);
    assert_eq!(replay.content("u0"), r#""bad \udfff word""#);
    assert_eq!(replay.span("u0").origin, Origin::User);
    assert_eq!(replay.span("u0").media_type, "application/json");
    assert_eq!(replay.content("t1.result"), r#""a\ud800b""#);
    assert_eq!(replay.span("t1.result").answers.as_ref().unwrap().as_str(), "t1");
    assert!(noted(&session, "texts that are not valid Unicode"));
}

#[test]
fn sub_agents_are_sessions_of_their_own() {
    let side = |uuid: &str, parent: &str, agent: &str| {
        format!(
            r#"{{"type":"user","uuid":"{uuid}","parentUuid":{parent},"sessionId":"main-1","isSidechain":true{agent},"message":{{"role":"user","content":"Look for {uuid}."}}}}"#
        )
    };
    let main = user("u1", r#""hi""#, "").replace("\"sessionId\":\"s\"", "\"sessionId\":\"main-1\"");
    let text = [
        main,
        side("x1", "null", r#","agentId":"abc""#),
        side("y1", "null", ""),
        side("z1", "\"u1\"", ""),
        side("y2", "\"y1\"", ""),
        side("z2", "\"missing\"", ""),
        r#"{"type":"progress","uuid":"g"}"#.to_owned(),
    ];
    let files = [
        file("p/main-1.jsonl", text.join("\n")),
        file("p/agent-abc.jsonl", side("x2", "\"x1\"", r#","agentId":"abc""#)),
    ];
    let sessions = import(ClaudeCode, &files);
    let found: Vec<_> = sessions
        .iter()
        .map(|session| {
            let replay = Replay::of(session);
            let ids: Vec<_> = replay.live().into_iter().map(str::to_owned).collect();
            (session.name.to_string(), ids.join(" "))
        })
        .collect();
    let found: Vec<_> = found.iter().map(|(name, ids)| (name.as_str(), ids.as_str())).collect();
    assert_eq!(
        found,
        [
            ("main-1-agent-abc", "x2 x1"),
            ("main-1", "u1"),
            ("main-1-agent-side1", "y1 y2"),
            ("main-1-agent-side2", "z1 z2"),
        ]
    );
    let side = &sessions[2];
    assert_eq!(side.report.parent.as_deref(), Some("main-1"));
    // The agent that started it wrote its prompt.
    assert_eq!(Replay::of(side).span("y1").origin, Origin::Model);
}

#[test]
fn session_ids_interleaved_in_one_file_are_kept_apart() {
    let line = |uuid: &str, session: &str| {
        user(uuid, r#""x""#, "")
            .replace("\"sessionId\":\"s\"", &format!("\"sessionId\":\"{session}\""))
    };
    let snapshot = r#"{"type":"file-history-snapshot","messageId":"m"}"#;
    let text =
        [snapshot.to_owned(), line("u1", "old"), line("u2", "new"), line("u3", "old")].join("\n");
    let sessions = import(ClaudeCode, &[file("f.jsonl", text)]);
    let names: Vec<_> = sessions.iter().map(|session| session.name.as_str()).collect();
    assert_eq!(names, ["old", "new"]);
    // A record without a session id at the start belongs to the first session that follows.
    assert_eq!(sessions[0].report.records, 3);
    assert_eq!(sessions[1].report.records, 1);
}

#[test]
fn parent_cycles_change_nothing() {
    let a = user("u1", r#""a""#, "").replace("\"parentUuid\":null", "\"parentUuid\":\"u2\"");
    let b = user("u2", r#""b""#, "").replace("\"parentUuid\":null", "\"parentUuid\":\"u1\"");
    let (_, replay) = one(ClaudeCode, &format!("{a}\n{b}"));
    assert_eq!(replay.live(), ["u1", "u2"]);
}
