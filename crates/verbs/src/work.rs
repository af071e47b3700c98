//! What verbs work on, and the kinds of work that they make.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use lacuna_engine::Journal;
use lacuna_wire::WireError;
use lacuna_wire::journal::FeedBody;

use crate::call::Responder;
use crate::readings::Readings;
use crate::settings::Settings;
use crate::uploads::Uploads;

/// What the verbs share.
pub(crate) struct Inner {
    pub(crate) journal: Arc<Journal>,
    pub(crate) settings: Settings,
    pub(crate) uploads: Uploads,
    pub(crate) readings: Readings,
    pub(crate) started: Instant,
    /// How far the feed is, where there is one.
    pub(crate) feed: OnceLock<Feed>,
    /// Held while a backup is made: one at a time.
    pub(crate) backing_up: parking_lot::Mutex<()>,
}

/// Tells how far the feed is.
pub(crate) type Feed = Box<dyn Fn() -> FeedBody + Send + Sync>;
/// Hands a command to the writer.
pub(crate) type Submit = Box<dyn FnOnce(&Inner, Responder) + Send>;
/// Reads the journal and encodes the reply.
pub(crate) type Read = Box<dyn FnOnce(&Inner) -> Result<Vec<u8>, WireError> + Send>;

/// The kinds of work that verbs make.
pub(crate) enum Work {
    /// A command, parsed.
    Command(Submit),
    /// A question, parsed.
    Question(Read),
    /// A command that reads the journal first and blocks: it is done even if nobody waits for it.
    Deed(Read),
    /// Done already.
    Done(Vec<u8>),
}
