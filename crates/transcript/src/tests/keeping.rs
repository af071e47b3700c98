//! Whatever a field holds, it is somewhere in the journal: every value of rich fixtures is replaced
//! by values of every type, and looked for.

use serde_json::{Value, json};

use super::file;
use crate::Format;
use crate::replay::{Replay, bytes};

fn claude() -> Vec<Value> {
    vec![
        json!({"type":"user","uuid":"u1","parentUuid":"p","sessionId":"s","timestamp":"t","cwd":"/w","isMeta":true,
            "isSidechain":false,"agentId":"ag","permissionMode":"plan",
            "message":{"role":"user","content":[
                {"type":"text","text":"hi","cache_control":{"x":1}},
                {"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAEC"},"alt":1}]}}),
        json!({"type":"assistant","uuid":"a1","sessionId":"s","requestId":"r","message":{"role":"assistant","type":"message",
            "id":"m","model":"x","usage":{"n":[1]},"stop_reason":"end","content":[
                {"type":"thinking","thinking":"plain","hint":1},
                {"type":"thinking","thinking":"signed","signature":"z"},
                {"type":"redacted_thinking","data":"d"},
                {"type":"tool_use","id":"t1","name":"N","input":{"a":1},"caller":{"b":2}},
                {"type":"odd_block","q":1}]}}),
        json!({"type":"user","uuid":"u2","sessionId":"s","toolUseResult":{"k":"v"},"message":{"role":"user","content":[
                {"type":"tool_result","tool_use_id":"t1","is_error":true,"extra":1,"content":[
                    {"type":"text","text":"one","note":1},
                    {"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAEC"}}]}]}}),
        json!({"type":"attachment","uuid":"q1","sessionId":"s","attachment":{"type":"queued_command","prompt":"p","commandMode":"prompt","z":1}}),
        json!({"type":"attachment","uuid":"q2","sessionId":"s","attachment":{"type":"file","content":{"c":1}}}),
        json!({"type":"system","subtype":"local_command","uuid":"l1","sessionId":"s","content":"<command-name>x","level":"info"}),
        json!({"type":"system","subtype":"compact_boundary","uuid":"b1","sessionId":"s","compactMetadata":{"trigger":"auto"}}),
        json!({"type":"user","uuid":"c1","sessionId":"s","isCompactSummary":true,"more":1,"message":{"role":"user","content":"sum","x":1}}),
    ]
}

fn chat() -> Vec<Value> {
    vec![json!({"session_id":"sess-0001","score":1,"messages":[
        {"role":"user","name":"n","id":"i","timestamp":"t","content":[
            {"type":"text","text":"a","x":1},
            {"type":"image_url","image_url":{"url":"data:image/png;base64,AAEC"},"y":1},
            {"type":"input_audio","input_audio":{"data":"AAEC","format":"wav"}},
            {"type":"refusal","refusal":"no"},{"type":"file","file":{"id":"f"}}]},
        {"role":"assistant","content":"b","reasoning_content":"r","reasoning":"rr","thinking_blocks":[{"thinking":"t"}],
            "refusal":"f","function_call":{"name":"f","arguments":"{}","z":1},
            "tool_calls":[{"id":"c1","type":"function","index":1,"function":{"name":"g","arguments":"{}","w":1}},
                {"id":"c2","name":"h","arguments":{"k":1},"requestor":"assistant"}]},
        {"role":"tool","tool_call_id":"c1","name":"g","content":[{"type":"text","text":"x","e":1}]}],
        "response":{"id":"resp","choices":[{"index":1,"message":{"role":"assistant","content":"end"}}],"usage":{"n":1}}})]
}

fn events() -> Vec<Value> {
    vec![
        json!({"id":"sys","timestamp":"t","source":"agent","kind":"SystemPromptEvent","parent_id":"p",
            "system_prompt":{"type":"text","text":"You"},"dynamic_context":{"type":"text","text":"now"},"tools":[1]}),
        json!({"id":"u1","timestamp":"t","source":"user","kind":"MessageEvent","sender":"x",
            "llm_message":{"role":"user","name":"n","tool_call_id":"tc","content":[{"type":"text","text":"hi","cache_prompt":true}],
                "reasoning_content":"r","thinking_blocks":[{"thinking":"b"}]},
            "extended_content":[{"type":"text","text":"ext","v":1}]}),
        json!({"id":"a1","timestamp":"t","source":"agent","kind":"ActionEvent","thought":[{"type":"text","text":"th","u":1}],
            "reasoning_content":"rc","thinking_blocks":[{"type":"thinking","signature":"s"}],"responses_reasoning_item":{"id":"rs"},
            "action":{"kind":"A"},"tool_name":"run","tool_call_id":"call1",
            "tool_call":{"id":"call1","name":"run","arguments":"{}","origin":"completion"},"llm_response_id":"r1"}),
        json!({"id":"o1","timestamp":"t","source":"environment","kind":"ObservationEvent","tool_name":"run","tool_call_id":"call1",
            "action_id":"a1","observation":{"kind":"O","content":[{"type":"text","text":"out"}],"is_error":true,"code":1}}),
        json!({"id":"e1","timestamp":"t","source":"agent","kind":"AgentErrorEvent","tool_name":"run","tool_call_id":"call2","error":"bad"}),
        json!({"id":"k1","timestamp":"t","source":"environment","kind":"Condensation","forgotten_event_ids":["u1"],"summary":"sum","summary_offset":1}),
    ]
}

