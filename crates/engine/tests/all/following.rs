//! Following the journal: whoever asks is told behind every commit, and reads from there in order.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::rig::{Rig, key};

#[test]
fn who_follows_is_told_behind_every_commit_and_reads_in_order() {
    let rig = Rig::new();
    let told = Arc::new(AtomicU64::new(0));
    let counts = Arc::clone(&told);
    rig.journal.on_commit(move || {
        counts.fetch_add(1, Ordering::SeqCst);
    });
    // Only the first who asks is told.
    rig.journal.on_commit(|| panic!("told, too"));
    rig.opened("s");
    rig.append("s", &[("a", "alpha"), ("b", "beta")]);
    // An answer that changes nothing commits nothing.
    rig.append("s", &[("a", "alpha")]);
    assert_eq!(told.load(Ordering::SeqCst), 2);
    let first = rig.journal.events_from(1).unwrap().unwrap();
    assert_eq!((first.events.len(), first.next), (1, 2));
    let second = rig.journal.events_from(first.next).unwrap().unwrap();
    assert_eq!(second.events.iter().map(|event| event.seq).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(rig.journal.events_from(second.next).unwrap(), None);
    let number = second.events[0].session;
    assert_eq!(rig.journal.session_key(number).unwrap(), Some(key("s")));
}
