//! A nats-server of the benchmark's own, on a free port, with a store that goes with it.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::Failure;

/// A running broker; it ends when this is dropped.
pub(crate) struct Broker {
    child: Child,
    port: u16,
    folder: TempDir,
}

impl Broker {
    /// Starts one, with this `sync_interval` for JetStream or the one it ships with.
    pub(crate) fn start(program: &Path, sync_interval: Option<&str>) -> Result<Self, Failure> {
        // A port that was free may be taken a moment later.
        let again = |_| Self::start_once(program, sync_interval);
        Self::start_once(program, sync_interval).or_else(again).or_else(again)
    }

    fn start_once(program: &Path, sync_interval: Option<&str>) -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let port = free_port()?;
        let sync = sync_interval.map(|s| format!("sync_interval: {s}\n")).unwrap_or_default();
        let store = folder.path().join("js");
        let config = format!(
            "host: 127.0.0.1\nport: {port}\njetstream {{ store_dir: {:?}\n{sync} }}\n",
            store.display().to_string()
        );
        let file = folder.path().join("nats.conf");
        std::fs::write(&file, config)?;
        let child = Command::new(program)
            .arg("-c")
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let mut broker = Self { child, port, folder };
        let until = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if Instant::now() > until || broker.child.try_wait()?.is_some() {
                return Err("the broker does not answer".into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(broker)
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// A folder on the same disk as the broker's store.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where JetStream keeps its streams.
    pub(crate) fn store(&self) -> PathBuf {
        self.folder.path().join("js")
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        // It is ours and its store goes with it: no need to ask.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that nobody listens on.
pub(crate) fn free_port() -> Result<u16, Failure> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
