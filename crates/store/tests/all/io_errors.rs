//! Errors of the disk, at every operation in turn: reads, writes, growth, syncs, once and for ever, and writes
//! that bring only their front. Whatever is answered is a typed error; nothing is acknowledged behind it
//! that is not there afterwards; and the next open, on a disk that works again, has all that was.

use lacuna_core::{Recorded, SessionNo};
use lacuna_store::{Store, StoreError, StoreOptions};

use crate::journal::{Journal, noise, opened, span};
use crate::tape::{Dice, Fault, Tape};

const OPTIONS: StoreOptions =
    StoreOptions { cache_bytes: 1 << 17, log_bytes: 1 << 17, create: true };
const COMMITS: u64 = 14;

fn open(tape: &Tape) -> Result<Store, StoreError> {
    Store::open_backends_with(tape.clone(), tape.log(), &tape.keys, &OPTIONS)
}

/// What one run with one fault has come to.
struct Ended {
    fired: usize,
    acknowledged: u64,
    sent: u64,
    events: Vec<Recorded>,
    tape: Tape,
}

/// Commits, large and small, syncs of the database, and reading in between, with a fault.
fn run(fault: Fault) -> Ended {
    let tape = Tape::default();
    let mut journal = Journal::on(open(&tape).unwrap());
    journal.commit(vec![opened("a")]);
    let (mut acknowledged, mut sent) = (1, 1);
    tape.note_keys();
    tape.break_at(Some(fault));
    for n in 0..COMMITS {
        let size = if n % 5 == 3 { 30_000 } else { 700 };
        let drafts = vec![span(SessionNo(1), &format!("s{n}"), &noise(n, size))];
        let head = journal.store.head();
        let (mut commit, payloads) = journal.draw(head, drafts);
        sent = commit.last;
        let appended = journal.store.pack(&payloads).and_then(|packs| {
            commit.payloads = packs;
            journal.store.append(commit)
        });
        if let Err(error) = appended {
            typed(&error);
            assert_eq!(journal.store.head(), head, "the head is what was acknowledged");
            break;
        }
        acknowledged = sent;
        // Reading gives what is there, or says what is wrong with the disk.
        match journal.store.load(SessionNo(1)) {
            Ok(state) => assert_eq!(state.as_ref(), Some(&journal.states[&SessionNo(1)])),
            Err(error) => typed(&error),
        }
        if n % 4 == 2
            && let Err(error) = journal.store.flush()
        {
            typed(&error);
            break;
        }
    }
    let fired = tape.fired();
    let Journal { store, events, .. } = journal;
    // It may fail as well; it must not hang, and not panic.
    if let Err(error) = store.close() {
        typed(&error);
    }
    tape.break_at(None);
    tape.note_keys();
    Ended { fired, acknowledged, sent, events, tape }
}

/// Errors that say that it is the disk; no damage, which would send people looking for something else.
fn typed(error: &StoreError) {
    let disk = matches!(
        error,
        StoreError::Indeterminate(_) | StoreError::Database(_) | StoreError::Io { .. }
    );
    assert!(disk, "{error:?}");
}

/// Opens what is left: as it stands, and as it may stand if what no sync has followed was lost.
fn whole(fault: Fault, ended: &Ended) {
    let mut dice = Dice(7);
    for lost in [true, false] {
        let left =
            if lost { ended.tape.cut(ended.tape.place(), &mut dice).0 } else { ended.tape.clone() };
        let store = open(&left).unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        let end = store.head().seq;
        assert!((ended.acknowledged..=ended.sent).contains(&end), "{fault:?}: {end}");
        let events: Vec<_> = ended.events.iter().filter(|e| e.seq <= end).cloned().collect();
        assert_eq!(store.history(SessionNo(1), 1, 99).unwrap(), events, "{fault:?}");
        let report = store.verify(&Default::default(), |_| {}).unwrap();
        assert_eq!(report.faults, [], "{fault:?}");
        store.close().unwrap();
    }
}

/// Runs with this fault at the first operation of its kind, at the second, until it comes no more; says how
/// often it came.
fn at_each(fault: impl Fn(usize) -> Fault, at_least: usize) -> usize {
    let mut fired = 0;
    for after in 0.. {
        let ended = run(fault(after));
        if ended.fired == 0 {
            break;
        }
        fired += 1;
        whole(fault(after), &ended);
    }
    assert!(fired >= at_least, "it went wrong {fired} times");
    fired
}

#[test]
fn a_write_that_fails_loses_nothing_that_was_acknowledged() {
    let fired = at_each(|after| Fault::Write { after, stays: true }, 30)
        + at_each(|after| Fault::Write { after, stays: false }, 30);
    eprintln!("{fired} errors of the disk");
}

#[test]
fn a_write_that_brings_only_its_front_loses_nothing_that_was_acknowledged() {
    eprintln!("{} errors of the disk", at_each(|after| Fault::Short { after }, 30));
}

#[test]
fn a_sync_that_fails_loses_nothing_that_was_acknowledged() {
    let fired = at_each(|after| Fault::Sync { after, stays: true }, 15)
        + at_each(|after| Fault::Sync { after, stays: false }, 15);
    eprintln!("{fired} errors of the disk");
}

#[test]
fn a_file_that_cannot_grow_loses_nothing_that_was_acknowledged() {
    let fired = at_each(|after| Fault::Length { after, stays: true }, 2)
        + at_each(|after| Fault::Length { after, stays: false }, 2);
    eprintln!("{fired} errors of the disk");
}

#[test]
fn a_read_that_fails_is_no_damage_and_loses_nothing() {
    let fired = at_each(|after| Fault::Read { after, stays: true }, 20)
        + at_each(|after| Fault::Read { after, stays: false }, 20);
    eprintln!("{fired} errors of the disk");
}

/// It said that the outcome was unknown, and that starting again would tell: it would not, while the disk
/// is full.
#[test]
fn a_recovery_that_cannot_write_says_that_the_log_has_it_and_loses_nothing() {
    let tape = Tape::default();
    let mut journal = Journal::on(open(&tape).unwrap());
    journal.commit(vec![opened("a")]);
    for n in 0..5 {
        journal.commit(vec![span(SessionNo(1), &format!("s{n}"), &noise(n, 700))]);
    }
    tape.note_keys();
    let left = tape.cut(tape.place(), &mut Dice(7)).0;
    let mut said = 0;
    for after in 0.. {
        left.break_at(Some(Fault::Write { after, stays: true }));
        match open(&left) {
            Err(StoreError::NotRecovered(_)) => said += 1,
            // The database before, or what is done behind it.
            Err(StoreError::Folder { .. }) => {}
            Err(error) => typed(&error),
            Ok(_) => break,
        }
        assert!(left.fired() > 0);
    }
    assert!(said > 0, "no write of the recovery has failed");
    left.break_at(None);
    let store = open(&left).unwrap();
    assert_eq!(store.history(SessionNo(1), 1, 99).unwrap(), journal.events);
    assert_eq!(store.verify(&Default::default(), |_| {}).unwrap().faults, []);
}
