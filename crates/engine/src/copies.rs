//! Reading the copies of spans, wherever they are: in the journal, or in an external store.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lacuna_core::{CopyEvidence, Refusal, SpanId, SpanState, Storage};
use lacuna_store::{PayloadReader, Store, StoreError, Stored};

use crate::EngineError;
use crate::external::{Committed, Probe, Stores};

/// Answers that one store may owe within one piece of work; after that it is asked no more.
const OWED: u32 = 3;
/// How many answers' time one piece of work may spend on one store.
const TOGETHER: u32 = 15;

/// What reading a span's copy has shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Copy {
    /// It is there, whole: the part that was asked for.
    Whole(Arc<[u8]>),
    /// It is not there, or what is there is not it.
    Lost(String),
    /// Its store gave no answer: nothing is known.
    Unanswered(String),
}

/// Reads copies at one commit. Reading in the order of recording is fastest.
pub(crate) struct Copies<'a> {
    store: &'a Store,
    /// None where nothing may be waited for.
    stores: Option<&'a Stores>,
    /// Not kept while an external store is waited for: the file grows as long as it lives.
    payloads: Option<PayloadReader>,
    spent: HashMap<&'a str, Spent>,
    unasked: Option<(SpanId, String)>,
}

/// What one store has cost so far.
#[derive(Debug, Default)]
struct Spent {
    owed: u32,
    time: Duration,
}

impl From<Stored> for Copy {
    fn from(found: Stored) -> Self {
        match found {
            Stored::Whole(content) => Self::Whole(content),
            Stored::Missing => Self::Lost("its stored copy is missing".into()),
            Stored::Damaged(why) => Self::Lost(why),
        }
    }
}

impl<'a> Copies<'a> {
    /// Copies of any kind: external stores are asked and waited for.
    pub(crate) fn anywhere(store: &'a Store, stores: &'a Stores) -> Self {
        Self { store, stores: Some(stores), payloads: None, spent: HashMap::new(), unasked: None }
    }

    /// The journal's own copies only, for the thread that must not wait.
    pub(crate) fn here(store: &'a Store) -> Self {
        Self { store, stores: None, payloads: None, spent: HashMap::new(), unasked: None }
    }

    /// The reader of the journal's own payloads.
    pub(crate) fn payloads(&mut self) -> Result<&mut PayloadReader, StoreError> {
        let payloads = match self.payloads.take() {
            Some(payloads) => payloads,
            None => self.store.payloads()?,
        };
        Ok(self.payloads.insert(payloads))
    }

    /// Reads a whole content back and compares its digest.
    pub(crate) fn read(&mut self, span: &'a SpanState) -> Result<Copy, EngineError> {
        self.read_part(span, 0..u64::MAX)
    }

    /// Lets `take` look at a content, once its digest was compared. Err: what was found instead; never
    /// [`Copy::Whole`].
    pub(crate) fn see<R>(
        &mut self,
        span: &'a SpanState,
        take: impl FnOnce(&[u8]) -> R,
    ) -> Result<Result<R, Copy>, EngineError> {
        if span.storage == Storage::Journal {
            return Ok(match self.payloads()?.see_span(span, take)? {
                Stored::Whole(taken) => Ok(taken),
                Stored::Missing => Err(Copy::from(Stored::Missing)),
                Stored::Damaged(why) => Err(Copy::Lost(why)),
            });
        }
        Ok(match self.read(span)? {
            Copy::Whole(content) => Ok(take(&content)),
            other => Err(other),
        })
    }

    /// Reads a content back, compares its digest and gives one part of it: of a journal's copy, which is
    /// in memory anyway, all.
    pub(crate) fn read_part(
        &mut self,
        span: &'a SpanState,
        part: Range<u64>,
    ) -> Result<Copy, EngineError> {
        match &span.storage {
            Storage::Journal => Ok(self.payloads()?.read_span(span)?.into()),
            Storage::Withheld { reason } => {
                Ok(Copy::Lost(format!("its content was withheld, never stored: {reason}")))
            }
            Storage::External { store, key } => {
                let (digest, bytes) = (span.digest, span.bytes);
                if let Some(why) = self.given_up(store) {
                    self.unasked.get_or_insert_with(|| (span.id.clone(), why.clone()));
                    return Ok(Copy::Unanswered(why));
                }
                self.ask(&Committed { store, key, digest, bytes }, part)
            }
        }
    }

    /// Why a store is asked no more, if it has cost too much already.
    fn given_up(&self, store: &str) -> Option<String> {
        let (stores, spent) = (self.stores?, self.spent.get(store)?);
        let most = stores.timeout() * TOGETHER;
        if spent.owed >= OWED {
            return Some(format!("{} for others, so it was not asked again", stores.late(store)));
        }
        let slow = format!("store {store:?} took more than {most:?} for others");
        (spent.time > most)
            .then(|| format!("{slow}, so it was not asked again: name fewer at a time"))
    }

    /// The first span that no store was asked about because it had cost too much already, and why.
    pub(crate) fn unasked(self) -> Option<(SpanId, String)> {
        self.unasked
    }

    /// Asks an external store, unless it owes too many answers already.
    pub(crate) fn ask(
        &mut self,
        committed: &Committed<'a>,
        part: Range<u64>,
    ) -> Result<Copy, EngineError> {
        let store = committed.store;
        let Some(stores) = self.stores else {
            return Ok(Copy::Unanswered(format!("store {store:?} was not asked")));
        };
        self.payloads = None;
        if let Some(why) = self.given_up(store) {
            return Ok(Copy::Unanswered(why));
        }
        let spent = self.spent.entry(store).or_default();
        let begun = Instant::now();
        let answer = stores.probe(committed, part);
        spent.time += begun.elapsed();
        Ok(match answer {
            Probe::Whole(part) => Copy::Whole(part.into()),
            Probe::Lost(found) => Copy::Lost(found),
            Probe::Unanswered { why, late } => {
                spent.owed += u32::from(late);
                Copy::Unanswered(why)
            }
            Probe::Closing => {
                return Err(EngineError::Unavailable("the journal is closing".into()));
            }
        })
    }

    /// What the gate is to know of a span's copy.
    pub(crate) fn evidence(&mut self, span: &'a SpanState) -> Result<CopyEvidence, EngineError> {
        // Of an external copy nothing is kept: that it matches is all that is wanted.
        let found = match self.read_part(span, 0..0)? {
            Copy::Whole(_) => CopyEvidence::verified(),
            Copy::Lost(found) => CopyEvidence::missing(found),
            Copy::Unanswered(why) => CopyEvidence::unanswered(why),
        };
        Ok(match (&span.storage, self.stores) {
            (Storage::External { store, .. }, Some(stores)) => {
                CopyEvidence { provenance: stores.provenance(store), ..found }
            }
            _ => found,
        })
    }
}

/// The refusal of what rests on a copy whose store gave no answer.
pub(crate) fn unanswered(span: &SpanState, why: String) -> EngineError {
    Refusal::Unanswered { span: span.id.clone(), why }.into()
}

/// Whether a span's content lies in an external store.
pub(crate) fn is_outside(span: &SpanState) -> bool {
    matches!(span.storage, Storage::External { .. })
}
