//! Digests of what is shown: of each entry, of the window, of a rendered form.

use serde_json::json;

use super::{Shown, anthropic, openai, text};
use crate::{Digest, Digesting, Entry, EntryKind, Rendering, SessionState};

/// The digest of an entry: that of a span's or summary's content, or of the text that stands in for
/// others. What a summary's text is followed by is not in it.
pub fn entry_digest(state: &SessionState, entry: &Entry) -> Digest {
    let own = entry.spans.first().map(|&index| state.span(index).digest);
    match (entry.kind, own) {
        (EntryKind::Span | EntryKind::Summary, Some(digest)) => digest,
        _ => Digest::of(entry.text.as_deref().unwrap_or_default().as_bytes()),
    }
}

/// How many entries the window has, and the digest over theirs, one after the other. Needs no content.
pub fn window_digest(state: &SessionState) -> (u32, Digest) {
    let (mut entries, mut digest) = (0_u32, Digesting::default());
    for entry in state.entries() {
        digest.take(&entry_digest(state, &entry).0);
        entries = entries.saturating_add(1);
    }
    (entries, digest.finish())
}

/// The digest of the window in a form: of the text, or of the request's parts as JSON with sorted keys
/// and without white space, `{"messages":…}` or `{"messages":…,"system":…}`. Shown entry by entry it is
/// that of the window.
pub fn rendered_digest(state: &SessionState, window: &[Shown], form: Rendering) -> Digest {
    let request = match form {
        Rendering::Entries => return window_digest(state).1,
        Rendering::Text => return Digest::of(text(state, window).as_bytes()),
        Rendering::Openai => json!({ "messages": openai(state, window) }),
        Rendering::Anthropic => {
            let (system, messages) = anthropic(state, window);
            json!({ "messages": messages, "system": system })
        }
    };
    // Objects of this library keep their keys sorted, and print without white space.
    Digest::of(request.to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_and_nothing_is_between() {
        let value = json!({ "z": 1, "a": { "y": "ü\n\u{1}", "b": [true, null] } });
        assert_eq!(value.to_string(), r#"{"a":{"b":[true,null],"y":"ü\n\u0001"},"z":1}"#);
    }
}
