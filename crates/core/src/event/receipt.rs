//! What was shown to the model at one call.

use serde::{Deserialize, Serialize};

use crate::Digest;
use crate::span::words;

words! {
    /// How a window was put before the model.
    Rendering {
        /// Entry by entry, by means of the worker's own.
        Entries = "entries",
        /// As plain text.
        Text = "text",
        /// As messages of a chat-completions request.
        Openai = "openai",
        /// As system and messages of an Anthropic request.
        Anthropic = "anthropic",
    }
}

/// A window was shown to the model.
///
/// The ordered digests of its entries are not stored: the session at that version gives them again, and
/// their own digest tells whether it still gives the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowReceipted {
    /// Its number in the session.
    pub receipt: u32,
    /// The version whose window was shown.
    pub window_version: u64,
    /// The turn, as the client counts turns.
    pub turn: Option<u64>,
    /// How many entries the window had.
    pub entries: u32,
    /// BLAKE3 over the digests of its entries, one after the other.
    pub entries_digest: Digest,
    /// How it was shown, and the digest of it in that form; none where the worker did not say how.
    pub rendered: Option<(Rendering, Digest)>,
    /// What the worker says that it sent.
    pub sent_digest: Option<Digest>,
}

impl WindowReceipted {
    /// Whether the worker sent something else than the window that it names.
    pub fn is_discrepant(&self) -> bool {
        self.sent_digest.is_some_and(|sent| self.rendered.is_none_or(|(_, digest)| digest != sent))
    }
}
