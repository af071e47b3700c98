//! Rot: bits flipped, pages zeroed, swapped, filled with anything, files cut off, in any of a journal's files.
//! Opening, verifying and reading give what was written or say that they cannot; and what the damage has
//! not hit can be salvaged.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

use lacuna_core::{Event, Recorded, SessionNo};
use lacuna_store::{End, Remains, Store, StoreError, StoreOptions, Stored};

use crate::journal::{Journal, key, noise, ordinary, span};
use crate::tape::Dice;

const PAGE: usize = 4_096;
const FILES: [&str; 4] = ["journal.redb", "journal.log", "journal.keys", "journal.keys.2"];
/// Longer than any of them takes, by far.
const PATIENCE: Duration = Duration::from_secs(60);

/// A journal that was killed, and what is true of it.
struct Truth {
    files: BTreeMap<&'static str, Vec<u8>>,
    events: Vec<Recorded>,
    contents: BTreeMap<u64, Vec<u8>>,
    sessions: Vec<SessionNo>,
    /// How many events stand in one block, at the most, and payloads in one pack.
    together: usize,
}

impl Truth {
    fn new() -> Self {
        Self::killed(true)
    }

    /// Killed at the end; and if not `destroyed`, also between a removal and the destruction of its key.
    fn killed(destroyed: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::in_folder(folder.path());
        let (a, b) = ordinary(&mut journal);
        let mut sessions = vec![a, b];
        for n in 0..40_u64 {
            let session = sessions[n as usize % sessions.len()];
            let size = if n % 9 == 4 { 20_000 } else { 300 };
            let drafts = (0..=n % 4)
                .map(|part| span(session, &format!("n{n}-{part}"), &noise(n << 8 | part, size)));
            journal.commit(drafts.collect());
            match n {
                10 => {
                    journal.remove(&[3]);
                    if destroyed {
                        assert_eq!(journal.store.destroy_keys().unwrap().keys, 1);
                    }
                }
                20 => sessions.push(journal.open("c")),
                // What comes behind it is in the log only.
                30 => journal.store.flush().unwrap(),
                _ => {}
            }
        }
        let mut contents = BTreeMap::new();
        for event in &journal.events {
            if matches!(event.event, Event::SpanRecorded(_))
                && let Stored::Whole(content) = journal.read(event.seq)
            {
                contents.insert(event.seq, content.to_vec());
            }
        }
        assert!(!contents.contains_key(&3), "it was removed");
        let read = |name| (name, std::fs::read(folder.path().join(name)).unwrap());
        Self {
            files: FILES.map(read).into(),
            events: journal.events,
            contents,
            sessions,
            together: 5,
        }
    }

    /// Writes the files into a folder, with this damage.
    fn put(&self, damaged: &BTreeMap<&'static str, Vec<u8>>) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in &self.files {
            let bytes = damaged.get(name).unwrap_or(bytes);
            std::fs::write(folder.path().join(name), bytes).unwrap();
        }
        folder
    }
}

/// What became of one damaged journal.
#[derive(Debug, Default, Clone, Copy)]
struct Outcome {
    refused: bool,
    faults: usize,
    unreadable: usize,
    /// Events and contents that were not salvaged.
    events: usize,
    contents: usize,
}

