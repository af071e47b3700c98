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

/// What is known of a form.
enum Known {
    /// The summary's text or its claims hold it; the kind under which a covered span does, too.
    Kept(Option<AnchorKind>),
    /// Only covered spans hold it.
    Omitted(Found),
}

/// Collects the identifiers of the covered spans.
pub(super) struct Identifiers {
    known: HashMap<Form, Known>,
    /// How many of them the summary does not hold.
    omitted: usize,
}

impl Identifiers {
    /// `held`: the forms that the summary's text and its claims hold.
    pub(super) fn new(held: HashSet<Form>) -> Self {
        let known = held.into_iter().map(|form| (form, Known::Kept(None))).collect();
        Self { known, omitted: 0 }
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
            Entry::Occupied(mut entry) => match entry.get_mut() {
                Known::Kept(kind) => drop(kind.get_or_insert(anchor.kind)),
                Known::Omitted(found) => {
                    found.times = found.times.saturating_add(1);
                    found.user |= user;
                }
            },
            Entry::Vacant(entry) if self.omitted < TRACKED => {
                let text = words[..words.floor_char_boundary(LONGEST)].to_owned();
                let omitted = Omitted { text, kind: anchor.kind, span: span.clone() };
                let order = self.omitted;
                entry.insert(Known::Omitted(Found { omitted, user, times: 1, order }));
                self.omitted += 1;
            }
            Entry::Vacant(_) => {}
        }
    }

    /// What was found, at most `most` of those left out.
    pub(super) fn finish(self, most: usize) -> Tally {
        let mut kinds: BTreeMap<AnchorKind, (u32, u32)> = BTreeMap::new();
        let mut found = Vec::with_capacity(self.omitted);
        for known in self.known.into_values() {
            match known {
                Known::Kept(None) => {}
                Known::Kept(Some(kind)) => {
                    let (all, kept) = kinds.entry(kind).or_default();
                    (*all, *kept) = (*all + 1, *kept + 1);
                }
                Known::Omitted(omitted) => {
                    kinds.entry(omitted.omitted.kind).or_default().0 += 1;
                    found.push(omitted);
                }
            }
        }
        let kinds = kinds.into_iter();
        let kinds = kinds.map(|(kind, (identifiers, kept))| KindCount { kind, identifiers, kept });
        let kinds = kinds.collect();
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