fn old_events() -> Vec<Value> {
    vec![
        json!({"id":1,"timestamp":"t","source":"user","message":"m","action":"message","args":{"content":"hi","image_urls":["data:image/png;base64,AAEC"],"w":true}}),
        json!({"id":2,"timestamp":"t","source":"agent","message":"m","action":"run","args":{"command":"ls","thought":"th"},"llm_metrics":{"c":1},
            "tool_call_metadata":{"function_name":"bash","tool_call_id":"t1","model_response":{"id":"r","choices":[{"message":{"content":"x",
                "tool_calls":[{"id":"t1","function":{"name":"bash","arguments":"{}"}}]}}]},"total":1}}),
        json!({"id":3,"timestamp":"t","source":"agent","message":"m","observation":"run","cause":2,"content":"out","extras":{"c":1},"success":true}),
        json!({"id":4,"timestamp":"t","source":"environment","message":"m","observation":"recall","content":"rec","extras":{"d":1}}),
        json!({"id":5,"timestamp":"t","source":"agent","message":"m","action":"browse","args":{"url":"u"}}),
        json!({"id":6,"timestamp":"t","source":"agent","message":"m","action":"condensation","args":{"forgotten_event_ids":[1],"summary":"s"}}),
    ]
}

fn pi() -> Vec<Value> {
    vec![
        json!({"type":"session","version":3,"id":"s-1","timestamp":"t","cwd":"/w"}),
        json!({"type":"model_change","id":"m1","parentId":null,"timestamp":"t","provider":"p","modelId":"m"}),
        json!({"type":"message","id":"u1","parentId":"m1","timestamp":"t","message":{"role":"user","timestamp":1,"content":[
            {"type":"text","text":"hi","textSignature":"z"},{"type":"image","data":"AAEC","mimeType":"image/png","w":1}]}}),
        json!({"type":"message","id":"a1","parentId":"u1","timestamp":"t","message":{"role":"assistant","api":"x","model":"m",
            "usage":{"input":1},"stopReason":"toolUse","content":[
            {"type":"thinking","thinking":"plain","hint":1},
            {"type":"thinking","thinking":"signed","thinkingSignature":"z"},
            {"type":"text","text":"On it."},
            {"type":"toolCall","id":"t1","name":"read","arguments":{"a":1},"partialJson":"{"},{"type":"odd","q":1}]}}),
        json!({"type":"message","id":"r1","parentId":"a1","timestamp":"t","message":{"role":"toolResult","toolCallId":"t1","toolName":"read",
            "isError":true,"details":{"d":1},"content":[{"type":"text","text":"out","e":1},{"type":"image","data":"AAEC","mimeType":"image/png"}]}}),
        json!({"type":"message","id":"b1","parentId":"r1","timestamp":"t","message":{"role":"bashExecution","command":"ls","output":"x",
            "exitCode":1,"cancelled":true,"excludeFromContext":true,"timestamp":1}}),
        json!({"type":"custom_message","id":"k1","parentId":"b1","timestamp":"t","customType":"ext","content":"injected","display":true,"details":{"x":1}}),
        json!({"type":"message","id":"k2","parentId":"k1","timestamp":"t","message":{"role":"custom","customType":"ext","content":[{"type":"text","text":"more"}],"display":true}}),
        json!({"type":"compaction","id":"c1","parentId":"k2","timestamp":"t","summary":"sum","firstKeptEntryId":"r1","tokensBefore":9,"details":{"readFiles":["f"]},"fromHook":true}),
        json!({"type":"message","id":"c2","parentId":"c1","timestamp":"t","message":{"role":"compactionSummary","summary":"again","tokensBefore":7}}),
        json!({"type":"branch_summary","id":"x1","parentId":"k1","timestamp":"t","fromId":"k1","summary":"left","details":{"y":1}}),
        json!({"type":"label","id":"l1","parentId":"x1","timestamp":"t","targetId":"u1","label":"here"}),
    ]
}

