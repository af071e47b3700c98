//! Damaged and hostile input: nothing panics, nothing is lost, everything stays valid in sequence.

use lacuna_core::Content;

use super::{file, import, noted, one};
use crate::replay::{Replay, bytes};
use crate::{Format, ImportError, Step, detect};

const CLAUDE: &str = r#"{"type":"user","uuid":"u1","sessionId":"s","message":{"role":"user","content":"go é"}}
{"type":"assistant","uuid":"a1","sessionId":"s","message":{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"R","input":{"a":[1]}}]}}
{"type":"user","uuid":"u2","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"\ud800"}]}}
{"type":"user","uuid":"c1","sessionId":"s","isCompactSummary":true,"message":{"role":"user","content":"sum"}}
"#;
const CHAT: &str = r#"[{"role":"user","content":"go é"},{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"x"}]"#;
const EVENTS: &str = r#"[{"id":1,"timestamp":"t","source":"user","action":"message","args":{"content":"é"}},
{"id":2,"timestamp":"t","source":"agent","action":"run","args":{"command":"ls"}},
{"id":3,"timestamp":"t","source":"agent","observation":"run","cause":2,"content":"x"},
{"id":4,"timestamp":"t","source":"agent","action":"condensation","args":{"forgotten_event_ids":[1,2],"summary":"s"}}]"#;
const PI: &str = r#"{"type":"session","version":3,"id":"s","cwd":"/w"}
{"type":"message","id":"u1","parentId":null,"message":{"role":"user","content":"go é"}}
{"type":"message","id":"a1","parentId":"u1","message":{"role":"assistant","content":[{"type":"toolCall","id":"t1","name":"R","arguments":{"a":[1]}}]}}
{"type":"message","id":"r1","parentId":"a1","message":{"role":"toolResult","toolCallId":"t1","content":"\ud800"}}
{"type":"compaction","id":"c1","parentId":"r1","summary":"sum","firstKeptEntryId":"a1"}
{"type":"branch_summary","id":"b1","parentId":"u1","fromId":"u1","summary":"left"}
"#;
const ATIF: &str = r#"{"schema_version":"ATIF-v1.6","session_id":"s","agent":{"name":"a"},"steps":[
{"step_id":1,"source":"user","message":"go é"},
{"step_id":2,"source":"agent","message":"m","tool_calls":[{"tool_call_id":"t1","function_name":"f","arguments":{}}],"observation":{"results":[{"content":"x"}]}},
{"step_id":3,"source":"system","message":"Performed context summarization and handoff to continue task.","observation":{"results":[{"subagent_trajectory_ref":[{"session_id":"q"}]}]}},
{"step_id":4,"source":"user","message":"Here are the answers"}]}"#;

/// All formats; the same bytes are also read as the other formats.
fn each(mut check: impl FnMut(Format, &[u8])) {
    for text in [CLAUDE, CHAT, EVENTS, PI, ATIF] {
        Format::ALL.iter().for_each(|format| check(*format, text.as_bytes()));
    }
}

fn valid(format: Format, bytes: &[u8]) {
    let _ = detect("x", bytes);
    match crate::import(format, &[file("x.jsonl", bytes)]) {
        Ok(sessions) => {
            sessions.iter().for_each(|session| drop(Replay::of(session)));
            // In lines, nothing but white space stands between records; the change may have made
            // a list of one, whose brackets are no record.
            if [Format::ClaudeCode, Format::Pi].contains(&format) && !bytes.starts_with(b"[") {
                let read: u64 = sessions.iter().map(|session| session.report.bytes).sum();
                let said = bytes.iter().filter(|b| !b.is_ascii_whitespace()).count() as u64;
                assert!(read + 2 >= said, "{read} of {said} bytes in {}", bytes.escape_ascii());
            }
        }
        Err(ImportError::Empty { .. }) => assert!(bytes.trim_ascii().is_empty()),
        Err(ImportError::NotATranscript { .. }) => {
            assert!(std::str::from_utf8(bytes).is_err() || bytes.contains(&0));
        }
    }
}

#[test]
fn every_cut_is_survived() {
    each(|format, bytes| (0..=bytes.len()).for_each(|end| valid(format, &bytes[..end])));
}

#[test]
fn every_changed_byte_is_survived() {
    each(|format, bytes| {
        for at in 0..bytes.len() {
            for change in [0, b'"', b'{', b'}', b'\n', 0xff] {
                let mut bytes = bytes.to_vec();
                bytes[at] = change;
                valid(format, &bytes);
            }
        }
    });
}

#[test]
fn a_torn_tail_and_the_record_appended_to_it_are_both_kept() {
    let lines: Vec<_> = CLAUDE.lines().collect();
    let torn = format!("{}\n{}", lines[0], &lines[1][..70]);
    let (session, replay) = one(Format::ClaudeCode, &torn);
    assert_eq!(replay.content(&replay.nameless(1)), lines[1][..70]);
    assert_eq!(replay.span(&replay.nameless(1)).labels["raw"], "torn-tail");
    assert_eq!(replay.span(&replay.nameless(1)).media_type, "text/plain");
    assert!(noted(&session, "unfinished records at the end, kept as they are: 1"));
    let (_, replay) = one(Format::ClaudeCode, &format!("{torn}{}\n", lines[1]));
    assert_eq!(replay.live(), ["u1", "t1"]);
    assert_eq!(replay.content(&replay.nameless(1)), lines[1][..70]);
}

