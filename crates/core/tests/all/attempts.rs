//! A session is never wedged: refused summaries are counted for the spans that they cover, and
//! after three a mechanical prune is offered that works as given, with one alert.

use lacuna_core::{
    Alert, CopyEvidence, Event, NewSpan, SUMMARY_ATTEMPTS, SummaryReply, SummaryStatus, Verdict,
};

use crate::scenario::{
    Scenario, call, drop_spans, id, ids, replace, result, span, spans, withheld,
};
use crate::telling::{WORKER, enforced, plain, wrong};

/// Sends a wrong summary of these spans until no attempt is left; the last reply.
fn exhaust(s: &mut Scenario, covers: &[&str]) -> SummaryReply {
    for left in (0..SUMMARY_ATTEMPTS).rev() {
        let reply = s.tell(wrong("attempt", covers));
        assert_eq!((reply.status, reply.attempts_left), (SummaryStatus::Rejected, left));
        if left == 0 {
            return reply;
        }
        assert_eq!(reply.fallback, None, "{left} attempts are left");
    }
    unreachable!()
}

fn alerts(s: &Scenario) -> Vec<&lacuna_core::event::AlertRaised> {
    let alerts = s.log.iter().filter_map(|recorded| match &recorded.event {
        Event::AlertRaised(alert) => Some(alert),
        _ => None,
    });
    alerts.collect()
}

/// Prunes what a fallback names: it works as given. The tokens freed.
#[track_caller]
fn works(s: &Scenario, fallback: Option<Vec<lacuna_core::SpanId>>) -> i64 {
    let spans = fallback.expect("a fallback is offered");
    let reply = s.clone().prune(lacuna_core::Prune { spans, ..drop_spans(&[]) });
    assert_eq!((reply.reason, reply.verdict), (None, Verdict::Reversible), "{:?}", reply.advice);
    reply.freed_tokens
}

#[test]
fn attempts_are_counted_and_the_fallback_works_as_given() {
    let mut s = enforced(spans(&["a", "b", "c"]));
    let reply = exhaust(&mut s, &["a", "b"]);
    assert_eq!(reply.fallback, Some(ids(&["a", "b"])));
    let freed = works(&s, reply.fallback.clone());
    assert!(freed > 100, "{freed}");
    s.prune(lacuna_core::Prune { spans: reply.fallback.unwrap(), ..drop_spans(&[]) });
    assert_eq!(s.window(), "stub(a b) c");
}

#[test]
fn the_alert_is_raised_once_with_the_last_attempt() {
    let mut s = enforced(spans(&["a", "b"]));
    for expected in [0, 0, 1, 1, 1, 1] {
        s.tell(wrong("S", &["a", "b"]));
        assert_eq!(alerts(&s).len(), expected);
    }
    let alert = alerts(&s)[0];
    assert_eq!((alert.alert, &alert.spans), (Alert::SummariesRefused, &ids(&["a", "b"])));
    assert!(alert.message.contains("3 summaries of a, b were refused"), "{}", alert.message);
    assert!(alert.message.contains("prune mechanically"), "{}", alert.message);
    let last: Vec<&str> = s.kinds(3);
    let expected = [
        "span-recorded",
        "summary-recorded",
        "summary-recorded",
        "summary-recorded",
        "alert-raised",
    ];
    assert_eq!(last, expected);
}

/// A summariser that is always wrong does not fill the journal.
#[test]
fn further_refusals_record_nothing() {
    let mut s = enforced(spans(&["a", "b"]));
    exhaust(&mut s, &["a", "b"]);
    let (version, before) = (s.state().version, s.state().clone());
    for _ in 0..20 {
        let reply = s.tell(wrong("S", &["b", "a"]));
        assert_eq!((reply.status, reply.attempts_left), (SummaryStatus::Rejected, 0));
        assert_eq!(reply.version, version);
        assert_eq!(reply.findings.len(), 1, "why it was refused is said all the same");
        works(&s, reply.fallback);
    }
    assert_eq!(s.state(), &before);
}

/// An id in a reply is that of something recorded, or leads to it.
#[test]
fn what_was_not_recorded_is_not_named_as_recorded() {
    let mut s = enforced(spans(&["a"]));
    exhaust(&mut s, &["a"]);
    let reply = s.tell(wrong("S", &["a"]));
    assert!(s.state().find(&reply.summary).is_some(), "{}", reply.summary);
}

#[test]
fn the_order_of_covers_is_irrelevant() {
    let mut s = enforced(spans(&["a", "b", "c"]));
    let orders: [&[&str]; 3] = [&["a", "b"], &["b", "a"], &["a", "b", "a"]];
    for (covers, left) in orders.into_iter().zip([2, 1, 0]) {
        assert_eq!(s.tell(wrong("S", covers)).attempts_left, left);
    }
    // Another set has attempts of its own, and other authors share those of a set.
    for other in [&["a"][..], &["a", "b", "c"], &["b", "c"]] {
        assert_eq!(s.tell(wrong("S", other)).attempts_left, 2, "{other:?}");
    }
    assert_eq!(s.by("writer").tell(wrong("S", &["a"])).attempts_left, 1);
}

