//! Searching a session: what was found, or that it was certainly not there, or which spans could not be
//! looked at.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lacuna_core::retention::{RetentionState, excludes, outcome};
use lacuna_core::{Outcome, SessionKey, SessionState, SpanIndex, SpanState, Storage};
use regex::bytes::Regex;

use crate::copies::Copy;
use crate::{EngineError, Journal};

/// Bytes that are shown on either side of a match.
const AROUND: usize = 40;
/// Bytes of a match that are shown.
const SHOWN: usize = 200;
/// External contents that are larger are not searched.
const LARGEST: u64 = 64 << 20;

/// How long one search goes on, unless asked otherwise: what it has not reached by then it names.
pub const SEARCH_TIME: Duration = Duration::from_secs(4);

/// How far a search goes.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The span that it begins with, in the order of recording.
    pub from: usize,
    /// The most places that it gives.
    pub places: usize,
    /// How long it goes on. One span is always looked at, so that going on comes to an end.
    pub time: Duration,
}

impl Bounds {
    /// From the first span on, up to this many places.
    pub fn places(places: usize) -> Self {
        Self { from: 0, places, time: SEARCH_TIME }
    }
}

/// What is looked for.
#[derive(Debug, Clone)]
pub enum Pattern {
    /// These very words.
    Literal(String),
    /// What a regular expression matches; made to run in time linear in the text.
    Regex(Regex),
}

/// Which spans are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Among {
    /// Every span that was ever recorded.
    All,
    /// Those that stand in the window.
    Window,
    /// Those that do not.
    Pruned,
}

/// A place where it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// The span.
    pub span: SpanIndex,
    /// The typed answer about it.
    pub outcome: Outcome,
    /// Where it begins in the content, in bytes.
    pub offset: u64,
    /// The words there with some around them.
    pub excerpt: String,
}

/// What a search has found.
#[derive(Debug, Clone)]
pub struct Searched {
    /// The state that the answer rests on.
    pub state: Arc<SessionState>,
    /// The places, in the order of recording.
    pub matches: Vec<Match>,
    /// Whether there are more than were asked for; then the rest was not looked at.
    pub more: bool,
    /// Spans that were looked at, and bytes of them.
    pub spans: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Those of the spans that were removed, and whose residues say that it was certainly not in there as
    /// whole words.
    pub by_residue: u64,
    /// Spans that could not be looked at, and why.
    pub unsearchable: Vec<(SpanIndex, String)>,
    /// The first span that was not reached in time, if not all were.
    pub reached: Option<SpanIndex>,
}

impl Journal {
    /// Searches the contents of a session's spans: the texts of summaries too, but not their claims, which
    /// rest on spans that are searched themselves.
    pub fn search(
        &self,
        key: &SessionKey,
        pattern: &Pattern,
        among: Among,
        bounds: Bounds,
    ) -> Result<Searched, EngineError> {
        let begun = Instant::now();
        let state = self.state(key)?;
        let (retention, _) = self.retention(&key.tenant)?;
        let mut search = Search {
            journal: self,
            retention: &retention,
            seeker: Seeker::of(pattern),
            pattern,
            limit: bounds.places,
            matches: Vec::new(),
            more: false,
            spans: 0,
            bytes: 0,
            by_residue: 0,
            unsearchable: Vec::new(),
        };
        let mut copies = self.copies();
        let mut reached = None;
        let spans = state.spans().iter().zip(0..).skip(bounds.from);
        for (nth, (span, index)) in spans.enumerate() {
            if nth > 0 && begun.elapsed() > bounds.time {
                reached = Some(index);
                break;
            }
            let live = state.outcome(span) == Outcome::Live;
            let wanted = match among {
                Among::All => true,
                Among::Window => live,
                Among::Pruned => !live,
            };
            if !wanted {
                continue;
            }
            if search.more {
                break;
            }
            if let Some(tombstone) = state.tombstone(span) {
                search.removed(span, index, &tombstone.cause)?;
                continue;
            }
            match &span.storage {
                Storage::Withheld { .. } => search.cannot(index, "withheld"),
                Storage::External { .. } if span.bytes > LARGEST => {
                    search.cannot(index, "it is too large to be searched in its store");
                }
                Storage::Journal | Storage::External { .. } => {
                    let seen =
                        copies.see(span, |content| search.read(&state, span, index, content))?;
                    match seen {
                        Ok(()) => {}
                        Err(Copy::Lost(found)) => {
                            search.cannot(index, &format!("damage: {found}"));
                        }
                        Err(Copy::Unanswered(why)) => search.cannot(index, &why),
                        Err(Copy::Whole(_)) => unreachable!("a whole copy was seen"),
                    }
                }
            }
        }
        let Search { matches, more, spans, bytes, by_residue, unsearchable, .. } = search;
        drop(copies);
        Ok(Searched { state, matches, more, spans, bytes, by_residue, unsearchable, reached })
    }
}

