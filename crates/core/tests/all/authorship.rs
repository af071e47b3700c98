//! Who may write, judge and prune. The journal knows who recorded and who has read; nobody is the
//! only author and the only auditor.

use lacuna_core::{
    Audit, AuditReply, Command, Event, FindingCode, NewSpan, Purpose, Refusal, RejectReason as Why,
    SummaryStatus,
};

use crate::scenario::{Scenario, drop_spans, id, ids, replace, span, spans, withheld};
use crate::telling::{WORKER, enforced, honest, plain, plain_citing, wrong};

/// `writer` has read all and written `S` over `a` and `b`, citing `c` as well.
fn written() -> Scenario {
    let mut s = enforced(spans(&["a", "b", "c", "d"]));
    s.by("writer").read(&["a", "b", "c"], Purpose::Reground);
    let reply = s.told(plain_citing("S", &["a", "b"], &["a", "c"]));
    // It neither records nor prunes here: any other may prune with its summary.
    assert_eq!(reply.status, SummaryStatus::Accepted);
    s
}

/// What was found against an audit, in short, and what the first sentence says.
fn against(reply: &AuditReply) -> (Vec<String>, String) {
    assert_eq!(reply.counts, reply.findings.is_empty());
    let short = reply.findings.iter().map(|(finding, _)| {
        assert_eq!((finding.claim, finding.at), (None, None));
        let span = finding.span.as_ref().map_or("-".to_owned(), ToString::to_string);
        format!("{} {span}", finding.code)
    });
    let first = reply.findings.first().map_or(String::new(), |(_, said)| said.clone());
    (short.collect(), first)
}

fn evidence(spans: &[&str]) -> Vec<String> {
    spans.iter().map(|span| format!("auditor_without_evidence {span}")).collect()
}

#[test]
fn self_audited() {
    let mut s = written();
    s.read(&["a", "b", "c"], Purpose::Audit);
    for pass in [true, false] {
        let reply = s.audit("S", pass);
        let (found, said) = against(&reply);
        assert_eq!(found, ["self_audited S"]);
        assert!(said.contains("let another principal audit it"), "{said}");
        assert_eq!((reply.counts, reply.accepted), (false, false));
    }
    // The author's own fail takes nothing back, as his pass gives nothing.
    assert_eq!(s.by(WORKER).refuses(replace(&["a", "b"], "S")), None);
    // The nearest neighbour: somebody else.
    s.by("auditor").read(&["a", "b", "c"], Purpose::Audit);
    let reply = s.audit("S", true);
    assert_eq!((against(&reply).0, reply.accepted), (vec![], true));
}

/// The spans that it covers and those that it cites, each that was not read.
#[test]
fn auditor_without_evidence() {
    let mut s = written();
    s.by("auditor");
    for (read, missing) in
        [("a", vec!["b", "c"]), ("c", vec!["b"]), ("d", vec!["b"]), ("b", vec![])]
    {
        let own = if read == "d" { vec![] } else { vec![read] };
        let mut before = [missing.clone(), own].concat();
        before.sort_unstable();
        let (found, said) = against(&s.audit("S", true));
        assert_eq!(found, evidence(&before));
        let says = format!("you have not read {}: expand it with purpose audit", before[0]);
        assert!(said.contains(&says), "{said}");
        s.read(&[read], Purpose::Audit);
        assert_eq!(against(&s.audit("S", true)).0, evidence(&missing));
    }
    let reply = s.audit("S", true);
    assert_eq!((reply.counts, reply.accepted), (true, true));
}

/// Who recorded a span wrote it down, and need not have read it again to judge: a client may record
/// for others. So for an auditor only reading counts.
#[test]
fn recording_counts_for_authors_and_not_for_auditors() {
    let mut s = written();
    s.by(WORKER);
    honest(&s, plain("T", &["a", "b", "c"]));
    assert_eq!(against(&s.audit("S", true)).0, evidence(&["a", "b", "c"]));
    s.read(&["a", "b", "c"], Purpose::Audit);
    assert!(s.audit("S", true).accepted);
}

