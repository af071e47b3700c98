//! Salvage: a new journal takes over what can still be read of a damaged one, says what is lost, and leaves
//! behind by name what it cannot take.

use std::path::Path;

use lacuna_core::retention::STREAM;
use lacuna_core::{Cause, Command, Contract, Event, Outcome, SessionNo};
use lacuna_engine::{
    End, EngineError, Journal, Options, Remains, Salvaged, Sender, VerifyOptions, salvage,
};
use lacuna_store::StoreError;

use crate::honest::large;
use crate::rig::{Rig, append, as_killed, ids, key, principal, request, summarize};

/// Two sessions and a fork of the first, with whatever can become of a span.
fn lived() -> Rig {
    let rig = Rig::new();
    rig.opened("s");
    rig.opened("other");
    rig.append("s", &[("a", "alpha"), ("b", "beta"), ("c", "gamma")]);
    rig.append("other", &[("x", "of another session")]);
    rig.prune("s", &["b"], false);
    let big = large("big", 700_000, "the end");
    rig.send("s", Command::Append { spans: vec![big] }).unwrap();
    rig.send("s", summarize("sum", &["a", "c"], "two letters")).unwrap();
    let state = rig.journal.state(&key("s")).unwrap();
    let sender = Sender { principal: principal(), command_id: None, expected_version: None };
    rig.journal.fork(&key("f"), sender, state).unwrap();
    rig.append("f", &[("d", "of the fork")]);
    let reason = "asked".into();
    let erase = Command::Erase { spans: Some(ids(&["c"])), cut: u64::MAX, reason };
    rig.journal.erase(request("s", None, erase)).unwrap();
    rig.append("other", &[("y", "more"), ("z", "the last")]);
    rig.append("s", &[("e", "after all that")]);
    rig
}

/// Salvages what lies in a folder into a new journal.
fn salvaged(from: &Path) -> (Rig, Salvaged, Remains) {
    let remains = Remains::in_folder(from, |_, _| {}).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let journal = Journal::open(folder.path(), Options::default()).unwrap();
    let salvaged = salvage(&remains, &journal, &principal(), |_| {}).unwrap();
    let report = journal.verify(&VerifyOptions::default(), |_| {}).unwrap();
    assert_eq!(report.faults, []);
    (Rig::of(folder, journal), salvaged, remains)
}

/// Every event of a session as its origin has stored it, and its content where it can be read.
fn told(journal: &Journal, session: &str) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let export = journal.export(&key(session), 1, 10_000, usize::MAX).unwrap();
    let content = |bytes: &std::sync::Arc<[u8]>| bytes.to_vec();
    let told = |event: &lacuna_engine::Exported| {
        (event.stored.to_vec(), event.payload.bytes().map(content))
    };
    export.events.iter().map(told).collect()
}

/// Closed, so that what is damaged stands in one place.
fn closed(rig: Rig) -> tempfile::TempDir {
    let Rig { folder, journal, .. } = rig;
    journal.close().unwrap();
    folder
}

/// Puts zeros into every copy of these bytes in the database's file; they must be there.
fn destroy(folder: &Path, bytes: &[u8]) {
    let path = folder.join("journal.redb");
    let mut file = std::fs::read(&path).unwrap();
    let places: Vec<usize> = memchr::memmem::find_iter(&file, bytes).collect();
    assert!(!places.is_empty(), "it is nowhere");
    places.iter().for_each(|at| file[*at..at + bytes.len()].fill(0));
    std::fs::write(path, file).unwrap();
}

/// The stored rows of a table in a journal's file.
fn rows(folder: &Path, table: &str) -> Vec<(u64, Vec<u8>)> {
    let db = redb::Database::open(folder.join("journal.redb")).unwrap();
    let read = redb::ReadableDatabase::begin_read(&db).unwrap();
    let table = read.open_table(redb::TableDefinition::<u64, &[u8]>::new(table)).unwrap();
    redb::ReadableTable::iter(&table)
        .unwrap()
        .map(|row| row.map(|(key, value)| (key.value(), value.value().to_vec())).unwrap())
        .collect()
}

