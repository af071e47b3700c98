//! ATIF: steps, pairing, sub-agents, and how summaries are recognised.

use lacuna_core::{Origin, Role, SpanKind};
use serde_json::{Value, json};

use super::{file, import, noted, one, who};
use crate::Format::Atif;
use crate::replay::{Replay, bytes};
use crate::{Session, Step};

const BOUNDARY: &str = "Performed context summarization and handoff to continue task.";
const HANDOFF: &str = "Here are the answers the other agent provided.\n\n1. It is in x.rs.";

fn trajectory(steps: &[Value]) -> Value {
    json!({"schema_version": "ATIF-v1.6", "session_id": "traj-one", "agent": {"name": "a"}, "steps": steps})
}

fn read(steps: &[Value]) -> (Session, Replay) {
    one(Atif, &trajectory(steps).to_string())
}

fn say(id: u64, source: &str, message: &str) -> Value {
    json!({"step_id": id, "source": source, "message": message})
}

fn act(id: u64) -> Value {
    json!({"step_id": id, "source": "agent", "message": format!("act {id}"),
        "tool_calls": [{"tool_call_id": format!("c{id}"), "function_name": "run", "arguments": {}}],
        "observation": {"results": [{"content": format!("out {id}")}]}})
}

fn boundary(id: u64) -> Value {
    json!({"step_id": id, "source": "system", "message": BOUNDARY,
        "observation": {"results": [{"subagent_trajectory_ref": [{"session_id": "sub-summary"}]}]}})
}

fn changes(session: &Session) -> Vec<String> {
    let words = |spans: &[lacuna_core::SpanId]| {
        spans.iter().map(|span| span.as_str()).collect::<Vec<_>>().join(" ")
    };
    let change = |step: &Step| match step {
        Step::Append(_) => None,
        Step::Summarize { id, covers, text, .. } => {
            let line = text.lines().last().unwrap_or_default();
            Some(format!("{id} {line:?} over {}", words(covers)))
        }
        Step::Prune { spans, replace_with, .. } => {
            Some(format!("- {} for {}", words(spans), replace_with.clone().unwrap()))
        }
    };
    session.steps.iter().filter_map(change).collect()
}

fn no_summary_is_the_users(replay: &Replay) {
    for span in replay.spans.iter().filter(|span| span.origin == Origin::User) {
        let content = String::from_utf8_lossy(bytes(span)).into_owned();
        assert!(!content.contains("It is in x.rs"), "{content}");
    }
}

