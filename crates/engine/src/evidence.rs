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
use lacuna_store::Store;

use crate::EngineError;
use crate::copies::{Copies, Copy, unanswered};
use crate::external::Stores;

/// Reads the copies of these spans back, in the order of recording, so that neighbours share packs.
pub(crate) fn gather<'a>(
    copies: &mut Copies<'a>,
    state: &'a SessionState,
    spans: impl IntoIterator<Item = &'a SpanId>,
) -> Result<HashMap<SpanId, CopyEvidence>, EngineError> {
    let mut known: Vec<_> = spans.into_iter().filter_map(|id| state.find(id)).collect();
    known.sort_by_key(|span| span.seq);
    known.dedup_by_key(|span| span.seq);
    let mut evidence = HashMap::with_capacity(known.len());
    for span in known {
        evidence.insert(span.id.clone(), copies.evidence(span)?);
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
/// External contents that are larger are not taken into memory.
const LARGEST: u64 = 64 << 20;
/// The most threads that one summary takes.
const THREADS: usize = 4;

/// Examines a summary: reads what it covers and cites back, some spans at once. `stores`: the external
/// ones, where they may be waited for. `omitted`: how many of the identifiers left out to tell, if not as
/// many as a reply does.
pub(crate) fn examine(
    store: &Store,
    stores: Option<&Stores>,
    state: &SessionState,
    summarize: &Summarize,
    omitted: Option<usize>,
) -> Result<Examination, EngineError> {
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
        let contents = side_by_side(now, threads, |spans| contents(store, stores, state, spans));
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
    let stored = encode_claims(&summarize.claims).map_err(lacuna_store::StoreError::from)?.0;
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

fn contents<'a>(
    store: &'a Store,
    stores: Option<&'a Stores>,
    state: &'a SessionState,
    spans: &[SpanIndex],
) -> Result<Vec<Read>, EngineError> {
    let mut copies = match stores {
        Some(stores) => Copies::anywhere(store, stores),
        None => Copies::here(store),
    };
    let content = |&index: &SpanIndex| {
        let span = state.span(index);
        if matches!(span.storage, Storage::External { .. }) && span.bytes > LARGEST {
            let why = format!("its {} bytes are too many to examine", span.bytes);
            return Ok((index, Err(why)));
        }
        Ok(match copies.read(span)? {
            Copy::Whole(content) => (index, Ok(content)),
            Copy::Lost(found) => (index, Err(found)),
            // Whether the summary holds up to it nobody can say, so nothing is decided on it.
            Copy::Unanswered(why) => return Err(unanswered(span, why)),
        })
    };
    spans.iter().map(content).collect()
}
