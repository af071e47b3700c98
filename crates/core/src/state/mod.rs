//! A session's state: what its events fold into. The live window, the durability index, the
//! tombstone ledger and the directives are views of it.

mod evolve;
mod fork;
mod form;
mod joined;
mod known;
mod parts;
mod runs;
mod summaries;
mod window;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::retention::RetentionState;
use crate::{
    Budget, Cause, Contract, Digest, DirectiveNo, Finding, Handle, Origin, Principal, Role,
    SessionKey, SessionNo, SpanId, SpanKind, Storage, StoredClaims, SummaryStatus, Timestamp,
    TokensFrom,
};

pub use fork::ForkedFrom;
pub use form::Form;
pub use parts::{Extent, Grown, Rest};
pub use window::{Entry, EntryKind};
pub(crate) use window::{Key, Plan, Slot};

/// A span's index within its session, in the order of recording.
pub type SpanIndex = u32;

/// What a session's events say, at one version.
///
/// Folding the same events always gives the same state, and its parts ([`SessionState::grown`],
/// [`SessionState::rest`]) serialise to the same bytes: nothing in them depends on a hash map's order.
#[derive(Debug, Clone)]
pub struct SessionState {
    /// Its number.
    pub number: SessionNo,
    /// Its full name.
    pub key: SessionKey,
    /// The size of the model's window, in tokens.
    pub window_tokens: u64,
    /// The share kept in reserve, in millionths.
    pub reserve_ppm: u32,
    /// How strictly summaries are held to their contract.
    pub contract: Contract,
    /// Free labels.
    pub labels: BTreeMap<String, String>,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
    /// Version of the last event folded.
    pub version: u64,
    /// Journal position of the last event folded.
    pub seq: u64,
    /// Record time of the last event folded.
    pub at: Timestamp,
    /// Hash of the last event folded.
    pub head: Digest,
    pub(crate) spans: Vec<SpanState>,
    pub(crate) directives: Vec<DirectiveState>,
    pub(crate) ledger: Vec<Tombstone>,
    pub(crate) contradictions: Vec<Contradiction>,
    pub(crate) window: BTreeMap<Key, Slot>,
    pub(crate) used_tokens: u64,
    /// Who has read which span as evidence.
    pub(crate) readings: BTreeMap<SpanIndex, Vec<Reading>>,
    /// Refused attempts to summarise, by the set of spans that they cover: how many, and the last.
    pub(crate) attempts: BTreeMap<[u8; 16], (u32, SpanIndex)>,
    /// The last refused attempt for each id that one asked for.
    pub(crate) refused: BTreeMap<SpanId, SpanIndex>,
    /// Those who have recorded spans or pruned here.
    pub(crate) workers: BTreeSet<Principal>,
    /// First number to try when a span id is to be assigned.
    pub(crate) next_assigned: u64,
    /// Set for a fork.
    pub(crate) forked_from: Option<ForkedFrom>,
    /// What was shown to the model.
    pub(crate) receipts: Vec<ReceiptState>,
    /// Set for a tenant's retention stream.
    pub(crate) retention: Option<std::sync::Arc<RetentionState>>,
    /// Where its events come from, as far as they are imported.
    pub(crate) imported: Option<Box<ImportState>>,
    pub(crate) known: std::sync::Arc<known::Known>,
}

/// How far a session was imported.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ImportState {
    /// The id of the journal that the events come from.
    pub journal: String,
    /// The name of the session there.
    pub key: SessionKey,
    /// The number of the session there.
    pub session: SessionNo,
    /// The version of the last event that was imported.
    pub version: u64,
    /// Its position there.
    pub seq: u64,
    /// Its hash there.
    pub head: Digest,
}