#[test]
fn a_step_is_thinking_words_calls_and_their_results() {
    let image = json!({"type": "image", "source": {"media_type": "image/png", "path": "i.png"}});
    let (session, replay) = read(&[
        say(1, "system", "You are."),
        json!({"step_id": 2, "timestamp": "t2", "source": "user", "message": [{"type": "text", "text": "What?"}, image]}),
        json!({"step_id": 3, "source": "agent", "model_name": "m-1", "message": "Look.", "reasoning_content": "hm",
            "tool_calls": [{"tool_call_id": "c1", "function_name": "f", "arguments": {"k": 1}},
                {"tool_call_id": "c2", "function_name": "g", "arguments": {}},
                {"tool_call_id": "c3", "function_name": "h", "arguments": {}}],
            "observation": {"results": [{"source_call_id": "c2", "content": "two"}, {"source_call_id": "c1"},
                {"source_call_id": "c9", "content": "nobody's"}]},
            "metrics": {"prompt_tokens": 1}}),
        say(4, "system", "Added workspace context"),
        say(5, "oracle", "?"),
    ]);
    assert_eq!(session.name.as_str(), "traj-one");
    assert_eq!(
        replay.live(),
        [
            "step1",
            "step2.0",
            "step2.1",
            "step3.think",
            "step3",
            "c1",
            "c2",
            "c3",
            "c2.result",
            "c1.result",
            "c9.result",
            "step4"
        ]
    );
    assert_eq!(who(replay.span("step1")), (Role::System, Origin::System, SpanKind::Message));
    assert_eq!(who(replay.span("step2.0")), (Role::User, Origin::User, SpanKind::Message));
    assert_eq!(replay.content("step2.1"), image.to_string());
    let thinking = (Role::Assistant, Origin::Model, SpanKind::Thinking);
    assert_eq!(who(replay.span("step3.think")), thinking);
    assert_eq!(replay.span("step3.think").labels["model_name"], "m-1");
    assert_eq!(replay.content("c1"), r#"{"id":"c1","name":"f","arguments":{"k":1}}"#);
    assert_eq!(replay.span("c2.result").answers.as_ref().unwrap().as_str(), "c2");
    assert_eq!(replay.content("c1.result"), "");
    assert_eq!(replay.span("c9.result").labels["call"], "c9");
    // What a harness says later is not the system prompt.
    assert_eq!(who(replay.span("step4")), (Role::System, Origin::Harness, SpanKind::Message));
    assert_eq!(replay.content("step3.rest"), r#"{"metrics":{"prompt_tokens":1}}"#);
    let raw: Vec<_> = session.report.raw.iter().map(|(kind, n)| (kind.as_str(), *n)).collect();
    assert_eq!(raw, [("remainder:agent", 1), ("remainder:document", 1), ("step:oracle", 1)]);
    let notes = ["tool results without an earlier call in this session: 1 (first: c9.result)"];
    assert_eq!(session.report.notes, notes);
}

#[test]
fn results_without_a_call_id_are_paired_by_position() {
    let calls = |ids: &[&str]| -> Vec<Value> {
        ids.iter().map(|id| json!({"tool_call_id": id, "function_name": "f"})).collect()
    };
    let (session, replay) = read(&[
        json!({"step_id": 1, "source": "agent", "message": "", "tool_calls": calls(&["a", "b"]),
            "observation": {"results": [{"content": "ra"}, {"content": "rb"}]}}),
        json!({"step_id": 2, "source": "agent", "message": "", "tool_calls": calls(&["c", "d"]),
            "observation": {"results": [{"content": "both"}]}}),
        json!({"step_id": 3, "source": "agent", "message": "", "tool_calls": calls(&["e"]),
            "observation": {"results": [{"content": "x"}, {"content": "y"}]}}),
    ]);
    let answers = |id: &str| replay.span(id).answers.as_ref().map(ToString::to_string);
    assert_eq!(answers("a.result").as_deref(), Some("a"));
    assert_eq!(replay.content("b.result"), "rb");
    assert_eq!(replay.span("b.result").labels["paired"], "position");
    assert_eq!(answers("d.result").as_deref(), Some("d"));
    assert_eq!((answers("step3.result0"), answers("step3.result1")), (None, None));
    assert!(noted(
        &session,
        "observations of several calls at once, taken as the result of the last"
    ));
    assert!(noted(&session, "observations without a call id, not as many as calls: not paired"));
}

#[test]
fn a_handoff_behind_a_boundary_is_a_summary_and_never_the_users_words() {
    let (session, replay) = read(&[
        say(1, "system", "You are."),
        say(2, "user", "The task."),
        act(3),
        boundary(4),
        say(5, "user", HANDOFF),
        act(6),
        boundary(7),
        say(8, "user", "The task.\n\nSummary: It is in x.rs, and done."),
        act(9),
    ]);
    assert_eq!(
        changes(&session),
        [
            r#"step5 "1. It is in x.rs." over step3 c3 c3.result"#,
            "- step3 c3 c3.result for step5",
            r#"step8 "Summary: It is in x.rs, and done." over step5 step6 c6 c6.result"#,
            "- step5 step6 c6 c6.result for step8",
        ]
    );
    assert_eq!(replay.live(), ["step1", "step2", "step8", "step9", "c9", "c9.result"]);
    assert_eq!(replay.content(&replay.nameless(2)), boundary(4).to_string());
    assert_eq!(session.report.raw["step:boundary"], 2);
    assert_eq!((session.report.summaries, session.report.pruned), (2, 7));
    assert!(noted(&session, "handoffs after a summarisation: the summary and questions"));
    no_summary_is_the_users(&replay);
}

#[test]
fn the_content_of_a_structured_boundary_takes_the_place_of_everything() {
    let compacted = json!({"step_id": 3, "source": "system", "message": "Context compaction performed",
        "extra": {"context_management": {"type": "compaction", "boundary": "replace"}},
        "observation": {"results": [{"content": "Summary: It is in x.rs."}]}});
    let (session, replay) =
        read(&[say(1, "user", "The task."), act(2), compacted.clone(), say(4, "user", "Go on.")]);
    assert_eq!(
        changes(&session),
        [
            r#"step3 "Summary: It is in x.rs." over step1 step2 c2 c2.result"#,
            "- step1 step2 c2 c2.result for step3",
        ]
    );
    assert_eq!(replay.live(), ["step3", "step4"]);
    assert_eq!(replay.span("step4").origin, Origin::User);
    assert_eq!(replay.content(&replay.nameless(2)), compacted.to_string());
    no_summary_is_the_users(&replay);
}

#[test]
fn a_boundary_that_does_not_say_enough_is_noted_and_changes_nothing() {
    let managed = |id: u64, kind: &str, boundary: &str| {
        json!({"step_id": id, "source": "system", "message": "Changed.",
            "extra": {"context_management": {"type": kind, "boundary": boundary}}})
    };
    let (session, replay) = read(&[
        say(1, "user", "The task."),
        act(2),
        managed(3, "compaction", "replace"),
        say(4, "user", "My own words."),
        managed(5, "pruning", "truncate"),
        say(6, "system", "<manual compaction>"),
        // The sentence alone, without the sub-agents that would have done it.
        say(7, "system", BOUNDARY),
        say(8, "user", "And these."),
        boundary(9),
        act(10),
        boundary(11),
    ]);
    assert_eq!(changes(&session), [""; 0]);
    assert_eq!(replay.span("step4").origin, Origin::User);
    assert_eq!(replay.span("step8").origin, Origin::User);
    assert!(noted(
        &session,
        "summarisations whose words are not in this trajectory: the window is left as it was: 3 (first: step3)"
    ));
    assert!(noted(
        &session,
        "system steps about a summarised or shortened window that do not say what left it: the window is left as it was: 3 (first: step5)"
    ));
}

#[test]
fn texts_that_carry_a_summary_without_a_boundary_are_notes_of_the_harness() {
    let carried = "You are picking up work from a previous AI agent on this task:\n\nIt is in x.rs";
    let (session, replay) = read(&[
        json!({"step_id": 1, "source": "user", "message": "The task.", "is_copied_context": true}),
        json!({"step_id": 2, "source": "user", "message": carried, "is_copied_context": true}),
        say(3, "agent", "What is in x.rs?"),
        say(4, "user", HANDOFF),
        say(
            5,
            "user",
            "You are about to hand off your work to another AI agent.\nPlease summarise.",
        ),
    ]);
    assert_eq!(replay.live(), ["step1", "step2", "step3", "step4", "step5"]);
    assert_eq!(replay.span("step1").origin, Origin::User);
    for id in ["step2", "step4"] {
        assert_eq!(who(replay.span(id)), (Role::User, Origin::Harness, SpanKind::Note));
        assert_eq!(replay.span(id).labels["summary"], "summarisation by the agent");
    }
    assert_eq!(who(replay.span("step5")), (Role::User, Origin::Harness, SpanKind::Message));
    assert_eq!(replay.span("step5").labels["injected"], "handoff");
    assert!(noted(&session, "summaries that take the place of no span in this transcript"));
    let copied = replay
        .spans
        .iter()
        .find(|span| span.labels.get("raw").is_some_and(|raw| raw == "remainder:copied"));
    assert_eq!(bytes(copied.unwrap()), br#"{"is_copied_context":["step1","step2"]}"#);
    no_summary_is_the_users(&replay);
}

#[test]
fn sub_agents_are_sessions_whose_prompts_are_not_the_users() {
    let sub = |id: &str| {
        let mut sub = trajectory(&[say(1, "user", "Do it."), say(2, "agent", "Done.")]);
        sub["session_id"] = json!(id);
        sub
    };
    let mut embedded = sub("main");
    embedded["trajectory_id"] = json!("inner");
    let mut delegate = act(2);
    delegate["observation"]["results"][0] =
        json!({"source_call_id": "c2", "subagent_trajectory_ref": [{"session_id": "helper"}]});
    let by_system = json!({"step_id": 3, "source": "system", "message": "Started.",
        "observation": {"results": [{"subagent_trajectory_ref": [{"session_id": "watcher"}]}]}});
    let mut main = trajectory(&[say(1, "user", "The task."), delegate, by_system]);
    main["session_id"] = json!("main");
    main["subagent_trajectories"] = json!([embedded]);
    let mut far = sub("far");
    far["agent"] = json!({"name": "a", "extra": {"parent_session_id": "elsewhere"}});
    let files = [
        file("1-far.json", far.to_string()),
        file("2-helper.json", sub("helper").to_string()),
        file("3-main.json", main.to_string()),
        file("4-watcher.json", sub("watcher").to_string()),
        file("5-own.json", sub("own").to_string()),
    ];
    let sessions = import(Atif, &files);
    let told: Vec<_> = sessions
        .iter()
        .map(|session| {
            let replay = Replay::of(session);
            let origin = replay.span("step1").origin;
            (session.name.as_str().to_owned(), session.report.parent.clone(), origin)
        })
        .collect();
    let parent = |name: &str| Some(name.to_owned());
    assert_eq!(
        told,
        [
            ("far".to_owned(), parent("elsewhere"), Origin::Model),
            ("helper".to_owned(), parent("main"), Origin::Model),
            ("main".to_owned(), None, Origin::User),
            ("inner".to_owned(), parent("main"), Origin::Model),
            ("watcher".to_owned(), parent("main"), Origin::Harness),
            ("own".to_owned(), None, Origin::User),
        ]
    );
    let main = Replay::of(&sessions[2]);
    assert_eq!(main.content("c2.result"), "");
    assert!(main.content("step2.rest").contains("helper"));
}

#[test]
fn an_open_call_at_the_cut_goes_with_the_next_summary() {
    let mut open = act(2);
    open["observation"] = Value::Null;
    let mut late = say(5, "agent", "At last.");
    late["observation"] = json!({"results": [{"source_call_id": "c2", "content": "late"}]});
    let (session, replay) = read(&[
        say(1, "user", "The task."),
        open,
        boundary(3),
        say(4, "user", HANDOFF),
        late,
        boundary(6),
        say(7, "user", HANDOFF),
    ]);
    assert_eq!(
        changes(&session),
        [
            r#"step4 "1. It is in x.rs." over step2 c2"#,
            "- step2 for step4",
            r#"step7 "1. It is in x.rs." over c2 step4 step5 c2.result"#,
            "- c2 step4 step5 c2.result for step7",
        ]
    );
    assert_eq!(replay.live(), ["step1", "step7"]);
    assert!(noted(&session, "tool calls without a result, left in the window"));
}

#[test]
fn damaged_documents_are_kept_and_loose_steps_are_read() {
    let whole = trajectory(&[say(1, "user", "The task."), act(2)]).to_string();
    let (session, replay) = one(Atif, &whole[..whole.len() - 9]);
    assert_eq!(session.report.raw["torn-tail"], 1);
    assert_eq!(replay.content(&replay.nameless(1)), whole[..whole.len() - 9]);
    assert_eq!(replay.live(), [""; 0]);
    // Steps in lines; repeated ids stay apart.
    let lines = [say(1, "user", "The task."), act(2), act(2), json!(17), json!({"x": 1})];
    let lines: Vec<_> = lines.iter().map(Value::to_string).collect();
    let (session, replay) = one(Atif, &lines.join("\n"));
    assert_eq!(session.name.as_str(), "file");
    assert_eq!(
        replay.live(),
        ["step1", "step2", "c2", "c2.result", "step2.d2", "c2.d2", "c2.result.d2"]
    );
    assert_eq!(session.report.raw["not-a-step"], 2);
    // What is no step within a document.
    let (session, replay) = read(&[json!("text"), json!({"source": "user", "message": "hi"})]);
    assert_eq!(session.report.raw["not-a-step"], 1);
    assert_eq!(replay.live().len(), 1);
}
