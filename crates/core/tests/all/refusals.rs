//! Commands that change nothing: bad requests, limits, versions, closed and unknown sessions.

use std::collections::BTreeMap;

use lacuna_core::{
    Claim, ClaimOrigin, ClaimSource, Command, Contract, NewSpan, Open, Prune, Purpose, Refusal,
    Reply, SpanId, Summarize,
};

use crate::scenario::{
    Scenario, call, drop_spans, id, ids, open_command, saying, span, spans, summary,
};

/// Sends a command that must be refused, and gives the refusal's code and words.
fn refused(s: &mut Scenario, command: Command) -> (&'static str, String) {
    let (state, events) = (s.state.clone(), s.log.len());
    let refusal = s.send(command.clone()).expect_err(&format!("{command:?} was accepted"));
    assert_eq!((&s.state, s.log.len()), (&state, events), "a refusal changes nothing");
    (refusal.code(), refusal.to_string())
}

fn append(spans: Vec<NewSpan>) -> Command {
    Command::Append { spans }
}

fn open_with(change: impl FnOnce(&mut Open)) -> Command {
    let Command::Open(mut open) = open_command() else { unreachable!("it opens") };
    change(&mut open);
    Command::Open(open)
}

#[test]
fn a_session_opens_once_and_again_only_with_the_same_parameters() {
    let mut s = Scenario::nothing();
    let opened_at = s.now();
    let first = s.send(open_command()).unwrap();
    assert_eq!(first, Reply::Opened { version: 1, opened_at, duplicate: false });
    s.append(spans(&["a"]));
    let again = s.send(open_command()).unwrap();
    assert_eq!(again, Reply::Opened { version: 2, opened_at, duplicate: true });
    for (change, said) in [
        (open_with(|open| open.window_tokens = 9_999), "window_tokens 10000"),
        (open_with(|open| open.reserve_ppm = 0), "reserve_ratio 0.15"),
        (open_with(|open| open.contract = Contract::Enforce), "contract record"),
        (open_with(|open| drop(open.labels.insert("k".into(), "v".into()))), "labels"),
    ] {
        let (code, words) = refused(&mut s, change);
        assert_eq!(code, "session_exists");
        assert!(words.contains(said), "{words}");
    }
}

#[test]
fn a_window_without_room_is_no_window() {
    let mut s = Scenario::nothing();
    for open in [
        open_with(|open| open.window_tokens = 0),
        open_with(|open| open.reserve_ppm = 1_000_000),
        open_with(|open| open.reserve_ppm = u32::MAX),
    ] {
        assert_eq!(refused(&mut s, open).0, "bad_request");
    }
    let labels = BTreeMap::from([("k".to_owned(), "v".repeat(16 << 10))]);
    let (code, words) = refused(&mut s, open_with(|open| open.labels = labels));
    assert_eq!(code, "too_large");
    assert!(words.contains("16385 is over the limit of 16384"), "{words}");
}

#[test]
fn an_unknown_session_takes_nothing_but_an_opening() {
    let mut s = Scenario::nothing();
    for command in [append(spans(&["a"])), Command::Prune(drop_spans(&["a"])), Command::Close] {
        let (code, words) = refused(&mut s, command);
        assert_eq!(code, "unknown_session");
        assert!(words.contains("acme/run-1"), "{words}");
    }
}

#[test]
fn a_version_that_is_past_or_to_come_is_a_conflict() {
    let mut s = Scenario::given(spans(&["a"]));
    for expected in [0, 1, 3] {
        s.expected_version = Some(expected);
        for command in [append(spans(&["b"])), Command::Prune(drop_spans(&["a"])), open_command()] {
            let refusal = s.send(command).unwrap_err();
            assert_eq!(refusal, Refusal::VersionConflict { expected, actual: 2 });
        }
    }
    s.expected_version = Some(2);
    s.append(spans(&["b"]));
    s.expected_version = Some(1);
    let mut fresh = Scenario::nothing();
    fresh.expected_version = Some(1);
    assert_eq!(
        fresh.send(open_command()),
        Err(Refusal::VersionConflict { expected: 1, actual: 0 })
    );
}

#[test]
fn a_closed_session_takes_only_what_is_true_of_it_anyway() {
    let mut s = Scenario::given(spans(&["a", "b"]));
    s.prune(drop_spans(&["b"]));
    let closed_at = s.now();
    assert_eq!(s.send(Command::Close), Ok(Reply::Closed { version: 5, duplicate: false }));
    assert_eq!(s.send(Command::Close), Ok(Reply::Closed { version: 5, duplicate: true }));
    for command in [
        append(spans(&["c"])),
        append(spans(&["a"])),
        Command::Prune(drop_spans(&["a"])),
        Command::Prune(Prune { dry_run: true, ..drop_spans(&["a"]) }),
        Command::Restore { spans: ids(&["b"]) },
        Command::Summarize(summary("S", &["a"])),
        Command::Contradict { spans: ids(&["a", "b"]), note: None },
        open_command(),
    ] {
        assert_eq!(s.send(command.clone()), Err(Refusal::SessionClosed(closed_at)), "{command:?}");
    }
    let read = Command::Read { span: id("b"), purpose: Purpose::Audit };
    assert_eq!(s.send(read), Ok(Reply::Read { version: 6 }));
    assert_eq!(s.lose(&["b"]), Reply::DamageReported { version: 7, lost: ids(&["b"]) });
    assert_eq!(s.window(), "a tombstone(b)", "what the disk lost is true of a closed session too");
}