#[test]
fn purposes_that_count_as_reading() {
    for (purpose, counts) in
        [(Purpose::Audit, true), (Purpose::Reground, true), (Purpose::Expand, false)]
    {
        let mut s = written();
        let version = s.state().version;
        s.by("auditor").read(&["a", "b", "c"], purpose);
        assert_eq!(s.state().version - version, if counts { 3 } else { 0 }, "{purpose}");
        assert_eq!(s.audit("S", true).accepted, counts, "{purpose}");
    }
}

/// What somebody read before the summary was written he has read.
#[test]
fn reading_before_the_summary_counts() {
    let mut s = enforced(spans(&["a"]));
    s.by("auditor").read(&["a"], Purpose::Audit);
    s.by(WORKER).told(plain("S", &["a"]));
    assert!(s.by("auditor").audit("S", true).accepted);
}

/// What he reads after his audit makes only the next one count.
#[test]
fn reading_after_the_audit_does_not_count_for_it() {
    let mut s = enforced(spans(&["a"]));
    s.told(plain("S", &["a"]));
    assert!(!s.by("auditor").audit("S", true).counts);
    s.read(&["a"], Purpose::Audit);
    assert_eq!(s.by(WORKER).refuses(replace(&["a"], "S")), Some(Why::SummaryNotAudited));
    assert!(s.by("auditor").audit("S", true).counts);
    assert_eq!(s.by(WORKER).refuses(replace(&["a"], "S")), None);
}

/// An audit that does not count is an event like any other, and moves nothing.
#[test]
fn an_audit_that_does_not_count_is_recorded() {
    let mut s = written();
    let version = s.state().version as usize;
    s.by("auditor").audit("S", false);
    assert_eq!(s.kinds(version + 1), ["summary-audited"]);
    let Event::SummaryAudited(event) = &s.log.last().unwrap().event else { panic!() };
    assert_eq!((event.pass, event.accepted, event.findings.len()), (false, false, 3));
    assert_eq!(s.by(WORKER).refuses(replace(&["a"], "S")), None, "a fail without reading");
}

/// What can no longer be read is not asked for.
#[test]
fn an_auditor_need_not_read_what_is_gone() {
    let mut s = enforced(vec![span("a"), span("lost"), withheld("key"), span("b")]);
    s.told(plain_citing("S", &["a", "lost", "key"], &["a"]));
    s.lose(&["lost"]);
    s.by("auditor");
    assert_eq!(against(&s.audit("S", true)).0, evidence(&["a"]));
    s.read(&["a"], Purpose::Audit);
    assert!(s.audit("S", true).accepted);
}

/// Where all is gone nobody has read anything, and nobody's pass can count.
#[test]
fn where_nothing_can_be_read_no_audit_counts() {
    let mut s = enforced(vec![withheld("key"), span("b")]);
    s.told(plain_citing("S", &["key"], &["b"]));
    s.lose(&["b"]);
    assert!(!s.by("auditor").audit("S", true).counts);
}

/// A summary of a summary is audited against what it cites from behind it.
#[test]
fn an_auditor_of_a_summary_of_summaries_reads_primary_spans() {
    let mut s = enforced(spans(&["a", "b", "c"]));
    s.told(plain("S", &["a", "b"]));
    s.audited_by("auditor", "S", &["a", "b"], true);
    s.prune(replace(&["a", "b"], "S"));
    s.told(plain_citing("T", &["S", "c"], &["a", "c"]));
    s.by("second");
    assert_eq!(against(&s.audit("T", true)).0, evidence(&["a", "c"]));
    s.read(&["S"], Purpose::Audit);
    assert_eq!(against(&s.audit("T", true)).0, evidence(&["a", "c"]));
    s.read(&["a", "c"], Purpose::Audit);
    assert!(s.audit("T", true).accepted);
}

