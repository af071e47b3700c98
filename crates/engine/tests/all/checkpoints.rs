//! Checkpoints of a journal at work: keys, files, who is believed.

use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lacuna_engine::{
    CheckpointClock, EngineError, Journal, Judgement, NoteVerifier, Options, Signed, Standing,
    StoreError,
};

use crate::rig::Rig;

fn keys(signed: &[&Signed]) -> Vec<NoteVerifier> {
    signed.iter().map(|signed| signed.key.clone()).collect()
}

fn judgements(rig: &Rig, notes: &str, keys: &[NoteVerifier]) -> Vec<Judgement> {
    let judged = rig.journal.judge(notes, keys).unwrap();
    judged.into_iter().map(|one| one.judgement).collect()
}

fn extends(events: u64) -> Judgement {
    Judgement::Genuine(Standing::Extends { events })
}

#[test]
fn a_checkpoint_says_where_the_journal_ends_and_the_journal_goes_on_from_it() {
    let rig = Rig::new();
    assert_eq!(rig.journal.verifiers().unwrap(), []);
    assert_eq!(rig.journal.checkpoint_if_moved().unwrap(), None, "nothing is there to be signed");
    rig.opened("s");
    let first = rig.journal.checkpoint_if_moved().unwrap().unwrap();
    let head = rig.journal.head();
    assert_eq!((first.checkpoint.seq, first.checkpoint.head), (1, head.block));
    assert_eq!(first.checkpoint.journal, rig.journal.id());
    assert_eq!(first.key.name(), format!("lacuna/{}", rig.journal.id()));
    assert_eq!(rig.journal.checkpoint_if_moved().unwrap(), None, "it has not gone on");
    rig.append("s", &[("a", "one"), ("b", "two")]);
    let second = rig.journal.checkpoint_if_moved().unwrap().unwrap();
    let both = format!("{}\n{}", first.note, second.note);
    assert_eq!(judgements(&rig, &both, &[]), [extends(2), extends(0)]);
    assert_eq!(judgements(&rig, &both, &keys(&[&first])), [extends(2), extends(0)]);
}

#[test]
fn the_key_is_made_once_kept_private_and_another_one_is_believed_only_if_it_is_named() {
    let rig = Rig::new();
    rig.opened("s");
    let first = rig.journal.checkpoint().unwrap();
    let file = rig.path().join("journal.sign");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let rig = rig.reopened();
    let second = rig.journal.checkpoint().unwrap();
    assert_eq!(second.key, first.key);
    // Rotated: the file is moved away. Both keys are the journal's own.
    std::fs::rename(&file, rig.path().join("retired")).unwrap();
    let rig = rig.reopened();
    rig.append("s", &[("a", "one")]);
    let third = rig.journal.checkpoint().unwrap();
    assert_ne!(third.key, first.key);
    assert_eq!(rig.journal.verifiers().unwrap(), keys(&[&first, &third]));
    let notes = format!("{}\n{}", first.note, third.note);
    assert_eq!(judgements(&rig, &notes, &[]), [extends(1), extends(0)]);
    // Whoever has got only the first one believes only that.
    let found = judgements(&rig, &notes, &keys(&[&first]));
    let unknown = Judgement::KeyUnknown(vec![third.key.name().to_owned()]);
    assert_eq!(found, [extends(1), unknown]);
    // The last line of a signature is not what was signed.
    let seq = format!("\n{}\n", third.checkpoint.seq);
    let lie = third.note.replacen(&seq, "\n7\n", 1);
    assert_eq!(judgements(&rig, &lie, &[]), [Judgement::BadSignature]);
    let refused = rig.journal.judge("no note", &[]).unwrap_err();
    assert!(matches!(refused, EngineError::Refused(_)), "{refused}");
}

