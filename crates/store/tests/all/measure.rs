//! What encryption and removal cost. Ignored: they assert little and print figures.
//!
//! `cargo test --release -p lacuna-store measure -- --ignored --nocapture --test-threads 1`

#![allow(clippy::print_stdout, reason = "figures are what it is for")]

use std::time::{Duration, Instant};

use lacuna_codec::{Pack, PackBuilder, PackHeader, Seal};
use lacuna_store::{Key, KeyTree, Stored};

use crate::journal::{Journal, noise, span};

/// Payloads as tools give them: words, half of which repeat.
fn text(seed: u64, bytes: usize) -> Vec<u8> {
    let words = noise(seed + 1, bytes / 4);
    let mut text: Vec<u8> = words
        .iter()
        .flat_map(|b| {
            format!("{:x} {}", b & 31, ["the ", "file ", "", "ok "][usize::from(b >> 6)])
                .into_bytes()
        })
        .collect();
    text.resize(bytes, b'.');
    text
}

fn per_second(count: usize, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}

#[test]
#[ignore = "a measurement"]
fn measure_packs_plain_and_encrypted() {
    let payloads: Vec<_> = (0..16).map(|n| text(n, 4 << 10)).collect();
    let build = || {
        let mut pack = PackBuilder::default();
        (1..).zip(&payloads).for_each(|(seq, payload)| pack.push(seq, payload));
        pack
    };
    let rounds = 4_000;
    let tree = KeyTree::new(Key::new([7; 32]));
    let begin = Instant::now();
    for _ in 0..rounds {
        std::hint::black_box(build().finish());
    }
    let plain = begin.elapsed();
    let begin = Instant::now();
    for leaf in 0..rounds {
        let key = tree.key(leaf).unwrap();
        std::hint::black_box(build().seal(&Seal { leaf, nonce: [3; 24], key: key.bytes() }));
    }
    let sealed = begin.elapsed();
    let key = tree.key(5).unwrap();
    let (stored, secret) =
        (build().finish().1, build().seal(&Seal { leaf: 5, nonce: [3; 24], key: key.bytes() }).1);
    let begin = Instant::now();
    for _ in 0..rounds {
        std::hint::black_box(Pack::open(&stored).unwrap());
    }
    let open_plain = begin.elapsed();
    let begin = Instant::now();
    for _ in 0..rounds {
        let key = tree.key(5).unwrap();
        std::hint::black_box(PackHeader::read(&secret).unwrap().open(Some(key.bytes())).unwrap());
    }
    let open_sealed = begin.elapsed();
    let each = |took: Duration| took.as_secs_f64() * 1e6 / rounds as f64;
    println!("packs of 16 x 4 KiB, {} bytes stored:", stored.len());
    println!("  write: plain {:.0} us, encrypted {:.0} us", each(plain), each(sealed));
    println!("  read:  plain {:.0} us, encrypted {:.0} us", each(open_plain), each(open_sealed));
    let begin = Instant::now();
    (0..rounds).for_each(|leaf| drop(std::hint::black_box(tree.key(leaf))));
    println!("  of which a key: {:.1} us", each(begin.elapsed()));
}

/// To be run on a checkout without encryption as well, for the ratio.
#[test]
#[ignore = "a measurement"]
fn measure_appending_and_reading_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::in_folder(folder.path());
    let session = journal.open("a");
    let payloads: Vec<_> = (0..64).map(|n| text(n, 4 << 10)).collect();
    let commits: Vec<u64> = (0..300).collect();
    let mut appending = Duration::ZERO;
    for commit in &commits {
        let drafts = (0..).zip(&payloads).map(|(n, p)| span(session, &format!("{commit}-{n}"), p));
        let commit = journal.prepare(drafts.collect());
        let begin = Instant::now();
        journal.store.append(commit.clone()).unwrap();
        appending += begin.elapsed();
    }
    let count = 64 * commits.len();
    println!(
        "append, 64 x 4 KiB in a commit: {:.0} payloads a second",
        per_second(count, appending)
    );
    let mut reader = journal.store.payloads().unwrap();
    let begin = Instant::now();
    for seq in 2..2 + count as u64 {
        let found = crate::journal::read(&mut reader, &journal.events, seq);
        assert!(matches!(found, Stored::Whole(_)), "{seq}");
    }
    println!("read back in order: {:.0} payloads a second", per_second(count, begin.elapsed()));
    let begin = Instant::now();
    let mut hops = 0;
    for seq in (2..2 + count as u64).step_by(37).collect::<Vec<_>>().into_iter().rev() {
        assert!(matches!(
            crate::journal::read(&mut reader, &journal.events, seq),
            Stored::Whole(_)
        ));
        hops += 1;
    }
    println!(
        "read back one of each pack: {:.0} payloads a second",
        per_second(hops, begin.elapsed())
    );
}

fn print(what: &str, tree: &KeyTree, took: Duration) {
    let (nodes, bytes) = (tree.cover().len(), 41 * tree.cover().len());
    println!("{what}: {nodes} nodes, {:.2} MiB, in {took:.2?}", bytes as f64 / f64::from(1 << 20));
}

#[test]
#[ignore = "a measurement"]
fn measure_puncturing_a_million_leaves() {
    const LEAVES: u64 = 1_000_000;
    let fresh = || KeyTree::new(Key::new([9; 32]));
    // A tenth of them, by chance.
    let dice = noise(1, 8 * 120_000);
    let mut chosen: Vec<u64> = dice
        .chunks_exact(8)
        .map(|eight| u64::from_le_bytes(eight.try_into().unwrap()) % LEAVES)
        .collect();
    chosen.sort_unstable();
    chosen.dedup();
    chosen.truncate(chosen.len());
    let ranges: Vec<_> = chosen.iter().map(|leaf| (*leaf, *leaf)).collect();
    let mut tree = fresh();
    let begin = Instant::now();
    tree.puncture(&ranges);
    print(&format!("{} of {LEAVES} at once", ranges.len()), &tree, begin.elapsed());
    let begin = Instant::now();
    tree.puncture(&[(500_001, 500_001)]);
    print("one more", &tree, begin.elapsed());
    // As removals come: a hundred runs, each of a thousand, the oldest first.
    let mut tree = fresh();
    let begin = Instant::now();
    for run in 0..100 {
        let these: Vec<_> = ranges.iter().skip(run).step_by(100).copied().collect();
        tree.puncture(&these);
    }
    print("the same in 100 runs", &tree, begin.elapsed());
    let begin = Instant::now();
    tree.puncture(&[(0, LEAVES - 1)]);
    print("all of them", &tree, begin.elapsed());
    // All by age: whatever is old goes, as retention does.
    let mut tree = fresh();
    let begin = Instant::now();
    for run in 0..100 {
        tree.puncture(&[(run * 10_000, run * 10_000 + 9_999)]);
    }
    print("all, in 100 runs by age", &tree, begin.elapsed());
    assert!(tree.cover().len() <= 64);
}
