//! Sessions in and out, and proofs: `import`, `export`, `verify`, `checkpoint`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

use crate::at::At;

#[derive(Debug, ClapArgs)]
pub(crate) struct Import {
    /// Files, or folders of files that belong together
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// auto, openai-chat, claude-code, openhands, pi or atif; exports of events are recognised
    #[arg(long, default_value = "auto")]
    pub(crate) format: String,
    /// Only tell what would be recorded
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Size of the model's window
    #[arg(long, default_value_t = 200_000, value_name = "TOKENS")]
    pub(crate) window_tokens: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Every event, whole: `import` takes it over
    Jsonl,
    /// The body of a chat-completions request
    OpenaiChat,
    /// The body of an Anthropic messages request
    Anthropic,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Export {
    /// What to write
    #[arg(long, value_enum, default_value_t = ExportFormat::Jsonl)]
    pub(crate) format: ExportFormat,
    /// Of a request: a moment of the past, v12 (version), turn:3, or a time
    #[arg(long)]
    pub(crate) at: Option<At>,
    /// Of a request: the model to ask; left out unless given
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Of a request: the most tokens to answer with
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    /// File to write; standard output unless given
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Verify {
    /// First seq
    #[arg(long, value_name = "SEQ")]
    pub(crate) from: Option<u64>,
    /// Last seq
    #[arg(long, value_name = "SEQ")]
    pub(crate) to: Option<u64>,
    /// File of signed checkpoints; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// A key to believe, NAME+ID+BASE64, or a file of such lines; the journal's own unless given
    #[arg(long = "key", value_name = "KEY", requires = "checkpoint")]
    pub(crate) keys: Vec<String>,
    /// Judge a copy of journal.redb by the checkpoints, without daemon or keys to its contents
    #[arg(
        long, value_name = "FILE", requires_all = ["checkpoint", "keys"],
        conflicts_with_all = ["from", "to", "journal"]
    )]
    pub(crate) copy: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Checkpoint {
    /// File to add the note to; standard output unless given
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}
