//! Establishing that copies exist: each is read back from what is committed and its digest compared.

use std::collections::HashMap;
use std::num::NonZero;
use std::sync::Arc;
use std::thread;

use lacuna_codec::encode_claims;
use lacuna_core::{
    CopyEvidence, Examination, Examiner, SessionState, SpanId, SpanIndex, Storage, Summarize,
    wanted,
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

/// The bytes that examining a summary reads: spans, and what it says itself.
pub(crate) fn examined_bytes(state: &SessionState, summarize: &Summarize) -> u64 {
    let spans = wanted(state, summarize);
    let spans: u64 = spans.iter().map(|&index| state.span(index).bytes).sum();
    spans.saturating_add(summarize.words() as u64)
}

/// Contents up to this many bytes together are held at once.
const AT_ONCE: u64 = 4 << 20;
/// From this many bytes on more than one thread takes them apart: with fewer that is not worth waking one.
const SHARED: u64 = 256 << 10;
/// The most threads that one summary takes.
const THREADS: usize = 4;

/// Examines a summary: reads what it covers and cites back, some spans at once. `omitted`: how many of
/// the identifiers left out to tell, if not as many as a reply does.
pub(crate) fn examine(
    store: &Store,
    state: &SessionState,
    summarize: &Summarize,
    omitted: Option<usize>,
) -> Result<Examination, StoreError> {
    let mut examiner = Examiner::new(state, summarize);
    let wanted = examiner.wanted().to_vec();
    let mut rest = wanted.as_slice();
    while !rest.is_empty() {
        let mut bytes = 0_u64;
        let fits = rest.iter().take_while(|&&index| {
            bytes = bytes.saturating_add(state.span(index).bytes);
            bytes <= AT_ONCE
        });
        let (now, later) = rest.split_at(fits.count().max(1));
        rest = later;
        let threads = if bytes < SHARED { 1 } else { THREADS };
        let contents = side_by_side(now, threads, |spans| contents(store, state, spans));
        let contents: Vec<_> = contents.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
        let apart = side_by_side(&contents, threads, |contents| {
            let apart = contents.iter().map(|(index, content)| match content {
                Ok(content) => (*index, Ok(examiner.take_apart(state, *index, content))),
                Err(why) => (*index, Err(why.clone())),
            });
            apart.collect::<Vec<_>>()
        });
        for (index, apart) in apart.into_iter().flatten() {
            examiner.see_apart(state, index, apart);
        }
    }
    let stored = encode_claims(&summarize.claims)?.0;
    Ok(match omitted {
        Some(most) => examiner.finish_telling(stored, most),
        None => examiner.finish(stored),
    })
}

/// Does work on the parts of a list, one on each of up to this many threads; what came of each part, in
/// the order of the list.
fn side_by_side<'l, T: Sync, R: Send>(
    list: &'l [T],
    threads: usize,
    work: impl Fn(&'l [T]) -> R + Sync,
) -> Vec<R> {
    let threads = threads.min(thread::available_parallelism().map_or(1, NonZero::get));
    let work = &work;
    let mut parts = list.chunks(list.len().div_ceil(threads).max(1));
    let Some(first) = parts.next() else { return Vec::new() };
    thread::scope(|scope| {
        let start = |part| {
            let started = thread::Builder::new().spawn_scoped(scope, move || work(part));
            (part, started.ok())
        };
        let others: Vec<_> = parts.map(start).collect();
        let mut done = vec![work(first)];
        for (part, other) in others {
            // Where no thread could be had, this one does it all; what went wrong there goes on here.
            done.push(other.map_or_else(
                || work(part),
                |other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            ));
        }
        done
    })
}

/// A span and its content, or why that could not be read.
type Read = (SpanIndex, Result<Arc<[u8]>, String>);

fn contents(
    store: &Store,
    state: &SessionState,
    spans: &[SpanIndex],
) -> Result<Vec<Read>, StoreError> {
    let mut payloads = store.payloads()?;
    let content = |&index: &SpanIndex| {
        let span = state.span(index);
        let content = match &span.storage {
            Storage::Journal => read_back(&mut payloads, span)?,
            Storage::Withheld { .. } => Err("its content was withheld, never stored".to_owned()),
            Storage::External { store, .. } => {
                Err(format!("no external store {store:?} is configured here"))
            }
        };
        Ok((index, content))
    };
    spans.iter().map(content).collect()
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
) -> Result<Result<Arc<[u8]>, String>, StoreError> {
    Ok(match payloads.read_span(span)? {
        Stored::Whole(content) => Ok(content),
        Stored::Missing => Err("its stored copy is missing".to_owned()),
        Stored::Damaged(why) => Err(why),
    })
}
