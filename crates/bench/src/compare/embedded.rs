//! Libraries in one process: Lacuna's journal, SQLite, and a plain file as the limit. Each group of events
//! is made durable at once. Every measurement is a child of its own, so that memory and time are its own.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, bounded};
use lacuna_core::{Command, Content, NewSpan};
use lacuna_engine::{Done, EngineError, Journal, Options};
use rusqlite::Connection;

use super::transcripts::{self, Appends};
use crate::Failure;
use crate::child::{Running, say};
use crate::process::{Processes, disk_bytes};
use crate::report::Row;
use crate::sample::{SESSION, SIDE_BY_SIDE, Sample, open, request, send};
use crate::timing::{Load, Timing, Watch};

/// What to measure.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Embedded {
    #[arg(long, value_enum)]
    pub(crate) system: System,
    /// Events that become durable at once
    #[arg(long)]
    pub(crate) group: usize,
    /// Groups on their way at a time; only Lacuna takes more than one
    #[arg(long, default_value_t = 1)]
    pub(crate) groups: usize,
    /// Real transcripts instead, as many sessions side by side as there are groups
    #[arg(long, value_name = "DIR")]
    pub(crate) transcripts: Option<PathBuf>,
    #[arg(long)]
    pub(crate) warm_up_ms: u64,
    #[arg(long)]
    pub(crate) time_ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum System {
    Lacuna,
    SqliteFull,
    RawAppend,
}

impl System {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Lacuna => "lacuna",
            Self::SqliteFull => "sqlite-full",
            Self::RawAppend => "raw-append",
        }
    }
}

/// Starts a child that measures, and takes its row.
pub(crate) fn measure(
    system: System,
    group: usize,
    groups: usize,
    load: &Load,
) -> Result<Row, Failure> {
    let args = [
        "embedded".to_owned(),
        format!("--system={}", system.name()),
        format!("--group={group}"),
        format!("--groups={groups}"),
        format!("--warm-up-ms={}", load.warm_up.as_millis()),
        format!("--time-ms={}", load.time.as_millis()),
    ];
    let mut child = Running::start(args)?;
    let row = serde_json::from_str(&child.line()?)?;
    child.stop()?;
    Ok(row)
}

/// The same with the spans of real transcripts, of 64 sessions side by side where the system takes it.
pub(crate) fn measure_transcripts(
    system: System,
    folder: &Path,
    load: &Load,
) -> Result<Row, Failure> {
    let args = [
        "embedded".into(),
        format!("--system={}", system.name()).into(),
        "--group=1".into(),
        "--groups=64".into(),
        format!("--warm-up-ms={}", load.warm_up.as_millis()).into(),
        format!("--time-ms={}", load.time.as_millis()).into(),
        "--transcripts".into(),
        folder.as_os_str().to_owned(),
    ];
    let mut child = Running::start(args)?;
    let row = serde_json::from_str(&child.line()?)?;
    child.stop()?;
    Ok(row)
}

/// In the child: measures, and prints the row.
pub(crate) fn run(args: &Embedded) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let sample = Sample::read(1_024)?;
    let load = Load {
        in_flight: args.group * args.groups,
        warm_up: Duration::from_millis(args.warm_up_ms),
        time: Duration::from_millis(args.time_ms),
    };
    let own = Processes::of([std::process::id()]);
    if let Some(transcripts) = &args.transcripts {
        let row = of_transcripts(folder.path(), transcripts, &load, args, &own)?;
        say(&serde_json::to_string(&row)?);
        return Ok(());
    }
    let before = own.cpu_seconds()?;
    let timing = match args.system {
        System::Lacuna => lacuna(folder.path(), &sample, &load, args)?,
        System::SqliteFull => sqlite(folder.path(), &sample, &load, args.group)?,
        System::RawAppend => raw(folder.path(), &sample, &load, args.group)?,
    };
    let used = own.cpu_seconds()? - before;
    let all = timing.all as f64;
    let work = format!("embedded-{}", args.group);
    let row = Row {
        cpu_us_per_event: Some(used * 1e6 / all),
        rss_mib: Some(own.peak_mib()?),
        disk_ratio: Some(disk_bytes(folder.path())? as f64 / (all * sample.piece(0).len() as f64)),
        ..Row::new(&work, args.system.name(), load.in_flight, timing)
    };
    say(&serde_json::to_string(&row)?);
    Ok(())
}