/// What is behind a covered summary that nobody has passed has to be read, too.
#[test]
fn an_auditor_of_a_summary_of_unaudited_summaries_reads_all_that_is_raw() {
    let mut s = enforced(spans(&["a", "b", "c"]));
    s.told(plain("S", &["a", "b"]));
    s.told(plain_citing("T", &["S", "c"], &["c"]));
    s.by("second").read(&["c"], Purpose::Audit);
    assert_eq!(against(&s.audit("T", true)).0, evidence(&["a", "b"]));
    s.read(&["a"], Purpose::Audit);
    assert_eq!(against(&s.audit("T", true)).0, evidence(&["b"]));
    s.read(&["b"], Purpose::Audit);
    assert!(s.audit("T", true).accepted);
}

/// Somebody else has put its summary into the window: the author takes nothing more of what it covers
/// away before somebody has passed it.
#[test]
fn an_author_prunes_nothing_beside_its_own_unaudited_summary() {
    let mut s = enforced(spans(&["a", "b", "c"]));
    s.told(plain("S", &["a", "b"]));
    s.by("other").prune(replace(&["a"], "S"));
    let rest = || drop_spans(&["b", "c"]);
    let refused = s.clone().by(WORKER).prune(rest());
    let advice = refused.advice.unwrap();
    assert_eq!((refused.reason, refused.concerned), (Some(Why::SummaryNotAudited), ids(&["b"])));
    assert!(advice.contains("you wrote S, which stands in the window over b"), "{advice}");
    // Not even after it has brought the others back.
    s.restore(&["a"]).unwrap();
    s.by("other").prune(replace(&["a"], "S"));
    assert_eq!(s.by(WORKER).refuses(rest()), Some(Why::SummaryNotAudited));
    // What S does not cover, or with S itself: nothing of its own stands for it.
    assert_eq!(s.refuses(drop_spans(&["c"])), None);
    assert_eq!(s.refuses(drop_spans(&["b", "S"])), None);
    // Somebody else, or once somebody has passed it.
    assert_eq!(s.by("other").refuses(rest()), None);
    s.audited_by("auditor", "S", &["a", "b"], true);
    assert_eq!(s.by(WORKER).refuses(rest()), None);
}

/// Another id for the same words over the same spans sheds no fail.
#[test]
fn a_fail_follows_the_same_words() {
    let mut s = enforced(spans(&["a", "b"]));
    s.told(plain("S", &["a", "b"]));
    s.audited_by("auditor", "S", &["a", "b"], false);
    s.by(WORKER).told(plain("T", &["a", "b"]));
    let refused = s.clone().by("other").prune(replace(&["a", "b"], "T"));
    let advice = refused.advice.unwrap();
    assert_eq!(refused.reason, Some(Why::SummaryNotAccepted));
    assert!(advice.contains("failed the audit of auditor"), "{advice}");
    // Over other spans, or in other words, it is another summary.
    s.by(WORKER).told(plain("U", &["a"]));
    assert_eq!(s.by("other").refuses(replace(&["a"], "U")), None);
    // The auditor may change its mind.
    let mut changed = s.clone();
    assert!(changed.by("auditor").audit("T", true).accepted);
    assert_eq!(changed.by("other").refuses(replace(&["a", "b"], "T")), None);
    // Whoever has read and passes the new one supersedes the fail; of the old one it stays.
    s.by("second").read(&["a", "b"], Purpose::Audit);
    assert!(s.audit("T", true).accepted);
    let mut used = s.clone();
    assert_eq!(used.by("other").refuses(replace(&["a", "b"], "T")), None);
    let refused = s.clone().by("other").refuses(replace(&["a", "b"], "S"));
    assert_eq!(refused, Some(Why::SummaryNotAccepted));
    // A fail of its own stays, whoever passes it besides.
    s.by("third").read(&["a", "b"], Purpose::Audit);
    assert!(!s.audit("T", false).accepted);
    assert!(!s.by("second").audit("T", true).accepted);
}

