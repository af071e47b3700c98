//! The same work against Lacuna and against what people use instead, in turn.

pub(crate) mod embedded;
mod nats;
mod postgresql;
mod transcripts;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::Failure;
use crate::machine::Machine;
use crate::report::{Report, Row, progress};
use crate::sample::Sample;
use crate::timing::Load;
use embedded::System;
use nats::Job;
use postgresql::Server;

/// How to compare.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Compare {
    /// Shorter, and only at the loads at which systems are at their best: under a minute
    #[arg(long)]
    quick: bool,
    /// Only works and systems whose name has this in it, as in one-per-request/lacuna
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// How often everything is measured; the median counts
    #[arg(long)]
    rounds: Option<usize>,
    /// A folder of real transcripts, to record them as well
    #[arg(long, value_name = "DIR")]
    transcripts: Option<PathBuf>,
    /// Write the report here, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The broker's program
    #[arg(long, env = "LACUNA_NATS_SERVER", default_value = "nats-server")]
    nats_server: PathBuf,
}

/// How often everything is measured, for how long, at which numbers of requests in flight.
struct Plan {
    rounds: usize,
    warm_up: Duration,
    time: Duration,
    single: &'static [usize],
    many: &'static [usize],
    groups: &'static [usize],
}

impl Plan {
    fn new(quick: bool) -> Self {
        if quick {
            return Self {
                rounds: 1,
                warm_up: Duration::from_millis(300),
                time: Duration::from_millis(1_200),
                single: &[256, 1_024],
                many: &[16, 64],
                groups: &[256],
            };
        }
        Self {
            rounds: 2,
            warm_up: Duration::from_millis(500),
            time: Duration::from_secs(2),
            single: &[1, 64, 256, 1_024],
            many: &[1, 4, 16, 64],
            // A thousand spans is the most that one append takes.
            groups: &[1, 64, 256, 1_000],
        }
    }

    fn load(&self, in_flight: usize) -> Load {
        Load { in_flight, warm_up: self.warm_up, time: self.time }
    }
}

const SINGLE: &str = "one-per-request";
const MANY: &str = "64-per-request";

/// Systems behind a connection.
const SERVERS: [&str; 6] =
    ["lacuna", "lacuna-with-feed", "jetstream-always", "jetstream-shipped", "postgresql", "echo"];

/// Compares, and prints.
pub(crate) async fn run(args: &Compare) -> Result<(), Failure> {
    let plan = Plan::new(args.quick);
    let mut report = Report::new(Machine::measure(&std::env::temp_dir())?);
    let sample = Arc::new(Sample::read(1_024)?);
    let programs = Server::programs();
    if programs.is_none() {
        report.skip("postgresql", "it is not installed (apt-get install postgresql)");
    }
    let broker = std::process::Command::new(&args.nats_server).arg("--version").output();
    if let Err(error) = &broker {
        let why = format!("{}: {error} (--nats-server)", args.nats_server.display());
        report.skip("everything over NATS", &why);
    }
    let wanted = |work: &str, system: &str| {
        let name = format!("{work}/{system}");
        args.only.as_ref().is_none_or(|only| name.contains(only.as_str()))
    };
    let rounds = args.rounds.unwrap_or(plan.rounds).max(1);
    for round in 1..=rounds {
        progress(&format!("round {round} of {rounds}"));
        for (work, many) in [(SINGLE, false), (MANY, true)] {
            for &in_flight in if many { plan.many } else { plan.single } {
                for system in SERVERS.into_iter().filter(|system| wanted(work, system)) {
                    if system == "postgresql" && programs.is_none()
                        || system != "postgresql" && broker.is_err()
                    {
                        continue;
                    }
                    let with_feed = system == "lacuna-with-feed";
                    if (system == "echo" && many) || (with_feed && args.quick) {
                        continue;
                    }
                    let load = plan.load(in_flight);
                    let program = args.nats_server.as_path();
                    let job = Job { work, many, load, sample: &sample, program };
                    match server(system, &job, programs.as_deref()).await {
                        Ok(row) => report.add(row),
                        // An old broker knows no `sync_interval: always`; others cannot be started at all.
                        Err(error) if !system.starts_with("lacuna") => {
                            report.skip(&format!("{work} {system}"), &error.to_string());
                        }
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        for &group in plan.groups {
            for system in [System::Lacuna, System::SqliteFull, System::RawAppend] {
                if !wanted(&format!("embedded-{group}"), system.name()) {
                    continue;
                }
                report.add(embedded::measure(system, group, 1, &plan.load(group))?);
                if system == System::Lacuna {
                    report.add(embedded::measure(system, group, 4, &plan.load(group))?);
                }
            }
        }
    }
    for system in [System::Lacuna, System::SqliteFull, System::RawAppend] {
        match &args.transcripts {
            Some(folder) if wanted("transcripts", system.name()) => {
                let load = plan.load(64);
                report.add(embedded::measure_transcripts(system, folder, &load)?);
            }
            _ => {}
        }
    }
    if args.transcripts.is_none() {
        report.skip("transcripts", "no folder of them is named (--transcripts)");
    }
    report.settle();
    ratios(&mut report);
    report.finish(args.json.as_deref())
}

async fn server(system: &str, job: &Job<'_>, programs: Option<&Path>) -> Result<Row, Failure> {
    match (system, programs) {
        ("lacuna", _) => nats::lacuna(job, false).await,
        ("lacuna-with-feed", _) => nats::lacuna(job, true).await,
        ("jetstream-always", _) => nats::jetstream(job, Some("always")).await,
        ("jetstream-shipped", _) => nats::jetstream(job, None).await,
        ("postgresql", Some(programs)) => std::thread::scope(|scope| {
            // Its client is at its best with more than one thread.
            let measure = || {
                let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
                runtime.block_on(postgresql::measure(job, programs))
            };
            scope.spawn(measure).join().map_err(|_| "a thread panicked")?
        }),
        _ => nats::echo(job).await,
    }
}

/// Each system at its best against Lacuna at its best.
fn ratios(report: &mut Report) {
    for work in [SINGLE, MANY] {
        let ours = report.best(work, "lacuna");
        for system in SERVERS.into_iter().filter(|system| *system != "lacuna") {
            let theirs = report.best(work, system);
            report.ratio(&format!("{work} lacuna/{system}"), ours, theirs);
        }
    }
    // A request with many rows is one transaction to PostgreSQL; one row in a transaction is what its users have.
    let ours = report.best(MANY, "lacuna");
    let theirs = report.best(SINGLE, "postgresql");
    report.ratio(&format!("{MANY} lacuna/postgresql, one row per transaction"), ours, theirs);
    for group in [1, 64, 256, 1_000] {
        let work = format!("embedded-{group}");
        let ours = report.best(&work, "lacuna");
        for system in [System::SqliteFull, System::RawAppend] {
            let theirs = report.best(&work, system.name());
            report.ratio(&format!("{work} lacuna/{}", system.name()), ours, theirs);
        }
    }
}
