//! A disk that is nearly full: what brings contents is refused, everything else goes on.

use lacuna_core::{Command, Purpose, Reply, Verdict};
use lacuna_engine::{EngineError, Options, VerifyOptions};

use crate::rig::{Rig, append, ids, key, open, principal, request};

fn nearly_full() -> Options {
    // No disk has so much left.
    Options { keep_free: u64::MAX, ..Options::default() }
}

#[test]
fn a_nearly_full_disk_refuses_contents_and_nothing_else() {
    let rig = Rig::new();
    rig.opened("s");
    rig.append("s", &[("a", "alpha"), ("b", "beta"), ("c", "gamma")]);
    let before = rig.journal.head().seq;
    let rig = rig.reopened_with(nearly_full());
    for command in [append(&[("d", "delta")]), open()] {
        let session = if matches!(command, Command::Open(_)) { "t" } else { "s" };
        let answer = rig.journal.execute(request(session, None, command));
        let Err(error @ EngineError::DiskFull { left, keep_free }) = answer else {
            panic!("{answer:?}")
        };
        assert!(left > 0 && keep_free == u64::MAX, "{left} {keep_free}");
        let text = error.to_string();
        assert!(text.contains("journal.keep_free_mib") && text.contains("make room"), "{text}");
    }
    assert_eq!(rig.journal.head().seq, before, "nothing happened");
    // The callback is told, where one was given to be told in any case.
    let (sender, told) = std::sync::mpsc::sync_channel(1);
    let callback = Box::new(move |answer| sender.send(answer).unwrap());
    rig.journal.hand_in(request("s", None, append(&[("d", "delta")])), callback);
    assert!(matches!(told.recv().unwrap(), Err(EngineError::DiskFull { .. })));
    // What was done already is answered as it was, not as if it could not be done.
    let reply = rig.append("s", &[("a", "alpha")]).reply;
    assert!(matches!(reply, Reply::Appended { .. }), "{reply:?}");
    let reply = rig.send("s", open()).unwrap().reply;
    assert!(matches!(reply, Reply::Opened { duplicate: true, .. }), "{reply:?}");
    // Pruning, restoring, reading, saying that something was read.
    assert_eq!(rig.prune("s", &["a", "b"], false).verdict, Verdict::Reversible);
    rig.send("s", Command::Restore { spans: ids(&["a"]) }).unwrap();
    let answer = rig.journal.expand(&key("s"), &"b".parse().unwrap(), 0, 99).unwrap();
    assert_eq!(answer.content.unwrap().bytes, b"beta");
    let span = "b".parse().unwrap();
    rig.journal.record_read(&key("s"), &principal(), None, span, Purpose::Audit).unwrap();
    rig.send("s", Command::Close).unwrap();
    assert_eq!(rig.journal.verify(&VerifyOptions::default(), |_| {}).unwrap().faults, vec![]);
    // With room again it goes on.
    let rig = rig.reopened();
    rig.opened("t");
}
