//! Whether cost stays flat while the journal grows: the same measures at each size.

pub(crate) mod child;
mod plot;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::Failure;
use crate::child::Running;
use crate::machine::Machine;
use crate::report::{progress, table};
use child::{Filled, Looked};

/// How long a journal that is being appended to lives before it is killed.
const BEFORE_KILL: Duration = Duration::from_millis(700);

/// How far to grow.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Grow {
    /// Sizes, in events
    #[arg(long, value_delimiter = ',', default_value = "10000,1000000,10000000")]
    events: Vec<u64>,
    /// Numbers of sessions, each with a million events in all
    #[arg(long, value_delimiter = ',', default_value = "10,1000,100000")]
    sessions: Vec<u64>,
    /// Write the report here, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the plot here
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// The events among which numbers of sessions are compared, and the sessions of sizes that are compared.
const EVENTS: u64 = 1_000_000;
const SPANS_PER_SESSION: u64 = 1_000;

/// One journal.
#[derive(Debug, Clone, Serialize)]
struct Size {
    events: u64,
    sessions: u64,
    filled: Filled,
    /// After a clean stop.
    stopped: Looked,
    /// After being killed while it was appended to.
    killed: Looked,
}

#[derive(Debug, Serialize)]
struct Growth {
    machine: Machine,
    sizes: Vec<Size>,
}

/// Measures and prints.
pub(crate) fn run(args: &Grow) -> Result<(), Failure> {
    let machine = Machine::measure(&std::env::temp_dir())?;
    progress(&machine.line());
    let by_events = args.events.iter().map(|&events| (events, (events / SPANS_PER_SESSION).max(1)));
    let by_sessions = args.sessions.iter().map(|&sessions| (EVENTS, sessions));
    let mut wanted: Vec<(u64, u64)> = by_events.chain(by_sessions).collect();
    wanted.dedup();
    let mut sizes: Vec<Size> = Vec::new();
    for (events, sessions) in wanted {
        if sizes.iter().any(|size| (size.events, size.sessions) == (events, sessions)) {
            continue;
        }
        sizes.push(size(events, sessions)?);
    }
    let text = format!("{}\n\n{}", machine.line(), tables(&sizes));
    std::io::Write::write_all(&mut std::io::stdout(), text.as_bytes())?;
    if let Some(file) = &args.svg {
        std::fs::write(file, plot::svg(&machine, &sizes))?;
    }
    if let Some(file) = &args.json {
        std::fs::write(file, serde_json::to_string_pretty(&Growth { machine, sizes })?)?;
    }
    Ok(())
}

fn size(events: u64, sessions: u64) -> Result<Size, Failure> {
    let folder = tempfile::tempdir()?;
    let journal = folder.path().join("journal");
    let step = |step: &str| {
        let args = [
            "step".into(),
            "--journal".into(),
            journal.as_os_str().to_owned(),
            format!("--step={step}").into(),
            format!("--events={events}").into(),
            format!("--sessions={sessions}").into(),
        ];
        Running::start(args)
    };
    let begun = Instant::now();
    let mut child = step("fill")?;
    let filled: Filled = serde_json::from_str(&child.line()?)?;
    child.stop()?;
    progress(&format!(
        "{events} events in {sessions} sessions: recorded in {:.1?}, then {:.0} /s",
        begun.elapsed(),
        filled.append_per_s
    ));
    let look = || {
        let mut child = step("look")?;
        let looked: Looked = serde_json::from_str(&child.line()?)?;
        std::thread::sleep(BEFORE_KILL);
        child.kill()?;
        Ok::<_, Failure>(looked)
    };
    let (stopped, killed) = (look()?, look()?);
    progress(&format!(
        "  opened in {:.3} s after a stop, in {:.3} s after a kill",
        stopped.open_s, killed.open_s
    ));
    Ok(Size { events, sessions, filled, stopped, killed })
}

fn tables(sizes: &[Size]) -> String {
    let head = [
        "events",
        "sessions",
        "fill /s",
        "append /s",
        "open s",
        "open s, killed",
        "expand p50 ms",
        "p99 ms",
        "append p50 ms",
        "disk/payload",
        "idle MiB",
        "used MiB",
        "peak MiB",
    ];
    let rows = sizes.iter().map(|size| {
        vec![
            size.events.to_string(),
            size.sessions.to_string(),
            format!("{:.0}", size.filled.fill_per_s),
            format!("{:.0}", size.filled.append_per_s),
            format!("{:.3}", size.stopped.open_s),
            format!("{:.3}", size.killed.open_s),
            format!("{:.2}", size.stopped.expand_p50_ms),
            format!("{:.2}", size.stopped.expand_p99_ms),
            format!("{:.2}", size.stopped.append_p50_ms),
            format!("{:.2}", size.filled.disk_ratio),
            format!("{:.0}", size.stopped.idle_mib),
            format!("{:.0}", size.stopped.used_mib),
            format!("{:.0}", size.filled.peak_mib),
        ]
    });
    table(head, rows)
}