fn atif() -> Vec<Value> {
    vec![
        json!({"schema_version":"ATIF-v1.7","session_id":"sess-0001","trajectory_id":"traj-1","agent":{"name":"terminus-2","version":"2","tool_definitions":[{"x":1}],"extra":{"parent_session_id":"up"}},
        "final_metrics":{"n":1},"notes":"n","continued_trajectory_ref":"next.json","steps":[
        {"step_id":1,"timestamp":"t","source":"system","message":"You are."},
        {"step_id":2,"timestamp":"t","source":"user","message":[{"type":"text","text":"What?"},{"type":"image","source":{"media_type":"image/png","path":"i.png"}}],"is_copied_context":true,"extra":{"e":1}},
        {"step_id":3,"timestamp":"t","source":"agent","model_name":"m","message":"Look.","reasoning_content":"hm","llm_call_count":1,
            "tool_calls":[{"tool_call_id":"c1","function_name":"f","arguments":{"k":1},"extra":{"z":1}},{"tool_call_id":"c2","function_name":"g","arguments":{}}],
            "observation":{"results":[{"source_call_id":"c1","content":[{"type":"text","text":"one","w":1},{"type":"image","source":{"media_type":"image/png","path":"o.png"}}]},
                {"content":"two","extra":{"v":1}}],"more":1},"metrics":{"prompt_tokens":1}},
        {"step_id":4,"timestamp":"t","source":"system","message":"Performed context summarization and handoff to continue task.",
            "observation":{"results":[{"subagent_trajectory_ref":[{"trajectory_id":"sub-1","extra":{"s":1}}]}]}},
        {"step_id":5,"timestamp":"t","source":"user","message":"Here are the answers","extra":{"u":1},"model_name":"q"},
        {"step_id":6,"timestamp":"t","source":"system","message":"Context compaction performed","extra":{"context_management":{"type":"compaction","boundary":"replace"}},
            "observation":{"results":[{"content":"Summary: X"}]}},
        {"step_id":7,"timestamp":"t","source":"user","message":[{"type":"text","text":"You are picking up work from a previous AI agent on this task:","p":1}]}],
        "subagent_trajectories":[{"session_id":"sess-0001","trajectory_id":"sub-1","agent":{"name":"s"},"steps":[{"step_id":1,"source":"user","message":"Do it."}]}]}),
    ]
}

/// Every place in a value.
fn places(value: &Value, at: String, out: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, inner)| {
            out.push(format!("{at}/{key}"));
            places(inner, format!("{at}/{key}"), out);
        }),
        Value::Array(list) => list.iter().enumerate().for_each(|(index, inner)| {
            out.push(format!("{at}/{index}"));
            places(inner, format!("{at}/{index}"), out);
        }),
        _ => {}
    }
}

fn haystack(format: Format, records: &[Value]) -> String {
    let lines: Vec<_> = records.iter().map(Value::to_string).collect();
    let sessions = crate::import(format, &[file("f.jsonl", lines.join("\n"))]).expect("imports");
    let mut hay = String::new();
    for session in &sessions {
        let replay = Replay::of(session);
        hay.push_str(&format!("{} {:?}\n", session.name, session.report.source_session));
        hay.push_str(&replay.summaries.join("\n"));
        for span in &replay.spans {
            hay.push_str(&String::from_utf8_lossy(bytes(span)));
            hay.push_str(&format!("\n{:?} {:?} {:?}\n", span.id, span.labels, span.source));
        }
    }
    hay
}

#[test]
fn whatever_a_field_holds_is_kept() {
    let fixtures = [
        (Format::ClaudeCode, claude()),
        (Format::OpenaiChat, chat()),
        (Format::Openhands, events()),
        (Format::Openhands, old_events()),
        (Format::Pi, pi()),
        (Format::Atif, atif()),
    ];
    let mark = "Mark!7731";
    let odd = [
        json!(mark),
        json!({ "odd": mark }),
        json!([mark]),
        json!([{ "odd": mark }]),
        json!(7_731_773_177_317_731_u64),
    ];
    let (mut tried, mut lost) = (0, Vec::new());
    for (format, records) in &fixtures {
        for (at, record) in records.iter().enumerate() {
            let mut found = Vec::new();
            places(record, String::new(), &mut found);
            for place in found {
                for value in &odd {
                    let mut records = records.clone();
                    *records[at].pointer_mut(&place).unwrap() = value.clone();
                    let hay = haystack(*format, &records);
                    tried += 1;
                    if !hay.contains(mark) && !hay.contains("7731773177317731") {
                        lost.push(format!("{format} {at} {place} = {value}"));
                    }
                }
            }
        }
    }
    assert_eq!(lost, [""; 0], "{} of {tried} lost", lost.len());
    assert!(tried > 1_000, "{tried}");
}
