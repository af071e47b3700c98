//! Receipts: what was shown to the model at one call can be shown again, byte for byte, and what was
//! sent instead is on record.

use lacuna_core::render::{entry_digest, openai, rendered_digest, text, window_digest};
use lacuna_core::{Command, Digest, Digesting, Rendering, Reply, Timestamp};
use lacuna_engine::{Journal, ReceiptRequest, Sender};

use crate::rig::{Rig, ids, key, principal};

fn receipt(journal: &Journal, asked: &ReceiptRequest) -> lacuna_core::event::WindowReceipted {
    let sender = Sender { principal: principal(), command_id: None, expected_version: None };
    let done = journal.receipt(&key("s"), sender, asked, 1 << 20).unwrap();
    let Reply::Receipted { receipt, .. } = done.reply else { panic!("{:?}", done.reply) };
    *receipt
}

fn with_spans() -> Rig {
    let rig = Rig::new();
    rig.opened("s");
    rig.append("s", &[("a", "alpha"), ("b", "beta"), ("c", "gamma")]);
    rig.prune("s", &["b"], false);
    rig
}

/// The window at a version, rendered.
fn rendered(journal: &Journal, version: u64) -> (String, String) {
    let state = journal.state_at(&key("s"), version, Timestamp(u64::MAX)).unwrap();
    let (state, shown, cut) = journal.window(&key("s"), state, 1 << 20).unwrap();
    assert!(!cut);
    let messages = serde_json::json!({ "messages": openai(&state, &shown) });
    (text(&state, &shown), messages.to_string())
}

#[test]
fn what_was_shown_is_rebuilt_byte_for_byte_after_the_session_went_on() {
    let rig = with_spans();
    let version = rig.journal.state(&key("s")).unwrap().version;
    let (as_text, as_messages) = rendered(&rig.journal, version);
    let sent = Digest::of(as_messages.as_bytes());
    let asked = ReceiptRequest {
        turn: Some(7),
        rendering: Some(Rendering::Openai),
        sent_digest: Some(sent),
        ..ReceiptRequest::default()
    };
    let first = receipt(&rig.journal, &asked);
    assert_eq!((first.receipt, first.window_version, first.entries), (1, version, 3));
    assert_eq!(first.rendered, Some((Rendering::Openai, sent)));
    assert!(!first.is_discrepant());
    // Without a form, the one that was sent is found.
    let asked = ReceiptRequest {
        sent_digest: Some(Digest::of(as_text.as_bytes())),
        window_version: Some(version),
        ..ReceiptRequest::default()
    };
    let second = receipt(&rig.journal, &asked);
    assert_eq!((second.receipt, second.rendered.unwrap().0), (2, Rendering::Text));
    assert!(!second.is_discrepant());
    rig.append("s", &[("d", "delta")]);
    rig.prune("s", &["a", "c"], false);
    rig.send("s", Command::Restore { spans: ids(&["b"]) }).unwrap();
    let rig = rig.reopened();
    let state = rig.journal.state(&key("s")).unwrap();
    assert_eq!(state.receipts()[0].turn, Some(7));
    assert_eq!(state.receipts()[0].window_version, version);
    assert_eq!(rendered(&rig.journal, version), (as_text, as_messages));
}

#[test]
fn the_digest_of_the_window_is_that_of_its_entries_in_order() {
    let rig = with_spans();
    let state = rig.journal.state(&key("s")).unwrap();
    let mut digest = Digesting::default();
    let digests: Vec<Digest> = state.entries().map(|entry| entry_digest(&state, &entry)).collect();
    digests.iter().for_each(|entry| digest.take(&entry.0));
    assert_eq!(digests[0], Digest::of(b"alpha"));
    assert_eq!(digests[2], Digest::of(b"gamma"));
    let stub = state.entries().nth(1).unwrap().text.unwrap();
    assert_eq!(digests[1], Digest::of(stub.as_bytes()));
    assert_eq!(window_digest(&state), (3, digest.finish()));
    assert_eq!(rendered_digest(&state, &[], Rendering::Entries), digest.finish());
    let plain = receipt(&rig.journal, &ReceiptRequest::default());
    assert_eq!((plain.entries_digest, plain.rendered), (digest.finish(), None));
    assert!(!plain.is_discrepant(), "nothing was said about what was sent");
}

#[test]
fn something_else_that_was_sent_is_a_discrepancy() {
    let rig = with_spans();
    for rendering in [None, Some(Rendering::Text), Some(Rendering::Entries)] {
        let sent_digest = Some(Digest::of(b"something else"));
        let asked = ReceiptRequest { rendering, sent_digest, ..ReceiptRequest::default() };
        let receipt = receipt(&rig.journal, &asked);
        assert!(receipt.is_discrepant(), "{rendering:?}");
        assert_eq!(receipt.rendered.map(|(form, _)| form), rendering);
    }
    let beyond = ReceiptRequest { window_version: Some(99), ..ReceiptRequest::default() };
    let sender = Sender { principal: principal(), command_id: None, expected_version: None };
    let error = rig.journal.receipt(&key("s"), sender, &beyond, 1).unwrap_err();
    assert!(error.to_string().contains("no window at 99"), "{error}");
}

#[test]
fn what_has_gone_since_is_not_called_a_discrepancy() {
    let rig = with_spans();
    let version = rig.journal.state(&key("s")).unwrap().version;
    let (as_text, _) = rendered(&rig.journal, version);
    let command =
        Command::Erase { spans: Some(ids(&["a"])), cut: u64::MAX, reason: "asked".into() };
    rig.journal.erase(crate::rig::request("s", None, command)).unwrap();
    let asked = |rendering, sent_digest| ReceiptRequest {
        window_version: Some(version),
        rendering,
        sent_digest,
        ..ReceiptRequest::default()
    };
    let sent = Some(Digest::of(as_text.as_bytes()));
    for rendering in [None, Some(Rendering::Text)] {
        let sender = Sender { principal: principal(), command_id: None, expected_version: None };
        let asked = asked(rendering, sent);
        let error = rig.journal.receipt(&key("s"), sender, &asked, 1 << 20).unwrap_err();
        assert!(error.to_string().contains("cannot be compared"), "{error}");
    }
    let entries = receipt(&rig.journal, &asked(Some(Rendering::Entries), None));
    assert_eq!(entries.window_version, version);
}
