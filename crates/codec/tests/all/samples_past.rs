//! The golden samples of receipts and forks.

use lacuna_core::event::{Event, Rendering, SessionForked, WindowReceipted};
use lacuna_core::{Digest, SessionKey, SessionNo};

pub(crate) fn receipts() -> Vec<Event> {
    let digest = |text: &str| Digest::of(text.as_bytes());
    [
        (1, 1, None, 0, None, None),
        (251, 65_536, Some(3), 40, Some((Rendering::Openai, digest("b"))), Some(digest("b"))),
        (
            u32::MAX,
            u64::MAX,
            Some(u64::MAX),
            u32::MAX,
            Some((Rendering::Anthropic, digest("c"))),
            Some(Digest::default()),
        ),
    ]
    .into_iter()
    .map(|(receipt, window_version, turn, entries, rendered, sent_digest)| {
        let entries_digest = digest("a");
        Event::WindowReceipted(WindowReceipted {
            receipt,
            window_version,
            turn,
            entries,
            entries_digest,
            rendered,
            sent_digest,
        })
    })
    .collect()
}

pub(crate) fn forks() -> Vec<Event> {
    let longest = "x".repeat(64);
    [("t", "b", "a", 1, 1), ("acme", "run-7-again", "run-7", 251, 65_536)]
        .into_iter()
        .chain([(longest.as_str(), longest.as_str(), "_-", u64::MAX, u64::MAX)])
        .map(|(tenant, session, parent, number, at)| {
            let key = |session: &str| SessionKey {
                tenant: tenant.parse().unwrap(),
                session: session.parse().unwrap(),
            };
            Event::SessionForked(SessionForked {
                key: key(session),
                parent: key(parent),
                parent_number: SessionNo(number),
                at,
            })
        })
        .collect()
}