#[test]
fn acceptance_gives_the_attempts_back() {
    let mut s = enforced(spans(&["a", "b"]));
    s.tell(wrong("S", &["a", "b"]));
    s.tell(wrong("S", &["a", "b"]));
    let reply = s.told(plain("S", &["b", "a"]));
    assert_eq!((reply.attempts_left, reply.fallback), (3, None));
    assert_eq!(s.tell(wrong("T", &["a", "b"])).attempts_left, 2);
    s.tell(wrong("T", &["a", "b"]));
    assert_eq!(s.tell(wrong("T", &["a", "b"])).attempts_left, 0);
    // None left means none refused any more; a good one is as good as ever, and starts anew.
    assert_eq!(s.told(plain("T", &["a", "b"])).attempts_left, 3);
    assert_eq!(s.tell(wrong("U", &["a", "b"])).attempts_left, 2);
    assert_eq!(alerts(&s).len(), 1);
    exhaust(&mut s, &["a"]);
    assert_eq!(alerts(&s).len(), 2, "another set, another alert");
}

/// A failed audit is no refused attempt.
#[test]
fn a_failed_audit_costs_no_attempt() {
    let mut s = enforced(spans(&["a"]));
    s.told(plain("S", &["a"]));
    s.audited_by("auditor", "S", &["a"], false);
    assert_eq!(s.tell(wrong("T", &["a"])).attempts_left, 2);
}

fn pinned(name: &str) -> NewSpan {
    NewSpan { pinned: true, ..span(name) }
}

#[test]
fn the_fallback_leaves_out_what_may_not_leave() {
    let mut s = enforced(vec![
        span("a"),
        pinned("pin"),
        span("said"),
        NewSpan { contradicts: ids(&["said"]), ..span("denied") },
        call("open"),
        withheld("key"),
        span("lost"),
        call("inside"),
        result("inside:1", "inside"),
        call("half"),
        result("half:1", "half"),
        span("z"),
    ]);
    s.lose(&["lost"]);
    let covers =
        ["z", "pin", "said", "denied", "open", "key", "lost", "half", "inside", "inside:1", "a"];
    let reply = exhaust(&mut s, &covers);
    // In session order; `half` has a result that is not covered.
    let expected = ids(&["a", "inside", "inside:1", "z"]);
    assert_eq!(reply.fallback.as_ref(), Some(&expected));
    works(&s, reply.fallback);
}

/// A copy that was not read back just now is not offered.
#[test]
fn the_fallback_leaves_out_what_could_not_be_read() {
    let mut s = enforced(spans(&["a", "b"]));
    s.evidence.insert(id("a"), CopyEvidence::missing("its stored copy is missing"));
    let reply = exhaust(&mut s, &["a", "b"]);
    assert_eq!(reply.fallback, Some(ids(&["b"])));
    works(&s, reply.fallback);
}

#[test]
fn where_nothing_covered_may_leave_the_fallback_takes_others() {
    let mut s = enforced(vec![pinned("pin"), span("b"), span("c"), span("now")]);
    let reply = exhaust(&mut s, &["pin"]);
    let spans = reply.fallback.clone().unwrap();
    assert!(!spans.contains(&id("pin")), "{spans:?}");
    let freed = works(&s, reply.fallback);
    assert!(freed >= 100, "as much as what was covered takes, not {freed}");
    // What has left already: covered, but there is nothing to prune.
    s.prune(drop_spans(&["b"]));
    let reply = exhaust(&mut s, &["b"]);
    works(&s, reply.fallback);
}

#[test]
fn where_nothing_may_leave_there_is_no_fallback() {
    let mut s = enforced(vec![pinned("pin"), withheld("key"), call("open")]);
    let reply = exhaust(&mut s, &["pin", "key"]);
    assert_eq!(reply.fallback, None);
    assert_eq!(alerts(&s).len(), 1, "all the more somebody should look");
}

/// A summary in the window is covered like any other span, and may leave like one.
#[test]
fn the_fallback_of_a_summary() {
    let mut s = enforced(spans(&["a", "b", "c"]));
    s.told(plain("S", &["a", "b"]));
    s.audited_by("auditor", "S", &["a", "b"], true);
    s.by(WORKER).prune(replace(&["a", "b"], "S"));
    for _ in 0..2 {
        s.tell(wrong("T", &["S", "c"]));
    }
    let reply = s.tell(wrong("T", &["S", "c"]));
    assert_eq!(reply.fallback, Some(ids(&["S", "c"])));
    works(&s, reply.fallback);
}

/// What is offered so that a session goes on makes its window no larger.
#[test]
fn the_fallback_frees_something() {
    let small = NewSpan { tokens: Some(3), ..span("small") };
    let mut s = enforced(vec![small, pinned("pin"), span("b")]);
    let reply = exhaust(&mut s, &["small", "pin"]);
    let freed = works(&s, reply.fallback);
    assert!(freed > 0, "it frees {freed} tokens");
}

/// A window that is over its ceiling comes back under it with a summariser that is always wrong.
#[test]
fn a_summariser_that_is_always_wrong_makes_progress() {
    let names: Vec<String> = (0..100).map(|n| format!("m{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut s = enforced(spans(&names));
    assert!(s.state().budget().over);
    for covers in names.chunks(5) {
        if !s.state().budget().over {
            break;
        }
        let reply = exhaust(&mut s, covers);
        s.prune(lacuna_core::Prune { spans: reply.fallback.unwrap(), ..drop_spans(&[]) });
    }
    assert!(!s.state().budget().over);
    assert_eq!(alerts(&s).len(), 4);
}
