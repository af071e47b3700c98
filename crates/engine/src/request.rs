//! What the writer is asked and what it answers.

use lacuna_core::{
    Command, CommandStamp, Content, NewSpan, Principal, Reply, SessionKey, Summarize,
};

use crate::EngineError;

/// A command on its way to the writer.
#[derive(Debug, Clone)]
pub struct Request {
    /// The session.
    pub session: SessionKey,
    /// Who sends it.
    pub principal: Principal,
    /// Its identity, if it has one.
    pub command_id: Option<CommandStamp>,
    /// The version that the client believes the session to have.
    pub expected_version: Option<u64>,
    /// What is asked.
    pub command: Command,
}

/// A command that was carried out, durably.
#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    /// The reply.
    pub reply: Reply,
    /// Whether this is the first reply again, to a command that was sent before.
    pub again: bool,
}

/// Gets the answer, on one of the journal's own threads: it must not block. If it is dropped uncalled,
/// the journal has failed and the command's outcome is unknown.
pub type Callback = Box<dyn FnOnce(Result<Done, EngineError>) + Send>;

impl Request {
    /// About how much memory it takes.
    pub(crate) fn size(&self) -> usize {
        const BASE: usize = 512;
        let span = |span: &NewSpan| match &span.content {
            Content::Bytes(bytes) => BASE + bytes.len(),
            Content::Withheld { .. } | Content::External { .. } => BASE,
        };
        BASE + match &self.command {
            Command::Append { spans } => spans.iter().map(span).sum(),
            Command::Summarize(summarize) => {
                let Summarize { covers, claims, .. } = summarize;
                let sources = claims.iter().map(|claim| claim.sources.len()).sum::<usize>();
                summarize.words() + 64 * (covers.len() + sources) + BASE * claims.len()
            }
            Command::Adopt { events, .. } => {
                events.iter().map(|adopted| BASE + adopted.size()).sum()
            }
            other => 64 * other.needs_evidence().len(),
        }
    }
}
