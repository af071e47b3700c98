//! The connection to the broker: it comes back for ever, and says when it is away.

use std::path::PathBuf;
use std::time::Duration;

use async_nats::{Client, ConnectOptions, Event, ServerAddr};

/// How often the broker is pinged: a dead peer is noticed after about three of these.
const PING: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest pause between two attempts to connect.
const MAX_BACKOFF: Duration = Duration::from_secs(4);
/// Messages that may wait in one subscription. The service never lets it fill: beyond its own
/// bound it answers `overloaded` at once.
const SUBSCRIPTION_CAPACITY: usize = 4_096;
/// Messages on their way out that the client library may hold.
const OUTGOING_CAPACITY: usize = 256;

/// Where the broker is and how it is entered.
#[derive(Debug, Clone)]
pub struct Access {
    /// One URL or several, separated by commas; user and password may stand in it.
    pub url: String,
    /// A credentials file, for brokers with decentralised accounts.
    pub credentials: Option<PathBuf>,
    /// The name under which the connection is listed at the broker.
    pub name: String,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The URL or the credentials cannot be used.
    #[error("{what} cannot be used: {why}")]
    Settings {
        /// Which setting.
        what: String,
        /// Why.
        why: String,
    },
    /// Nobody answers there.
    #[error("no broker answers at {url} ({why}): is nats-server running there?")]
    Away {
        /// Where, without user and password.
        url: String,
        /// What the attempt said.
        why: String,
    },
}

/// Connects, now or whenever the broker comes: what is sent meanwhile waits, within bounds.
pub async fn connect(access: &Access) -> Result<Client, ConnectError> {
    let options = options(access).await?.retry_on_initial_connect();
    open(access, options).await
}

/// Connects once; fails if nobody answers.
pub async fn connect_once(access: &Access) -> Result<Client, ConnectError> {
    open(access, options(access).await?).await
}

async fn open(access: &Access, options: ConnectOptions) -> Result<Client, ConnectError> {
    let url = redacted(&access.url);
    options
        .connect(access.url.as_str())
        .await
        .map_err(|error| ConnectError::Away { url, why: error.to_string() })
}

async fn options(access: &Access) -> Result<ConnectOptions, ConnectError> {
    let options = match &access.credentials {
        None => ConnectOptions::new(),
        Some(path) => ConnectOptions::with_credentials_file(path).await.map_err(|error| {
            let what = format!("the credentials file {}", path.display());
            ConnectError::Settings { what, why: error.to_string() }
        })?,
    };
    let options = match login(&access.url)? {
        Some((user, password)) => options.user_and_password(user, password),
        None => options,
    };
    let url = redacted(&access.url);
    Ok(options
        .name(&access.name)
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

/// User and password in the URL: the client library leaves them there unread.
fn login(urls: &str) -> Result<Option<(String, String)>, ConnectError> {
    for url in urls.split(',') {
        let address: ServerAddr = url.trim().parse().map_err(|error| ConnectError::Settings {
            what: format!("the broker's URL {}", redacted(url)),
            why: format!("{error}"),
        })?;
        if let Some(user) = address.username() {
            let password = address.password().unwrap_or_default();
            return Ok(Some((decoded(user), decoded(password))));
        }
    }
    Ok(None)
}

/// Undoes percent-encoding, which characters such as `@` need in a URL.
fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
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

/// The URL without user and password: for messages.
fn redacted(urls: &str) -> String {
    let one = |url: &str| match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => {
            format!("{}{}", &url[..scheme + 3], &url[at + 1..])
        }
        (None, Some(at)) => url[at + 1..].to_owned(),
        _ => url.to_owned(),
    };
    urls.split(',').map(|url| one(url.trim())).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_shown_without_secrets() {
        assert_eq!(redacted("nats://me:secret@host:4222"), "nats://host:4222");
        assert_eq!(redacted("me:p@ss@host, tls://b"), "host,tls://b");
        assert_eq!(redacted("nats://127.0.0.1:4222"), "nats://127.0.0.1:4222");
    }

    #[test]
    fn a_login_in_the_url_is_used_and_decoded() {
        let of = |url: &str| login(url).unwrap();
        let pair = |user: &str, password: &str| Some((user.to_owned(), password.to_owned()));
        assert_eq!(of("nats://me:p%40ss@127.0.0.1:4222"), pair("me", "p@ss"));
        assert_eq!(of("127.0.0.1, nats://me:secret@localhost"), pair("me", "secret"));
        assert_eq!(of("nats://127.0.0.1:4222"), None);
        assert!(login("http://127.0.0.1").is_err());
    }
}
