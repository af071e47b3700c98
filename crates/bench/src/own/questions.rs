//! Questions, one after the other: what a worker waits for when it reads.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use async_nats::Client;
use serde_json::json;

use super::{Figure, LONG, SESSIONS, SHORT, SPANS, at, subject};
use crate::Failure;

/// How often each is asked.
const ROUNDS: u64 = 1_000;

/// Measures expands and windows beside echoes.
pub(super) async fn measure(client: &Client, journal: &Path) -> Result<Vec<Figure>, Failure> {
    let file = File::open(journal)?;
    let (mut echo, mut cold, mut hot) = (Vec::new(), Vec::new(), Vec::new());
    let mut disk = Vec::new();
    for session in 0..SESSIONS {
        // The sessions are in use; it is the contents that are cold.
        ask(client, &subject(session, "expand"), json!({ "handle": "s1" }).to_string()).await?;
    }
    for n in 0..ROUNDS {
        let span = 1 + n * 7_919 % (SPANS / 2);
        let body = json!({ "handle": format!("s{span}") }).to_string();
        // Read by nobody since the daemon was started.
        cold.push(ask(client, &subject(n % SESSIONS, "expand"), body.clone()).await?);
        // And out of the system's memory, so that the disk is asked.
        let other = json!({ "handle": format!("s{}", 1 + (span + 499) % (SPANS / 2)) }).to_string();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
        disk.push(ask(client, &subject((n + 7) % SESSIONS, "expand"), other).await?);
        hot.push(ask(client, &subject(n % SESSIONS, "expand"), body.clone()).await?);
        echo.push(ask(client, "echo", body).await?);
    }
    let (mut long, mut short) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS / 2 {
        long.push(ask(client, &subject(LONG, "window"), "{}".into()).await?);
        short.push(ask(client, &subject(SHORT, "window"), "{}".into()).await?);
    }
    let both = |times: &mut [Duration]| (at(times, 0.5), at(times, 0.99));
    let (echo, cold, hot) = (both(&mut echo), both(&mut cold), both(&mut hot));
    let disk = both(&mut disk);
    let (long, short) = (both(&mut long), both(&mut short));
    let ms = |(p50, p99): (f64, f64)| format!("p50 {p50:.3} ms, p99 {p99:.3} ms");
    Ok(vec![
        Figure::new("echo, one in flight", ms(echo)),
        Figure::new("expand, hot", ms(hot)),
        Figure::new("expand, cold", ms(cold)),
        Figure::new("expand, from the disk", ms(disk)),
        Figure::new("expand cold p99 / echo p99", format!("{:.2}", cold.1 / echo.1)),
        Figure::new("window of 200 entries, 401 events", ms(short)),
        Figure::new("window of 200 entries, 100,001 events", ms(long)),
        Figure::new("window long / short, p50", format!("{:.2}", long.0 / short.0)),
    ])
}

async fn ask(client: &Client, subject: &str, body: String) -> Result<Duration, Failure> {
    let since = Instant::now();
    let reply = client.request(subject.to_owned(), body.into()).await?;
    let took = since.elapsed();
    if reply.payload.starts_with(b"{\"error\"") {
        return Err(String::from_utf8_lossy(&reply.payload).into_owned().into());
    }
    Ok(took)
}
