//! The service: takes requests off the broker, hands them to the verbs, sends the answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_nats::{Client, Message, Subscriber};
use futures_util::StreamExt as _;
use futures_util::stream::SelectAll;
use lacuna_verbs::{Call, Job, Service};
use lacuna_wire::{Code, Group, Subject, WireError, find};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;

use crate::micro::{Micro, NAME, QUEUE};
use crate::replies::{Outbox, failure, publish};

/// Room for the subject, headers and protocol around a reply's payload.
const REPLY_MARGIN: usize = 1_024;
/// How long announcing readiness may take once connected.
const ROUND_TRIP: Duration = Duration::from_secs(10);

/// Refusals that may wait to be sent, beside the requests in flight.
const REFUSALS: usize = 65_536;
/// How long another daemon on the broker has to say so.
const OTHERS: Duration = Duration::from_millis(250);

/// Bounds of the service.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// Requests in flight; further ones are answered `overloaded`.
    pub in_flight: usize,
    /// Bytes of requests in flight, and of answers that wait to be sent.
    pub in_flight_bytes: usize,
    /// Questions that read the journal at the same time.
    pub readers: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { in_flight: 8_192, in_flight_bytes: 64 << 20, readers: 4 }
    }
}

/// How many threads the tasks that talk to the broker are best given: half the processors. The other half is
/// the journal's; and tasks that share a thread pass messages on without waking anybody.
pub fn worker_threads() -> usize {
    std::thread::available_parallelism().map_or(1, |processors| processors.get().div_ceil(2))
}

/// A service that is answering.
#[derive(Debug)]
pub struct Serving {
    stop: oneshot::Sender<Duration>,
    task: JoinHandle<()>,
}

impl Serving {
    /// Takes no more requests, waits for those in flight, up to a deadline, and sends their
    /// replies.
    pub async fn stop(self, deadline: Duration) {
        // Err: the task is gone already, and there is nothing left to stop.
        let _ = self.stop.send(deadline);
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the service task failed");
        }
    }
}

/// Begins to serve. Returns once the broker has the subscriptions: from then on requests arrive.
pub async fn serve(
    client: Client,
    service: Service,
    bounds: Bounds,
) -> Result<Serving, async_nats::Error> {
    alone(&client, service.journal().id()).await?;
    let mut requests = SelectAll::new();
    for pattern in Subject::patterns() {
        requests.push(client.queue_subscribe(pattern, QUEUE.to_owned()).await?);
    }
    let journal = service.journal().id().to_owned();
    let micro =
        Micro::new(journal, client.new_inbox().rsplit('.').next().unwrap_or(NAME).to_owned());
    let mut about = SelectAll::new();
    for subject in micro.subjects() {
        about.push(client.subscribe(subject).await?);
    }
    in_force(&client).await?;
    let micro = Arc::new(Mutex::new(micro));
    let (stop, stopped) = oneshot::channel();
    let intake = Intake {
        client,
        service,
        micro,
        readers: Arc::new(Semaphore::new(bounds.readers)),
        slow: Arc::new(Semaphore::new(1)),
        bounds,
        passed_over: AtomicU64::new(0),
    };
    // In each of its turns it takes all that has come: with a budget it would fall behind the connection,
    // which has a larger one, and requests would get lost.
    let task = tokio::spawn(tokio::task::unconstrained(intake.run(requests, about, stopped)));
    Ok(Serving { stop, task })
}

/// Whether an answer may be sent there. The daemon may publish where the sender may not: onto the feed, as
/// another principal, to the broker's own subjects. What is asked with such a reply is not carried out.
fn may_be_answered(reply: &async_nats::Subject) -> bool {
    let reply = reply.as_str();
    !reply.starts_with("lacuna.") && !reply.starts_with('$')
}

/// Refuses to serve beside a daemon with another journal: the broker would deal requests out to
/// either, and each would know half of the sessions.
async fn alone(client: &Client, journal: &str) -> Result<(), async_nats::Error> {
    in_force(client).await?;
    let inbox = client.new_inbox();
    let mut answers = client.subscribe(inbox.clone()).await?;
    client.publish_with_reply(format!("$SRV.INFO.{NAME}"), inbox, "".into()).await?;
    client.flush().await?;
    while let Ok(Some(answer)) = tokio::time::timeout(OTHERS, answers.next()).await {
        let info: serde_json::Value = serde_json::from_slice(&answer.payload).unwrap_or_default();
        let Some(other) = info["metadata"]["journal"].as_str() else { continue };
        if other != journal {
            return Err(format!(
                "a daemon with another journal ({other}) serves on this broker: stop it, or give \
                 each its own broker or account"
            )
            .into());
        }
    }
    Ok(())
}

/// Waits until the broker has processed everything sent before: it answers in order.
async fn in_force(client: &Client) -> Result<(), async_nats::Error> {
    let inbox = client.new_inbox();
    let mut echo = client.subscribe(inbox.clone()).await?;
    loop {
        client.publish(inbox.clone(), "".into()).await?;
        client.flush().await?;
        // A connection that breaks just now loses the message; it is sent again.
        if tokio::time::timeout(ROUND_TRIP, echo.next()).await.is_ok() {
            return Ok(());
        }
        tracing::info!("waiting for the broker");
    }
}

