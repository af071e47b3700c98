//! `kill -9` under load: what was acknowledged is there once, with the same seq and the same reply;
//! what was not is there at most once, and sending it again gives one effect (I1, I2).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::watch;

use crate::rig::{Dice, House, Worker, current_server, servers};

const APPENDERS: usize = 64;
const SESSIONS: usize = 8;
/// Acknowledged commands that are sent again after a kill: replies to old ones cost the writer.
const SAMPLE: usize = 100;
/// Rounds go on until this has passed.
const LONG_ENOUGH: Duration = Duration::from_secs(8);

/// A command: its session and its body.
type Command = (String, Value);

/// What one appender knows: replies by command id, and the command that got none.
#[derive(Default)]
struct Account {
    acknowledged: BTreeMap<String, (Command, Value)>,
    unanswered: Vec<(String, Command)>,
}

fn session_of(round: usize, appender: usize) -> String {
    format!("r{round}-s{}", appender % SESSIONS)
}

/// Appends, one after the other, until told to stop; what is in flight then stays unanswered.
async fn append_until_stopped(
    worker: Worker,
    round: usize,
    appender: usize,
    mut stopped: watch::Receiver<bool>,
) -> Account {
    let mut account = Account::default();
    for number in 0.. {
        let id = format!("r{round}-a{appender}-{number}");
        let session = session_of(round, appender);
        // Some commands record several spans: all or none of them must survive.
        let spans: Vec<Value> = (0..=number % 3)
            .map(|part| {
                json!({
                    "role": "user", "origin": "user", "content": format!("{id} part {part}"),
                })
            })
            .collect();
        let body = json!({ "spans": spans, "command_id": id });
        let command = (session.clone(), body.clone());
        let subject = worker.subject(&session, "append");
        let sending = worker.send(&subject, body.to_string().into_bytes(), Duration::from_secs(20));
        tokio::select! {
            reply = sending => match reply {
                Ok(message) => {
                    let reply: Value = serde_json::from_slice(&message.payload).unwrap();
                    assert!(reply.get("error").is_none(), "{reply}");
                    account.acknowledged.insert(id, (command, reply));
                }
                Err(_) => {
                    account.unanswered.push((id, command));
                    return account;
                }
            },
            _ = stopped.wait_for(|stopped| *stopped) => {
                account.unanswered.push((id, command));
                return account;
            }
        }
    }
    unreachable!("it goes on until it is stopped")
}

/// Sends a command again until somebody answers.
async fn resend(worker: &Worker, (session, body): &Command) -> Value {
    let reply = worker.ask(session, "append", body.clone()).await;
    reply.unwrap_or_else(|refused| panic!("{body}: {refused:?}"))
}

/// Every span-recorded event of the round's sessions, by command id.
async fn recorded(worker: &Worker, round: usize) -> BTreeMap<String, Vec<Value>> {
    let mut by_command: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for session in 0..SESSIONS {
        let events = worker.history(&session_of(round, session)).await;
        for (index, event) in events.into_iter().enumerate() {
            assert_eq!(event["version"], index + 1, "versions have no gaps");
            if event["kind"] == "span-recorded" {
                let id = event["command_id"].as_str().unwrap().to_owned();
                by_command.entry(id).or_default().push(event);
            }
        }
    }
    by_command
}

fn seqs(of: &Value) -> Vec<u64> {
    of["spans"].as_array().unwrap().iter().map(|span| span["seq"].as_u64().unwrap()).collect()
}

async fn round(house: &mut House, dice: &mut Dice, round: usize) -> (usize, usize) {
    let worker = house.worker().await;
    for session in 0..SESSIONS {
        worker.open(&session_of(round, session)).await;
    }
    let (stop, stopped) = watch::channel(false);
    let appenders: Vec<_> = (0..APPENDERS)
        .map(|appender| {
            let (worker, stopped) = (worker.clone(), stopped.clone());
            tokio::spawn(append_until_stopped(worker, round, appender, stopped))
        })
        .collect();
    tokio::time::sleep(dice.between(Duration::from_millis(20), Duration::from_millis(400))).await;
    house.kill_daemon();
    // Replies that had left before it died may still arrive.
    tokio::time::sleep(Duration::from_millis(50)).await;
    stop.send(true).unwrap();
    let mut account = Account::default();
    for appender in appenders {
        let part = appender.await.unwrap();
        account.acknowledged.extend(part.acknowledged);
        account.unanswered.extend(part.unanswered);
    }
    house.start_daemon();
    let worker = house.worker().await;
    let survived = recorded(&worker, round).await;
    for (id, (command, reply)) in &account.acknowledged {
        let found = survived.get(id).unwrap_or_else(|| panic!("{id} was acknowledged and is gone"));
        let at: Vec<u64> = found.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
        assert_eq!(at, seqs(reply), "{id}");
        assert_eq!(found.len(), command.1["spans"].as_array().unwrap().len(), "{id}");
    }
    for (id, command) in &account.unanswered {
        let parts = command.1["spans"].as_array().unwrap().len();
        let found = survived.get(id).map_or(0, Vec::len);
        assert!(found == 0 || found == parts, "{id}: {found} of {parts} spans");
    }
    // The unanswered are sent again, as workers would; and some that were answered, evenly spread.
    let mut firsts = BTreeMap::new();
    for (id, command) in &account.unanswered {
        let again = resend(&worker, command).await;
        assert_eq!(survived.contains_key(id), again["duplicate"] == true, "{id}: {again}");
        firsts.insert(id.clone(), seqs(&again));
    }
    let step = (account.acknowledged.len() / SAMPLE).max(1);
    for (id, (command, first)) in account.acknowledged.iter().rev().step_by(step) {
        let again = resend(&worker, command).await;
        let mut expected = first.clone();
        expected["duplicate"] = true.into();
        assert_eq!(again, expected, "{id}: the first reply again");
        firsts.insert(id.clone(), seqs(first));
    }
    let after = recorded(&worker, round).await;
    for (id, seqs) in &firsts {
        let at: Vec<u64> = after[id].iter().map(|event| event["seq"].as_u64().unwrap()).collect();
        assert_eq!(&at, seqs, "{id} has one effect");
    }
    worker.verify().await;
    (account.acknowledged.len(), account.unanswered.len())
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_happens_twice() {
    let mut dice = Dice::roll("kill -9 under load");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut house = House::start(&current_server());
        let began = Instant::now();
        let (mut rounds, mut acknowledged, mut unanswered) = (0, 0, 0);
        while rounds < 3 || began.elapsed() < LONG_ENOUGH {
            let (some, none) = round(&mut house, &mut dice, rounds).await;
            rounds += 1;
            acknowledged += some;
            unanswered += none;
        }
        eprintln!("{rounds} rounds, {acknowledged} acknowledged, {unanswered} unanswered");
        assert!(acknowledged > APPENDERS && unanswered > 0, "the kills hit nothing");
        house.stop_daemon();
    });
}

/// One short round with the older broker: its redelivery and its errors differ.
#[test]
fn nor_with_an_older_broker() {
    let Some(old) = servers().into_iter().nth(1) else { return };
    let mut dice = Dice::roll("kill -9 under load, older broker");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut house = House::start(&old);
        let (acknowledged, unanswered) = round(&mut house, &mut dice, 0).await;
        eprintln!("{acknowledged} acknowledged, {unanswered} unanswered");
        house.stop_daemon();
    });
}
