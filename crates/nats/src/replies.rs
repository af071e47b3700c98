//! Replies on their way out: encoded and published by one task, off the journal's threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use async_nats::{Client, HeaderMap, Subject as NatsSubject};
use lacuna_verbs::Answer;
use lacuna_wire::{Code, Group, WireError};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::micro::Micro;

/// A reply from this size on is flushed before the next one is sent.
const LARGE: usize = 64 << 10;

/// Answers that are taken at once.
const TOGETHER: usize = 256;

/// An answer and where it goes.
pub(crate) struct Outgoing {
    to: Option<NatsSubject>,
    answer: Answer,
    group: Group,
    verb: &'static str,
    since: Instant,
}

/// The place where answers are handed in. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Outbox {
    sender: mpsc::UnboundedSender<Outgoing>,
    load: Arc<Load>,
}

/// What the service holds at a time.
#[derive(Debug, Default)]
pub(crate) struct Load {
    /// Requests that wait for their answer to be sent.
    requests: AtomicUsize,
    /// Bytes of those requests, until their answer is handed in.
    request_bytes: AtomicUsize,
    /// Bytes of answers that wait to be sent.
    answer_bytes: AtomicUsize,
}

impl Load {
    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }

    pub(crate) fn request_bytes(&self) -> usize {
        self.request_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn answer_bytes(&self) -> usize {
        self.answer_bytes.load(Ordering::Relaxed)
    }
}

/// A request that waits for its answer; if the answer never comes, it says `unavailable`.
pub(crate) struct Pending {
    outbox: Outbox,
    to: Option<NatsSubject>,
    group: Group,
    verb: &'static str,
    since: Instant,
    bytes: usize,
    answered: bool,
}

impl Outbox {
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<Outgoing>) {
        // Unbounded on its own: every entry is a request in flight or a refusal, and those are bounded.
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self { sender, load: Arc::default() }, receiver)
    }

    pub(crate) fn load(&self) -> &Arc<Load> {
        &self.load
    }

    /// A request of this many bytes is taken in.
    pub(crate) fn pending(
        &self,
        to: Option<NatsSubject>,
        group: Group,
        verb: &'static str,
        bytes: usize,
    ) -> Pending {
        self.load.requests.fetch_add(1, Ordering::Relaxed);
        self.load.request_bytes.fetch_add(bytes, Ordering::Relaxed);
        let since = Instant::now();
        Pending { outbox: self.clone(), to, group, verb, since, bytes, answered: false }
    }
}

impl Pending {
    pub(crate) fn answer(mut self, answer: Answer) {
        self.send(answer);
    }

    fn send(&mut self, answer: Answer) {
        self.answered = true;
        let load = &self.outbox.load;
        load.request_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        load.answer_bytes.fetch_add(answer.held, Ordering::Relaxed);
        let held = answer.held;
        let Self { group, verb, since, .. } = *self;
        let outgoing = Outgoing { to: self.to.take(), answer, group, verb, since };
        if self.outbox.sender.send(outgoing).is_err() {
            // The sending task has ended: the daemon is stopping and nobody waits any more.
            self.outbox.load.requests.fetch_sub(1, Ordering::Relaxed);
            self.outbox.load.answer_bytes.fetch_sub(held, Ordering::Relaxed);
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.answered {
            self.send(failure(WireError::new(
                Code::Unavailable,
                "the journal has failed; retry with the same command_id once it is back",
            )));
        }
    }
}

/// Encodes and publishes answers until every outbox is gone.
pub(crate) async fn publish(
    client: Client,
    mut answers: mpsc::UnboundedReceiver<Outgoing>,
    load: Arc<Load>,
    micro: Arc<Mutex<Micro>>,
) {
    let mut together = Vec::with_capacity(TOGETHER);
    while answers.recv_many(&mut together, TOGETHER).await > 0 {
        for outgoing in together.drain(..) {
            send(&client, outgoing, &load, &micro).await;
        }
    }
}

async fn send(client: &Client, outgoing: Outgoing, load: &Load, micro: &Mutex<Micro>) {
    let (held, encode) = (outgoing.answer.held, outgoing.answer.encode);
    // One answer that cannot be encoded must not end all others.
    let result = catch_unwind(AssertUnwindSafe(encode)).unwrap_or_else(|_| {
        Err(WireError::new(Code::Unavailable, "the reply could not be made; see the log"))
    });
    let took = outgoing.since.elapsed();
    micro.lock().count(outgoing.group, outgoing.verb, took, result.as_ref().err());
    if let Some(to) = outgoing.to {
        let max = client.max_payload();
        let result = match result {
            Ok(body) if body.len() > max => Err(too_large(body.len(), max)),
            other => other,
        };
        let sent = match result {
            Ok(body) => client.publish(to, body.into()).await,
            Err(error) => {
                // Headers count, too.
                let error = error.within(max - max / 4);
                let (headers, body) = (headers(&error), error.body());
                client.publish_with_headers(to, headers, body.into()).await
            }
        };
        if held > LARGE {
            // The client library bounds its backlog in messages, not in bytes.
            drop(client.flush().await);
        }
        if let Err(error) = sent {
            tracing::warn!(verb = outgoing.verb, %error, "a reply could not be sent");
        }
    }
    load.requests.fetch_sub(1, Ordering::Relaxed);
    load.answer_bytes.fetch_sub(held, Ordering::Relaxed);
}

/// An answer that is an error.
pub(crate) fn failure(error: WireError) -> Answer {
    Answer { held: 0, encode: Box::new(move || Err(error)) }
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
