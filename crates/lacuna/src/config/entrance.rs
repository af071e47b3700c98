//! The `[nats]` section: how the daemon enters its broker.

use std::path::PathBuf;

use lacuna_nats::{Access, BrokerUrl, Keys};
use serde::Deserialize;
use toml::{Table, Value};

use crate::args::Broker;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NatsConfig {
    pub(crate) url: BrokerUrl,
    credentials: PathBuf,
    nkey: PathBuf,
    tls_ca: PathBuf,
    tls_cert: PathBuf,
    tls_key: PathBuf,
    tls_first: bool,
}

impl NatsConfig {
    /// How a broker is entered, the configured one or the usual one at this URL.
    pub(crate) fn access(&self, url: BrokerUrl) -> Access {
        let file = |path: &PathBuf| (!path.as_os_str().is_empty()).then(|| path.clone());
        let keys = Keys {
            credentials: file(&self.credentials),
            nkey: file(&self.nkey),
            tls_ca: file(&self.tls_ca),
            tls_cert: file(&self.tls_cert),
            tls_key: file(&self.tls_key),
            tls_first: self.tls_first,
        };
        Access { url, keys, name: "lacuna".to_owned() }
    }
}

/// Puts what the flags say over the section.
pub(super) fn overlay(nats: &mut Table, broker: &Broker) {
    let mut set = |key: &str, value: String| nats.insert(key.to_owned(), Value::String(value));
    if let Some(url) = &broker.nats {
        set("url", url.as_str().to_owned());
    }
    // Of two ways to be known the one on the command line counts.
    if broker.creds.is_some() || broker.nkey.is_some() {
        set("credentials", String::new());
        set("nkey", String::new());
    }
    for (key, path) in [
        ("credentials", &broker.creds),
        ("nkey", &broker.nkey),
        ("tls_ca", &broker.tls_ca),
        ("tls_cert", &broker.tls_cert),
        ("tls_key", &broker.tls_key),
    ] {
        if let Some(path) = path {
            set(key, path.display().to_string());
        }
    }
    if broker.tls_first {
        nats.insert("tls_first".to_owned(), true.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Global;
    use crate::config::Config;

    #[test]
    fn the_way_into_the_broker_is_that_of_the_file_unless_flags_say_otherwise() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = "[nats]\ncredentials = \"a.creds\"\ntls_ca = \"ca.pem\"\ntls_first = true\n";
        std::fs::write(file.path(), text).unwrap();
        let keys = |broker: Broker| {
            let global = Global {
                broker,
                journal: None,
                tenant: "default".into(),
                principal: "cli".into(),
                session: None,
                json: false,
            };
            let (config, _) = Config::load(Some(file.path()), &global).unwrap();
            config.nats.access(config.nats.url.clone()).keys
        };
        let of_the_file = Keys {
            credentials: Some("a.creds".into()),
            tls_ca: Some("ca.pem".into()),
            tls_first: true,
            ..Keys::default()
        };
        assert_eq!(keys(Broker::default()), of_the_file);
        let (nkey, tls_ca) = (Some(PathBuf::from("u.nk")), Some(PathBuf::from("other.pem")));
        let flags = Broker { nkey: nkey.clone(), tls_ca: tls_ca.clone(), ..Broker::default() };
        assert_eq!(keys(flags), Keys { credentials: None, nkey, tls_ca, ..of_the_file });
    }
}