#[test]
fn a_sound_journal_is_salvaged_whole() {
    let rig = lived();
    let before = ["s", "other", "f"].map(|session| told(&rig.journal, session));
    let id = rig.journal.id().to_owned();
    let folder = closed(rig);
    let (new, salvaged, remains) = salvaged(folder.path());
    let after = ["s", "other", "f"].map(|session| told(&new.journal, session));
    assert!(before == after, "every event as it was stored, every content");
    assert_eq!(remains.gaps(), []);
    assert_eq!((salvaged.sessions, salvaged.lost.len(), salvaged.left.len()), (3, 0, 0));
    assert_eq!((salvaged.forks, remains.end()), (1, End::Known));
    let contents = after.iter().flatten().filter(|(_, content)| content.is_some()).count();
    assert_eq!(salvaged.contents, contents as u64);
    assert_eq!(salvaged.events, after.iter().map(|events| events.len() as u64).sum::<u64>());
    let export = new.journal.export(&key("s"), 1, 1, 1).unwrap();
    assert_eq!((export.journal, export.key), (id, key("s")));
    // The window stands as it stood, and what was erased is not there again.
    let expand = |span: &str| new.journal.expand(&key("s"), &span.parse().unwrap(), 0, 99).unwrap();
    assert_eq!(expand("b").outcome, Outcome::Recoverable);
    let erased = expand("c");
    assert_eq!((erased.outcome, erased.content.is_none()), (Outcome::Lossy, true));
    // And it goes on.
    new.append("other", &[("new", "written behind it")]);
}

#[test]
fn a_journal_that_was_killed_is_salvaged_from_its_log_as_well() {
    let rig = lived();
    let copy = as_killed(rig.path());
    let (new, salvaged, _) = salvaged(copy.path());
    assert!(told(&rig.journal, "s") == told(&new.journal, "s"));
    assert_eq!((salvaged.lost, salvaged.left), (vec![], vec![]));
    // Without the log, what stood in it alone is missing, and what stands there is saved.
    std::fs::remove_file(copy.path().join("journal.log")).unwrap();
    let error = Journal::open(copy.path(), Options::default()).err().unwrap();
    assert!(matches!(error, StoreError::LogDamaged(_)), "{error:?}");
    let (new, salvaged, remains) = self::salvaged(copy.path());
    assert!(remains.last() < rig.journal.head().seq, "{}", remains.last());
    assert_eq!(remains.end(), End::LogMissing);
    assert_eq!((salvaged.lost, salvaged.left), (vec![], vec![]));
    let (old, new) = (told(&rig.journal, "s"), told(&new.journal, "s"));
    assert!(!new.is_empty() && new.len() < old.len());
    // Of what was erased behind that the key is gone all the same.
    assert!(old.iter().zip(&new).all(|(old, new)| old.0 == new.0));
}

#[test]
fn a_journal_in_use_is_not_salvaged() {
    let rig = lived();
    let error = Remains::in_folder(rig.path(), |_, _| {}).unwrap_err();
    assert!(matches!(error, StoreError::InUse(_)), "{error:?}");
}

#[test]
fn a_content_that_is_gone_is_recorded_as_lost() {
    let rig = lived();
    let before = told(&rig.journal, "other");
    let folder = closed(rig);
    let packs = rows(folder.path(), "payloads");
    let (_, pack) = packs.last().unwrap();
    destroy(folder.path(), &pack[pack.len() / 2..]);
    let (new, salvaged, _) = salvaged(folder.path());
    assert_eq!(salvaged.left, []);
    let lost: Vec<_> = salvaged.lost.iter().map(|(key, id)| format!("{key} {id}")).collect();
    assert_eq!(lost, ["t/s e"], "it was alone in its pack");
    let span = "e".parse().unwrap();
    assert_eq!(new.journal.expand(&key("s"), &span, 0, 99).unwrap().outcome, Outcome::Lossy);
    let state = new.journal.state(&key("s")).unwrap();
    let cause = &state.ledger().last().unwrap().cause;
    assert!(matches!(cause, Cause::Damage { .. }), "{cause:?}");
    assert!(before == told(&new.journal, "other"));
}

