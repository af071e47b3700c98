//! Which of the blocks that were found are the journal, in their order.

use std::collections::{BTreeMap, HashSet};

use lacuna_core::Digest;

use super::Place;

/// A block that was found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    pub(crate) first: u64,
    pub(crate) end: u64,
    pub(crate) hash: Digest,
    pub(crate) previous: Digest,
    pub(crate) place: Place,
}

/// The blocks of the journal as far as they were found.
#[derive(Debug, Default)]
pub(crate) struct Chain {
    pub(crate) blocks: Vec<Found>,
    /// First and last seq of events that are in none.
    pub(crate) gaps: Vec<(u64, u64)>,
}

impl Chain {
    /// Of several blocks in one place, as a commit that was cut off leaves one, the one that counts is that
    /// on which others rest.
    pub(crate) fn of(found: Vec<Found>) -> Self {
        let rested_on: HashSet<Digest> = found.iter().map(|block| block.previous).collect();
        let mut places = BTreeMap::<u64, Vec<Found>>::new();
        for block in found {
            places.entry(block.first).or_default().push(block);
        }
        let mut chain = Self::default();
        let (mut expected, mut head) = (1, Digest::default());
        for (&first, candidates) in &places {
            if first < expected {
                continue;
            }
            let best = candidates.iter().filter(|block| {
                // One that nothing rests on, and that reaches over the beginning of others, was cut off.
                let over = || places.range(first + 1..block.end).next().is_some();
                rested_on.contains(&block.hash) || !over()
            });
            let best = best.max_by_key(|block| {
                let (follows, rested) = (block.previous == head, rested_on.contains(&block.hash));
                (follows, rested, !block.place.log, block.place)
            });
            let Some(&block) = best else { continue };
            if first > expected {
                chain.gaps.push((expected, first - 1));
            }
            (expected, head) = (block.end, block.hash);
            chain.blocks.push(block);
        }
        chain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(first: u64, end: u64, name: u8, previous: u8) -> Found {
        let digest = |name: u8| if name == 0 { Digest::default() } else { Digest([name; 32]) };
        let place = Place { log: false, at: u64::from(name), length: 1 };
        Found { first, end, hash: digest(name), previous: digest(previous), place }
    }

    fn names(chain: &Chain) -> Vec<u8> {
        chain.blocks.iter().map(|block| block.hash.0[0]).collect()
    }

    #[test]
    fn blocks_stand_in_their_order_and_gaps_are_named() {
        let found = vec![block(6, 8, 3, 2), block(1, 3, 1, 0), block(11, 12, 5, 4)];
        let chain = Chain::of(found);
        assert_eq!(names(&chain), [1, 3, 5]);
        assert_eq!(chain.gaps, [(3, 5), (8, 10)]);
        assert_eq!(Chain::of(vec![block(4, 5, 2, 1)]).gaps, [(1, 3)]);
        assert!(Chain::of(Vec::new()).blocks.is_empty());
    }

    #[test]
    fn of_two_blocks_in_one_place_the_one_counts_that_others_rest_on() {
        // 9 was cut off, and 2 took its place; 8 follows nothing that is there.
        let found =
            vec![block(1, 3, 1, 0), block(3, 9, 9, 1), block(3, 4, 2, 1), block(4, 5, 3, 2)];
        let chain = Chain::of([found.clone(), vec![block(4, 6, 8, 7)]].concat());
        assert_eq!(names(&chain), [1, 2, 3]);
        assert_eq!(chain.gaps, []);
        // Alone in its place it is not taken for what stood there, as it reaches over what follows.
        let chain = Chain::of(vec![block(1, 3, 1, 0), block(3, 9, 9, 1), block(4, 5, 3, 2)]);
        assert_eq!((names(&chain), chain.gaps), (vec![1, 3], vec![(3, 3)]));
        // The other way round as well.
        let chain = Chain::of(found.into_iter().rev().collect());
        assert_eq!(names(&chain), [1, 2, 3]);
    }
}
