//! Side-by-side measurements: the same work against Lacuna and against what people use instead, in
//! one run on one machine. Ratios hold where absolute times do not.

mod broker;
mod contract;
mod feed;
mod jetstream;
mod lacuna;
mod load;
mod past;
mod report;
mod retention;
mod search;
mod text;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::broker::Broker;
use crate::load::Work;
use crate::report::{Machine, Report};

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Parser)]
#[command(name = "lacuna-bench", about = "Side-by-side measurements of Lacuna")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Append 1 KiB spans, one per request, fsynced before the reply, beside JetStream with
    /// `sync_interval: always`
    Compare {
        /// Fewer requests: finishes in well under a minute
        #[arg(long)]
        quick: bool,
        /// Requests in flight
        #[arg(long, default_value_t = 256)]
        in_flight: usize,
        /// Write the report here as well
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
        /// The broker's program
        #[arg(long, env = "LACUNA_NATS_SERVER", default_value = "nats-server")]
        nats_server: PathBuf,
    },
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
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let (quick, in_flight, json, nats_server) = match Args::parse().command {
        Command::Contract { text, rounds } => return contract::run(text.as_deref(), rounds.max(1)),
        Command::Past { events, moments } => return past::run(events, moments.max(1)),
        Command::Search { megabytes, span_bytes } => {
            return search::run(megabytes.max(1), span_bytes.max(1));
        }
        Command::Feed { spans, nats_server } => {
            return feed::run(spans.max(1_000), &nats_server).await;
        }
        Command::Retention { spans, lie } => {
            return retention::run(spans.max(10_000), lie);
        }
        Command::Compare { quick, in_flight, json, nats_server } => {
            (quick, in_flight, json, nats_server)
        }
    };
    let rounds = if quick { 3 } else { 5 };
    let seconds = if quick { 3 } else { 8 };
    let work = Work { in_flight, seconds };
    let mut report = Report::new(Machine::measure()?);
    // In turn, so that a machine that slows down slows all of them.
    for round in 1..=rounds {
        report.say(&format!("round {round} of {rounds}"));
        report.add(lacuna::one_per_request(&Broker::start(&nats_server, None)?, &work).await?);
        let always = Broker::start(&nats_server, Some("always"))?;
        report.add(jetstream::one_per_request(&always, "jetstream-always", &work).await?);
        let shipped = Broker::start(&nats_server, None)?;
        report.add(jetstream::one_per_request(&shipped, "jetstream-shipped", &work).await?);
    }
    report.finish(json.as_deref())
}
