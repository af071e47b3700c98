//! One effect and one reply for a command, however often it is sent.

use std::sync::mpsc::sync_channel;

use lacuna_core::{Command, Reply, SessionKey};
use lacuna_engine::EngineError;

use crate::rig::{Rig, append, key, open, prune, request, summarize};

fn versions(rig: &Rig, key: &SessionKey) -> u64 {
    rig.journal.state(key).unwrap().version
}

#[test]
fn a_command_sent_again_gets_its_first_reply_also_after_a_restart() {
    let rig = Rig::new();
    let commands: Vec<(&str, Command)> = vec![
        ("c-open", open()),
        ("c-append", append(&[("a", "alpha"), ("b", "beta"), ("c", "gamma")])),
        ("c-summary", summarize("sum", &["a", "b"], "a and b")),
        ("c-prune", prune(&["c"], false)),
        ("c-refused", prune(&["c"], false)),
        ("c-restore", Command::Restore { spans: crate::rig::ids(&["c"]) }),
        ("c-close", Command::Close),
    ];
    let send = |rig: &Rig, id: &str, command: &Command| {
        rig.journal.execute(request("s", Some((id, 1)), command.clone())).unwrap()
    };
    let first: Vec<Reply> = commands
        .iter()
        .map(|(id, command)| {
            let done = send(&rig, id, command);
            assert!(!done.again, "{id}");
            done.reply
        })
        .collect();
    let version = versions(&rig, &key("s"));
    let check = |rig: &Rig| {
        for ((id, command), reply) in commands.iter().zip(&first) {
            let done = send(rig, id, command);
            assert!(done.again, "{id} was carried out twice");
            assert_eq!(done.reply, *reply, "{id}");
        }
        assert_eq!(versions(rig, &key("s")), version);
    };
    check(&rig);
    check(&rig.reopened());
}

#[test]
fn the_same_id_with_another_request_is_refused() {
    let rig = Rig::new();
    rig.opened("s");
    rig.journal.execute(request("s", Some(("c", 1)), append(&[("a", "x")]))).unwrap();
    let other = rig.journal.execute(request("s", Some(("c", 2)), append(&[("b", "y")])));
    assert!(
        matches!(&other, Err(EngineError::Refused(refusal)) if refusal.code() == "command_id_reused"),
        "{other:?}"
    );
    assert_eq!(versions(&rig, &key("s")), 2);
    // Within another session the id is free.
    rig.opened("t");
    assert!(
        !rig.journal.execute(request("t", Some(("c", 2)), append(&[("b", "y")]))).unwrap().again
    );
}

#[test]
fn two_copies_in_one_batch_have_one_effect() {
    let rig = Rig::new();
    rig.opened("s");
    let (sender, answers) = sync_channel(16);
    for _ in 0..16 {
        let sender = sender.clone();
        let command = request("s", Some(("c", 1)), append(&[("a", "alpha")]));
        rig.journal.submit(command, Box::new(move |answer| sender.send(answer).unwrap())).unwrap();
    }
    drop(sender);
    let done: Vec<_> = answers.iter().map(Result::unwrap).collect();
    assert_eq!(done.len(), 16);
    assert_eq!(done.iter().filter(|done| !done.again).count(), 1);
    assert!(done.iter().all(|other| other.reply == done[0].reply));
    assert_eq!(versions(&rig, &key("s")), 2);
}