/// The most bytes of one reply, or of anything else that is sent.
pub(crate) fn max_reply(client: &Client) -> usize {
    client.max_payload().saturating_sub(REPLY_MARGIN)
}

struct Intake {
    client: Client,
    service: Service,
    micro: Arc<Mutex<Micro>>,
    readers: Arc<Semaphore>,
    /// For questions that read the whole journal: they must not keep the others waiting.
    slow: Arc<Semaphore>,
    bounds: Bounds,
    /// Requests that got no answer.
    passed_over: AtomicU64,
}

impl Intake {
    async fn run(
        self,
        mut requests: SelectAll<Subscriber>,
        mut about: SelectAll<Subscriber>,
        mut stopped: oneshot::Receiver<Duration>,
    ) {
        let (outbox, answers) = Outbox::new();
        let load = Arc::clone(outbox.load());
        let sending =
            tokio::spawn(publish(self.client.clone(), answers, load, Arc::clone(&self.micro)));
        let deadline = loop {
            tokio::select! {
                biased;
                deadline = &mut stopped => break deadline.unwrap_or_default(),
                message = requests.next() => match message {
                    Some(message) => self.take(message, &outbox),
                    None => break Duration::ZERO,
                },
                Some(message) = about.next() => self.about(message).await,
            }
        };
        for subscription in requests.iter_mut() {
            // Best effort: what still arrives is answered by whoever serves next.
            drop(subscription.unsubscribe().await);
        }
        let until = tokio::time::Instant::now() + deadline;
        // What was delivered before the broker saw the unsubscription is still carried out.
        while let Ok(Some(message)) = tokio::time::timeout_at(until, requests.next()).await {
            self.take(message, &outbox);
        }
        while outbox.load().requests() > 0 && tokio::time::Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        drop(outbox);
        drop(tokio::time::timeout_at(until, sending).await);
        drop(tokio::time::timeout_at(until, self.client.flush()).await);
    }

    async fn about(&self, message: Message) {
        let Some(reply) = message.reply.filter(may_be_answered) else { return };
        let body = self.micro.lock().answer(&message.subject);
        if let Err(error) = self.client.publish(reply, body.into()).await {
            tracing::warn!(%error, "a service answer could not be sent");
        }
    }

    /// Leaves a request without an answer: whoever sent it waits for nothing and sends it again.
    fn pass_over(&self) {
        let count = self.passed_over.fetch_add(1, Ordering::Relaxed) + 1;
        if count.is_power_of_two() {
            let why = "so many refusals wait to be sent that requests get no answer at all";
            tracing::error!(count, "{why}");
        }
    }

    /// Hands one request on. Never waits: commands reach the writer in the order of arrival.
    fn take(&self, message: Message, outbox: &Outbox) {
        if message.reply.as_ref().is_some_and(|reply| !may_be_answered(reply)) {
            let (subject, reply) = (message.subject.as_str(), message.reply.as_deref());
            tracing::warn!(
                subject,
                reply,
                "a request wants its answer where others would take it for ours"
            );
            return;
        }
        let load = Arc::clone(outbox.load());
        let bytes = message.payload.len();
        let subject = match Subject::parse(&message.subject) {
            Ok(subject) => subject,
            Err(error) => {
                let pending = outbox.pending(message.reply, Group::Session, "", bytes);
                return pending.answer(failure(WireError::bad_request(error.to_string())));
            }
        };
        let silent = message.reply.is_none();
        if silent {
            tracing::debug!(subject = %message.subject, "a request without a reply subject");
        }
        let group = subject.target.group();
        let limit = self.bounds.in_flight_bytes;
        // One request larger than the limit still passes when nothing else is in flight.
        let heavy = load.request_bytes() > 0 && load.request_bytes() + bytes > limit;
        let full = load.requests() >= self.bounds.in_flight || heavy;
        if load.requests() >= self.bounds.in_flight + REFUSALS {
            return self.pass_over();
        }
        let verb = find(group, &subject.verb).map_or("", |verb| verb.name);
        let pending = outbox.pending(message.reply, group, verb, bytes);
        if full {
            let message = "too many requests are in flight: try again in a moment";
            return pending.answer(failure(WireError::new(Code::Overloaded, message)));
        }
        let call =
            Call { subject: &subject, body: &message.payload, max_reply: max_reply(&self.client) };
        let job = self.service.call(call, Box::new(move |answer| pending.answer(answer)));
        let Some(Job { acts, slow, run }) = job else { return };
        if silent && !acts {
            // A question that nobody waits for is not worth reading the journal.
            return drop(run);
        }
        let lane = Arc::clone(if slow { &self.slow } else { &self.readers });
        tokio::spawn(async move {
            let Ok(permit) = lane.acquire_owned().await else { return };
            // Answers wait in memory until the broker takes them: no more are made until it does.
            while load.answer_bytes() > limit {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            let done = tokio::task::spawn_blocking(move || {
                run();
                drop(permit);
            });
            if let Err(error) = done.await {
                tracing::error!(%error, "a question failed");
            }
        });
    }
}