/// What a session knows of one span.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanState {
    /// Its id.
    pub id: SpanId,
    /// Journal position of the event that recorded it; its payload is filed under it.
    pub seq: u64,
    /// Version of that event.
    pub version: u64,
    /// When it was recorded.
    pub at: Timestamp,
    /// Who recorded it.
    pub by: Principal,
    /// Role towards the provider.
    pub role: Role,
    /// Where the content came from.
    pub origin: Origin,
    /// What it is.
    pub kind: SpanKind,
    /// Where the content is kept.
    pub storage: Storage,
    /// BLAKE3 of the content.
    pub digest: Digest,
    /// Length of the content, in bytes.
    pub bytes: u64,
    /// Media type of the content.
    pub media_type: std::sync::Arc<str>,
    /// Size in tokens.
    pub tokens: u32,
    /// Where the token count came from.
    pub tokens_from: TokensFrom,
    /// Whether its author hedges.
    pub hedged: bool,
    /// Whether it may never leave the window.
    pub pinned: bool,
    /// The turn.
    pub turn: Option<u64>,
    /// The call that it answers.
    pub answers: Option<SpanIndex>,
    /// The results that answer it.
    pub results: Vec<SpanIndex>,
    /// Open contradictions that it is a side of.
    pub open_contradictions: u32,
    /// When its copy was last read back whole and an event said so.
    pub verified_at: Option<Timestamp>,
    /// Its entry in the tombstone ledger.
    pub(crate) loss: Option<u32>,
    /// Its announced removal.
    pub(crate) notice: Option<Box<NoticeState>>,
    /// Free labels.
    pub labels: std::sync::Arc<BTreeMap<String, String>>,
    pub(crate) place: Place,
    /// The key of its own place in the window's order.
    pub(crate) key: Key,
    /// The slot that shows it, as itself, in a stub or as a tombstone.
    pub(crate) slot: Option<Key>,
    /// Set for summaries.
    pub(crate) summary: Option<Box<SummaryState>>,
}

/// What a session knows of a receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptState {
    /// Version of the event that recorded it.
    pub version: u64,
    /// The version whose window was shown.
    pub window_version: u64,
    /// The turn.
    pub turn: Option<u64>,
}

/// The announced removal of a span.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NoticeState {
    /// The run that announced it.
    pub(crate) run: u32,
    /// The policy then in force, and its rule.
    pub(crate) policy: u32,
    pub(crate) rule: String,
    /// When it was announced.
    pub(crate) at: Timestamp,
    /// Not before then.
    pub(crate) erases_at: Timestamp,
}

/// Where a span stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Place {
    /// In the window.
    Window,
    /// Recorded without a place in the window.
    Outside,
    /// Pruned under this directive.
    Pruned(DirectiveNo),
}

/// What a session knows of a summary besides its span.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SummaryState {
    pub(crate) covers: Vec<SpanIndex>,
    /// The spans that its claims cite.
    pub(crate) cites: Vec<SpanIndex>,
    pub(crate) claims: StoredClaims,
    pub(crate) status: SummaryStatus,
    /// Why it was refused; empty otherwise.
    pub(crate) findings: Vec<Finding>,
    /// How many summaries deep it is.
    pub(crate) depth: u32,
    /// Tokens of the tags that the window shows behind its text.
    pub(crate) tag_tokens: u32,
    /// The last verdict of every auditor whose audit counts.
    pub(crate) audits: Vec<AuditState>,
    /// The directives that put it in the place of spans.
    pub(crate) directives: Vec<DirectiveNo>,
    /// How many spans it stands for now.
    pub(crate) standing_for: u32,
}

/// A verdict on a summary that counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct AuditState {
    pub(crate) by: Principal,
    pub(crate) pass: bool,
    /// Whether it is a fail of an earlier summary in the same words: the next pass takes it back.
    pub(crate) inherited: bool,
}

/// That somebody read a span for a purpose that counts as evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reading {
    pub(crate) by: Principal,
    /// The version of the last such reading.
    pub(crate) version: u64,
}

/// What a session knows of a prune directive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DirectiveState {
    /// Version of the event that recorded it.
    pub version: u64,
    /// Record time of that event.
    pub at: Timestamp,
    /// Whether it was carried out.
    pub executed: bool,
    /// The spans that left under it; none if it was refused.
    pub spans: Vec<SpanIndex>,
    /// The summary that took their place.
    pub replace_with: Option<SpanIndex>,
}

