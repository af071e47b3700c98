//! Appenders whose every reply is kept, and what must hold of them whatever happened meanwhile: what was
//! acknowledged is there once, with the same seq and the same reply; what was not is there at most once,
//! and sending it again gives one effect (I1, I2).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::Worker;

/// Acknowledged commands that are sent again: replies to old ones cost the writer.
const SAMPLE: usize = 60;
/// The pause before a command that was refused or not answered is sent again.
const PAUSE: Duration = Duration::from_millis(10);

/// A session and the body of an append to it.
type Command = (String, Value);

/// How the appenders go about it.
#[derive(Debug, Clone)]
pub(crate) struct Habits {
    pub(crate) sessions: Vec<String>,
    pub(crate) appenders: usize,
    /// How long one attempt waits; then the same bytes are sent again.
    pub(crate) attempt: Duration,
    /// Bytes of filling in each span.
    pub(crate) filling: usize,
}

/// Appenders at work, each with one command on its way at a time.
#[derive(Debug)]
pub(crate) struct Load {
    stop: watch::Sender<bool>,
    acknowledged: Arc<AtomicUsize>,
    appenders: Vec<JoinHandle<Account>>,
}

/// What appenders know in the end.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// Replies by command id, the first one where several were the same.
    pub(crate) acknowledged: BTreeMap<String, (Command, Value)>,
    /// Commands that were never acknowledged.
    pub(crate) unanswered: BTreeMap<String, Command>,
    /// Attempts behind the first of their command.
    pub(crate) resent: usize,
    /// Refusals by their code: `overloaded` and `unavailable` may come.
    pub(crate) refused: BTreeMap<String, usize>,
}

impl Load {
    /// Opens the sessions and begins, each worker with its share of the appenders.
    pub(crate) async fn begin(workers: &[Worker], habits: &Habits) -> Self {
        for session in &habits.sessions {
            workers[0].open(session).await;
        }
        let (stop, stopped) = watch::channel(false);
        let acknowledged = Arc::<AtomicUsize>::default();
        let appenders = (0..habits.appenders).map(|appender| {
            let worker = workers[appender % workers.len()].clone();
            let (habits, count) = (habits.clone(), Arc::clone(&acknowledged));
            tokio::spawn(append(worker, habits, appender, stopped.clone(), count))
        });
        let appenders = appenders.collect();
        Self { stop, acknowledged, appenders }
    }

    /// How many commands are acknowledged by now.
    pub(crate) fn acknowledged(&self) -> usize {
        self.acknowledged.load(Ordering::Relaxed)
    }

