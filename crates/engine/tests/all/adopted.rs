//! Events that are brought from another journal: well chained, and yet such as no session comes to.

use std::sync::Arc;

use lacuna_codec::encode_event;
use lacuna_core::event::{Event, SpanRestored, WindowReceipted};
use lacuna_core::{Digest, Recorded, SessionNo, Timestamp};
use lacuna_engine::{Carried, VerifyOptions};

use crate::rig::{Rig, key, principal};

/// Puts events behind a session's own ones, chained as another journal would have them.
fn carried(rig: &Rig, more: Vec<Event>) -> Vec<Carried> {
    let own = rig.journal.history(&key("s"), 1, 100).unwrap();
    let (mut previous, mut carried) = (Digest::default(), Vec::new());
    let events = own.iter().map(|recorded| (recorded.event.clone(), recorded.seq));
    for (version, (event, seq)) in
        (1..).zip(events.chain(more.into_iter().map(|event| (event, 0))).collect::<Vec<_>>())
    {
        let mut recorded = Recorded {
            seq: version,
            version,
            at: Timestamp(1_000),
            session: SessionNo(1),
            principal: principal(),
            command: None,
            previous,
            hash: Digest::default(),
            event,
            imported: None,
        };
        let mut stored = Vec::new();
        encode_event(&mut recorded, &mut stored).unwrap();
        previous = recorded.hash;
        let content = match &recorded.event {
            Event::SpanRecorded(e) if e.span.as_str() == "a" => Some(Arc::from(&b"alpha"[..])),
            Event::SpanRecorded(_) => Some(Arc::from(&b"beta"[..])),
            _ => None,
        };
        assert!(seq > 0 || version > own.len() as u64);
        carried.push(Carried { stored: stored.into(), payload: content, gone: false });
    }
    carried
}

#[test]
fn an_import_is_no_way_to_what_decisions_do_not_make() {
    let rig = Rig::new();
    rig.opened("s");
    rig.append("s", &[("a", "alpha"), ("b", "beta")]);
    rig.prune("s", &["a"], false);
    let own = rig.journal.history(&key("s"), 1, 100).unwrap();
    let again = |version: usize| own[version - 1].event.clone();
    let receipt = Event::WindowReceipted(WindowReceipted {
        receipt: 7,
        window_version: 1,
        turn: None,
        entries: 0,
        entries_digest: Digest::default(),
        rendered: None,
        sent_digest: None,
    });
    let restored = |id: &str| Event::SpanRestored(SpanRestored { span: id.parse().unwrap() });
    let bad = [
        ("a span twice", again(2)),
        ("a directive twice", again(4)),
        ("what stands restored", restored("b")),
        ("a stranger restored", restored("z")),
        ("a receipt out of order", receipt),
    ];
    let journal = "0".repeat(32);
    for (place, (what, event)) in bad.into_iter().enumerate() {
        let name = key(&format!("copy{place}"));
        let events = carried(&rig, vec![event]);
        let error = rig.journal.adopt(&name, &principal(), None, &journal, events).unwrap_err();
        assert!(error.to_string().contains("no session could have come to it"), "{what}: {error}");
        assert!(rig.journal.state(&name).is_err(), "{what}: nothing was taken over");
    }
    // The control: the same without them, and with one that could have come.
    let events = carried(&rig, vec![restored("a")]);
    let (version, new) =
        rig.journal.adopt(&key("copy"), &principal(), None, &journal, events).unwrap();
    assert_eq!((version, new), (5, 5));
    let report = rig.journal.verify(&VerifyOptions::default(), |_| {}).unwrap();
    assert_eq!(report.faults, vec![]);
}
