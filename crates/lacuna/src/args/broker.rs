//! Where the broker is and how it is entered.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap::builder::FalseyValueParser;
use lacuna_nats::{Access, BrokerUrl, Keys};

use crate::backend::DEFAULT_NATS;

#[derive(Debug, Clone, Default, ClapArgs)]
pub(crate) struct Broker {
    /// Broker that the daemon is on
    #[arg(long, global = true, env = "LACUNA_NATS", value_name = "URL", hide_env_values = true)]
    pub(crate) nats: Option<BrokerUrl>,
    /// Credentials file for the broker
    #[arg(long, global = true, env = "LACUNA_CREDS", value_name = "FILE", help_heading = BROKER)]
    pub(crate) creds: Option<PathBuf>,
    /// File with the seed of an nkey
    #[arg(long, global = true, env = "LACUNA_NKEY", value_name = "FILE", help_heading = BROKER)]
    pub(crate) nkey: Option<PathBuf>,
    /// Authorities that may vouch for the broker, in PEM form; TLS is then required
    #[arg(long, global = true, env = "LACUNA_TLS_CA", value_name = "FILE", help_heading = BROKER)]
    pub(crate) tls_ca: Option<PathBuf>,
    /// Certificate to show to the broker, in PEM form
    #[arg(long, global = true, env = "LACUNA_TLS_CERT", value_name = "FILE", help_heading = BROKER)]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Private key of that certificate, in PEM form
    #[arg(long, global = true, env = "LACUNA_TLS_KEY", value_name = "FILE", help_heading = BROKER)]
    pub(crate) tls_key: Option<PathBuf>,
    /// Begin TLS before the broker greets, as `handshake_first` brokers want it
    #[arg(long, global = true, env = "LACUNA_TLS_FIRST", help_heading = BROKER, value_parser = FalseyValueParser::new())]
    pub(crate) tls_first: bool,
}

/// Where these stand in the help: they are many, and few need them.
const BROKER: &str = "Entering the broker";

impl Broker {
    /// The broker that the arguments name, for a command of this principal.
    pub(crate) fn access(&self, principal: &str) -> Access {
        Access {
            url: self.nats.clone().unwrap_or_else(|| DEFAULT_NATS.into()),
            keys: Keys {
                credentials: self.creds.clone(),
                nkey: self.nkey.clone(),
                tls_ca: self.tls_ca.clone(),
                tls_cert: self.tls_cert.clone(),
                tls_key: self.tls_key.clone(),
                tls_first: self.tls_first,
            },
            name: format!("lacuna {principal}"),
        }
    }
}