/// Opens, verifies and reads; salvages before that, as it changes nothing.
fn outcome(truth: &Truth, folder: &Path) -> Outcome {
    let mut outcome = Outcome::default();
    match Remains::in_folder(folder, |_, _| {}) {
        Ok(remains) => (outcome.events, outcome.contents) = salvaged(truth, &remains),
        Err(error) => panic!("{error:?}"),
    }
    let store = match Store::open(folder, &StoreOptions::default()) {
        Ok(store) => store,
        Err(_typed) => {
            outcome.refused = true;
            return outcome;
        }
    };
    let last = store.head().seq as usize;
    let ours = &truth.events[..last.min(truth.events.len())];
    for session in &truth.sessions {
        let events: Vec<_> = ours.iter().filter(|e| e.session == *session).cloned().collect();
        match store.history(*session, 1, usize::MAX) {
            Ok(found) => assert_eq!(found, events, "it is told otherwise, or in part"),
            Err(_typed) => outcome.unreadable += 1,
        }
    }
    for name in ["a", "b", "c"] {
        if let Ok(Some(number)) = store.session(&key(name)) {
            assert!(truth.sessions.contains(&number), "{name} is session {}", number.0);
        }
    }
    match store.payloads() {
        Ok(mut reader) => {
            for event in ours {
                let Event::SpanRecorded(e) = &event.event else { continue };
                match reader.read(event.seq, &e.digest, e.bytes) {
                    Ok(Stored::Whole(content)) => {
                        assert_eq!(Some(&content.to_vec()), truth.contents.get(&event.seq));
                    }
                    Ok(Stored::Missing | Stored::Damaged(_)) => {
                        outcome.unreadable += usize::from(truth.contents.contains_key(&event.seq));
                    }
                    Err(_typed) => outcome.unreadable += 1,
                }
            }
        }
        Err(_typed) => outcome.unreadable += 1,
    }
    match store.verify(&Default::default(), |_| {}) {
        Ok(report) => {
            outcome.faults = report.faults.len();
            let silent = outcome.unreadable > 0 && outcome.faults == 0;
            assert!(!silent, "{} things are unreadable, and nothing is found", outcome.unreadable);
        }
        Err(_typed) => outcome.faults = 1,
    }
    // Closing writes; that may fail, too.
    drop(store.close());
    outcome
}

/// How many events and contents are not found; what is found is what was written.
fn salvaged(truth: &Truth, remains: &Remains) -> (usize, usize) {
    let (mut events, mut contents) = (0, 0);
    for (session, name) in remains.sessions() {
        remains
            .events::<StoreError>(session, |found| {
                assert_eq!(found.recorded, truth.events[found.recorded.seq as usize - 1]);
                events += 1;
                if let Some(content) = remains.content(&found.recorded)? {
                    let seq = found.recorded.seq;
                    assert_eq!(
                        Some(&content.to_vec()),
                        truth.contents.get(&seq),
                        "content of {seq}"
                    );
                    contents += 1;
                }
                Ok(())
            })
            .unwrap();
        let place = truth.sessions.iter().position(|known| *known == session).unwrap();
        assert!(name.is_none_or(|name| name == key(["a", "b", "c"][place])));
    }
    (truth.events.len() - events, truth.contents.len() - contents)
}

/// The same with an end: nothing may hang.
fn judged(truth: &Truth, damaged: BTreeMap<&'static str, Vec<u8>>, what: &str) -> Outcome {
    let folder = truth.put(&damaged);
    std::thread::scope(|scope| {
        let (done, judged) = channel();
        let path = folder.path();
        scope.spawn(move || done.send(outcome(truth, path)).unwrap());
        judged.recv_timeout(PATIENCE).unwrap_or_else(|error| panic!("{what}: {error}"))
    })
}

/// Pages of a file with anything in them.
fn used(bytes: &[u8]) -> Vec<usize> {
    let pages = bytes.chunks(PAGE).enumerate();
    pages.filter(|(_, page)| page.iter().any(|b| *b != 0)).map(|(at, _)| at * PAGE).collect()
}

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |value| value.parse().unwrap())
}

#[test]
fn nothing_is_wrong_with_a_journal_that_is_not_damaged() {
    let truth = Truth::new();
    let outcome = judged(&truth, BTreeMap::new(), "undamaged");
    assert!(!outcome.refused);
    let Outcome { faults, unreadable, events, contents, .. } = outcome;
    assert_eq!((faults, unreadable, events, contents), (0, 0, 0, 0));
}

#[test]
fn what_a_removal_that_was_cut_off_has_removed_is_not_salvaged() {
    let truth = Truth::killed(false);
    let folder = truth.put(&BTreeMap::new());
    let remains = Remains::in_folder(folder.path(), |_, _| {}).unwrap();
    assert_eq!(salvaged(&truth, &remains), (0, 0));
}

#[test]
fn without_keys_events_are_salvaged_and_no_content() {
    let truth = Truth::new();
    let gone = ["journal.keys", "journal.keys.2"].map(|name| (name, Vec::new()));
    let folder = truth.put(&gone.into());
    let remains = Remains::in_folder(folder.path(), |_, _| {}).unwrap();
    assert_eq!(salvaged(&truth, &remains), (0, truth.contents.len()));
    // And if nothing says which journal it is, the keys are what is missed.
    std::fs::write(folder.path().join("journal.redb"), b"no database").unwrap();
    std::fs::write(folder.path().join("journal.log"), b"no log").unwrap();
    let error = Remains::in_folder(folder.path(), |_, _| {}).unwrap_err();
    assert!(matches!(error, StoreError::KeysLost { .. }), "{error:?}");
}

