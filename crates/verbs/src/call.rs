//! A request on its way in and an answer on its way out.

use lacuna_wire::{Subject, WireError};

/// A request.
#[derive(Debug, Clone)]
pub struct Call<'a> {
    /// Who asks what of what.
    pub subject: &'a Subject,
    /// The body.
    pub body: &'a [u8],
    /// The largest reply that can travel, in bytes.
    pub max_reply: usize,
}

/// An answer, not yet turned into bytes: that is left to whoever sends it, so that no
/// thread of the journal is kept from writing.
pub struct Answer {
    /// About how many bytes it holds in memory.
    pub held: usize,
    /// Makes the reply's body, or the error.
    pub encode: Box<dyn FnOnce() -> Result<Vec<u8>, WireError> + Send>,
}

/// Takes the answer. It may run on one of the journal's own threads and must not block. If it is dropped uncalled,
/// the journal has failed.
pub type Responder = Box<dyn FnOnce(Answer) + Send>;

/// A question that reads the journal, or a command that does: run it where blocking is allowed.
pub struct Job {
    /// Whether it does something, so that it is to be run even if nobody waits for the answer.
    pub acts: bool,
    /// Whether it may take as long as reading the whole journal does.
    pub slow: bool,
    /// Does it and answers.
    pub run: Box<dyn FnOnce() + Send>,
}

/// An answer that is ready.
pub(crate) fn ready(result: Result<Vec<u8>, WireError>) -> Answer {
    let held = result.as_ref().map_or(0, Vec::len);
    Answer { held, encode: Box::new(move || result) }
}
