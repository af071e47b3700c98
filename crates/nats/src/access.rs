//! What it takes to enter a broker: where it is, and files with keys and certificates. Secrets are
//! named by path, read when a connection is made, and never shown.

use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use async_nats::rustls::pki_types::pem::PemObject as _;
use async_nats::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use async_nats::{ConnectOptions, ServerAddr};
use nkeys::{KeyPair, KeyPairType};
use serde::Deserialize;

use crate::connect::ConnectError;

/// Where a broker is: one URL or several, separated by commas; user and password may stand in it.
/// Shown without them.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct BrokerUrl(String);

/// Files that a broker may ask for, and how TLS begins. Nothing of it is needed for a broker that
/// lets everybody in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys {
    /// A credentials file (JWT and seed), for brokers with decentralised accounts.
    pub credentials: Option<PathBuf>,
    /// A file with the seed of a user's nkey.
    pub nkey: Option<PathBuf>,
    /// Certificates (PEM) of the authorities that may vouch for the broker, instead of the machine's.
    pub tls_ca: Option<PathBuf>,
    /// The certificate (PEM) that this side shows.
    pub tls_cert: Option<PathBuf>,
    /// Its private key (PEM).
    pub tls_key: Option<PathBuf>,
    /// Whether TLS begins before the broker greets.
    pub tls_first: bool,
}

/// Where a broker is and how it is entered.
#[derive(Debug, Clone)]
pub struct Access {
    /// Where.
    pub url: BrokerUrl,
    /// With what.
    pub keys: Keys,
    /// The name under which the connection is listed at the broker.
    pub name: String,
}

impl BrokerUrl {
    /// The URL with everything that stands in it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// User and password, decoded: the client library leaves them in the URL unread.
    fn login(&self) -> Result<Option<(String, String)>, ConnectError> {
        for url in self.0.split(',') {
            let address: ServerAddr =
                url.trim().parse().map_err(|error| ConnectError::Settings {
                    what: format!("the broker's URL {}", without_login(url)),
                    why: format!("{error}"),
                })?;
            if let Some(user) = address.username() {
                let password = address.password().unwrap_or_default();
                return Ok(Some((decoded(user), decoded(password))));
            }
        }
        Ok(None)
    }
}

impl From<&str> for BrokerUrl {
    fn from(url: &str) -> Self {
        Self(url.to_owned())
    }
}

impl FromStr for BrokerUrl {
    type Err = Infallible;

    fn from_str(url: &str) -> Result<Self, Infallible> {
        Ok(url.into())
    }
}

impl fmt::Display for BrokerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.split(',').map(without_login).collect::<Vec<_>>().join(","))
    }
}

impl fmt::Debug for BrokerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

impl Access {
    /// A broker that lets in whoever its URL names.
    pub fn new(url: &str, name: &str) -> Self {
        Self { url: url.into(), keys: Keys::default(), name: name.to_owned() }
    }

    /// Reads the files and makes the client library's options of all this.
    pub(crate) fn options(&self) -> Result<ConnectOptions, ConnectError> {
        let mut options = self.keys.options()?.name(&self.name);
        if let Some((user, password)) = self.url.login()? {
            options = options.user_and_password(user, password);
        }
        Ok(options)
    }
}

impl Keys {
    /// Reads every file once, so that a bad one is found before it is needed.
    pub fn check(&self) -> Result<(), ConnectError> {
        self.options().map(drop)
    }

    fn options(&self) -> Result<ConnectOptions, ConnectError> {
        let mut options = ConnectOptions::new();
        if self.credentials.is_some() && self.nkey.is_some() {
            return Err(ConnectError::Settings {
                what: "a credentials file together with an nkey".into(),
                why: "a user has one or the other: leave one out".into(),
            });
        }
        if let Some(path) = &self.credentials {
            let file = File::new("credentials file", path, "`nsc generate creds` writes one");
            let text = file.text()?;
            options = options.credentials(&text).map_err(|error| file.bad(error))?;
        }
        if let Some(path) = &self.nkey {
            options = options.nkey(seed(path)?);
        }
        if let Some(path) = &self.tls_ca {
            let file = File::new("CA file", path, "it must hold certificates in PEM form");
            certificates(&file)?;
            // The library reads it again for each connection: a renewed file is taken up.
            options = options.add_root_certificates(path.clone());
        }
        match (&self.tls_cert, &self.tls_key) {
            (None, None) => {}
            (Some(cert), Some(key)) => {
                certificates(&File::new(
                    "client certificate",
                    cert,
                    "it must hold a certificate in PEM form",
                ))?;
                let file =
                    File::new("key", key, "it must hold the certificate's private key in PEM form");
                PrivateKeyDer::from_pem_slice(&file.bytes()?).map_err(|error| file.bad(error))?;
                options = options.add_client_certificate(cert.clone(), key.clone());
            }
            _ => {
                return Err(ConnectError::Settings {
                    what: "a client certificate without its key, or a key alone".into(),
                    why: "give both, tls_cert and tls_key".into(),
                });
            }
        }
        if self.tls_ca.is_some() || self.tls_cert.is_some() {
            // Who names an authority must not end up without TLS because the broker offers none.
            options = options.require_tls(true);
        }
        Ok(if self.tls_first { options.tls_first() } else { options })
    }
}

/// A file that the person named, and what it should have been.
struct File<'a> {
    what: &'static str,
    path: &'a Path,
    hint: &'static str,
}

impl<'a> File<'a> {
    fn new(what: &'static str, path: &'a Path, hint: &'static str) -> Self {
        Self { what, path, hint }
    }

