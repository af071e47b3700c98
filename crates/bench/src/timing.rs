//! How long things took.

use std::time::{Duration, Instant};

/// How hard a system is driven, and for how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    /// Requests in flight.
    pub(crate) in_flight: usize,
    /// Time before anything counts.
    pub(crate) warm_up: Duration,
    /// Time that counts.
    pub(crate) time: Duration,
}

/// Latencies, and how much was done in what time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Timing {
    pub(crate) latencies: Vec<Duration>,
    pub(crate) events: u64,
    pub(crate) took: Duration,
    /// Events that were recorded at any time, also before and after the time that counts.
    pub(crate) all: u64,
}

impl Timing {
    pub(crate) fn events_per_s(&self) -> f64 {
        self.events as f64 / self.took.as_secs_f64()
    }

    /// Adds what another worker has done in the same time.
    pub(crate) fn merge(&mut self, other: Self) {
        self.latencies.extend(other.latencies);
        self.events += other.events;
        self.took = self.took.max(other.took);
        self.all += other.all;
    }

    /// The latencies at these shares, in milliseconds.
    pub(crate) fn ms(&mut self, shares: [f64; 3]) -> [f64; 3] {
        self.latencies.sort_unstable();
        let last = self.latencies.len().saturating_sub(1);
        shares.map(|share| {
            let latency = self.latencies.get((last as f64 * share) as usize);
            latency.map_or(f64::NAN, |latency| latency.as_secs_f64() * 1e3)
        })
    }
}

/// Counts what is done between the end of the warm-up and the end of the load.
#[derive(Debug)]
pub(crate) struct Watch {
    begin: Instant,
    end: Instant,
    timing: Timing,
}

impl Watch {
    pub(crate) fn start(load: &Load) -> Self {
        let begin = Instant::now() + load.warm_up;
        Self { begin, end: begin + load.time, timing: Timing::default() }
    }

    /// Whether it is over.
    pub(crate) fn over(&self, now: Instant) -> bool {
        now >= self.end
    }

    /// Whether what is done now counts.
    pub(crate) fn counts(&self, now: Instant) -> bool {
        now >= self.begin && now < self.end
    }

    /// So many events are done, by a request sent then.
    pub(crate) fn done(&mut self, since: Instant, now: Instant, events: u64) {
        self.timing.all += events;
        if self.counts(now) {
            self.timing.latencies.push(now - since);
            self.timing.events += events;
            self.timing.took = now - self.begin;
        }
    }

    pub(crate) fn finish(self) -> Timing {
        self.timing
    }
}
