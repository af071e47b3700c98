//! Prune directives at a pace, beside appends at another: what a decision waits for under load.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use async_nats::Client;
use futures_util::StreamExt as _;
use serde_json::json;
use tokio::time::MissedTickBehavior;

use super::{Figure, SESSIONS, SPANS, at, subject};
use crate::Failure;
use crate::sample::Sample;

/// In each millisecond.
const APPENDS: u64 = 5;
/// Sessions that the appends go to: others than those that are pruned. As agents end and begin, they go on
/// in others after a while.
const FIRST: u64 = 100_000;
const AT_A_TIME: u64 = 40;
const A_WHILE: u64 = 1_000;

/// The session of an append in this millisecond.
fn appended_to(tick: u64, n: u64) -> u64 {
    FIRST + tick / A_WHILE * AT_A_TIME + (tick * APPENDS + n) % AT_A_TIME
}

/// What is timed beside the appends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Timed {
    Echo,
    Prune,
}

/// Measures prunes and echoes, each beside the same appends.
pub(super) async fn measure(client: &Client, time: Duration) -> Result<Vec<Figure>, Failure> {
    let millis = time.as_millis() as u64;
    for session in FIRST..=appended_to(millis + A_WHILE, AT_A_TIME) + AT_A_TIME {
        let body = json!({ "window_tokens": 1_000_000_000_u64 }).to_string();
        client.request(subject(session, "open"), body.into()).await?;
    }
    // Those that are pruned are in use, too.
    let span = json!({ "role": "tool", "origin": "tool", "content": "in use" });
    let body = json!({ "spans": [span] }).to_string();
    for session in 0..SESSIONS {
        client.request(subject(session, "append"), body.clone().into()).await?;
    }
    // Prunes take the spans of the second half, one after the other; the first half is for expands.
    let (mut echo, mut beside_echo) = beside(client, time, Timed::Echo).await?;
    let (mut prune, mut appended) = beside(client, time, Timed::Prune).await?;
    let (echo, prune) =
        ((at(&mut echo, 0.5), at(&mut echo, 0.99)), (at(&mut prune, 0.5), at(&mut prune, 0.99)));
    let append = (at(&mut appended, 0.5), at(&mut appended, 0.99));
    let alone = (at(&mut beside_echo, 0.5), at(&mut beside_echo, 0.99));
    let ms = |(p50, p99): (f64, f64)| format!("p50 {p50:.2} ms, p99 {p99:.2} ms");
    Ok(vec![
        Figure::new("echo, 1,000/s beside 5,000 appends/s", ms(echo)),
        Figure::new("append meanwhile", ms(alone)),
        Figure::new("prune, 1,000/s beside 5,000 appends/s", ms(prune)),
        Figure::new("append meanwhile (prunes)", ms(append)),
        Figure::new(
            "(prune p99 - append p99) / echo p99",
            format!("{:.2}", (prune.1 - alone.1) / echo.1),
        ),
    ])
}

/// Sends at a pace and collects what is answered: the latencies of what is timed, and of the appends.
async fn beside(
    client: &Client,
    time: Duration,
    timed: Timed,
) -> Result<(Vec<Duration>, Vec<Duration>), Failure> {
    let sample = Sample::read(1_024)?;
    let inbox = client.new_inbox();
    let mut replies = client.subscribe(format!("{inbox}.*")).await?;
    let mut ticks = tokio::time::interval(Duration::from_millis(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut sent: HashMap<u64, Instant> = HashMap::new();
    let (mut times, mut appended) = (Vec::new(), Vec::new());
    let (mut number, mut tick) = (0_u64, 0_u64);
    let end = Instant::now() + time;
    loop {
        tokio::select! {
            _ = ticks.tick(), if Instant::now() < end => {
                let half = SPANS / 2;
                // Each span once: there are no more prunes than spans.
                let (session, span) = (tick % SESSIONS, half + 1 + tick / SESSIONS);
                let (to, body) = match timed {
                    Timed::Echo => ("echo".to_owned(), "{}".to_owned()),
                    Timed::Prune => {
                        (subject(session, "prune"), json!({ "spans": [format!("s{span}")] }).to_string())
                    }
                };
                if timed == Timed::Echo || span <= SPANS {
                    let reply = format!("{inbox}.{}", 2 * number);
                    sent.insert(2 * number, Instant::now());
                    client.publish_with_reply(to, reply, body.into()).await?;
                    number += 1;
                }
                for n in 0..APPENDS {
                    let piece = sample.piece(tick * APPENDS + n);
                    let span = json!({ "role": "tool", "origin": "tool", "content": piece });
                    let body = json!({ "spans": [span] }).to_string();
                    let reply = format!("{inbox}.{}", 2 * number + 1);
                    let to = subject(appended_to(tick, n), "append");
                    sent.insert(2 * number + 1, Instant::now());
                    client.publish_with_reply(to, reply, body.into()).await?;
                    number += 1;
                }
                tick += 1;
            }
            Some(reply) = replies.next() => {
                if reply.payload.starts_with(b"{\"error\"") {
                    return Err(String::from_utf8_lossy(&reply.payload).into_owned().into());
                }
                let token: u64 = reply.subject[inbox.len() + 1..].parse()?;
                let since = sent.remove(&token).ok_or("a reply to nothing")?;
                if token.is_multiple_of(2) { &mut times } else { &mut appended }.push(since.elapsed());
            }
            () = tokio::time::sleep(Duration::from_secs(5)), if Instant::now() >= end => break,
        }
        if sent.is_empty() && Instant::now() >= end {
            break;
        }
    }
    if !sent.is_empty() {
        return Err(format!("{} requests were not answered", sent.len()).into());
    }
    Ok((times, appended))
}
