//! Hours of ordinary work, and then more than it can take: whether latencies stay, memory and file reach a
//! plateau, no lag is left, and whether what is too much is answered `overloaded` and passes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_nats::Client;
use bytes::Bytes;
use futures_util::StreamExt as _;
use serde_json::{Value, json};

use crate::Failure;
use crate::broker::Broker;
use crate::daemon;
use crate::process::Processes;
use crate::retention::say;
use crate::text::text;
use crate::timing::Timing;

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The policy is run so often.
const RUN_EVERY: Duration = Duration::from_secs(20);
/// Lines of the table.
const LINES: u32 = 10;
/// Requests of the burst, sent without waiting for an answer.
const BURST: usize = 60_000;
/// A session's window is pruned behind so many spans.
const LIVE: u64 = 30;

/// What is asked of it.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Soak {
    /// Sessions at work
    #[arg(long, default_value_t = 2_000)]
    sessions: usize,
    /// Minutes of it
    #[arg(long, default_value_t = 10.0)]
    minutes: f64,
    /// Requests in a second, all sessions together
    #[arg(long, default_value_t = 200.0)]
    rate: f64,
    /// How long contents are kept: what is kept reaches a plateau soon
    #[arg(long, default_value = "60s")]
    keep: String,
    /// The broker's program
    #[arg(long, env = "LACUNA_NATS_SERVER", default_value = "nats-server")]
    nats_server: PathBuf,
}

/// One session, as its worker knows it.
struct Session {
    name: String,
    spans: u64,
    /// Spans before this one are pruned.
    pruned: u64,
    number: u64,
}

/// What happened since it was last asked for.
#[derive(Default)]
struct Counted {
    timing: Timing,
    refused: BTreeMap<String, u64>,
}

/// The figures of one line.
struct Line {
    p99: f64,
    memory: f64,
    file: u64,
}

/// Runs it and prints what became of it; an error if something did not stay as it was.
pub(crate) async fn run(args: &Soak) -> Result<(), Failure> {
    let broker = Broker::start(&args.nats_server, None)?;
    let journal = broker.folder().join("journal");
    let child = daemon::start(&broker.url(), &journal, true)?;
    let processes = Processes::of([child.id()]);
    let client = async_nats::connect(&broker.url()).await?;
    let rules = json!({ "rules": [{
        "id": "all", "match": {}, "keep": { "for": args.keep }, "live_handles": "commit",
    }] });
    ask(&client, "retention.policy-set", rules).await?;
    let counted = Arc::<Mutex<Counted>>::default();
    let tasks = begin(args, &client, &counted).await?;
    let runs = tokio::spawn(run_policy(client.clone()));

    say(
        "minute      answers/s  p50 ms  p99 ms  p99.9 ms  memory MiB  file MiB  grown MiB  lag events  refused",
    );
    let time = Duration::from_secs_f64(args.minutes * 60.0 / f64::from(LINES));
    let (mut lines, mut before) = (Vec::new(), size(&journal)?);
    for line in 1..=LINES {
        tokio::time::sleep(time).await;
        let Counted { mut timing, refused } =
            std::mem::take(&mut *counted.lock().unwrap_or_else(PoisonError::into_inner));
        let answers = timing.latencies.len() as f64 / time.as_secs_f64();
        let [p50, p99, p999] = timing.ms([0.5, 0.99, 0.999]);
        let (memory, now) = (processes.resident_mib(), size(&journal)?);
        let grown = now.saturating_sub(before);
        say(&format!(
            "{:6.1} {answers:14.0} {p50:7.2} {p99:7.2} {p999:9.2} {memory:11.0} {:9.1} {:10.1} {:11} {refused:>8?}",
            f64::from(line) * time.as_secs_f64() / 60.0,
            mib(now),
            mib(grown),
            lag(&client).await?,
        ));
        before = now;
        lines.push(Line { p99, memory, file: now });
    }
    for task in tasks {
        task.abort();
    }
    runs.abort();
    let mut faults = judged(&lines);
    let left = until_no_lag(&client).await?;
    if left > 0 {
        faults.push(format!("the feed is {left} events behind"));
    }
    faults.extend(burst(&client).await?);
    let stats = ask(&client, "journal.stats", json!({})).await?;
    let seq = stats["seq"].as_u64().unwrap_or(0);
    say(&format!(
        "{seq} events, {:.0} bytes of file for each",
        size(&journal)? as f64 / seq as f64
    ));
    let report = ask(&client, "journal.verify", json!({})).await?;
    if report["ok"] != true {
        faults.push(format!("the journal is not sound: {report}"));
    }
    child.stop()?;
    if faults.is_empty() {
        say("nothing has changed with time, and what was too much has passed");
        return Ok(());
    }
    Err(faults.join("; ").into())
}

