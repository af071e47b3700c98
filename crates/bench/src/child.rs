//! This program once more, as a process of its own: what it uses is then its own, and it can be killed.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::Failure;

/// What a child says once it can be used.
const READY: &str = "ready";

/// A running child. It ends when its standard input closes, and is killed if this is dropped.
pub(crate) struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Running {
    /// Starts this program with these arguments.
    pub(crate) fn start<A: AsRef<OsStr>>(
        args: impl IntoIterator<Item = A>,
    ) -> Result<Self, Failure> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().ok_or("a child without output")?;
        Ok(Self { child, stdin, stdout: BufReader::new(stdout) })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line that it prints.
    pub(crate) fn line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        if self.stdout.read_line(&mut line)? == 0 {
            return Err(format!("a child ended early: {}", self.child.wait()?).into());
        }
        Ok(line.trim_end().to_owned())
    }

    /// Waits until it can be used.
    pub(crate) fn ready(&mut self) -> Result<(), Failure> {
        match self.line()?.as_str() {
            READY => Ok(()),
            other => Err(format!("a child said {other:?} instead of being ready").into()),
        }
    }

    /// Tells it to end, and waits until it has.
    pub(crate) fn stop(mut self) -> Result<(), Failure> {
        drop(self.stdin.take());
        let status = self.child.wait()?;
        if status.success() { Ok(()) } else { Err(format!("a child failed: {status}").into()) }
    }

    /// Ends it as a power cut would end it, as far as a process can see.
    pub(crate) fn kill(mut self) -> Result<(), Failure> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended cannot be killed; it is ours, so nobody else has its number yet.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// In the child: says that it can be used.
pub(crate) fn say_ready() {
    say(READY);
}

/// In the child: tells the parent something.
pub(crate) fn say(line: &str) {
    use std::io::Write as _;
    let mut out = std::io::stdout().lock();
    // A parent that is gone needs nothing any more.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// In the child: waits until it is told to end.
pub(crate) fn wait_for_end() {
    let mut line = String::new();
    while std::io::stdin().read_line(&mut line).is_ok_and(|read| read > 0) {}
}
