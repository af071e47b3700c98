//! The identifiers of the covered spans that a summary leaves out, ranked.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::hash_map::Entry;

use foldhash::{HashMap, HashSet};

use crate::SpanId;
use crate::text::{Anchor, AnchorKind, Form};

/// Identifiers that a reply tells; the others are only counted.
pub(super) const OMITTED: usize = 50;
/// Different identifiers that are kept track of. Text with more of them is no prose: what follows
/// is not counted.
const TRACKED: usize = 200_000;
/// An identifier is told up to this many bytes.
const LONGEST: usize = 200;

/// An identifier that a summary leaves out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Omitted {
    /// The identifier, as the span has it.
    pub text: String,
    /// What it looks like.
    pub kind: AnchorKind,
    /// The first covered span that holds it.
    pub span: SpanId,
}

/// An identifier that only covered spans hold. Kept small: large spans name very many.
struct Found {
    /// Where its words begin and end among those of all.
    words: (u32, u32),
    /// The place of its span among those that hold some.
    span: u32,
    times: u32,
    kind: AnchorKind,
    /// Whether a user's span holds it.
    user: bool,
}

/// How many identifiers of one kind the covered spans hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KindCount {
    /// The kind.
    pub kind: AnchorKind,
    /// How many there are.
    pub identifiers: u32,
    /// How many of them the text or the claims hold.
    pub kept: u32,
}

/// What was found of the covered spans' identifiers.
pub(super) struct Tally {
    /// Those left out, most telling first.
    pub(super) omitted: Vec<Omitted>,
    /// How many there are of each kind.
    pub(super) kinds: Vec<KindCount>,
}

/// Collects the identifiers of the covered spans.
pub(super) struct Identifiers {
    /// Where each form is told of: first come those that are kept, behind them those that were found.
    known: HashMap<Form, u32>,
    /// Of the forms that the summary's text or its claims hold, the kind under which a covered span does.
    kept: Vec<Option<AnchorKind>>,
    /// What the summary does not hold, in the order in which it was found.
    found: Vec<Found>,
    /// The words of these, one behind the other.
    words: String,
    /// The spans that hold them.
    spans: Vec<SpanId>,
}

impl Identifiers {
    /// `held`: the forms that the summary's text and its claims hold.
    pub(super) fn new(held: HashSet<Form>) -> Self {
        let kept = vec![None; held.len()];
        let known = held.into_iter().zip(0..).collect();
        Self { known, kept, found: Vec::new(), words: String::new(), spans: Vec::new() }
    }

    /// Notes an anchor of a covered span.
    pub(super) fn note(
        &mut self,
        form: Form,
        anchor: &Anchor,
        words: &str,
        span: &SpanId,
        user: bool,
    ) {
        match self.known.entry(form) {
            Entry::Occupied(entry) => {
                let at = *entry.get() as usize;
                match self.kept.get_mut(at) {
                    Some(kind) => drop(kind.get_or_insert(anchor.kind)),
                    None => {
                        let found = &mut self.found[at - self.kept.len()];
                        found.times = found.times.saturating_add(1);
                        found.user |= user;
                    }
                }
            }
            Entry::Vacant(entry) if self.found.len() < TRACKED => {
                // So few words of so many identifiers are less than 4 GiB.
                let at = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
                entry.insert(at(self.kept.len() + self.found.len()));
                let from = at(self.words.len());
                self.words.push_str(&words[..words.floor_char_boundary(LONGEST)]);
                if self.spans.last() != Some(span) {
                    self.spans.push(span.clone());
                }
                let (words, span) = ((from, at(self.words.len())), at(self.spans.len() - 1));
                self.found.push(Found { words, span, times: 1, kind: anchor.kind, user });
            }
            Entry::Vacant(_) => {}
        }
    }

    /// What was found, at most `most` of those left out.
    pub(super) fn finish(self, most: usize) -> Tally {
        let mut kinds: BTreeMap<AnchorKind, (u32, u32)> = BTreeMap::new();
        for kind in self.kept.into_iter().flatten() {
            let (all, kept) = kinds.entry(kind).or_default();
            (*all, *kept) = (*all + 1, *kept + 1);
        }
        for found in &self.found {
            kinds.entry(found.kind).or_default().0 += 1;
        }
        let kinds = kinds.into_iter();
        let kinds = kinds.map(|(kind, (identifiers, kept))| KindCount { kind, identifiers, kept });
        // What a reader cannot guess and would search for comes first; among its likes, what the
        // user has named, then what is named often, then what comes first.
        let worth = |f: &Found| (rank(f.kind), !f.user, Reverse(f.times), f.words.0);
        let mut found = self.found;
        if most > 0 && found.len() > most {
            found.select_nth_unstable_by_key(most - 1, worth);
        }
        found.truncate(most);
        found.sort_by_key(worth);
        let omitted = found.into_iter().map(|found| Omitted {
            text: self.words[found.words.0 as usize..found.words.1 as usize].to_owned(),
            kind: found.kind,
            span: self.spans[found.span as usize].clone(),
        });
        Tally { omitted: omitted.collect(), kinds: kinds.collect() }
    }
}

fn rank(kind: AnchorKind) -> u8 {
    match kind {
        AnchorKind::RequestId | AnchorKind::Uuid => 0,
        AnchorKind::ErrorCode | AnchorKind::Hash => 1,
        AnchorKind::Email | AnchorKind::Url | AnchorKind::Host => 2,
        AnchorKind::Path | AnchorKind::Version => 3,
        AnchorKind::Identifier | AnchorKind::Command => 4,
        AnchorKind::Number => 5,
        AnchorKind::Time => 6,
        AnchorKind::Quote => 7,
    }
}
