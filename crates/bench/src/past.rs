//! What the past of a long session costs: the state at any version, time and turn, and the story of a
//! span; and what the snapshots that make it cheap take of the file.

use std::io::Write as _;
use std::time::{Duration, Instant};

use lacuna_core::{
    Command, Contract, NewSpan, Open, Origin, Prune, PruneMode, Role, SessionKey, SpanId, Timestamp,
};
use lacuna_engine::{Journal, Moment, Options, Request, VerifyOptions};

use crate::Failure;
use crate::sample::span_of;

/// Spans of one append, and bytes of one span.
const COMMAND: u64 = 20;
const SPAN_BYTES: usize = 512;
/// A prune takes all but a few of the spans of some appends, some appends later.
const PRUNE: u64 = 10;
const LAG: u64 = 20;
/// How often each moment is looked at; the fastest counts, since others use the machine too.
const ROUNDS: usize = 3;

/// Measures and prints.
pub(crate) fn run(events: u64, moments: usize) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("journal");
    let journal = Journal::open(&path, Options::default())?;
    let begun = Instant::now();
    let (spans, prunes) = fill(&journal, events)?;
    let newest = journal.state(&session()?)?;
    say(&format!(
        "{} events: {spans} spans, {prunes} prunes, a window of {} entries; recorded in {:.1?}",
        newest.version,
        newest.window_len(),
        begun.elapsed()
    ));
    let verified = journal.verify(&VerifyOptions::default(), |_| {})?;
    let file = std::fs::metadata(path.join("journal.redb"))?.len();
    say(&format!(
        "{} snapshots, {:.1} MB; the file: {:.1} MB; {} faults",
        verified.snapshots,
        verified.snapshot_bytes as f64 / 1e6,
        file as f64 / 1e6,
        verified.faults.len()
    ));
    let first = |version: u64| {
        let events = journal.history(&session()?, version, 1)?;
        Ok::<_, Failure>(events.first().map_or(Timestamp(0), |event| event.at))
    };
    let versions: Vec<u64> = (0..moments as u64).map(|n| 1 + mix(n) % newest.version).collect();
    measure("at a version", &versions, |version| {
        let state = journal.state_until(&session()?, Moment::version(version))?;
        (state.version == version).then_some(()).ok_or_else(|| "another version".into())
    })?;
    let times: Vec<u64> =
        versions.iter().map(|v| first(*v).map(|at| at.0)).collect::<Result<_, _>>()?;
    measure("at a time", &times, |time| {
        let state = journal.state_until(&session()?, Moment::time(Timestamp(time)))?;
        (state.at.0 <= time).then_some(()).ok_or_else(|| "a later time".into())
    })?;
    measure("window at a version", &versions, |version| {
        let state = journal.state_until(&session()?, Moment::version(version))?;
        let (_, shown, _) = journal.window(&session()?, state, 0)?;
        (!shown.is_empty() || version == 1).then_some(()).ok_or_else(|| "an empty window".into())
    })?;
    let spans: Vec<u64> = (0..20).map(|n| mix(n) % spans).collect();
    measure("all events that name a span", &spans, |number| {
        let events = journal.naming(&newest, &id(number)?)?;
        (!events.is_empty()).then_some(()).ok_or_else(|| "no story".into())
    })?;
    drop(newest);
    journal.close()?;
    drop(journal);
    let mut cold = Vec::new();
    for version in versions.iter().take(10) {
        let journal = Journal::open(&path, Options::default())?;
        let begun = Instant::now();
        journal.state_until(&session()?, Moment::version(*version))?;
        cold.push(begun.elapsed());
    }
    report("the first question after a start", cold);
    Ok(())
}

fn measure(
    what: &str,
    moments: &[u64],
    look: impl Fn(u64) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut times = Vec::new();
    for moment in moments {
        let mut best = Duration::MAX;
        for _ in 0..ROUNDS {
            let begun = Instant::now();
            look(*moment)?;
            best = best.min(begun.elapsed());
        }
        times.push(best);
    }
    report(what, times);
    Ok(())
}

fn report(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    say(&format!(
        "{what}: {} times, median {:.1?}, p99 {:.1?}, worst {:.1?}",
        times.len(),
        at(0.5),
        at(0.99),
        at(1.0)
    ));
}

/// Records spans and prunes most of them some time later; how many of each.
fn fill(journal: &Journal, events: u64) -> Result<(u64, u64), Failure> {
    let open = Open {
        window_tokens: 10_000_000,
        reserve_ppm: 150_000,
        contract: Contract::Enforce,
        labels: Default::default(),
    };
    send(journal, Command::Open(open))?;
    let (mut spans, mut prunes, mut appends) = (0, 0, 0);
    while spans + prunes + 1 < events {
        let new = (spans..spans + COMMAND).map(|n| span(n, appends));
        send(journal, Command::Append { spans: new.collect() })?;
        spans += COMMAND;
        appends += 1;
        if appends % PRUNE == 0 && appends > LAG {
            let from = (appends - LAG) * COMMAND;
            // Every tenth stays.
            let ids = (from..from + PRUNE * COMMAND).filter(|n| n % 10 != 3).map(id);
            let prune = Prune {
                spans: ids.collect::<Result<_, _>>()?,
                mode: PruneMode::Drop,
                replace_with: None,
                accept_lossy: false,
                min_durability_ms: None,
                reason: None,
                dry_run: false,
            };
            send(journal, Command::Prune(prune))?;
            prunes += 1;
        }
    }
    Ok((spans, prunes))
}

fn id(number: u64) -> Result<SpanId, Failure> {
    Ok(format!("step-{number}").parse()?)
}

fn span(number: u64, turn: u64) -> NewSpan {
    let text = crate::text::text(number, SPAN_BYTES);
    NewSpan {
        id: id(number).ok(),
        role: Role::User,
        origin: Origin::User,
        turn: Some(turn),
        ..span_of(text.as_bytes())
    }
}

fn session() -> Result<SessionKey, Failure> {
    Ok(SessionKey { tenant: "bench".parse()?, session: "long".parse()? })
}

fn send(journal: &Journal, command: Command) -> Result<(), Failure> {
    journal.execute(Request {
        session: session()?,
        principal: "bench".parse()?,
        command_id: None,
        expected_version: None,
        command,
    })?;
    Ok(())
}

/// Scatters numbers: the same ones on every run.
fn mix(number: u64) -> u64 {
    let mut x = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
