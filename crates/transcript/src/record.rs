//! A span in the making.

use std::collections::BTreeMap;
use std::sync::Arc;

use lacuna_core::{Content, Digest, NewSpan, Origin, Role, Source, SpanId, SpanKind};

/// A span larger than this is recorded as withheld: known, with its digest, but not stored.
pub(crate) const SPAN_MAX: usize = 64 << 20;

pub(crate) const TEXT: &str = "text/plain";
pub(crate) const JSON: &str = "application/json";
pub(crate) const BYTES: &str = "application/octet-stream";

/// What a format's reader says about one span; the builder adds id, turn and bookkeeping.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    /// The id it would like.
    pub(crate) wish: String,
    pub(crate) role: Role,
    pub(crate) origin: Origin,
    pub(crate) kind: SpanKind,
    pub(crate) content: Vec<u8>,
    pub(crate) media_type: String,
    pub(crate) in_window: bool,
    pub(crate) answers: Option<SpanId>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) source: Source,
}

impl Draft {
    /// A text in the window.
    pub(crate) fn text(
        wish: impl Into<String>,
        (role, origin, kind): (Role, Origin, SpanKind),
        source: &Source,
        content: impl Into<Vec<u8>>,
    ) -> Self {
        Self {
            wish: wish.into(),
            role,
            origin,
            kind,
            content: content.into(),
            media_type: TEXT.to_owned(),
            in_window: true,
            answers: None,
            labels: BTreeMap::new(),
            source: source.clone(),
        }
    }

    /// JSON, exactly as written, in the window.
    pub(crate) fn json(
        wish: impl Into<String>,
        who: (Role, Origin, SpanKind),
        source: &Source,
        content: impl Into<Vec<u8>>,
    ) -> Self {
        Self::text(wish, who, source, content).media(JSON)
    }

    pub(crate) fn media(mut self, media_type: &str) -> Self {
        media_type.clone_into(&mut self.media_type);
        self
    }

    pub(crate) fn label(mut self, name: &str, value: impl Into<String>) -> Self {
        self.labels.insert(name.to_owned(), value.into());
        self
    }

    pub(crate) fn hidden(mut self) -> Self {
        self.in_window = false;
        self
    }

    /// The finished span. Content beyond the limit is withheld.
    pub(crate) fn into_span(self, id: SpanId, turn: u64) -> NewSpan {
        let digest = Digest::of(&self.content);
        let content = if self.content.len() > SPAN_MAX {
            Content::Withheld {
                digest,
                bytes: self.content.len() as u64,
                reason: "larger than 64 MiB in the transcript".to_owned(),
            }
        } else {
            Content::Bytes(Arc::from(self.content))
        };
        NewSpan {
            id: Some(id),
            role: self.role,
            origin: self.origin,
            kind: self.kind,
            content,
            digest,
            media_type: self.media_type,
            tokens: None,
            hedged: false,
            pinned: false,
            turn: Some(turn),
            answers: self.answers,
            contradicts: Vec::new(),
            supersedes: None,
            labels: self.labels,
            source: Some(self.source),
            in_window: self.in_window,
        }
    }
}
