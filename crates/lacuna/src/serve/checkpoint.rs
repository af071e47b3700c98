//! Checkpoints on the feed, and the last one of a daemon.

use lacuna_engine::{Journal, Signed};
use lacuna_nats::{Announcement, Announcer};
use lacuna_wire::checkpoint_subject;
use lacuna_wire::journal::CheckpointSigned;

/// Has a checkpoint said on the feed.
pub(super) fn announce(announcer: &Announcer, signed: &Signed) {
    let checkpoint = &signed.checkpoint;
    let body = CheckpointSigned {
        journal: checkpoint.journal.clone(),
        seq: checkpoint.seq,
        kind: CheckpointSigned::KIND.to_owned(),
        at: checkpoint.at.to_string(),
        head: checkpoint.head.to_string(),
        note: signed.note.clone(),
    };
    announcer.announce(Announcement {
        seq: checkpoint.seq,
        about: "checkpoint",
        subject: checkpoint_subject(&checkpoint.journal),
        body: serde_json::json!(body).to_string().into(),
    });
}

/// Signs what the daemon leaves behind.
pub(super) fn last(journal: &Journal) {
    match journal.checkpoint_if_moved() {
        Ok(Some(signed)) => tracing::info!(seq = signed.checkpoint.seq, "a checkpoint was signed"),
        Ok(None) => {}
        Err(error) => tracing::error!(%error, "the end of the journal was not signed"),
    }
}
