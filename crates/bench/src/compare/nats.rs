//! Systems behind the broker: Lacuna, JetStream, and an echo to see what the broker itself costs.

use std::path::Path;
use std::sync::Arc;

use async_nats::jetstream::{self, stream};
use async_nats::{Client, Subject};
use bytes::Bytes;
use serde_json::json;

use crate::broker::Broker;
use crate::process::{Processes, disk_bytes};
use crate::report::Row;
use crate::sample::{SESSION, SIDE_BY_SIDE, Sample};
use crate::timing::Load;
use crate::window::{Traffic, drive};
use crate::{Failure, daemon};

/// Spans of one request in the works with many.
pub(crate) const MANY: usize = 64;
/// Requests that are written before the time runs; they are sent again and again, to other sessions.
const BODIES: u64 = 4_096;

/// What an append says before its spans, and behind them.
const HEAD: &str = "{\"spans\":[";
const TAIL: &str = "]}";

/// Appends of `SPANS` spans each.
pub(crate) struct Appends<const SPANS: usize> {
    bodies: Vec<Bytes>,
    sessions: Vec<(Subject, Subject)>,
    open: Bytes,
}

impl<const SPANS: usize> Appends<SPANS> {
    pub(crate) fn new(sample: &Sample) -> Self {
        let bodies = BODIES / (SPANS as u64).min(64);
        let body = |number: u64| {
            let spans = (0..SPANS as u64).map(|n| {
                let content = sample.piece(number * SPANS as u64 + n);
                json!({ "role": "tool", "origin": "tool", "content": content }).to_string()
            });
            format!("{HEAD}{}{TAIL}", spans.collect::<Vec<_>>().join(",")).into()
        };
        Self {
            bodies: (0..bodies).map(body).collect(),
            sessions: Vec::new(),
            open: json!({ "window_tokens": 1_000_000_000_u64 }).to_string().into(),
        }
    }

    /// The session of a request, and whether it is its first.
    fn session(number: u64) -> (usize, bool) {
        let round = SIDE_BY_SIDE * (SESSION / SPANS as u64);
        let (rounds, within) = (number / round, number % round);
        ((rounds * SIDE_BY_SIDE + within % SIDE_BY_SIDE) as usize, within < SIDE_BY_SIDE)
    }
}

impl<const SPANS: usize> Traffic for Appends<SPANS> {
    const MESSAGES: usize = 1;
    const EVENTS: u64 = SPANS as u64;

    fn before(&mut self, number: u64) -> Option<(Subject, Bytes)> {
        let (session, first) = Self::session(number);
        while self.sessions.len() <= session {
            let name = format!("lacuna.v1.bench.worker.session.s{}", self.sessions.len());
            self.sessions.push((format!("{name}.open").into(), format!("{name}.append").into()));
        }
        first.then(|| (self.sessions[session].0.clone(), self.open.clone()))
    }

    fn message(&mut self, number: u64, _: usize) -> (Subject, Bytes) {
        let body = &self.bodies[(number % self.bodies.len() as u64) as usize];
        (self.sessions[Self::session(number).0].1.clone(), body.clone())
    }

    fn accepts(&self, reply: &[u8]) -> bool {
        !reply.starts_with(b"{\"error\"")
    }
}

/// Messages of a stream, `EACH` of them for a request.
struct Published<const EACH: usize> {
    sample: Vec<Bytes>,
    subjects: Vec<Subject>,
}

impl<const EACH: usize> Published<EACH> {
    fn new(sample: &Sample, subjects: &[&str]) -> Self {
        let piece = |number| Bytes::from(sample.piece(number).to_owned());
        Self {
            sample: (0..sample.len()).map(piece).collect(),
            subjects: subjects.iter().map(|subject| Subject::from(*subject)).collect(),
        }
    }
}

impl<const EACH: usize> Traffic for Published<EACH> {
    const MESSAGES: usize = EACH;
    const EVENTS: u64 = EACH as u64;

