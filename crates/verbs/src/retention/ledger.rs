//! `ledger`: every lossy commitment of the tenant, page by page.

use lacuna_core::{Tenant, tombstone_text};
use lacuna_wire::retention::{LedgerEntryBody, LedgerReply, LedgerRequest};
use lacuna_wire::{WireError, cause_json};

use crate::error::wire_error;
use crate::fit::{encode_within, fitting};
use crate::work::Inner;

/// The most entries of one page.
const PAGE: u64 = 1_000;

pub(super) fn answer(
    inner: &Inner,
    tenant: &Tenant,
    request: &LedgerRequest,
    max: usize,
) -> Result<Vec<u8>, WireError> {
    let limit = request.limit.unwrap_or(PAGE).min(PAGE);
    if limit == 0 {
        return Err(WireError::bad_request("limit is 0: ask for at least one entry"));
    }
    if request.expected_version.is_some() {
        let (_, version) = inner.journal.retention(tenant).map_err(wire_error)?;
        super::expect_version(version, request.expected_version)?;
    }
    let from = request.from.unwrap_or(0);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    // One more tells whether there are more.
    let losses = inner.journal.ledger(tenant, from, limit + 1).map_err(wire_error)?;
    let mut entries: Vec<LedgerEntryBody> = Vec::new();
    for loss in &losses {
        entries.extend(loss.event.spans.iter().map(|lost| LedgerEntryBody {
            seq: loss.seq,
            session: loss.session.to_string(),
            span: lost.span.to_string(),
            tombstone: tombstone_text(&lost.span),
            cause: cause_json(&loss.event.cause, loss.at),
            digest: lost.digest.to_string(),
            bytes: lost.bytes,
            tokens: lost.tokens,
            residue: loss.event.residue,
        }));
    }
    let taken = fitting(&entries, max)?.min(limit);
    let next = (taken < entries.len()).then(|| from.saturating_add(taken as u64));
    entries.truncate(taken);
    encode_within(&LedgerReply { entries, next }, max)
}
