//! Real nats-servers, each on a free port with a store of its own. Only those started here are
//! stopped here.

use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::repository;

/// How long a broker may take to greet.
const STARTING: Duration = Duration::from_secs(10);
/// What it says goes there, in its folder.
const LOG: &str = "nats.log";

/// A nats-server program.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    program: PathBuf,
    version: String,
}

impl Server {
    fn at(program: PathBuf) -> Option<Self> {
        let output = Command::new(&program).arg("--version").output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let version = text.trim().rsplit('v').next()?.to_owned();
        Some(Self { program, version })
    }

    /// Its version, such as 2.15.1.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// Releases before 2.10 know fewer things; Lacuna promises to work with 2.9 all the same.
    fn is_old(&self) -> bool {
        let mut numbers = self.version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
        (numbers.next(), numbers.next()) < (Some(2), Some(10))
    }
}

/// The nats-server of today. Nothing here can be tested without one.
pub(crate) fn current_server() -> Server {
    static FOUND: OnceLock<Server> = OnceLock::new();
    let find = || {
        let tool = "target/tools/nats-2.15/bin/nats-server";
        find("LACUNA_NATS_SERVER", tool, |server| !server.is_old()).expect(
            "a nats-server of 2.10 or later is needed: run ops/test, which installs one, or point \
             LACUNA_NATS_SERVER to it",
        )
    };
    FOUND.get_or_init(find).clone()
}

/// Every nats-server to test with: today's, and 2.9 where it is at hand.
pub(crate) fn servers() -> Vec<Server> {
    static OLD: OnceLock<Option<Server>> = OnceLock::new();
    let old = OLD.get_or_init(|| {
        let tool = "target/tools/nats-2.9/usr/sbin/nats-server";
        let found = find("LACUNA_NATS_SERVER_OLD", tool, Server::is_old);
        if found.is_none() {
            eprintln!(
                "NOT TESTED with nats-server 2.9: none was found; run ops/test, which installs \
                 one, or point LACUNA_NATS_SERVER_OLD to it"
            );
        }
        found
    });
    [Some(current_server()), old.clone()].into_iter().flatten().collect()
}

fn find(variable: &str, tool: &str, fits: impl Fn(&Server) -> bool) -> Option<Server> {
    if let Some(named) = std::env::var_os(variable) {
        let server = Server::at(PathBuf::from(&named));
        return Some(server.unwrap_or_else(|| panic!("{variable}={named:?} does not run")));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join("nats-server"));
    std::iter::once(repository().join(tool))
        .chain(on_path)
        .filter(|program| program.is_file())
        .filter_map(Server::at)
        .find(fits)
}

/// A port that nobody listens on just now.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A running nats-server. It ends, and its store goes, when this is dropped.
#[derive(Debug)]
pub(crate) struct Broker {
    server: Server,
    folder: TempDir,
    config: PathBuf,
    environment: Vec<(String, String)>,
    port: u16,
    /// Whether it says nothing before TLS.
    silent: bool,
    child: Option<Child>,
}

impl Broker {
    /// Starts one with the settings it ships with.
    pub(crate) fn start(server: &Server) -> Self {
        Self::start_with(server, "", free_port())
    }

    /// Starts one with these lines in its configuration.
    pub(crate) fn start_with(server: &Server, lines: &str, port: u16) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("nats.conf");
        std::fs::write(&config, with_jetstream(lines)).unwrap();
        Self::launch(server, folder, &config, Vec::new(), port)
    }

    /// Starts one without JetStream.
    pub(crate) fn plain(server: &Server, port: u16) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("nats.conf");
        std::fs::write(&config, "# as it comes\n").unwrap();
        Self::launch(server, folder, &config, Vec::new(), port)
    }

    /// Starts one with a configuration file of the repository and what that reads from the
    /// environment.
    pub(crate) fn start_from(
        server: &Server,
        config: &Path,
        environment: Vec<(String, String)>,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::launch(server, folder, config, environment, free_port())
    }

    fn launch(
        server: &Server,
        folder: TempDir,
        config: &Path,
        environment: Vec<(String, String)>,
        port: u16,
    ) -> Self {
        let (server, config) = (server.clone(), config.to_owned());
        let lines = std::fs::read_to_string(&config).unwrap();
        let silent =
            lines.lines().any(|line| !line.contains('#') && line.contains("handshake_first"));
        let mut broker = Self { server, folder, config, environment, port, silent, child: None };
        broker.restart();
        broker
    }

    /// Where it is.
    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Its port on 127.0.0.1.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// What it has said since it started last.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join(LOG)).unwrap()
    }

    /// Gives it other lines of configuration, which count from the next start on.
    pub(crate) fn configure(&self, lines: &str) {
        std::fs::write(&self.config, with_jetstream(lines)).unwrap();
    }

    /// The same with a user and a password in it.
    pub(crate) fn url_as(&self, user: &str, password: &str) -> String {
        format!("nats://{user}:{password}@127.0.0.1:{}", self.port)
    }

    /// Ends it at once, as a machine that fails does.
    pub(crate) fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Stops it in its tracks, or lets it go on: its connections stay, and nobody answers.
    pub(crate) fn freeze(&self, frozen: bool) {
        let pid = self.child.as_ref().unwrap().id();
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        kill_process(pid, if frozen { Signal::STOP } else { Signal::CONT }).unwrap();
    }

    /// Where it stores streams. Only while it is stopped anything may be done there.
    pub(crate) fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    /// Starts it again, on the same port with the same store.
    pub(crate) fn restart(&mut self) {
        self.stop();
        let log = self.folder.path().join(LOG);
        let file = std::fs::File::create(&log).unwrap();
        let child = Command::new(&self.server.program)
            // Stores are named relative to this.
            .current_dir(&self.folder)
            .arg("--config")
            .arg(&self.config)
            .args(["--addr", "127.0.0.1", "--port", &self.port.to_string()])
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file)
            .spawn()
            .unwrap();
        let child = self.child.insert(child);
        let until = Instant::now() + STARTING;
        while !greets(self.port, self.silent) {
            let ended = child.try_wait().unwrap();
            if ended.is_some() || Instant::now() > until {
                let said = std::fs::read_to_string(&log).unwrap_or_default();
                panic!("nats-server does not serve ({ended:?}):\n{said}");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// A configuration with these lines and JetStream.
fn with_jetstream(lines: &str) -> String {
    format!("jetstream {{ store_dir: \"./store\" }}\n{lines}")
}

/// Whether a nats-server greets there: it sends INFO first, unless it waits for TLS.
fn greets(port: u16, silent: bool) -> bool {
    let Ok(stream) = TcpStream::connect(("127.0.0.1", port)) else { return false };
    if silent {
        return true;
    }
    stream.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).is_ok() && line.starts_with("INFO ")
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.stop();
    }
}
