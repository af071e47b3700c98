//! One call: request, reply, retries.

use std::time::{Duration, Instant};

use async_nats::{Request, RequestErrorKind};
use lacuna_wire::{Code, Subject, WireError};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ClientError;

/// How long one attempt waits.
const ATTEMPT: Duration = Duration::from_secs(10);
/// How long all attempts of a call wait together.
const PATIENCE: Duration = Duration::from_secs(30);
/// Pause before an attempt after `overloaded` or while no daemon listens.
const PAUSE: Duration = Duration::from_millis(100);

/// A connection to a daemon, as one principal of one tenant. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    nats: async_nats::Client,
    pub(crate) tenant: String,
    principal: String,
    patience: Duration,
}

/// One session of that tenant. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Session {
    pub(crate) client: Client,
    pub(crate) name: String,
}

impl Client {
    /// Connects to a broker; user and password may stand in the URL. For keys and certificates make the
    /// connection with `async-nats` and hand it to [`Client::new`].
    pub async fn connect(url: &str, tenant: &str, principal: &str) -> Result<Self, ClientError> {
        let address: async_nats::ServerAddr =
            url.parse().map_err(|error| ClientError::Connect(format!("{error}")))?;
        let options = match address.username() {
            None => async_nats::ConnectOptions::new(),
            Some(user) => async_nats::ConnectOptions::with_user_and_password(
                user.to_owned(),
                address.password().unwrap_or_default().to_owned(),
            ),
        };
        let nats = options
            .connect(address)
            .await
            .map_err(|error| ClientError::Connect(error.to_string()))?;
        Ok(Self::new(nats, tenant, principal))
    }

    /// Uses a connection that exists.
    pub fn new(nats: async_nats::Client, tenant: &str, principal: &str) -> Self {
        let (tenant, principal) = (tenant.to_owned(), principal.to_owned());
        Self { nats, tenant, principal, patience: PATIENCE }
    }

    /// The same client with another limit on how long a call may wait, retries included.
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// A session of this tenant.
    pub fn session(&self, name: &str) -> Session {
        Session { client: self.clone(), name: name.to_owned() }
    }

    /// The connection.
    pub fn nats(&self) -> &async_nats::Client {
        &self.nats
    }

    /// Calls a journal verb.
    pub async fn journal<R: DeserializeOwned>(
        &self,
        verb: &str,
        request: &impl Serialize,
    ) -> Result<R, ClientError> {
        let subject = format!("lacuna.v1.{}.{}.journal.{verb}", self.tenant, self.principal);
        self.call(&subject, request, true).await
    }

    /// Calls a subject of the contract with a body that is JSON already and gives the reply's body.
    /// `repeatable`: whether a call that got no answer may be sent again by itself.
    pub async fn call_raw(
        &self,
        subject: &str,
        body: Vec<u8>,
        repeatable: bool,
    ) -> Result<Vec<u8>, ClientError> {
        Subject::parse(subject)?;
        let began = Instant::now();
        let mut attempt = 0;
        loop {
            attempt += 1;
            let left = self.patience.saturating_sub(began.elapsed());
            // A call that must not be repeated waits as long as all attempts of another would.
            let patience = if repeatable { ATTEMPT.min(left) } else { left };
            let mut request =
                Request::new().payload(body.clone().into()).timeout(Some(patience.max(PAUSE)));
            if attempt > 1 {
                // An inbox of its own: the shared one keeps an entry for every lost reply.
                request = request.inbox(self.nats.new_inbox());
            }
            let result = self.nats.send_request(subject.to_owned(), request).await;
            let error = match result {
                Ok(message) => match WireError::from_body(&message.payload) {
                    None => return Ok(message.payload.to_vec()),
                    Some(error) if error.code == Code::Overloaded => ClientError::Refused(error),
                    Some(error) => return Err(ClientError::Refused(error)),
                },
                Err(error) => match error.kind() {
                    RequestErrorKind::NoResponders => ClientError::NoDaemon,
                    RequestErrorKind::TimedOut => {
                        ClientError::Timeout { seconds: began.elapsed().as_secs() }
                    }
                    _ => return Err(ClientError::Send(error.to_string())),
                },
            };
            // Nothing happened where nobody listened or the daemon refused for load; after a
            // timeout only a repeatable call may go out again.
            let again = repeatable || !matches!(error, ClientError::Timeout { .. });
            if !again || began.elapsed() + PAUSE >= self.patience {
                return Err(error);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    pub(crate) async fn call<R: DeserializeOwned>(
        &self,
        subject: &str,
        request: &impl Serialize,
        repeatable: bool,
    ) -> Result<R, ClientError> {
        let body =
            serde_json::to_vec(request).map_err(|error| ClientError::Send(error.to_string()))?;
        let reply = self.call_raw(subject, body, repeatable).await?;
        serde_json::from_slice(&reply).map_err(|error| ClientError::Reply(error.to_string()))
    }
}

impl Session {
    /// The subject of one of the session's verbs.
    pub fn subject(&self, verb: &str) -> String {
        let Client { tenant, principal, .. } = &self.client;
        format!("lacuna.v1.{tenant}.{principal}.session.{}.{verb}", self.name)
    }

    /// The largest request that the broker takes, in bytes.
    pub fn max_payload(&self) -> usize {
        match self.client.nats.server_info().max_payload {
            0 => 1 << 20,
            max => max,
        }
    }
}
