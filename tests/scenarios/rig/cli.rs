//! The command line as a person or a script runs it.

use std::io::{Read, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::binary::{lacuna, without_settings};

/// How long a command may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// `lacuna` with arguments that say where to.
#[derive(Debug, Clone)]
pub(crate) struct Cli {
    place: Vec<String>,
}

/// How a command ended and what it printed.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) took: Duration,
}

impl Cli {
    /// Through a daemon on this broker.
    pub(crate) fn nats(url: &str) -> Self {
        Self { place: vec!["--nats".into(), url.into()] }
    }

    /// Straight to this journal.
    pub(crate) fn journal(folder: &Path) -> Self {
        Self { place: vec!["--journal".into(), folder.to_str().unwrap().into()] }
    }

    /// Without saying where to.
    pub(crate) fn nowhere() -> Self {
        Self { place: Vec::new() }
    }

    /// Runs a command, with nothing on standard input.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(b"", arguments)
    }

    /// Runs a command with this on standard input.
    pub(crate) fn run_with(&self, input: &[u8], arguments: &[&str]) -> Ran {
        let mut command = Command::new(lacuna());
        let began = Instant::now();
        command.args(arguments).args(&self.place);
        without_settings(&mut command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let out = reader(child.stdout.take().unwrap());
        let err = reader(child.stderr.take().unwrap());
        // A command that reads no input may have ended; that is not the writer's failure.
        drop(child.stdin.take().unwrap().write_all(input));
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if began.elapsed() > PATIENCE {
                child.kill().unwrap();
                panic!("lacuna {arguments:?} does not end");
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let took = began.elapsed();
        let text = |reader: JoinHandle<Vec<u8>>| String::from_utf8(reader.join().unwrap()).unwrap();
        let code = status.code().unwrap_or_else(|| panic!("lacuna {arguments:?}: {status}"));
        Ran { code, out: text(out), err: text(err), took }
    }

    /// Runs a command with `--json`; it must print exactly one JSON object.
    pub(crate) fn json(&self, arguments: &[&str]) -> (i32, Value) {
        self.json_with(b"", arguments)
    }

    /// The same with this on standard input.
    pub(crate) fn json_with(&self, input: &[u8], arguments: &[&str]) -> (i32, Value) {
        let ran = self.run_with(input, &[arguments, &["--json"]].concat());
        (ran.code, ran.object())
    }

    /// Runs a command with `--json` that must end well.
    pub(crate) fn done(&self, arguments: &[&str]) -> Value {
        let (code, reply) = self.json(arguments);
        assert_eq!(code, 0, "lacuna {arguments:?}: {reply}");
        reply
    }
}

impl Ran {
    /// The one JSON object that it printed.
    pub(crate) fn object(&self) -> Value {
        let value: Value = serde_json::from_str(&self.out)
            .unwrap_or_else(|error| panic!("{error}: {:?}, {:?}", self.out, self.err));
        assert!(value.is_object(), "{value}");
        value
    }
}

fn reader(mut pipe: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).unwrap();
        bytes
    })
}
