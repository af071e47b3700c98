//! OpenAI Chat Completions messages.
//!
//! A conversation is a list of objects with a `role`, found at the top, under `messages`, `traj`
//! and the like, or deeper in lists and wrappers; each becomes a session. In a file of lines, each
//! line is a conversation, or else the lines are the messages of one. A log of request and
//! response ends with the response's message.
//!
//! The format has no ids, times or origins: a message's id is its place (`m12`), and its role says
//! who spoke, so what a harness said as `user` is taken for the user's. Fields around the messages
//! (tools, scores, settings) become one raw span each, `remainder:conversation` or
//! `remainder:container`, at the start.

mod find;
mod message;

use crate::Session;
use crate::SourceFile;
use crate::fields::Fields;
use crate::names::SessionNames;

/// Whether an object looks like a message or holds some.
pub(crate) fn is_record(fields: &Fields<'_>) -> bool {
    fields.get("role").is_some() || fields.get("messages").is_some()
}

/// The sessions of these files.
pub(crate) fn import(files: &[&SourceFile]) -> Vec<Session> {
    let mut names = SessionNames::default();
    let mut sessions = Vec::new();
    for file in files {
        for conversation in find::conversations(file) {
            let name = names.take(&conversation.wish);
            sessions.push(message::read(conversation, name));
        }
    }
    sessions
}
