//! Power cuts, everywhere: at each sync and between them, with what was written and not synced there, lost,
//! torn or in another order; and again while the journal recovers. Whatever is left opens with all that was
//! acknowledged, and nothing that was never sent.
//!
//! `LACUNA_IMAGES` is how many images are made of each run, `LACUNA_SEED` where the runs begin.

use lacuna_core::{Event, Recorded, SessionNo};
use lacuna_store::{Commit, Store, StoreOptions, Stored, at_each_step};

use crate::journal::{Draft, Journal, noise, opened, read, span};
use crate::tape::{Cut, Dice, Tape};

/// Small, so that the log goes round and pages are written early.
const OPTIONS: StoreOptions =
    StoreOptions { cache_bytes: 1 << 18, log_bytes: 1 << 17, create: true };
const COMMITS: u64 = 40;

fn open(tape: &Tape) -> Store {
    Store::open_backends_with(tape.clone(), tape.log(), &tape.keys, &OPTIONS).unwrap()
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// A run, and what was sent and acknowledged from which place of its tape on.
struct Run {
    tape: Tape,
    journal: Journal,
    sent: Vec<(usize, u64)>,
    acknowledged: Vec<(usize, u64)>,
    /// Payloads whose keys were destroyed by then.
    removed: Vec<(usize, u64)>,
}

impl Run {
    /// Commits of all kinds: of several sessions, small, large, with snapshots, with removals, with syncs of
    /// the database in between.
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let tape = Tape::default();
        let journal = Journal::on(open(&tape));
        tape.note_keys();
        let (sent, acknowledged, removed) = (Vec::new(), Vec::new(), Vec::new());
        let mut run = Self { tape, journal, sent, acknowledged, removed };
        run.commit(vec![opened("a"), opened("b")]);
        for n in 0..COMMITS {
            match dice.below(10) {
                0 => run.journal.store.flush().unwrap(),
                1 => run.journal.snapshot(SessionNo(1 + dice.below(2) as u64)),
                2 => run.remove(&mut dice),
                3 => run.record(n, 1, 20_000 + dice.below(20_000)),
                _ => {
                    let spans = 1 + dice.below(3) as u64;
                    run.record(n, spans, dice.below(3_000));
                }
            }
        }
        run
    }

    fn record(&mut self, n: u64, spans: u64, size: usize) {
        let span = |i| {
            let payload = noise(n << 8 | i, size);
            span(SessionNo(1 + (n + i) % 2), &format!("s{n}.{i}"), &payload)
        };
        self.commit((0..spans).map(span).collect());
    }

    fn commit(&mut self, drafts: Vec<Draft>) {
        let commit = self.journal.prepare(drafts);
        self.send(commit);
    }

    fn send(&mut self, commit: Commit) {
        let last = commit.last;
        self.sent.push((self.tape.place(), last));
        self.journal.store.append(commit).unwrap();
        self.acknowledged.push((self.tape.place(), last));
    }

    /// Removes a payload that is still there, and destroys its key.
    fn remove(&mut self, dice: &mut Dice) {
        let gone = |seq: &u64| self.removed.iter().any(|(_, removed)| removed == seq);
        let recorded = |e: &&Recorded| matches!(e.event, Event::SpanRecorded(_));
        let there = self.journal.events.iter().filter(recorded);
        let there: Vec<u64> = there.map(|event| event.seq).filter(|seq| !gone(seq)).collect();
        if there.is_empty() {
            return;
        }
        let seq = there[dice.below(there.len())];
        let removal = self.journal.store.prepare_removal(&[seq], u64::MAX).unwrap();
        let drafts = removal.removes().iter().map(|seq| self.journal.lost(*seq)).collect();
        let mut commit = self.journal.prepare(drafts);
        commit.removal = Some(removal);
        self.send(commit);
        let tape = self.tape.clone();
        let note = move |_| tape.note_keys();
        at_each_step(note, || self.journal.store.destroy_keys()).unwrap();
        self.tape.note_keys();
        self.removed.push((self.tape.place(), seq));
    }

    /// That an image of the power cut at this place is whole.
    fn check(&self, image: &Tape, place: usize) -> Result<(), String> {
        let at = |marks: &[(usize, u64)]| {
            marks.iter().rfind(|(from, _)| *from <= place).map_or(0, |(_, seq)| *seq)
        };
        let (acknowledged, sent) = (at(&self.acknowledged), at(&self.sent));
        let store = Store::open_backends_with(image.clone(), image.log(), &image.keys, &OPTIONS)
            .map_err(|error| format!("it does not open: {error}"))?;
        let end = store.head().seq;
        if !(acknowledged..=sent).contains(&end) {
            return Err(format!("it ends with event {end}, not between {acknowledged} and {sent}"));
        }
        let report = store.verify(&Default::default(), |_| {}).map_err(|e| e.to_string())?;
        if !report.faults.is_empty() {
            return Err(format!("{:?}", report.faults));
        }
        for session in self.journal.states.keys() {
            let of_it = self.journal.events.iter().filter(|e| e.session == *session);
            let events: Vec<_> = of_it.filter(|e| e.seq <= end).cloned().collect();
            let found = store.history(*session, 1, usize::MAX).map_err(|e| e.to_string())?;
            if found != events {
                return Err(format!("the history of session {} is another", session.0));
            }
            let Some(last) = events.last() else { continue };
            let state = store.load(*session).map_err(|e| e.to_string())?;
            if state.as_ref() != Some(&self.journal.folded(*session, last.version)) {
                return Err(format!("the state of session {} is another", session.0));
            }
        }
        let mut reader = store.payloads().map_err(|e| e.to_string())?;
        for (_, seq) in self.removed.iter().filter(|(from, _)| *from <= place) {
            let found = read(&mut reader, &self.journal.events, *seq);
            if found != Stored::Missing {
                return Err(format!("the removed payload {seq} is {found:?}"));
            }
        }
        Ok(())
    }
}

