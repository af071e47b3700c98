//! Appending and reading back: events, their order, the head.

use lacuna_core::{Digest, SessionNo, Timestamp};
use lacuna_store::{Commit, Head};

use crate::journal::{Journal, key, opened, ordinary, span};

#[test]
fn an_empty_journal_has_an_empty_head() {
    let journal = Journal::memory();
    assert_eq!(journal.store.head(), Head::default());
    let empty = Head { seq: 0, block: Digest::default(), at: Timestamp(0) };
    assert_eq!(journal.store.head(), empty);
    assert_eq!(journal.store.session(&key("a")).unwrap(), None);
    assert_eq!(journal.store.load(SessionNo(1)).unwrap(), None);
    assert_eq!(journal.store.history(SessionNo(1), 1, 10).unwrap(), []);
    let stats = journal.store.stats().unwrap();
    assert_eq!((stats.sessions, stats.blocks, stats.packs, stats.file_bytes), (0, 0, 0, 0));
}

#[test]
fn what_was_appended_is_read_back() {
    let mut journal = Journal::memory();
    let (a, b) = ordinary(&mut journal);
    assert_eq!((a, b), (SessionNo(1), SessionNo(2)));
    for session in [a, b] {
        assert_eq!(journal.store.history(session, 1, usize::MAX).unwrap(), journal.of(session));
    }
    assert_eq!(journal.store.session(&key("a")).unwrap(), Some(a));
    assert_eq!(journal.store.session(&key("b")).unwrap(), Some(b));
    assert_eq!(journal.store.session(&key("c")).unwrap(), None);
    let stats = journal.store.stats().unwrap();
    // Two commits bring no payload; the large payload stands in chunks, not in a pack; the last
    // commit takes two packs.
    assert_eq!((stats.sessions, stats.blocks, stats.packs, stats.snapshots), (2, 6, 5, 1));
}

#[test]
fn the_head_is_the_last_event_of_the_last_block() {
    let mut journal = Journal::memory();
    ordinary(&mut journal);
    let last = journal.events.last().unwrap();
    let head = journal.store.head();
    assert_eq!((head.seq, head.at), (12, last.at));
    assert_eq!(last.seq, 12);
    let before = head.block;
    let commit = journal.prepare(vec![opened("c")]);
    assert_eq!(commit.block[24..56], before.0, "the next block names it");
    journal.store.append(commit.clone()).unwrap();
    assert_eq!(journal.store.head().block, lacuna_codec::block_hash(&commit.block));
}

#[test]
fn history_is_read_in_pages_from_any_version() {
    let mut journal = Journal::memory();
    let (a, b) = ordinary(&mut journal);
    for session in [a, b] {
        let all = journal.of(session);
        for limit in 1..=all.len() + 1 {
            let mut read = Vec::new();
            loop {
                let from = read.len() as u64 + 1;
                let page = journal.store.history(session, from, limit).unwrap();
                assert!(page.len() <= limit);
                if page.is_empty() {
                    break;
                }
                read.extend(page);
            }
            assert_eq!(read, all, "in pages of {limit}");
        }
        for from in 0..=all.len() as u64 + 2 {
            let page = journal.store.history(session, from, 2).unwrap();
            let skip = from.saturating_sub(1) as usize;
            let expected: Vec<_> = all.iter().skip(skip).take(2).cloned().collect();
            assert_eq!(page, expected, "from {from}");
        }
        assert_eq!(journal.store.history(session, 1, 0).unwrap(), []);
        assert_eq!(journal.store.history(session, u64::MAX, 5).unwrap(), []);
    }
}

#[test]
fn session_names_are_listed_in_order_within_their_tenant() {
    let mut journal = Journal::memory();
    for name in ["b", "a", "a-1", "a0", "Z", "_"] {
        journal.open(name);
    }
    let names = |after: &str, limit| journal.store.session_names("acme", after, limit).unwrap();
    assert_eq!(names("", 100), ["Z", "_", "a", "a-1", "a0", "b"]);
    assert_eq!(names("", 2), ["Z", "_"]);
    assert_eq!(names("_", 2), ["a", "a-1"]);
    // Behind a name that is none, and behind the last.
    assert_eq!(names("a1", 2), ["b"]);
    assert_eq!(names("b", 2), Vec::<String>::new());
    assert_eq!(names("", 0), Vec::<String>::new());
    // Names that only begin alike are of other tenants.
    for tenant in ["acm", "acme-2", "acme0", "a"] {
        assert_eq!(journal.store.session_names(tenant, "", 9).unwrap(), Vec::<String>::new());
    }
}

#[test]
fn tenants_that_begin_alike_are_told_apart() {
    let mut journal = Journal::memory();
    for tenant in ["a", "a-b", "ab", "a_"] {
        let (new, mut event, none) = opened("s");
        if let lacuna_core::Event::SessionOpened(opened) = &mut event {
            opened.key.tenant = tenant.parse().unwrap();
        }
        journal.commit(vec![(new, event, none)]);
    }
    for tenant in ["a", "a-b", "ab", "a_"] {
        assert_eq!(journal.store.session_names(tenant, "", 9).unwrap(), ["s"], "{tenant}");
    }
}

#[test]
fn a_session_may_open_and_grow_in_one_commit() {
    let mut journal = Journal::memory();
    let (one, two) = (SessionNo(1), SessionNo(3));
    journal.commit(vec![opened("a"), span(one, "s1", b"x"), opened("b"), span(two, "s1", b"y")]);
    assert_eq!(journal.store.load(one).unwrap().unwrap(), journal.states[&one]);
    assert_eq!(journal.store.load(two).unwrap().unwrap(), journal.states[&two]);
    assert_eq!(journal.states[&two].version, 2);
}

#[test]
#[should_panic(expected = "a block never takes another one's place")]
fn a_commit_in_the_place_of_another_is_a_bug_and_stops_the_process() {
    let mut journal = Journal::memory();
    let commit = journal.prepare(vec![opened("a")]);
    journal.store.append(commit.clone()).unwrap();
    _ = journal.store.append(commit.clone());
}

#[test]
#[should_panic(expected = "a block never takes another one's place")]
fn a_commit_that_leaves_a_gap_is_a_bug_and_stops_the_process() {
    let mut journal = Journal::memory();
    let commit = journal.prepare(vec![opened("a")]);
    _ = journal.store.append(Commit { first: 2, last: 2, ..commit });
}
