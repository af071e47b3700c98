//! What a retention run costs: removing a tenth of many spans, what appends notice of it meanwhile, and the
//! size of the file when nine tenths are gone.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lacuna_core::event::{Keep, LiveHandles, Match, Rule, Since};
use lacuna_core::retention::{Period, STREAM};
use lacuna_core::{Command, Contract, NewSpan, Open, SessionKey, SpanKind};
use lacuna_engine::{Journal, Options, Request, RunRequest};

use crate::Failure;
use crate::sample::span_of;

/// Bytes of one span, and spans of one command.
const SPAN_BYTES: usize = 512;
const COMMAND: usize = 100;
/// Spans of one session.
const SESSION: usize = 1_000;
/// Spans of a session to which single ones are appended.
const LONGEST: usize = 10_000;
/// How long appends are timed while nothing else happens.
const IDLE: Duration = Duration::from_secs(5);

/// How the spans to remove lie among the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Lie {
    /// One in ten of every session: every pack has to be rewritten.
    Scattered,
    /// One in ten sessions, whole.
    Sessions,
}

/// Measures and prints.
pub(crate) fn run(spans: usize, lie: Lie) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("journal");
    let journal = Arc::new(Journal::open(&path, Options::default())?);
    let begun = Instant::now();
    fill(&journal, spans, lie)?;
    say(&format!("{spans} spans of {SPAN_BYTES} bytes recorded in {:.1?}", begun.elapsed()));
    let idle = timed_appends(&journal, "idle", || std::thread::sleep(IDLE))?;
    let (before, written) = (size(&path)?, written_bytes()?);
    send(&journal, STREAM, policy(&["first"]))?;
    let begun = Instant::now();
    let (count, bytes) = unlimited_run(&journal)?;
    say(&format!(
        "removed {count} spans, {:.1} MB, in {:.1?}; {:.1} bytes written per byte removed; files {:.1} MB \
         before, {:.1} MB after",
        bytes as f64 / 1e6,
        begun.elapsed(),
        (written_bytes()? - written) as f64 / bytes as f64,
        before as f64 / 1e6,
        size(&path)? as f64 / 1e6,
    ));
    send(&journal, STREAM, policy(&["first", "second"]))?;
    let mut removed = Ok(Default::default());
    let begun = Instant::now();
    let during = timed_appends(&journal, "run", || removed = unlimited_run(&journal))?;
    say(&format!(
        "removed {} more spans in {:.1?} while {} single spans were appended: p50 {:.2} ms, p99 {:.2} ms \
         idle; p50 {:.2} ms, p99 {:.2} ms during the run; p99 ratio {:.2}",
        removed?.0,
        begun.elapsed(),
        during.count,
        idle.p50,
        idle.p99,
        during.p50,
        during.p99,
        during.p99 / idle.p99
    ));
    send(&journal, STREAM, policy(&["first", "second", "most"]))?;
    let begun = Instant::now();
    let (count, bytes) = unlimited_run(&journal)?;
    say(&format!(
        "removed {count} more spans, {:.1} MB, in {:.1?}",
        bytes as f64 / 1e6,
        begun.elapsed()
    ));
    let begun = Instant::now();
    journal.close()?;
    drop(journal);
    let quiet = size(&path)?;
    let copy = folder.path().join("copy");
    let reopened = Journal::open(&path, Options::default())?;
    let live = reopened.backup(&copy, |_| {})?.bytes;
    reopened.close()?;
    say(&format!(
        "quiet after {:.1?}: files {:.1} MB; values of its rows {:.1} MB; ratio {:.2}",
        begun.elapsed(),
        quiet as f64 / 1e6,
        live as f64 / 1e6,
        quiet as f64 / live as f64
    ));
    Ok(())
}

