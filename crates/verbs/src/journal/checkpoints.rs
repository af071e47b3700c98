//! Checkpoints: signing one, and judging the journal, or a copy of its file, by those that were kept.

use std::path::Path;

use lacuna_engine::{Judged, Judgement, NoteVerifier, Standing, read_copy};
use lacuna_wire::WireError;
use lacuna_wire::journal::{
    CheckedBody, CheckpointBody, CheckpointReply, FaultBody, VerifyReply, VerifyRequest,
};

use crate::error::wire_error;
use crate::fit::encode;
use crate::work::Inner;

pub(super) fn sign(inner: &Inner) -> Result<Vec<u8>, WireError> {
    let signed = inner.journal.checkpoint().map_err(wire_error)?;
    encode(&CheckpointReply {
        note: signed.note,
        journal: signed.checkpoint.journal,
        seq: signed.checkpoint.seq,
        head: signed.checkpoint.head.to_string(),
        at: signed.checkpoint.at.to_string(),
        key: signed.key.to_string(),
    })
}

pub(super) fn judge(
    inner: &Inner,
    request: &VerifyRequest,
) -> Result<Vec<CheckpointBody>, WireError> {
    let keys = keys(&request.keys)?;
    let Some(notes) = &request.checkpoint else {
        if !keys.is_empty() {
            return Err(WireError::bad_request("keys verify checkpoints: give one, too"));
        }
        return Ok(Vec::new());
    };
    let judged = inner.journal.judge(notes, &keys).map_err(wire_error)?;
    Ok(judged.iter().map(|one| body(one, !keys.is_empty())).collect())
}

fn keys(keys: &[String]) -> Result<Vec<NoteVerifier>, WireError> {
    // What is wrong with a key is said without showing it: it may be a secret one.
    let read = |(place, key): (u64, &String)| {
        key.parse().map_err(|error| WireError::bad_request(format!("key {place}: {error}")))
    };
    (1..).zip(keys).map(read).collect()
}

fn body(judged: &Judged, key_given: bool) -> CheckpointBody {
    let checkpoint = judged.checkpoint.as_ref();
    let (mut events_since, mut unchanged_to, mut ends) = (None, None, None);
    match &judged.judgement {
        Judgement::Genuine(Standing::Extends { events }) => events_since = Some(*events),
        Judgement::Genuine(Standing::Rewritten { good }) => unchanged_to = *good,
        Judgement::Genuine(Standing::Truncated { ends: last }) => ends = Some(*last),
        _ => {}
    }
    CheckpointBody {
        verdict: judged.judgement.word().to_owned(),
        message: judged.sentence(),
        seq: checkpoint.map(|checkpoint| checkpoint.seq),
        head: checkpoint.map(|checkpoint| checkpoint.head.to_string()),
        at: checkpoint.map(|checkpoint| checkpoint.at.to_string()),
        key: judged.key.as_ref().map(ToString::to_string),
        key_given,
        events_since,
        unchanged_to,
        ends,
    }
}

/// Judges a copy of a journal's file by checkpoints, with nothing else at hand: neither the journal's keys
/// nor a daemon. It reads the chain of blocks; contents it cannot read, and says nothing about them.
pub fn verify_copy(
    file: &Path,
    notes: &str,
    believed: &[String],
) -> Result<VerifyReply, WireError> {
    let believed = keys(believed)?;
    let mut chain = None;
    let judged = lacuna_engine::judge(notes, &believed, |checkpoints| {
        let report = read_copy(file, checkpoints)?;
        let standings = report.standings.clone();
        chain = Some(report);
        Ok(standings)
    });
    let judged = judged.map_err(wire_error)?;
    let checkpoints: Vec<_> = judged.iter().map(|one| body(one, true)).collect();
    let fault = chain.as_ref().and_then(|chain| chain.fault.clone());
    let faults: Vec<_> =
        fault.map(|f| FaultBody { seq: f.seq, what: f.what }).into_iter().collect();
    Ok(VerifyReply {
        ok: faults.is_empty() && judged.iter().all(|one| one.judgement.is_good()),
        checked: CheckedBody {
            blocks: chain.as_ref().map_or(0, |chain| chain.blocks),
            events: chain.as_ref().map_or(0, |chain| chain.seq),
            ..CheckedBody::default()
        },
        faults,
        checkpoints,
    })
}
