//! An event's stored form: a fixed header that any reader can skip by, then the body.
//!
//! ```text
//! offset size
//!      0    1  envelope format, 1
//!      1    1  codec of the body: 1 = bincode 2, standard configuration
//!      2    2  kind number                              (all numbers little endian)
//!      4    2  version of the body's shape
//!      6    2  flags, 0
//!      8    8  seq
//!     16    8  version
//!     24    8  session number: the seq of the event that opened it
//!     32    8  record time, ms since 1970
//!     40   16  request digest, zero without a command id
//!     56   32  hash of the session's previous event, zero for the first
//!     88    1  length of the principal
//!     89    1  0
//!     90    2  length of the command id, 0 for none
//!     92    4  length of the body
//!     96    …  principal, command id, body
//! ```
//!
//! The event's hash is BLAKE3 over all of these bytes, as stored, in a domain of its own.

use std::sync::LazyLock;

use lacuna_core::{CommandStamp, Digest, Recorded, SessionNo, SpanId, Timestamp};

use crate::CodecError;
use crate::reader::Reader;
use crate::registry::EVENT_IMPORTED;
use crate::{body, registry};

const WHAT: &str = "event";
const ENVELOPE: u8 = 1;
const CODEC_BINCODE2: u8 = 1;
const HASH_CONTEXT: &str = "lacuna 2026-11 event v1";
const HEADER: usize = 96;

/// Begun in the domain of events: deriving that costs as much as hashing a short one.
static HASHER: LazyLock<blake3::Hasher> =
    LazyLock::new(|| blake3::Hasher::new_derive_key(HASH_CONTEXT));

/// The hash of an event's stored bytes.
pub fn event_hash(stored: &[u8]) -> Digest {
    Digest(*HASHER.clone().update(stored).finalize().as_bytes())
}

/// Appends an event's stored form to `out` and sets the event's hash from it. On an error `out` is
/// as it was.
pub fn encode_event(recorded: &mut Recorded, out: &mut Vec<u8>) -> Result<(), CodecError> {
    let start = out.len();
    let by = recorded.imported.as_ref().map_or(&recorded.principal, |imported| &imported.by);
    let principal = by.as_str().as_bytes();
    let (request, command_id) = match &recorded.command {
        Some(stamp) => (stamp.request, stamp.id.as_str().as_bytes()),
        None => ([0; 16], &[][..]),
    };
    let (kind, encoded) = match &recorded.imported {
        None => body::encode(&recorded.event)?,
        Some(imported) => body::imported::encode(recorded, imported)?,
    };
    let principal_length: u8 = fit("principal", principal.len())?;
    let command_length: u16 = fit("command id", command_id.len())?;
    let body_length: u32 = fit("event body", encoded.len())?;
    out.push(ENVELOPE);
    out.push(CODEC_BINCODE2);
    out.extend_from_slice(&kind.number.to_le_bytes());
    out.extend_from_slice(&kind.version.to_le_bytes());
    out.extend_from_slice(&0_u16.to_le_bytes());
    out.extend_from_slice(&recorded.seq.to_le_bytes());
    out.extend_from_slice(&recorded.version.to_le_bytes());
    out.extend_from_slice(&recorded.session.0.to_le_bytes());
    out.extend_from_slice(&recorded.at.0.to_le_bytes());
    out.extend_from_slice(&request);
    out.extend_from_slice(&recorded.previous.0);
    out.push(principal_length);
    out.push(0);
    out.extend_from_slice(&command_length.to_le_bytes());
    out.extend_from_slice(&body_length.to_le_bytes());
    debug_assert_eq!(out.len() - start, HEADER);
    out.extend_from_slice(principal);
    out.extend_from_slice(command_id);
    out.extend_from_slice(&encoded);
    recorded.hash = event_hash(&out[start..]);
    Ok(())
}

fn fit<T: TryFrom<usize>>(what: &'static str, size: usize) -> Result<T, CodecError> {
    let limit = 1_usize.checked_shl(8 * size_of::<T>() as u32).map_or(usize::MAX, |n| n - 1);
    T::try_from(size).map_err(|_| CodecError::TooLarge { what, size, limit })
}

/// The session number in an event's stored form, without decoding the rest.
pub fn peek_session(stored: &[u8]) -> Option<SessionNo> {
    let bytes = stored.get(24..32)?;
    Some(SessionNo(u64::from_le_bytes(bytes.try_into().ok()?)))
}

