//! Payloads: read back whole, or said to be missing or damaged; never anything else (I10).

use lacuna_core::Digest;
use lacuna_store::Stored;

use crate::journal::{Journal, NEW, noise, opened, span};

const CHUNK: usize = 255 << 10;

fn whole(bytes: &[u8]) -> Stored {
    Stored::Whole(bytes.into())
}

/// Commits these payloads together and reads them back, in order and backwards.
fn round_trip(payloads: &[Vec<u8>]) -> Journal {
    let mut journal = Journal::memory();
    let session = journal.open("a");
    let drafts = payloads.iter().enumerate().map(|(n, p)| span(session, &format!("p{n}"), p));
    let first = journal.commit(drafts.collect());
    let mut reader = journal.store.payloads().unwrap();
    let forth = 0..payloads.len();
    for n in forth.clone().chain(forth.rev()) {
        let (payload, seq) = (&payloads[n], first + n as u64);
        let found = reader.read(seq, &Digest::of(payload), payload.len() as u64).unwrap();
        assert_eq!(found, whole(payload), "payload {n} of {} bytes", payload.len());
        let id = format!("p{n}").parse().unwrap();
        let state = &journal.states[&session];
        assert_eq!(reader.read_span(state.find(&id).unwrap()).unwrap(), whole(payload));
    }
    journal
}

#[test]
fn payloads_around_every_boundary_come_back() {
    let packed = [0, 1, 63, 64, 65, 65_535, 65_536, 65_537];
    let chunked = [CHUNK - 1, CHUNK, CHUNK + 1, 256 << 10, 2 * CHUNK - 1, 2 * CHUNK, 2 * CHUNK + 1];
    for size in packed.into_iter().chain(chunked) {
        round_trip(&[noise(size as u64, size)]);
        round_trip(&[vec![b'x'; size]]);
    }
}

#[test]
fn what_does_not_exceed_a_chunk_takes_a_pack_and_the_rest_takes_chunks() {
    for (size, packs) in [(CHUNK, 1), (CHUNK + 1, 0), (3 * CHUNK, 0)] {
        let journal = round_trip(&[noise(1, size)]);
        assert_eq!(journal.store.stats().unwrap().packs, packs, "{size}");
    }
    // 64 KiB and no more share a pack.
    let journal = round_trip(&[noise(1, 32 << 10), noise(2, 32 << 10), noise(3, 1)]);
    assert_eq!(journal.store.stats().unwrap().packs, 2);
}

#[test]
fn neighbours_of_all_sizes_come_back() {
    let sizes = [5, 0, 300 << 10, 0, 7, CHUNK, 1, 1 << 20, 40_000, 40_000, 0, CHUNK + 1];
    let payloads: Vec<_> = (0..).zip(sizes).map(|(n, size)| noise(n + 1, size)).collect();
    round_trip(&payloads);
    // The same content twice is two payloads.
    round_trip(&[b"twin".to_vec(), b"twin".to_vec()]);
    // Thousands of small ones, over many packs.
    round_trip(&(0..3_000).map(|n| noise(n, n as usize % 100)).collect::<Vec<_>>());
}

#[test]
fn packs_of_many_commits_are_told_apart() {
    let mut journal = Journal::memory();
    let session = journal.open("a");
    for n in 0..50 {
        journal.commit(vec![
            span(session, &format!("p{n}"), &noise(n, 100)),
            opened(&format!("s{n}")),
        ]);
    }
    let mut reader = journal.store.payloads().unwrap();
    // Every seventh, then back: the pack that was opened last is mostly another one.
    for n in (0..50).step_by(7).chain((0..50).rev()) {
        let (payload, seq) = (noise(n, 100), 2 + 2 * n);
        assert_eq!(reader.read(seq, &Digest::of(&payload), 100).unwrap(), whole(&payload));
        // The event behind it has no payload.
        assert_eq!(reader.read(seq + 1, &Digest::of(b""), 0).unwrap(), Stored::Missing);
    }
}

#[test]
fn what_was_never_stored_is_missing() {
    let mut journal = Journal::memory();
    let mut nothing = journal.store.payloads().unwrap();
    assert_eq!(nothing.read(1, &Digest::of(b""), 0).unwrap(), Stored::Missing);
    journal.commit(vec![opened("a"), opened("b"), span(lacuna_core::SessionNo(1), "s", b"x")]);
    let mut reader = journal.store.payloads().unwrap();
    for seq in [0, 1, 2, 4, u64::MAX] {
        assert_eq!(reader.read(seq, &Digest::of(b"x"), 1).unwrap(), Stored::Missing, "{seq}");
    }
    // A reader sees the commit that it was made at.
    assert_eq!(nothing.read(3, &Digest::of(b"x"), 1).unwrap(), Stored::Missing);
    assert_eq!(reader.read(3, &Digest::of(b"x"), 1).unwrap(), whole(b"x"));
}

#[test]
fn what_does_not_match_its_digest_is_not_served() {
    let mut journal = Journal::memory();
    let large = noise(1, 600 << 10);
    let drafts = vec![opened("a"), span(NEW, "s", b"small"), span(NEW, "l", &large)];
    let session = lacuna_core::SessionNo(1);
    let drafts = drafts
        .into_iter()
        .enumerate()
        .map(|(n, (s, event, payload))| (if n == 0 { s } else { session }, event, payload));
    journal.commit(drafts.collect());
    let mut reader = journal.store.payloads().unwrap();
    let other = Digest::of(b"other");
    let damaged = Stored::Damaged("the stored copy does not match its digest".into());
    assert_eq!(reader.read(2, &other, 5).unwrap(), damaged);
    assert_eq!(reader.read(3, &other, large.len() as u64).unwrap(), damaged);
    // An event that claims fewer bytes than are there: reading stops early, and does not match.
    assert_eq!(reader.read(3, &Digest::of(&large), 10).unwrap(), damaged);
    assert_eq!(reader.read(3, &Digest::of(&large), large.len() as u64).unwrap(), whole(&large));
}
