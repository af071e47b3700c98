//! Event bodies: one frozen type per kind and version, converted to and from the domain's events.

mod claims;
mod domain;
pub(crate) mod imported;
mod past;
mod retention;
mod summary;
mod v1;
mod v2;
mod words;

#[cfg(test)]
mod way_out;

pub use claims::{decode_claims, encode_claims};
use lacuna_core::Event;

use crate::CodecError;
use crate::registry::{self, Kind};

/// No event has a larger body; what could not be read again is not written.
const MAX_BODY: usize = 1 << 28;
/// A decoded body takes at most this many bytes of memory for each of its own: the worst is a list
/// of empty texts, 24 bytes of memory for one that is stored.
const GROWTH: usize = 32;
const SMALL: usize = 4 << 10;
const MEDIUM: usize = 1 << 20;

/// Encodes an event's body in the newest version of its kind.
pub(crate) fn encode(event: &Event) -> Result<(Kind, Vec<u8>), CodecError> {
    let config = bincode::config::standard();
    let (kind, encoded) = match event {
        Event::SessionOpened(e) => {
            (registry::SESSION_OPENED, bincode::encode_to_vec(v1::SessionOpenedV1::from(e), config))
        }
        Event::SpanRecorded(e) => {
            (registry::SPAN_RECORDED, bincode::encode_to_vec(v1::SpanRecordedV1::from(e), config))
        }
        Event::SummaryRecorded(e) => (
            registry::SUMMARY_RECORDED,
            bincode::encode_to_vec(v2::SummaryRecordedV2::from(e), config),
        ),
        Event::PruneExecuted(e) => {
            (registry::PRUNE_EXECUTED, bincode::encode_to_vec(v1::PruneExecutedV1::from(e), config))
        }
        Event::PruneRejected(e) => {
            (registry::PRUNE_REJECTED, bincode::encode_to_vec(v1::PruneRejectedV1::from(e), config))
        }
        Event::LossyCommitted(e) => (
            registry::LOSSY_COMMITTED,
            bincode::encode_to_vec(v2::LossyCommittedV2::from(e), config),
        ),
        Event::SpanRestored(e) => {
            (registry::SPAN_RESTORED, bincode::encode_to_vec(v1::SpanRestoredV1::from(e), config))
        }
        Event::SpanRead(e) => {
            (registry::SPAN_READ, bincode::encode_to_vec(v1::SpanReadV1::from(e), config))
        }
        Event::ContradictionNoted(e) => (
            registry::CONTRADICTION_NOTED,
            bincode::encode_to_vec(v1::ContradictionNotedV1::from(e), config),
        ),
        Event::ContradictionResolved(e) => (
            registry::CONTRADICTION_RESOLVED,
            bincode::encode_to_vec(v1::ContradictionResolvedV1::from(e), config),
        ),
        Event::SessionClosed => (registry::SESSION_CLOSED, Ok(Vec::new())),
        Event::SummaryAudited(e) => (
            registry::SUMMARY_AUDITED,
            bincode::encode_to_vec(v1::SummaryAuditedV1::from(e), config),
        ),
        Event::AlertRaised(e) => {
            (registry::ALERT_RAISED, bincode::encode_to_vec(v1::AlertRaisedV1::from(e), config))
        }
        Event::PolicySet(e) => {
            (registry::POLICY_SET, bincode::encode_to_vec(v1::PolicySetV1::from(e), config))
        }
        Event::HoldPlaced(e) => {
            (registry::HOLD_PLACED, bincode::encode_to_vec(v1::HoldPlacedV1::from(e), config))
        }
        Event::HoldReleased(e) => {
            (registry::HOLD_RELEASED, bincode::encode_to_vec(v1::HoldReleasedV1::from(e), config))
        }
        Event::NoticeGiven(e) => {
            (registry::NOTICE_GIVEN, bincode::encode_to_vec(v1::NoticeGivenV1::from(e), config))
        }
        Event::RunOpened(e) => {
            (registry::RUN_OPENED, bincode::encode_to_vec(v1::RunOpenedV1::from(e), config))
        }
        Event::RunClosed(e) => {
            (registry::RUN_CLOSED, bincode::encode_to_vec(v1::RunClosedV1::from(e), config))
        }
        Event::WindowReceipted(e) => (
            registry::WINDOW_RECEIPTED,
            bincode::encode_to_vec(v1::WindowReceiptedV1::from(e), config),
        ),
        Event::SessionForked(e) => {
            (registry::SESSION_FORKED, bincode::encode_to_vec(v1::SessionForkedV1::from(e), config))
        }
    };
    self::encoded(kind, encoded)
}

/// Bounds an encoded body: what could not be read again is not written.
fn encoded(
    kind: Kind,
    encoded: Result<Vec<u8>, bincode::error::EncodeError>,
) -> Result<(Kind, Vec<u8>), CodecError> {
    let encoded = encoded.map_err(|error| CodecError::damaged("event body", error.to_string()))?;
    let size = encoded.len();
    if size > MAX_BODY {
        return Err(CodecError::TooLarge { what: kind.name, size, limit: MAX_BODY });
    }
    Ok((kind, encoded))
}

