//! Snapshots that stand on one another: any moment is near one, whatever of them is missing or damaged.

use std::path::Path;

use lacuna_core::{Event, Extent, SessionNo, Timestamp};
use lacuna_store::{Anchors, Moment, Store, StoreOptions, StoreStats};
use redb::{Database, ReadableTable as _, TableDefinition};

use crate::journal::{Draft, Journal, span};

const ALWAYS: Timestamp = Timestamp(u64::MAX);
/// Events of one commit.
const COMMIT: u64 = 200;

/// A session of thousands of spans in a journal with another one, and its snapshots as the writer makes
/// them: also one for each time that the session leaves memory.
fn long(commits: u64, leaving: impl Fn(u64) -> bool) -> (Journal, SessionNo) {
    long_in(Journal::memory(), commits, leaving)
}

fn long_in(
    mut journal: Journal,
    commits: u64,
    leaving: impl Fn(u64) -> bool,
) -> (Journal, SessionNo) {
    let (a, b) = (journal.open("a"), journal.open("b"));
    let mut anchors = Anchors::default();
    for commit in 0..commits {
        let mut drafts: Vec<Draft> = (0..COMMIT)
            .map(|n| span(a, &format!("a{}", commit * COMMIT + n), &[b'x'; 3]))
            .collect();
        drafts.push(span(b, &format!("b{commit}"), b"between"));
        journal.commit(drafts);
        let state = &journal.states[&a];
        if anchors.is_due(state) || leaving(commit) {
            let snapshot = anchors.snapshot(state).unwrap();
            journal.store.write_snapshots(&[snapshot]).unwrap();
        }
    }
    (journal, a)
}

fn kept(journal: &Journal) -> u64 {
    let StoreStats { snapshots, .. } = journal.store.stats().unwrap();
    snapshots
}

/// The state is had at moments before, at and behind each snapshot, alone and with a later one's help.
fn had_everywhere(journal: &Journal, session: SessionNo) {
    let newest = journal.store.load(session).unwrap().unwrap();
    assert!(newest == journal.states[&session]);
    let last = newest.version;
    for version in [1, 2, 1_023, 1_201, 1_202, 1_400, 2_401, 2_402, last - 1].map(|v| v.min(last)) {
        let folded = journal.folded(session, version);
        let loaded = journal.store.load_at(session, version, ALWAYS).unwrap().unwrap();
        assert!(loaded == folded, "{version}");
        let earlier = journal.store.load_earlier(&newest, Moment::version(version)).unwrap();
        assert!(earlier.unwrap() == folded, "{version}, from a later state");
        let at = Moment::seq(folded.seq);
        assert!(journal.store.load_earlier(&newest, at).unwrap().unwrap() == folded);
        let at = Moment::time(folded.at);
        assert!(journal.store.load_earlier(&newest, at).unwrap().unwrap().at == folded.at);
    }
}

#[test]
fn any_moment_is_had_from_the_snapshots_around_it() {
    let (journal, a) = long(14, |_| false);
    // Every 1,024 events or with the commit behind: at 1,201 and 2,401 of 2,801 versions.
    assert_eq!(kept(&journal), 2);
    had_everywhere(&journal, a);
    let report = journal.store.verify(&Default::default(), |_| {}).unwrap();
    assert_eq!((report.snapshots, report.faults), (2, vec![]));
    // What was gained is stored once: a whole snapshot costs about as much as all of these.
    let whole = lacuna_codec::encode_snapshot(&journal.states[&a], Extent::default()).unwrap();
    let bytes = report.snapshot_bytes as usize;
    assert!(bytes < whole.len() * 11 / 10, "{bytes} bytes, {} for a whole one", whole.len());
}

#[test]
fn a_session_that_leaves_often_keeps_no_more_snapshots() {
    let (journal, a) = long(14, |_| true);
    // Those far enough apart, and the newest.
    assert_eq!(kept(&journal), 3);
    had_everywhere(&journal, a);
    assert_eq!(journal.store.verify(&Default::default(), |_| {}).unwrap().faults, vec![]);
}

/// The same journal without one of its snapshots.
fn without(journal: Journal, folder: &Path, nth: usize) -> Journal {
    let Journal { store, states, events } = journal;
    store.close().unwrap();
    let table: TableDefinition<'_, (u64, u64), &[u8]> = TableDefinition::new("snapshots");
    let db = Database::open(folder.join("journal.redb")).unwrap();
    let write = db.begin_write().unwrap();
    {
        let mut rows = write.open_table(table).unwrap();
        let key = rows.iter().unwrap().nth(nth).unwrap().unwrap().0.value();
        assert!(rows.remove(key).unwrap().is_some());
    }
    write.commit().unwrap();
    drop(db);
    let store = Store::open(folder, &StoreOptions::default()).unwrap();
    Journal { store, states, events }
}

#[test]
fn states_come_back_whatever_of_the_snapshots_is_missing() {
    for missing in 0..3 {
        let folder = tempfile::tempdir().unwrap();
        let (journal, a) = long_in(Journal::in_folder(folder.path()), 14, |commit| commit == 13);
        assert_eq!(kept(&journal), 3);
        let damaged = without(journal, folder.path(), missing);
        had_everywhere(&damaged, a);
        // The next one stands on what is there, and all is as it should be.
        let (_, mut anchors) = damaged.store.load_anchored(a).unwrap().unwrap();
        let snapshot = anchors.snapshot(&damaged.states[&a]).unwrap();
        damaged.store.write_snapshots(&[snapshot]).unwrap();
        had_everywhere(&damaged, a);
        assert_eq!(damaged.store.verify(&Default::default(), |_| {}).unwrap().faults, vec![]);
    }
}

#[test]
fn the_events_that_may_name_a_span_are_found_without_decoding_the_others() {
    let (journal, a) = long(3, |_| false);
    let naming = |id: &str, until: u64| {
        let found = journal.store.naming(a, &id.parse().unwrap(), until).unwrap();
        found.iter().map(|event| event.version).collect::<Vec<_>>()
    };
    // `a1` is no part of `a10`, nor of `a100`.
    assert_eq!(naming("a1", u64::MAX), [3]);
    assert_eq!(naming("a599", u64::MAX), [601]);
    assert!(naming("a599", 600).is_empty());
    assert!(naming("b1", u64::MAX).is_empty(), "of another session");
    let recorded = journal.store.naming(a, &"a7".parse().unwrap(), u64::MAX).unwrap();
    assert!(
        matches!(&recorded[0].event, Event::SpanRecorded(event) if event.span.as_str() == "a7")
    );
}
