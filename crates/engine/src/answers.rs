//! Typed answers to questions about spans. None is ever an empty result.

use std::sync::Arc;

use lacuna_core::{
    Address, Claim, Digest, DirectiveNo, Examination, Finding, Outcome, Refusal, SessionState,
    SpanId, SpanState, Storage, Timestamp,
};
use lacuna_store::{PayloadReader, StoreError};

use crate::evidence::read_back;

/// A part of a span's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// Where it begins, in bytes.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The length of the whole content.
    pub total: u64,
}

/// What an address leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// A span that the session recorded.
    Span(SpanId),
    /// All spans of a directive, carried out or refused, as it named them.
    Directive(DirectiveNo, Vec<SpanId>),
    /// Nothing that the session ever recorded.
    NeverRecorded,
}

/// The answer about one span.
#[derive(Debug, Clone)]
pub struct Expanded {
    /// The state that the answer rests on.
    pub state: Arc<SessionState>,
    /// What the address leads to.
    pub lookup: Lookup,
    /// The typed answer.
    pub outcome: Outcome,
    /// The content asked for, where the outcome has one.
    pub content: Option<Slice>,
}

/// What the durability index says of one span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanDurability {
    /// The span.
    pub span: SpanId,
    /// The typed answer about it.
    pub outcome: Outcome,
    /// BLAKE3 of its content, if the session recorded it.
    pub digest: Option<Digest>,
    /// When the journal's copy was last read back whole: now, if it is there.
    pub verified_at: Option<Timestamp>,
    /// Whether the copy is there.
    pub stored: bool,
}

/// What a summary says and leaves out.
#[derive(Debug, Clone)]
pub struct SummaryAccount {
    /// Its claims; none if it cannot be read any more.
    pub claims: Option<Vec<Claim>>,
    /// What its text, its claims and the spans' contents show together; nothing if it cannot be read
    /// any more.
    pub examined: Examination,
    /// How many identifiers the covered spans hold, and how many of them it keeps; as they were counted
    /// when it was written if it cannot be read any more.
    pub identifiers: (u32, u32),
    /// What was found when it was written, each with its sentence.
    pub findings: Vec<(Finding, String)>,
}

/// Follows an address in a session.
pub(crate) fn look_up(state: &SessionState, address: &Address) -> Result<Lookup, Refusal> {
    Ok(match address {
        Address::Directive(number) => match state.directive(*number) {
            Some(directive) => {
                let spans = directive.spans.iter().map(|&index| state.span(index).id.clone());
                Lookup::Directive(*number, spans.collect())
            }
            None => Lookup::NeverRecorded,
        },
        Address::Span(id) => match state.find(id) {
            Some(_) => Lookup::Span(id.clone()),
            None => Lookup::NeverRecorded,
        },
        Address::Handle(handle) => match state.find(&handle.span) {
            None => Lookup::NeverRecorded,
            Some(span) if span.digest.prefix() == handle.prefix => Lookup::Span(span.id.clone()),
            Some(span) => {
                return Err(Refusal::HandleMismatch {
                    span: span.id.clone(),
                    actual: span.handle().to_string(),
                });
            }
        },
    })
}

/// The outcome of a directive as a whole: the worst that can be said without hiding what is left.
pub(crate) fn directive_outcome(state: &SessionState, spans: &[SpanId]) -> Outcome {
    let of = |id: &SpanId| state.find(id).map_or(Outcome::NeverRecorded, |s| state.outcome(s));
    let outcomes: Vec<Outcome> = spans.iter().map(of).collect();
    let all = |wanted| !outcomes.is_empty() && outcomes.iter().all(|&o| o == wanted);
    let alike = [Outcome::Lossy, Outcome::Live, Outcome::Withheld, Outcome::NeverRecorded];
    alike.into_iter().find(|&outcome| all(outcome)).unwrap_or(Outcome::Recoverable)
}

/// Reads the part of a span's content that was asked for. Err: the copy is not there, and why.
pub(crate) fn slice(
    payloads: &mut PayloadReader,
    span: &SpanState,
    offset: u64,
    limit: u64,
) -> Result<Result<Slice, String>, StoreError> {
    let content = match read_back(payloads, span)? {
        Ok(content) => content,
        Err(found) => return Ok(Err(found)),
    };
    let total = content.len();
    let start = usize::try_from(offset).unwrap_or(usize::MAX).min(total);
    let length = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut end = start.saturating_add(length).min(total);
    // Text is cut between characters, so that every part of it is text again.
    if let Ok(text) = std::str::from_utf8(&content)
        && text.is_char_boundary(start)
    {
        let cut = text.floor_char_boundary(end);
        if cut > start {
            end = cut;
        }
    }
    Ok(Ok(Slice { offset: start as u64, bytes: content[start..end].to_vec(), total: total as u64 }))
}

/// Whether the journal itself should hold a copy of this span now.
pub(crate) fn stored_here(state: &SessionState, span: &SpanState) -> bool {
    span.storage == Storage::Journal && state.outcome(span) != Outcome::Lossy
}
