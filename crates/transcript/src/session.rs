//! What an import yields: sessions, each a list of steps for the journal.

use lacuna_core::{NewSpan, SessionName, Source, SpanId};

use crate::Report;

/// One context window found in the source.
#[derive(Debug, Clone)]
pub struct Session {
    /// A suggestion, from the source's session id or its file name; unique within one import.
    pub name: SessionName,
    /// What to do, in order.
    pub steps: Vec<Step>,
    /// What was read, and what could not be expressed.
    pub report: Report,
}

/// One thing for the journal to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Record these spans, in this order. At most 200 spans; at most 4 MiB of content unless one
    /// span alone is larger.
    Append(Vec<NewSpan>),
    /// A summary that the transcript's own agent made.
    Summarize {
        /// The id for the summary.
        id: SpanId,
        /// The spans it stands for, all in the window at that moment; never empty.
        covers: Vec<SpanId>,
        /// Its text.
        text: String,
        /// Where it stood before.
        source: Option<Source>,
    },
    /// These spans leave the window.
    Prune {
        /// All in the window at that moment; never empty. A tool call is only named together with
        /// those of its results that are still in the window.
        spans: Vec<SpanId>,
        /// The summary that takes their place.
        replace_with: Option<SpanId>,
        /// Why the transcript's agent did it.
        reason: String,
    },
}