/// The newest of both copies was believed, whosever it was.
#[test]
fn the_keys_of_another_journal_are_not_believed() {
    let (truth, other) = (Truth::new(), Truth::new());
    let theirs = other.files["journal.keys"].clone();
    for ours in ["journal.keys", "journal.keys.2"] {
        let one = if ours == "journal.keys" { "journal.keys.2" } else { "journal.keys" };
        let folder = truth.put(&[(one, theirs.clone())].into());
        let remains = Remains::in_folder(folder.path(), |_, _| {}).unwrap();
        assert_eq!(salvaged(&truth, &remains), (0, 0), "{ours} is the right one");
    }
    let both = ["journal.keys", "journal.keys.2"].map(|name| (name, theirs.clone()));
    let folder = truth.put(&both.into());
    let error = Remains::in_folder(folder.path(), |_, _| {}).unwrap_err();
    assert!(matches!(error, StoreError::KeysOfAnother { .. }), "{error:?}");
}

/// Nothing was said of what only the log had.
#[test]
fn what_is_known_of_the_end_is_told() {
    let truth = Truth::new();
    let end = |damaged: &[(&'static str, Vec<u8>)]| {
        let folder = truth.put(&damaged.iter().cloned().collect());
        Remains::in_folder(folder.path(), |_, _| {}).unwrap().end()
    };
    assert_eq!(end(&[]), End::Known);
    let log = &truth.files["journal.log"];
    for gone in [Vec::new(), log[..log.len() - 1].to_vec(), vec![0; log.len()]] {
        assert_eq!(end(&[("journal.log", gone)]), End::LogMissing);
    }
    for gone in [Vec::new(), truth.files["journal.redb"][..PAGE].to_vec()] {
        assert_eq!(end(&[("journal.redb", gone)]), End::Unknown);
    }
}

/// A log that the database does not name is of another time: what it has was taken over what the database has,
/// or brought back.
#[test]
fn a_log_of_another_time_is_not_salvaged() {
    let (house, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut journal = Journal::in_folder(house.path());
    let session = journal.open("a");
    journal.commit(vec![span(session, "s1", b"one")]);
    journal.store.backup(&copy.path().join("b"), |_| {}).unwrap();
    journal.commit(vec![span(session, "s2", b"two")]);
    journal.commit(vec![span(session, "s3", b"three")]);
    let old = copy.path().join("b");
    std::fs::copy(house.path().join("journal.log"), old.join("journal.log")).unwrap();
    let remains = Remains::in_folder(&old, |_, _| {}).unwrap();
    assert_eq!((remains.last(), remains.end()), (2, End::Known));
    drop(remains);
    let error = Store::open(&old, &StoreOptions::default()).unwrap_err();
    assert!(error.to_string().contains("another time of this journal"), "{error}");
    // The log is still there, and moved away it is in nobody's way.
    std::fs::rename(old.join("journal.log"), copy.path().join("log")).unwrap();
    assert_eq!(Store::open(&old, &StoreOptions::default()).unwrap().head().seq, 2);
    let log = std::fs::read(copy.path().join("log")).unwrap();
    assert!(log == std::fs::read(house.path().join("journal.log")).unwrap());
}

/// Every page claims hundreds of rows that reach to the end of the file: each was read, and hashed.
#[test]
fn a_file_that_claims_anything_is_looked_through_in_time() {
    let truth = Truth::new();
    let mut file = vec![0; 2 << 20];
    let length = file.len();
    for at in (0..length).step_by(PAGE) {
        file[at + 2..at + 4].copy_from_slice(&200_u16.to_le_bytes());
        let values = 4 + 200 * 12;
        for row in 0..200 {
            let to = if row % 2 == 0 { length - at } else { values } as u32;
            file[at + 4 + 4 * row..at + 8 + 4 * row].copy_from_slice(&to.to_le_bytes());
        }
        file[at + values..at + values + 4].copy_from_slice(b"LCB1");
    }
    let folder = truth.put(&[("journal.redb", file)].into());
    let (done, looked) = channel();
    let path = folder.path().to_owned();
    std::thread::spawn(move || {
        let remains = Remains::in_folder(&path, |_, _| {}).unwrap();
        done.send((remains.end(), remains.last())).unwrap();
    });
    let (end, last) = looked.recv_timeout(PATIENCE).expect("it does not end");
    assert_eq!((end, last), (End::Unknown, truth.events.len() as u64), "the log has them");
}

#[test]
fn a_flipped_bit_is_never_served_and_costs_no_more_than_its_rows() {
    let (seed, images) = (setting("LACUNA_SEED", 1), setting("LACUNA_IMAGES", 60));
    let truth = Truth::new();
    let mut dice = Dice(seed);
    let (mut refused, mut found, mut lost) = (0, 0, 0);
    for image in 0..images {
        let name = FILES[if dice.one_in(8) { 2 + dice.below(2) } else { dice.below(2) }];
        let mut bytes = truth.files[name].clone();
        let pages = used(&bytes);
        let page = pages[dice.below(pages.len())];
        let at = page + dice.below(PAGE.min(bytes.len() - page));
        bytes[at] ^= 1 << dice.below(8);
        let what = format!("seed {seed}, image {image}: a bit of byte {at} of {name}");
        eprintln!("{what}");
        let outcome = judged(&truth, [(name, bytes)].into(), &what);
        // Where a row ends is where the next one begins.
        assert!(outcome.events <= 2 * truth.together, "{what}: {outcome:?}");
        assert!(outcome.contents <= 2 * truth.together, "{what}: {outcome:?}");
        refused += u64::from(outcome.refused);
        found += u64::from(outcome.faults > 0);
        lost += u64::from(outcome.events + outcome.contents > 0);
    }
    eprintln!(
        "{images} images with a flipped bit: {refused} refused, {found} found, {lost} cost a row"
    );
    assert!(found > 0, "no bit that counts was flipped");
}

#[test]
fn pages_that_rot_and_files_that_are_cut_off_are_never_served_and_cost_what_they_held() {
    let (seed, images) = (setting("LACUNA_SEED", 1), setting("LACUNA_IMAGES", 60));
    let truth = Truth::new();
    let mut dice = Dice(seed << 16);
    let mut total = [(0, 0, 0, 0); 4];
    for image in 0..images {
        let name = FILES[if dice.one_in(10) { 2 + dice.below(2) } else { dice.below(2) }];
        let mut bytes = truth.files[name].clone();
        let pages = used(&bytes);
        let page = pages[dice.below(pages.len())];
        let range = page..(page + PAGE).min(bytes.len());
        let kind = dice.below(4);
        let what = match kind {
            0 => {
                bytes[range].fill(0);
                format!("page {page} of {name} zeroed")
            }
            1 => {
                let other = pages[dice.below(pages.len())];
                for at in 0..range.len().min(bytes.len() - other) {
                    bytes.swap(page + at, other + at);
                }
                format!("pages {page} and {other} of {name} swapped")
            }
            2 => {
                bytes[range.clone()].copy_from_slice(&noise(dice.below(9_999) as u64, range.len()));
                format!("page {page} of {name} filled with anything")
            }
            _ => {
                let length = dice.below(bytes.len());
                bytes.truncate(length);
                format!("{name} cut off at {length}")
            }
        };
        let what = format!("seed {seed}, image {image}: {what}");
        eprintln!("{what}");
        let outcome = judged(&truth, [(name, bytes)].into(), &what);
        if name.contains("keys") {
            assert_eq!(
                (outcome.events, outcome.contents),
                (0, 0),
                "{what}: the other copy is there"
            );
        }
        let (images, refused, found, lost) = &mut total[kind];
        *images += 1;
        *refused += u64::from(outcome.refused);
        *found += u64::from(outcome.faults > 0);
        *lost += (outcome.events + outcome.contents) as u64;
    }
    for (kind, (images, refused, found, lost)) in
        ["zeroed", "swapped", "filled", "cut off"].iter().zip(total)
    {
        eprintln!("{images} images {kind}: {refused} refused, {found} found, {lost} rows lost");
    }
    let (zeroed, cut) = (total[0], total[3]);
    assert!(zeroed.1 + zeroed.2 > 0 && cut.1 > 0, "no damage has counted: {total:?}");
}
