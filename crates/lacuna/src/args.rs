//! The command line's grammar.

mod broker;
mod lineage;
mod past;
mod replay;
mod retention;
mod salvage;
mod transfer;

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

pub(crate) use self::broker::Broker;
pub(crate) use self::lineage::{Fork, Receipt};
pub(crate) use self::past::{Diff, Durability, Tombstones};
pub(crate) use self::replay::{Replay, Speed};
pub(crate) use self::retention::{
    Erase, Evaluate, Hold, Ledger, Plan, Policy, PolicySet, Release, Run,
};
pub(crate) use self::salvage::Salvage;
pub(crate) use self::transfer::{Checkpoint, Export, ExportFormat, Import, Verify};
use crate::at::At;

/// An event-sourced journal for the context windows of language-model agents.
#[derive(Debug, Parser)]
#[command(name = "lacuna", version, max_term_width = 100)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Where to, and as whom.
#[derive(Debug, Clone, ClapArgs)]
pub(crate) struct Global {
    #[command(flatten)]
    pub(crate) broker: Broker,
    /// Open this journal directly, without broker or daemon
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) journal: Option<PathBuf>,
    /// Namespace of the sessions
    #[arg(long, global = true, default_value = "default", value_name = "NAME")]
    pub(crate) tenant: String,
    /// Who sends the commands
    #[arg(long, global = true, default_value = "cli", value_name = "NAME")]
    pub(crate) principal: String,
    /// The session
    #[arg(long, short, global = true, env = "LACUNA_SESSION", value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Print the reply as one JSON object
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the daemon
    Serve(Serve),
    /// Show the whole story on a sample, in a temporary journal (or a daemon's, with --nats)
    Demo,
    /// Record transcripts of other agents, or sessions that `export` has written
    Import(Import),
    /// Begin a session
    Open(Open),
    /// Record a span; its content comes from a file or standard input
    Append(Append),
    /// Show what the model is shown
    Window(Window),
    /// Take spans out of the window, if they come back
    Prune(Prune),
    /// Put pruned spans back
    Restore(Spans),
    /// Look a span up: by id, handle or directive
    Expand(Expand),
    /// Record a summary of spans; its text comes from a file or standard input
    Summarize(Summarize),
    /// Judge a summary that somebody else wrote
    Audit(Audit),
    /// Prunes that are reversible now, cheapest first
    Suggest(Suggest),
    /// Declare that two spans contradict each other
    Contradict(Contradict),
    /// Settle a contradiction
    Resolve(Resolve),
    /// Which copies of spans exist; each is read back for the answer, unless it is about the past
    Durability(Durability),
    /// The ledger of what cannot be recovered
    Tombstones(Tombstones),
    /// The session's events
    History(History),
    /// Follow events, one a line, as they are recorded: of a session with -s, else of the whole tenant
    Tail(Tail),
    /// What happened to a span; of a summary also what it leaves out
    Explain(Explain),
    /// What is different between two moments, and what made it so
    Diff(Diff),
    /// Step through a session: what happened, what it changed in the window, and why; or send its events
    /// to a subject
    Replay(Replay),
    /// Find words in contents, or learn that they are certainly nowhere
    Search(Search),
    /// Record what was shown to the model at one call
    Receipt(Receipt),
    /// Begin a session as a fork of another one at a moment of its past
    Fork(Fork),
    /// End a session: it stays readable
    Close,
    /// Write a session to a file: its events, to be imported elsewhere, or the request to a provider
    Export(Export),
    /// How long payloads are kept
    #[command(subcommand)]
    Policy(Policy),
    /// Hold payloads: they stay, whatever a policy or an erasure says
    Hold(Hold),
    /// End a hold; that removes nothing by itself
    Release(Release),
    /// Tell what a retention run would do; nothing changes
    Plan(Plan),
    /// Run the policy: announce what is soon over, remove what is
    Run(Run),
    /// Every lossy commitment of the tenant
    Ledger(Ledger),
    /// Erase spans of a session, at once and for good
    Erase(Erase),
    /// List sessions
    Sessions,
    /// Where the journal ends
    Head,
    /// Verify the journal: chain, digests, payloads, projections; with --checkpoint also whether it goes
    /// on from what was once signed
    Verify(Verify),
    /// Sign where the journal ends; keep the note where nobody who can write to the journal can
    Checkpoint(Checkpoint),
    /// Copy the journal while it is in use
    Backup(Backup),
    /// Write everything that can still be read of a damaged journal into a new one, and list the rest
    Salvage(Salvage),
    /// Figures about the journal and its daemon
    Stats,
    /// Print completions for a shell
    Completions(Completions),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Serve {
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Check the configuration and end
    #[arg(long)]
    pub(crate) check: bool,
    /// Print the configuration in force and end
    #[arg(long)]
    pub(crate) dump_config: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Open {
    /// Size of the model's window
    #[arg(long, default_value_t = 200_000, value_name = "TOKENS")]
    pub(crate) window_tokens: u64,
    /// Share of the window kept for re-reading primary spans
    #[arg(long, value_name = "RATIO")]
    pub(crate) reserve_ratio: Option<f64>,
    /// enforce or record
    #[arg(long)]
    pub(crate) contract: Option<String>,
    /// A label, key=value
    #[arg(long = "label", value_name = "K=V")]
    pub(crate) labels: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Append {
    /// File with the content; `-` is standard input
    #[arg(default_value = "-", value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Span id; assigned if not given
    #[arg(long)]
    pub(crate) id: Option<String>,
    /// system, developer, user, assistant or tool
    #[arg(long, default_value = "user")]
    pub(crate) role: String,
    /// user, tool, model, harness or system; follows the role unless given
    #[arg(long)]
    pub(crate) origin: Option<String>,
    /// message, `tool_call`, `tool_result`, thinking, file, note or constraint
    #[arg(long)]
    pub(crate) kind: Option<String>,
    /// Media type of the content
    #[arg(long)]
    pub(crate) media_type: Option<String>,
    /// Size in tokens, as you counted
    #[arg(long)]
    pub(crate) tokens: Option<u32>,
    /// Its author hedges
    #[arg(long)]
    pub(crate) hedged: bool,
    /// It may never leave the window
    #[arg(long)]
    pub(crate) pinned: bool,
    /// The turn
    #[arg(long)]
    pub(crate) turn: Option<u64>,
    /// The tool call that it answers
    #[arg(long, value_name = "SPAN")]
    pub(crate) answers: Option<String>,
    /// A span that it contradicts
    #[arg(long, value_name = "SPAN")]
    pub(crate) contradicts: Vec<String>,
    /// Record only that it exists: digest and length, with this reason
    #[arg(long, value_name = "REASON")]
    pub(crate) withhold: Option<String>,
    /// A label, key=value
    #[arg(long = "label", value_name = "K=V")]
    pub(crate) labels: Vec<String>,
    /// The file holds a JSON list of spans as the wire contract has them
    #[arg(long)]
    pub(crate) spans_json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Render {
    /// A table of the entries
    Entries,
    /// Plain text
    Text,
    /// Messages of a chat-completions request
    Openai,
    /// System and messages of an Anthropic request
    Anthropic,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Window {
    /// A moment of the past: v12 (version), turn:3, receipt:w1, or a time
    #[arg(long)]
    pub(crate) at: Option<At>,
    /// How to show it
    #[arg(long, value_enum, default_value_t = Render::Entries)]
    pub(crate) render: Render,
    /// Leave contents out
    #[arg(long)]
    pub(crate) no_content: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Prune {
    /// The spans
    #[arg(required = true, value_name = "SPAN")]
    pub(crate) spans: Vec<String>,
    /// drop, summarize or compress
    #[arg(long)]
    pub(crate) mode: Option<String>,
    /// A summary that takes their place
    #[arg(long, value_name = "SUMMARY")]
    pub(crate) replace_with: Option<String>,
    /// Lose for good what cannot be recovered, and leave tombstones
    #[arg(long)]
    pub(crate) accept_lossy: bool,
    /// How long the copies must live, such as 72h
    #[arg(long, value_name = "DURATION")]
    pub(crate) min_durability: Option<String>,
    /// Why; recorded
    #[arg(long)]
    pub(crate) reason: Option<String>,
    /// Only tell the verdict
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Spans {
    /// The spans
    #[arg(required = true, value_name = "SPAN")]
    pub(crate) spans: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Expand {
    /// Span ids, handles or directives
    #[arg(required = true, value_name = "HANDLE")]
    pub(crate) handles: Vec<String>,
    /// Of a summary or a directive: expand the spans behind it too, as an auditor must
    #[arg(long)]
    pub(crate) behind: bool,
    /// expand, audit or reground; the latter two are recorded
    #[arg(long)]
    pub(crate) purpose: Option<String>,
    /// Write the content, and nothing else, to standard output
    #[arg(long)]
    pub(crate) raw: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Claims are a list of objects:
  [{\"text\": \"The user thinks staging is on port 5433.\", \"origin\": \"hedged\",
    \"sources\": [{\"span\": \"u1\", \"quote\": \"on port 5433\"}]}]
origin is user-said, tool-output, inferred or hedged; a quote is optional and must stand in its span.")]
pub(crate) struct Summarize {
    /// File with the text; `-` is standard input
    #[arg(default_value = "-", value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Span id of the summary; assigned if not given
    #[arg(long)]
    pub(crate) id: Option<String>,
    /// The spans that it summarises
    #[arg(long, required = true, value_name = "SPAN", value_delimiter = ',')]
    pub(crate) covers: Vec<String>,
    /// File with a JSON list of claims
    #[arg(long, value_name = "FILE")]
    pub(crate) claims: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Audit {
    /// The summary
    pub(crate) summary: String,
    /// pass or fail
    pub(crate) verdict: String,
    /// A remark, such as what is wrong; may be given more than once
    #[arg(long = "finding", value_name = "SENTENCE")]
    pub(crate) findings: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Suggest {
    /// How many tokens of the window to free
    #[arg(value_name = "TOKENS")]
    pub(crate) free_tokens: u64,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Search {
    /// What to look for: these very words
    pub(crate) pattern: String,
    /// The pattern is a regular expression
    #[arg(long)]
    pub(crate) regex: bool,
    /// all, window (what stands in it) or pruned (what does not)
    #[arg(long = "in", default_value = "all", value_name = "WHERE")]
    pub(crate) among: String,
    /// The most matches to show
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Explain {
    /// The span
    pub(crate) span: String,
    /// Of a summary: show every identifier that it leaves out
    #[arg(long)]
    pub(crate) all: bool,
    /// Tell also whether it could have been recovered at this moment: v12 (version), turn:3, or a time
    #[arg(long)]
    pub(crate) at: Option<At>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Contradict {
    /// One span
    pub(crate) a: String,
    /// The other
    pub(crate) b: String,
    /// A remark
    #[arg(long)]
    pub(crate) note: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Resolve {
    /// The contradiction, such as c1
    pub(crate) contradiction: String,
    /// How it was settled
    #[arg(long)]
    pub(crate) note: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct History {
    /// First version
    #[arg(long, default_value_t = 1, value_name = "VERSION")]
    pub(crate) from: u64,
    /// The most events to show
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Tail {
    /// Begin at this seq of the journal; 1 is its beginning [default: what comes next]
    #[arg(long, value_name = "SEQ")]
    pub(crate) from: Option<u64>,
    /// Follow the whole tenant, even where `LACUNA_SESSION` names a session
    #[arg(long)]
    pub(crate) all: bool,
    /// Show events of this kind only, such as notice-given; may be given more than once
    #[arg(long = "kind", value_name = "K")]
    pub(crate) kinds: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Backup {
    /// Folder for the copy; must hold no journal yet
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}
