//! The verbs that ask about a session.

mod diff;
mod expand;
mod explain;
mod export;
mod index;
mod moment;
mod search;
mod story;
mod suggest;
mod window;

pub(crate) use self::index::does_not_follow;

use lacuna_core::{Outcome, SessionKey};
use lacuna_core::{SessionState, SpanState, Storage};
use lacuna_wire::session::{
    CauseBody, DiffRequest, DurabilityRequest, ExpandRequest, ExplainRequest, ExportRequest,
    HistoryRequest, SearchRequest, SuggestRequest, TombstonesRequest, WindowRequest,
};
use lacuna_wire::{Code, EvidenceBody, WireError, cause_json, parse};
use serde_json::json;

use crate::call::Call;
use crate::work::{Inner, Work};

pub(crate) use moment::state_at;

/// Prepares a question. It is parsed where it is answered: a long list of ids must not keep other
/// requests from being taken in.
pub(crate) fn begin(call: &Call<'_>, key: SessionKey) -> Work {
    let (max, body) = (call.max_reply, call.body.to_vec());
    let principal = call.subject.principal.clone();
    Work::Question(match call.subject.verb.as_str() {
        "expand" => Box::new(move |inner| {
            let request: ExpandRequest = parse(&body)?;
            expand::Question::read(request)?.answer(inner, &key, &principal, max)
        }),
        "window" => Box::new(move |inner| {
            let request: WindowRequest = parse(&body)?;
            window::answer(inner, &key, &request, max)
        }),
        "durability" => Box::new(move |inner| {
            let request: DurabilityRequest = parse(&body)?;
            index::durability(inner, &key, &request, max)
        }),
        "tombstones" => Box::new(move |inner| {
            let request: TombstonesRequest = parse(&body)?;
            index::tombstones(inner, &key, &request, max)
        }),
        "suggest" => Box::new(move |inner| {
            let request: SuggestRequest = parse(&body)?;
            suggest::answer(inner, &key, &request, &principal, max)
        }),
        "search" => Box::new(move |inner| {
            let request: SearchRequest = parse(&body)?;
            search::answer(inner, &key, &request, max)
        }),
        "explain" => Box::new(move |inner| {
            let request: ExplainRequest = parse(&body)?;
            explain::answer(inner, &key, &request, max)
        }),
        "export" => Box::new(move |inner| {
            let request: ExportRequest = parse(&body)?;
            export::answer(inner, &key, &request, max)
        }),
        "diff" => Box::new(move |inner| {
            let request: DiffRequest = parse(&body)?;
            diff::answer(inner, &key, &request, max)
        }),
        _ => Box::new(move |inner| {
            let request: HistoryRequest = parse(&body)?;
            index::history(inner, &key, &request, max)
        }),
    })
}

/// Refuses if the session is not at the version that the client believes.
pub(crate) fn expect_version(state: &SessionState, expected: Option<u64>) -> Result<(), WireError> {
    match expected {
        Some(expected) if expected != state.version => {
            Err(lacuna_core::Refusal::VersionConflict { expected, actual: state.version }.into())
        }
        _ => Ok(()),
    }
}

/// What an answer from this state rests on.
fn evidence(inner: &Inner, state: &SessionState) -> EvidenceBody {
    EvidenceBody {
        journal: inner.journal.id().to_owned(),
        version: state.version,
        head: state.head.to_string(),
        spans_recorded: state.spans().len() as u64,
    }
}

/// Why a span has no content: the ledger's entry, or the reason for withholding it.
fn cause(state: &SessionState, span: &SpanState) -> Option<CauseBody> {
    if let Some(tombstone) = state.tombstone(span) {
        return Some(cause_json(&tombstone.cause, tombstone.at));
    }
    match &span.storage {
        Storage::Withheld { reason } => Some(CauseBody {
            kind: "withheld".into(),
            at: span.at.to_string(),
            by: Some(span.by.to_string()),
            why: Some(reason.clone()),
            ..CauseBody::default()
        }),
        Storage::Journal | Storage::External { .. } => None,
    }
}

/// Content as text if it is text, as base64 otherwise.
fn as_text(bytes: &[u8]) -> Result<String, String> {
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| BASE64_STANDARD.encode(bytes))
}

/// A single piece that does not fit into a message.
fn piece_too_large(what: &str, given: usize, limit: usize) -> WireError {
    let message = format!(
        "{what}: {given} bytes do not fit into a message of {limit}; read it in parts with expand, \
         or raise the broker's max_payload"
    );
    WireError::new(Code::TooLarge, message).with(json!({ "given": given, "limit": limit }))
}

/// The words for an outcome, with `never_recorded` for spans that are not there.
fn outcome_word(outcome: Outcome) -> String {
    outcome.word().to_owned()
}