    fn bad(&self, why: impl fmt::Display) -> ConnectError {
        let (path, why) = (self.path.to_owned(), why.to_string());
        ConnectError::File { what: self.what, path, why, hint: self.hint }
    }

    fn bytes(&self) -> Result<Vec<u8>, ConnectError> {
        std::fs::read(self.path).map_err(|error| self.bad(error))
    }

    fn text(&self) -> Result<String, ConnectError> {
        std::fs::read_to_string(self.path).map_err(|error| self.bad(error))
    }
}

fn certificates(file: &File<'_>) -> Result<(), ConnectError> {
    let bytes = file.bytes()?;
    let mut found = 0;
    for certificate in CertificateDer::pem_slice_iter(&bytes) {
        certificate.map_err(|error| file.bad(error))?;
        found += 1;
    }
    if found == 0 { Err(file.bad("there is no certificate in it")) } else { Ok(()) }
}

/// The seed in an nkey file: its one line that is no comment.
fn seed(path: &Path) -> Result<String, ConnectError> {
    let file = File::new("nkey file", path, "it must hold a user's seed, which begins with SU");
    let text = file.text()?;
    let mut lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#') && !line.starts_with("---"));
    let (Some(seed), None) = (lines.next(), lines.next()) else {
        return Err(file.bad("it does not hold one line"));
    };
    // The library's own message could repeat the seed: only ours is shown.
    match KeyPair::from_seed(seed) {
        Ok(pair) if pair.key_pair_type() == KeyPairType::User => Ok(seed.to_owned()),
        Ok(pair) => {
            Err(file.bad(format!("it holds a key of another kind: {:?}", pair.key_pair_type())))
        }
        Err(_) if KeyPair::from_public_key(seed).is_ok() => {
            Err(file.bad("it holds a public key, which proves nothing"))
        }
        Err(_) => Err(file.bad("what it holds is no seed")),
    }
}

/// Undoes percent-encoding, which characters such as `@` need in a URL.
fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn without_login(url: &str) -> String {
    let url = url.trim();
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => {
            format!("{}{}", &url[..scheme + 3], &url[at + 1..])
        }
        (None, Some(at)) => url[at + 1..].to_owned(),
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_shown_without_secrets() {
        for (url, shown) in [
            ("nats://me:secret@host:4222", "nats://host:4222"),
            ("me:p@ss@host, tls://b", "host,tls://b"),
            ("nats://127.0.0.1:4222", "nats://127.0.0.1:4222"),
        ] {
            assert_eq!(BrokerUrl::from(url).to_string(), shown);
            assert_eq!(format!("{:?}", BrokerUrl::from(url)), format!("{shown:?}"));
            assert_eq!(BrokerUrl::from(url).as_str(), url);
        }
    }

    #[test]
    fn a_login_in_the_url_is_used_and_decoded() {
        let of = |url: &str| BrokerUrl::from(url).login().unwrap();
        let pair = |user: &str, password: &str| Some((user.to_owned(), password.to_owned()));
        assert_eq!(of("nats://me:p%40ss@127.0.0.1:4222"), pair("me", "p@ss"));
        assert_eq!(of("127.0.0.1, nats://me:secret@localhost"), pair("me", "secret"));
        assert_eq!(of("nats://127.0.0.1:4222"), None);
        assert!(BrokerUrl::from("http://127.0.0.1").login().is_err());
    }

    #[test]
    fn the_seed_of_a_user_is_read_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("user.nk");
        let (user, account) = (KeyPair::new_user(), KeyPair::new_account());
        let good = user.seed().unwrap();
        std::fs::write(&path, format!("# worker-1\n\n{good}\n")).unwrap();
        assert_eq!(seed(&path).unwrap(), good);
        for (text, says) in [
            (user.public_key(), "public key"),
            (account.seed().unwrap(), "another kind"),
            (format!("{good}x"), "no seed"),
            (format!("{good}\n{good}"), "one line"),
            (String::new(), "one line"),
        ] {
            std::fs::write(&path, &text).unwrap();
            let error = seed(&path).unwrap_err().to_string();
            assert!(error.contains(says) && error.contains("user.nk"), "{text:?}: {error}");
            assert!(!error.contains(&good), "{error}");
        }
    }

    #[test]
    fn files_that_cannot_be_used_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let empty = folder.path().join("empty.pem");
        std::fs::write(&empty, "no certificate\n").unwrap();
        let missing = PathBuf::from("/no/such/file");
        let some = |path: &PathBuf| Some(path.clone());
        for (keys, says) in [
            (Keys { credentials: some(&missing), ..Keys::default() }, "credentials file /no/such"),
            (Keys { credentials: some(&empty), ..Keys::default() }, "nsc generate creds"),
            (Keys { nkey: some(&missing), ..Keys::default() }, "nkey file /no/such/file"),
            (Keys { tls_ca: some(&missing), ..Keys::default() }, "CA file /no/such/file"),
            (Keys { tls_ca: some(&empty), ..Keys::default() }, "no certificate in it"),
            (Keys { tls_cert: some(&empty), ..Keys::default() }, "give both"),
            (Keys { tls_key: some(&empty), ..Keys::default() }, "give both"),
            (
                Keys { nkey: some(&empty), credentials: some(&empty), ..Keys::default() },
                "one or the other",
            ),
        ] {
            let error = keys.check().unwrap_err().to_string();
            assert!(error.contains(says), "{keys:?}: {error}");
        }
        Keys::default().check().unwrap();
    }
}
