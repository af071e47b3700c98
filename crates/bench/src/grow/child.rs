//! One journal of a certain size, in a process of its own.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lacuna_core::{Address, Command};
use lacuna_engine::{Journal, Options};
use serde::{Deserialize, Serialize};

use crate::Failure;
use crate::child::{say, wait_for_end};
use crate::fill::{Filler, at_least};
use crate::process::{Processes, disk_bytes};
use crate::sample::{Sample, key, request};

/// Spans of one timed stretch of appends, and how many stretches there are.
const STRETCH: u64 = 30_000;
const STRETCHES: usize = 7;
/// Spans that are looked up.
const LOOKED_UP: u64 = 400;
/// Sessions in use at a time, what is appended to each, and by how many clients.
const ACTIVE: u64 = 1_000;
const APPENDS_EACH: u64 = 16;
const CLIENTS: u64 = 16;
/// Bytes of one span.
pub(super) const SPAN_BYTES: usize = 1_024;
/// Sessions behind those that fill the journal.
const BESIDE: u64 = 10_000_000;

/// What to do with the journal.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Step {
    #[arg(long)]
    journal: PathBuf,
    #[arg(long, value_enum)]
    step: What,
    #[arg(long, default_value_t = 0)]
    events: u64,
    #[arg(long, default_value_t = 1)]
    sessions: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum What {
    /// Record the events, then more of them against the clock
    Fill,
    /// Open it, look at it, and go on appending until killed
    Look,
}

/// What filling has shown.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Filled {
    pub(super) seq: u64,
    pub(super) fill_per_s: f64,
    /// Of the appends behind it, the middle one of several stretches.
    pub(super) append_per_s: f64,
    pub(super) peak_mib: f64,
    /// Of the folder, once closed.
    pub(super) disk_ratio: f64,
}

/// What opening and looking has shown.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Looked {
    pub(super) open_s: f64,
    /// Memory when it has just been opened.
    pub(super) idle_mib: f64,
    pub(super) expand_p50_ms: f64,
    pub(super) expand_p99_ms: f64,
    pub(super) append_p50_ms: f64,
    /// The most memory until then, while [`ACTIVE`] sessions were appended to.
    pub(super) used_mib: f64,
}

/// In the child: does the step and prints what it has shown.
pub(crate) fn run(args: &Step) -> Result<(), Failure> {
    match args.step {
        What::Fill => say(&serde_json::to_string(&fill(args)?)?),
        What::Look => look(args)?,
    }
    Ok(())
}

fn fill(args: &Step) -> Result<Filled, Failure> {
    let sample = Sample::read(SPAN_BYTES)?;
    let journal = Journal::open(&args.journal, Options::default())?;
    let mut filler = Filler::new(&journal, &sample, 0, args.sessions);
    let (took, mut spans) = filler.record(args.events)?;
    let fill_per_s = spans as f64 / took.as_secs_f64();
    let mut rates = Vec::with_capacity(STRETCHES);
    // Sessions of a usual length, so that only the journal's own size differs.
    let mut beside = Filler::new(&journal, &sample, BESIDE, 1_000);
    for _ in 0..STRETCHES {
        let (took, more) = beside.record(STRETCH)?;
        rates.push(more as f64 / took.as_secs_f64());
        spans += more;
    }
    rates.sort_by(f64::total_cmp);
    let peak_mib = Processes::of([std::process::id()]).peak_mib()?;
    let seq = journal.close()?.seq;
    drop(journal);
    let disk = disk_bytes(&args.journal)?;
    let disk_ratio = disk as f64 / (spans * SPAN_BYTES as u64) as f64;
    Ok(Filled { seq, fill_per_s, append_per_s: rates[STRETCHES / 2], peak_mib, disk_ratio })
}

fn look(args: &Step) -> Result<(), Failure> {
    let own = Processes::of([std::process::id()]);
    let begun = Instant::now();
    let journal = Journal::open(&args.journal, Options::default())?;
    let open_s = begun.elapsed().as_secs_f64();
    let idle_mib = own.resident_mib();
    let each = at_least(args.events, args.sessions);
    forget(&args.journal)?;
    let mut expanded = Vec::new();
    for n in 0..LOOKED_UP.min(args.events) {
        let at = n * 7_919_999 % args.events.max(1);
        let session = key(at % args.sessions)?;
        let span: Address = format!("s{}", 1 + at / args.sessions % each).parse()?;
        // The state is there, as in a daemon that serves this session; the content is not.
        journal.state(&session)?;
        forget(&args.journal)?;
        let begun = Instant::now();
        let found = journal.expand(&session, &span, 0, u64::MAX)?;
        expanded.push(begun.elapsed());
        if found.content.is_none() {
            return Err(format!("{session} {span:?} is not there").into());
        }
    }
    let sample = Sample::read(SPAN_BYTES)?;
    let mut appended = Vec::new();
    for n in 0..200 {
        let spans = vec![sample.span(n)];
        let request = request(n % args.sessions, Command::Append { spans })?;
        let begun = Instant::now();
        journal.execute(request)?;
        appended.push(begun.elapsed());
    }
    active(&journal, &sample, args.sessions)?;
    let looked = Looked {
        open_s,
        idle_mib,
        expand_p50_ms: at(&mut expanded, 0.5),
        expand_p99_ms: at(&mut expanded, 0.99),
        append_p50_ms: at(&mut appended, 0.5),
        used_mib: own.peak_mib()?,
    };
    say(&serde_json::to_string(&looked)?);
    // It is killed in the middle of what comes now.
    std::thread::spawn(wait_for_end);
    let mut filler =
        Filler::new(&journal, &sample, 2 * BESIDE + looked.open_s.to_bits() % BESIDE, 50);
    loop {
        filler.record(STRETCH)?;
    }
}

/// Appends to as many sessions, of all over the journal, by turns and side by side.
fn active(journal: &Journal, sample: &Sample, sessions: u64) -> Result<(), Failure> {
    let work = |client: u64| -> Result<(), String> {
        for n in 0..APPENDS_EACH * ACTIVE / CLIENTS {
            let at = (n * CLIENTS + client) % ACTIVE * sessions / ACTIVE;
            let spans = vec![sample.span(n)];
            let request = request(at, Command::Append { spans }).map_err(|e| e.to_string())?;
            journal.execute(request).map_err(|error| error.to_string())?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> =
            (0..CLIENTS).map(|client| scope.spawn(move || work(client))).collect();
        clients.into_iter().try_for_each(|client| Ok(client.join().expect("it does not panic")?))
    })
}

/// Throws the journal's file out of the system's memory.
fn forget(journal: &Path) -> Result<(), Failure> {
    let file = File::open(journal.join("journal.redb"))?;
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
    Ok(())
}

fn at(times: &mut [Duration], share: f64) -> f64 {
    times.sort_unstable();
    let last = times.len().saturating_sub(1);
    times.get((last as f64 * share) as usize).map_or(f64::NAN, |t| t.as_secs_f64() * 1e3)
}