/// What did not stay as it was, from the second third of the time to the last: in the first all begins.
fn judged(lines: &[Line]) -> Vec<String> {
    let third = lines.len() / 3;
    let mean = |lines: &[Line], of: fn(&Line) -> f64| {
        lines.iter().map(of).sum::<f64>() / lines.len().max(1) as f64
    };
    let (middle, last) = (&lines[third..2 * third], &lines[2 * third..]);
    let mut faults = Vec::new();
    let mut stays = |what: &str, of: fn(&Line) -> f64, most: f64| {
        let (middle, last) = (mean(middle, of), mean(last, of));
        say(&format!("{what}: {middle:.2} in the middle third, {last:.2} in the last"));
        if last > most * middle {
            faults.push(format!("{what} went from {middle:.2} to {last:.2}"));
        }
    };
    stays("p99 in ms", |line| line.p99, 2.0);
    stays("memory in MiB", |line| line.memory, 1.15);
    stays("file in MiB", |line| mib(line.file), 1.25);
    faults
}

/// Opens the sessions, and has each task work on its share of them at its share of the rate.
async fn begin(
    args: &Soak,
    client: &Client,
    counted: &Arc<Mutex<Counted>>,
) -> Result<Vec<tokio::task::JoinHandle<()>>, Failure> {
    let mut tasks = Vec::new();
    let each = args.sessions.div_ceil(64);
    let mut names: Vec<String> =
        (0..args.sessions).map(|number| format!("soak-{number}")).collect();
    let count = args.sessions.div_ceil(each);
    while !names.is_empty() {
        let mut sessions = Vec::new();
        for name in names.split_off(names.len().saturating_sub(each)) {
            let body = json!({ "window_tokens": 200_000, "contract": "record" });
            ask(client, &format!("session.{name}.open"), body).await?;
            sessions.push(Session { name, spans: 0, pruned: 0, number: tasks.len() as u64 });
        }
        let pause = Duration::from_secs_f64(count as f64 / args.rate);
        tasks.push(tokio::spawn(work(client.clone(), sessions, pause, Arc::clone(counted))));
    }
    Ok(tasks)
}

async fn work(
    client: Client,
    mut sessions: Vec<Session>,
    pause: Duration,
    counted: Arc<Mutex<Counted>>,
) {
    let mut ticks = tokio::time::interval(pause);
    // What was not done in its time is not made up for: else a slow moment would become a burst.
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for turn in 0_u64.. {
        ticks.tick().await;
        let place = (mixed(turn ^ sessions[0].number << 32) % sessions.len() as u64) as usize;
        let (verb, body) = sessions[place].next(turn);
        let subject = format!("session.{}.{verb}", sessions[place].name);
        let since = Instant::now();
        let answer = ask(&client, &subject, body).await;
        let mut counted = counted.lock().unwrap_or_else(PoisonError::into_inner);
        counted.timing.latencies.push(since.elapsed());
        if let Err(error) = answer {
            let error = error.to_string();
            let code = error.split(':').next().unwrap_or_default();
            *counted.refused.entry(code.to_owned()).or_default() += 1;
        }
    }
}

impl Session {
    /// What its worker asks next: mostly it appends, and looks around.
    fn next(&mut self, turn: u64) -> (&'static str, Value) {
        let dice = mixed(turn.wrapping_mul(31) ^ self.spans ^ self.number << 20);
        if self.spans > self.pruned + LIVE {
            let spans: Vec<String> = (self.pruned..self.pruned + LIVE / 2).map(named).collect();
            self.pruned += LIVE / 2;
            return ("prune", json!({ "spans": spans, "accept_lossy": true }));
        }
        let any = || named(dice / 100 % self.spans.max(1));
        match dice % 100 {
            0..10 if self.spans > 0 => ("expand", json!({ "span": any() })),
            10..18 => ("window", json!({})),
            18..22 => ("history", json!({ "from_version": 1 + dice / 100 % (self.spans + 1) })),
            22..25 if self.spans > 0 => ("durability", json!({ "spans": [any()] })),
            _ => {
                let one = |part: u64| {
                    let number = self.spans + part;
                    let content =
                        text(number ^ self.number << 32 ^ dice, 200 + (dice % 2_000) as usize);
                    json!({ "id": named(number), "role": "tool", "origin": "tool", "content": content })
                };
                let body = json!({ "spans": [one(0), one(1)] });
                self.spans += 2;
                ("append", body)
            }
        }
    }
}

