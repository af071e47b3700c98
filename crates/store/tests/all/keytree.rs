//! The key tree against a naive model: a set of ranges of leaves that are gone.

use lacuna_store::{Key, KeyTree};
use proptest::collection::vec;
use proptest::prelude::*;

fn fresh() -> KeyTree {
    KeyTree::new(Key::new(*b"the root of the tree under test."))
}

/// A leaf near one of the places where a tree of 64 levels may go wrong.
fn leaf() -> impl Strategy<Value = u64> {
    let near = prop_oneof![
        Just(0_u64),
        Just(64),
        Just(1 << 32),
        Just((1 << 63) - 20),
        Just(u64::MAX - 40),
    ];
    (near, 0..40_u64).prop_map(|(base, more)| base + more)
}

fn range() -> impl Strategy<Value = (u64, u64)> {
    prop_oneof![
        4 => leaf().prop_map(|leaf| (leaf, leaf)),
        2 => (leaf(), 0..20_u64).prop_map(|(first, more)| (first, first.saturating_add(more))),
        1 => (leaf(), leaf()).prop_map(|(a, b)| (a.min(b), a.max(b))),
    ]
}

fn sorted(ranges: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut ranges = ranges.to_vec();
    ranges.sort_unstable();
    let mut apart: Vec<(u64, u64)> = Vec::new();
    for (first, last) in ranges {
        match apart.last_mut() {
            Some(before) if first <= before.1 => before.1 = before.1.max(last),
            _ => apart.push((first, last)),
        }
    }
    apart
}

fn check(tree: &KeyTree, gone: &[(u64, u64)], leaves: impl Iterator<Item = u64>) {
    let whole = fresh();
    for leaf in leaves {
        let punctured = gone.iter().any(|(first, last)| (*first..=*last).contains(&leaf));
        let expected = (!punctured).then(|| whole.key(leaf).unwrap());
        assert_eq!(tree.key(leaf).as_ref().map(Key::bytes), expected.as_ref().map(Key::bytes));
    }
    let cover = tree.cover();
    for pair in cover.windows(2) {
        assert!(pair[0].last() < pair[1].first, "sorted and disjoint");
    }
    for node in cover {
        let above = gone.iter().find(|(first, last)| *first <= node.last() && node.first <= *last);
        assert_eq!(above, None, "no node stands above a leaf that is gone: {node:?}");
    }
    // Each end of a range leaves at most one node on every level.
    assert!(cover.len() <= 2 * 64 * gone.len() + 1, "{} nodes", cover.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn what_is_punctured_is_gone_and_nothing_else(
        rounds in vec(vec(range(), 1..6), 1..6),
        asked in vec(leaf(), 40),
    ) {
        let (mut tree, mut gone) = (fresh(), Vec::new());
        for round in &rounds {
            tree.puncture(&sorted(round));
            gone.extend_from_slice(round);
            let edges = round.iter().flat_map(|(first, last)| {
                [first.saturating_sub(1), *first, *last, last.saturating_add(1)]
            });
            check(&tree, &gone, asked.iter().copied().chain(edges));
        }
        // The order and the grouping leave no trace: the cover is the only one that is possible.
        let (mut at_once, mut backwards) = (fresh(), fresh());
        at_once.puncture(&sorted(&gone));
        gone.iter().rev().for_each(|range| backwards.puncture(&[*range]));
        prop_assert!(tree == at_once);
        prop_assert!(tree == backwards);
        // Again changes nothing.
        tree.puncture(&sorted(&gone));
        prop_assert!(tree == at_once);
        // And where the part that nothing was punctured in begins.
        let last = gone.iter().map(|(_, last)| *last).max().unwrap();
        prop_assert_eq!(tree.untouched_from(), last.checked_add(1));
    }
}

#[test]
fn a_fresh_tree_is_one_node_and_has_every_key() {
    let tree = fresh();
    assert_eq!(tree.cover().len(), 1);
    assert_eq!((tree.cover()[0].first, tree.cover()[0].last()), (0, u64::MAX));
    let keys = [0, 1, 2, 1 << 63, u64::MAX].map(|leaf| *tree.key(leaf).unwrap().bytes());
    for (n, key) in keys.iter().enumerate() {
        assert!(keys[n + 1..].iter().all(|other| other != key));
        assert_ne!(key, tree.cover()[0].key.bytes(), "no leaf has the key of a node above it");
    }
    assert_eq!(tree.untouched_from(), Some(0));
}

#[test]
fn one_puncture_leaves_the_siblings_of_its_path() {
    let mut tree = fresh();
    tree.puncture(&[(5, 5)]);
    assert_eq!(tree.cover().len(), 64);
    let below: Vec<_> = tree.cover().iter().map(|node| (node.first, node.last())).collect();
    assert_eq!(below[..5], [(0, 3), (4, 4), (6, 7), (8, 15), (16, 31)]);
    assert_eq!(below[63], (1 << 63, u64::MAX));
    assert_eq!(tree.key(5), None);
}

#[test]
fn what_is_punctured_altogether_takes_no_room() {
    let mut tree = fresh();
    (0..1_000).for_each(|leaf| tree.puncture(&[(leaf, leaf)]));
    // What is left is the path to 1,000 and what lies beyond.
    let bits = 1_000_u64.leading_zeros() + 1_000_u64.trailing_zeros();
    assert!(tree.cover().len() <= 64 && bits > 0, "{} nodes", tree.cover().len());
    assert_eq!((tree.cover()[0].first, tree.untouched_from()), (1_000, Some(1_000)));
    tree.puncture(&[(0, u64::MAX)]);
    assert_eq!((tree.cover().len(), tree.untouched_from()), (0, None));
    assert_eq!((tree.key(0), tree.key(u64::MAX)), (None, None));
}

/// The rule by which keys follow from one another is part of the stored format: were it changed, no
/// pack that was ever written could be opened.
#[test]
fn the_keys_of_a_root_are_fixed() {
    let tree = KeyTree::new(Key::new([7; 32]));
    let child = |key: [u8; 32], side: u8| {
        let input = [&b"lacuna 2026-11 key tree v1"[..], &[side]].concat();
        *blake3::keyed_hash(&key, &input).as_bytes()
    };
    for leaf in [0, 1, 0xdead_beef, 1 << 63, u64::MAX] {
        let path = (0..64).rev().map(|bit| (leaf >> bit & 1) as u8);
        let key = path.fold([7; 32], child);
        assert_eq!(*tree.key(leaf).unwrap().bytes(), key, "{leaf}");
    }
    let first: String =
        tree.key(0).unwrap().bytes()[..8].iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(first, "564ef01107026e38");
}

#[test]
fn keys_are_not_printed() {
    assert_eq!(format!("{:?}", Key::new([7; 32])), "Key(..)");
    assert!(!format!("{:?}", fresh()).contains("116"), "bytes of the root");
}
