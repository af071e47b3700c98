//! `suggest`: prunes that are reversible now, cheapest first.

use lacuna_core::retention::once_pruned;
use lacuna_core::{Principal, SessionKey, SpanId};
use lacuna_wire::WireError;
use lacuna_wire::session::{CandidateBody, SuggestReply, SuggestRequest};

use super::expect_version;
use crate::error::wire_error;
use crate::fit::{encode, encode_within};
use crate::work::Inner;

pub(super) fn answer(
    inner: &Inner,
    key: &SessionKey,
    request: &SuggestRequest,
    principal: &Principal,
    max: usize,
) -> Result<Vec<u8>, WireError> {
    let (state, candidates) =
        inner.journal.suggest(key, request.free_tokens, principal).map_err(wire_error)?;
    expect_version(&state, request.expected_version)?;
    let (retention, _) = inner.journal.retention(&key.tenant).map_err(wire_error)?;
    let now = inner.journal.now();
    // As long as that copy lives which goes first.
    let durable = |spans: &[SpanId]| {
        let spans = spans.iter().filter_map(|id| state.find(id));
        spans.filter_map(|span| once_pruned(&state, span, Some(&retention), now)).min()
    };
    let candidates = candidates.iter().map(|candidate| CandidateBody {
        spans: candidate.spans.iter().map(ToString::to_string).collect(),
        freed_tokens: candidate.freed_tokens,
        status: "reversible".into(),
        durable_until: durable(&candidate.spans).map(|time| time.to_string()),
        cost: (&candidate.cost).into(),
    });
    let mut reply = SuggestReply {
        version: state.version,
        candidates: candidates.collect(),
        budget: state.budget().into(),
    };
    // The cheapest comes first: the others are given up for it.
    while encode(&reply)?.len() > max && reply.candidates.len() > 1 {
        reply.candidates.pop();
    }
    encode_within(&reply, max)
}
