//! What a file of checkpoints is worth, note by note.

use lacuna_codec::{Checkpoint, NoteVerifier, SignedNote, Trust};
use lacuna_core::Refusal;
use lacuna_store::{Standing, StoreError};

use crate::EngineError;

/// The most notes that are looked at in one go.
const NOTES: usize = 10_000;

/// A note and what came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The key that has signed it, among those that are believed.
    pub key: Option<NoteVerifier>,
    /// What it says, if that is believed.
    pub checkpoint: Option<Checkpoint>,
    /// What came out.
    pub judgement: Judgement,
}

/// What came out of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// It is genuine, and the journal stands to it like this.
    Genuine(Standing),
    /// It bears the name of a key that is believed, and is not what that key has signed.
    BadSignature,
    /// None of the keys that are believed has signed it; these names have.
    KeyUnknown(Vec<String>),
    /// It is signed by a key that is believed, and is no checkpoint of a journal.
    NoCheckpoint(String),
}

impl Judgement {
    /// Whether the journal goes on from the checkpoint.
    pub fn is_good(&self) -> bool {
        matches!(self, Self::Genuine(Standing::Extends { .. }))
    }

    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Genuine(Standing::Extends { .. }) => "extends",
            Self::Genuine(Standing::Rewritten { .. }) => "rewritten",
            Self::Genuine(Standing::Truncated { .. }) => "truncated",
            Self::Genuine(Standing::OtherJournal) => "other_journal",
            Self::Genuine(Standing::Broken(_)) => "broken",
            Self::BadSignature => "bad_signature",
            Self::KeyUnknown(_) => "key_unknown",
            Self::NoCheckpoint(_) => "no_checkpoint",
        }
    }
}

impl Judged {
    /// What came out, in a sentence that says what it means.
    pub fn sentence(&self) -> String {
        let seq = self.checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.seq);
        match &self.judgement {
            Judgement::Genuine(Standing::Extends { events: 0 }) => {
                "the journal ends with exactly what was signed".into()
            }
            Judgement::Genuine(Standing::Extends { events }) => format!(
                "the journal goes on from what was signed: {events} more events, chained to it"
            ),
            Judgement::Genuine(Standing::Rewritten { good: Some(good) }) => format!(
                "the journal was rewritten: what stands at seq {seq} is not what was signed, and the \
                 chain was made to fit; up to seq {good} it is as another checkpoint says"
            ),
            Judgement::Genuine(Standing::Rewritten { good: None }) => format!(
                "the journal was rewritten: what stands at seq {seq} is not what was signed, and the \
                 chain was made to fit; the change is at or before that seq, and an older checkpoint \
                 would tell how far back"
            ),
            Judgement::Genuine(Standing::Truncated { ends }) => {
                format!("events are missing: the journal ends with seq {ends}, before seq {seq}")
            }
            Judgement::Genuine(Standing::OtherJournal) => format!(
                "it is a checkpoint of another journal, {}",
                self.checkpoint.as_ref().map_or("unknown", |checkpoint| &checkpoint.journal)
            ),
            Judgement::Genuine(Standing::Broken(fault)) => format!(
                "the chain of the journal does not hold at seq {}: {}",
                fault.seq.unwrap_or(0),
                fault.what
            ),
            Judgement::BadSignature => {
                "the signature is wrong: this is not what the key has signed".into()
            }
            Judgement::KeyUnknown(names) => format!(
                "none of the keys that are believed has signed it ({} has): give the verifier's key",
                names.join(", ")
            ),
            Judgement::NoCheckpoint(why) => format!("it is genuine, but no checkpoint: {why}"),
        }
    }
}

/// Judges every note of a text by these keys; `standings` tells of a journal where checkpoints stand.
pub fn judge(
    notes: &str,
    keys: &[NoteVerifier],
    standings: impl FnOnce(&[Checkpoint]) -> Result<Vec<Standing>, StoreError>,
) -> Result<Vec<Judged>, EngineError> {
    let notes = SignedNote::all(notes);
    let notes = notes.map_err(|error| Refusal::BadRequest(format!("the checkpoint: {error}")))?;
    if notes.len() > NOTES {
        let count = notes.len();
        let why = format!("{count} checkpoints are too many at once: give {NOTES} or fewer");
        return Err(Refusal::BadRequest(why).into());
    }
    // What is not signed by somebody who is believed is not even read.
    let read = |note: &SignedNote| match note.trust(keys) {
        Trust::Signed(key) => match note.text.parse::<Checkpoint>() {
            Ok(checkpoint) => (Some(key.clone()), Ok(checkpoint)),
            Err(error) => (Some(key.clone()), Err(Judgement::NoCheckpoint(error.to_string()))),
        },
        Trust::Forged(key) => (Some(key.clone()), Err(Judgement::BadSignature)),
        Trust::Unknown => {
            let names = note.signatures.iter().map(|signature| signature.name.clone());
            (None, Err(Judgement::KeyUnknown(names.collect())))
        }
    };
    let read: Vec<_> = notes.iter().map(read).collect();
    let genuine: Vec<Checkpoint> =
        read.iter().filter_map(|(_, found)| found.as_ref().ok().cloned()).collect();
    let mut standings = standings(&genuine)?.into_iter();
    let mut judged = Vec::with_capacity(read.len());
    for (key, found) in read {
        judged.push(match found {
            Err(judgement) => Judged { key, checkpoint: None, judgement },
            Ok(checkpoint) => {
                let missing = || StoreError::Damaged("a checkpoint was not looked at".into());
                let judgement = Judgement::Genuine(standings.next().ok_or_else(missing)?);
                Judged { key, checkpoint: Some(checkpoint), judgement }
            }
        });
    }
    Ok(judged)
}
