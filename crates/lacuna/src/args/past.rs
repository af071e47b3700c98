//! Arguments of the commands that look at moments of the past.

use clap::Args as ClapArgs;

use crate::at::At;

#[derive(Debug, ClapArgs)]
pub(crate) struct Durability {
    /// The spans; all of the session if none is given
    #[arg(value_name = "SPAN")]
    pub(crate) spans: Vec<String>,
    /// A moment of the past: v12 (version), turn:3, or a time
    #[arg(long)]
    pub(crate) at: Option<At>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Tombstones {
    /// A moment of the past: v12 (version), turn:3, or a time
    #[arg(long)]
    pub(crate) at: Option<At>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Diff {
    /// The earlier moment: v12 (version), turn:3, or a time; the session's beginning if not given
    #[arg(long, value_name = "AT")]
    pub(crate) from: Option<At>,
    /// The later moment; now if not given
    #[arg(long, value_name = "AT")]
    pub(crate) to: Option<At>,
}
