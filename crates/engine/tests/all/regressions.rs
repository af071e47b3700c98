//! Faults that were found and mended, each under a name that says what it was.

use std::sync::mpsc::sync_channel;
use std::time::Duration;

use lacuna_core::{Command, Reply, Verdict};
use lacuna_engine::{EngineError, Journal, Options};
use redb::{Database, TableDefinition};

use crate::rig::{Rig, append, key, open, prune, request, span};

/// The session of a prune was thrown out of memory by the commit that the prune itself forced, and
/// the answer was `unknown_session`.
#[test]
fn a_session_thrown_out_in_the_middle_of_a_command_is_not_unknown() {
    let rig = Rig::with(Options { cached_spans: 50, ..Options::default() });
    rig.opened("small");
    rig.opened("big");
    for round in 0..20 {
        let (sender, answers) = sync_channel(8);
        let submit = |session: &str, command: Command| {
            let sender = sender.clone();
            let callback = Box::new(move |answer| sender.send(answer).unwrap());
            rig.journal.submit(request(session, None, command), callback).unwrap();
        };
        for part in 0..3 {
            let many = (0..400).map(|n| span(Some(&format!("b{round}-{part}-{n}")), "x"));
            submit("big", Command::Append { spans: many.collect() });
        }
        let name = format!("k{round}");
        submit("small", append(&[(&name, "kept")]));
        submit("small", prune(&[&name], false));
        drop(sender);
        let last = answers.iter().map(Result::unwrap).last().unwrap();
        let Reply::Pruned(reply) = last.reply else { panic!("{last:?}") };
        assert_eq!(reply.verdict, Verdict::Reversible, "round {round}");
    }
}

/// A worker that resent its backlog held the writer, and so everybody, up for as long as folding
/// its session took.
#[test]
fn resent_commands_do_not_hold_the_writer_up() {
    let rig = Rig::new();
    rig.opened("long");
    rig.opened("other");
    for part in 0..40 {
        let many = (0..500).map(|n| span(Some(&format!("m{part}-{n}")), "text"));
        let command = Command::Append { spans: many.collect() };
        rig.journal.execute(request("long", Some((&format!("c{part}"), 1)), command)).unwrap();
    }
    let (resent, answers) = sync_channel(64);
    // The first answer does not return until it is let: whoever makes it is held up that long.
    let (release, gate) = sync_channel::<()>(1);
    let mut gate = Some(gate);
    for part in 0..40 {
        let many = (0..500).map(|n| span(Some(&format!("m{part}-{n}")), "text"));
        let command = Command::Append { spans: many.collect() };
        let request = request("long", Some((&format!("c{part}"), 1)), command);
        let (resent, gate) = (resent.clone(), gate.take());
        let callback = Box::new(move |answer| {
            if let Some(gate) = gate {
                gate.recv().unwrap();
            }
            resent.send(answer).unwrap();
        });
        rig.journal.submit(request, callback).unwrap();
    }
    drop(resent);
    let (sender, other) = sync_channel(1);
    let callback = Box::new(move |answer| sender.send(answer).unwrap());
    rig.journal.submit(request("other", None, append(&[("a", "alpha")])), callback).unwrap();
    let answer = other.recv_timeout(Duration::from_secs(20));
    release.send(()).unwrap();
    assert!(answer.expect("the writer is held up").is_ok());
    let first = answers.recv().unwrap().unwrap();
    let rest: Vec<_> = answers.iter().map(Result::unwrap).collect();
    assert_eq!(rest.len(), 39);
    assert!(first.again && rest.iter().all(|done| done.again));
    let versions: Vec<u64> = [first]
        .iter()
        .chain(&rest)
        .map(|done| match &done.reply {
            Reply::Appended { version, .. } => *version,
            other => panic!("{other:?}"),
        })
        .collect();
    let expected: Vec<u64> = (1..=40).map(|part| 1 + 500 * part).collect();
    assert_eq!(versions, expected, "each gets its own first reply");
}

/// One damaged block of one session ended the whole daemon, again after every restart.
#[test]
fn a_session_that_cannot_be_read_is_its_own_trouble() {
    let rig = Rig::new();
    rig.opened("broken");
    rig.append("broken", &[("a", "alpha")]);
    rig.opened("sound");
    let Rig { folder, journal, .. } = rig;
    journal.close().unwrap();
    drop(journal);
    let db = Database::open(folder.path().join("journal.redb")).unwrap();
    let write = db.begin_write().unwrap();
    {
        let blocks: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("events");
        let mut table = write.open_table(blocks).unwrap();
        let mut stored = redb::ReadableTable::get(&table, 2).unwrap().unwrap().value().to_vec();
        *stored.last_mut().unwrap() ^= 1;
        table.insert(2, stored.as_slice()).unwrap();
    }
    write.commit().unwrap();
    drop(db);
    let journal = Journal::open(folder.path(), Options::default()).unwrap();
    let rig = Rig::of(folder, journal);
    for _ in 0..2 {
        let answer = rig.send("broken", append(&[("b", "beta")]));
        assert!(matches!(answer, Err(EngineError::Store(_))), "{answer:?}");
        assert!(matches!(rig.journal.state(&key("broken")), Err(EngineError::Store(_))));
        let answer = rig.journal.history(&key("broken"), 1, 9);
        assert!(matches!(answer, Err(EngineError::Store(_))), "damage is never served as truth");
    }
    rig.append("sound", &[("a", "alpha")]);
    assert!(matches!(rig.send("new", open()).unwrap().reply, Reply::Opened { version: 1, .. }));
    assert!(!rig.journal.failed());
}
