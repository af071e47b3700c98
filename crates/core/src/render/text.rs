//! The window as plain text, for people and for models that take one string.

use super::Shown;
use super::items::content_text;
use crate::{EntryKind, SessionState};

/// Renders the window as text: a header line with id, role and kind before each span's content;
/// stubs and tombstones as they read.
pub fn text(state: &SessionState, window: &[Shown]) -> String {
    let mut out = String::new();
    for shown in window {
        let Some(&index) = shown.entry.spans.first() else { continue };
        let span = state.span(index);
        if matches!(shown.entry.kind, EntryKind::Span | EntryKind::Summary) {
            out.push_str(&format!("--- {} {} {}\n", span.id, span.role, span.kind));
            out.push_str(&content_text(span, shown));
            out.push('\n');
        }
        if let Some(stand_in) = &shown.entry.text {
            out.push_str(stand_in);
            out.push('\n');
        }
    }
    out
}
