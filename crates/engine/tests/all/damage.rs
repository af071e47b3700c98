//! A copy that fails its digest never counts as existing (I10), and its loss is on record.

use lacuna_core::{Cause, Gate, Outcome, RejectReason, Verdict};
use lacuna_engine::{Journal, Options, VerifyOptions};
use lacuna_store::Keys;
use redb::{Database, TableDefinition};

use crate::honest::flipped;
use crate::rig::{Rig, key, principal};

/// Takes the only pack of payloads away, or changes its last content.
pub(crate) fn damage(rig: Rig, destroy: bool) -> Rig {
    let Rig { folder, journal, .. } = rig;
    journal.close().unwrap();
    drop(journal);
    let db = Database::open(folder.path().join("journal.redb")).unwrap();
    let write = db.begin_write().unwrap();
    {
        let packs: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("payloads");
        let mut table = write.open_table(packs).unwrap();
        let (base, stored) = {
            let (base, stored) = redb::ReadableTable::first(&table).unwrap().unwrap();
            (base.value(), stored.value().to_vec())
        };
        if destroy {
            table.remove(base).unwrap();
        } else {
            let keys = Keys::in_folder(folder.path()).unwrap();
            let last = keys.open_pack(&stored).unwrap().unwrap().seqs().last().unwrap();
            table.insert(base, flipped(&keys, &stored, last).as_slice()).unwrap();
        }
    }
    write.commit().unwrap();
    drop(db);
    let journal = Journal::open(folder.path(), Options::default()).unwrap();
    Rig::of(folder, journal)
}

fn with_two_spans() -> Rig {
    let rig = Rig::new();
    rig.opened("s");
    rig.append("s", &[("a", "alpha"), ("b", "beta")]);
    rig
}

#[test]
fn the_gate_refuses_a_damaged_copy_and_consent_leaves_a_tombstone() {
    let rig = damage(with_two_spans(), false);
    let refused = rig.prune("s", &["a", "b"], false);
    assert_eq!(
        (refused.verdict, refused.reason),
        (Verdict::Rejected, Some(RejectReason::NotReversible))
    );
    let checks: Vec<bool> = refused.spans.iter().map(|span| span.check.existence).collect();
    assert_eq!(checks, [true, false]);
    let lossy = rig.prune("s", &["a", "b"], true);
    assert_eq!(lossy.verdict, Verdict::Mixed);
    assert_eq!(lossy.spans[0].gate, Gate::Reversible);
    assert_eq!(lossy.spans[1].gate, Gate::Lossy);
    assert_eq!(
        lossy.spans[1].tombstone.as_deref(),
        Some("b: pruned, unrecoverable, contents unknown")
    );
}

#[test]
fn reading_a_missing_copy_records_its_loss_and_says_so() {
    let rig = damage(with_two_spans(), true);
    let before = rig.journal.verify(&VerifyOptions::default(), |_| {}).unwrap();
    assert_eq!(before.faults.len(), 2, "no event explains the loss yet: {:?}", before.faults);
    for id in ["a", "b"] {
        let answer = rig.journal.expand(&key("s"), &id.parse().unwrap(), 0, 99).unwrap();
        assert_eq!(answer.outcome, Outcome::Lossy);
        let span = answer.state.find(&id.parse().unwrap()).unwrap();
        let cause = &answer.state.tombstone(span).unwrap().cause;
        assert_eq!(*cause, Cause::Damage { found: "its stored copy is missing".into() });
    }
    let kinds: Vec<&str> =
        rig.journal.history(&key("s"), 4, 9).unwrap().iter().map(|e| e.event.kind()).collect();
    assert_eq!(kinds, ["lossy-committed", "lossy-committed"]);
    // Asking again records nothing more, and the journal is whole: every loss has its event (I3).
    rig.journal.expand(&key("s"), &"a".parse().unwrap(), 0, 99).unwrap();
    assert_eq!(rig.journal.state(&key("s")).unwrap().version, 5);
    assert_eq!(rig.journal.verify(&VerifyOptions::default(), |_| {}).unwrap().faults, vec![]);
}

#[test]
fn a_window_with_a_damaged_span_shows_its_tombstone() {
    let rig = damage(with_two_spans(), false);
    let state = rig.journal.state(&key("s")).unwrap();
    let (after, shown, cut) = rig.journal.window(&key("s"), state, 1 << 20).unwrap();
    assert!(!cut);
    let contents: Vec<_> = shown.iter().map(|shown| shown.content.as_deref()).collect();
    assert_eq!(contents, [Some(b"alpha".as_slice()), None]);
    assert_eq!(shown[1].entry.text.as_deref(), Some("b: pruned, unrecoverable, contents unknown"));
    assert_eq!(after.ledger().len(), 1);
}

#[test]
fn a_durability_check_finds_damage_without_being_told() {
    let rig = damage(with_two_spans(), false);
    let ids = crate::rig::ids(&["a", "b", "ghost"]);
    let (_, found) = rig.journal.durability(&key("s"), &ids).unwrap();
    let outcomes: Vec<Outcome> = found.iter().map(|span| span.outcome).collect();
    assert_eq!(outcomes, [Outcome::Live, Outcome::Lossy, Outcome::NeverRecorded]);
    let copy = found[0].copy.as_ref().unwrap();
    assert_eq!((copy.store.as_deref(), copy.unanswered.as_deref()), (None, None));
    assert!(copy.verified_at.is_some() && found[1].copy.is_none());
    assert_eq!(rig.journal.state(&key("s")).unwrap().ledger().len(), 1);
}

#[test]
fn readings_as_evidence_are_events_also_in_a_closed_session() {
    let rig = with_two_spans();
    rig.send("s", lacuna_core::Command::Close).unwrap();
    let span: lacuna_core::SpanId = "a".parse().unwrap();
    let purpose = lacuna_core::Purpose::Audit;
    rig.journal.record_read(&key("s"), &principal(), None, span, purpose).unwrap();
    let last = rig.journal.history(&key("s"), 5, 9).unwrap();
    assert_eq!(last.len(), 1);
    assert_eq!(last[0].event.kind(), "span-read");
    assert!(rig.path().join("journal.redb").exists());
}
