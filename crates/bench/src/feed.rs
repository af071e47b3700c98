//! How fast the relay publishes: a journal that the broker has nothing of, and then one event at a time.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lacuna_core::{Command, Contract, Open};
use lacuna_engine::{Journal, Options};
use lacuna_nats::{Access, FeedOptions};

use crate::Failure;
use crate::broker::Broker;
use crate::retention::{Lie, fill, say, send, span};

/// Single events whose way is timed.
const SINGLE: usize = 2_000;
/// How long one may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// Measures and prints.
pub(crate) async fn run(spans: usize, nats_server: &Path) -> Result<(), Failure> {
    let broker = Broker::start(nats_server, None)?;
    let path = broker.folder().join("journal");
    let journal = Arc::new(Journal::open(&path, Options::default())?);
    fill(&journal, spans, Lie::Sessions)?;
    let events = journal.head().seq;
    let access = Access::new(&broker.url(), "bench");
    let client = lacuna_nats::connect(&access).await?;
    let options = FeedOptions {
        max_age: Duration::from_secs(86_400),
        max_bytes: 8 << 30,
        place: path.join("journal.feed"),
    };
    let before = memory()?;
    let begun = Instant::now();
    let relay = lacuna_nats::relay(client, Arc::clone(&journal), options);
    let tell = relay.teller(&journal);
    let mut most = before;
    let until = |seq: u64, glance: Duration| {
        let tell = &tell;
        async move {
            let begun = Instant::now();
            while tell().published_seq < seq {
                if begun.elapsed() > PATIENCE {
                    return Err(Failure::from(format!("the feed is stuck: {:?}", tell())));
                }
                match glance {
                    // The runtime's clock is too coarse for one event.
                    Duration::ZERO => tokio::task::yield_now().await,
                    glance => tokio::time::sleep(glance).await,
                }
            }
            Ok(())
        }
    };
    for part in 1..=10 {
        until(events * part / 10, Duration::from_millis(5)).await?;
        most = most.max(memory()?);
    }
    let took = begun.elapsed();
    say(&format!(
        "{events} events published in {took:.2?}: {:.0} events/s; memory {before} MiB before, at most \
         {most} MiB meanwhile",
        events as f64 / took.as_secs_f64(),
    ));
    let open = Open {
        window_tokens: 1_000_000,
        reserve_ppm: 150_000,
        contract: Contract::Enforce,
        labels: Default::default(),
    };
    send(&journal, "single", Command::Open(open))?;
    let mut times = Vec::with_capacity(SINGLE);
    for n in 0..SINGLE {
        send(&journal, "single", Command::Append { spans: vec![span(n as u64, "single")] })?;
        // It is durable now; the way from here is the feed's.
        let begun = Instant::now();
        until(journal.head().seq, Duration::ZERO).await?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    say(&format!(
        "from durable to acknowledged by the stream, one at a time: p50 {:.2?}, p99 {:.2?}",
        times[SINGLE / 2],
        times[SINGLE * 99 / 100]
    ));
    relay.stop(Duration::from_secs(10)).await;
    journal.close()?;
    Ok(())
}

/// Memory of this process, in MiB.
fn memory() -> Result<u64, Failure> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()).ok_or("no VmRSS")?;
    Ok(kib.parse::<u64>()? >> 10)
}