/// Decodes an event's body, whatever version it was written in.
pub(crate) fn decode(number: u16, version: u16, body: &[u8]) -> Result<Event, CodecError> {
    let Some(kind) = registry::KINDS.iter().find(|kind| kind.number == number) else {
        if number == 0 {
            return Err(CodecError::damaged("event kind", "number 0"));
        }
        let known = registry::KINDS.iter().map(|kind| u32::from(kind.number)).max().unwrap_or(0);
        return Err(CodecError::Newer { what: "event kind", found: u32::from(number), known });
    };
    check_version(*kind, version)?;
    Ok(match *kind {
        registry::SESSION_OPENED => {
            Event::SessionOpened(read::<v1::SessionOpenedV1>(*kind, body)?.try_into()?)
        }
        registry::SPAN_RECORDED => {
            Event::SpanRecorded(read::<v1::SpanRecordedV1>(*kind, body)?.try_into()?)
        }
        registry::SUMMARY_RECORDED => Event::SummaryRecorded(match version {
            1 => read::<v1::SummaryRecordedV1>(*kind, body)?.try_into()?,
            _ => read::<v2::SummaryRecordedV2>(*kind, body)?.try_into()?,
        }),
        registry::PRUNE_EXECUTED => {
            Event::PruneExecuted(read::<v1::PruneExecutedV1>(*kind, body)?.try_into()?)
        }
        registry::PRUNE_REJECTED => {
            Event::PruneRejected(read::<v1::PruneRejectedV1>(*kind, body)?.try_into()?)
        }
        registry::LOSSY_COMMITTED => Event::LossyCommitted(match version {
            1 => read::<v1::LossyCommittedV1>(*kind, body)?.try_into()?,
            _ => read::<v2::LossyCommittedV2>(*kind, body)?.try_into()?,
        }),
        registry::SPAN_RESTORED => {
            Event::SpanRestored(read::<v1::SpanRestoredV1>(*kind, body)?.try_into()?)
        }
        registry::SPAN_READ => Event::SpanRead(read::<v1::SpanReadV1>(*kind, body)?.try_into()?),
        registry::CONTRADICTION_NOTED => {
            Event::ContradictionNoted(read::<v1::ContradictionNotedV1>(*kind, body)?.try_into()?)
        }
        registry::CONTRADICTION_RESOLVED => {
            Event::ContradictionResolved(read::<v1::ContradictionResolvedV1>(*kind, body)?.into())
        }
        registry::SUMMARY_AUDITED => {
            Event::SummaryAudited(read::<v1::SummaryAuditedV1>(*kind, body)?.try_into()?)
        }
        registry::ALERT_RAISED => {
            Event::AlertRaised(read::<v1::AlertRaisedV1>(*kind, body)?.try_into()?)
        }
        registry::POLICY_SET => Event::PolicySet(read::<v1::PolicySetV1>(*kind, body)?.try_into()?),
        registry::HOLD_PLACED => {
            Event::HoldPlaced(read::<v1::HoldPlacedV1>(*kind, body)?.try_into()?)
        }
        registry::HOLD_RELEASED => {
            Event::HoldReleased(read::<v1::HoldReleasedV1>(*kind, body)?.into())
        }
        registry::NOTICE_GIVEN => {
            Event::NoticeGiven(read::<v1::NoticeGivenV1>(*kind, body)?.try_into()?)
        }
        registry::RUN_OPENED => Event::RunOpened(read::<v1::RunOpenedV1>(*kind, body)?.into()),
        registry::RUN_CLOSED => Event::RunClosed(read::<v1::RunClosedV1>(*kind, body)?.try_into()?),
        registry::WINDOW_RECEIPTED => {
            Event::WindowReceipted(read::<v1::WindowReceiptedV1>(*kind, body)?.try_into()?)
        }
        registry::SESSION_FORKED => {
            Event::SessionForked(read::<v1::SessionForkedV1>(*kind, body)?.try_into()?)
        }
        registry::SESSION_CLOSED if body.is_empty() => Event::SessionClosed,
        _ => return Err(CodecError::damaged(kind.name, "its body does not fit its kind")),
    })
}

/// Refuses a version of a body that this release does not know.
pub(crate) fn check_version(kind: Kind, version: u16) -> Result<(), CodecError> {
    if version > kind.version {
        let (found, known) = (u32::from(version), u32::from(kind.version));
        return Err(CodecError::Newer { what: kind.name, found, known });
    }
    if version == 0 {
        return Err(CodecError::damaged(kind.name, "version 0"));
    }
    Ok(())
}

fn read<T: bincode::Decode<()>>(kind: Kind, body: &[u8]) -> Result<T, CodecError> {
    read_whole(kind.name, body)
}

/// Reads a value that takes all of these bytes.
fn read_whole<T: bincode::Decode<()>>(what: &'static str, body: &[u8]) -> Result<T, CodecError> {
    // The limit is bincode's guard against claims of huge lengths, and a constant of the type: the
    // size of the body picks one, so that a small body cannot make it allocate much.
    let size = body.len();
    let decoded = if size <= SMALL {
        within::<T, { SMALL * GROWTH }>(body)
    } else if size <= MEDIUM {
        within::<T, { MEDIUM * GROWTH }>(body)
    } else if size <= MAX_BODY {
        within::<T, { MAX_BODY.saturating_mul(GROWTH) }>(body)
    } else {
        return Err(CodecError::damaged(what, format!("a body of {size} bytes")));
    };
    let (value, read) = decoded.map_err(|error| CodecError::damaged(what, error.to_string()))?;
    if read != body.len() {
        return Err(CodecError::damaged(what, "bytes are left over"));
    }
    Ok(value)
}

fn within<T: bincode::Decode<()>, const LIMIT: usize>(
    body: &[u8],
) -> Result<(T, usize), bincode::error::DecodeError> {
    bincode::decode_from_slice(body, bincode::config::standard().with_limit::<LIMIT>())
}