/// The version in an event's stored form, without decoding the rest.
pub fn peek_version(stored: &[u8]) -> Option<u64> {
    let bytes = stored.get(16..24)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// Tells without decoding which stored events cannot name a span.
#[derive(Debug)]
pub struct NameSeeker {
    seeker: memchr::memmem::Finder<'static>,
}

impl NameSeeker {
    /// Seeks a span's id. It stands in a body as every text does: its length in one byte, then itself.
    pub fn new(id: &SpanId) -> Self {
        let text = id.as_str().as_bytes();
        let mut stored = Vec::with_capacity(text.len() + 1);
        // An id is short enough for a length of one byte.
        stored.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
        stored.extend_from_slice(text);
        Self { seeker: memchr::memmem::Finder::new(&stored).into_owned() }
    }

    /// Whether an event may name it; one that settles a contradiction or begins a fork always may, it names
    /// no spans; and one of another journal, which may be any of these.
    pub fn may_be_in(&self, stored: &[u8]) -> bool {
        let kind = stored.get(2..4).map(|kind| u16::from_le_bytes([kind[0], kind[1]]));
        let nameless = [
            &registry::CONTRADICTION_RESOLVED,
            &registry::SESSION_FORKED,
            &registry::EVENT_IMPORTED,
        ];
        let nameless = nameless.iter().any(|nameless| kind == Some(nameless.number));
        nameless || stored.get(HEADER..).is_some_and(|body| self.seeker.find(body).is_some())
    }
}

/// Decodes an event from exactly these bytes.
pub fn decode_event(stored: &[u8]) -> Result<Recorded, CodecError> {
    decode_within(stored, 0)
}

/// The same for an event that lies in as many imported ones.
pub(crate) fn decode_within(stored: &[u8], depth: u32) -> Result<Recorded, CodecError> {
    let mut reader = Reader::new(WHAT, stored);
    let envelope = reader.u8()?;
    if envelope > ENVELOPE {
        let (found, known) = (u32::from(envelope), u32::from(ENVELOPE));
        return Err(CodecError::Newer { what: "event envelope", found, known });
    }
    let codec = reader.u8()?;
    if codec > CODEC_BINCODE2 {
        let (found, known) = (u32::from(codec), u32::from(CODEC_BINCODE2));
        return Err(CodecError::Newer { what: "event body codec", found, known });
    }
    if envelope != ENVELOPE || codec != CODEC_BINCODE2 {
        return Err(reader.damaged(format!("envelope {envelope}, codec {codec}")));
    }
    let (kind, shape, flags) = (reader.u16()?, reader.u16()?, reader.u16()?);
    if flags != 0 {
        return Err(reader.damaged(format!("unknown flags {flags:#x}")));
    }
    let (seq, version) = (reader.u64()?, reader.u64()?);
    let (session, at) = (SessionNo(reader.u64()?), Timestamp(reader.u64()?));
    let request = reader.array()?;
    let previous = Digest(reader.array()?);
    let principal_length = usize::from(reader.u8()?);
    if reader.u8()? != 0 {
        return Err(reader.damaged("a reserved byte is set"));
    }
    let command_length = usize::from(reader.u16()?);
    let body_length = reader.u32()? as usize;
    let principal = text(reader.take(principal_length)?)?;
    let command = text(reader.take(command_length)?)?;
    let body = reader.take(body_length)?;
    reader.end()?;
    let command = match command {
        "" if request == [0; 16] => None,
        "" => return Err(reader.damaged("a request digest without a command id")),
        id => {
            let id = id.parse().map_err(|error| reader.damaged(format!("{error}")))?;
            Some(CommandStamp { id, request })
        }
    };
    let principal = principal.parse().map_err(|error| reader.damaged(format!("{error}")))?;
    let (event, principal, imported) = if kind == EVENT_IMPORTED.number {
        body::check_version(EVENT_IMPORTED, shape)?;
        let (event, principal, imported) = body::imported::decode(body, principal, depth)?;
        (event, principal, Some(Box::new(imported)))
    } else {
        (body::decode(kind, shape, body)?, principal, None)
    };
    Ok(Recorded {
        seq,
        version,
        at,
        session,
        principal,
        command,
        previous,
        hash: event_hash(stored),
        event,
        imported,
    })
}

fn text(bytes: &[u8]) -> Result<&str, CodecError> {
    std::str::from_utf8(bytes).map_err(|error| CodecError::damaged(WHAT, error.to_string()))
}
