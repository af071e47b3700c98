//! Renderings of the live window: plain text, and valid requests to two providers.
//!
//! What the model is shown is the window and nothing else, so every entry appears: a span as
//! itself, a stub or tombstone as its text. Providers insist on form (results right behind their
//! calls, roles that alternate); the renderings move and merge, they never leave out.

mod anthropic;
mod digests;
mod items;
mod openai;
mod text;

pub use anthropic::anthropic;
pub use digests::{entry_digest, rendered_digest, window_digest};
pub use openai::openai;
pub use text::text;

use std::sync::Arc;

use crate::{Entry, Tombstone};

/// An entry of the window with its content.
#[derive(Debug, Clone)]
pub struct Shown {
    /// The entry.
    pub entry: Entry,
    /// The content of a span or summary; none for stubs, tombstones and withheld spans.
    pub content: Option<Arc<[u8]>>,
    /// Why the content cannot be read now, although nothing says that it is lost.
    pub unreadable: Option<String>,
    /// In a window of the past: the loss of the content that has come since.
    pub lost_since: Option<Tombstone>,
}
