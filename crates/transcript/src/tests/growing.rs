//! A transcript that has grown says nothing else about what was there before. For pi, sessions are
//! made at random, and the window is that of the agent's own rule.

use std::collections::{BTreeMap, BTreeSet};

use lacuna_core::{NewSpan, Origin, Role, SpanId, SpanKind};

use serde_json::{Value, json};

use super::{file, who};
use crate::replay::Replay;
use crate::{Format, Session, Step, import};

/// One entry of a made-up session.
#[derive(Debug, Clone)]
struct Entry {
    id: String,
    parent: Option<usize>,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    User,
    Call,
    /// Of the call that entry made.
    Result(usize),
    /// Keeps from that entry on.
    Compaction(usize),
    BranchSummary,
    Label,
}

/// A small generator of numbers: the same seed gives the same session.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

fn path(entries: &[Entry], leaf: usize) -> Vec<usize> {
    let mut path = vec![leaf];
    while let Some(parent) = entries[path[path.len() - 1]].parent {
        path.push(parent);
    }
    path.reverse();
    path
}

/// A session of 40 entries. Going back leads to any entry, or only to one on the way to where the
/// agent stands, behind the latest compaction: then what a compaction took never comes back.
fn made_up(seed: u64, anywhere: bool) -> Vec<Entry> {
    let mut numbers = Numbers(seed);
    let mut entries: Vec<Entry> = Vec::new();
    for at in 0..40 {
        let jump = at > 2 && numbers.below(6) == 0;
        let parent = match at {
            0 => None,
            _ if jump && anywhere => Some(numbers.below(at)),
            _ if jump => {
                let way = path(&entries, at - 1);
                let compaction =
                    |place: &usize| matches!(entries[*place].kind, Kind::Compaction(_));
                let from = way.iter().rposition(compaction).unwrap_or(0);
                Some(way[from + numbers.below(way.len() - from)])
            }
            _ => Some(at - 1),
        };
        let way = parent.map(|parent| path(&entries, parent)).unwrap_or_default();
        let open = way.iter().rev().find(|place| {
            matches!(entries[**place].kind, Kind::Call)
                && !way.iter().any(
                    |later| matches!(entries[*later].kind, Kind::Result(call) if call == **place),
                )
        });
        // What an earlier compaction took is not kept again.
        let kept = way.iter().filter_map(|place| match entries[*place].kind {
            Kind::Compaction(kept) => way.iter().position(|place| *place == kept),
            _ => None,
        });
        let from = kept.max().unwrap_or(0);
        let kind = match (numbers.below(9), open) {
            (0..=3, Some(call)) => Kind::Result(*call),
            (0, None) | (4, _) => Kind::Call,
            (5, _) if !way.is_empty() => {
                Kind::Compaction(way[from + numbers.below(way.len() - from)])
            }
            (6, _) if jump => Kind::BranchSummary,
            (7, _) => Kind::Label,
            _ => Kind::User,
        };
        entries.push(Entry { id: format!("e{at}"), parent, kind });
    }
    entries
}

