//! The connection to the broker: it comes back for ever, and says when it is away.

use std::path::PathBuf;
use std::time::Duration;

use async_nats::{Client, ConnectErrorKind, ConnectOptions, Event};

use crate::access::{Access, BrokerUrl};

/// How often the broker is pinged: a dead peer is noticed after about three of these.
const PING: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest pause between two attempts to connect.
const MAX_BACKOFF: Duration = Duration::from_secs(4);
/// Messages that may wait in one subscription; the client library drops what comes then, without a word to
/// whoever sent it. In one turn it reads up to 128 buffers of 64 KiB, and the service takes all of that in
/// its own next turn: more small messages than this do not fit into them.
const SUBSCRIPTION_CAPACITY: usize = 65_536;
/// Messages on their way out that the client library may hold.
const OUTGOING_CAPACITY: usize = 256;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The URL cannot be used, or what was given does not go together.
    #[error("{what} cannot be used: {why}")]
    Settings {
        /// Which setting.
        what: String,
        /// Why.
        why: String,
    },
    /// A file with a key or a certificate cannot be used.
    #[error("the {what} {} cannot be used: {why}; {hint}", path.display())]
    File {
        /// What it should be.
        what: &'static str,
        /// Where it is.
        path: PathBuf,
        /// Why it is not that.
        why: String,
        /// What it must hold.
        hint: &'static str,
    },
    /// Nobody answers there.
    #[error("no broker answers at {url} ({why}): is nats-server running there?")]
    Away {
        /// Where.
        url: BrokerUrl,
        /// What the attempt said.
        why: String,
    },
    /// There is a broker, but one side does not trust the other's certificate, or speaks no TLS.
    #[error(
        "TLS with the broker at {url} failed ({why}): --tls-ca must name the authority that signed \
         the broker's certificate; a broker that asks for a client certificate needs --tls-cert and \
         --tls-key too"
    )]
    Untrusted {
        /// Where.
        url: BrokerUrl,
        /// What the attempt said.
        why: String,
    },
    /// The broker does not know who this is.
    #[error(
        "the broker at {url} does not let this user in ({why}): check user and password in the URL, \
         --creds or --nkey"
    )]
    NotLetIn {
        /// Where.
        url: BrokerUrl,
        /// What the attempt said.
        why: String,
    },
}

/// Connects, now or whenever the broker comes: what is sent meanwhile waits, within bounds. A broker
/// that is there and does not let this side in is an error all the same: waiting would not help.
pub async fn connect(access: &Access) -> Result<Client, ConnectError> {
    match connect_once(access).await {
        Err(ConnectError::Away { .. }) => {
            open(access, options(access)?.retry_on_initial_connect()).await
        }
        outcome => outcome,
    }
}

/// Connects once; fails if nobody answers.
pub async fn connect_once(access: &Access) -> Result<Client, ConnectError> {
    open(access, options(access)?).await
}

pub(crate) async fn open(access: &Access, options: ConnectOptions) -> Result<Client, ConnectError> {
    options.connect(access.url.as_str()).await.map_err(|error| {
        let (url, why) = (access.url.clone(), error.to_string());
        match error.kind() {
            ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
                ConnectError::NotLetIn { url, why }
            }
            ConnectErrorKind::Tls => ConnectError::Untrusted { url, why },
            _ if is_tls(&error) => ConnectError::Untrusted { url, why },
            _ => ConnectError::Away { url, why },
        }
    })
}

/// Whether a failed handshake is behind an error: the client library reports it as one of I/O.
fn is_tls(error: &(dyn std::error::Error + 'static)) -> bool {
    if error.is::<async_nats::rustls::Error>() {
        return true;
    }
    if let Some(inner) = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
        return is_tls(inner);
    }
    error.source().is_some_and(is_tls)
}

pub(crate) fn options(access: &Access) -> Result<ConnectOptions, ConnectError> {
    let url = access.url.to_string();
    let options = access.options()?;
    Ok(options
        .connection_timeout(CONNECT_TIMEOUT)
        .ping_interval(PING)
        .subscription_capacity(SUBSCRIPTION_CAPACITY)
        .client_capacity(OUTGOING_CAPACITY)
        .reconnect_delay_callback(|attempts| {
            let exponent = u32::try_from(attempts).unwrap_or(u32::MAX).min(12);
            Duration::from_millis(1_u64 << exponent).min(MAX_BACKOFF)
        })
        .event_callback(move |event| {
            let url = url.clone();
            async move { report(&url, &event) }
        }))
}

fn report(url: &str, event: &Event) {
    match event {
        Event::Connected => tracing::info!(url, "connected to the broker"),
        Event::Disconnected => {
            tracing::warn!(url, "the broker is away; connecting again until it is back");
        }
        Event::SlowConsumer(_) => tracing::error!(url, "requests came faster than they were read"),
        Event::ClientError(error) => tracing::warn!(url, %error, "no connection to the broker yet"),
        Event::ServerError(error) => tracing::warn!(url, %error, "the broker refused something"),
        _ => tracing::debug!(url, ?event, "connection event"),
    }
}