#[test]
fn every_limit_is_named_with_what_was_given() {
    let mut s = Scenario::given(spans(&["a", "b", "c"]));
    s.limits.spans_per_append = 2;
    s.limits.span_bytes = 64;
    s.limits.spans_per_directive = 2;
    s.limits.claim_bytes = 8;
    s.limits.label_bytes = 4;
    s.limits.remark_bytes = 4;
    let long = Some("right".to_owned());
    let labels = BTreeMap::from([("key".to_owned(), "va".to_owned())]);
    let source = ClaimSource { span: id("a"), quote: Some("quote".into()) };
    let claim = Claim { text: "abc".into(), origin: ClaimOrigin::Hedged, sources: vec![source] };
    let short = Summarize { text: "short".into(), ..summary("S", &["a"]) };
    for (command, what, given, limit) in [
        (append(spans(&["d", "e", "f"])), "spans in one append", 3, 2),
        (append(vec![saying("d", [b'x'; 65])]), "a span's content, in bytes", 65, 64),
        (append(vec![NewSpan { labels, ..span("d") }]), "labels, in bytes", 5, 4),
        (Command::Prune(drop_spans(&["a", "b", "c"])), "spans in one directive", 3, 2),
        (
            Command::Prune(Prune { reason: long.clone(), ..drop_spans(&["a"]) }),
            "reason or note, in bytes",
            5,
            4,
        ),
        (Command::Restore { spans: ids(&["a", "b", "c"]) }, "spans in one restore", 3, 2),
        (
            Command::Contradict { spans: ids(&["a", "b"]), note: long.clone() },
            "reason or note, in bytes",
            5,
            4,
        ),
        (
            Command::Resolve { contradiction: 1, note: "right".into() },
            "reason or note, in bytes",
            5,
            4,
        ),
        (Command::Summarize(summary("S", &["a", "b", "c"])), "spans in covers", 3, 2),
        (Command::Summarize(summary("S", &["a"])), "a summary's text, in bytes", 100, 64),
        (Command::Summarize(Summarize { claims: vec![claim], ..short }), "claims, in bytes", 9, 8),
    ] {
        let refusal = s.send(command).unwrap_err();
        let Refusal::TooLarge { what: named, given: found, limit: bound, advice } = refusal else {
            panic!("{what}: {refusal:?}")
        };
        assert_eq!((named, found, bound), (what, given, limit));
        assert!(!advice.is_empty());
    }
    s.append(vec![saying("full", [b'x'; 64]), span("d")]);
    s.prune(Prune { reason: Some("good".into()), ..drop_spans(&["a", "b"]) });
}

#[test]
fn requests_that_say_nothing_or_contradict_themselves() {
    let mut s = Scenario::given(spans(&["a"]));
    for command in [
        append(vec![]),
        Command::Restore { spans: vec![] },
        Command::Summarize(summary("S", &[])),
        Command::Contradict { spans: ids(&["a"]), note: None },
        Command::Contradict { spans: ids(&["a", "a"]), note: None },
        Command::Resolve { contradiction: 0, note: String::new() },
        Command::Resolve { contradiction: 1, note: String::new() },
    ] {
        assert_eq!(refused(&mut s, command).0, "bad_request");
    }
    s.append(spans(&["b"]));
    s.send(Command::Contradict { spans: ids(&["a", "b"]), note: None }).unwrap();
    let resolve = || Command::Resolve { contradiction: 1, note: "settled".into() };
    s.send(resolve()).unwrap();
    let (code, words) = refused(&mut s, resolve());
    assert_eq!(code, "bad_request");
    assert!(words.contains("resolved already"), "{words}");
}

#[test]
fn spans_that_were_never_recorded_are_all_named() {
    let mut s = Scenario::given(vec![span("a"), call("c")]);
    let ghost = || ids(&["ghost"]);
    for command in [
        Command::Restore { spans: ids(&["a", "ghost"]) },
        Command::Read { span: id("ghost"), purpose: Purpose::Expand },
        Command::Contradict { spans: ids(&["a", "ghost"]), note: None },
        Command::Summarize(summary("S", &["ghost", "a"])),
    ] {
        assert_eq!(s.send(command), Err(Refusal::UnknownSpan(ghost())));
    }
    let many: Vec<SpanId> = (0..30).map(|n| id(&format!("ghost_{n}"))).collect();
    let (code, words) = refused(&mut s, Command::Restore { spans: many });
    assert_eq!(code, "unknown_span");
    assert!(words.contains("ghost_7 and 22 more"), "{words}");
}