fn written(entries: &[Entry]) -> String {
    let mut text = r#"{"type":"session","version":3,"id":"made-up","cwd":"/w"}"#.to_owned() + "\n";
    for Entry { id, parent, kind } in entries {
        let parent = match parent {
            Some(parent) => format!("\"{}\"", entries[*parent].id),
            None => "null".to_owned(),
        };
        let (name, fields) = match kind {
            Kind::User => {
                ("message", format!(r#""message":{{"role":"user","content":"say {id}"}}"#))
            }
            Kind::Call => (
                "message",
                format!(
                    r#""message":{{"role":"assistant","content":[{{"type":"toolCall","id":"call-{id}","name":"f","arguments":{{}}}}]}}"#
                ),
            ),
            Kind::Result(call) => {
                let call = &entries[*call].id;
                (
                    "message",
                    format!(
                        r#""message":{{"role":"toolResult","toolCallId":"call-{call}","content":"out {id}"}}"#
                    ),
                )
            }
            Kind::Compaction(kept) => {
                let kept = &entries[*kept].id;
                ("compaction", format!(r#""summary":"sum {id}","firstKeptEntryId":"{kept}""#))
            }
            Kind::BranchSummary => ("branch_summary", format!(r#""summary":"sum {id}""#)),
            Kind::Label => ("label", format!(r#""label":"{id}""#)),
        };
        text +=
            &format!("{{\"type\":\"{name}\",\"id\":\"{id}\",\"parentId\":{parent},{fields}}}\n");
    }
    text
}

/// The entries that the agent's own rule shows at the end: the latest summary, what it kept, and
/// what came after.
fn shown(entries: &[Entry]) -> BTreeSet<String> {
    let path = path(entries, entries.len() - 1);
    let latest = path.iter().rposition(|place| matches!(entries[*place].kind, Kind::Compaction(_)));
    let kept = latest.and_then(|at| match entries[path[at]].kind {
        Kind::Compaction(kept) => path.iter().position(|place| *place == kept),
        _ => None,
    });
    let place = |(at, place): (usize, &usize)| match entries[*place].kind {
        Kind::Label => None,
        Kind::Compaction(_) => (Some(at) == latest).then(|| entries[*place].id.clone()),
        _ => (at >= kept.unwrap_or(0)).then(|| entries[*place].id.clone()),
    };
    path.iter().enumerate().filter_map(place).collect()
}

fn read(format: Format, text: &str) -> (Session, Replay) {
    let mut sessions = import(format, &[file("s.jsonl", text)]).unwrap();
    let session = sessions.remove(0);
    let replay = Replay::of(&session);
    (session, replay)
}

/// What the journal compares when a span is sent again, and what each summary covers.
type Facts = BTreeMap<SpanId, ((Role, Origin, SpanKind), String, Vec<SpanId>)>;

fn facts(session: &Session, replay: &Replay) -> Facts {
    let of_span = |span: &NewSpan| {
        (span.id.clone().unwrap(), (who(span), span.digest.to_string(), Vec::new()))
    };
    let mut facts: Facts = replay.spans.iter().map(of_span).collect();
    for step in &session.steps {
        if let Step::Summarize { id, covers, text, .. } = step {
            let summary = (Role::User, Origin::Summary, SpanKind::Summary);
            facts.insert(id.clone(), (summary, text.clone(), covers.clone()));
        }
    }
    facts
}

#[test]
fn the_window_is_that_of_the_agents_own_rule() {
    let (mut summaries, mut returns) = (0, 0);
    for seed in 0..400 {
        let entries = made_up(seed, true);
        let (session, replay) = read(Format::Pi, &written(&entries));
        let entry_of = |span: &SpanId| {
            let named = replay.spans.iter().find(|other| other.id.as_ref() == Some(span));
            named.and_then(|span| span.source.clone()?.id).unwrap_or_else(|| span.to_string())
        };
        let live: BTreeSet<String> = replay.live.iter().map(entry_of).collect();
        let mut expected = shown(&entries);
        // A call may not leave before its result: those stay.
        let stuck: BTreeSet<String> = live.difference(&expected).cloned().collect();
        for id in &stuck {
            let place: usize = id[1..].parse().unwrap();
            let active = path(&entries, entries.len() - 1).contains(&place);
            assert!(
                active && matches!(entries[place].kind, Kind::Call),
                "seed {seed}: {id} in {live:?}"
            );
        }
        expected.extend(stuck);
        assert_eq!(live, expected, "seed {seed}");
        summaries += session.report.summaries;
        returns += u64::from(session.report.notes.iter().any(|note| note.contains("come back")));
    }
    assert!(summaries > 400 && returns > 50, "{summaries} {returns}");
}

#[test]
fn a_session_that_has_grown_says_the_same_about_what_was_there() {
    for seed in 0..60 {
        let entries = made_up(seed, false);
        let (session, replay) = read(Format::Pi, &written(&entries));
        let whole = facts(&session, &replay);
        for end in 1..entries.len() {
            let (session, replay) = read(Format::Pi, &written(&entries[..end]));
            for (id, fact) in facts(&session, &replay) {
                let same = whole.get(&id);
                assert_eq!(same, Some(&fact), "seed {seed}, {end} entries, {id}");
            }
        }
    }
}

#[test]
fn a_trajectory_that_has_grown_says_the_same_about_its_steps() {
    let boundary = "Performed context summarization and handoff to continue task.";
    let refers = json!({"results": [{"subagent_trajectory_ref": [{"session_id": "sub"}]}]});
    let act = |id: u64| {
        json!({"step_id": id, "source": "agent", "message": "m", "metrics": {"n": 1},
            "tool_calls": [{"tool_call_id": format!("c{id}"), "function_name": "f", "arguments": {}}],
            "observation": {"results": [{"content": "x"}]}})
    };
    let steps = [
        json!({"step_id": 1, "source": "system", "message": "You are."}),
        json!({"step_id": 2, "source": "user", "message": "The task."}),
        act(3),
        json!({"step_id": 4, "source": "system", "message": boundary, "observation": refers}),
        json!({"step_id": 5, "source": "user", "message": "Here are the answers."}),
        act(6),
        json!({"step_id": 7, "source": "system", "message": "",
            "extra": {"context_management": {"type": "compaction", "boundary": "replace"}},
            "observation": {"results": [{"content": "In short."}]}}),
        json!({"step_id": 8, "source": "user", "message": "Go on."}),
        act(9),
    ];
    // Agents mark earlier steps as copied when they summarise, and count anew in the end.
    let written = |end: usize, copied: usize| {
        let mut steps: Vec<Value> = steps[..end].to_vec();
        steps[..copied].iter_mut().for_each(|step| step["is_copied_context"] = json!(true));
        json!({"schema_version": "ATIF-v1.7", "session_id": "growing", "agent": {"name": "a"},
            "steps": steps, "final_metrics": {"total_steps": end}})
        .to_string()
    };
    let (session, replay) = read(Format::Atif, &written(steps.len(), 6));
    let whole = facts(&session, &replay);
    for end in 1..steps.len() {
        let (session, replay) = read(Format::Atif, &written(end, 0));
        let mut before = facts(&session, &replay);
        // What was kept of the document as it was has an id of its own bytes.
        before.retain(|id, _| !id.as_str().starts_with("r-"));
        assert!(!before.is_empty());
        for (id, fact) in before {
            assert_eq!(whole.get(&id), Some(&fact), "{end} steps, {id}");
        }
    }
}
