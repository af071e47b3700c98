//! The grammar of the retention commands.

use std::path::PathBuf;

use clap::{ArgAction, Args as ClapArgs, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    /// Put a policy in force, in the place of the one before
    Set(PolicySet),
    /// Show the policy and the holds in force
    Get,
    /// Tell how long something is kept, and why
    Evaluate(Evaluate),
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
A policy is a list of rules, or an object {\"rules\": […]}; the first rule that matches a span decides:
  [{\"id\": \"evidence\", \"match\": {\"labels\": {\"case\": \"open\"}}, \"keep\": {\"forever\": true}},
   {\"id\": \"logs\", \"match\": {\"origins\": [\"tool\"], \"pruned\": true},
    \"keep\": {\"for\": \"30d\", \"since\": \"pruned\"}, \"notice\": \"24h\"}]
What no rule matches is kept for ever. Setting a policy removes nothing: lacuna plan, then lacuna run.")]
pub(crate) struct PolicySet {
    /// JSON, or TOML if its name ends in .toml; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Either a span of --session, or the attributes of something that need not be a span: then --session
only has to fit the rules' patterns, and --origin is needed.")]
pub(crate) struct Evaluate {
    /// The span
    #[arg(value_name = "SPAN", conflicts_with_all = [
        "origin", "kind", "labels", "recorded_at", "pruned_at", "closed_at", "pruned",
    ])]
    pub(crate) span: Option<String>,
    /// user, tool, model, harness, system or summary
    #[arg(long, required_unless_present = "span")]
    pub(crate) origin: Option<String>,
    /// message, `tool_call`, `tool_result`, thinking, file, note, constraint or summary
    #[arg(long)]
    pub(crate) kind: Option<String>,
    /// A label of it or of its session, key=value
    #[arg(long = "label", value_name = "K=V")]
    pub(crate) labels: Vec<String>,
    /// When it was recorded; now unless given
    #[arg(long, value_name = "TIME")]
    pub(crate) recorded_at: Option<String>,
    /// When it left the window
    #[arg(long, value_name = "TIME")]
    pub(crate) pruned_at: Option<String>,
    /// When its session was closed
    #[arg(long, value_name = "TIME")]
    pub(crate) closed_at: Option<String>,
    /// It has left the window, just now unless --pruned-at says when
    #[arg(long)]
    pub(crate) pruned: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Hold {
    /// Names of sessions: `*` stands for any characters, `?` for one
    #[arg(long, value_name = "GLOB")]
    pub(crate) sessions: Option<String>,
    /// An origin; may be given more than once
    #[arg(long = "origin", value_name = "ORIGIN")]
    pub(crate) origins: Vec<String>,
    /// A kind; may be given more than once
    #[arg(long = "kind", value_name = "KIND")]
    pub(crate) kinds: Vec<String>,
    /// A label that a span or its session bears, key=value
    #[arg(long = "label", value_name = "K=V")]
    pub(crate) labels: Vec<String>,
    /// Only what has left the window, or only what has not
    #[arg(long, action = ArgAction::Set, value_name = "true|false")]
    pub(crate) pruned: Option<bool>,
    /// Why; recorded
    #[arg(long)]
    pub(crate) reason: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Release {
    /// The hold, such as h1
    #[arg(value_name = "HOLD")]
    pub(crate) hold: String,
    /// Why; recorded
    #[arg(long)]
    pub(crate) reason: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Plan {
    /// As of this moment, such as 2027-01-01T00:00:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
    /// With these rules instead of those in force; the file is as for `policy set`
    #[arg(long, value_name = "FILE")]
    pub(crate) rules: Option<PathBuf>,
    /// List the spans, too
    #[arg(long)]
    pub(crate) spans: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Run {
    /// Let this run remove any share of the tenant's spans
    #[arg(long)]
    pub(crate) unlimited: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Ledger {
    /// First entry, counted from 0
    #[arg(long, value_name = "N")]
    pub(crate) from: Option<u64>,
    /// How many entries to show
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Erase {
    /// The spans
    #[arg(value_name = "SPAN", conflicts_with = "all")]
    pub(crate) spans: Vec<String>,
    /// The whole session, which forgetting the ids must not mean
    #[arg(long)]
    pub(crate) all: bool,
    /// Why; recorded
    #[arg(long)]
    pub(crate) reason: String,
}
