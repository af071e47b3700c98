//! Going through the journal commit by commit, also while it grows; and finding sessions by their numbers.

use std::sync::atomic::{AtomicBool, Ordering};

use lacuna_core::{Recorded, SessionNo};

use crate::journal::{Journal, key, ordinary, span};

/// Everything from a seq on, however the walk gives it.
fn walked(journal: &Journal, from: u64) -> (Vec<Recorded>, Vec<u64>) {
    let (mut found, mut stops, mut next) = (Vec::new(), Vec::new(), from);
    while let Some(walked) = journal.store.walk(next).unwrap() {
        assert_eq!(walked.damaged, None);
        assert!(walked.next > next, "it goes on");
        found.extend(walked.events);
        next = walked.next;
        stops.push(next);
    }
    (found, stops)
}

#[test]
fn a_walk_gives_every_event_from_anywhere_on() {
    let mut journal = Journal::memory();
    assert_eq!(journal.store.walk(1).unwrap(), None);
    ordinary(&mut journal);
    for from in 1..=12_u64 {
        let (found, stops) = walked(&journal, from);
        assert_eq!(found, journal.events[from as usize - 1..], "from {from}");
        assert_eq!(stops.last(), Some(&13), "from {from}");
    }
    assert_eq!(walked(&journal, 1).1, [2, 3, 6, 8, 10, 13]);
    assert_eq!(journal.store.walk(13).unwrap(), None);
}

/// What is committed while the last block is being read belongs to the next step, not behind it.
#[test]
fn a_walk_beside_a_writer_misses_nothing() {
    const COMMITS: usize = 400;
    let mut journal = Journal::memory();
    let session = journal.open("s");
    let commits: Vec<_> = {
        // Prepared ahead, so that the walker and the writer meet as often as can be.
        let mut head = journal.store.head();
        (0..COMMITS)
            .map(|n| {
                let drafts = vec![span(session, &format!("s{n}"), b"x"); 3];
                let (mut commit, payloads) = journal.draw(head, drafts);
                commit.payloads = journal.store.pack(&payloads).unwrap();
                head.seq = commit.last;
                head.block = lacuna_codec::block_hash(&commit.block);
                commit
            })
            .collect()
    };
    let (store, done) = (&journal.store, AtomicBool::new(false));
    let seqs = std::thread::scope(|scope| {
        let walker = scope.spawn(|| {
            let (mut seqs, mut next) = (Vec::new(), 1);
            loop {
                let last = done.load(Ordering::SeqCst);
                match store.walk(next).unwrap() {
                    Some(walked) => {
                        seqs.extend(walked.events.iter().map(|event| event.seq));
                        next = walked.next;
                    }
                    None if last => return seqs,
                    None => {}
                }
            }
        });
        for commit in &commits {
            store.append(commit.clone()).unwrap();
        }
        done.store(true, Ordering::SeqCst);
        walker.join().unwrap()
    });
    assert!(seqs.into_iter().eq(1..=1 + 3 * COMMITS as u64));
}

#[test]
fn sessions_are_found_by_their_numbers() {
    let mut journal = Journal::memory();
    let (a, b) = ordinary(&mut journal);
    assert_eq!(journal.store.session_key(a).unwrap(), Some(key("a")));
    assert_eq!(journal.store.session_key(b).unwrap(), Some(key("b")));
    // An event that opens no session, and one that is not there.
    assert_eq!(journal.store.session_key(SessionNo(4)).unwrap(), None);
    assert_eq!(journal.store.session_key(SessionNo(99)).unwrap(), None);
}