    fn message(&mut self, number: u64, part: usize) -> (Subject, Bytes) {
        let message = number as usize * EACH + part;
        let subject = &self.subjects[message % self.subjects.len()];
        (subject.clone(), self.sample[message % self.sample.len()].clone())
    }

    fn accepts(&self, reply: &[u8]) -> bool {
        !reply.starts_with(b"{\"error\"")
    }
}

/// Which work, at which load.
pub(crate) struct Job<'a> {
    pub(crate) work: &'a str,
    pub(crate) many: bool,
    pub(crate) load: Load,
    pub(crate) sample: &'a Arc<Sample>,
    pub(crate) program: &'a Path,
}

/// Lacuna: durable before the reply. `feed`: with its events published, too.
pub(crate) async fn lacuna(job: &Job<'_>, feed: bool) -> Result<Row, Failure> {
    let broker = Broker::start(job.program, None)?;
    let journal = broker.folder().join("journal");
    let child = daemon::start(&broker.url(), &journal, feed)?;
    let client = async_nats::connect(broker.url()).await?;
    let processes = Processes::of([broker.id(), child.id()]);
    let system = if feed { "lacuna-with-feed" } else { "lacuna" };
    let (mut row, payload) = if job.many {
        measure(job, system, &client, &processes, &mut Appends::<MANY>::new(job.sample)).await?
    } else {
        measure(job, system, &client, &processes, &mut Appends::<1>::new(job.sample)).await?
    };
    child.stop()?;
    row.disk_ratio = Some(disk_bytes(&journal)? as f64 / payload);
    Ok(row)
}

/// JetStream, with this `sync_interval` or as it ships.
pub(crate) async fn jetstream(job: &Job<'_>, sync: Option<&str>) -> Result<Row, Failure> {
    let broker = Broker::start(job.program, sync)?;
    let client = async_nats::connect(broker.url()).await?;
    let context = jetstream::new(client.clone());
    let config = stream::Config {
        name: "SPANS".into(),
        subjects: vec!["spans.*".into()],
        storage: stream::StorageType::File,
        ..Default::default()
    };
    context.create_stream(config).await?;
    let system = if sync.is_some() { "jetstream-always" } else { "jetstream-shipped" };
    let names: Vec<String> = (0..SIDE_BY_SIDE).map(|n| format!("spans.{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let processes = Processes::of([broker.id()]);
    let (mut row, payload) = if job.many {
        let mut traffic = Published::<MANY>::new(job.sample, &names);
        measure(job, system, &client, &processes, &mut traffic).await?
    } else {
        let mut traffic = Published::<1>::new(job.sample, &names);
        measure(job, system, &client, &processes, &mut traffic).await?
    };
    row.disk_ratio = Some(disk_bytes(&broker.store())? as f64 / payload);
    Ok(row)
}

/// A process that sends back what comes.
pub(crate) async fn echo(job: &Job<'_>) -> Result<Row, Failure> {
    let broker = Broker::start(job.program, None)?;
    let child = daemon::start_echo(&broker.url())?;
    let client = async_nats::connect(broker.url()).await?;
    let processes = Processes::of([broker.id(), child.id()]);
    let mut traffic = Published::<1>::new(job.sample, &["echo"]);
    let (row, _) = measure(job, "echo", &client, &processes, &mut traffic).await?;
    child.stop()?;
    Ok(row)
}

/// The row, and the bytes of payload that went into it.
async fn measure(
    job: &Job<'_>,
    system: &str,
    client: &Client,
    processes: &Processes,
    traffic: &mut impl Traffic,
) -> Result<(Row, f64), Failure> {
    let before = processes.cpu_seconds()?;
    let timing = drive(client, &job.load, traffic).await?;
    let used = processes.cpu_seconds()? - before;
    let all = timing.all as f64;
    let row = Row::new(job.work, system, job.load.in_flight, timing);
    let row = Row {
        cpu_us_per_event: Some(used * 1e6 / all),
        rss_mib: Some(processes.peak_mib()?),
        ..row
    };
    Ok((row, all * job.sample.piece(0).len() as f64))
}
