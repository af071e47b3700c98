//! The clock of checkpoints: signs where the journal ends now and then, if it has gone on.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, Sender, bounded};

use crate::Journal;

/// A clock that ticks; dropping it stops it.
#[derive(Debug)]
pub struct CheckpointClock {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl CheckpointClock {
    /// Starts the clock of a journal: what it finds is signed at once, then every so often. Zero signs
    /// nothing by itself.
    pub fn start(journal: Arc<Journal>, every: Duration) -> Self {
        let (stop, stopped) = bounded(0);
        let thread = std::thread::Builder::new()
            .name("lacuna-checkpoint".into())
            .spawn(move || {
                while !every.is_zero() {
                    if let Err(error) = journal.checkpoint_if_moved() {
                        tracing::warn!(%error, "no checkpoint was signed; it is tried again");
                    }
                    if stopped.recv_timeout(every) != Err(RecvTimeoutError::Timeout) {
                        break;
                    }
                }
            })
            .expect("a process that opens a journal can start its threads");
        Self { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for CheckpointClock {
    fn drop(&mut self) {
        // The other side sees that nobody can send any more.
        self.stop = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the clock of checkpoints panicked");
        }
    }
}
