//! The identifiers of the covered spans that a summary leaves out, ranked.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use crate::SpanId;
use crate::text::{Anchor, AnchorKind, Form};

/// Identifiers that a reply tells; the others are only counted.
pub(super) const OMITTED: usize = 200;
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

struct Found {
    omitted: Omitted,
    /// Whether a user's span holds it.
    user: bool,
    times: u32,
    order: usize,
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
    /// The forms that the summary's text and its claims hold.
    held: HashSet<Form>,
    kept: HashMap<Form, AnchorKind>,
    found: HashMap<Form, Found>,
}

impl Identifiers {
    pub(super) fn new(held: HashSet<Form>) -> Self {
        Self { held, kept: HashMap::new(), found: HashMap::new() }
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
        if self.held.contains(&form) {
            self.kept.entry(form).or_insert(anchor.kind);
            return;
        }
        if let Some(found) = self.found.get_mut(&form) {
            found.times = found.times.saturating_add(1);
            found.user |= user;
            return;
        }
        if self.found.len() >= TRACKED {
            return;
        }
        let words = &words[..words.floor_char_boundary(LONGEST)];
        let omitted = Omitted { text: words.to_owned(), kind: anchor.kind, span: span.clone() };
        let order = self.found.len();
        self.found.insert(form, Found { omitted, user, times: 1, order });
    }

    /// What was found, at most `most` of those left out.
    pub(super) fn finish(self, most: usize) -> Tally {
        let mut kinds: BTreeMap<AnchorKind, (u32, u32)> = BTreeMap::new();
        for found in self.found.values() {
            kinds.entry(found.omitted.kind).or_default().0 += 1;
        }
        for kind in self.kept.values() {
            let (all, kept) = kinds.entry(*kind).or_default();
            (*all, *kept) = (*all + 1, *kept + 1);
        }
        let kinds = kinds.into_iter();
        let kinds = kinds.map(|(kind, (identifiers, kept))| KindCount { kind, identifiers, kept });
        let kinds = kinds.collect();
        let mut found: Vec<Found> = self.found.into_values().collect();
        // What a reader cannot guess and would search for comes first; among its likes, what the
        // user has named, then what is named often.
        let worth = |f: &Found| (rank(f.omitted.kind), !f.user, Reverse(f.times), f.order);
        if most > 0 && found.len() > most {
            found.select_nth_unstable_by_key(most - 1, worth);
        }
        found.truncate(most);
        found.sort_by_key(worth);
        Tally { omitted: found.into_iter().map(|found| found.omitted).collect(), kinds }
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
