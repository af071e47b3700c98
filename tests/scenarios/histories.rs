//! Many clients at once, and a daemon that is killed meanwhile: whatever each of them saw fits into one order
//! in which things happened. There is one writer, so that order is the versions of each session, and a pass
//! over what was asked and answered, by time, tells.
//!
//! - An append stands behind everything that was answered before it was sent.
//! - A read shows everything that was answered before it was sent, nothing that was not sent yet, and a
//!   beginning of what the session is in the end.
//! - A command that names the version it expects stands right behind that one, or nowhere.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::watch;

use crate::rig::{Dice, House, Worker, current_server};

const CLIENTS: usize = 12;
const SESSIONS: [&str; 3] = ["h0", "h1", "h2"];
const LONG_ENOUGH: Duration = Duration::from_millis(2_500);
const PATIENCE: Duration = Duration::from_secs(20);

/// Something that was asked and answered.
struct Op {
    session: usize,
    sent: Instant,
    answered: Instant,
    saw: Saw,
}

enum Saw {
    /// What it expected, and the seqs that it was given.
    Appended { id: String, expected: Option<u64>, seqs: Vec<u64> },
    /// It expected another version than the one that it was told.
    Conflict { id: String, expected: u64, version: u64 },
    /// Events from a version on.
    Read { from: u64, events: Vec<Value> },
    /// The version that a window was of.
    Window { version: u64 },
}

