//! A closed loop: so many requests in flight, each followed by the next one as it is answered.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::Failure;
use crate::report::Row;

/// How much work.
pub(crate) struct Work {
    pub(crate) in_flight: usize,
    pub(crate) seconds: u64,
}

/// Runs `request` (given a number that no two calls share) in a closed loop and measures it.
pub(crate) async fn closed_loop<F, Fut>(
    system: &'static str,
    work: &Work,
    request: F,
) -> Result<Row, Failure>
where
    F: Fn(u64) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), Failure>> + Send,
{
    let request = Arc::new(request);
    let next = Arc::new(AtomicU64::new(0));
    let began = Instant::now();
    let end = began + Duration::from_secs(work.seconds);
    let mut workers = Vec::new();
    for _ in 0..work.in_flight {
        let (request, next) = (Arc::clone(&request), Arc::clone(&next));
        workers.push(tokio::spawn(async move {
            let mut latencies = Vec::new();
            while Instant::now() < end {
                let since = Instant::now();
                request(next.fetch_add(1, Ordering::Relaxed)).await?;
                latencies.push(since.elapsed());
            }
            Ok::<_, Failure>(latencies)
        }));
    }
    let mut latencies = Vec::new();
    for worker in workers {
        latencies.extend(worker.await??);
    }
    let took = began.elapsed().as_secs_f64();
    latencies.sort_unstable();
    let at = |share: f64| {
        let index = (latencies.len() as f64 * share) as usize;
        latencies
            .get(index.min(latencies.len().saturating_sub(1)))
            .map_or(0.0, |latency| latency.as_secs_f64() * 1e3)
    };
    Ok(Row {
        work: "one-per-request",
        system,
        in_flight: work.in_flight,
        events_per_s: latencies.len() as f64 / took,
        p50_ms: at(0.50),
        p99_ms: at(0.99),
    })
}
