//! Side-by-side measurements: the same work against Lacuna and against what people use instead, in
//! one run on one machine. Ratios hold where absolute times do not.

mod machine;
mod process;
mod report;
mod sample;
mod text;
mod timing;

mod broker;
mod child;
mod daemon;
mod window;

mod compare;
mod contract;
mod feed;
mod fill;
mod grow;
mod own;
mod past;
mod retention;
mod search;
mod soak;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// As in the daemon.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Parser)]
#[command(name = "lacuna-bench", about = "Side-by-side measurements of Lacuna")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The same work against Lacuna, JetStream, PostgreSQL, SQLite and a plain file, in one run
    Compare(compare::Compare),
    /// Prunes, expands, windows, replay and verify, beside an echo over the same broker
    Own(own::Own),
    /// The same measures on journals of ten thousand to ten million events, and of ten to 100,000 sessions
    Grow(grow::Grow),
    /// Extract identifiers from text, and check a summary of 100 claims over 200 spans of 4 KiB
    Contract {
        /// Extract from the text files of this folder too
        #[arg(long, value_name = "DIR")]
        text: Option<PathBuf>,
        /// How often each is measured
        #[arg(long, default_value_t = 20)]
        rounds: usize,
    },
    /// See moments of the past of a long session, and of all that happened to single spans
    Past {
        /// Events of the session
        #[arg(long, default_value_t = 100_000)]
        events: u64,
        /// Moments looked at
        #[arg(long, default_value_t = 300)]
        moments: usize,
    },
    /// Search stored text
    Search {
        /// Megabytes of text
        #[arg(long, default_value_t = 256)]
        megabytes: usize,
        /// Bytes of one span
        #[arg(long, default_value_t = 4_096)]
        span_bytes: usize,
    },
    /// Publish the events of a journal that the broker has nothing of, then one at a time
    Feed {
        /// Spans recorded first
        #[arg(long, default_value_t = 200_000)]
        spans: usize,
        /// The broker's program
        #[arg(long, env = "LACUNA_NATS_SERVER", default_value = "nats-server")]
        nats_server: PathBuf,
    },
    /// Remove a tenth of many spans while appends go on, then nine tenths
    Retention {
        /// Spans recorded first
        #[arg(long, default_value_t = 1_000_000)]
        spans: usize,
        /// How those to remove lie among the others
        #[arg(long, value_enum, default_value = "scattered")]
        lie: retention::Lie,
    },
    /// Ordinary work of many sessions for minutes, then a burst: what changes with time, and what is too much
    Soak(soak::Soak),
    #[command(hide = true)]
    Daemon(daemon::Daemon),
    #[command(hide = true)]
    Echo {
        #[arg(long)]
        url: String,
    },
    #[command(hide = true)]
    Step(grow::child::Step),
    #[command(hide = true)]
    Embedded(compare::embedded::Embedded),
}

// One thread drives: what it costs is taken from the two cores that are measured.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    match Args::parse().command {
        Command::Compare(args) => compare::run(&args).await,
        Command::Contract { text, rounds } => contract::run(text.as_deref(), rounds.max(1)),
        Command::Past { events, moments } => past::run(events, moments.max(1)),
        Command::Search { megabytes, span_bytes } => {
            search::run(megabytes.max(1), span_bytes.max(1))
        }
        Command::Feed { spans, nats_server } => feed::run(spans.max(1_000), &nats_server).await,
        Command::Retention { spans, lie } => retention::run(spans.max(10_000), lie),
        Command::Soak(args) => soak::run(&args).await,
        Command::Daemon(args) => tokio::task::spawn_blocking(|| daemon::run(args)).await?,
        Command::Echo { url } => daemon::echo(&url).await,
        Command::Own(args) => own::run(&args).await,
        Command::Grow(args) => grow::run(&args),
        Command::Step(args) => grow::child::run(&args),
        Command::Embedded(args) => compare::embedded::run(&args),
    }
}