#[test]
fn what_stands_behind_a_missing_block_is_left_behind_and_can_be_read() {
    let rig = lived();
    let (s, other) = (told(&rig.journal, "s"), told(&rig.journal, "other"));
    let prune = rig.journal.history(&key("s"), 5, 1).unwrap().remove(0);
    assert!(matches!(prune.event, Event::PruneExecuted(_)), "{prune:?}");
    let number = prune.session;
    let folder = closed(rig);
    let blocks = rows(folder.path(), "events");
    let (_, block) = blocks.iter().find(|(first, _)| *first == prune.seq).unwrap();
    destroy(folder.path(), &block[40..]);
    let (new, salvaged, remains) = salvaged(folder.path());
    assert_eq!(remains.gaps(), [(prune.seq, prune.seq)]);
    assert!(other == told(&new.journal, "other"), "nothing of it was hit");
    let saved = new.journal.history(&key("s"), 1, 99).unwrap();
    let origins = saved.iter().filter_map(|event| event.imported.as_ref());
    assert!(origins.map(|origin| origin.stored.to_vec()).eq(s[..4].iter().map(|s| s.0.clone())));
    // What was erased behind that is lost here as well, by an event of this journal.
    assert!(matches!(saved[4].event, Event::LossyCommitted(_)) && saved.len() == 5);
    let lost: Vec<_> = salvaged.lost.iter().map(|(key, id)| format!("{key} {id}")).collect();
    assert_eq!(lost, ["t/s c", "t/f c"]);
    let left: Vec<_> = salvaged.left.iter().map(|left| (left.number, left.version)).collect();
    let fork = salvaged.left[1].number;
    assert_eq!(left, [(number, 4), (fork, 4)]);
    assert_eq!(salvaged.left[0].events, s.len() as u64 - 5);
    let read = contents_behind(&remains, number, 4);
    let truth: Vec<_> = s[5..].iter().filter_map(|(_, content)| content.clone()).collect();
    assert!(read == truth, "{} contents of {}", read.len(), truth.len());
    assert_eq!(contents_behind(&remains, fork, 4), [b"of the fork".to_vec()]);
}

fn contents_behind(remains: &Remains, session: SessionNo, version: u64) -> Vec<Vec<u8>> {
    let mut contents = Vec::new();
    remains
        .events::<EngineError>(session, |found| {
            if found.recorded.version > version {
                contents.extend(remains.content(&found.recorded)?.map(|content| content.to_vec()));
            }
            Ok(())
        })
        .unwrap();
    contents
}

#[test]
fn a_retention_stream_is_left_behind_and_nothing_is_removed_by_it() {
    let rig = lived();
    rig.send(STREAM, Command::SetPolicy { rules: Vec::new() }).unwrap();
    let folder = closed(rig);
    let (new, salvaged, _) = salvaged(folder.path());
    let [left] = &salvaged.left[..] else { panic!("{:?}", salvaged.left) };
    assert_eq!(left.key.as_ref().unwrap().session.as_str(), STREAM);
    assert!(left.why.contains("set them again"), "{}", left.why);
    assert!(new.journal.state(&key(STREAM)).is_err());
}

#[test]
fn a_session_that_was_imported_keeps_its_origin() {
    let rig = lived();
    let before = told(&rig.journal, "s");
    let origin = rig.journal.id().to_owned();
    let (first, _, _) = salvaged(closed(rig).path());
    let (second, report, _) = salvaged(closed(first).path());
    assert_eq!((report.lost.len(), report.left.len()), (0, 0));
    assert!(before == told(&second.journal, "s"));
    assert_eq!(second.journal.export(&key("s"), 1, 1, 1).unwrap().journal, origin);
    let state = second.journal.state(&key("s")).unwrap();
    assert_eq!(state.contract, Contract::Record);
    second.send("s", append(&[("more", "goes on")])).unwrap();
}
