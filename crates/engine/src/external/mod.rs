//! Stores outside the journal: what the engine asks of one, and those that are configured.
//!
//! A store may hang, lie or be away. So each question has a deadline, each answer is a type, and what
//! came back is compared with what the journal committed to. No answer is never taken for a loss.

mod folder;
mod slots;
mod through;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lacuna_core::Digest;

pub use folder::FolderStore;
pub use through::Through;

/// How long a store has for an answer unless the configuration says otherwise.
const TIMEOUT: Duration = Duration::from_secs(2);

/// What is asked of an object: all of it is read, since its digest is wanted, and one part is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The most bytes that the object may have. Beyond that it is not the one that is meant.
    pub limit: u64,
    /// The part to keep, in bytes; none of it has to be there.
    pub part: Range<u64>,
}

/// What a store answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// The object was read to its end.
    Whole {
        /// BLAKE3 of all of it.
        digest: Digest,
        /// Its length.
        bytes: u64,
        /// The part that was asked for, as far as the object has it.
        part: Vec<u8>,
    },
    /// There is no such object.
    Missing,
    /// The object has more bytes than the limit.
    Longer,
    /// The store itself says that the object is not whole any more.
    Damaged(String),
}

/// Why there is no answer. None of these says that an object is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unread {
    /// It did not come before the deadline.
    Late,
    /// The store or the machine refused: what it said.
    Refused(String),
    /// The daemon is stopping.
    Closing,
}

/// A place outside the journal where contents of spans lie.
///
/// [`ExternalStore::read`] is called on threads that may wait, several at a time, never on the writer.
pub trait ExternalStore: Send + Sync {
    /// Reads an object through. Returns soon after the deadline at the latest, whatever the store does.
    fn read(&self, key: &str, ask: &Ask, deadline: Instant) -> Result<Found, Unread>;

    /// Refuses a key under which this store cannot hold anything; says what keys look like.
    fn check_key(&self, key: &str) -> Result<(), String>;

    /// Whether it answers "removed" otherwise than "never had it".
    fn tells_removed(&self) -> bool;
}

/// The stores that are configured, by name. Cheap to clone.
#[derive(Clone)]
pub struct Stores {
    named: BTreeMap<String, Arc<dyn ExternalStore>>,
    timeout: Duration,
    closing: Arc<AtomicBool>,
}

impl Default for Stores {
    fn default() -> Self {
        Self::new(TIMEOUT)
    }
}

impl std::fmt::Debug for Stores {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stores")
            .field("named", &self.named.keys().collect::<Vec<_>>())
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// What the journal committed to of a content that lies in an external store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Committed<'a> {
    pub(crate) store: &'a str,
    pub(crate) key: &'a str,
    pub(crate) digest: Digest,
    pub(crate) bytes: u64,
}

/// What asking a store about one span's content has shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Probe {
    /// It is there and matches: the part that was asked for.
    Whole(Vec<u8>),
    /// It is not there, or something else is.
    Lost(String),
    /// Nothing is known, and why. `late`: the deadline passed.
    Unanswered {
        /// What to tell people.
        why: String,
        /// Whether the store took all the time it had.
        late: bool,
    },
    /// The journal is closing.
    Closing,
}

impl Stores {
    /// No stores yet; each will have this long for an answer.
    pub fn new(timeout: Duration) -> Self {
        Self { named: BTreeMap::new(), timeout, closing: Arc::default() }
    }

    /// Adds a store.
    pub fn add(&mut self, name: impl Into<String>, store: Arc<dyn ExternalStore>) {
        self.named.insert(name.into(), store);
    }

    /// How long a store has for one answer.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Refuses what cannot be recorded as external: a store that is not configured, a key that it does
    /// not take. The message says what there is.
    pub fn check(&self, store: &str, key: &str) -> Result<(), String> {
        let Some(found) = self.named.get(store) else {
            let names: Vec<&str> = self.named.keys().map(String::as_str).collect();
            return Err(match names.as_slice() {
                [] => format!(
                    "no external store {store:?} is configured, nor any other: send the content, or \
                     configure [stores.{store}] in the daemon's configuration"
                ),
                _ => format!(
                    "no external store {store:?} is configured; there are {}: name one of them, send \
                     the content, or configure it",
                    names.join(", ")
                ),
            });
        };
        found.check_key(key).map_err(|why| format!("external store {store:?}: key {key:?} {why}"))
    }

    /// Why looking up something in this store cannot tell "removed" from "never had it", if it cannot.
    pub(crate) fn provenance(&self, store: &str) -> Result<(), String> {
        match self.named.get(store) {
            Some(found) if found.tells_removed() => Ok(()),
            Some(_) => Err(format!(
                "store {store:?} answers alike for what was removed and what was never there"
            )),
            None => Err(not_configured(store)),
        }
    }

    /// Asks a store for a content and compares it with what the journal committed to.
    pub(crate) fn probe(&self, committed: &Committed<'_>, part: Range<u64>) -> Probe {
        let Committed { store, key, .. } = *committed;
        if self.closing.load(Ordering::Relaxed) {
            return Probe::Closing;
        }
        let Some(found) = self.named.get(store) else { return unanswered(not_configured(store)) };
        let ask = Ask { limit: committed.bytes, part };
        match found.read(key, &ask, Instant::now() + self.timeout) {
            Ok(Found::Whole { digest, bytes, part }) => {
                if bytes != committed.bytes {
                    let told = format!("{bytes} bytes instead of {}", committed.bytes);
                    return Probe::Lost(format!("store {store:?} holds {told} under {key:?}"));
                }
                if digest != committed.digest {
                    let told = "other bytes: they do not match the digest";
                    return Probe::Lost(format!("store {store:?} holds {told}, under {key:?}"));
                }
                Probe::Whole(part)
            }
            Ok(Found::Longer) => Probe::Lost(format!(
                "store {store:?} holds more than {} bytes under {key:?}",
                committed.bytes
            )),
            Ok(Found::Damaged(why)) => {
                Probe::Lost(format!("store {store:?} says that {key:?} is damaged: {why}"))
            }
            Ok(Found::Missing) => Probe::Lost(format!("store {store:?} has no {key:?}")),
            Err(Unread::Late) => Probe::Unanswered { why: self.late(store), late: true },
            Err(Unread::Refused(why)) => {
                unanswered(format!("store {store:?} could not be read: {why}"))
            }
            Err(Unread::Closing) => Probe::Closing,
        }
    }

    /// The sentence about a store that took too long.
    pub(crate) fn late(&self, store: &str) -> String {
        format!("store {store:?} did not answer within {:?}", self.timeout)
    }

    /// The same stores for a journal that opens. It closes them for itself and its clones of this.
    pub(crate) fn opened(&self) -> Self {
        Self { closing: Arc::default(), ..self.clone() }
    }

    /// From here on nothing is asked any more: the journal closes.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }
}

fn unanswered(why: String) -> Probe {
    Probe::Unanswered { why, late: false }
}

fn not_configured(store: &str) -> String {
    format!("no external store {store:?} is configured here")
}
