//! Texts that a harness writes as the user, known by how they open.

/// What such a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    /// It carries a summary, or stands in for one.
    Summary,
    /// It asks for one.
    Request,
}

/// terminus-2's prompts around a summarisation.
const OPENINGS: &[(&str, Opening)] = &[
    ("You are picking up work from a previous AI agent on this task:", Opening::Summary),
    (HANDOFF, Opening::Summary),
    ("You are about to hand off your work to another AI agent.", Opening::Request),
    ("The next agent has a few questions for you, please answer each of them", Opening::Request),
];

/// What the next agent is told once it has its answers.
pub(super) const HANDOFF: &str = "Here are the answers the other agent provided.";

/// The whole message of the system step that terminus-2 leaves where it has summarised.
pub(super) const BOUNDARY: &str = "Performed context summarization and handoff to continue task.";

/// What a text on the user's side is, if a harness is known to write texts that open so.
pub(super) fn of(text: &str) -> Option<Opening> {
    let text = text.trim_start();
    OPENINGS.iter().find(|(opening, _)| text.starts_with(opening)).map(|(_, what)| *what)
}

/// Whether a system step's message speaks of a summarisation at all.
pub(super) fn speaks_of_summaries(text: &str) -> bool {
    let text = text.to_lowercase();
    ["summariz", "summaris", "compact"].iter().any(|word| text.contains(word))
}
