//! Events of another journal on their way into this one, with what they committed to.

use std::sync::Arc;

use crate::{Digest, Event, Recorded, Storage};

/// Journals that an event may have passed before it is taken over once more.
pub const MAX_PASSED: u32 = 8;

/// An event of another journal, and the payload that it committed to, which is as it says.
#[derive(Debug, Clone, PartialEq)]
pub struct Adopted {
    recorded: Recorded,
    stored: Arc<[u8]>,
    payload: Option<Arc<[u8]>>,
    gone: bool,
}

/// Why an event is not taken over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotTheirs {
    /// The content is not the one that the event committed to.
    #[error("the content is not what the event committed to: its digest is {found}, not {said}")]
    Content {
        /// The digest of the content.
        found: Digest,
        /// The digest in the event.
        said: Digest,
    },
    /// The content has another length than the event says.
    #[error("the content has {found} bytes, and the event says {said}")]
    Length {
        /// Its length.
        found: u64,
        /// The length in the event.
        said: u64,
    },
    /// There is a content, and the event has none.
    #[error("the event has no content of its own, but one was given")]
    Needless,
}

impl Adopted {
    /// An event as another journal has stored it, `stored` being the bytes that it was read from, and its
    /// payload: a span's content, or a summary's text with its claims behind it. None where it is gone, or
    /// was never in the journal.
    pub fn new(
        recorded: Recorded,
        stored: Arc<[u8]>,
        payload: Option<Arc<[u8]>>,
    ) -> Result<Self, NotTheirs> {
        if let Some(payload) = &payload {
            let (text, claims) = match &recorded.event {
                Event::SpanRecorded(e) if e.storage == Storage::Journal => {
                    ((e.bytes, e.digest), (0, Digest::default()))
                }
                Event::SummaryRecorded(e) => {
                    ((e.bytes, e.digest), (e.claims.bytes, e.claims.digest))
                }
                _ => return Err(NotTheirs::Needless),
            };
            let (found, said) = (payload.len() as u64, text.0.saturating_add(claims.0));
            if found != said {
                return Err(NotTheirs::Length { found, said });
            }
            let (content, behind) = payload.split_at(usize::try_from(text.0).unwrap_or(usize::MAX));
            for (part, said) in [(content, text), (behind, claims)] {
                let found = Digest::of(part);
                if said.0 > 0 && found != said.1 {
                    return Err(NotTheirs::Content { found, said: said.1 });
                }
            }
        }
        Ok(Self { recorded, stored, payload, gone: false })
    }

    /// The same where its content is said to be gone.
    pub fn without_content(self) -> Self {
        Self { gone: true, ..self }
    }

    /// Whether its content is said to be gone.
    pub fn is_gone(&self) -> bool {
        self.gone
    }

    /// Whether it committed to a content of the journal that is not here.
    pub fn lacks_content(&self) -> bool {
        let commits = match &self.recorded.event {
            Event::SpanRecorded(e) => e.storage == Storage::Journal,
            Event::SummaryRecorded(_) => true,
            _ => false,
        };
        commits && self.payload.is_none()
    }

    /// The event, as it is recorded there.
    pub fn recorded(&self) -> &Recorded {
        &self.recorded
    }

    /// Its stored form.
    pub fn stored(&self) -> &Arc<[u8]> {
        &self.stored
    }

    /// Its payload.
    pub fn payload(&self) -> Option<&Arc<[u8]>> {
        self.payload.as_ref()
    }

    /// About how much memory it takes, in bytes.
    pub fn size(&self) -> usize {
        self.stored.len() + self.payload.as_ref().map_or(0, |payload| payload.len())
    }
}
