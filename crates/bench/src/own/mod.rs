//! Work of Lacuna's own kind, which others do not do: beside an echo over the same broker, where it goes
//! over one.

mod fold;
mod paced;
mod questions;

use std::path::{Path, PathBuf};
use std::time::Duration;

use lacuna_core::{Command, NewSpan};
use lacuna_engine::{Journal, Options};

use crate::Failure;
use crate::broker::Broker;
use crate::machine::Machine;
use crate::report::{progress, table};
use crate::sample::{Sample, open, send};
use crate::{daemon, fill};

/// How to measure.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Own {
    /// Events that are folded and verified
    #[arg(long, default_value_t = 1_000_000)]
    events: u64,
    /// Seconds of prunes beside appends, and of echoes beside them
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// The broker's program
    #[arg(long, env = "LACUNA_NATS_SERVER", default_value = "nats-server")]
    nats_server: PathBuf,
}

/// Sessions whose spans are pruned and expanded, and spans of each.
const SESSIONS: u64 = 40;
const SPANS: u64 = 1_000;
/// A session with many events and one with few, both with windows of about 200 entries.
const LONG: u64 = 1_000;
const SHORT: u64 = 1_001;

/// A figure, and what it is measured by.
pub(crate) struct Figure {
    what: String,
    value: String,
}

impl Figure {
    fn new(what: &str, value: String) -> Self {
        progress(&format!("  {what}: {value}"));
        Self { what: what.to_owned(), value }
    }
}

/// Measures and prints.
pub(crate) async fn run(args: &Own) -> Result<(), Failure> {
    let machine = Machine::measure(&std::env::temp_dir())?;
    progress(&machine.line());
    let broker = Broker::start(&args.nats_server, None)?;
    let journal = broker.folder().join("journal");
    prepare(&journal)?;
    let mut figures = Vec::new();
    let child = daemon::start(&broker.url(), &journal, false)?;
    let echo = daemon::start_echo(&broker.url())?;
    let client = async_nats::connect(broker.url()).await?;
    let journal_file = journal.join("journal.redb");
    figures.extend(questions::measure(&client, &journal_file).await?);
    figures.extend(paced::measure(&client, Duration::from_secs(args.seconds)).await?);
    echo.stop()?;
    child.stop()?;
    figures.extend(fold::measure(args.events)?);
    let rows = figures.into_iter().map(|figure| vec![figure.what, figure.value]);
    let text = format!("{}\n\n{}", machine.line(), table(["work", "figure"], rows));
    std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes())?;
    Ok(())
}

/// Fills the sessions that are asked about.
fn prepare(folder: &Path) -> Result<(), Failure> {
    let sample = Sample::read(1_024)?;
    let journal = Journal::open(folder, Options::default())?;
    fill::Filler::new(&journal, &sample, 0, SESSIONS).record(SESSIONS * SPANS)?;
    // Of different lengths, or all of them would leave their snapshots behind at the same moment.
    for session in 0..SESSIONS {
        let spans = (0..session * 25 + 1).map(|n| sample.span(n)).collect();
        send(&journal, session, Command::Append { spans })?;
    }
    windowed(&journal, &sample, LONG, 99_800)?;
    windowed(&journal, &sample, SHORT, 200)?;
    let closed = journal.close()?;
    progress(&format!("{} events are there", closed.seq));
    Ok(())
}

/// Records so many spans that the model is never shown, then 200 that stand in the window.
fn windowed(journal: &Journal, sample: &Sample, session: u64, outside: u64) -> Result<(), Failure> {
    send(journal, session, open())?;
    for from in (0..outside + 200).step_by(100) {
        let span = |n| NewSpan { in_window: n >= outside, ..sample.span(n) };
        let spans = (from..from + 100).map(span).collect();
        send(journal, session, Command::Append { spans })?;
    }
    Ok(())
}

fn subject(session: u64, verb: &str) -> String {
    format!("lacuna.v1.bench.worker.session.s{session}.{verb}")
}

/// The latency at this share, in milliseconds.
fn at(times: &mut [Duration], share: f64) -> f64 {
    times.sort_unstable();
    let last = times.len().saturating_sub(1);
    times.get((last as f64 * share) as usize).map_or(f64::NAN, |t| t.as_secs_f64() * 1e3)
}
