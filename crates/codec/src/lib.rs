//! Bytes and back: event header and bodies, blocks of events, packs of payloads, records of the log,
//! snapshots, signed notes.
//!
//! Everything here is a promise: what was once written is read for ever. The layouts are drawn in
//! the modules, described in `schemas/storage.md` and held by golden files.

mod error;
mod reader;

mod registry;

mod body;
mod event;

mod block;
mod compress;
mod log_front;
mod log_record;
mod pack;
mod seal;
mod snapshot;

mod checkpoint;
mod note;

pub use block::{Block, BlockBuilder, block_hash};
pub use body::{decode_claims, encode_claims};
pub use checkpoint::Checkpoint;
pub use error::CodecError;
pub use event::{NameSeeker, decode_event, encode_event, event_hash, peek_session, peek_version};
pub use log_front::LogFront;
pub use log_record::{LogHeader, LogRecord};
pub use note::{NoteError, NoteSigner, NoteVerifier, Signature, SignedNote, Trust};
pub use pack::{CompressedPack, Pack, PackBuilder, PackHeader};
pub use registry::{KINDS, Kind};
pub use seal::Seal;
pub use snapshot::{SNAPSHOT_FORMAT, StoredSnapshot, decode_snapshot, encode_snapshot};