/// A pattern made ready, once for all contents.
enum Seeker<'a> {
    Literal(Box<memchr::memmem::Finder<'a>>),
    Regex(&'a Regex),
}

impl<'a> Seeker<'a> {
    fn of(pattern: &'a Pattern) -> Self {
        match pattern {
            Pattern::Literal(literal) => {
                Self::Literal(Box::new(memchr::memmem::Finder::new(literal)))
            }
            Pattern::Regex(regex) => Self::Regex(regex),
        }
    }
}

/// A search on its way.
struct Search<'a> {
    seeker: Seeker<'a>,
    journal: &'a Journal,
    retention: &'a RetentionState,
    pattern: &'a Pattern,
    limit: usize,
    matches: Vec<Match>,
    more: bool,
    spans: u64,
    bytes: u64,
    by_residue: u64,
    unsearchable: Vec<(SpanIndex, String)>,
}

impl Search<'_> {
    fn cannot(&mut self, index: SpanIndex, why: &str) {
        self.unsearchable.push((index, why.to_owned()));
    }

    /// A removed span: its residue may say that it was certainly not in there.
    fn removed(
        &mut self,
        span: &SpanState,
        index: SpanIndex,
        cause: &lacuna_core::Cause,
    ) -> Result<(), EngineError> {
        let kind = cause.word();
        let denied = match (self.journal.store.residue(span.seq)?, self.pattern) {
            (Some(residue), Pattern::Literal(literal)) => Some(excludes(&residue, literal)),
            (Some(_), Pattern::Regex(_)) => Some(None),
            (None, _) => None,
        };
        match denied {
            Some(Some(true)) => {
                self.spans += 1;
                self.by_residue += 1;
            }
            Some(Some(false)) => {
                self.cannot(index, &format!("{kind}; by its residue it may have been in there"));
            }
            Some(None) => {
                let why =
                    format!("{kind}; its residue tells only of words as identifiers have them");
                self.cannot(index, &why);
            }
            None => self.cannot(index, kind),
        }
        Ok(())
    }

    fn read(&mut self, state: &SessionState, span: &SpanState, index: SpanIndex, content: &[u8]) {
        self.spans += 1;
        self.bytes += content.len() as u64;
        let standing = || outcome(state, span, Some(self.retention)).0;
        let mut outcome = None;
        let (matches, more, limit) = (&mut self.matches, &mut self.more, self.limit);
        let mut found = |start: usize, end: usize| {
            if matches.len() == limit {
                *more = true;
                return false;
            }
            let outcome = *outcome.get_or_insert_with(standing);
            let excerpt = excerpt(content, start, end);
            matches.push(Match { span: index, outcome, offset: start as u64, excerpt });
            true
        };
        match &self.seeker {
            Seeker::Literal(finder) => {
                let length = finder.needle().len();
                for start in finder.find_iter(content) {
                    if !found(start, start + length) {
                        return;
                    }
                }
            }
            Seeker::Regex(regex) => {
                for place in regex.find_iter(content) {
                    if !found(place.start(), place.end()) {
                        return;
                    }
                }
            }
        }
    }
}

/// The bytes of a match with some around them, cut between characters where it is text.
fn excerpt(content: &[u8], start: usize, end: usize) -> String {
    let end = end.min(start + SHOWN);
    let boundary = |at: usize| content.get(at).is_none_or(|byte| byte & 0xc0 != 0x80);
    let mut from = start.saturating_sub(AROUND);
    while from < start && !boundary(from) {
        from += 1;
    }
    let mut to = (end + AROUND).min(content.len());
    while to > end && !boundary(to) {
        to -= 1;
    }
    String::from_utf8_lossy(&content[from..to]).into_owned()
}
