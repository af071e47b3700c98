//! PostgreSQL as the distribution ships it: one row per event, `synchronous_commit` on.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio_postgres::{Client, NoTls};

use super::nats::{Job, MANY};
use crate::Failure;
use crate::broker::free_port;
use crate::process::{Processes, disk_bytes};
use crate::report::Row;
use crate::sample::{SIDE_BY_SIDE, Sample};
use crate::timing::{Load, Watch};

/// Connections at most: more make it slower.
const CONNECTIONS: usize = 64;
/// The account that the server runs under where this program runs as root, which it refuses.
const ACCOUNT: &str = "postgres";

/// A server of the benchmark's own.
pub(super) struct Server {
    programs: PathBuf,
    folder: TempDir,
    port: u16,
}

impl Server {
    /// The folder of the newest server's programs, if there is any.
    pub(super) fn programs() -> Option<PathBuf> {
        let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
        let mut found: Vec<PathBuf> = versions
            .filter_map(|version| Some(version.ok()?.path().join("bin")))
            .filter(|programs| programs.join("initdb").exists())
            .collect();
        found.sort();
        found.pop()
    }

    /// Makes a new cluster and starts it.
    pub(super) fn start(programs: &Path) -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        if rustix::process::getuid().is_root() {
            run(Command::new("chown").arg(ACCOUNT).arg(folder.path()))?;
        }
        let server = Self { programs: programs.to_owned(), folder, port: free_port()? };
        run(server
            .program("initdb")
            .args(["--auth=trust", "--username=bench", "-D"])
            .arg(server.data()))?;
        let options = format!(
            "-c port={} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' \
             -c synchronous_commit=on -c max_connections={}",
            server.port,
            CONNECTIONS + 10
        );
        let log = server.folder.path().join("log");
        run(server
            .program("pg_ctl")
            .args(["start", "--wait", "-o", &options, "-D"])
            .arg(server.data())
            .arg("-l")
            .arg(log))?;
        Ok(server)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn program(&self, name: &str) -> Command {
        let program = self.programs.join(name);
        let mut command = if rustix::process::getuid().is_root() {
            let mut command = Command::new("runuser");
            command.args(["-u", ACCOUNT, "--"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn processes(&self) -> Result<Processes, Failure> {
        let pid = std::fs::read_to_string(self.data().join("postmaster.pid"))?;
        let pid = pid.lines().next().ok_or("an empty postmaster.pid")?;
        Ok(Processes::of([pid.trim().parse()?]))
    }

    async fn connect(&self) -> Result<Client, Failure> {
        let config = format!("host=127.0.0.1 port={} user=bench dbname=postgres", self.port);
        let (client, connection) = tokio_postgres::connect(&config, NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }

    fn stop(&self) -> Result<(), Failure> {
        run(self.program("pg_ctl").args(["stop", "--wait", "-m", "fast", "-D"]).arg(self.data()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.data().join("postmaster.pid").exists() {
            // Best effort: the cluster goes with its folder.
            let _ = self.stop();
        }
    }
}

fn run(command: &mut Command) -> Result<(), Failure> {
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}").into()) }
}

/// Inserts one row per event: each in a transaction of its own, or as many in one as a request has spans.
pub(super) async fn measure(job: &Job<'_>, programs: &Path) -> Result<Row, Failure> {
    let server = Server::start(programs)?;
    let first = server.connect().await?;
    first
        .batch_execute(
            "CREATE TABLE events (seq bigserial PRIMARY KEY, session bigint NOT NULL, payload text NOT NULL)",
        )
        .await?;
    let empty = disk_bytes(&server.data())?;
    let mut clients = vec![Arc::new(first)];
    while clients.len() < job.load.in_flight.min(CONNECTIONS) {
        clients.push(Arc::new(server.connect().await?));
    }
    let processes = server.processes()?;
    let before = processes.cpu_seconds()?;
    let rows = if job.many { MANY } else { 1 };
    let mut workers = JoinSet::new();
    for worker in 0..job.load.in_flight {
        let client = Arc::clone(&clients[worker % clients.len()]);
        workers.spawn(insert(client, job.load, Arc::clone(job.sample), worker as u64, rows));
    }
    let mut timing = crate::timing::Timing::default();
    while let Some(done) = workers.join_next().await {
        timing.merge(done??);
    }
    let used = processes.cpu_seconds()? - before;
    let (peak, all) = (processes.peak_mib()?, timing.all as f64);
    drop(clients);
    server.stop()?;
    let grown = disk_bytes(&server.data())?.saturating_sub(empty);
    let payload = all * job.sample.piece(0).len() as f64;
    Ok(Row {
        cpu_us_per_event: Some(used * 1e6 / all),
        rss_mib: Some(peak),
        disk_ratio: Some(grown as f64 / payload),
        ..Row::new(job.work, "postgresql", job.load.in_flight, timing)
    })
}

async fn insert(
    client: Arc<Client>,
    load: Load,
    sample: Arc<Sample>,
    worker: u64,
    rows: usize,
) -> Result<crate::timing::Timing, Failure> {
    let text = if rows == 1 {
        "INSERT INTO events (session, payload) VALUES ($1, $2) RETURNING seq"
    } else {
        "INSERT INTO events (session, payload) SELECT $1, unnest($2::text[]) RETURNING seq"
    };
    let statement = client.prepare(text).await?;
    let mut watch = Watch::start(&load);
    let mut number = worker * 1_000_003;
    loop {
        let since = Instant::now();
        if watch.over(since) {
            return Ok(watch.finish());
        }
        let session = (number % SIDE_BY_SIDE) as i64;
        let stored = if rows == 1 {
            client.query(&statement, &[&session, &sample.piece(number)]).await?
        } else {
            let pieces: Vec<&str> = (0..rows as u64).map(|n| sample.piece(number + n)).collect();
            client.query(&statement, &[&session, &pieces]).await?
        };
        if stored.len() != rows {
            return Err(format!("{} rows instead of {rows}", stored.len()).into());
        }
        watch.done(since, Instant::now(), rows as u64);
        number += rows as u64;
    }
}