#[test]
fn an_audit_of_a_refused_summary() {
    let mut s = enforced(spans(&["a"]));
    assert_eq!(s.tell(wrong("S", &["a"])).summary, id("S:refused1"));
    assert_eq!(s.tell(plain_citing("S", &["a"], &["ghost"])).summary, id("S:refused2"));
    s.by("auditor").read(&["a"], Purpose::Audit);
    // By the id that it asked for: the last one that did.
    for (name, code) in [
        ("S", FindingCode::UnknownSource),
        ("S:refused1", FindingCode::UnsourcedClaim),
        ("S:refused2", FindingCode::UnknownSource),
    ] {
        let reply = s.audit(name, true);
        assert_eq!((reply.counts, reply.accepted), (false, false), "{name}");
        let [(finding, said)] = &reply.findings[..] else { panic!("{:?}", reply.findings) };
        assert_eq!(finding.code, code);
        let says = format!("the summary was refused when it was written ({code}): write another");
        assert_eq!(*said, says);
    }
    assert_eq!(s.by("other").refuses(replace(&["a"], "S:refused1")), Some(Why::SummaryNotAccepted));
    assert_eq!(s.refuses(replace(&["a"], "S")), Some(Why::UnknownReplacement), "the id is free");
    // Once one is accepted under the id, it is meant.
    s.by(WORKER).told(plain("S", &["a"]));
    assert!(s.by("auditor").audit("S", true).accepted);
    assert!(!s.audit("S:refused2", true).counts);
}

#[test]
fn an_audit_of_what_is_no_summary() {
    let mut s = enforced(spans(&["a"]));
    let mut audit = |name: &str| {
        let audit = Audit { summary: id(name), pass: true, notes: Vec::new() };
        s.send(Command::Audit(audit)).unwrap_err()
    };
    assert_eq!(audit("ghost"), Refusal::UnknownSpan(ids(&["ghost"])));
    let Refusal::BadRequest(why) = audit("a") else { panic!() };
    assert!(why.contains("a is no summary: only summaries are audited"), "{why}");
}

/// A fail wins until its auditor says otherwise, whoever came first.
#[test]
fn auditors_who_disagree() {
    let mut s = written();
    let both = || replace(&["a", "b"], "S");
    s.audited_by("pro", "S", &["a", "b", "c"], true);
    assert_eq!(s.by(WORKER).refuses(both()), None);
    s.audited_by("contra", "S", &["a", "b", "c"], false);
    let reply = s.dry(both());
    assert_eq!(reply.reason, Some(Why::SummaryNotAccepted));
    let advice = reply.advice.unwrap();
    assert!(advice.contains("S failed the audit of contra"), "{advice}");
    assert!(advice.contains("have contra audit it again"), "{advice}");
    // Another pass, and the first one again: not theirs to take back.
    for auditor in ["third", "pro"] {
        s.by(auditor).read(&["a", "b", "c"], Purpose::Audit);
        let reply = s.audit("S", true);
        assert_eq!((reply.counts, reply.accepted), (true, false), "{auditor}");
    }
    assert_eq!(s.state().find(&id("S")).unwrap().summary_status(), Some(SummaryStatus::Rejected));
    // A pass of his that does not count, for he is nobody to this summary, changes nothing.
    assert!(!s.by("writer").audit("S", true).counts);
    assert_eq!(s.by(WORKER).refuses(both()), Some(Why::SummaryNotAccepted));
    // He changes his mind.
    assert!(s.by("contra").audit("S", true).accepted);
    assert_eq!(s.state().find(&id("S")).unwrap().summary_status(), Some(SummaryStatus::Accepted));
    assert_eq!(s.by(WORKER).refuses(both()), None);
    // And again.
    assert!(!s.by("contra").audit("S", false).accepted);
    assert_eq!(s.by(WORKER).refuses(both()), Some(Why::SummaryNotAccepted));
}

/// Two fails: each auditor takes back his own.
#[test]
fn each_fail_is_taken_back_by_its_own_auditor() {
    let mut s = written();
    for auditor in ["one", "two"] {
        s.audited_by(auditor, "S", &["a", "b", "c"], false);
    }
    assert!(!s.by("one").audit("S", true).accepted);
    assert_eq!(s.by(WORKER).refuses(replace(&["a"], "S")), Some(Why::SummaryNotAccepted));
    assert!(s.by("two").audit("S", true).accepted);
    assert_eq!(s.by(WORKER).refuses(replace(&["a"], "S")), None);
}

