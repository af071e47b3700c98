//! Keys that can be destroyed one by one: a binary tree over all 64-bit numbers, cut back.
//!
//! ```text
//!              root                     cover of a fresh journal: { root }
//!            /      \
//!          L          R                 leaf 1 punctured:         { 00, 1 }
//!        /   \      /   \
//!       0     1    2     3              0 to 1 punctured:         { R }
//! ```
//!
//! Both children of a node follow from its key, and nothing leads back up or across. A leaf's key
//! follows from whichever node above it is still there. To destroy a leaf, that node is replaced by
//! the siblings along the path from it down to the leaf: from them everything else follows, and the
//! leaf from nothing that is left. What remains is the cover.

use zeroize::Zeroize;

/// Bytes of a key.
pub(crate) const KEY: usize = 32;
/// Levels below the root.
pub(crate) const DEPTH: u8 = 64;

const DOMAIN: &[u8] = b"lacuna 2026-11 key tree v1";

/// A key, zeroed when it is let go.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; KEY]);

impl Key {
    /// A key of these bytes.
    pub fn new(bytes: [u8; KEY]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8; KEY] {
        &self.0
    }

    /// The key of a node's left (0) or right (1) child: BLAKE3 of the domain and that byte, keyed with
    /// the node's own.
    fn child(&self, side: u8) -> Self {
        let mut input = [0; DOMAIN.len() + 1];
        input[..DOMAIN.len()].copy_from_slice(DOMAIN);
        input[DOMAIN.len()] = side;
        let mut hash = blake3::keyed_hash(&self.0, &input);
        let child = Self(*hash.as_bytes());
        hash.zeroize();
        child
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

/// A node of the cover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The first leaf below it: its path from the root, in the upper `depth` bits. The others are 0.
    pub first: u64,
    /// Its distance from the root, 0 to 64. At 64 it is a leaf.
    pub depth: u8,
    /// Its key.
    pub key: Key,
}

impl Node {
    /// The last leaf below it.
    pub fn last(&self) -> u64 {
        self.first | self.below()
    }

    /// The bits by which the leaves below it differ.
    fn below(&self) -> u64 {
        u64::MAX.checked_shr(self.depth.into()).unwrap_or(0)
    }

    /// Its left (0) or right (1) child.
    fn child(&self, side: u8) -> Self {
        let depth = self.depth + 1;
        let first = self.first | u64::from(side) << (DEPTH - depth);
        Self { first, depth, key: self.key.child(side) }
    }
}

/// The keys of all leaves that were not punctured.
///
/// Its cover is sorted by first leaf and disjoint. It is the only one possible: each node is the
/// highest below which nothing was punctured. So it does not tell in which order things went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyTree {
    cover: Vec<Node>,
}

impl KeyTree {
    /// The tree in which no leaf was punctured.
    pub fn new(root: Key) -> Self {
        Self { cover: vec![Node { first: 0, depth: 0, key: root }] }
    }

    /// The tree of a cover; none unless its nodes are sorted, disjoint and named properly.
    pub(crate) fn of(cover: Vec<Node>) -> Option<Self> {
        let proper = |node: &Node| node.depth <= DEPTH && node.first & node.below() == 0;
        let apart = cover.windows(2).all(|pair| pair[0].last() < pair[1].first);
        (apart && cover.iter().all(proper)).then_some(Self { cover })
    }

    /// The cover, in ascending order.
    pub fn cover(&self) -> &[Node] {
        &self.cover
    }

    /// The key of a leaf; none if it was punctured. Takes up to 64 hashes.
    pub fn key(&self, leaf: u64) -> Option<Key> {
        let at = self.cover.partition_point(|node| node.last() < leaf);
        let node = self.cover.get(at).filter(|node| node.first <= leaf)?;
        let mut key = node.key.clone();
        for depth in node.depth..DEPTH {
            key = key.child((leaf >> (DEPTH - 1 - depth) & 1) as u8);
        }
        Some(key)
    }

    /// Whether a leaf of this range was not punctured.
    pub(crate) fn has_any(&self, first: u64, last: u64) -> bool {
        let at = self.cover.partition_point(|node| node.last() < first);
        self.cover.get(at).is_some_and(|node| node.first <= last)
    }

    /// The first leaf from which on none was punctured; none if the last one was.
    pub fn untouched_from(&self) -> Option<u64> {
        let mut from: Option<u64> = None;
        for node in self.cover.iter().rev() {
            let next = node.last().checked_add(1);
            if next != from {
                break;
            }
            from = Some(node.first);
        }
        from
    }

    /// Destroys the keys of these leaves: ranges from first to last, ascending and apart from each
    /// other. Those destroyed before stay so. Takes one pass over the cover, and hashes only along the
    /// edges of what is punctured.
    pub fn puncture(&mut self, ranges: &[(u64, u64)]) {
        assert!(
            ranges.iter().all(|(first, last)| first <= last)
                && ranges.windows(2).all(|pair| pair[0].1 < pair[1].0),
            "ranges to puncture ascend and are apart"
        );
        // Copied, not moved: what is moved out of a list is not zeroed when the list is let go.
        let mut left_over = Vec::with_capacity(self.cover.len() + ranges.len());
        for node in &self.cover {
            let begin = ranges.partition_point(|(_, last)| *last < node.first);
            let end = ranges.partition_point(|(first, _)| *first <= node.last());
            cut(node, &ranges[begin..end], &mut left_over);
        }
        self.cover = left_over;
    }
}

/// Appends what is left of a node once these ranges, each of which touches it, are gone.
fn cut(node: &Node, ranges: &[(u64, u64)], left_over: &mut Vec<Node>) {
    match ranges {
        [] => left_over.push(node.clone()),
        [(first, last)] if *first <= node.first && node.last() <= *last => {}
        _ => {
            let (left, right) = (node.child(0), node.child(1));
            let end = ranges.partition_point(|(first, _)| *first <= left.last());
            let begin = ranges.partition_point(|(_, last)| *last < right.first);
            cut(&left, &ranges[..end], left_over);
            cut(&right, &ranges[begin..], left_over);
        }
    }
}
