//! `lacuna replay` at a terminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::Value;

use crate::replay::{history, journal, record};
use crate::rig::{Broker, House, current_server, free_port, lacuna};

const PATIENCE: Duration = Duration::from_secs(40);

/// A terminal with the command on it.
struct Terminal {
    child: std::process::Child,
    ours: File,
    seen: std::sync::mpsc::Receiver<Vec<u8>>,
}

impl Terminal {
    fn start(arguments: &[&str]) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
        let theirs = File::options().read(true).write(true).open(name).unwrap();
        let fd = || Stdio::from(OwnedFd::from(theirs.try_clone().unwrap()));
        let mut command = Command::new(lacuna());
        command.args(arguments).stdin(fd()).stdout(fd()).stderr(fd()).env("TERM", "dumb");
        let child = command.spawn().unwrap();
        let ours = File::from(ours);
        let mut reader = ours.try_clone().unwrap();
        let (told, seen) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut some = [0; 4_096];
            while let Ok(read @ 1..) = reader.read(&mut some) {
                if told.send(some[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { child, ours, seen }
    }

    /// What it shows until it waits for the next line.
    fn shown(&self) -> String {
        let (mut shown, began) = (Vec::new(), Instant::now());
        loop {
            let left = PATIENCE.saturating_sub(began.elapsed());
            shown.extend(self.seen.recv_timeout(left).expect("it asks for the next line"));
            let text = String::from_utf8_lossy(&shown);
            if text.ends_with(" > ") {
                return text.into_owned();
            }
        }
    }

    fn answer(&mut self, line: &str) -> String {
        writeln!(self.ours, "{line}").unwrap();
        self.shown()
    }

    fn end(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It has ended already where it was told to.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn at_a_terminal_it_waits_for_what_to_show_next() {
    let (folder, cli) = journal();
    let events = history(&cli, "s");
    let last = events.len();
    let journal = folder.path().join("journal");
    let replay = ["replay", "-s", "s", "--journal", journal.to_str().unwrap()];
    let mut terminal = Terminal::start(&replay);
    let at = |version: usize| format!("── version {version} of {last}  ");
    let shows = |shown: &str, version: usize| {
        assert!(shown.contains(&at(version)), "{version}: {shown}");
        assert!(shown.contains(&format!("{version}/{last} ")), "{shown}");
        assert_eq!(shown.matches("── version").count(), 1, "{shown}");
    };
    shows(&terminal.shown(), 1);
    shows(&terminal.answer(""), 2);
    let shown = terminal.answer("n");
    shows(&shown, 3);
    assert!(shown.contains("The port is 5433.") && shown.contains('•'), "{shown}");
    shows(&terminal.answer("b"), 2);
    let pruned = events.iter().position(|event| event["kind"] == "prune-executed").unwrap() + 1;
    let shown = terminal.answer("k prune-executed");
    shows(&shown, pruned);
    assert!(shown.contains("because: it is in b too"), "{shown}");
    assert!(terminal.answer("k run-opened").contains("no event of this kind is behind"));
    let shown = terminal.answer("w");
    assert_eq!(shown.matches("The port is 5433.").count(), 2, "b and c: {shown}");
    assert!(terminal.answer("g 1000").contains(&format!("there are the versions 1 to {last}")));
    assert!(terminal.answer("nonsense").contains("? lists them"));
    assert!(terminal.answer("?").contains("the next event of a kind"));
    shows(&terminal.answer(&format!("g {last}")), last);
    assert!(terminal.answer("").contains("that was the last step"));
    shows(&terminal.answer("g v1"), 1);
    assert!(terminal.answer("b").contains("that was the first step"));
    writeln!(terminal.ours, "q").unwrap();
    assert_eq!(terminal.end(), Some(0));
    // Ctrl-D, and Ctrl-C while it waits.
    let mut terminal = Terminal::start(&replay);
    terminal.shown();
    terminal.ours.write_all(&[4]).unwrap();
    assert_eq!(terminal.end(), Some(0));
    let terminal = Terminal::start(&replay);
    terminal.shown();
    let pid = Pid::from_raw(i32::try_from(terminal.child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    assert_eq!(terminal.end(), Some(0));
}

/// The numbers under which a broker knows the commands that are connected.
fn commands(monitoring: u16) -> Vec<u64> {
    let mut stream = TcpStream::connect(("127.0.0.1", monitoring)).unwrap();
    stream.write_all(b"GET /connz HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    let connections = body["connections"].as_array().unwrap();
    let commands = connections.iter().filter(|connection| connection["name"] == "lacuna cli");
    commands.map(|connection| connection["cid"].as_u64().unwrap()).collect()
}

#[test]
fn the_connection_lives_while_a_person_reads() {
    let monitoring = free_port();
    let lines = format!("http: \"127.0.0.1:{monitoring}\"\nping_interval: \"1s\"\nping_max: 1\n");
    let broker = Broker::start_with(&current_server(), &lines, free_port());
    let house = House::behind(broker);
    record(&house.cli(), house.folder());
    let mut terminal = Terminal::start(&["replay", "-s", "s", "--nats", &house.url()]);
    terminal.shown();
    let before = commands(monitoring);
    assert_eq!(before.len(), 1);
    // The broker pings it each second, and leaves who does not answer twice.
    std::thread::sleep(Duration::from_secs(5));
    assert!(terminal.answer("").contains("── version 2 of "));
    assert_eq!(commands(monitoring), before);
    writeln!(terminal.ours, "q").unwrap();
    assert_eq!(terminal.end(), Some(0));
}