/// The window itself says that a summary failed after it had replaced spans.
#[test]
fn a_fail_after_the_summary_stands_in_the_window() {
    let mut s = written();
    s.by(WORKER).prune(replace(&["a"], "S"));
    let behind = |s: &Scenario| s.state().entries().next().unwrap().text;
    let handle = "[p1@prune 1 spans replaced; expand to read]";
    assert_eq!(behind(&s).as_deref(), Some(handle));
    let used = s.state().budget().used_tokens;
    s.audited_by("auditor", "S", &["a", "b", "c"], false);
    let failed = format!("[failed an audit; do not rely on it]\n{handle}");
    assert_eq!(behind(&s).as_deref(), Some(failed.as_str()));
    let more = (failed.len().div_ceil(3) - handle.len().div_ceil(3)) as u64;
    assert_eq!(s.state().budget().used_tokens, used + more);
    // It may replace nothing more; what it replaced may come back; it may itself leave.
    assert_eq!(s.refuses(replace(&["b"], "S")), Some(Why::SummaryNotAccepted));
    let mut back = s.clone();
    back.restore(&["a"]).unwrap();
    assert_eq!((back.window(), back.state().budget().used_tokens), ("a b c d".into(), 400));
    let mut gone = s.clone();
    gone.prune(drop_spans(&["S"]));
    gone.restore(&["S"]).unwrap();
    assert_eq!(behind(&gone).as_deref(), Some(failed.as_str()));
    assert_eq!(gone.state().budget(), s.state().budget());
    // A change of mind takes the mark away.
    s.by("auditor").audit("S", true);
    assert_eq!(behind(&s).as_deref(), Some(handle));
    assert_eq!(s.state().budget().used_tokens, used);
}

/// A fail while the summary is out of the window shows once it is back.
#[test]
fn a_fail_while_the_summary_is_pruned() {
    let mut s = written();
    s.by(WORKER).prune(replace(&["a"], "S"));
    s.prune(drop_spans(&["S"]));
    let used = s.state().budget().used_tokens;
    s.audited_by("auditor", "S", &["a", "b", "c"], false);
    assert_eq!(s.state().budget().used_tokens, used);
    s.restore(&["S"]).unwrap();
    let text = s.state().entries().next().unwrap().text.unwrap();
    assert!(text.starts_with("[failed an audit; do not rely on it]"), "{text}");
}

/// Who works in the session is told to wait for an auditor; so is who comes to work there.
#[test]
fn accepted_or_needs_audit() {
    let mut s = enforced(spans(&["a", "b", "c"]));
    assert_eq!(s.told(plain("S", &["a"])).status, SummaryStatus::NeedsAudit);
    s.by("writer").read(&["a", "b"], Purpose::Reground);
    assert_eq!(s.told(plain("T", &["a"])).status, SummaryStatus::Accepted);
    // Accepted is for others: its author is held to an audit all the same.
    assert_eq!(s.refuses(replace(&["a"], "T")), Some(Why::SummaryNotAudited));
    assert_eq!(s.by(WORKER).refuses(replace(&["a"], "T")), None);
    s.by("writer").prune(drop_spans(&["c"]));
    assert_eq!(s.told(plain("U", &["b"])).status, SummaryStatus::NeedsAudit);
    assert_eq!(s.state().find(&id("U")).unwrap().summary_status(), Some(SummaryStatus::NeedsAudit));
    s.audited_by("auditor", "U", &["b"], true);
    assert_eq!(s.state().find(&id("U")).unwrap().summary_status(), Some(SummaryStatus::Accepted));
}

/// What a summary does not cover it does not replace, whoever passed it.
#[test]
fn an_audited_summary_replaces_only_what_it_covers() {
    let mut s = written();
    s.audited_by("auditor", "S", &["a", "b", "c"], true);
    s.by(WORKER);
    let reply = s.dry(replace(&["a", "c"], "S"));
    assert_eq!((reply.reason, reply.concerned), (Some(Why::SummaryNotAccepted), ids(&["c"])));
    let own = NewSpan { pinned: true, ..span("p") };
    s.append(vec![own]);
    assert_eq!(s.refuses(drop_spans(&["p"])), Some(Why::Pinned));
}
