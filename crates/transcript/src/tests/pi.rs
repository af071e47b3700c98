//! pi: entries, the tree, and what summaries stand for.

use lacuna_core::{Origin, Role, SpanKind};

use super::{file, import, noted, one, who};
use crate::Format::Pi;
use crate::replay::Replay;
use crate::{Session, Step};

const HEADER: &str = r#"{"type":"session","version":3,"id":"pi-1","timestamp":"t0","cwd":"/w"}"#;

fn entry(kind: &str, id: &str, parent: &str, fields: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(r#"{{"type":"{kind}","id":"{id}","parentId":{parent},"timestamp":"t","#) + fields + "}"
}

fn message(id: &str, parent: &str, fields: &str) -> String {
    entry("message", id, parent, &format!(r#""message":{{{fields}}}"#))
}

fn user(id: &str, parent: &str) -> String {
    message(id, parent, &format!(r#""role":"user","content":"say {id}""#))
}

fn call(id: &str, parent: &str, call: &str) -> String {
    let block =
        format!(r#"{{"type":"toolCall","id":"{call}","name":"run","arguments":{{"b":1.0}}}}"#);
    message(id, parent, &format!(r#""role":"assistant","content":[{block}]"#))
}

fn result(id: &str, parent: &str, call: &str) -> String {
    let content = format!(r#"[{{"type":"text","text":"out {call}"}}]"#);
    message(
        id,
        parent,
        &format!(r#""role":"toolResult","toolCallId":"{call}","content":{content}"#),
    )
}

fn compaction(id: &str, parent: &str, kept: &str) -> String {
    let fields = format!(r#""summary":"sum {id}","firstKeptEntryId":"{kept}","tokensBefore":9"#);
    entry("compaction", id, parent, &fields)
}

fn read(entries: &[String]) -> (Session, Replay) {
    one(Pi, &format!("{HEADER}\n{}\n", entries.join("\n")))
}

/// Summaries and prunes, in short.
fn changes(session: &Session) -> Vec<String> {
    let words = |spans: &[lacuna_core::SpanId]| {
        spans.iter().map(|span| span.as_str()).collect::<Vec<_>>().join(" ")
    };
    let change = |step: &Step| match step {
        Step::Append(_) => None,
        Step::Summarize { id, covers, text, .. } => {
            Some(format!("{id} {text:?} over {}", words(covers)))
        }
        Step::Prune { spans, replace_with, reason } => {
            let by = replace_with.as_ref().map(|by| format!(" for {by}")).unwrap_or_default();
            Some(format!("- {}{by}: {reason}", words(spans)))
        }
    };
    session.steps.iter().filter_map(change).collect()
}

fn no_summary_is_the_users(replay: &Replay) {
    let users = replay.spans.iter().filter(|span| span.origin == Origin::User);
    for span in users {
        let content = String::from_utf8_lossy(crate::replay::bytes(span)).into_owned();
        assert!(!content.contains("sum "), "{content}");
    }
}

#[test]
fn each_role_and_block_has_its_true_origin() {
    let assistant = r#""role":"assistant","model":"m-1","usage":{"input":3},"stopReason":"toolUse","content":[
        {"type":"thinking","thinking":"hm","thinkingSignature":"c2ln"},{"type":"thinking","thinking":"plain"},
        {"type":"text","text":"On it."},{"type":"toolCall","id":"t1","name":"read","arguments":{"p":"x","b": 1.50}}]"#
        .replace('\n', "");
    let (session, replay) = read(&[
        entry("model_change", "m1", "", r#""provider":"p","modelId":"m-1""#),
        message(
            "u1",
            "m1",
            r#""role":"user","content":[{"type":"text","text":"Look."},{"type":"image","data":"AAEC","mimeType":"image/png"}]"#,
        ),
        message("a1", "u1", &assistant),
        message(
            "r1",
            "a1",
            r#""role":"toolResult","toolCallId":"t1","toolName":"read","content":[{"type":"text","text":"no"}],"isError":true,"details":{"d":1}"#,
        ),
        message("b1", "r1", r#""role":"bashExecution","command":"ls","output":"a b","exitCode":0"#),
        message(
            "b2",
            "b1",
            r#""role":"bashExecution","command":"env","output":"k","excludeFromContext":true"#,
        ),
        entry(
            "custom_message",
            "k1",
            "b2",
            r#""customType":"ext","content":"by the way","display":true"#,
        ),
        message("a2", "k1", r#""role":"assistant","stopReason":"aborted","content":[]"#),
        entry("label", "l1", "a2", r#""targetId":"u1","label":"here""#),
    ]);
    assert_eq!(session.name.as_str(), "pi-1");
    assert_eq!(
        replay.live(),
        ["u1.0", "u1.1", "a1.0", "a1.1", "a1.2", "t1", "t1.result", "b1", "b1.output", "k1"]
    );
    assert_eq!(who(replay.span("u1.0")), (Role::User, Origin::User, SpanKind::Message));
    assert_eq!(who(replay.span("u1.1")), (Role::User, Origin::User, SpanKind::File));
    assert_eq!(replay.span("u1.1").media_type, "image/png");
    assert_eq!(who(replay.span("a1.0")), (Role::Assistant, Origin::Model, SpanKind::Thinking));
    assert_eq!(
        replay.content("a1.0"),
        r#"{"type":"thinking","thinking":"hm","thinkingSignature":"c2ln"}"#
    );
    assert_eq!(replay.content("a1.1"), "plain");
    assert_eq!(
        replay.content("t1"),
        r#"{"id":"t1","name":"read","arguments":{"p":"x","b": 1.50}}"#
    );
    assert_eq!(who(replay.span("t1.result")), (Role::Tool, Origin::Tool, SpanKind::ToolResult));
    assert_eq!(replay.span("t1.result").labels["is_error"], "true");
    assert_eq!(who(replay.span("b1")), (Role::User, Origin::User, SpanKind::Message));
    assert_eq!(who(replay.span("b1.output")), (Role::User, Origin::Tool, SpanKind::Note));
    assert_eq!(replay.content("b2.output"), "k");
    assert_eq!(who(replay.span("k1")), (Role::User, Origin::Harness, SpanKind::Message));
    assert_eq!(replay.span("k1").labels["customType"], "ext");
    assert_eq!(replay.span("a1.0").labels["message.model"], "m-1");
    assert_eq!(replay.content("a1.rest"), r#"{"message":{"usage":{"input":3}}}"#);
    let source = replay.span("u1.0").source.clone().unwrap();
    assert_eq!((source.format.as_str(), source.parent.as_deref()), ("pi", Some("m1")));
    let raw: Vec<_> = session.report.raw.iter().map(|(kind, n)| (kind.as_str(), *n)).collect();
    assert_eq!(
        raw,
        [
            ("aborted:assistant", 1),
            ("label", 1),
            ("model_change", 1),
            ("remainder:assistant", 1),
            ("remainder:toolResult", 1),
            ("session", 1)
        ]
    );
    assert_eq!(session.report.notes, [""; 0]);
}

#[test]
fn a_compaction_takes_what_stands_before_the_entry_kept_and_the_summary_before() {
    let (session, replay) = read(&[
        user("u1", ""),
        call("a1", "u1", "t1"),
        result("r1", "a1", "t1"),
        user("u2", "r1"),
        compaction("c1", "u2", "u2"),
        user("u3", "c1"),
        user("u4", "u3"),
        compaction("c2", "u4", "u4"),
    ]);
    assert_eq!(
        changes(&session),
        [
            r#"c1 "sum c1" over u1 t1 t1.result"#,
            "- u1 t1 t1.result for c1: compaction by the agent",
            r#"c2 "sum c2" over c1 u2 u3"#,
            "- u2 c1 u3 for c2: compaction by the agent",
        ]
    );
    assert_eq!(replay.live(), ["u4", "c2"]);
    assert_eq!(replay.content("c1.rest"), r#"{"firstKeptEntryId":"u2","tokensBefore":9}"#);
    assert_eq!((session.report.summaries, session.report.pruned), (2, 6));
    assert_eq!(session.report.notes, [""; 0]);
    no_summary_is_the_users(&replay);
}

#[test]
fn a_compaction_that_keeps_everything_stands_for_nothing_but_the_summary_before() {
    let (session, replay) = read(&[
        user("u1", ""),
        compaction("c1", "u1", "u1"),
        user("u2", "c1"),
        compaction("c2", "u2", "u1"),
    ]);
    assert_eq!(who(replay.span("c1")), (Role::User, Origin::Harness, SpanKind::Note));
    assert_eq!(
        changes(&session),
        [r#"c2 "sum c2" over c1"#, "- c1 for c2: compaction by the agent"]
    );
    assert_eq!(replay.live(), ["u1", "u2", "c2"]);
    assert!(noted(&session, "summaries that take the place of no span in this transcript"));
    no_summary_is_the_users(&replay);
}

#[test]
fn a_compaction_that_names_no_entry_of_its_path_keeps_none() {
    let (session, replay) =
        read(&[user("u1", ""), user("u2", "u1"), compaction("c1", "u2", "gone"), user("u3", "c1")]);
    assert_eq!(
        changes(&session),
        [r#"c1 "sum c1" over u1 u2"#, "- u1 u2 for c1: compaction by the agent"]
    );
    assert_eq!(replay.live(), ["c1", "u3"]);
    assert!(noted(&session, "compactions whose first kept entry is not on their path"));
}

#[test]
fn version_one_has_no_ids_and_counts_records_from_the_header() {
    let say = |text: &str| {
        format!(
            r#"{{"type":"message","timestamp":"t","message":{{"role":"user","content":"{text}"}}}}"#
        )
    };
    let text = [
        r#"{"type":"session","id":"old","cwd":"/w"}"#.to_owned(),
        say("one"),
        say("two"),
        "broken {".to_owned(),
        say("three"),
        r#"{"type":"compaction","timestamp":"t","summary":"sum of one and two","firstKeptEntryIndex":3,"tokensBefore":5}"#
            .to_owned(),
        say("four"),
    ];
    let (session, replay) = one(Pi, &text.join("\n"));
    let mut shown = replay.live();
    assert!(shown.pop().is_some_and(|last| replay.content(last) == "four"));
    // The summary is no span that was appended.
    shown.retain(|id| replay.spans.iter().any(|span| span.id.as_ref().unwrap().as_str() == *id));
    let shown: Vec<_> = shown.into_iter().map(|id| replay.content(id)).collect();
    assert_eq!(shown, ["three"]);
    let [Step::Summarize { covers, text, .. }] = session
        .steps
        .iter()
        .filter(|step| matches!(step, Step::Summarize { .. }))
        .collect::<Vec<_>>()[..]
    else {
        panic!("{:?}", session.steps)
    };
    assert_eq!((covers.len(), text.as_str()), (2, "sum of one and two"));
    assert_eq!(session.report.raw["unparsable"], 1);
}

#[test]
fn an_open_call_at_the_cut_stays_until_it_is_answered() {
    let (session, replay) = read(&[
        user("u1", ""),
        call("a1", "u1", "t1"),
        user("u2", "a1"),
        compaction("c1", "u2", "u2"),
        result("r1", "c1", "t1"),
        user("u3", "r1"),
        compaction("c2", "u3", "u3"),
    ]);
    assert_eq!(
        changes(&session),
        [
            r#"c1 "sum c1" over u1"#,
            "- u1 for c1: compaction by the agent",
            r#"c2 "sum c2" over t1 c1 u2 t1.result"#,
            "- t1 u2 c1 t1.result for c2: compaction by the agent",
        ]
    );
    assert_eq!(replay.live(), ["u3", "c2"]);
    assert!(noted(&session, "tool calls without a result, left in the window"));
}

#[test]
fn a_branch_that_was_left_gives_way_to_its_summary() {
    let fields = r#""fromId":"u1","summary":"sum of the branch""#;
    let (session, replay) = read(&[
        user("u1", ""),
        call("a1", "u1", "t1"),
        result("r1", "a1", "t1"),
        call("a2", "r1", "never"),
        entry("branch_summary", "x1", "u1", fields),
        user("u2", "x1"),
    ]);
    assert_eq!(
        changes(&session),
        [
            r#"x1 "sum of the branch" over t1 t1.result"#,
            "- t1 t1.result for x1: branch summary by the agent",
        ]
    );
    // A call that nobody will answer was never in the window: it could not leave.
    assert_eq!(replay.live(), ["u1", "x1", "u2"]);
    assert!(!replay.span("never").in_window);
    no_summary_is_the_users(&replay);
}

#[test]
fn without_a_summary_the_branch_leaves_and_the_active_path_stays() {
    let (session, replay) = read(&[
        user("u1", ""),
        user("u2", "u1"),
        user("side", "u1"),
        user("side2", "side"),
        user("u3", "u2"),
    ]);
    assert_eq!(changes(&session), ["- side side2: the agent went back to an earlier entry"]);
    assert_eq!(replay.live(), ["u1", "u2", "u3"]);
    assert!(noted(&session, "returns to an entry whose later entries come back"));
    // A second root leaves everything behind.
    let (_, replay) = read(&[user("u1", ""), user("u2", "u1"), user("v1", ""), user("v2", "v1")]);
    assert_eq!(replay.live(), ["v1", "v2"]);
}

#[test]
fn a_compaction_on_a_branch_that_was_left_takes_only_the_branch() {
    let (session, replay) = read(&[
        user("u1", ""),
        user("u2", "u1"),
        user("side", "u2"),
        compaction("c1", "side", "gone"),
        user("side2", "c1"),
        user("u3", "u2"),
    ]);
    assert_eq!(
        changes(&session),
        [
            r#"c1 "sum c1" over u1 u2 side"#,
            "- side for c1: compaction by the agent",
            "- c1 side2: the agent went back to an earlier entry",
        ]
    );
    assert_eq!(replay.live(), ["u1", "u2", "u3"]);
    assert!(noted(&session, "summaries on a branch that is left: what comes back"));
}

#[test]
fn a_compaction_on_a_branch_that_takes_nothing_of_its_own_has_no_place() {
    let (session, replay) = read(&[
        user("u1", ""),
        user("u2", "u1"),
        compaction("c1", "u2", "u2"),
        user("side", "c1"),
        user("u3", "u2"),
    ]);
    assert_eq!(
        changes(&session),
        [r#"c1 "sum c1" over u1"#, "- side: the agent went back to an earlier entry"]
    );
    assert_eq!(replay.live(), ["u1", "u2", "u3"]);
    assert_eq!((session.report.summaries, session.report.in_window), (1, 4));
}

#[test]
fn summaries_that_do_not_say_of_what_are_notes_of_the_harness() {
    let (session, replay) = read(&[
        user("u1", ""),
        entry("branchSummary", "x1", "u1", r#""summary":"sum of a branch""#),
        message(
            "x2",
            "x1",
            r#""role":"compactionSummary","summary":"sum of before","tokensBefore":3"#,
        ),
        message("x3", "x2", r#""role":"branchSummary","summary":"sum of aside","fromId":"u1""#),
        message("x4", "x3", r#""role":"branchSummary","fromId":"u1""#),
    ]);
    for id in ["x1", "x2", "x3"] {
        assert_eq!(who(replay.span(id)), (Role::User, Origin::Harness, SpanKind::Note));
        assert!(replay.span(id).labels.contains_key("summary"));
    }
    assert_eq!(replay.live(), ["u1", "x1", "x2", "x3"]);
    assert_eq!(session.report.summaries, 0);
    assert_eq!(session.report.raw["malformed:message"], 1);
    no_summary_is_the_users(&replay);
}

#[test]
fn damage_leaves_the_rest_of_the_tree_as_it_is() {
    let again = user("u2", "u1");
    let text = [
        HEADER.to_owned(),
        user("u1", ""),
        user("u2", "u1"),
        again.clone(),
        // A parent that is lost, and two that lead in a circle.
        user("u3", "lost"),
        user("p", "q"),
        user("q", "p"),
        entry("future_thing", "f1", "q", r#""deep":[1]"#),
        message("w1", "f1", r#""role":"oracle","content":"?""#),
        "17".to_owned(),
        r#"{"type":"message","id":"torn","parentId":"f1","mess"#.to_owned(),
    ];
    let (session, replay) = one(Pi, &text.join("\n"));
    assert_eq!(replay.live(), ["u1", "u2", "u3", "p", "q"]);
    assert!(noted(
        &session,
        "entries whose parent is not in this file before them, taken to follow the entry before: 2 (first: u3)"
    ));
    let raw: Vec<_> = session.report.raw.iter().map(|(kind, n)| (kind.as_str(), *n)).collect();
    assert_eq!(
        raw,
        [
            ("duplicate:message", 1),
            ("future_thing", 1),
            ("message:oracle", 1),
            ("not-an-entry", 1),
            ("session", 1),
            ("torn-tail", 1)
        ]
    );
    assert_eq!(replay.content("u2.d2"), again);
}

#[test]
fn each_header_begins_a_session() {
    let text = format!(
        "{HEADER}\n{}\n{}\n{}\n",
        user("u1", ""),
        HEADER.replace("pi-1", "pi-2"),
        user("u1", "")
    );
    let headless = user("u9", "");
    let sessions = import(Pi, &[file("a.jsonl", text), file("messages.jsonl", headless)]);
    let names: Vec<_> = sessions.iter().map(|session| session.name.as_str()).collect();
    assert_eq!(names, ["pi-1", "pi-2", "messages"]);
    assert_eq!(Replay::of(&sessions[1]).live(), ["u1"]);
}

#[test]
fn jumping_between_long_branches_ends() {
    let mut entries = vec![user("r", "")];
    for branch in ["a", "b"] {
        let mut parent = "r".to_owned();
        for at in 0..3_000 {
            let id = format!("{branch}{at}");
            entries.push(entry("label", &id, &parent, r#""label":"x""#));
            parent = id;
        }
    }
    for at in 0..12_000 {
        let parent = if at % 2 == 0 { "a2999" } else { "b2999" };
        entries.push(entry("label", &format!("j{at}"), parent, r#""label":"y""#));
    }
    let (session, replay) = read(&entries);
    assert_eq!(replay.live(), ["r"]);
    assert!(noted(&session, "moves between branches beyond all measure, not followed"));
}
