//! OpenHands: V0 trajectories and V1 (SDK) events.
//!
//! Files named `event-<index>-<id>.json` (or `<index>.json`) of one folder are one session, in the
//! order of their indices; `base_state.json` beside them is kept raw. Any other file is a list of
//! events, lines of events, or documents with a `history`, each of which is a session.
//!
//! Who said what: `source` says it, except that an environment's words and refusals are the
//! harness's. Status changes, recall requests, pauses and event kinds not known here are outside
//! the window. A condensation takes exactly its forgotten events out, and the previous
//! condensation's summary, because only the latest one is shown.

mod condensation;
mod group;
mod session;
mod v0;
mod v1;

use crate::Session;
use crate::SourceFile;
use crate::fields::Fields;
use crate::names::SessionNames;

/// Whether an object looks like an event or holds some.
pub(crate) fn is_record(fields: &Fields<'_>) -> bool {
    let event = ["kind", "action", "observation"].iter().any(|name| fields.get(name).is_some());
    fields.get("history").is_some() || (event && fields.get("timestamp").is_some())
}

/// The sessions of these files.
pub(crate) fn import(files: &[&SourceFile]) -> Vec<Session> {
    let mut names = SessionNames::default();
    let groups = group::groups(files);
    groups.into_iter().map(|group| session::read(&group, names.take(&group.wish))).collect()
}
