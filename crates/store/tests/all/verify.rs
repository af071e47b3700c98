//! Verifying what is sound: everything is counted, and nothing is called a fault.

use std::sync::atomic::{AtomicBool, Ordering};

use lacuna_core::SessionNo;
use lacuna_store::{VerifyOptions, VerifyReport};

use crate::journal::{Journal, lost, noise, opened, ordinary, span};

fn range(journal: &Journal, from: u64, to: u64) -> VerifyReport {
    let options = VerifyOptions { from, to, ..VerifyOptions::default() };
    journal.store.verify(&options, |_| {}).unwrap()
}

#[test]
fn a_sound_journal_has_no_faults_and_everything_is_counted() {
    let mut journal = Journal::memory();
    assert_eq!(range(&journal, 1, u64::MAX), VerifyReport::default());
    ordinary(&mut journal);
    let mut reached = Vec::new();
    let report = journal.store.verify(&VerifyOptions::default(), |seq| reached.push(seq)).unwrap();
    let payload_bytes = 5 + 6 + (300 << 10) + 5 + 5_000 + 5_000 + 40_000 + 40_000 + 4;
    let expected = VerifyReport {
        events: 12,
        blocks: 6,
        payloads: 10,
        payload_bytes,
        snapshots: 1,
        snapshot_bytes: report.snapshot_bytes,
        faults: Vec::new(),
    };
    assert_eq!(report, expected);
    assert_eq!(reached, [1, 2, 5, 7, 9, 12]);
}

#[test]
fn a_range_covers_whole_blocks_and_needs_nothing_before_them() {
    let mut journal = Journal::memory();
    ordinary(&mut journal);
    // (from, to) and the events of the blocks that hold them.
    for (from, to, events) in
        [(1, 1, 1), (4, 4, 3), (4, 6, 5), (6, u64::MAX, 7), (12, 12, 3), (13, 99, 3), (1, 12, 12)]
    {
        let report = range(&journal, from, to);
        assert_eq!((report.events, report.faults), (events, vec![]), "{from} to {to}");
    }
}

#[test]
fn a_loss_is_explained_by_its_lossy_commitment_wherever_that_stands() {
    let mut journal = Journal::memory();
    let session = journal.open("a");
    // The payload is never stored: as if it had been lost since.
    let (_, event, payload) = span(session, "gone", b"gone");
    let seq = journal.commit(vec![(session, event, None)]);
    let what = || range(&journal, 1, u64::MAX).faults.into_iter().map(|f| (f.seq, f.what));
    let unexplained = "gone: its payload is missing, and no event says so".to_owned();
    assert_eq!(what().collect::<Vec<_>>(), [(Some(seq), unexplained)]);
    journal.commit(vec![opened("other"), span(session, "kept", b"kept")]);
    journal.commit(vec![lost(session, "gone", &payload.unwrap())]);
    let report = range(&journal, 1, u64::MAX);
    assert_eq!((report.payloads, report.faults), (1, vec![]));
    // Also for who asks only for the events before it.
    assert_eq!(range(&journal, 1, seq).faults, []);
    assert_eq!(range(&journal, seq, seq).faults, []);
}

#[test]
fn a_loss_of_another_session_or_span_explains_nothing() {
    let mut journal = Journal::memory();
    let (a, b) = (journal.open("a"), journal.open("b"));
    let (_, event, _) = span(a, "s", b"x");
    let seq = journal.commit(vec![(a, event, None), span(b, "s", b"x"), span(a, "t", b"x")]);
    journal.commit(vec![lost(b, "s", b"x"), lost(a, "t", b"x")]);
    let seqs: Vec<_> = range(&journal, 1, u64::MAX).faults.iter().map(|f| f.seq).collect();
    assert_eq!(seqs, [Some(seq)]);
}

#[test]
fn no_more_faults_are_listed_than_asked_for() {
    let mut journal = Journal::memory();
    let session = journal.open("a");
    let gone = |n: u32| {
        let (_, event, _) = span(session, &format!("s{n}"), b"x");
        (session, event, None)
    };
    journal.commit((0..20).map(gone).collect());
    for max_faults in [0, 1, 7, 20, 50] {
        let options = VerifyOptions { max_faults, ..VerifyOptions::default() };
        let report = journal.store.verify(&options, |_| {}).unwrap();
        assert_eq!(report.faults.len(), max_faults.min(20));
        assert_eq!(report.events, 21, "it reads on, to count");
    }
}

#[test]
fn what_is_committed_meanwhile_is_no_fault() {
    let mut journal = Journal::memory();
    let session = journal.open("a");
    for n in 0..20 {
        journal.commit(vec![span(session, &format!("s{n}"), &noise(n, 200))]);
    }
    let mut commits = Vec::new();
    // Sessions are opened, too: names, snapshots and the head all move.
    let mut writer = Journal::memory();
    std::mem::swap(&mut writer.states, &mut journal.states);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (store, done) = (&journal.store, &done);
        let verifier = scope.spawn(move || {
            let mut rounds = 0;
            while !done.load(Ordering::Relaxed) || rounds < 3 {
                let report = store.verify(&VerifyOptions::default(), |_| {}).unwrap();
                assert_eq!(report.faults, [], "round {rounds}");
                rounds += 1;
            }
            rounds
        });
        for n in 0..60 {
            commits.push(append(store, &mut writer, n));
        }
        done.store(true, Ordering::Relaxed);
        assert!(verifier.join().unwrap() >= 3);
    });
    assert_eq!(journal.store.head().seq, 21 + 120);
    assert_eq!(commits.len(), 60);
}

/// Appends a new session and its first span to a store, from the side.
fn append(store: &lacuna_store::Store, writer: &mut Journal, n: u64) -> SessionNo {
    let session = SessionNo(store.head().seq + 1);
    let drafts = vec![opened(&format!("n{n}")), span(session, "s", &noise(n, 100))];
    let commit = writer.prepare_on(store, drafts);
    store.append(commit.clone()).unwrap();
    session
}
