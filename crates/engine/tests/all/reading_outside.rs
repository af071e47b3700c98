//! Reading what lies in external stores: whole, lost, or without an answer; and who has to wait.

use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use lacuna_core::{Cause, Command, Outcome, Reply, SummaryStatus, Verdict};
use lacuna_engine::{Ask, EngineError, ExternalStore, Found, Options, Stores, Unread};

use crate::honest::{honest, summarized};
use crate::outside::{Outside, SILENT, TELLING, TIMEOUT, external};
use crate::rig::{Rig, append, ids, key, principal, prune, request};

fn expand(outside: &Outside, id: &str) -> Result<lacuna_engine::Expanded, EngineError> {
    outside.rig.journal.expand(&key("s"), &id.parse().unwrap(), 0, 1 << 20)
}

fn unavailable<T: std::fmt::Debug>(answer: Result<T, EngineError>) -> String {
    match answer {
        Err(EngineError::Refused(refusal)) if refusal.code() == "unavailable" => {
            refusal.to_string()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn content_comes_from_the_store_whole_or_in_parts() {
    let outside = Outside::new();
    let text = "żółw — a tortoise, 1234567890. ".repeat(9_000);
    outside.record(SILENT, "a.txt", &text);
    let whole = expand(&outside, "a.txt").unwrap();
    assert_eq!(whole.outcome, Outcome::Live);
    assert_eq!(whole.content.unwrap().bytes, text.as_bytes());
    let (mut read, mut offset) = (Vec::new(), 0);
    while offset < text.len() as u64 {
        let address = "a.txt".parse().unwrap();
        let part = outside.rig.journal.expand(&key("s"), &address, offset, 1_001).unwrap();
        let part = part.content.unwrap();
        assert_eq!((part.offset, part.total), (offset, text.len() as u64));
        assert!(std::str::from_utf8(&part.bytes).is_ok(), "cut between characters");
        offset += part.bytes.len() as u64;
        read.extend(part.bytes);
    }
    assert_eq!(read, text.as_bytes());
}

#[test]
fn a_loss_is_recorded_once_with_what_was_found() {
    for (damage, found) in [("", "store \"archive\" has no \"a\""), ("x", "1 bytes instead of 5")] {
        let outside = Outside::new();
        outside.record(TELLING, "a", "alpha");
        match damage {
            "" => outside.remove("a"),
            text => outside.write("a", text),
        }
        for _ in 0..2 {
            let answer = expand(&outside, "a").unwrap();
            assert_eq!(answer.outcome, Outcome::Lossy);
            assert!(answer.content.is_none());
            let tombstone = answer.state.tombstone(&answer.state.spans()[0]).unwrap();
            let Cause::Damage { found: said } = &tombstone.cause else { panic!("{tombstone:?}") };
            assert!(said.contains(found), "{said}");
        }
        assert_eq!(outside.version(), 3);
        // What is lost stays lost, whatever the store holds later: the ledger is a record.
        outside.write("a", "alpha");
        assert_eq!(expand(&outside, "a").unwrap().outcome, Outcome::Lossy);
    }
}

#[test]
fn no_answer_is_an_error_and_never_a_loss() {
    let outside = Outside::new();
    outside.record(TELLING, "a", "alpha");
    outside.hang("a");
    let begun = Instant::now();
    let why = unavailable(expand(&outside, "a"));
    assert!(why.contains("store \"archive\" did not answer within 150ms"), "{why}");
    assert!(begun.elapsed() < TIMEOUT * 4, "{:?}", begun.elapsed());
    // The same said as damage: the writer has it confirmed, and it is not.
    let report = Command::ReportDamage { spans: ids(&["a"]), ended: false };
    match outside.rig.send("s", report).unwrap().reply {
        Reply::DamageReported { lost, .. } => assert_eq!(lost, vec![]),
        other => panic!("{other:?}"),
    }
    assert_eq!(outside.version(), 2);
}

#[test]
fn a_window_shows_what_it_can_and_says_what_it_cannot_read() {
    let outside = Outside::new();
    outside.record(TELLING, "a", "alpha");
    outside.record(SILENT, "b", "beta");
    outside.record(TELLING, "c", "gamma");
    outside.hang("b");
    outside.remove("c");
    let state = outside.rig.journal.state(&key("s")).unwrap();
    let (state, shown, cut) = outside.rig.journal.window(&key("s"), state, 1 << 20).unwrap();
    assert!(!cut);
    assert_eq!(shown[0].content.as_deref(), Some(b"alpha".as_slice()));
    assert_eq!(shown[1].content, None);
    assert!(shown[1].unreadable.as_deref().unwrap().contains("did not answer"));
    assert_eq!(shown[2].entry.text.as_deref(), Some("c: pruned, unrecoverable, contents unknown"));
    assert_eq!(state.ledger().len(), 1, "only what is gone is lost");
    let text = lacuna_core::render::text(&state, &shown);
    assert!(text.contains("cannot be read now, not lost: store \"logs\" did not answer"), "{text}");
}

#[test]
fn durability_tells_where_each_copy_is() {
    let outside = Outside::new();
    outside.rig.append("s", &[("j", "journal")]);
    for id in ["a", "b", "c"] {
        outside.record(TELLING, id, "words");
    }
    outside.hang("b");
    outside.remove("c");
    let asked = ids(&["j", "a", "b", "c"]);
    let (_, found) = outside.rig.journal.durability(&key("s"), &asked).unwrap();
    let outcomes: Vec<Outcome> = found.iter().map(|span| span.outcome).collect();
    assert_eq!(outcomes, [Outcome::Live, Outcome::Live, Outcome::Live, Outcome::Lossy]);
    let copies: Vec<_> = found.iter().map(|span| span.copy.as_ref()).collect();
    let store = |n: usize| copies[n].unwrap().store.as_deref();
    assert_eq!((store(0), store(1), store(2)), (None, Some(TELLING), Some(TELLING)));
    let verified = |n: usize| copies[n].unwrap().verified_at.is_some();
    assert_eq!((verified(0), verified(1), verified(2)), (true, true, false));
    assert!(copies[2].unwrap().unanswered.is_some());
    assert!(copies[3].is_none());
}

#[test]
fn only_what_comes_back_is_suggested() {
    let outside = Outside::new();
    let words = "words and more words ".repeat(200);
    for (store, id) in [(TELLING, "a"), (SILENT, "b"), (TELLING, "c"), (TELLING, "d")] {
        outside.record(store, id, &words);
    }
    outside.remove("c");
    outside.hang("d");
    outside.rig.append("s", &[("e", "the end")]);
    let (_, found) = outside.rig.journal.suggest(&key("s"), 1_000_000, &principal()).unwrap();
    let mut spans: Vec<String> =
        found.iter().flat_map(|c| &c.spans).map(ToString::to_string).collect();
    spans.sort();
    spans.dedup();
    assert!(spans.contains(&"a".to_owned()), "{spans:?}");
    assert!(!spans.iter().any(|id| ["b", "c", "d"].contains(&id.as_str())), "{spans:?}");
}

#[test]
fn a_summary_rests_on_contents_that_were_read() {
    let outside = Outside::new();
    outside.record(SILENT, "a", "The port is 5433, see req-77ae-0042.");
    let reply = summarized(outside.rig.send("s", honest("sum", "a")));
    assert_ne!(reply.status, SummaryStatus::Rejected, "{reply:?}");
    assert!(reply.omitted.iter().any(|omitted| omitted.text == "req-77ae-0042"), "{reply:?}");
    let outside = Outside::new();
    outside.record(SILENT, "a", "The port is 5433, see req-77ae-0042.");
    outside.hang("a");
    let before = outside.version();
    unavailable(outside.rig.send("s", honest("sum", "a")));
    assert_eq!(outside.version(), before, "no attempt is counted");
}

#[test]
fn nobody_waits_for_a_store_that_hangs() {
    let outside = Outside::new();
    outside.rig.opened("other");
    outside.record(TELLING, "a", "alpha");
    outside.hang("a");
    let (sender, answers) = sync_channel(1);
    let callback = Box::new(move |answer| sender.send(answer).unwrap());
    outside.rig.journal.submit(request("s", None, prune(&["a"], false)), callback).unwrap();
    let mut written = 0;
    let answer = loop {
        let begun = Instant::now();
        outside.rig.append("other", &[(&format!("m{written}"), "words")]);
        outside.rig.append("s", &[(&format!("m{written}"), "words")]);
        assert!(begun.elapsed() < TIMEOUT, "they wait: {:?}", begun.elapsed());
        written += 1;
        if let Ok(answer) = answers.try_recv() {
            break answer;
        }
    };
    assert!(written >= 3, "{written} appends got through");
    let Reply::Pruned(reply) = answer.unwrap().reply else { panic!("no verdict") };
    assert_eq!(reply.verdict, Verdict::Rejected);
}

#[test]
fn many_that_hang_cost_no_more_than_a_few() {
    let outside = Outside::new();
    let names: Vec<String> = (0..40).map(|n| format!("f{n}")).collect();
    for name in &names {
        outside.record(TELLING, name, "alpha");
        outside.hang(name);
    }
    let spans: Vec<&str> = names.iter().map(String::as_str).collect();
    let begun = Instant::now();
    for _ in 0..3 {
        let refused = outside.rig.prune("s", &spans, false);
        assert_eq!(refused.verdict, Verdict::Rejected);
        assert!(refused.spans.iter().all(|span| !span.check.existence));
    }
    assert!(begun.elapsed() < TIMEOUT * 12, "{:?}", begun.elapsed());
    // Every thread of the store hangs by now: it says so at once.
    let begun = Instant::now();
    unavailable(expand(&outside, "f0"));
    assert!(begun.elapsed() < TIMEOUT, "{:?}", begun.elapsed());
    // The other store over the same folder is another matter.
    outside.record(SILENT, "fine", "beta");
    assert_eq!(expand(&outside, "fine").unwrap().outcome, Outcome::Live);
    // Somebody opens the pipes at last: the threads come back.
    for name in &names {
        let path = outside.path(name);
        let write = rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::NONBLOCK;
        drop(rustix::fs::open(path, write, rustix::fs::Mode::empty()));
    }
    outside.record(TELLING, "again", "gamma");
    let until = Instant::now() + Duration::from_secs(5);
    while expand(&outside, "again").is_err() {
        assert!(Instant::now() < until, "the store never comes back");
    }
}

#[test]
fn more_than_may_wait_are_told_so() {
    let outside = Outside::new();
    outside.record(TELLING, "a", "alpha");
    outside.hang("a");
    let (sender, answers) = sync_channel(512);
    for _ in 0..200 {
        let sender = sender.clone();
        let callback = Box::new(move |answer| sender.send(answer).unwrap());
        outside.rig.journal.submit(request("s", None, prune(&["a"], false)), callback).unwrap();
    }
    drop(sender);
    let answers: Vec<_> = answers.iter().collect();
    assert_eq!(answers.len(), 200, "each is answered");
    let full = answers.iter().filter(|a| matches!(a, Err(EngineError::Overloaded { .. }))).count();
    assert!((100..200).contains(&full), "{full} were refused");
}

#[test]
fn closing_does_not_wait_for_a_queue_before_a_store_that_hangs() {
    let outside = Outside::new();
    outside.record(TELLING, "a", "alpha");
    outside.hang("a");
    let (sender, answers) = sync_channel(64);
    for _ in 0..30 {
        let sender = sender.clone();
        let callback = Box::new(move |answer| sender.send(answer).unwrap());
        // With consent: what is not decided must not be lost by closing.
        outside.rig.journal.submit(request("s", None, prune(&["a"], true)), callback).unwrap();
    }
    drop(sender);
    let begun = Instant::now();
    outside.rig.journal.close().unwrap();
    assert!(begun.elapsed() < TIMEOUT * 8, "{:?}", begun.elapsed());
    let answers: Vec<_> = answers.iter().collect();
    assert_eq!(answers.len(), 30, "each is answered");
    assert!(answers.iter().any(|a| matches!(a, Err(EngineError::Unavailable(_)))));
}

#[test]
fn a_resent_prune_asks_no_store_again() {
    let outside = Outside::new();
    outside.record(TELLING, "a", "alpha");
    let prune = || request("s", Some(("p", 1)), prune(&["a"], false));
    let first = outside.rig.journal.execute(prune()).unwrap();
    outside.remove("a");
    let again = outside.rig.journal.execute(prune()).unwrap();
    assert!(again.again && !first.again);
    assert_eq!(again.reply, first.reply);
    outside.rig.send("s", append(&[("z", "zeta")])).unwrap();
}

/// A store that takes its time: all of it, or a part.
struct Slow {
    takes: Duration,
}

impl ExternalStore for Slow {
    fn read(&self, _: &str, _: &Ask, deadline: Instant) -> Result<Found, Unread> {
        let left = deadline.saturating_duration_since(Instant::now());
        std::thread::sleep(self.takes.min(left));
        if self.takes >= left { Err(Unread::Late) } else { Ok(Found::Missing) }
    }

    fn check_key(&self, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn tells_removed(&self) -> bool {
        true
    }
}

/// A folder whose threads all hang says so at once; another kind of store may not know.
#[test]
fn a_slow_store_takes_a_bounded_time_of_one_directive() {
    for (takes, most) in [(TIMEOUT * 2, 4), (TIMEOUT * 2 / 3, 17)] {
        let mut stores = Stores::new(TIMEOUT);
        stores.add(TELLING, Arc::new(Slow { takes }));
        let rig = Rig::with(Options { stores, ..Options::default() });
        rig.opened("s");
        let names: Vec<String> = (0..60).map(|n| format!("f{n}")).collect();
        let spans = names.iter().map(|name| external(TELLING, name, "alpha")).collect();
        rig.send("s", Command::Append { spans }).unwrap();
        let named: Vec<&str> = names.iter().map(String::as_str).collect();
        let begun = Instant::now();
        let refused = rig.prune("s", &named, false);
        assert!(begun.elapsed() < TIMEOUT * most, "{takes:?}: {:?}", begun.elapsed());
        assert!(refused.spans.iter().all(|span| !span.check.existence));
        let why = refused.spans.last().unwrap().check.why.clone().unwrap();
        assert!(why.contains("not asked again"), "{why}");
        // Consent to loss does not reach what nobody has looked at.
        let before = rig.journal.state(&key("s")).unwrap().version;
        unavailable(rig.send("s", prune(&named, true)));
        assert_eq!(rig.journal.state(&key("s")).unwrap().version, before);
    }
}

#[test]
fn copies_of_one_prune_have_one_effect_and_one_reply() {
    let outside = Outside::new();
    outside.record(TELLING, "a", "alpha");
    let (sender, answers) = sync_channel(8);
    for _ in 0..4 {
        let sender = sender.clone();
        let callback = Box::new(move |answer| sender.send(answer).unwrap());
        let prune = request("s", Some(("p", 1)), prune(&["a"], false));
        outside.rig.journal.submit(prune, callback).unwrap();
    }
    drop(sender);
    let done: Vec<_> = answers.iter().map(Result::unwrap).collect();
    assert_eq!(done.len(), 4);
    assert_eq!(done.iter().filter(|done| !done.again).count(), 1);
    assert!(done.iter().all(|other| other.reply == done[0].reply), "{done:?}");
    assert_eq!(outside.version(), 3);
}

/// What one session sends for external spans is decided in the order in which it was sent.
#[test]
fn a_session_keeps_its_order_before_its_stores() {
    let outside = Outside::new();
    outside.record(TELLING, "a", "alpha");
    let (sender, answers) = sync_channel(64);
    for n in 0..20 {
        let command = match n % 2 {
            0 => prune(&["a"], false),
            _ => Command::Restore { spans: ids(&["a"]) },
        };
        let sender = sender.clone();
        let callback = Box::new(move |answer| sender.send(answer).unwrap());
        outside.rig.journal.submit(request("s", None, command), callback).unwrap();
    }
    drop(sender);
    for (n, answer) in answers.iter().enumerate() {
        match answer.unwrap().reply {
            Reply::Pruned(reply) => assert_eq!(reply.verdict, Verdict::Reversible, "{n}"),
            Reply::Restored { restored, .. } => assert_eq!(restored, ids(&["a"]), "{n}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(outside.version(), 22);
}

#[test]
fn the_same_options_open_a_journal_again() {
    let files = tempfile::tempdir().unwrap();
    let options = Options { stores: crate::outside::stores(files.path()), ..Options::default() };
    let rig = Rig::with(options.clone());
    rig.opened("s");
    std::fs::write(files.path().join("a"), "alpha").unwrap();
    rig.send("s", Command::Append { spans: vec![external(TELLING, "a", "alpha")] }).unwrap();
    let rig = rig.reopened_with(options);
    assert_eq!(rig.prune("s", &["a"], false).verdict, Verdict::Reversible);
}
