//! How the window shows a span.

use super::{Place, SessionState, Slot, SpanIndex};
use crate::DirectiveNo;

/// How the window shows a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As itself.
    Span,
    /// As a summary, in the place of what it replaced.
    Summary,
    /// In the stub of this directive.
    Stub(DirectiveNo),
    /// As a tombstone.
    Tombstone,
    /// Not at all: this summary stands for it.
    Behind(SpanIndex),
    /// Not at all.
    Outside,
}

impl Form {
    /// Its word on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::Span => "span",
            Self::Summary => "summary",
            Self::Stub(_) => "stub",
            Self::Tombstone => "tombstone",
            Self::Behind(_) => "behind",
            Self::Outside => "outside",
        }
    }

    /// Whether the model reads the content itself.
    pub fn is_read(self) -> bool {
        matches!(self, Self::Span | Self::Summary)
    }
}

impl SessionState {
    /// How the window shows a span.
    pub fn form(&self, index: SpanIndex) -> Form {
        let span = self.span(index);
        match span.slot.and_then(|key| self.window.get(&key)) {
            Some(Slot::Span(_)) => Form::Span,
            Some(Slot::Summary(_)) => Form::Summary,
            Some(Slot::Stub { directive, .. }) => Form::Stub(*directive),
            Some(Slot::Tombstone(_)) => Form::Tombstone,
            None => match span.place {
                Place::Pruned(number) => {
                    let summary = self.directive(number).and_then(|d| d.replace_with);
                    summary.map_or(Form::Outside, Form::Behind)
                }
                Place::Window | Place::Outside => Form::Outside,
            },
        }
    }
}
