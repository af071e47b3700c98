//! Broker, journal and daemon together: what most scenarios begin with.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{Broker, Cli, Daemon, Server, Worker};

/// The daemon's configuration, beside its journal.
const CONFIG: &str = "lacuna.toml";

/// A daemon on a fresh journal behind a broker of its own.
#[derive(Debug)]
pub(crate) struct House {
    // Declared in the order in which they must end.
    daemon: Option<Daemon>,
    pub(crate) broker: Broker,
    folder: TempDir,
}

impl House {
    /// Starts all of it.
    pub(crate) fn start(server: &Server) -> Self {
        Self::behind(Broker::start(server))
    }

    /// Starts the daemon behind this broker.
    pub(crate) fn behind(broker: Broker) -> Self {
        Self::configured(broker, |_| String::new())
    }

    /// Starts the daemon behind this broker with a configuration, which may name the house's folder.
    pub(crate) fn configured(broker: Broker, config: impl FnOnce(&Path) -> String) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(CONFIG), config(folder.path())).unwrap();
        let mut house = Self { daemon: None, broker, folder };
        house.start_daemon();
        house
    }

    /// The journal's folder.
    pub(crate) fn journal(&self) -> PathBuf {
        self.folder.path().join("journal")
    }

    /// A folder that goes when the house goes.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn url(&self) -> String {
        self.broker.url()
    }

    pub(crate) fn daemon(&self) -> &Daemon {
        self.daemon.as_ref().unwrap()
    }

    /// Starts a daemon on the journal, after the one before has ended.
    pub(crate) fn start_daemon(&mut self) {
        self.start_daemon_with(&[]);
    }

    /// The same with these variables.
    pub(crate) fn start_daemon_with(&mut self, set: &[(&str, &str)]) {
        assert!(self.daemon.is_none(), "one at a time");
        let (config, url) = (self.folder.path().join(CONFIG), self.broker.url());
        let arguments = ["--nats", &url, "--config", config.to_str().unwrap()];
        let daemon = Daemon::spawn_with(&self.journal(), &arguments, set);
        daemon.wait_until_ready();
        self.daemon = Some(daemon);
    }

    /// `kill -9`.
    pub(crate) fn kill_daemon(&mut self) {
        self.daemon.take().unwrap().kill();
    }

    /// Takes the daemon out, to end it otherwise.
    pub(crate) fn take_daemon(&mut self) -> Daemon {
        self.daemon.take().unwrap()
    }

    /// Gives back one that goes on.
    pub(crate) fn give_daemon(&mut self, daemon: Daemon) {
        assert!(self.daemon.replace(daemon).is_none(), "one at a time");
    }

    /// Stops the daemon cleanly and gives its log.
    pub(crate) fn stop_daemon(&mut self) -> String {
        self.daemon.take().unwrap().stop()
    }

    /// A worker of the tenant `acme`.
    pub(crate) async fn worker(&self) -> Worker {
        Worker::connect(&self.url(), "acme", "worker-1").await
    }

    /// The command line, through the daemon.
    pub(crate) fn cli(&self) -> Cli {
        Cli::nats(&self.url())
    }
}