/// Asks until somebody answers: no answer is no knowledge.
async fn answer(worker: &Worker, session: &str, verb: &str, body: Value) -> Result<Value, u64> {
    let until = Instant::now() + PATIENCE;
    loop {
        let subject = worker.subject(session, verb);
        let bytes = body.to_string().into_bytes();
        if let Ok(message) = worker.send(&subject, bytes, Duration::from_millis(500)).await {
            let reply: Value = serde_json::from_slice(&message.payload).unwrap();
            match reply["error"]["code"].as_str() {
                None => return Ok(reply),
                Some("version_conflict") => {
                    return Err(reply["error"]["details"]["version"].as_u64().unwrap());
                }
                Some("unavailable" | "overloaded") => {}
                Some(_) => panic!("{reply}"),
            }
        }
        assert!(Instant::now() < until, "nobody answers {session} {verb}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn client(worker: Worker, name: usize, seed: u64, stopped: watch::Receiver<bool>) -> Vec<Op> {
    let mut dice = Dice::of(seed);
    let (mut ops, mut known) = (Vec::new(), [1_u64; SESSIONS.len()]);
    while !*stopped.borrow() {
        let session = dice.below(SESSIONS.len() as u64) as usize;
        let (name_of, version) = (SESSIONS[session], known[session]);
        let sent = Instant::now();
        let saw = match dice.below(4) {
            0 => {
                let from = 1 + dice.below(version);
                let body = json!({ "from_version": from });
                let mut page = answer(&worker, name_of, "history", body).await.unwrap();
                let Value::Array(events) = page["events"].take() else { panic!("{page}") };
                known[session] = version.max(from + events.len() as u64 - 1);
                Saw::Read { from, events }
            }
            1 => {
                let window = answer(&worker, name_of, "window", json!({})).await.unwrap();
                let version = window["version"].as_u64().unwrap();
                known[session] = version;
                Saw::Window { version }
            }
            kind => {
                let id = format!("c{name}-{}", ops.len());
                let spans: Vec<Value> = (0..=dice.below(2))
                    .map(|part| json!({ "role": "user", "origin": "user", "content": format!("{id} {part}") }))
                    .collect();
                let mut body = json!({ "spans": spans, "command_id": id });
                let expected = (kind == 2).then_some(version);
                if let Some(expected) = expected {
                    body["expected_version"] = expected.into();
                }
                match answer(&worker, name_of, "append", body).await {
                    Ok(reply) => {
                        let spans = reply["spans"].as_array().unwrap().iter();
                        let seqs = spans.map(|span| span["seq"].as_u64().unwrap()).collect();
                        Saw::Appended { id, expected, seqs }
                    }
                    Err(version) => {
                        known[session] = version;
                        Saw::Conflict { id, expected: expected.unwrap(), version }
                    }
                }
            }
        };
        ops.push(Op { session, sent, answered: Instant::now(), saw });
    }
    ops
}

/// One session in the end: its events, and what tells them apart.
struct Session {
    events: Vec<Value>,
    version_of: HashMap<u64, u64>,
    of_command: BTreeMap<String, Vec<u64>>,
}

impl Session {
    fn new(events: Vec<Value>) -> Self {
        let (mut version_of, mut of_command) = (HashMap::new(), BTreeMap::<_, Vec<u64>>::new());
        for (version, event) in (1..).zip(&events) {
            assert_eq!(event["version"], version);
            version_of.insert(event["seq"].as_u64().unwrap(), version);
            if let Some(id) = event["command_id"].as_str() {
                of_command.entry(id.to_owned()).or_default().push(version);
            }
        }
        Self { events, version_of, of_command }
    }

    /// First and last version that an answer is about.
    fn versions(&self, saw: &Saw) -> (u64, u64) {
        match saw {
            Saw::Appended { id, expected, seqs } => {
                let versions: Vec<u64> = seqs.iter().map(|seq| self.version_of[seq]).collect();
                assert_eq!(self.of_command[id], versions, "{id} is there once, as it was answered");
                assert!(versions.windows(2).all(|two| two[1] == two[0] + 1), "{id}: {versions:?}");
                if let Some(expected) = expected {
                    assert_eq!(versions[0], expected + 1, "{id} expected {expected}");
                }
                (versions[0], versions[versions.len() - 1])
            }
            Saw::Conflict { id, expected, version } => {
                assert_ne!(expected, version, "{id}");
                assert!(!self.of_command.contains_key(id), "{id} was refused, and is there");
                (*version, *version)
            }
            Saw::Read { from, events } => {
                let first = *from as usize - 1;
                assert_eq!(self.events[first..first + events.len()], events[..], "from {from}");
                let last = from + events.len() as u64 - 1;
                (last, last)
            }
            Saw::Window { version } => (*version, *version),
        }
    }

    /// Goes through what was asked of it by the time of asking; says how many answers bound later ones.
    fn check(&self, ops: &[&Op]) -> usize {
        let mut sent: Vec<(&Op, (u64, u64))> =
            ops.iter().map(|op| (*op, self.versions(&op.saw))).collect();
        sent.sort_by_key(|(op, _)| op.sent);
        let mut answered = sent.clone();
        answered.sort_by_key(|(op, _)| op.answered);
        let mut begun = HashMap::new();
        for (op, _) in &sent {
            if let Saw::Appended { id, .. } = &op.saw {
                begun.insert(id.as_str(), op.sent);
            }
        }
        let (mut next, mut least, mut bound) = (0, 0, 0);
        for (op, (first, last)) in &sent {
            while let Some((before, (_, version))) =
                answered.get(next).filter(|(before, _)| before.answered < op.sent)
            {
                // A page of a history may end before the session does.
                if !matches!(before.saw, Saw::Read { .. }) {
                    least = least.max(*version);
                }
                next += 1;
            }
            bound += usize::from(least > 1);
            match &op.saw {
                Saw::Appended { id, .. } => assert!(*first > least, "{id}: {first} after {least}"),
                Saw::Conflict { id, .. } => assert!(*first >= least, "{id}: {first} after {least}"),
                Saw::Window { .. } => assert!(*last >= least, "a window of {last} after {least}"),
                Saw::Read { events, .. } => {
                    let whole = events.len() < 100;
                    assert!(!whole || *last >= least, "a history up to {last} after {least}");
                }
            }
            let shown = self.events.get(*last as usize - 1);
            let command = shown.and_then(|event| event["command_id"].as_str());
            if let Some(begun) = command.and_then(|id| begun.get(id)) {
                assert!(*begun < op.answered, "version {last} was seen before it was sent");
            }
        }
        bound
    }
}

#[test]
fn what_many_clients_saw_fits_into_one_order_also_across_a_kill() {
    let mut dice = Dice::roll("histories");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut house = House::start(&current_server());
        let worker = house.worker().await;
        for session in SESSIONS {
            worker.open(session).await;
        }
        let (stop, stopped) = watch::channel(false);
        let mut clients = Vec::new();
        for name in 0..CLIENTS {
            // A connection of its own: nothing orders what two of them send.
            let worker = house.worker().await;
            let seed = dice.below(u64::MAX);
            clients.push(tokio::spawn(client(worker, name, seed, stopped.clone())));
        }
        for _ in 0..2 {
            tokio::time::sleep(LONG_ENOUGH / 3).await;
            house.kill_daemon();
            house.start_daemon();
        }
        tokio::time::sleep(LONG_ENOUGH / 3).await;
        stop.send(true).unwrap();
        let mut ops = Vec::new();
        for client in clients {
            ops.extend(client.await.unwrap());
        }
        let mut bound = 0;
        for (place, session) in SESSIONS.iter().enumerate() {
            let end = Session::new(worker.history(session).await);
            let ops: Vec<&Op> = ops.iter().filter(|op| op.session == place).collect();
            bound += end.check(&ops);
        }
        let of = |is: fn(&Saw) -> bool| ops.iter().filter(|op| is(&op.saw)).count();
        let appended = of(|saw| matches!(saw, Saw::Appended { .. }));
        let expected = of(|saw| matches!(saw, Saw::Appended { expected: Some(_), .. }));
        let conflicts = of(|saw| matches!(saw, Saw::Conflict { .. }));
        eprintln!(
            "{} answers, {bound} bound by earlier ones: {appended} appends, {expected} of them with a version, \
             {conflicts} conflicts",
            ops.len()
        );
        assert!(appended > 50 && expected > 5 && conflicts > 5 && bound > 100, "too little happened");
        worker.verify().await;
    });
}
