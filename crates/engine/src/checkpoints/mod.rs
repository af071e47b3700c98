//! Signed checkpoints: where the journal ends, said so that it cannot be unsaid; and what became of the
//! journal since one.

mod clock;
mod judge;
mod notary;

pub use clock::CheckpointClock;
pub use judge::{Judged, Judgement, judge};
pub(crate) use notary::Notary;

use lacuna_codec::{Checkpoint, NoteVerifier};

use crate::{EngineError, Journal};

/// A checkpoint, signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// What it says.
    pub checkpoint: Checkpoint,
    /// The signed note.
    pub note: String,
    /// The public key to verify it with.
    pub key: NoteVerifier,
}

/// Gets every checkpoint that is signed, on the thread that signs it: it must not block.
pub type Listener = Box<dyn Fn(&Signed) + Send + Sync>;

impl Journal {
    /// Signs where the journal ends, as committed, and keeps the note beside the journal. The key is made
    /// when it is first needed.
    pub fn checkpoint(&self) -> Result<Signed, EngineError> {
        let head = self.head();
        // Whoever copies the database's file without the log must find in it all that was signed.
        self.store.flush()?;
        let signed = self.notary.sign(head, (self.clock)())?;
        if let Some(listener) = &*self.listener.lock() {
            listener(&signed);
        }
        Ok(signed)
    }

    /// The same, unless the last checkpoint that is kept says it already, or there is nothing to sign.
    pub fn checkpoint_if_moved(&self) -> Result<Option<Signed>, EngineError> {
        let head = self.head();
        if head.seq == 0 || self.notary.last()?.is_some_and(|last| last.head == head.block) {
            return Ok(None);
        }
        self.checkpoint().map(Some)
    }

    /// Calls this with every checkpoint from now on.
    pub fn on_checkpoint(&self, listener: Listener) {
        *self.listener.lock() = Some(listener);
    }

    /// The public keys of this journal: that which signs now, if there is one yet, and in front of it those
    /// that did before.
    pub fn verifiers(&self) -> Result<Vec<NoteVerifier>, EngineError> {
        Ok(self.notary.verifiers()?)
    }

    /// What became of the journal since the checkpoints in this text of signed notes. Only these keys are
    /// believed; the journal's own if there are none.
    pub fn judge(&self, notes: &str, keys: &[NoteVerifier]) -> Result<Vec<Judged>, EngineError> {
        let own = if keys.is_empty() { self.verifiers()? } else { Vec::new() };
        let keys = if keys.is_empty() { &own } else { keys };
        judge(notes, keys, |checkpoints| self.store.standings(checkpoints))
    }
}
