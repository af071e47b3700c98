//! What agents did to their own windows: compaction, microcompaction, replacement.

use lacuna_core::{Origin, Role, SpanKind};

use super::{noted, one, who};
use crate::Format::ClaudeCode;
use crate::Step;

fn message(kind: &str, uuid: &str, content: &str, more: &str) -> String {
    format!(
        r#"{{"type":"{kind}","uuid":"{uuid}","sessionId":"s","message":{{"role":"{kind}","content":{content}}}{more}}}"#
    )
}

fn call(uuid: &str, id: &str) -> String {
    let content = format!(r#"[{{"type":"tool_use","id":"{id}","name":"Run","input":{{}}}}]"#);
    message("assistant", uuid, &content, "")
}

fn result(uuid: &str, id: &str) -> String {
    let content =
        format!(r#"[{{"type":"tool_result","tool_use_id":"{id}","content":"out {id}"}}]"#);
    message("user", uuid, &content, "")
}

fn boundary(uuid: &str, metadata: &str) -> String {
    format!(
        r#"{{"type":"system","subtype":"compact_boundary","uuid":"{uuid}","sessionId":"s","compactMetadata":{metadata}}}"#
    )
}

fn summary(uuid: &str, text: &str) -> String {
    message(
        "user",
        uuid,
        &format!("\"{text}\""),
        r#","isCompactSummary":true,"isVisibleInTranscriptOnly":true"#,
    )
}

fn ids(spans: &[lacuna_core::SpanId]) -> Vec<&str> {
    spans.iter().map(|span| span.as_str()).collect()
}

#[test]
fn a_compaction_is_a_summary_and_a_prune_and_never_speech() {
    let text = [
        message("user", "u1", r#""go""#, ""),
        call("a1", "t1"),
        result("u2", "t1"),
        call("a2", "open"),
        boundary("b1", r#"{"trigger":"auto"}"#),
        summary("c1", "We ran t1."),
        message("user", "u3", r#""more""#, ""),
        boundary("b2", "{}"),
        summary("c2", "We ran t1, then more."),
        message("assistant", "a3", r#"[{"type":"text","text":"yes"}]"#, ""),
    ]
    .join("\n");
    let (session, replay) = one(ClaudeCode, &text);
    let steps: Vec<_> = session.steps.iter().filter(|s| !matches!(s, Step::Append(_))).collect();
    let [
        Step::Summarize { id, covers, text, source },
        Step::Prune { spans, replace_with, reason },
        ..,
    ] = steps.as_slice()
    else {
        panic!("{steps:?}")
    };
    assert_eq!((id.as_str(), text.as_str()), ("c1", "We ran t1."));
    assert_eq!(ids(covers), ["u1", "t1", "t1.result", "open"]);
    // A call without a result cannot leave.
    assert_eq!(ids(spans), ["u1", "t1", "t1.result"]);
    assert_eq!(replace_with.as_ref(), Some(id));
    assert_eq!(reason, "compaction by the agent");
    assert_eq!(source.as_ref().unwrap().id.as_deref(), Some("c1"));
    // The second summary also stands for the first.
    let [_, _, Step::Summarize { covers, .. }, Step::Prune { spans, .. }] = steps.as_slice() else {
        panic!("{steps:?}")
    };
    assert_eq!(ids(covers), ["open", "c1", "u3"]);
    assert_eq!(ids(spans), ["c1", "u3"]);
    assert_eq!(replay.live(), ["open", "c2", "a3"]);
    assert!(replay.spans.iter().all(|span| {
        span.origin != Origin::User
            || !String::from_utf8_lossy(crate::replay::bytes(span)).contains("We ran")
    }));
    assert_eq!((session.report.summaries, session.report.pruned), (2, 5));
    assert!(noted(&session, "tool calls without a result, left in the window"));
    assert_eq!(
        replay.content("c1.rest"),
        r#"{"isCompactSummary":true,"isVisibleInTranscriptOnly":true}"#
    );
}

#[test]
fn a_file_that_starts_with_a_summary_has_it_as_a_note() {
    let text =
        [summary("c1", "Earlier we did X."), message("user", "u1", r#""go on""#, "")].join("\n");
    let (session, replay) = one(ClaudeCode, &text);
    assert_eq!(who(replay.span("c1")), (Role::User, Origin::Harness, SpanKind::Note));
    assert_eq!(replay.span("c1").labels["summary"], "compaction by the agent");
    assert_eq!(replay.live(), ["c1", "u1"]);
    assert_eq!(session.report.summaries, 0);
    assert!(noted(&session, "summaries that take the place of no span"));
}

#[test]
fn preserved_messages_survive_their_compaction() {
    let text = [
        message("user", "u1", r#""one""#, ""),
        message("user", "u2", r#""two""#, ""),
        boundary("b1", r#"{"preservedMessages":{"uuids":["u2"]}}"#),
        summary("c1", "One."),
    ];
    let (_, replay) = one(ClaudeCode, &text.join("\n"));
    assert_eq!(replay.live(), ["u2", "c1"]);
}

#[test]
fn a_boundary_without_a_summary_leaves_the_window_and_is_noted() {
    let text = [
        message("user", "u1", r#""one""#, ""),
        boundary("b1", "{}"),
        message("user", "u2", r#""two""#, ""),
        boundary("b2", "{}"),
    ];
    let (session, replay) = one(ClaudeCode, &text.join("\n"));
    assert_eq!(replay.live(), ["u1", "u2"]);
    assert!(noted(
        &session,
        "compaction boundaries without a summary: the window is left as it was: 2"
    ));
}

#[test]
fn microcompaction_takes_results_only() {
    let micro = r#"{"type":"system","subtype":"microcompact_boundary","uuid":"m1","sessionId":"s","microcompactMetadata":{"compactedToolIds":["t1","t9"],"clearedAttachmentUUIDs":["f1"]}}"#;
    let attached = r#"{"type":"attachment","uuid":"f1","sessionId":"s","attachment":{"type":"file","filename":"x"}}"#;
    let text = [call("a1", "t1"), result("u1", "t1"), call("a2", "t2"), result("u2", "t2")];
    let text = format!("{}\n{attached}\n{micro}\n{}", text.join("\n"), summary("c1", "Ran."));
    let (session, replay) = one(ClaudeCode, &text);
    let prunes: Vec<_> = session
        .steps
        .iter()
        .filter_map(|step| match step {
            Step::Prune { spans, replace_with, .. } => Some((ids(spans), replace_with.is_some())),
            _ => None,
        })
        .collect();
    // Later the call leaves alone: its only result has left before it.
    assert_eq!(
        prunes,
        [(vec!["t1.result"], false), (vec!["f1"], false), (vec!["t1", "t2", "t2.result"], true)]
    );
    assert_eq!(replay.live(), ["c1"]);
    assert_eq!(replay.content("m1"), micro);
}

#[test]
fn a_replaced_result_leaves_the_window() {
    let replaced = r#"{"type":"content-replacement","sessionId":"s","replacements":[{"kind":"tool-result","toolUseId":"t1","replacement":"[cleared]"}]}"#;
    let text = format!("{}\n{}\n{replaced}\n", call("a1", "t1"), result("u1", "t1"));
    let (_, replay) = one(ClaudeCode, &text);
    assert_eq!(replay.live(), ["t1"]);
    assert_eq!(replay.content(&replay.nameless(1)), replaced);
}
