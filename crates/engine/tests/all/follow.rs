//! A tenant's events in the journal's order: nobody else's, in bounded steps, and none passed over.

use lacuna_core::{Command, SessionKey, Tenant};
use lacuna_engine::{EngineError, Journal, Options, StoreError, TenantEvents};
use redb::{Database, ReadableTable as _, TableDefinition};

use crate::rig::{Rig, append, open, request, span};

fn key(tenant: &str, session: &str) -> SessionKey {
    SessionKey { tenant: tenant.parse().unwrap(), session: session.parse().unwrap() }
}

fn send(journal: &Journal, key: &SessionKey, command: Command) {
    let request = lacuna_engine::Request { session: key.clone(), ..request("s", None, command) };
    journal.execute(request).unwrap();
}

fn events(journal: &Journal, tenant: &str, from: u64, limit: usize) -> TenantEvents {
    let tenant: Tenant = tenant.parse().unwrap();
    journal.tenant_events(&tenant, from, limit).unwrap()
}

fn seqs(page: &TenantEvents) -> Vec<u64> {
    page.events.iter().map(|(_, event)| event.seq).collect()
}

#[test]
fn a_tenants_events_come_in_order_with_their_sessions() {
    let rig = Rig::new();
    let sessions = [key("a", "s"), key("b", "s"), key("a", "t")];
    for session in &sessions {
        send(&rig.journal, session, open());
    }
    for round in 0..3 {
        for session in &sessions {
            send(&rig.journal, session, append(&[(&format!("x{round}"), "words")]));
        }
    }
    let all = events(&rig.journal, "a", 1, 100);
    assert_eq!(seqs(&all), [1, 3, 4, 6, 7, 9, 10, 12]);
    assert_eq!((all.next, all.more), (13, false));
    for (session, event) in &all.events {
        let number = rig.journal.history(session, event.version, 1).unwrap();
        assert_eq!(number[0], *event);
    }
    let page = events(&rig.journal, "a", 4, 3);
    assert_eq!((seqs(&page), page.next, page.more), (vec![4, 6, 7], 8, true));
    assert_eq!(seqs(&events(&rig.journal, "b", 3, 100)), [5, 8, 11]);
    // Behind the end, and of a tenant that nobody has heard of, there is nothing, which is said.
    for (tenant, from) in [("a", 13), ("a", 1_000), ("nobody", 1)] {
        let none = events(&rig.journal, tenant, from, 100);
        assert_eq!((seqs(&none), none.more), (Vec::new(), false), "{tenant} {from}");
        assert_eq!(none.next, from.max(13));
    }
}

#[test]
fn a_quiet_tenant_among_busy_ones_is_found_in_bounded_steps() {
    let rig = Rig::new();
    let (quiet, busy) = (key("quiet", "s"), key("busy", "s"));
    send(&rig.journal, &quiet, open());
    send(&rig.journal, &busy, open());
    for _ in 0..70 {
        let spans = (0..1_000).map(|_| span(None, "words")).collect();
        send(&rig.journal, &busy, Command::Append { spans });
    }
    send(&rig.journal, &quiet, append(&[("a", "words")]));
    let (mut from, mut found, mut steps) = (1, Vec::new(), 0);
    loop {
        let page = events(&rig.journal, "quiet", from, 1_000);
        assert!(page.next > from && page.next - from < 70_000, "{from} to {}", page.next);
        (from, steps) = (page.next, steps + 1);
        found.extend(seqs(&page));
        if !page.more {
            break;
        }
    }
    assert_eq!((found, from, steps), (vec![1, 70_003], 70_004, 2));
}

#[test]
fn what_cannot_be_read_is_no_gap_but_an_error() {
    let rig = Rig::new();
    let session = key("a", "s");
    send(&rig.journal, &session, open());
    for name in ["x", "y", "z"] {
        send(&rig.journal, &session, append(&[(name, "words")]));
    }
    let Rig { folder, journal, .. } = rig;
    journal.close().unwrap();
    drop(journal);
    let db = Database::open(folder.path().join("journal.redb")).unwrap();
    let write = db.begin_write().unwrap();
    {
        let blocks: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("events");
        let mut table = write.open_table(blocks).unwrap();
        let mut block = table.get(3).unwrap().expect("a commit of its own").value().to_vec();
        *block.last_mut().unwrap() ^= 1;
        table.insert(3, block.as_slice()).unwrap();
    }
    write.commit().unwrap();
    drop(db);
    let journal = Journal::open(folder.path(), Options::default()).unwrap();
    let page = events(&journal, "a", 1, 100);
    assert_eq!((seqs(&page), page.next, page.more), (vec![1, 2], 3, true));
    let error = journal.tenant_events(&session.tenant, 3, 100).unwrap_err();
    let EngineError::Store(StoreError::Damaged(why)) = &error else { panic!("{error}") };
    assert!(why.contains("seq 3") && why.contains("from seq 4"), "{why}");
    assert_eq!(seqs(&events(&journal, "a", 4, 100)), [4]);
}
