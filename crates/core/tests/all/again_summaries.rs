//! A resent summary or audit gets the first reply, whatever became of it and however long ago.

use lacuna_core::{
    Audit, ClaimOrigin as O, Command, NewSpan, Purpose, Reply, SummaryStatus, reply_again,
};

use crate::scenario::{Scenario, id, replace, span, spans};
use crate::telling::{claim, enforced, plain, plain_citing, tell, user, wrong};

/// Sends a command, lets the session move on, and asks for the reply again.
#[track_caller]
fn same(s: &mut Scenario, command: Command) -> Reply {
    let (before, from) = (s.state.clone(), s.log.len());
    let facts = s.examine(&command);
    let reply = s.send(command.clone()).unwrap();
    let (after, to) = (s.state().clone(), s.log.len());
    s.append(vec![NewSpan { id: None, ..span("unnamed") }]);
    let again =
        reply_again(&command, before.as_ref(), &after, &s.log[from..to], facts.as_ref(), None);
    assert_eq!(again.as_ref(), Some(&reply), "{command:?}");
    reply
}

#[track_caller]
fn told(s: &mut Scenario, summarize: lacuna_core::Summarize) -> lacuna_core::SummaryReply {
    let Reply::Summarized(reply) = same(s, Command::Summarize(summarize)) else { panic!() };
    *reply
}

#[track_caller]
fn audited(s: &mut Scenario, summary: &str, pass: bool) -> lacuna_core::AuditReply {
    let audit = Audit { summary: id(summary), pass, notes: Vec::new() };
    let Reply::Audited(reply) = same(s, Command::Audit(audit)) else { panic!() };
    *reply
}

#[test]
fn refused_summaries_down_to_the_last_attempt() {
    let mut s = enforced(spans(&["a", "b"]));
    for (left, fallback) in [(2, false), (1, false), (0, true)] {
        let reply = told(&mut s, wrong("S", &["a", "b"]));
        assert_eq!((reply.attempts_left, reply.fallback.is_some()), (left, fallback));
        assert_eq!(reply.findings.len(), 1);
    }
}

/// Nothing was recorded, so there is nothing to rebuild: decided again, it is the same.
#[test]
fn a_summary_refused_without_an_event() {
    let mut s = enforced(spans(&["a", "b"]));
    (0..3).for_each(|_| drop(s.tell(wrong("S", &["a", "b"]))));
    let first = s.tell(wrong("S", &["a", "b"]));
    let events = s.log.len();
    assert_eq!(s.tell(wrong("S", &["a", "b"])), first);
    assert_eq!((s.log.len(), first.attempts_left), (events, 0));
    let command = Command::Summarize(wrong("S", &["a", "b"]));
    let again = reply_again(&command, s.state.as_ref(), s.state(), &[], None, None);
    assert_eq!(again, None, "no events, no reply of theirs");
}

#[test]
fn summaries_with_findings_about_words_and_with_identifiers_left_out() {
    let mut s = enforced(vec![
        user("a", "I think the staging DB is on port 5433, see req_7f3a91c2 and /etc/db.toml."),
        span("b"),
    ]);
    let text = "The staging DB is on port 5432.";
    let reply = told(&mut s, tell(&["a", "b"], text, vec![claim(text, O::UserSaid, &["a"])]));
    assert_eq!(reply.status, SummaryStatus::Rejected);
    let omitted: Vec<&str> = reply.omitted.iter().map(|omitted| omitted.text.as_str()).collect();
    assert_eq!((omitted.len(), reply.omitted_total), (3, 3), "{omitted:?}");
    let text = "The user thinks the staging DB is on port 5433.";
    let reply = told(&mut s, tell(&["a", "b"], text, vec![claim(text, O::Hedged, &["a"])]));
    assert_eq!((reply.status, reply.omitted_total), (SummaryStatus::NeedsAudit, 2));
}

/// A reply is what was true then, not what audits and prunes have made of it since.
#[test]
fn audits_that_count_and_audits_that_do_not() {
    let mut s = enforced(spans(&["a", "b"]));
    assert_eq!(told(&mut s, plain("S", &["a", "b"])).status, SummaryStatus::NeedsAudit);
    assert_eq!(told(&mut s, plain_citing("T", &["S", "b"], &["a"])).depth, 2);
    assert!(!audited(&mut s, "S", true).counts);
    s.by("one");
    assert_eq!(audited(&mut s, "S", true).findings.len(), 2);
    s.read(&["a", "b"], Purpose::Audit);
    assert!(audited(&mut s, "S", true).accepted);
    s.by("two").read(&["a", "b"], Purpose::Audit);
    let fail = audited(&mut s, "S", false);
    assert_eq!((fail.counts, fail.accepted), (true, false));
    let pass = audited(s.by("one"), "S", true);
    assert_eq!((pass.counts, pass.accepted), (true, false), "another's fail stands");
    assert!(audited(s.by("two"), "S", true).accepted);
    s.by("worker-1");
    same(&mut s, Command::Prune(replace(&["a", "b"], "S")));
    s.by("two");
    assert!(!audited(&mut s, "S", false).accepted);
    s.by("worker-1").tell(wrong("R", &["a"]));
    s.by("one");
    assert!(!audited(&mut s, "R", true).counts, "of a refused one");
}
