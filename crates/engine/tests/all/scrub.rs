//! The scrub finds damage that nobody asked about, keeps its place, and says when it last looked.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lacuna_core::{Cause, Outcome, Timestamp};
use lacuna_engine::{Options, ScrubOptions, ScrubStats, VerifyOptions};
use redb::{Database, ReadableTable as _, TableDefinition};

use crate::outside::{Outside, SILENT, TELLING, stores};
use crate::rig::{Rig, ids, key};

const DAY: u64 = 86_400_000;

/// A clock that goes only when told to.
#[derive(Clone)]
struct Hands(Arc<AtomicU64>);

impl Hands {
    fn new() -> Self {
        Self(Arc::new(AtomicU64::new(1_000 * DAY)))
    }

    fn forward(&self, milliseconds: u64) {
        self.0.fetch_add(milliseconds, Ordering::SeqCst);
    }

    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }

    fn options(&self, bytes_per_second: u64) -> Options {
        let hands = self.clone();
        let every = Duration::from_millis(7 * DAY);
        let scrub = Some(ScrubOptions { bytes_per_second, every });
        Options { clock: Arc::new(move || hands.now()), scrub, ..Options::default() }
    }
}

const FAST: u64 = 1 << 40;

fn stats(rig: &Rig) -> ScrubStats {
    rig.journal.stats().unwrap().scrub.expect("there is a scrub")
}

