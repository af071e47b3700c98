//! Random commands over few ids, so that they meet.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// Ids that a client might give, some like those that the journal assigns.
pub(crate) const NAMES: &[&str] = &[
    "a", "b", "c.1", "c:1", "c_1", "d", "e", "f", "s1", "s2", "s9", "p1", "sum1", "sum3", "ghost",
    "shade",
];

#[derive(Debug, Clone)]
pub(crate) struct Piece {
    pub(crate) name: Option<usize>,
    pub(crate) shape: u8,
    pub(crate) variant: u8,
    pub(crate) hidden: bool,
    pub(crate) pinned: bool,
    pub(crate) other: Option<usize>,
}

/// Principals that send commands: one does most of the work.
pub(crate) const SENDERS: &[&str] = &["worker-1", "writer", "auditor"];

/// A command and the index of its sender.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) sender: usize,
    pub(crate) op: Op,
}

#[derive(Debug, Clone)]
pub(crate) enum Op {
    Append(Vec<Piece>),
    Summarize {
        name: Option<usize>,
        covers: Vec<usize>,
    },
    /// A summary with a claim that cites spans; honest unless it cites what it should not.
    Tell {
        name: Option<usize>,
        covers: Vec<usize>,
        cites: Vec<usize>,
        origin: usize,
        reads: bool,
    },
    /// A summary that claims something without a source, again and again.
    Wrong {
        covers: Vec<usize>,
        times: usize,
    },
    Audit {
        pick: usize,
        pass: bool,
        reads: bool,
    },
    /// `with` below 4: a fresh summary of just these spans; below 8: one of those recorded; else one
    /// that stands in the window already, for what else it covers.
    Prune {
        picks: Picks,
        with: Option<usize>,
        lossy: bool,
        dry: bool,
        hours: Option<u64>,
    },
    Restore(Picks),
    Spoil {
        pick: usize,
        reported: bool,
    },
    Report(Picks),
    Contradict(usize, usize),
    Resolve(u32),
    Read(usize, usize),
    Close,
}

/// Spans named blindly, or chosen among those for which the command makes sense.
#[derive(Debug, Clone)]
pub(crate) struct Picks {
    pub(crate) blind: bool,
    pub(crate) which: Vec<usize>,
}

fn piece() -> impl Strategy<Value = Piece> {
    // A name mostly has one shape, so that it meets itself as a duplicate and not as a conflict.
    let name = option::weighted(0.4, 0..NAMES.len() - 2);
    let variant = prop_oneof![20 => Just(0_u8), 1 => 1..5_u8];
    let other = option::weighted(0.5, 0..64_usize);
    (name, 0..12_u8, variant, prop::bool::weighted(0.1), prop::bool::weighted(0.05), other)
        .prop_map(|(name, shape, variant, hidden, pinned, other)| Piece {
            name,
            shape,
            variant,
            hidden,
            pinned,
            other,
        })
}

fn picks() -> impl Strategy<Value = Picks> {
    (prop::bool::weighted(0.15), vec(0..64_usize, 1..7))
        .prop_map(|(blind, which)| Picks { blind, which })
}

fn op() -> impl Strategy<Value = Op> {
    let prune = (picks(), option::of(0..10_usize), any::<bool>(), prop::bool::weighted(0.1));
    let hours = option::weighted(0.2, 0..5_u64);
    prop_oneof![
        40 => vec(piece(), 1..6).prop_map(Op::Append),
        10 => (option::of(0..NAMES.len() - 2), vec(0..64_usize, 0..6))
            .prop_map(|(name, covers)| Op::Summarize { name, covers }),
        70 => (prune, hours).prop_map(|((picks, with, lossy, dry), hours)| {
            Op::Prune { picks, with, lossy, dry, hours }
        }),
        40 => picks().prop_map(Op::Restore),
        10 => (0..64_usize, any::<bool>()).prop_map(|(pick, reported)| Op::Spoil { pick, reported }),
        5 => picks().prop_map(Op::Report),
        6 => (0..64_usize, 0..64_usize).prop_map(|(a, b)| Op::Contradict(a, b)),
        10 => (0..5_u32).prop_map(Op::Resolve),
        5 => (0..64_usize, 0..3_usize).prop_map(|(pick, purpose)| Op::Read(pick, purpose)),
        15 => tell(),
        3 => (vec(0..64_usize, 1..3), 1..6_usize)
            .prop_map(|(covers, times)| Op::Wrong { covers, times }),
        15 => (0..64_usize, prop::bool::weighted(0.7), prop::bool::weighted(0.7))
            .prop_map(|(pick, pass, reads)| Op::Audit { pick, pass, reads }),
        // Rarely: what follows can hardly do anything.
        1 => Just(Op::Close),
    ]
}

fn tell() -> impl Strategy<Value = Op> {
    let name = option::weighted(0.6, 0..NAMES.len() - 2);
    let covers = prop_oneof![vec(0..4_usize, 1..3), vec(0..64_usize, 1..5)];
    let cites = prop_oneof![2 => Just(Vec::new()), 1 => vec(0..64_usize, 1..4)];
    (name, covers, cites, 0..4_usize, prop::bool::weighted(0.8)).prop_map(
        |(name, covers, cites, origin, reads)| Op::Tell { name, covers, cites, origin, reads },
    )
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    (prop_oneof![6 => Just(0_usize), 2 => Just(1), 3 => Just(2)], op())
        .prop_map(|(sender, op)| Step { sender, op })
}