/// The work with real transcripts, over and over under other names until the time is over.
fn of_transcripts(
    folder: &Path,
    transcripts: &Path,
    load: &Load,
    args: &Embedded,
    own: &Processes,
) -> Result<Row, Failure> {
    let sessions = transcripts::read(transcripts)?;
    let bytes = |appends: &Vec<Vec<NewSpan>>| {
        appends.iter().flatten().map(NewSpan::bytes).sum::<u64>() as f64
    };
    let before = own.cpu_seconds()?;
    let (timing, taken) = match args.system {
        System::Lacuna => lacuna_transcripts(folder, &sessions, load, args.groups)?,
        System::SqliteFull => {
            let mut db = database(folder)?;
            in_turn(&sessions, load, |session, spans| insert(&mut db, session, spans))?
        }
        System::RawAppend => {
            let mut file = File::create(folder.join("events"))?;
            in_turn(&sessions, load, |_, spans| {
                let contents: Vec<&[u8]> = spans.iter().map(content).collect();
                file.write_all(&contents.concat())?;
                Ok(rustix::fs::fdatasync(&file)?)
            })?
        }
    };
    let used = own.cpu_seconds()? - before;
    let payload: f64 = taken.iter().map(|&session| bytes(&sessions[session])).sum();
    Ok(Row {
        cpu_us_per_event: Some(used * 1e6 / timing.all as f64),
        rss_mib: Some(own.peak_mib()?),
        disk_ratio: Some(disk_bytes(folder)? as f64 / payload),
        ..Row::new("transcripts", args.system.name(), load.in_flight, timing)
    })
}

fn content(span: &NewSpan) -> &[u8] {
    match &span.content {
        Content::Bytes(bytes) => bytes,
        _ => &[],
    }
}

/// Session by session, each to its end; which ones were taken.
fn in_turn(
    sessions: &[Appends],
    load: &Load,
    mut record: impl FnMut(u64, &[NewSpan]) -> Result<(), Failure>,
) -> Result<(Timing, Vec<usize>), Failure> {
    let mut watch = Watch::start(load);
    let mut taken = Vec::new();
    while !watch.over(Instant::now()) {
        let session = taken.len() % sessions.len();
        for spans in &sessions[session] {
            let since = Instant::now();
            record(taken.len() as u64, spans)?;
            watch.done(since, Instant::now(), spans.len() as u64);
        }
        taken.push(session);
    }
    Ok((watch.finish(), taken))
}

/// Sessions side by side, each waiting for its answer before it goes on, as agents do.
fn lacuna_transcripts(
    folder: &Path,
    sessions: &[Appends],
    load: &Load,
    side_by_side: usize,
) -> Result<(Timing, Vec<usize>), Failure> {
    let journal = Journal::open(folder, Options::default())?;
    let mut watch = Watch::start(load);
    let (sender, answers) = bounded::<(usize, Answer)>(side_by_side);
    let mut taken = Vec::new();
    // Who is at which append of which session, under which name, and since when.
    let mut agents: Vec<(usize, u64, usize, Instant)> = Vec::new();
    let begin = |taken: &mut Vec<usize>| {
        let (session, name) = (taken.len() % sessions.len(), taken.len() as u64);
        taken.push(session);
        // What comes behind it is taken behind it.
        journal.submit(request(name, open())?, Box::new(drop))?;
        Ok::<_, Failure>((session, name, 0, Instant::now()))
    };
    let hand_in = |agent: usize, (session, name, at, _): (usize, u64, usize, Instant)| {
        let spans = sessions[session][at].clone();
        let sender = sender.clone();
        let answer = Box::new(move |answer| drop(sender.send((agent, answer))));
        journal.submit(request(name, Command::Append { spans })?, answer)?;
        Ok::<_, Failure>(())
    };
    for agent in 0..side_by_side {
        agents.push(begin(&mut taken)?);
        hand_in(agent, agents[agent])?;
    }
    let mut busy = side_by_side;
    while busy > 0 {
        let (agent, answer) = answers.recv()?;
        answer?;
        let (session, name, at, since) = agents[agent];
        let now = Instant::now();
        watch.done(since, now, sessions[session][at].len() as u64);
        agents[agent] = (session, name, at + 1, now);
        if at + 1 == sessions[session].len() {
            if watch.over(now) {
                busy -= 1;
                continue;
            }
            agents[agent] = begin(&mut taken)?;
        }
        hand_in(agent, agents[agent])?;
    }
    journal.close()?;
    Ok((watch.finish(), taken))
}

