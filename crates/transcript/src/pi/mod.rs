//! pi session files, versions 1 to 3.
//!
//! A file is a header (`type: session`) and entries that form a tree by `id` and `parentId`;
//! version 1 has no ids and is a line of entries. Each header begins a session. An entry is always
//! appended behind the agent's place in the tree, so file order tells how the window changed:
//! where an entry's parent is not the entry before it, the agent went back, and what is not on
//! the way to that parent left the window. An import has no step that brings spans back, so what
//! the agent comes back to later never leaves; at the end the window is that of the active path,
//! the way to the last entry. A parent that is not in the file, or stands behind its child, as in a
//! cycle, is taken for lost: the entry follows the one before it.
//!
//! Summaries:
//! - `compaction` says from which entry on the window was kept (`firstKeptEntryId`; version 1
//!   counts the file's records, the header being 0). What stands before it on the path gives way,
//!   and so does the summary before, because only the latest is shown. An entry that is not on the
//!   path keeps nothing: the agent rebuilds its window in just this way;
//! - `branch_summary` stands for the branch that the agent went back from;
//! - messages and entries `branchSummary` and `compactionSummary` do the same as far as they say
//!   what they replace. Where there is nothing to stand for, a summary is a note of the harness.
//!
//! Who said what: `bashExecution` is a command that the user ran and its output, a tool's; `custom`
//! messages are extensions'. Settings, labels, names and extensions' own data are outside the
//! window, and so is what the user kept from the model (`excludeFromContext`).

mod message;
mod session;
mod summary;
mod tree;

use crate::Session;
use crate::SourceFile;
use crate::fields::Fields;
use crate::names::{self, SessionNames};

/// Whether an object looks like a header or an entry.
pub(crate) fn is_record(fields: &Fields<'_>) -> bool {
    let entry = ["parentId", "message", "firstKeptEntryIndex"];
    let header = fields.text("type").as_deref() == Some("session");
    fields.get("type").is_some() && (header || entry.iter().any(|name| fields.get(name).is_some()))
}

/// The sessions of these files.
pub(crate) fn import(files: &[&SourceFile]) -> Vec<Session> {
    let mut names = SessionNames::default();
    let mut sessions = Vec::new();
    for file in files {
        for tree in tree::read(file) {
            let wish = tree.id.clone().unwrap_or_else(|| names::stem(&file.name).to_owned());
            sessions.push(session::read(tree, names.take(&wish)));
        }
    }
    sessions
}