/// A number that looks like chance, and comes again with the same one.
fn mixed(number: u64) -> u64 {
    let mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn named(number: u64) -> String {
    format!("x{number}")
}

/// Has the policy run as a daemon's own clock would, only more often.
async fn run_policy(client: Client) {
    loop {
        tokio::time::sleep(RUN_EVERY).await;
        if let Err(error) = ask(&client, "retention.run", json!({})).await {
            say(&format!("a run of the policy: {error}"));
        }
    }
}

/// Sends more than is taken, at once. Every request is answered, some with `overloaded`; and then all is
/// as it was.
async fn burst(client: &Client) -> Result<Vec<String>, Failure> {
    let quiet = paced(client).await?;
    let inbox = client.new_inbox();
    let mut replies = client.subscribe(inbox.clone()).await?;
    let content = text(7, 1_000);
    for number in 0..BURST {
        let span = json!({ "role": "user", "origin": "user", "content": content });
        let subject = subject(&format!("session.soak-{}.append", number % 50));
        let body = json!({ "spans": [span] }).to_string();
        client.publish_with_reply(subject, inbox.clone(), Bytes::from(body)).await?;
    }
    client.flush().await?;
    let (mut done, mut overloaded, mut others) = (0, 0, BTreeMap::<String, u64>::new());
    for _ in 0..BURST {
        let Ok(Some(reply)) = tokio::time::timeout(PATIENCE, replies.next()).await else { break };
        let reply: Value = serde_json::from_slice(&reply.payload)?;
        match reply["error"]["code"].as_str() {
            None => done += 1,
            Some("overloaded") => overloaded += 1,
            Some(other) => *others.entry(other.into()).or_default() += 1,
        }
    }
    let after = paced(client).await?;
    say(&format!(
        "a burst of {BURST}: {done} done, {overloaded} overloaded; p99 of single requests {quiet:.2} ms before, \
         {after:.2} ms behind it"
    ));
    let mut faults = Vec::new();
    if done + overloaded != BURST || !others.is_empty() {
        faults.push(format!(
            "of {BURST} requests {} got no answer or {others:?}",
            BURST - done - overloaded
        ));
    }
    if overloaded == 0 {
        faults.push("the burst was not too much: nothing was overloaded".into());
    }
    if after > 3.0 * quiet + 5.0 {
        faults.push(format!("p99 is {after:.2} ms behind the burst, {quiet:.2} before"));
    }
    Ok(faults)
}

/// The p99 of single requests, one after the other.
async fn paced(client: &Client) -> Result<f64, Failure> {
    let mut timing = Timing::default();
    for number in 0..500 {
        let span = json!({ "role": "user", "origin": "user", "content": text(number, 500) });
        let since = Instant::now();
        ask(client, "session.soak-0.append", json!({ "spans": [span] })).await?;
        timing.latencies.push(since.elapsed());
    }
    Ok(timing.ms([0.99; 3])[0])
}

async fn lag(client: &Client) -> Result<u64, Failure> {
    let stats = ask(client, "journal.stats", json!({})).await?;
    Ok(stats["feed"]["lag_events"].as_u64().unwrap_or(0))
}

async fn until_no_lag(client: &Client) -> Result<u64, Failure> {
    let until = Instant::now() + PATIENCE;
    loop {
        match lag(client).await? {
            left if left == 0 || Instant::now() > until => return Ok(left),
            _ => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

fn subject(what: &str) -> String {
    format!("lacuna.v1.soak.worker.{what}")
}

/// The reply; an error by its code.
async fn ask(client: &Client, what: &str, body: Value) -> Result<Value, Failure> {
    let body = Bytes::from(body.to_string());
    let request = async_nats::Request::new().payload(body).timeout(Some(PATIENCE));
    let reply = client.send_request(subject(what), request).await?;
    let reply: Value = serde_json::from_slice(&reply.payload)?;
    match reply["error"]["code"].as_str() {
        None => Ok(reply),
        Some(code) => Err(format!("{code}: {what}: {}", reply["error"]["message"]).into()),
    }
}

/// Bytes of the journal's files.
fn size(journal: &Path) -> Result<u64, Failure> {
    let mut bytes = 0;
    for name in ["journal.redb", "journal.log"] {
        bytes += std::fs::metadata(journal.join(name)).map_or(0, |meta| meta.len());
    }
    Ok(bytes)
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
