//! Establishing that copies exist: each is read back from what is committed and its digest compared.

use std::collections::HashMap;

use lacuna_codec::encode_claims;
use lacuna_core::{
    CopyEvidence, Examination, Examiner, SessionState, SpanId, Storage, Summarize, wanted,
};
use lacuna_store::{PayloadReader, Store, StoreError, Stored};

/// Reads the copies of these spans back, in the order of recording, so that neighbours share packs.
pub(crate) fn gather(
    store: &Store,
    state: &SessionState,
    spans: &[SpanId],
) -> Result<HashMap<SpanId, CopyEvidence>, StoreError> {
    let mut known: Vec<_> = spans.iter().filter_map(|id| state.find(id)).collect();
    known.sort_by_key(|span| span.seq);
    known.dedup_by_key(|span| span.seq);
    let mut payloads = store.payloads()?;
    let mut evidence = HashMap::with_capacity(known.len());
    for span in known {
        let found = match &span.storage {
            Storage::Journal => stored(payloads.read_span(span)?),
            Storage::Withheld { reason } => {
                CopyEvidence::missing(format!("its content was withheld, never stored: {reason}"))
            }
            Storage::External { store, .. } => {
                let why = format!("no external store {store:?} is configured here");
                CopyEvidence { provenance: Err(why.clone()), ..CopyEvidence::missing(why) }
            }
        };
        evidence.insert(span.id.clone(), found);
    }
    Ok(evidence)
}

/// What taking a span apart for one claim costs, against reading it.
const TAKEN_APART: u64 = 4;

/// The bytes that examining a summary reads: spans, what it says itself, and again each span for each
/// claim that cites it, which takes it apart.
pub(crate) fn examined_bytes(state: &SessionState, summarize: &Summarize) -> u64 {
    let spans = wanted(state, summarize);
    let spans: u64 = spans.iter().map(|&index| state.span(index).bytes).sum();
    let sources = summarize.claims.iter().flat_map(|claim| &claim.sources);
    let cited = sources.filter_map(|source| state.find(&source.span)).map(|span| span.bytes);
    let taken_apart = cited.fold(0_u64, |sum, bytes| sum.saturating_add(bytes));
    spans
        .saturating_add(summarize.words() as u64)
        .saturating_add(taken_apart.saturating_mul(TAKEN_APART))
}

/// Examines a summary: reads what it covers and cites back, one span after the other. `omitted`: how
/// many of the identifiers left out to tell, if not as many as a reply does.
pub(crate) fn examine(
    store: &Store,
    state: &SessionState,
    summarize: &Summarize,
    omitted: Option<usize>,
) -> Result<Examination, StoreError> {
    let mut examiner = Examiner::new(state, summarize);
    let mut payloads = store.payloads()?;
    for index in examiner.wanted().to_vec() {
        let span = state.span(index);
        let content = match &span.storage {
            Storage::Journal => read_back(&mut payloads, span)?,
            Storage::Withheld { .. } => Err("its content was withheld, never stored".to_owned()),
            Storage::External { store, .. } => {
                Err(format!("no external store {store:?} is configured here"))
            }
        };
        examiner.see(state, index, content.as_deref().map_err(Clone::clone));
    }
    let stored = encode_claims(&summarize.claims)?.0;
    Ok(match omitted {
        Some(most) => examiner.finish_telling(stored, most),
        None => examiner.finish(stored),
    })
}

fn stored(found: Stored) -> CopyEvidence {
    match found {
        Stored::Whole(_) => CopyEvidence::verified(),
        Stored::Missing => CopyEvidence::missing("its stored copy is missing"),
        Stored::Damaged(why) => CopyEvidence::missing(why),
    }
}

/// Whether a span's stored copy can be read now; what was found instead otherwise.
pub(crate) fn read_back(
    payloads: &mut PayloadReader,
    span: &lacuna_core::SpanState,
) -> Result<Result<std::sync::Arc<[u8]>, String>, StoreError> {
    Ok(match payloads.read_span(span)? {
        Stored::Whole(content) => Ok(content),
        Stored::Missing => Err("its stored copy is missing".to_owned()),
        Stored::Damaged(why) => Err(why),
    })
}
