//! The daemon as a child process, with its log at hand.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, prlimit};

use super::binary::{lacuna, without_settings};

/// How long a daemon may take to start, or to stop once asked.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running `lacuna serve`. It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Daemon {
    child: Child,
    log: Arc<Log>,
}

#[derive(Debug, Default)]
struct Log {
    lines: Mutex<Lines>,
    more: Condvar,
}

#[derive(Debug, Default)]
struct Lines {
    text: Vec<String>,
    ended: bool,
}

impl Daemon {
    /// Starts one and waits until it serves.
    pub(crate) fn start(journal: &Path, url: &str) -> Self {
        let daemon = Self::spawn(journal, &["--nats", url]);
        daemon.wait_until_ready();
        daemon
    }

    /// Starts one with these arguments, without waiting.
    pub(crate) fn spawn(journal: &Path, arguments: &[&str]) -> Self {
        Self::spawn_with(journal, arguments, &[])
    }

    /// The same with these variables.
    pub(crate) fn spawn_with(journal: &Path, arguments: &[&str], set: &[(&str, &str)]) -> Self {
        Self::launch(Command::new(lacuna()), journal, arguments, set)
    }

    /// The same with no more than this address space, from its first instruction on.
    pub(crate) fn spawn_within(mib: u64, journal: &Path, arguments: &[&str]) -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -S -v {} && exec \"$0\" \"$@\"", mib << 10)]);
        shell.arg(lacuna());
        Self::launch(shell, journal, arguments, &[])
    }

    fn launch(
        mut command: Command,
        journal: &Path,
        arguments: &[&str],
        set: &[(&str, &str)],
    ) -> Self {
        command.arg("serve").arg("--journal").arg(journal).args(arguments);
        without_settings(&mut command);
        command.envs(set.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let log = Arc::<Log>::default();
        let (stderr, writer) = (child.stderr.take().unwrap(), Arc::clone(&log));
        std::thread::spawn(move || writer.read(stderr));
        Self { child, log }
    }

    /// Waits for the line that says it is ready.
    pub(crate) fn wait_until_ready(&self) {
        self.wait_for(0, |line| line.split_whitespace().any(|word| word == "ready"));
    }

    /// Waits until a line of the log from the `from`th on says this, and gives how many lines there
    /// are up to it.
    pub(crate) fn wait_for_words(&self, from: usize, words: &str) -> usize {
        self.wait_for(from, |line| line.contains(words))
    }

    fn wait_for(&self, from: usize, says: impl Fn(&str) -> bool) -> usize {
        let until = Instant::now() + PATIENCE;
        let mut lines = self.log.lines.lock().unwrap();
        loop {
            if let Some(at) = lines.text.iter().skip(from).position(|line| says(line)) {
                return from + at + 1;
            }
            let left = until.saturating_duration_since(Instant::now());
            if lines.ended || left.is_zero() {
                let (ended, log) = (lines.ended, lines.text.join("\n"));
                // Others read the log on the way out: a panic must not hold its lock.
                drop(lines);
                panic!("it did not say so (ended: {ended}); log:\n{log}");
            }
            lines = self.log.more.wait_timeout(lines, left).unwrap().0;
        }
    }

    /// What it has said so far.
    pub(crate) fn log(&self) -> String {
        self.log.lines.lock().unwrap().text.join("\n")
    }

    /// How many lines it has said so far.
    pub(crate) fn lines(&self) -> usize {
        self.log.lines.lock().unwrap().text.len()
    }

    /// Whether it still runs.
    pub(crate) fn runs(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Memory that it holds now, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        self.size("VmRSS:")
    }

    /// Address space that it has now, in bytes: more than it holds.
    pub(crate) fn address_space(&self) -> u64 {
        self.size("VmSize:")
    }

    fn size(&self, field: &str) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let text = std::fs::read_to_string(path).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        line.split_whitespace().next().unwrap().parse::<u64>().unwrap() << 10
    }

    /// `kill -9`.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        let status = self.child.wait().unwrap();
        assert_eq!(status.code(), None, "it ended by itself before it was killed: {status}");
    }

    /// Lets it have so much of something from now on; without a number, what this process may have.
    pub(crate) fn limit(&self, resource: Resource, most: Option<u64>) {
        let ours = getrlimit(resource);
        let limits = Rlimit { current: most.or(ours.current), maximum: ours.maximum };
        prlimit(Some(self.pid()), resource, limits).unwrap();
    }

    /// Stops it in its tracks, or lets it go on: its connection stays, and nobody answers.
    pub(crate) fn freeze(&self, frozen: bool) {
        kill_process(self.pid(), if frozen { Signal::STOP } else { Signal::CONT }).unwrap();
    }

    /// SIGTERM; returns without waiting.
    pub(crate) fn ask_to_stop(&self) {
        kill_process(self.pid(), Signal::TERM).unwrap();
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap()
    }

    /// Waits until it has ended, and gives how and what it said.
    pub(crate) fn wait(mut self) -> (ExitStatus, String) {
        let until = Instant::now() + PATIENCE;
        while self.runs() {
            assert!(Instant::now() < until, "it does not end; log:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut lines = self.log.lines.lock().unwrap();
        while !lines.ended {
            lines = self.log.more.wait(lines).unwrap();
        }
        let text = lines.text.join("\n");
        drop(lines);
        (self.child.wait().unwrap(), text)
    }

    /// SIGTERM, and the end that ought to follow.
    pub(crate) fn stop(self) -> String {
        self.ask_to_stop();
        let (status, log) = self.wait();
        assert_eq!(status.code(), Some(0), "{log}");
        log
    }
}

impl Log {
    fn read(&self, stderr: ChildStderr) {
        for line in BufReader::new(stderr).lines() {
            let Ok(line) = line else { break };
            self.lines.lock().unwrap().text.push(line);
            self.more.notify_all();
        }
        self.lines.lock().unwrap().ended = true;
        self.more.notify_all();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It has ended already where a scenario waited for it.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("the daemon's log:\n{}", self.log());
        }
    }
}