/// Waits until the scrub is where it should be.
fn until(rig: &Rig, there: impl Fn(&ScrubStats) -> bool) -> ScrubStats {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let now = stats(rig);
        if there(&now) {
            return now;
        }
        assert!(Instant::now() < end, "it never gets there: {now:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until a round that began at this time is complete.
fn complete(rig: &Rig, started: Timestamp) -> ScrubStats {
    until(rig, |stats| stats.last_round_started == Some(started))
}

fn verified_at(rig: &Rig, span: &str) -> Option<Timestamp> {
    let (_, found) = rig.journal.durability(&key("s"), &ids(&[span])).unwrap();
    found[0].copy.as_ref().and_then(|copy| copy.verified_at)
}

/// Takes the pack of the last payloads away, while the journal is closed.
fn lose_the_last_pack(folder: &std::path::Path) {
    let db = Database::open(folder.join("journal.redb")).unwrap();
    let write = db.begin_write().unwrap();
    {
        let packs: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("payloads");
        let mut table = write.open_table(packs).unwrap();
        let last = table.last().unwrap().unwrap().0.value();
        table.remove(last).unwrap();
    }
    write.commit().unwrap();
}

#[test]
fn damage_is_found_and_recorded_without_anybody_asking() {
    let hands = Hands::new();
    let rig = Rig::with(Options { scrub: None, ..hands.options(FAST) });
    rig.opened("s");
    rig.append("s", &[("a", "alpha")]);
    rig.append("s", &[("b", "beta")]);
    let Rig { folder, journal, .. } = rig;
    journal.close().unwrap();
    drop(journal);
    lose_the_last_pack(folder.path());
    let journal = lacuna_engine::Journal::open(folder.path(), hands.options(FAST)).unwrap();
    let rig = Rig::of(folder, journal);
    let seen = complete(&rig, hands.now());
    assert_eq!((seen.verified, seen.damaged, seen.bytes), (1, 1, 5));
    let state = rig.journal.state(&key("s")).unwrap();
    let outcome = |id: &str| state.outcome(state.find(&id.parse().unwrap()).unwrap());
    assert_eq!((outcome("a"), outcome("b")), (Outcome::Live, Outcome::Lossy));
    let cause = &state.ledger()[0].cause;
    assert_eq!(*cause, Cause::Damage { found: "its stored copy is missing".into() });
    assert_eq!(rig.journal.verify(&VerifyOptions::default(), |_| {}).unwrap().faults, vec![]);
    // What is lost is lost once.
    hands.forward(7 * DAY);
    let again = complete(&rig, hands.now());
    assert_eq!((again.verified, again.damaged), (2, 1));
    assert_eq!(rig.journal.state(&key("s")).unwrap().version, state.version);
}

#[test]
fn rounds_come_no_sooner_than_they_are_due() {
    let hands = Hands::new();
    let rig = Rig::with(hands.options(FAST));
    rig.opened("s");
    rig.append("s", &[("a", "alpha")]);
    // What is new needs no looking after for a while, also if the first run ends at once.
    let rig = rig.reopened_with(hands.options(FAST));
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(
        stats(&rig),
        ScrubStats { last_round_started: Some(hands.now()), ..Default::default() }
    );
    hands.forward(7 * DAY);
    let first = hands.now();
    assert_eq!(complete(&rig, first).verified, 1);
    hands.forward(7 * DAY - 1);
    std::thread::sleep(Duration::from_millis(1_200));
    assert_eq!(stats(&rig).last_round_started, Some(first), "one millisecond is missing");
    hands.forward(1);
    let second = complete(&rig, hands.now());
    assert_eq!(second.verified, 2);
    // Over a restart as well.
    hands.forward(DAY);
    let rig = rig.reopened_with(hands.options(FAST));
    std::thread::sleep(Duration::from_millis(700));
    let after = stats(&rig);
    assert_eq!((after.last_round_started, after.verified), (second.last_round_started, 0));
}

#[test]
fn a_round_goes_on_where_it_was_after_a_restart() {
    let hands = Hands::new();
    let rig = Rig::with(Options { scrub: None, ..hands.options(FAST) });
    rig.opened("s");
    for n in 0..20 {
        rig.append("s", &[(&format!("m{n}"), "some words that take their time")]);
    }
    // About seven events each second.
    let rig = rig.reopened_with(hands.options(2_000));
    let begun = hands.now();
    let slow = until(&rig, |stats| stats.position >= 5);
    assert_eq!((slow.end, slow.round_started), (21, Some(begun)));
    assert!(slow.position < 15, "{slow:?}");
    rig.journal.close().unwrap();
    let slow = stats(&rig);
    hands.forward(DAY);
    let rig = rig.reopened_with(hands.options(FAST));
    let rest = complete(&rig, begun);
    assert_eq!(slow.verified + rest.verified, 20, "nothing twice, nothing left out: {rest:?}");
    assert!(rest.verified < 20, "it does not begin anew");
    assert_eq!(rest.round_started, None);
}

#[test]
fn a_place_that_cannot_be_read_costs_a_round_and_no_more() {
    for text in ["", "lacuna-scrub 1\njournal other\n", "no sense\n"] {
        let hands = Hands::new();
        let rig = Rig::with(hands.options(FAST));
        rig.opened("s");
        rig.append("s", &[("a", "alpha")]);
        let Rig { folder, journal, .. } = rig;
        journal.close().unwrap();
        drop(journal);
        std::fs::write(folder.path().join("journal.scrub"), text).unwrap();
        hands.forward(1);
        let journal = lacuna_engine::Journal::open(folder.path(), hands.options(FAST)).unwrap();
        let rig = Rig::of(folder, journal);
        assert_eq!(complete(&rig, hands.now()).verified, 1, "{text:?}");
    }
}

#[test]
fn external_copies_are_looked_at_too() {
    let hands = Hands::new();
    let outside = Outside::with(Options { scrub: None, ..hands.options(FAST) });
    for (store, id) in [(TELLING, "a"), (SILENT, "b"), (TELLING, "c"), (TELLING, "d")] {
        outside.record(store, id, "words");
    }
    outside.remove("b");
    outside.write("c", "sword");
    outside.hang("d");
    let Outside { rig, files } = outside;
    let began = hands.now();
    let options = || Options { stores: stores(files.path()), ..hands.options(FAST) };
    let rig = rig.reopened_with(options());
    let seen = complete(&rig, began);
    assert_eq!((seen.verified, seen.damaged, seen.unanswered), (1, 2, 1));
    let state = rig.journal.state(&key("s")).unwrap();
    let lost: Vec<&str> = state.ledger().iter().map(|t| state.span(t.span).id.as_str()).collect();
    assert_eq!(lost, ["b", "c"], "no answer is no loss");
    // The time of the last look shows where there is no answer now.
    hands.forward(DAY);
    assert_eq!(verified_at(&rig, "a"), Some(hands.now()), "it was read back for the answer");
    assert_eq!(verified_at(&rig, "d"), None, "nobody ever saw it whole");
    let pipe = files.path().join("a");
    std::fs::remove_file(&pipe).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert_eq!(verified_at(&rig, "a"), Some(began), "as the scrub saw it");
    // It is so after a restart, and the next round that sees it renews it.
    let rig = rig.reopened_with(options());
    assert_eq!(verified_at(&rig, "a"), Some(began));
    std::fs::remove_file(&pipe).unwrap();
    std::fs::write(&pipe, "words").unwrap();
    hands.forward(6 * DAY);
    let renewed = hands.now();
    complete(&rig, renewed);
    std::fs::remove_file(&pipe).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    hands.forward(1);
    assert_eq!(verified_at(&rig, "a"), Some(renewed));
}

#[test]
fn it_reads_about_as_fast_as_it_may_and_ends_at_once() {
    let hands = Hands::new();
    let rig = Rig::with(Options { scrub: None, ..hands.options(FAST) });
    rig.opened("s");
    for n in 0..40 {
        rig.append("s", &[(&format!("m{n}"), &"x".repeat(10_000))]);
    }
    let begun = Instant::now();
    let rig = rig.reopened_with(hands.options(800_000));
    complete(&rig, hands.now());
    // 40 of 10,256 bytes each.
    let took = begun.elapsed();
    assert!(took > Duration::from_millis(450), "{took:?}");
    hands.forward(7 * DAY);
    let rig = rig.reopened_with(hands.options(1));
    until(&rig, |stats| stats.position == 1);
    let begun = Instant::now();
    rig.journal.close().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}