type Answer = Result<Done, EngineError>;

/// One append per group, to sessions in turn.
fn lacuna(folder: &Path, sample: &Sample, load: &Load, args: &Embedded) -> Result<Timing, Failure> {
    let journal = Journal::open(folder, Options::default())?;
    let mut watch = Watch::start(load);
    let mut waiting: VecDeque<(Instant, Receiver<Answer>)> = VecDeque::new();
    let turns = (SESSION / args.group as u64).max(1);
    let mut next = 0;
    loop {
        let now = Instant::now();
        if !watch.over(now) {
            let (turn, beside) = (next / SIDE_BY_SIDE, next % SIDE_BY_SIDE);
            let session = turn / turns * SIDE_BY_SIDE + beside;
            if turn % turns == 0 {
                send(&journal, session, open())?;
            }
            let first = next * args.group as u64;
            let spans = (first..first + args.group as u64).map(|n| sample.span(n)).collect();
            let (sender, receiver) = bounded(1);
            let since = Instant::now();
            journal.submit(
                request(session, Command::Append { spans })?,
                Box::new(move |answer| drop(sender.send(answer))),
            )?;
            waiting.push_back((since, receiver));
            next += 1;
        }
        if waiting.len() == args.groups || watch.over(now) {
            let Some((since, answer)) = waiting.pop_front() else { break };
            answer.recv()??;
            watch.done(since, Instant::now(), args.group as u64);
        }
    }
    journal.close()?;
    Ok(watch.finish())
}

fn database(folder: &Path) -> Result<Connection, Failure> {
    let db = Connection::open(folder.join("events.db"))?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "FULL")?;
    db.execute_batch(
        "CREATE TABLE events (seq INTEGER PRIMARY KEY, session INTEGER NOT NULL, payload BLOB NOT NULL)",
    )?;
    Ok(db)
}

const INSERT: &str = "INSERT INTO events (session, payload) VALUES (?1, ?2)";

/// The spans of one append, in one transaction.
fn insert(db: &mut Connection, session: u64, spans: &[NewSpan]) -> Result<(), Failure> {
    let transaction = db.transaction()?;
    for span in spans {
        transaction.prepare_cached(INSERT)?.execute((session as i64, content(span)))?;
    }
    Ok(transaction.commit()?)
}

/// One transaction per group, into a log that is synced with each.
fn sqlite(folder: &Path, sample: &Sample, load: &Load, group: usize) -> Result<Timing, Failure> {
    let mut db = database(folder)?;
    let mut watch = Watch::start(load);
    let mut next = 0;
    while !watch.over(Instant::now()) {
        let since = Instant::now();
        let transaction = db.transaction()?;
        {
            let mut insert = transaction.prepare_cached(INSERT)?;
            for _ in 0..group {
                insert.execute(((next % SIDE_BY_SIDE) as i64, sample.piece(next).as_bytes()))?;
                next += 1;
            }
        }
        transaction.commit()?;
        watch.done(since, Instant::now(), group as u64);
    }
    db.close().map_err(|(_, error)| error)?;
    Ok(watch.finish())
}

/// Nothing but the bytes.
fn raw(folder: &Path, sample: &Sample, load: &Load, group: usize) -> Result<Timing, Failure> {
    let mut file = File::create(folder.join("events"))?;
    let mut watch = Watch::start(load);
    let (mut next, mut buffer) = (0, Vec::new());
    while !watch.over(Instant::now()) {
        let since = Instant::now();
        buffer.clear();
        for _ in 0..group {
            buffer.extend_from_slice(sample.piece(next).as_bytes());
            next += 1;
        }
        file.write_all(&buffer)?;
        rustix::fs::fdatasync(&file)?;
        watch.done(since, Instant::now(), group as u64);
    }
    Ok(watch.finish())
}
