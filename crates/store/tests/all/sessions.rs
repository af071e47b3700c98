//! Folding sessions: with and without a snapshot, at any moment of their past, and onwards.

use std::sync::Arc;

use lacuna_core::{SessionNo, Timestamp};
use lacuna_store::{Snapshot, StoreError};

use crate::journal::{Journal, ordinary, span};

const ALWAYS: Timestamp = Timestamp(u64::MAX);

#[test]
fn a_state_is_the_same_with_and_without_a_snapshot() {
    let mut journal = Journal::memory();
    let (a, b) = ordinary(&mut journal);
    // Of `a` there is a snapshot that lags behind, of `b` there is none.
    assert_eq!(journal.store.load(a).unwrap().unwrap(), journal.states[&a]);
    assert_eq!(journal.store.load(b).unwrap().unwrap(), journal.states[&b]);
    for version in 1..=journal.states[&b].version {
        let state = journal.folded(b, version);
        journal.store.write_snapshots(&[Snapshot::of(&state).unwrap()]).unwrap();
        assert_eq!(journal.store.load(b).unwrap().unwrap(), journal.states[&b], "{version}");
    }
    // Newer ones have replaced older ones.
    assert_eq!(journal.store.stats().unwrap().snapshots, 2);
}

#[test]
fn a_snapshot_may_come_with_the_commit_that_it_folds() {
    let mut journal = Journal::memory();
    let (a, _) = ordinary(&mut journal);
    let mut commit = journal.prepare(vec![span(a, "a9", b"ninth")]);
    let snapshot = Snapshot::of(&journal.states[&a]).unwrap();
    assert!(snapshot.len() > 28);
    commit.snapshots.push(snapshot);
    journal.store.append(commit.clone()).unwrap();
    assert_eq!(journal.store.load(a).unwrap().unwrap(), journal.states[&a]);
    let report = journal.store.verify(&Default::default(), |_| {}).unwrap();
    assert_eq!((report.snapshots, report.faults), (1, vec![]));
}

#[test]
fn a_state_is_had_at_any_version() {
    let mut journal = Journal::memory();
    let (a, b) = ordinary(&mut journal);
    for session in [a, b] {
        let newest = journal.states[&session].version;
        assert_eq!(journal.store.load_at(session, 0, ALWAYS).unwrap(), None);
        for version in 1..=newest {
            // Both from before the snapshot of `a` and from behind it.
            let state = journal.store.load_at(session, version, ALWAYS).unwrap().unwrap();
            assert_eq!(state, journal.folded(session, version), "{version}");
        }
        let beyond = journal.store.load_at(session, newest + 5, ALWAYS).unwrap().unwrap();
        assert_eq!(beyond, journal.states[&session]);
    }
    assert_eq!(journal.store.load_at(SessionNo(3), u64::MAX, ALWAYS).unwrap(), None);
}

#[test]
fn a_state_is_had_at_any_time() {
    let mut journal = Journal::memory();
    let (a, _) = ordinary(&mut journal);
    for event in journal.of(a) {
        let at = |time: u64| journal.store.load_at(a, u64::MAX, Timestamp(time)).unwrap();
        // An event counts from its own moment on.
        assert_eq!(at(event.at.0).unwrap(), journal.folded(a, event.version));
        assert_eq!(at(event.at.0 + 1).unwrap(), journal.folded(a, event.version));
        let before = event.version.checked_sub(1).filter(|version| *version > 0);
        assert_eq!(at(event.at.0 - 1), before.map(|version| journal.folded(a, version)));
    }
    assert_eq!(journal.store.load_at(a, 3, ALWAYS).unwrap().unwrap().version, 3);
    // The earlier of the two bounds holds.
    let second = journal.of(a)[1].at;
    assert_eq!(journal.store.load_at(a, 3, second).unwrap().unwrap().version, 2);
}

#[test]
fn a_state_catches_up_with_what_was_committed_since() {
    let mut journal = Journal::memory();
    let (a, b) = ordinary(&mut journal);
    let mut state = Arc::new(journal.store.load(a).unwrap().unwrap());
    let before = Arc::clone(&state);
    assert!(!journal.store.catch_up(&mut state).unwrap(), "nothing has happened");
    assert!(Arc::ptr_eq(&state, &before), "nothing was copied");
    journal.commit(vec![span(b, "b9", b"of another session")]);
    assert!(!journal.store.catch_up(&mut state).unwrap());
    journal.commit(vec![span(a, "a6", b"x"), span(b, "b10", b"y"), span(a, "a7", b"z")]);
    journal.commit(vec![span(a, "a8", b"x")]);
    assert!(journal.store.catch_up(&mut state).unwrap());
    assert_eq!(*state, journal.states[&a]);
    // Others may still hold the old state.
    assert_eq!(*before, journal.folded(a, before.version));
    assert!(!journal.store.catch_up(&mut state).unwrap());
}

#[test]
fn a_snapshot_of_another_session_is_no_shortcut() {
    let mut journal = Journal::memory();
    let (a, b) = ordinary(&mut journal);
    // A state that calls itself `b` but is `a`: verifying must find it.
    let mut wrong = journal.states[&a].clone();
    wrong.number = b;
    journal.store.write_snapshots(&[Snapshot::of(&wrong).unwrap()]).unwrap();
    let report = journal.store.verify(&Default::default(), |_| {}).unwrap();
    let whats: Vec<_> = report.faults.iter().map(|fault| fault.what.as_str()).collect();
    let expected = format!("the snapshot of session 2 at {} is not its fold", wrong.version);
    assert_eq!(whats, [expected]);
}

#[test]
fn an_unknown_session_has_no_events() {
    let mut journal = Journal::memory();
    ordinary(&mut journal);
    // 3 is the seq of an event that opens nothing; 0 and MAX are no seqs.
    for number in [0, 3, 99, u64::MAX] {
        let session = SessionNo(number);
        assert_eq!(journal.store.load(session).unwrap(), None, "{number}");
        assert_eq!(journal.store.history(session, 1, 9).unwrap(), []);
    }
}

#[test]
fn a_session_that_does_not_begin_with_its_opening_is_damage() {
    let mut journal = Journal::memory();
    let (a, _) = ordinary(&mut journal);
    // The index says that session 9 begins in the first block, where there is nothing of it.
    let mut commit = journal.prepare(vec![span(a, "a6", b"x")]);
    commit.sessions.push((SessionNo(9), 1));
    journal.store.append(commit.clone()).unwrap();
    assert_eq!(journal.store.load(SessionNo(9)).unwrap(), None);
    // A row that makes an event of `a` be read twice leaves a gap that is refused.
    let mut commit = journal.prepare(vec![span(a, "a7", b"x")]);
    commit.sessions.push((a, 99));
    journal.store.append(commit.clone()).unwrap();
    match journal.store.load(a) {
        Err(StoreError::Damaged(why)) => assert_eq!(why, "session 1: its versions have a gap"),
        other => panic!("{other:?}"),
    }
}
