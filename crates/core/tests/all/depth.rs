//! How many summaries stand between a summary and primary spans, and how re-reading them resets it.

use lacuna_core::Purpose;

use crate::scenario::{Scenario, id, replace, spans};
use crate::telling::{WORKER, enforced, plain, plain_citing, refused};

fn depth(s: &Scenario, name: &str) -> u32 {
    s.state().find(&id(name)).unwrap().depth().unwrap()
}

/// `S1` stands for `a` and `b`, beside `c` and `d`.
fn once() -> Scenario {
    let mut s = enforced(spans(&["a", "b", "c", "d"]));
    s.told(plain("S1", &["a", "b"]));
    s.audited_by("auditor", "S1", &["a", "b"], true);
    s.prune(replace(&["a", "b"], "S1"));
    s
}

#[test]
fn depth_is_counted_and_recorded() {
    let mut s = once();
    assert_eq!(s.state().find(&id("a")).unwrap().depth(), None);
    assert_eq!(depth(&s, "S1"), 1);
    let reply = s.told(plain_citing("S2", &["S1", "c"], &["a", "c"]));
    assert_eq!((reply.depth, depth(&s, "S2")), (2, 2));
    let reply = s.told(plain_citing("S3", &["c", "S2", "S1"], &["a"]));
    assert_eq!((reply.depth, depth(&s, "S3")), (3, 3), "the deepest counts");
    assert_eq!(s.told(plain_citing("S4", &["c", "d"], &["a"])).depth, 1, "what it cites does not");
}

/// Summaries of summaries go back to primary spans.
#[test]
fn a_summary_of_summaries_cites_primary_spans() {
    let mut s = once();
    refused(&s, plain("S2", &["S1"]), &["source_not_primary 0 S1"], &["cite them (a, b)"]);
    s.told(plain_citing("S2", &["S1"], &["a"]));
    // Through both, to what the last of them cites.
    refused(&s, plain("S3", &["S2"]), &["source_not_primary 0 S2"], &["cite them (a)"]);
}

/// Having read the cited primaries again, after the covered summary was written, its author writes
/// from them and not from it.
#[test]
fn re_reading_resets_the_depth() {
    let mut s = once();
    s.read(&["a"], Purpose::Reground);
    assert_eq!(s.told(plain_citing("S2", &["S1", "c"], &["a", "c"])).depth, 1);
    // Not all that it cites from behind it.
    assert_eq!(s.told(plain_citing("S3", &["S1"], &["a", "b"])).depth, 2);
    s.read(&["b"], Purpose::Audit);
    assert_eq!(s.told(plain_citing("S4", &["S1"], &["a", "b"])).depth, 1);
    // Nothing from behind it.
    assert_eq!(s.told(plain_citing("S5", &["S1", "c"], &["c"])).depth, 2);
}

#[test]
fn reading_before_the_summary_resets_nothing() {
    let mut s = enforced(spans(&["a", "b", "c"]));
    s.read(&["a", "b"], Purpose::Reground);
    s.told(plain("S1", &["a", "b"]));
    assert_eq!(s.told(plain_citing("S2", &["S1"], &["a", "b"])).depth, 2);
    // Nor does anybody else's reading, nor one without a purpose that counts.
    s.by("auditor").read(&["a", "b"], Purpose::Audit);
    s.by(WORKER).read(&["a", "b"], Purpose::Expand);
    assert_eq!(s.told(plain_citing("S3", &["S1"], &["a", "b"])).depth, 2);
}

/// A summary written after the re-reading is covered without it.
#[test]
fn each_covered_summary_is_regrounded_for_itself() {
    let mut s = enforced(spans(&["a", "b", "c"]));
    s.told(plain("S1", &["a"]));
    s.read(&["a", "b"], Purpose::Reground);
    s.told(plain("S2", &["b"]));
    assert_eq!(s.told(plain_citing("T", &["S1"], &["a"])).depth, 1);
    assert_eq!(s.told(plain_citing("U", &["S1", "S2"], &["a", "b"])).depth, 2);
    s.read(&["b"], Purpose::Reground);
    assert_eq!(s.told(plain_citing("V", &["S1", "S2"], &["a", "b"])).depth, 1);
    // Through several levels.
    s.told(plain_citing("W", &["U", "c"], &["a"]));
    assert_eq!(depth(&s, "W"), 3);
    s.read(&["a"], Purpose::Reground);
    assert_eq!(s.told(plain_citing("X", &["W"], &["a"])).depth, 1);
}

/// A refused summary has a depth as well, and the reply says it again.
#[test]
fn the_depth_of_a_refused_summary() {
    let mut s = once();
    let reply = s.tell(plain("S2", &["S1"]));
    assert_eq!((reply.depth, depth(&s, "S2:refused1")), (2, 2));
}
