//! Events of other journals, taken over as they were.

use std::sync::Arc;

use crate::{CommandStamp, Digest, Principal, SessionKey, SessionNo, Timestamp};

/// Where an event stood in the journal that recorded it first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The id of that journal.
    pub journal: String,
    /// The name of the session there; with the event that opened it.
    pub key: Option<SessionKey>,
    /// Its stored form there, which its hash is of.
    pub stored: Arc<[u8]>,
    /// Its position there.
    pub seq: u64,
    /// When it was recorded there.
    pub at: Timestamp,
    /// The number of the session there.
    pub session: SessionNo,
    /// The command's identity there. It says nothing about commands here.
    pub command: Option<CommandStamp>,
    /// The hash of the session's previous event there.
    pub previous: Digest,
    /// Its hash there.
    pub hash: Digest,
    /// Who brought it here.
    pub by: Principal,
    /// How many journals it has passed on its way: 1 if it came from where it was recorded.
    pub passed: u32,
}
