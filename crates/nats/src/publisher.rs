//! Messages sent to a subject that is not Lacuna's own: sending says nothing about arriving, so from time
//! to time the broker is made to answer behind them.

use std::time::Duration;

use async_nats::{Client, Event, HeaderMap, Request, RequestErrorKind, ServerError};
use lacuna_wire::{MESSAGE_ID, MessageId};
use tokio::sync::watch;

use crate::access::Access;
use crate::connect::{ConnectError, options};

/// How long the broker may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The client library tells what the broker refuses beside its answers, not before them.
const BESIDE: Duration = Duration::from_millis(20);

/// Why messages do not arrive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// The broker does not take them.
    #[error("the broker refuses what is sent to {subject}: {why}")]
    Refused {
        /// Where to.
        subject: String,
        /// What it said.
        why: String,
    },
    /// The connection broke: what was on its way may be lost.
    #[error("the connection to the broker broke")]
    Away,
    /// The broker says nothing.
    #[error("the broker has not answered for {} seconds", PATIENCE.as_secs())]
    Silent,
    /// The client library did not send it.
    #[error("not sent: {0}")]
    NotSent(String),
}

/// What was heard beside the answers.
#[derive(Debug, Clone, Default)]
struct Heard {
    refused: Option<String>,
    away: bool,
    /// The fence was refused, which is an answer as well.
    fenced: bool,
}

/// Sends messages to one subject, in order.
#[derive(Debug)]
pub struct Publisher {
    client: Client,
    subject: String,
    heard: watch::Receiver<Heard>,
    /// A subject that nobody listens to: the answer to what is sent there comes behind all else.
    fence: String,
}

impl Publisher {
    /// Connects once; fails if nobody answers.
    pub async fn connect(access: &Access, subject: &str) -> Result<Self, ConnectError> {
        let (tell, heard) = watch::channel(Heard::default());
        let (known, fence) = watch::channel(String::new());
        let options = options(access)?.event_callback(move |event| {
            tell.send_modify(|heard| match &event {
                Event::ServerError(ServerError::SlowConsumer(_)) => {}
                Event::ServerError(error) => {
                    let (why, fence) = (error.to_string(), fence.borrow());
                    match !fence.is_empty() && why.contains(fence.as_str()) {
                        true => heard.fenced = true,
                        false => drop(heard.refused.get_or_insert(why)),
                    }
                }
                Event::Disconnected | Event::Closed => heard.away = true,
                _ => {}
            });
            async {}
        });
        let client = crate::connect::open(access, options).await?;
        let fence = client.new_inbox();
        known.send_replace(fence.clone());
        Ok(Self { client, subject: subject.to_owned(), heard, fence })
    }

    /// The most bytes that a message may have.
    pub fn max_payload(&self) -> usize {
        self.client.max_payload()
    }

    /// Sends a message; whether it arrived is told by [`Publisher::settle`].
    pub async fn send(&self, id: &MessageId, body: Vec<u8>) -> Result<(), PublishError> {
        self.trouble()?;
        let mut headers = HeaderMap::new();
        headers.insert(MESSAGE_ID, id.to_string());
        let sent = self.client.publish_with_headers(self.subject.clone(), headers, body.into());
        match tokio::time::timeout(PATIENCE, sent).await {
            Ok(sent) => sent.map_err(|error| PublishError::NotSent(error.to_string())),
            Err(_) => Err(PublishError::Silent),
        }
    }

    /// Waits until the broker has taken everything that was sent.
    pub async fn settle(&self) -> Result<(), PublishError> {
        let mut heard = self.heard.clone();
        let request = Request::new().payload("".into()).timeout(Some(PATIENCE));
        let answered = tokio::select! {
            outcome = self.client.send_request(self.fence.clone(), request) => match outcome {
                Ok(_) => true,
                Err(error) => error.kind() == RequestErrorKind::NoResponders,
            },
            outcome = heard.wait_for(|heard| {
                heard.fenced || heard.away || heard.refused.is_some()
            }) => outcome.is_ok(),
        };
        tokio::time::sleep(BESIDE).await;
        self.trouble()?;
        if answered { Ok(()) } else { Err(PublishError::Silent) }
    }

    fn trouble(&self) -> Result<(), PublishError> {
        let heard = self.heard.borrow();
        if let Some(why) = &heard.refused {
            return Err(PublishError::Refused { subject: self.subject.clone(), why: why.clone() });
        }
        if heard.away { Err(PublishError::Away) } else { Ok(()) }
    }
}
