//! Replies on their way out: encoded and published by one task, off the writer thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use async_nats::{Client, HeaderMap, Subject as NatsSubject};
use lacuna_verbs::Answer;
use lacuna_wire::{Code, Group, WireError};
use tokio::sync::{Mutex, mpsc};

use crate::micro::Micro;

/// An answer and where it goes.
pub(crate) struct Outgoing {
    to: Option<NatsSubject>,
    answer: Answer,
    group: Group,
    verb: String,
    since: Instant,
}

/// The place where answers are handed in. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Outbox {
    sender: mpsc::UnboundedSender<Outgoing>,
    in_flight: Arc<AtomicUsize>,
}

/// A request that waits for its answer; if the answer never comes, it says `unavailable`.
pub(crate) struct Pending {
    outbox: Outbox,
    to: Option<NatsSubject>,
    group: Group,
    verb: String,
    since: Instant,
    answered: bool,
}

impl Outbox {
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<Outgoing>) {
        // Unbounded on its own: every entry is a request in flight, and those are bounded.
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self { sender, in_flight: Arc::default() }, receiver)
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    pub(crate) fn pending(&self, to: Option<NatsSubject>, group: Group, verb: String) -> Pending {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        let since = Instant::now();
        Pending { outbox: self.clone(), to, group, verb, since, answered: false }
    }
}

impl Pending {
    pub(crate) fn answer(mut self, answer: Answer) {
        self.send(answer);
    }

    fn send(&mut self, answer: Answer) {
        self.answered = true;
        let verb = std::mem::take(&mut self.verb);
        let outgoing =
            Outgoing { to: self.to.take(), answer, group: self.group, verb, since: self.since };
        if self.outbox.sender.send(outgoing).is_err() {
            // The sending task has ended: the daemon is stopping and nobody waits any more.
            self.outbox.in_flight.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.answered {
            self.send(Box::new(|| {
                Err(WireError::new(
                    Code::Unavailable,
                    "the journal has failed; retry with the same command_id once it is back",
                ))
            }));
        }
    }
}

/// Encodes and publishes answers until every outbox is gone.
pub(crate) async fn publish(
    client: Client,
    mut answers: mpsc::UnboundedReceiver<Outgoing>,
    outbox_in_flight: Arc<AtomicUsize>,
    micro: Arc<Mutex<Micro>>,
) {
    while let Some(outgoing) = answers.recv().await {
        let result = (outgoing.answer)();
        let took = outgoing.since.elapsed();
        micro.lock().await.count(outgoing.group, &outgoing.verb, took, result.as_ref().err());
        if let Some(to) = outgoing.to {
            let max = client.server_info().max_payload;
            let result = match result {
                Ok(body) if max > 0 && body.len() > max => Err(too_large(body.len(), max)),
                other => other,
            };
            let sent = match result {
                Ok(body) => client.publish(to, body.into()).await,
                Err(error) => {
                    let (headers, body) = (headers(&error), error.body());
                    client.publish_with_headers(to, headers, body.into()).await
                }
            };
            if let Err(error) = sent {
                tracing::warn!(verb = outgoing.verb, %error, "a reply could not be sent");
            }
        }
        outbox_in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Outbox {
    pub(crate) fn counter(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.in_flight)
    }
}

/// The last resort for a reply that cannot travel: verbs make theirs fit, so this is rare.
fn too_large(given: usize, limit: usize) -> WireError {
    WireError::new(
        Code::TooLarge,
        format!(
            "the reply: {given} bytes are over the broker's limit of {limit}; what was asked has \
             happened, see history, or raise max_payload"
        ),
    )
}

fn headers(error: &WireError) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Service-Error-Code", error.code.number().to_string().as_str());
    // A header is one line; the body has the whole message.
    let line: String =
        error.message.chars().map(|c| if c.is_control() { ' ' } else { c }).take(500).collect();
    headers.insert("Nats-Service-Error", line.as_str());
    headers
}