#[test]
fn whatever_a_power_cut_leaves_opens_with_all_that_was_acknowledged() {
    let (seed, images) = (setting("LACUNA_SEED", 1), setting("LACUNA_IMAGES", 120));
    let mut total = Cut::default();
    let (mut recoveries, mut made) = (0, 0);
    for seed in seed..seed + 2 {
        let run = Run::new(seed);
        let (first, end) = (run.acknowledged[0].0, run.tape.place());
        let syncs: Vec<usize> = run.tape.syncs().into_iter().filter(|at| *at >= first).collect();
        let mut dice = Dice(seed << 32);
        for image in 0..images {
            let mut own = Dice(dice.below(usize::MAX) as u64);
            // Half of them just before a sync has returned, the others anywhere.
            let place = match own.one_in(2) {
                true => syncs[own.below(syncs.len())] - 1,
                false => first + own.below(end - first),
            };
            let told = |why| format!("seed {seed}, image {image}, place {place} of {end}: {why}");
            let (left, cut) = run.tape.cut(place, &mut own);
            total.unsynced += cut.unsynced;
            total.lost += cut.lost;
            total.torn += cut.torn;
            total.reordered |= cut.reordered;
            total.shortened |= cut.shortened;
            made += 1;
            run.check(&left, place).unwrap_or_else(|why| panic!("{}", told(why)));
            // And once more while it recovered from that.
            let recovery = left.place();
            if recovery > 0 {
                let (again, _) = left.cut(own.below(recovery), &mut own);
                made += 1;
                recoveries += 1;
                run.check(&again, place).unwrap_or_else(|why| {
                    panic!("{}", told(format!("cut again while it recovered: {why}")))
                });
            }
        }
    }
    eprintln!("{made} images, {recoveries} of them of recoveries: {total:?}");
    assert!(total.lost > 50 && total.torn > 50 && total.reordered && total.shortened, "{total:?}");
}