    /// Waits until so many more are acknowledged.
    pub(crate) async fn goes_on(&self, by: usize, within: Duration) {
        let wanted = self.acknowledged() + by;
        let going = async {
            while self.acknowledged() < wanted {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let went = tokio::time::timeout(within, going).await;
        let more = wanted - by.min(wanted);
        assert!(went.is_ok(), "{} of {by} more in {within:?}", self.acknowledged() - more);
    }

    /// Ends it; what is on its way stays unanswered.
    pub(crate) async fn end(self) -> Account {
        // Err: all appenders have ended, which joining them will say.
        let _ = self.stop.send(true);
        let mut account = Account::default();
        for appender in self.appenders {
            let part = appender.await.unwrap();
            account.acknowledged.extend(part.acknowledged);
            account.unanswered.extend(part.unanswered);
            account.resent += part.resent;
            for (code, count) in part.refused {
                *account.refused.entry(code).or_default() += count;
            }
        }
        account
    }
}

async fn append(
    worker: Worker,
    habits: Habits,
    appender: usize,
    mut stopped: watch::Receiver<bool>,
    count: Arc<AtomicUsize>,
) -> Account {
    let mut account = Account::default();
    for number in 0.. {
        let session = habits.sessions[(appender + number) % habits.sessions.len()].clone();
        let id = format!("{session}-a{appender}-{number}");
        // Some commands record several spans: all or none of them must survive.
        let span = |part| {
            let content = format!("{id} part {part} {}", filling(&id, habits.filling));
            json!({ "role": "user", "origin": "user", "content": content })
        };
        let spans: Vec<Value> = (0..=number % 3).map(span).collect();
        let body = json!({ "spans": spans, "command_id": id });
        let attempts = until_acknowledged(&worker, &session, &body, habits.attempt, &mut account);
        let reply = tokio::select! {
            reply = attempts => Some(reply),
            _ = stopped.wait_for(|stopped| *stopped) => None,
        };
        let command = (session, body);
        let Some(reply) = reply else {
            account.unanswered.insert(id, command);
            return account;
        };
        count.fetch_add(1, Ordering::Relaxed);
        account.acknowledged.insert(id, (command, reply));
    }
    unreachable!("it goes on until it is stopped")
}

/// So many bytes that nothing makes shorter.
fn filling(id: &str, bytes: usize) -> String {
    let mut noise = vec![0; bytes * 3 / 4];
    blake3::Hasher::new().update(id.as_bytes()).finalize_xof().fill(&mut noise);
    BASE64_STANDARD.encode(noise)
}

/// Sends the same bytes until they are acknowledged; gives the first reply, which later ones repeat.
async fn until_acknowledged(
    worker: &Worker,
    session: &str,
    body: &Value,
    attempt: Duration,
    account: &mut Account,
) -> Value {
    let (subject, bytes) = (worker.subject(session, "append"), body.to_string().into_bytes());
    loop {
        if let Ok(message) = worker.send(&subject, bytes.clone(), attempt).await {
            let mut reply: Value = serde_json::from_slice(&message.payload).unwrap();
            match reply["error"]["code"].as_str() {
                None => {
                    reply.as_object_mut().unwrap().remove("duplicate");
                    return reply;
                }
                Some(code @ ("overloaded" | "unavailable")) => {
                    *account.refused.entry(code.to_owned()).or_default() += 1;
                }
                Some(_) => panic!("{reply}"),
            }
        }
        account.resent += 1;
        tokio::time::sleep(PAUSE).await;
    }
}

impl Account {
    /// Holds it against the journal, sends again what was not acknowledged and some of what was, and
    /// verifies the journal.
    pub(crate) async fn settle(&self, worker: &Worker) {
        let survived = self.recorded(worker).await;
        for (id, (command, reply)) in &self.acknowledged {
            let found =
                survived.get(id).unwrap_or_else(|| panic!("{id} was acknowledged, is gone"));
            assert_eq!(found, &seqs(reply), "{id}");
            assert_eq!(found.len(), parts(command), "{id}");
        }
        let mut once = BTreeMap::new();
        for (id, command) in &self.unanswered {
            let found = survived.get(id).map_or(0, Vec::len);
            assert!(found == 0 || found == parts(command), "{id}: {found} of {}", parts(command));
            let again = worker.call(&command.0, "append", command.1.clone()).await;
            // What was on its way all along may have arrived after the journal was read above.
            assert!(found == 0 || again["duplicate"] == true, "{id}: {again}");
            once.insert(id.clone(), seqs(&again));
        }
        let step = (self.acknowledged.len() / SAMPLE).max(1);
        for (id, (command, first)) in self.acknowledged.iter().rev().step_by(step) {
            let again = worker.call(&command.0, "append", command.1.clone()).await;
            let mut expected = first.clone();
            expected["duplicate"] = true.into();
            assert_eq!(again, expected, "{id}: the first reply again");
            once.insert(id.clone(), seqs(first));
        }
        let after = self.recorded(worker).await;
        for (id, seqs) in &once {
            assert_eq!(&after[id], seqs, "{id} has one effect");
        }
        worker.verify().await;
    }

    /// The seqs of all spans in the sessions, by command id.
    async fn recorded(&self, worker: &Worker) -> BTreeMap<String, Vec<u64>> {
        let acknowledged = self.acknowledged.values().map(|(command, _)| command);
        let commands = acknowledged.chain(self.unanswered.values());
        let sessions: std::collections::BTreeSet<&String> =
            commands.map(|(session, _)| session).collect();
        let mut by_command: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for session in sessions {
            for (index, event) in worker.history(session).await.into_iter().enumerate() {
                assert_eq!(event["version"], index + 1, "versions have no gaps");
                if event["kind"] == "span-recorded" {
                    let id = event["command_id"].as_str().unwrap().to_owned();
                    by_command.entry(id).or_default().push(event["seq"].as_u64().unwrap());
                }
            }
        }
        by_command
    }
}

fn seqs(reply: &Value) -> Vec<u64> {
    reply["spans"].as_array().unwrap().iter().map(|span| span["seq"].as_u64().unwrap()).collect()
}

fn parts((_, body): &Command) -> usize {
    body["spans"].as_array().unwrap().len()
}