pub(crate) fn fill(journal: &Journal, spans: usize, lie: Lie) -> Result<(), Failure> {
    const THREADS: usize = 8;
    let sessions = spans.div_ceil(SESSION);
    std::thread::scope(|scope| {
        let fill = |thread: usize| {
            for session in (thread..sessions).step_by(THREADS) {
                let name = format!("s{session:05}");
                let open = Open {
                    window_tokens: 1_000_000,
                    reserve_ppm: 150_000,
                    contract: Contract::Enforce,
                    labels: Default::default(),
                };
                send(journal, &name, Command::Open(open))?;
                for from in (0..SESSION).step_by(COMMAND) {
                    let spans = (from..from + COMMAND).map(|n| {
                        let lot = match lie {
                            Lie::Scattered => n % 10,
                            Lie::Sessions => session % 10,
                        };
                        let label = match lot {
                            3 => "first",
                            5 => "second",
                            7 => "stays",
                            _ => "most",
                        };
                        span((session * SESSION + n) as u64, label)
                    });
                    send(journal, &name, Command::Append { spans: spans.collect() })?;
                }
            }
            Ok::<_, Failure>(())
        };
        let threads: Vec<_> =
            (0..THREADS).map(|thread| scope.spawn(move || fill(thread))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("it does not panic"))
    })
}

pub(crate) fn span(seed: u64, label: &str) -> NewSpan {
    let text = crate::text::text(seed, SPAN_BYTES);
    NewSpan {
        kind: SpanKind::ToolResult,
        labels: [("lot".to_owned(), label.to_owned())].into(),
        in_window: false,
        ..span_of(text.as_bytes())
    }
}

fn policy(lots: &[&str]) -> Command {
    let rule = |lot: &&str| Rule {
        id: (*lot).to_owned(),
        matches: Match {
            labels: [("lot".to_owned(), (*lot).to_owned())].into(),
            ..Match::default()
        },
        keep: Keep { period: Some((Period(0), Since::Recorded)), ..Keep::default() },
        notice: Period(0),
        live_handles: LiveHandles::Commit,
        residue: false,
    };
    Command::SetPolicy { rules: lots.iter().map(rule).collect() }
}

fn unlimited_run(journal: &Journal) -> Result<(u64, u64), Failure> {
    let request = RunRequest { unlimited: true, ..RunRequest::scheduled() };
    let tally = journal.run(&"bench".parse()?, request)?.0.tally;
    Ok((tally.removed_spans, tally.removed_bytes))
}

pub(crate) fn send(journal: &Journal, session: &str, command: Command) -> Result<(), Failure> {
    journal.execute(Request {
        session: SessionKey { tenant: "bench".parse()?, session: session.parse()? },
        principal: "bench".parse()?,
        command_id: None,
        expected_version: None,
        command,
    })?;
    Ok(())
}

/// Times of appends, in milliseconds.
struct Latency {
    count: usize,
    p50: f64,
    p99: f64,
}

/// Appends one span after the other to a session of its own while some work is done.
fn timed_appends(journal: &Journal, name: &str, work: impl FnOnce()) -> Result<Latency, Failure> {
    let done = AtomicBool::new(false);
    let times = std::thread::scope(|scope| {
        let appender = scope.spawn(|| {
            let (mut times, mut seed, mut session) = (Vec::new(), 1 << 40, String::new());
            while !done.load(Ordering::Relaxed) {
                // A session that filled the cache of states alone would measure that.
                if times.len() % LONGEST == 0 {
                    session = format!("{name}{:04}", times.len() / LONGEST);
                    let open = Open {
                        window_tokens: 1_000_000,
                        reserve_ppm: 150_000,
                        contract: Contract::Enforce,
                        labels: Default::default(),
                    };
                    send(journal, &session, Command::Open(open))?;
                }
                let spans = vec![span(seed, "fresh")];
                seed += 1;
                let begun = Instant::now();
                send(journal, &session, Command::Append { spans })?;
                times.push(begun.elapsed());
            }
            Ok::<_, Failure>(times)
        });
        work();
        done.store(true, Ordering::Relaxed);
        appender.join().expect("it does not panic")
    });
    let mut times = times?;
    times.sort();
    let at = |share: f64| {
        let index = (times.len() as f64 * share) as usize;
        times.get(index.min(times.len().saturating_sub(1))).map_or(0.0, |t| t.as_secs_f64() * 1e3)
    };
    Ok(Latency { count: times.len(), p50: at(0.5), p99: at(0.99) })
}

/// Bytes of all files of a folder.
fn size(folder: &Path) -> Result<u64, Failure> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}

/// Bytes that this process has had written to disks so far.
fn written_bytes() -> Result<u64, Failure> {
    let io = std::fs::read_to_string("/proc/self/io")?;
    let line = io.lines().find_map(|line| line.strip_prefix("write_bytes: "));
    Ok(line.ok_or("the system does not count what is written")?.trim().parse()?)
}

pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