/// An entry of the tombstone ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tombstone {
    /// The span.
    pub span: SpanIndex,
    /// When it stopped being recoverable.
    pub at: Timestamp,
    /// Version of the event that says so.
    pub version: u64,
    /// Why.
    pub cause: Cause,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Contradiction {
    pub(crate) spans: Vec<SpanIndex>,
    pub(crate) open: bool,
}

/// The typed answer about a span: exactly one holds at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// It stands in the window.
    Live,
    /// It does not, and its copy can be read.
    Recoverable,
    /// It can be read still, and its removal is announced.
    Scheduled,
    /// It cannot be recovered; the ledger says why.
    Lossy,
    /// Its content was never stored, by request.
    Withheld,
    /// The session never recorded it.
    NeverRecorded,
}

impl Outcome {
    /// The word of the wire contract.
    pub fn word(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Recoverable => "recoverable",
            Self::Scheduled => "scheduled",
            Self::Lossy => "lossy",
            Self::Withheld => "withheld",
            Self::NeverRecorded => "never_recorded",
        }
    }
}

impl SessionState {
    /// Whether the session was closed.
    pub fn closed(&self) -> bool {
        self.closed_at.is_some()
    }

    /// Where its events come from, if every one of them was recorded in another journal first.
    pub fn imported(&self) -> Option<&ImportState> {
        self.imported.as_deref().filter(|imported| imported.version == self.version)
    }

    /// Every span ever recorded, in the order of recording.
    pub fn spans(&self) -> &[SpanState] {
        &self.spans
    }

    /// The span at this index.
    pub fn span(&self, index: SpanIndex) -> &SpanState {
        &self.spans[index as usize]
    }

    /// The span of this id, if the session ever recorded one.
    pub fn find(&self, id: &SpanId) -> Option<&SpanState> {
        self.index(id).map(|index| self.span(index))
    }

    /// The directive of this number, carried out or refused.
    pub fn directive(&self, number: DirectiveNo) -> Option<&DirectiveState> {
        self.directives.get((number.0 as usize).checked_sub(1)?)
    }

    /// The tombstone ledger, oldest entry first.
    pub fn ledger(&self) -> &[Tombstone] {
        &self.ledger
    }

    /// The run that announced the removal of a span, if one has.
    pub fn noticed_by(&self, span: SpanIndex) -> Option<u32> {
        self.span(span).notice.as_ref().map(|notice| notice.run)
    }

    /// Whether the window shows a span, as itself, in a stub or as a tombstone.
    pub fn shows(&self, span: SpanIndex) -> bool {
        self.span(span).slot.is_some()
    }

    /// The ledger's entry for a span.
    pub fn tombstone(&self, span: &SpanState) -> Option<&Tombstone> {
        span.loss.map(|entry| &self.ledger[entry as usize])
    }

    /// The receipts, by number from 1.
    pub fn receipts(&self) -> &[ReceiptState] {
        &self.receipts
    }

    /// The budget of the window as it stands.
    pub fn budget(&self) -> Budget {
        Budget::at(self, self.used_tokens)
    }

    /// The typed answer about a span, as far as the session alone can tell: it does not know what a
    /// hold has taken out of an announced removal.
    pub fn outcome(&self, span: &SpanState) -> Outcome {
        if span.loss.is_some() {
            return Outcome::Lossy;
        }
        if matches!(span.storage, Storage::Withheld { .. }) {
            return Outcome::Withheld;
        }
        match span.place {
            Place::Window => Outcome::Live,
            Place::Outside | Place::Pruned(_) => Outcome::Recoverable,
        }
    }
}

impl SpanState {
    /// The span's handle.
    pub fn handle(&self) -> Handle {
        Handle::new(&self.id, &self.digest)
    }

    /// Whether there is something to erase: it was stored somewhere, and is not lost.
    pub fn can_be_erased(&self) -> bool {
        self.loss.is_none() && !matches!(self.storage, Storage::Withheld { .. })
    }

    /// The directive under which it left the window.
    pub fn pruned_under(&self) -> Option<DirectiveNo> {
        match self.place {
            Place::Pruned(directive) => Some(directive),
            Place::Window | Place::Outside => None,
        }
    }
}
