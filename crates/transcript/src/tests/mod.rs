//! Tests over whole imports, with fixtures written for the trap that each is about.

mod atif;
mod claude;
mod compaction;
mod damage;
mod growing;
mod keeping;
mod openai;
mod openhands;
mod pi;
mod real;

use lacuna_core::{NewSpan, Origin, Role, SpanKind};

use crate::replay::Replay;
use crate::{Format, Session, SourceFile};

pub(crate) fn file(name: &str, text: impl AsRef<[u8]>) -> SourceFile {
    SourceFile { name: name.to_owned(), bytes: text.as_ref().to_vec() }
}

pub(crate) fn import(format: Format, files: &[SourceFile]) -> Vec<Session> {
    crate::import(format, files).expect("imports")
}

/// Imports one file that holds one session, and carries its steps out.
pub(crate) fn one(format: Format, text: &str) -> (Session, Replay) {
    let mut sessions = import(format, &[file("a/file.jsonl", text)]);
    let names: Vec<_> = sessions.iter().map(|session| session.name.clone()).collect();
    assert_eq!(sessions.len(), 1, "{names:?}");
    let session = sessions.remove(0);
    let replay = Replay::of(&session);
    (session, replay)
}

pub(crate) fn who(span: &NewSpan) -> (Role, Origin, SpanKind) {
    (span.role, span.origin, span.kind)
}

/// Whether a note begins with these words.
pub(crate) fn noted(session: &Session, words: &str) -> bool {
    session.report.notes.iter().any(|note| note.starts_with(words))
}
