//! Typed answers to questions about spans. None is ever an empty result.

use std::sync::Arc;

use crate::EngineError;
use crate::copies::{Copies, Copy, is_outside};
use lacuna_core::retention::RetentionState;
use lacuna_core::{
    Address, Claim, Digest, DirectiveNo, Examination, Finding, Outcome, Refusal, SessionState,
    SpanId, SpanState, Storage, Timestamp,
};

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
    /// When the removal of the span comes, if that is announced.
    pub erases_at: Option<Timestamp>,
    /// The tenant's retention that the answer rests on.
    pub retention: Arc<RetentionState>,
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
    /// Where its copy is, unless it has none any more.
    pub copy: Option<CopyAt>,
    /// Until when it surely lives; none for ever where there is one.
    pub durable_until: Option<Timestamp>,
    /// The holds that keep it, as the wire contract names them.
    pub holds: Vec<String>,
}

impl SpanDurability {
    /// Of a span that the session never recorded.
    pub(crate) fn never_recorded(id: &SpanId) -> Self {
        Self {
            span: id.clone(),
            outcome: Outcome::NeverRecorded,
            digest: None,
            copy: None,
            durable_until: None,
            holds: Vec::new(),
        }
    }
}

/// A copy of a span's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyAt {
    /// The external store that holds it; none for the journal itself.
    pub store: Option<String>,
    /// When it was last read back whole, as far as is known: now, if it could be read.
    pub verified_at: Option<Timestamp>,
    /// Why it could not be read now, if its store gave no answer.
    pub unanswered: Option<String>,
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

/// Reads the part of a span's content that was asked for, about as long as that. Otherwise what was found
/// instead; never [`Copy::Whole`].
pub(crate) fn slice<'a>(
    copies: &mut Copies<'a>,
    span: &'a SpanState,
    offset: u64,
    limit: u64,
) -> Result<Result<Slice, Copy>, EngineError> {
    // A little more, to see where characters end.
    let wanted = offset..offset.saturating_add(limit).saturating_add(4);
    let content = match copies.read_part(span, wanted)? {
        Copy::Whole(content) => content,
        other => return Ok(Err(other)),
    };
    let length = usize::try_from(limit).unwrap_or(usize::MAX);
    let total = span.bytes;
    if is_outside(span) {
        let start = offset.min(total);
        let bytes = content[..cut(&content, length)].to_vec();
        return Ok(Ok(Slice { offset: start, bytes, total }));
    }
    let start = usize::try_from(offset).unwrap_or(usize::MAX).min(content.len());
    let rest = &content[start..];
    // Text is cut between characters, so that every part of it is text again.
    let text = std::str::from_utf8(&content).is_ok();
    let end = if text { cut(rest, length) } else { length.min(rest.len()) };
    Ok(Ok(Slice { offset: start as u64, bytes: rest[..end].to_vec(), total }))
}

/// Where to cut these bytes so that they are about as long as this, between characters if they are text.
fn cut(bytes: &[u8], length: usize) -> usize {
    if bytes.len() <= length {
        return bytes.len();
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        // The part ends within a character.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return length,
    };
    match text.floor_char_boundary(length) {
        0 => length,
        end => end,
    }
}

/// Whether there should be a copy of this span now, here or in an external store.
pub(crate) fn is_kept(state: &SessionState, span: &SpanState) -> bool {
    !matches!(span.storage, Storage::Withheld { .. }) && state.outcome(span) != Outcome::Lossy
}
