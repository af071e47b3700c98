//! `fork` and `receipt`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::at::At;

#[derive(Debug, ClapArgs)]
pub(crate) struct Fork {
    /// The session to fork; --session names the new one
    #[arg(long, value_name = "SESSION")]
    pub(crate) from: String,
    /// The moment to fork at: v12 (version), turn:3, receipt:w1, or a time; now unless given
    #[arg(long)]
    pub(crate) at: Option<At>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
What was sent is compared with the window in the form that --rendered names. As JSON it must have
sorted keys and no white space: {\"messages\":[…]} or {\"messages\":[…],\"system\":[…]}.
Exit code 1: something else was sent; that is recorded.")]
pub(crate) struct Receipt {
    /// The turn
    #[arg(long)]
    pub(crate) turn: Option<u64>,
    /// How the window was put before the model: entries, text, openai or anthropic
    #[arg(long, value_name = "FORM")]
    pub(crate) rendered: Option<String>,
    /// BLAKE3 of what was sent, as hex
    #[arg(long, value_name = "DIGEST", conflicts_with = "sent")]
    pub(crate) sent_digest: Option<String>,
    /// File with the very bytes that were sent; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) sent: Option<PathBuf>,
    /// The moment whose window was sent; now unless given
    #[arg(long)]
    pub(crate) at: Option<At>,
}
