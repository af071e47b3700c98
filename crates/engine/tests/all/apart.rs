//! Summaries over more than a megabyte are examined beside the writer: nobody waits for them, none
//! is lost on the way, and what happened meanwhile counts.

use std::sync::mpsc::sync_channel;

use lacuna_core::{ClaimOrigin, Command, FindingCode, Reply, SummaryStatus};
use lacuna_engine::{EngineError, Options, VerifyOptions};

use crate::honest::{
    Answer, Held, check_folded, claim, codes, enforced, honest, large, submit, summarized, summary,
};
use crate::rig::{Rig, append, key, request, span};

/// Just enough to be examined apart.
const LARGE: usize = 1_100_000;

/// A session `s` under the contract with a large `a` of this many bytes.
fn recorded(bytes: usize) -> Rig {
    let rig = Rig::new();
    enforced(&rig, "s");
    let spans = vec![large("a", bytes, "The port is 5433, see req-77ae-0042.")];
    rig.send("s", Command::Append { spans }).unwrap();
    rig
}

fn version(rig: &Rig, session: &str) -> u64 {
    rig.journal.state(&key(session)).unwrap().version
}

#[test]
fn two_copies_of_one_command_have_one_effect_and_one_reply() {
    let rig = recorded(LARGE);
    let (sender, answers) = sync_channel(8);
    let held = Held::up(&rig);
    for _ in 0..4 {
        submit(&rig, request("s", Some(("c", 1)), honest("sum", "a")), &sender);
    }
    // The same id with another request, while the first is being examined.
    submit(&rig, request("s", Some(("c", 2)), honest("other", "a")), &sender);
    held.let_go();
    let answers: Vec<Answer> = answers.iter().take(5).collect();
    let (done, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    let done: Vec<_> = done.into_iter().map(Result::unwrap).collect();
    assert_eq!(done.len(), 4);
    assert_eq!(done.iter().filter(|done| !done.again).count(), 1);
    assert!(done.iter().all(|other| other.reply == done[0].reply), "{done:?}");
    match &refused[0] {
        Err(EngineError::Refused(refusal)) => assert_eq!(refusal.code(), "command_id_reused"),
        other => panic!("{other:?}"),
    }
    assert_eq!(version(&rig, "s"), 3);
    // Without a command id the same summary again is no other one.
    let again = summarized(rig.send("s", honest("sum", "a")));
    let Reply::Summarized(first) = &done[0].reply else { panic!("{done:?}") };
    assert_eq!(
        (again.summary, again.status, again.version),
        (first.summary.clone(), first.status, 3)
    );
    check_folded(&rig, "s");
}

#[test]
fn summaries_come_back_in_the_order_in_which_they_were_sent() {
    let rig = recorded(LARGE);
    let (sender, answers) = sync_channel(8);
    for n in 0..5 {
        submit(&rig, request("s", None, honest(&format!("sum{n}"), "a")), &sender);
    }
    let replies: Vec<_> = answers.iter().take(5).map(summarized).collect();
    let ids: Vec<&str> = replies.iter().map(|reply| reply.summary.as_str()).collect();
    assert_eq!(ids, ["sum0", "sum1", "sum2", "sum3", "sum4"]);
    let versions: Vec<u64> = replies.iter().map(|reply| reply.version).collect();
    assert_eq!(versions, [3, 4, 5, 6, 7]);
    check_folded(&rig, "s");
}

#[test]
fn others_write_while_a_summary_is_examined() {
    let rig = recorded(16 << 20);
    rig.opened("other");
    let (sender, answers) = sync_channel(1);
    submit(&rig, request("s", None, honest("sum", "a")), &sender);
    let mut written = 0;
    let answer = loop {
        // In its own session too.
        rig.append("other", &[(&format!("m{written}"), "words")]);
        rig.append("s", &[(&format!("m{written}"), "words")]);
        written += 1;
        if let Ok(answer) = answers.try_recv() {
            break answer;
        }
    };
    let reply = summarized(answer);
    assert!(written >= 5, "{written} appends got through");
    assert_eq!((reply.status, codes(&reply)), (SummaryStatus::NeedsAudit, vec![]));
    assert_eq!(version(&rig, "other"), 1 + written);
    assert_eq!(version(&rig, "s"), 3 + written);
    check_folded(&rig, "s");
}

#[test]
fn whoever_comes_when_too_many_wait_is_told_so_and_may_come_again() {
    let rig = recorded(LARGE);
    let (sender, answers) = sync_channel(512);
    let held = Held::up(&rig);
    for n in 0..300 {
        let id = format!("c{n}");
        let command = honest(&format!("sum{n}"), "a");
        submit(&rig, request("s", Some((&id, 1)), command), &sender);
    }
    drop(sender);
    held.let_go();
    let answers: Vec<Answer> = answers.iter().collect();
    assert_eq!(answers.len(), 300, "each is answered");
    let mut taken = 0;
    for answer in answers {
        match answer {
            Ok(done) => {
                assert!(!done.again);
                taken += 1;
            }
            Err(EngineError::Overloaded { waiting }) => assert_eq!(waiting, 64),
            Err(other) => panic!("{other}"),
        }
    }
    assert!((64..300).contains(&taken), "{taken} were taken");
    assert_eq!(version(&rig, "s"), 2 + taken, "what was refused left nothing behind");
    for n in [0, 299] {
        let request = request("s", Some((&format!("c{n}"), 1)), honest(&format!("sum{n}"), "a"));
        let reply = summarized(rig.journal.execute(request));
        assert_eq!(reply.summary.as_str(), format!("sum{n}"));
    }
    check_folded(&rig, "s");
}

#[test]
fn closing_answers_what_is_being_examined() {
    for round in 0..4 {
        let rig = recorded(LARGE);
        let (sender, answers) = sync_channel(64);
        for n in 0..12 {
            submit(&rig, request("s", None, honest(&format!("sum{n}"), "a")), &sender);
            submit(&rig, request("s", None, append(&[(&format!("m{n}"), "words")])), &sender);
        }
        drop(sender);
        // Sooner or later on the way.
        for _ in 0..round * 4 {
            answers.recv().unwrap().unwrap();
        }
        let closed = rig.journal.close().unwrap();
        let rest: Vec<Answer> = answers.iter().collect();
        assert_eq!(rest.len(), 24 - round * 4, "each is answered");
        assert!(rest.iter().all(Result::is_ok), "{rest:?}");
        assert_eq!(closed.seq, 2 + 24);
        let late = rig.send("s", honest("late", "a"));
        assert!(matches!(late, Err(EngineError::Unavailable(_))), "{late:?}");
        let rig = rig.reopened();
        assert_eq!(version(&rig, "s"), 2 + 24);
        check_folded(&rig, "s");
        assert_eq!(rig.journal.verify(&VerifyOptions::default(), |_| {}).unwrap().faults, vec![]);
    }
}

/// Sends a large summary, and while it is examined something else of the same session, which the
/// writer takes first; gives both answers.
fn overtaken(rig: &Rig, summary: Command, meanwhile: Command) -> (Answer, Answer) {
    let (sender, answers) = sync_channel(1);
    submit(rig, request("s", None, summary), &sender);
    // The writer has handed the summary on before it opens the session that holds it up.
    let held = Held::up(rig);
    let (sender, other) = sync_channel(1);
    submit(rig, request("s", None, meanwhile), &sender);
    held.until_waiting(rig, 2);
    held.let_go();
    let other = other.recv().unwrap();
    (answers.recv().unwrap(), other)
}

/// What a claim cites was recorded after the summary was examined: nobody has looked at it.
#[test]
fn a_source_recorded_meanwhile_is_not_taken_on_trust() {
    let rig = recorded(16 << 20);
    let said = "I guess the deploy may be finished at some point.";
    let later = Command::Append { spans: vec![span(Some("later"), said)] };
    let words = "The deploy is finished.";
    let claims = vec![claim(words, ClaimOrigin::UserSaid, "later", Some("the deploy is finished"))];
    let (answer, other) = overtaken(&rig, summary("sum", &["a"], words, claims), later);
    assert!(other.is_ok());
    let reply = summarized(answer);
    assert_eq!(reply.status, SummaryStatus::Rejected, "{reply:?}");
    assert!(codes(&reply).contains(&FindingCode::AnchorNotInSource), "{reply:?}");
}

/// The same for a covered span: it is listed as replaced, and its identifiers were never counted.
#[test]
fn a_covered_span_recorded_meanwhile_is_examined_too() {
    let rig = recorded(16 << 20);
    let later = Command::Append { spans: vec![span(Some("later"), "It was req-1234-abcd again.")] };
    let words = "The port is 5433.";
    let claims = vec![claim(words, ClaimOrigin::UserSaid, "a", None)];
    let (answer, other) = overtaken(&rig, summary("sum", &["a", "later"], words, claims), later);
    assert!(other.is_ok());
    let reply = match answer {
        // Sent before the span was there, it may as well be told so.
        Err(EngineError::Refused(refusal)) => {
            assert_eq!(refusal.code(), "unknown_span");
            return;
        }
        answer => summarized(answer),
    };
    let omitted: Vec<&str> = reply.omitted.iter().map(|omitted| omitted.text.as_str()).collect();
    assert!(omitted.contains(&"req-1234-abcd"), "{omitted:?}");
}

#[test]
fn what_changed_meanwhile_decides() {
    // The session is closed.
    let rig = recorded(16 << 20);
    let (answer, other) = overtaken(&rig, honest("sum", "a"), Command::Close);
    assert!(other.is_ok());
    match answer {
        Err(EngineError::Refused(refusal)) => assert_eq!(refusal.code(), "session_closed"),
        other => panic!("{other:?}"),
    }
    // The id is taken.
    let rig = recorded(16 << 20);
    let (answer, other) = overtaken(&rig, honest("sum", "a"), append(&[("sum", "a span")]));
    assert!(other.is_ok());
    match answer {
        Err(EngineError::Refused(refusal)) => assert_eq!(refusal.code(), "span_conflict"),
        other => panic!("{other:?}"),
    }
    check_folded(&rig, "s");
}

/// Sends summaries without waiting until one is refused for the bytes that wait, or all are taken.
fn taken_of(rig: &Rig, most: usize, command: impl Fn(usize) -> Command) -> usize {
    for n in 0..most {
        let ignored = Box::new(|_| ());
        match rig.journal.submit(request("s", None, command(n)), ignored) {
            Ok(()) => {}
            Err(EngineError::Overloaded { .. }) => return n,
            Err(other) => panic!("{other}"),
        }
        // The writer takes it off the queue if it can.
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    most
}

#[test]
fn claims_count_among_the_bytes_that_wait() {
    let rig = Rig::with(Options { queue_bytes: 2 << 20, ..Options::default() });
    enforced(&rig, "s");
    rig.append("s", &[("a", "The port is 5433.")]);
    let held = Held::up(&rig);
    let words = "and so on ".repeat(50_000);
    let command = |n: usize| {
        let claims = vec![claim(&words, ClaimOrigin::UserSaid, "a", Some(&words))];
        summary(&format!("sum{n}"), &["a"], "The port is 5433.", claims)
    };
    let taken = taken_of(&rig, 20, command);
    held.let_go();
    assert!(taken <= 3, "{taken} megabytes wait where two may");
}

/// It is what a summary says that is long here, not what it covers.
#[test]
fn others_write_while_a_long_text_is_examined() {
    let rig = recorded(1_000);
    rig.opened("other");
    let text = "The port is 5433, and so it went on. ".repeat((16 << 20) / 37);
    let claims = vec![claim("The port is 5433.", ClaimOrigin::UserSaid, "a", None)];
    let (sender, answers) = sync_channel(1);
    submit(&rig, request("s", None, summary("sum", &["a"], &text, claims)), &sender);
    let mut written = 0;
    let answer = loop {
        rig.append("other", &[(&format!("m{written}"), "words")]);
        written += 1;
        if let Ok(answer) = answers.try_recv() {
            break answer;
        }
    };
    assert_eq!(codes(&summarized(answer)), [FindingCode::SummaryGrew]);
    assert!(written >= 5, "{written} appends got through");
}
