//! Which of the units that may leave free the most: every one, but for those that cost more stub
//! than they free.
//!
//! Spans that leave side by side share a stub, so that what one of them frees depends on its
//! neighbours. The best choice is found from left to right: for each place the best that can be
//! done up to there, with the run of leaving spans that ends there still open at each length.
//! Units that do not stand in one piece are tried in and out one by one.

use super::Unit;
use crate::stand_in::{shared_stub_text, stand_in_tokens, stub_text};
use crate::{DirectiveNo, SessionState};

/// Runs are told apart by length up to here; longer ones differ by a digit in their stub.
const LENGTHS: usize = 128;
/// Units in several pieces that are tried in and out.
const TRIED: usize = 64;

/// The units whose leaving together frees the most.
pub(super) fn most(state: &SessionState, directive: DirectiveNo, units: Vec<Unit>) -> Vec<Unit> {
    let split: Vec<usize> = (0..units.len()).filter(|&at| !units[at].in_one_piece()).collect();
    let mut without: Vec<bool> = vec![false; units.len()];
    let mut best = choose(state, directive, &units, &without);
    loop {
        let before = best.freed;
        for &at in split.iter().take(TRIED) {
            without[at] = !without[at];
            let other = choose(state, directive, &units, &without);
            if other.freed > best.freed {
                best = other;
            } else {
                without[at] = !without[at];
            }
        }
        if best.freed == before {
            break;
        }
    }
    let leaves = best.leaves;
    units.into_iter().zip(leaves).filter(|(_, leaves)| *leaves).map(|(unit, _)| unit).collect()
}

/// A choice among units.
struct Choice {
    /// Which of them leave.
    leaves: Vec<bool>,
    freed: i64,
}

/// Consecutive spans of one unit.
struct Piece {
    unit: usize,
    first: usize,
    last: usize,
    tokens: i64,
    /// What a stub for it alone takes, if it is one span.
    alone: Option<i64>,
    /// Whether it leaves in any case.
    leaves: bool,
}

/// A run of leaving spans that is still open.
#[derive(Clone, Copy)]
struct Run {
    /// What has been freed, but for the stub of this run.
    freed: i64,
    /// The piece that it began with.
    start: usize,
}

/// How the part of the window up to a piece ends best.
#[derive(Clone, Copy)]
struct End {
    freed: i64,
    /// The piece that the last run began with; none if the piece stays.
    run: Option<usize>,
}

fn choose(
    state: &SessionState,
    directive: DirectiveNo,
    units: &[Unit],
    without: &[bool],
) -> Choice {
    let pieces = pieces(state, units, without);
    let stub = |length: usize| {
        let text = shared_stub_text(directive, length);
        i64::from(stand_in_tokens(&text))
    };
    let stubs: Vec<i64> = (0..=LENGTHS).map(stub).collect();
    let mut ends: Vec<End> = Vec::with_capacity(pieces.len());
    // By length; the last one holds all longer ones.
    let mut open: Vec<Option<Run>> = vec![None; LENGTHS + 1];
    for (at, piece) in pieces.iter().enumerate() {
        let before = ends.last().map_or(0, |end| end.freed);
        let adjacent = at > 0 && pieces[at - 1].last + 1 == piece.first;
        let length = piece.last - piece.first + 1;
        let mut next: Vec<Option<Run>> = vec![None; LENGTHS + 1];
        let mut offer = |length: usize, run: Run| {
            let slot = &mut next[length.min(LENGTHS)];
            if slot.is_none_or(|held| run.freed > held.freed) {
                *slot = Some(run);
            }
        };
        offer(length, Run { freed: before + piece.tokens, start: at });
        for (so_far, run) in open.iter().enumerate().filter(|_| adjacent) {
            if let Some(Run { freed, start }) = *run {
                offer(so_far + length, Run { freed: freed + piece.tokens, start });
            }
        }
        let mut end = End { freed: if piece.leaves { i64::MIN } else { before }, run: None };
        for (length, run) in next.iter().enumerate() {
            let Some(Run { freed, start }) = *run else { continue };
            let alone = piece.alone.filter(|_| length == 1);
            let freed = freed - alone.unwrap_or(stubs[length]);
            if freed > end.freed {
                end = End { freed, run: Some(start) };
            }
        }
        ends.push(end);
        open = next;
    }
    let mut leaves: Vec<bool> =
        units.iter().zip(without).map(|(unit, out)| !unit.in_one_piece() && !out).collect();
    let mut at = pieces.len();
    while at > 0 {
        match ends[at - 1].run {
            None => at -= 1,
            Some(start) => {
                pieces[start..at].iter().for_each(|piece| leaves[piece.unit] = true);
                at = start;
            }
        }
    }
    Choice { leaves, freed: ends.last().map_or(0, |end| end.freed) }
}

/// The pieces of all units but those left out, in window order.
fn pieces(state: &SessionState, units: &[Unit], without: &[bool]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for (number, unit) in units.iter().enumerate().filter(|(number, _)| !without[*number]) {
        let leaves = !unit.in_one_piece();
        let begun = pieces.len();
        for (&index, &place) in unit.spans.iter().zip(&unit.places) {
            let tokens = i64::try_from(state.shown_tokens(index)).unwrap_or(i64::MAX);
            match pieces[begun..].last_mut() {
                Some(piece) if piece.last + 1 == place => {
                    (piece.last, piece.alone) = (place, None);
                    piece.tokens += tokens;
                }
                _ => pieces.push(Piece {
                    unit: number,
                    first: place,
                    last: place,
                    tokens,
                    alone: Some(alone(state, index)),
                    leaves,
                }),
            }
        }
    }
    pieces.sort_by_key(|piece| piece.first);
    pieces
}

fn alone(state: &SessionState, index: crate::SpanIndex) -> i64 {
    i64::from(stand_in_tokens(&stub_text(&state.span(index).handle())))
}
