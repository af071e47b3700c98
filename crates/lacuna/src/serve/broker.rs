//! A private nats-server, for a machine that has none running.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::failure::Failure;

const ADDRESS: &str = "127.0.0.1:4222";
const STARTING: Duration = Duration::from_secs(10);
const STOPPING: Duration = Duration::from_secs(5);

/// A nats-server that lives as long as the daemon.
pub(super) struct Broker {
    child: Child,
}

impl Broker {
    /// Starts one on the usual address with its store beside the journal.
    pub(super) async fn start(journal: &Path) -> Result<Self, Failure> {
        let program =
            std::env::var_os("LACUNA_NATS_SERVER").map_or("nats-server".into(), PathBuf::from);
        let store = journal.join("nats");
        let mut command = Command::new(&program);
        command
            .args(["--addr", "127.0.0.1", "--port", "4222", "--jetstream", "--store_dir"])
            .arg(&store)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // A signal to the daemon's terminal must not end the broker before the replies leave.
            .process_group(0)
            .kill_on_drop(true);
        let child = command.spawn().map_err(|source| Failure::Io {
            doing: format!(
                "nobody answers at {ADDRESS}, and no private nats-server could be started from {} \
                 (install nats-server, point LACUNA_NATS_SERVER to it, or give --nats)",
                program.display()
            ),
            source,
        })?;
        let mut broker = Self { child };
        broker.wait_until_ready().await?;
        tracing::info!(address = ADDRESS, store = %store.display(), "private nats-server started");
        Ok(broker)
    }

    async fn wait_until_ready(&mut self) -> Result<(), Failure> {
        let address: SocketAddr =
            ADDRESS.parse().map_err(|_| Failure::Other("a broken address".into()))?;
        let until = tokio::time::Instant::now() + STARTING;
        while tokio::time::Instant::now() < until {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(Failure::Other(format!(
                    "the private nats-server ended at once ({status}): is {ADDRESS} taken?"
                )));
            }
            if TcpStream::connect(address).await.is_ok() {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Err(Failure::Other("the private nats-server does not answer".into()))
    }

    /// Stops it: asks first, insists later.
    pub(super) async fn stop(mut self) {
        if let Some(pid) = self.child.id().and_then(|id| i32::try_from(id).ok())
            && let Some(pid) = rustix::process::Pid::from_raw(pid)
        {
            // It may have ended by itself; then there is nothing to stop.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        if tokio::time::timeout(STOPPING, self.child.wait()).await.is_err() {
            tracing::warn!("the private nats-server does not stop; it is killed");
            let _ = self.child.kill().await;
        }
    }
}
