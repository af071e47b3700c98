//! Golden events of other journals.

use lacuna_codec::encode_event;
use lacuna_core::SessionKey;
use lacuna_core::event::{Event, Imported, Recorded, SpanRestored};

use crate::samples::{id, opened, recorded};

/// Events as they stand in a journal that has taken them over: one that opens a session, which has
/// another name here; one that does not; and one that was imported there already.
pub(crate) fn imported() -> [Recorded; 3] {
    let over = |header: usize, mut there: Recorded, name: Option<&str>| {
        let mut stored = Vec::new();
        encode_event(&mut there, &mut stored).unwrap();
        let mut here = recorded(header, there.event);
        let mut key = None;
        if let (Event::SessionOpened(opened), Some(name)) = (&mut here.event, name) {
            let tenant = "globex".parse().unwrap();
            let new = SessionKey { tenant, session: name.parse().unwrap() };
            key = Some(std::mem::replace(&mut opened.key, new));
        }
        here.imported = Some(Box::new(Imported {
            journal: "00112233445566778899aabbccddeeff".into(),
            key,
            stored: stored.into(),
            seq: there.seq,
            at: there.at,
            session: there.session,
            command: there.command,
            previous: there.previous,
            hash: there.hash,
            by: std::mem::replace(&mut here.principal, there.principal),
            passed: there.imported.map_or(0, |before| before.passed) + 1,
        }));
        here
    };
    let restored = Event::SpanRestored(SpanRestored { span: id("a") });
    let opens = over(0, recorded(1, opened().remove(1)), Some("taken-over"));
    let once = over(1, recorded(1, restored), None);
    [opens, once.clone(), over(2, once, None)]
}