#[test]
fn kept_checkpoints_are_a_file_of_notes_and_what_cannot_be_read_is_moved_aside() {
    let rig = Rig::new();
    rig.opened("s");
    for n in 0..4 {
        rig.append("s", &[(&format!("a{n}"), "text")]);
        rig.journal.checkpoint().unwrap();
    }
    let file = rig.path().join("journal.checkpoints");
    let kept = std::fs::read_to_string(&file).unwrap();
    assert_eq!(judgements(&rig, &kept, &[]), [extends(3), extends(2), extends(1), extends(0)]);
    let rig = rig.reopened();
    assert_eq!(rig.journal.checkpoint_if_moved().unwrap(), None, "the last one is known");
    rig.journal.checkpoint().unwrap();
    let grown = std::fs::read_to_string(&file).unwrap();
    assert!(grown.starts_with(&kept) && grown.len() > kept.len());
    std::fs::write(&file, "scribbled").unwrap();
    let rig = rig.reopened();
    rig.journal.checkpoint().unwrap();
    let aside = rig.path().join("journal.checkpoints.unreadable");
    assert_eq!(std::fs::read_to_string(aside).unwrap(), "scribbled");
    let anew = std::fs::read_to_string(&file).unwrap();
    assert_eq!(judgements(&rig, &anew, &[]), [extends(0)]);
}

#[test]
fn a_key_may_lie_elsewhere_and_a_broken_one_is_not_replaced() {
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join("key");
    let options = || Options { signing_key: Some(file.clone()), ..Options::default() };
    let rig = Rig::with(options());
    rig.opened("s");
    let first = rig.journal.checkpoint().unwrap();
    assert!(file.exists() && !rig.path().join("journal.sign").exists());
    std::fs::write(&file, "PRIVATE+KEY+broken").unwrap();
    let rig = rig.reopened_with(options());
    let error = rig.journal.checkpoint().unwrap_err();
    assert!(matches!(&error, EngineError::Store(StoreError::SigningKey { .. })), "{error}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "PRIVATE+KEY+broken");
    // What was signed before is judged all the same.
    assert_eq!(judgements(&rig, &first.note, &[]), [extends(0)]);
}

#[test]
fn the_clock_signs_what_it_finds_and_listeners_hear_of_it() {
    let rig = Rig::new();
    rig.opened("s");
    let Rig { folder, journal, .. } = rig;
    let journal = Arc::new(journal);
    let heard = Arc::<Mutex<Vec<Signed>>>::default();
    let (sender, receiver) = std::sync::mpsc::channel();
    let ears = Arc::clone(&heard);
    journal.on_checkpoint(Box::new(move |signed| {
        ears.lock().unwrap().push(signed.clone());
        sender.send(signed.checkpoint.seq).unwrap();
    }));
    let clock = CheckpointClock::start(Arc::clone(&journal), Duration::from_millis(5));
    assert_eq!(receiver.recv_timeout(Duration::from_secs(20)), Ok(1));
    let other = Journal::open(folder.path(), Options::default());
    assert!(matches!(other, Err(StoreError::InUse(_))));
    let append = crate::rig::append(&[("a", "one")]);
    journal.execute(crate::rig::request("s", None, append)).unwrap();
    assert_eq!(receiver.recv_timeout(Duration::from_secs(20)), Ok(2));
    drop(clock);
    let heard = heard.lock().unwrap();
    assert_eq!(heard.len(), 2, "an end is signed once");
    assert_eq!(heard[1].checkpoint.head, journal.head().block);
}

#[test]
fn a_journal_signs_with_no_key_but_its_own_and_a_spoiled_list_of_keys_stops_nothing() {
    let (rig, other) = (Rig::new(), Rig::new());
    rig.opened("s");
    let key = rig.journal.checkpoint().unwrap().key;
    // A line that cannot be read is one key less, and no more.
    let signers = rig.path().join("journal.signers");
    let kept = std::fs::read_to_string(&signers).unwrap();
    std::fs::write(&signers, format!("spoiled\n{kept}")).unwrap();
    let foreign = std::fs::read(rig.path().join("journal.sign")).unwrap();
    let rig = rig.reopened();
    assert_eq!(rig.journal.verifiers().unwrap(), [key]);
    assert!(rig.journal.checkpoint().is_ok());
    other.opened("s");
    std::fs::write(other.path().join("journal.sign"), foreign).unwrap();
    let why = other.journal.checkpoint().unwrap_err().to_string();
    assert!(why.contains("each journal has its own"), "{why}");
}
