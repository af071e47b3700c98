//! The transcript formats that can be read.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// A transcript format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// OpenAI Chat Completions messages: one conversation, a list of them, lines, or a log of
    /// request and response.
    OpenaiChat,
    /// Claude Code session files, with their sub-agents.
    ClaudeCode,
    /// OpenHands: V0 trajectories and V1 events, as one document, lines, or a directory of files.
    Openhands,
    /// pi session files: a tree of entries, with compactions and branch summaries.
    Pi,
    /// ATIF trajectories (Agent Trajectory Interchange Format, as Harbor writes them), with their
    /// sub-agents.
    Atif,
}

/// A word that names no format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no transcript format: use openai-chat, claude-code, openhands, pi or atif")]
pub struct UnknownFormat(pub String);

impl Format {
    /// Every format.
    pub const ALL: &[Self] =
        &[Self::OpenaiChat, Self::ClaudeCode, Self::Openhands, Self::Pi, Self::Atif];

    /// The format's name, as spans' sources carry it.
    pub fn word(self) -> &'static str {
        match self {
            Self::OpenaiChat => "openai-chat",
            Self::ClaudeCode => "claude-code",
            Self::Openhands => "openhands",
            Self::Pi => "pi",
            Self::Atif => "atif",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;
    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        Self::ALL
            .iter()
            .copied()
            .find(|format| format.word() == text)
            .ok_or_else(|| UnknownFormat(text.chars().take(40).collect()))
    }
}

impl Serialize for Format {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}
