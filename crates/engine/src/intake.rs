//! The way to the writer, bounded in commands and bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_channel::{Sender, TrySendError, bounded};

use crate::writer::Message;
use crate::{Callback, Done, EngineError, Request};

/// Where commands are handed in. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Intake {
    pub(crate) inbox: Sender<Message>,
    /// Bytes of the commands that wait; the writer takes off what it takes.
    pub(crate) waiting_bytes: Arc<AtomicUsize>,
    pub(crate) queue_bytes: usize,
}

impl Intake {
    /// Sends a command. An error here means that nothing happened and nothing will.
    pub(crate) fn submit(&self, request: Request, callback: Callback) -> Result<(), EngineError> {
        let size = request.size();
        let waiting = self.waiting_bytes.fetch_add(size, Ordering::Relaxed);
        let overloaded = || EngineError::Overloaded { waiting: self.inbox.len() };
        let refuse = |error| {
            self.waiting_bytes.fetch_sub(size, Ordering::Relaxed);
            Err(error)
        };
        // A single command larger than the queue still passes when nothing else waits.
        if waiting > 0 && waiting.saturating_add(size) > self.queue_bytes {
            return refuse(overloaded());
        }
        match self.inbox.try_send(Message::Command(Box::new(request), callback)) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(_)) => refuse(overloaded()),
            Err(TrySendError::Disconnected(_)) => {
                refuse(EngineError::Unavailable("the journal is closed".into()))
            }
        }
    }

    /// Sends a command and waits for its answer.
    pub(crate) fn execute(&self, request: Request) -> Result<Done, EngineError> {
        let (sender, receiver) = bounded(1);
        // The receiver may be gone only if this thread is; then nobody misses the answer.
        self.submit(request, Box::new(move |answer| drop(sender.send(answer))))?;
        receiver
            .recv()
            .unwrap_or_else(|_| Err(EngineError::Unavailable("the writer has ended".into())))
    }
}
