//! Claude Code session files.
//!
//! Order is file order; parent chains are recorded as `source.parent` and never walked, so cycles
//! and missing parents change nothing. Files of one import are read in the order of their names,
//! and records of one session id are one session, wherever they stand. A sub-agent
//! (`isSidechain`) is a session of its own: it is another context window.
//!
//! Who said what:
//! - prompts are the user's, unless the record or its opening tag says that the harness wrote it
//!   (`isMeta`, reminders, command output, caveats, interruptions);
//! - the prompt of a sub-agent was written by the agent that started it: origin `model`;
//! - `<synthetic>` assistant messages are the harness's; error notices are outside the window;
//! - attachments that Claude Code renders into the conversation are in the window, with the
//!   attachment's JSON as content: its rendering is not in the file. Others are kept raw.
//!
//! Every other record type is outside the window: `progress`, `summary` (a title for the session
//! list, not a compaction), snapshots, titles, queue operations, and types not known here.

mod attachment;
mod message;
mod origin;
mod session;
mod split;

use crate::SourceFile;
use crate::fields::Fields;
use crate::names::SessionNames;
use crate::{Format, Session};

/// Whether an object looks like a record of this format.
pub(crate) fn is_record(fields: &Fields<'_>) -> bool {
    fields.get("type").is_some()
        && (fields.get("uuid").is_some()
            || fields.get("sessionId").is_some()
            || fields.get("leafUuid").is_some())
}

/// The sessions of these files.
pub(crate) fn import(files: &[&SourceFile]) -> Vec<Session> {
    let mut names = SessionNames::default();
    let mut sessions = Vec::new();
    let split = split::split(files);
    // Parents take their names first, whatever the order of files.
    let mut taken = std::collections::HashMap::new();
    for group in split.iter().filter(|group| group.key.agent.is_none()) {
        taken.insert(group.key.session.clone(), names.take(&group.key.session));
    }
    for group in split {
        let parent = taken.get(&group.key.session);
        let name = match (&group.key.agent, parent) {
            (None, Some(own)) => own.clone(),
            (None, None) => names.take(&group.key.session),
            (Some(agent), _) => names.take(&format!("{}-agent-{agent}", group.key.session)),
        };
        let mut reader = session::Reader::new(Format::ClaudeCode, group.key.agent.is_some());
        reader.builder.report.source_session = Some(group.key.session.clone());
        if group.key.agent.is_some() {
            reader.builder.report.parent =
                Some(parent.map_or_else(|| group.key.session.clone(), ToString::to_string));
        }
        for record in group.records {
            reader.record(&record);
        }
        sessions.push(reader.finish(name));
    }
    sessions
}
