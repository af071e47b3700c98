//! Driving a system over NATS: so many requests in flight, each followed by the next as it is answered.
//! One subscription takes every reply, so that the driver costs little of the two cores.

use std::time::{Duration, Instant};

use async_nats::{Client, Subject, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt as _;

use crate::Failure;
use crate::timing::{Load, Timing, Watch};

/// How long a reply may take before the run is given up.
const PATIENCE: Duration = Duration::from_secs(30);
/// Where replies to messages go that are not timed.
const ASIDE: &str = "aside";

/// What is sent.
pub(crate) trait Traffic {
    /// Messages of one request, each with a reply of its own.
    const MESSAGES: usize;
    /// Events that one request records.
    const EVENTS: u64;
    /// A message that goes before the request of this number, if it needs one.
    fn before(&mut self, _number: u64) -> Option<(Subject, Bytes)> {
        None
    }
    /// One of the messages of the request of this number.
    fn message(&mut self, number: u64, part: usize) -> (Subject, Bytes);
    /// Whether a reply says that it was done.
    fn accepts(&self, reply: &[u8]) -> bool;
}

/// Requests on their way.
struct Slot {
    since: Instant,
    waiting: usize,
}

/// Drives until the load's time is over and every reply has come.
pub(crate) async fn drive(
    client: &Client,
    load: &Load,
    traffic: &mut impl Traffic,
) -> Result<Timing, Failure> {
    let inbox = client.new_inbox();
    let mut replies = client.subscribe(format!("{inbox}.*")).await?;
    let reply_to: Vec<Subject> =
        (0..load.in_flight).map(|slot| format!("{inbox}.{slot}").into()).collect();
    let mut sender = Sender { client, aside: format!("{inbox}.{ASIDE}").into(), next: 0 };
    let mut watch = Watch::start(load);
    let mut slots = Vec::with_capacity(load.in_flight);
    for reply in &reply_to {
        slots.push(sender.send(traffic, reply).await?);
    }
    let mut busy = load.in_flight;
    while busy > 0 {
        let reply = next(&mut replies).await?;
        if !traffic.accepts(&reply.payload) || reply.status.is_some() {
            return Err(refused(&reply).into());
        }
        let token = &reply.subject[inbox.len() + 1..];
        if token == ASIDE {
            continue;
        }
        let number: usize = token.parse()?;
        let slot = &mut slots[number];
        slot.waiting -= 1;
        if slot.waiting > 0 {
            continue;
        }
        let now = Instant::now();
        watch.done(slot.since, now, events(traffic));
        if watch.over(now) {
            busy -= 1;
        } else {
            *slot = sender.send(traffic, &reply_to[number]).await?;
        }
    }
    Ok(watch.finish())
}

struct Sender<'a> {
    client: &'a Client,
    aside: Subject,
    next: u64,
}

impl Sender<'_> {
    async fn send<T: Traffic>(&mut self, traffic: &mut T, to: &Subject) -> Result<Slot, Failure> {
        let number = self.next;
        self.next += 1;
        if let Some((subject, body)) = traffic.before(number) {
            self.client.publish_with_reply(subject, self.aside.clone(), body).await?;
        }
        let since = Instant::now();
        for part in 0..T::MESSAGES {
            let (subject, body) = traffic.message(number, part);
            self.client.publish_with_reply(subject, to.clone(), body).await?;
        }
        Ok(Slot { since, waiting: T::MESSAGES })
    }
}

fn events<T: Traffic>(_: &T) -> u64 {
    T::EVENTS
}

async fn next(replies: &mut Subscriber) -> Result<async_nats::Message, Failure> {
    let reply = tokio::time::timeout(PATIENCE, replies.next()).await;
    reply.map_err(|_| "no reply within 30 s")?.ok_or_else(|| "the connection is closed".into())
}

fn refused(reply: &async_nats::Message) -> String {
    let status = reply.status.map(|status| format!("{status}: ")).unwrap_or_default();
    format!("refused: {status}{}", String::from_utf8_lossy(&reply.payload))
}
