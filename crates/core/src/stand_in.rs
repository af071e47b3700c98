//! The short texts that stand in the window for what has left it.
//!
//! Besides the id, a tombstone costs at most 11 tokens and a stub at most 20 (o200k_base); a test
//! of the whole system counts them.

use crate::{DirectiveNo, Handle, SpanId, Tombstone};

/// What stands for a span that cannot be recovered. The wording is the wire contract's.
pub fn tombstone_text(span: &SpanId) -> String {
    format!("{span}: pruned, unrecoverable, contents unknown")
}

/// What stands for one span that was pruned reversibly.
pub fn stub_text(handle: &Handle) -> String {
    format!("[{handle} pruned; expand to read]")
}

/// What stands for consecutive spans that one directive pruned reversibly.
pub fn shared_stub_text(directive: DirectiveNo, spans: usize) -> String {
    format!("[{directive} {spans} spans pruned; expand to read]")
}

/// What follows a summary's text, so that the spans that it replaced stay addressable.
pub fn replaced_text(directives: &[DirectiveNo], spans: usize) -> String {
    let handles = directives.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    format!("[{handles} {spans} spans replaced; expand to read]")
}

/// What stands behind the text of a summary that an auditor has failed since it replaced spans.
pub(crate) const FAILED_AUDIT: &str = "[failed an audit; do not rely on it]";

/// What stands for a live span whose content was withheld.
pub fn withheld_text(span: &SpanId, bytes: u64, reason: &str) -> String {
    format!("[{span}: withheld, {bytes} bytes never stored: {reason}]")
}

/// What stands for a live span whose content cannot be read now.
pub fn unreadable_text(handle: &Handle, why: &str) -> String {
    format!("[{handle}: cannot be read now, not lost: {why}]")
}

/// What stands in a window of the past for a content that was lost since.
pub fn lost_since_text(handle: &Handle, lost: &Tombstone) -> String {
    format!("[{handle}: shown then, lost since: {} at {}]", lost.cause.word(), lost.at)
}

/// The tokens of a stand-in. Hex and ids tokenise badly, about three bytes a token.
pub(crate) fn stand_in_tokens(text: &str) -> u32 {
    u32::try_from(text.len().div_ceil(3)).unwrap_or(u32::MAX)
}