#[test]
fn bytes_that_are_no_text_are_kept_as_bytes() {
    let mut input = CLAUDE.as_bytes().to_vec();
    input.extend_from_slice(b"{\"type\":\"user\",\"x\":\"\xff\xfe\"}\n\0\0\0");
    let sessions = import(Format::ClaudeCode, &[file("x", input)]);
    let replay = Replay::of(&sessions[0]);
    assert_eq!(bytes(replay.span(&replay.nameless(1))), b"{\"type\":\"user\",\"x\":\"\xff\xfe\"}");
    assert_eq!(replay.span(&replay.nameless(1)).media_type, "application/octet-stream");
    assert_eq!(bytes(replay.span(&replay.nameless(2))), b"\0\0\0");
}

#[test]
fn nothing_usable_is_an_error_and_text_is_kept() {
    for format in Format::ALL {
        let empty = crate::import(*format, &[file("a", ""), file("b", "\u{feff}")]);
        assert_eq!(empty.unwrap_err(), ImportError::Empty { files: 2 });
        assert_eq!(crate::import(*format, &[]).unwrap_err(), ImportError::Empty { files: 0 });
        let gzip = crate::import(*format, &[file("a.gz", b"\x1f\x8b\x08\0\0\xff")]);
        assert_eq!(gzip.unwrap_err(), ImportError::NotATranscript { name: "a.gz".to_owned() });
        let (session, replay) = one(*format, "just some words\nand more");
        assert_eq!(session.report.raw["unparsable"], 1);
        assert_eq!(replay.content(&replay.nameless(1)), "just some words\nand more");
    }
}

#[test]
fn batches_are_bounded_and_giants_are_known_by_digest() {
    let line = |at: usize, text: &str| {
        format!(
            r#"{{"type":"user","uuid":"u{at}","sessionId":"s","message":{{"role":"user","content":"{text}"}}}}"#
        )
    };
    let mut lines: Vec<_> = (0..450).map(|at| line(at, "x")).collect();
    lines.push(line(450, &"y".repeat(3 << 20)));
    lines.push(line(451, &"z".repeat(3 << 20)));
    lines.push(line(452, &"g".repeat((64 << 20) + 1)));
    let (session, replay) = one(Format::ClaudeCode, &lines.join("\n"));
    let sizes: Vec<_> = session
        .steps
        .iter()
        .map(|step| match step {
            Step::Append(spans) => spans.len(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(sizes, [200, 200, 51, 1, 1]);
    let Content::Withheld { bytes, digest, .. } = &replay.span("u452").content else {
        panic!("stored")
    };
    assert_eq!(*bytes, (64 << 20) + 1);
    assert_eq!(*digest, replay.span("u452").digest);
    assert!(noted(
        &session,
        "contents over 64 MiB, known by digest but not stored: 1 (first: u452)"
    ));
}

#[test]
fn nesting_beyond_all_reason_stays_a_record() {
    let deep = format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000));
    let text = format!(
        r#"{{"type":"assistant","uuid":"a1","sessionId":"s","message":{{"role":"assistant","content":[{{"type":"tool_use","id":"t1","name":"R","input":{deep}}}]}}}}"#
    );
    let (_, replay) = one(Format::ClaudeCode, &text);
    assert_eq!(replay.content("t1"), format!(r#"{{"id":"t1","name":"R","arguments":{deep}}}"#));
}

#[test]
fn the_same_files_give_the_same_steps() {
    let files = [file("b-10.jsonl", CLAUDE.replace("u1", "v1")), file("b-9.jsonl", CLAUDE)];
    let reversed = [files[1].clone(), files[0].clone()];
    let (one, two) = (import(Format::ClaudeCode, &files), import(Format::ClaudeCode, &reversed));
    assert_eq!(one[0].steps, two[0].steps);
    assert_eq!(one[0].report, two[0].report);
}

#[test]
fn formats_have_names() {
    for format in Format::ALL {
        assert_eq!(format.to_string().parse::<Format>().unwrap(), *format);
        let json = serde_json::to_string(format).unwrap();
        assert_eq!(json, format!("\"{format}\""));
    }
    assert!("claude".parse::<Format>().is_err());
    assert_eq!(detect("x", CLAUDE.as_bytes()), Some(Format::ClaudeCode));
    assert_eq!(detect("x", CHAT.as_bytes()), Some(Format::OpenaiChat));
    assert_eq!(detect("x", EVENTS.as_bytes()), Some(Format::Openhands));
    assert_eq!(detect("x", PI.as_bytes()), Some(Format::Pi));
    assert_eq!(detect("x", PI.split_once('\n').unwrap().1.as_bytes()), Some(Format::Pi));
    assert_eq!(detect("x", ATIF.as_bytes()), Some(Format::Atif));
    assert_eq!(detect("c/base_state.json", b"{\"agent\":1}"), Some(Format::Openhands));
    assert_eq!(
        detect("x", b"{\"timestamp\":\"t\",\"type\":\"session_meta\",\"payload\":{}}"),
        None
    );
    assert_eq!(detect("x", b""), None);
}
