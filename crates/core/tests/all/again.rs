//! A resent command gets the first reply. [`crate::laws`] holds every command of every test to
//! that; here are the commands whose reply is hard to rebuild, and what is refused.

use lacuna_core::{Command, CopyEvidence, NewSpan, Prune, Purpose, Reply, reply_again};

use crate::scenario::{
    Scenario, call, drop_spans, id, ids, open_command, replace, result, saying, span, spans,
    summary, withheld,
};

/// Sends a command and asks for its reply again, long after: the session has moved on.
fn later(s: &mut Scenario, command: &Command) -> (Reply, Option<Reply>) {
    let (before, from) = (s.state.clone(), s.log.len());
    let examined = s.examine(command);
    let reply = s.send(command.clone()).unwrap();
    let (after, to) = (s.state().clone(), s.log.len());
    s.append(vec![NewSpan { id: None, ..span("unnamed") }]);
    let facts = before.as_ref().and(examined);
    let again =
        reply_again(command, before.as_ref(), &after, &s.log[from..to], facts.as_ref(), None);
    (reply, again)
}

#[track_caller]
fn same(s: &mut Scenario, command: Command) -> Reply {
    let (first, again) = later(s, &command);
    assert_eq!(again.as_ref(), Some(&first), "{command:?}");
    first
}

#[test]
fn every_command_that_makes_events_is_answered_the_same_again() {
    let mut s = Scenario::nothing();
    let s = &mut s;
    same(s, open_command());
    same(s, Command::Append { spans: spans(&["a", "b", "c", "d"]) });
    same(s, Command::Append { spans: vec![call("call"), result("answer", "call")] });
    same(s, Command::Summarize(summary("S", &["a", "b"])));
    same(s, Command::Summarize(lacuna_core::Summarize { id: None, ..summary("S", &["c"]) }));
    same(s, Command::Contradict { spans: ids(&["a", "b"]), note: None });
    same(s, Command::Prune(drop_spans(&["a"])));
    same(s, Command::Resolve { contradiction: 1, note: "settled".into() });
    same(s, Command::Prune(replace(&["a", "b"], "S")));
    same(s, Command::Prune(drop_spans(&["ghost"])));
    same(s, Command::Prune(drop_spans(&["call"])));
    same(s, Command::Restore { spans: ids(&["b", "a"]) });
    same(s, Command::Read { span: id("a"), purpose: Purpose::Reground });
    s.evidence.insert(id("c"), CopyEvidence::missing("gone"));
    s.evidence.insert(id("d"), CopyEvidence::missing("gone"));
    same(s, Command::ReportDamage { spans: ids(&["d", "a", "c"]), ended: false });
    let before = s.state().clone();
    let reply = s.send(Command::Close).unwrap();
    let again = reply_again(
        &Command::Close,
        Some(&before),
        s.state(),
        &s.log[s.log.len() - 1..],
        None,
        None,
    );
    assert_eq!(again, Some(reply));
}

#[test]
fn an_append_of_new_and_old_spans_with_and_without_ids() {
    let unnamed = |text| NewSpan { id: None, ..saying("unnamed", text) };
    let mut s = Scenario::given(vec![span("a"), span("s1"), withheld("key")]);
    let reply = same(
        &mut s,
        Command::Append {
            spans: vec![
                span("a"),
                unnamed("x"),
                withheld("key"),
                withheld("other"),
                unnamed("x"),
                span("b"),
                span("b"),
                span("s1"),
                unnamed("y"),
                withheld("other"),
                NewSpan { contradicts: ids(&["a", "b"]), ..span("c") },
                NewSpan { in_window: false, ..unnamed("z") },
                span("s6"),
            ],
        },
    );
    let Reply::Appended { spans, .. } = reply else { panic!("{reply:?}") };
    let found: Vec<(&str, bool)> =
        spans.iter().map(|span| (span.id.as_str(), span.duplicate)).collect();
    let expected = [
        ("a", true),
        ("s2", false),
        ("key", true),
        ("other", false),
        ("s3", false),
        ("b", false),
        ("b", true),
        ("s1", true),
        ("s4", false),
        ("other", true),
        ("c", false),
        ("s5", false),
        ("s6", false),
    ];
    assert_eq!(found, expected);
}

#[test]
fn lossy_and_mixed_prunes() {
    let mut s = Scenario::given(vec![span("a"), withheld("key"), span("b"), span("c")]);
    s.summarize("S", &["a", "b", "key", "c"]);
    s.evidence.insert(id("a"), CopyEvidence::missing("gone"));
    let lossy = |prune| Command::Prune(Prune { accept_lossy: true, ..prune });
    same(&mut s, lossy(replace(&["key", "b"], "S")));
    same(&mut s, lossy(drop_spans(&["a"])));
    same(&mut s, lossy(drop_spans(&["a", "c"])));
    // A summary with spans behind it, given up.
    s.evidence.insert(id("S"), CopyEvidence::missing("gone"));
    same(&mut s, lossy(drop_spans(&["S", "c"])));
}

#[test]
fn a_restore_that_retires_a_summary() {
    let mut s = Scenario::given(spans(&["a", "b", "c"]));
    s.summarize("S", &["a", "c"]);
    s.prune(replace(&["a", "c"], "S"));
    s.prune(drop_spans(&["b"]));
    same(&mut s, Command::Restore { spans: ids(&["c", "a"]) });
}

#[test]
fn events_of_another_command_rebuild_nothing() {
    let mut s = Scenario::given(spans(&["a"]));
    let before = s.state().clone();
    s.prune(drop_spans(&["a"]));
    let events = &s.log[s.log.len() - 1..];
    let again =
        |command: Command| reply_again(&command, Some(&before), s.state(), events, None, None);
    assert_eq!(again(Command::Close), None);
    assert_eq!(again(Command::Restore { spans: ids(&["a"]) }), None);
    assert_eq!(again(Command::Append { spans: spans(&["a"]) }), None);
    let prune = Command::Prune(drop_spans(&["a"]));
    assert_eq!(reply_again(&prune, Some(&before), s.state(), &[], None, None), None);
    assert_eq!(
        reply_again(&prune, None, s.state(), events, None, None),
        None,
        "a prune needs the state before"
    );
}
