//! What the summary contract costs: extracting identifiers, and checking a summary of 100 claims over
//! 200 spans of 4 KiB as the writer does it, reading the stored copies back.

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use lacuna_core::{
    Claim, ClaimOrigin, ClaimSource, Command, Contract, Digest, Examiner, NewSpan, Open, Reply,
    SessionKey, SpanId, SpanKind, StoredClaims, Summarize, SummaryStatus, text,
};
use lacuna_engine::{Journal, Options, Request};

use crate::Failure;
use crate::sample::span_of;

const SPANS: usize = 200;
const SPAN_BYTES: usize = 4 << 10;
const CLAIMS: usize = 100;

/// Measures both and prints them. `folder`: real text to extract from besides.
pub(crate) fn run(folder: Option<&Path>, rounds: usize) -> Result<(), Failure> {
    let log: String = (0..4_096).map(line).collect();
    let prose: String = (0..256).map(|seed| crate::text::text(seed, SPAN_BYTES)).collect();
    extract("made-up log", &log, rounds);
    extract("made-up prose", &prose, rounds);
    if let Some(folder) = folder {
        let mut all = String::new();
        read_texts(folder, &mut all)?;
        extract("text of the folder", &all, rounds);
    }
    check(rounds)
}

fn extract(name: &str, text: &str, rounds: usize) {
    let mut found = 0;
    let times = (0..rounds).map(|_| {
        let begun = Instant::now();
        found = std::hint::black_box(text::anchors(std::hint::black_box(text)).count());
        begun.elapsed()
    });
    let time = median(times.collect());
    let rate = text.len() as f64 / 1e6 / time.as_secs_f64();
    say(&format!(
        "extract: {name}, {:.1} MB: {found} anchors, {rate:.0} MB/s",
        text.len() as f64 / 1e6
    ));
}

/// A line of a log, with identifiers as logs have them.
fn line(n: usize) -> String {
    format!(
        "2026-11-30T{:02}:{:02}:{:02}.{:03}Z ledger-{} {} request req-{:08x}-{:04x} to \
         https://ledger-{}.internal:54{:02}/v2/accounts/{} took {} ms, src/pool/mod.rs:{} retries={}\n",
        n / 3_600 % 24,
        n / 60 % 60,
        n % 60,
        n % 1_000,
        n % 7,
        if n.is_multiple_of(11) { "ERROR" } else { "INFO" },
        n.wrapping_mul(2_654_435_761),
        n % 65_536,
        n % 7,
        n % 100,
        10_000 + n,
        20 + n % 400,
        n % 900,
        n % 4,
    )
}

fn check(rounds: usize) -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let journal = Journal::open(&folder.path().join("journal"), Options::default())?;
    let key = SessionKey { tenant: "bench".parse()?, session: "contract".parse()? };
    let send = |command| {
        journal.execute(Request {
            session: key.clone(),
            principal: "bench".parse().expect("letters are a valid principal"),
            command_id: None,
            expected_version: None,
            command,
        })
    };
    let labels = Default::default();
    let contract = Contract::Enforce;
    send(Command::Open(Open { window_tokens: 1_000_000, reserve_ppm: 150_000, contract, labels }))?;
    let contents: Vec<String> = (0..SPANS).map(content).collect();
    let spans = contents.iter().enumerate().map(|(n, content)| span(n, content));
    send(Command::Append { spans: spans.collect() })?;
    let mut whole = Vec::new();
    for round in 0..rounds {
        let summarize = Command::Summarize(summary(&contents, round)?);
        let begun = Instant::now();
        let done = send(summarize)?;
        whole.push(begun.elapsed());
        match done.reply {
            Reply::Summarized(reply) if reply.status != SummaryStatus::Rejected => {}
            other => return Err(format!("the summary of the bench was refused: {other:?}").into()),
        }
    }
    let worst = whole.iter().max().copied().unwrap_or_default();
    let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
    say(&format!(
        "check: {CLAIMS} claims over {SPANS} spans of {SPAN_BYTES} bytes, copies read back, committed: \
         median {:.1} ms, worst {:.1} ms",
        milliseconds(median(whole)),
        milliseconds(worst)
    ));
    let state = journal.state(&key)?;
    let alone = (0..rounds).map(|round| {
        let summarize = summary(&contents, rounds + round)?;
        let begun = Instant::now();
        let mut examiner = Examiner::new(&state, &summarize);
        for index in examiner.wanted().to_vec() {
            examiner.see(&state, index, Ok(contents[index as usize].as_bytes()));
        }
        std::hint::black_box(examiner.finish(StoredClaims::default()));
        Ok(begun.elapsed())
    });
    let alone = median(alone.collect::<Result<_, Failure>>()?);
    say(&format!(
        "check: the examination of the contents alone, on one thread: median {:.1} ms",
        milliseconds(alone)
    ));
    journal.close()?;
    Ok(())
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn content(n: usize) -> String {
    let doubt = "I think other tenants are affected as well, but nobody has checked it.\n";
    let mut text: String = (0..).map(|i| line(n * 40 + i)).take(30).collect();
    text.truncate(SPAN_BYTES - doubt.len());
    text + doubt
}

fn span(n: usize, content: &str) -> NewSpan {
    NewSpan { id: Some(id(n)), kind: SpanKind::ToolResult, ..span_of(content.as_bytes()) }
}

fn id(n: usize) -> SpanId {
    format!("log_{n}").parse().expect("letters and digits are a valid span id")
}

/// Claims that each retell two lines of two spans.
fn summary(contents: &[String], round: usize) -> Result<Summarize, Failure> {
    let mut claims = Vec::with_capacity(CLAIMS);
    for n in 0..CLAIMS {
        let (a, b) = (2 * n % contents.len(), (2 * n + 1) % contents.len());
        let first = contents[a].lines().nth(3).ok_or("a span has lines")?;
        let second = contents[b].lines().nth(5).ok_or("a span has lines")?;
        let source = |n, quote: &str| ClaimSource { span: id(n), quote: Some(quote.to_owned()) };
        claims.push(Claim {
            text: format!("The ledger logged {first} and then {second}"),
            origin: ClaimOrigin::ToolOutput,
            sources: vec![source(a, first), source(b, second)],
        });
    }
    let text = format!("The logs were read, round {round}; requests went to the ledger.");
    let covers = (0..contents.len()).map(id).collect();
    Ok(Summarize { id: None, covers, digest: Digest::of(text.as_bytes()), text, claims })
}

fn read_texts(folder: &Path, all: &mut String) -> Result<(), Failure> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read_texts(&path, all)?;
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            all.push_str(&text);
        }
    }
    Ok(())
}
