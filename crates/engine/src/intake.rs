//! The way to the writer, bounded in commands and bytes. Whoever sends wakes the writer only when it has
//! reason to run: waking costs more than deciding.

use std::collections::VecDeque;
use std::sync::Arc;

use lacuna_core::Command;
use lacuna_store::StoreError;
use parking_lot::{Condvar, Mutex};

use crate::room::Room;
use crate::writer::Message;
use crate::{Callback, Done, EngineError, Request};

/// Messages, or bytes of commands, that are worth waking the writer for while it waits for the disk.
const WORTH_WAKING: usize = 64;
const WORTH_WAKING_BYTES: usize = 64 << 10;

/// Where commands are handed in. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Intake(Arc<Shared>);

struct Shared {
    room: Arc<Room>,
    state: Mutex<Waiting>,
    reason: Condvar,
    queue_commands: usize,
    queue_bytes: usize,
}

#[derive(Default)]
struct Waiting {
    messages: Vec<Message>,
    /// Messages that the writer has not begun with, those that it has taken off the list among them; and the
    /// bytes of their commands and of those that wait beside the writer for something to be read.
    count: usize,
    bytes: usize,
    /// Batches that are done, and with what.
    landed: Vec<Result<(), StoreError>>,
    /// What the writer waits for, if it does.
    awaited: Option<Awaited>,
    /// The writer has ended.
    ended: bool,
}

/// What is a reason for the writer to run, beside a batch that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// Any message.
    Message,
    /// Many of them: something is on its way.
    Many,
    /// Nothing else.
    Landing,
}

impl Waiting {
    fn has_reason(&self) -> bool {
        let messages = self.messages.len();
        let many = messages >= WORTH_WAKING || self.bytes >= WORTH_WAKING_BYTES;
        !self.landed.is_empty()
            || match self.awaited {
                Some(Awaited::Message) => messages > 0,
                Some(Awaited::Many) => messages > 0 && many,
                Some(Awaited::Landing) | None => false,
            }
    }
}

impl Intake {
    pub(crate) fn new(room: Arc<Room>, queue_commands: usize, queue_bytes: usize) -> Self {
        let (state, reason) = Default::default();
        Self(Arc::new(Shared { room, state, reason, queue_commands, queue_bytes }))
    }

    /// Sends a command. An error here means that nothing happened and nothing will; the callback comes
    /// back with it.
    pub(crate) fn submit(
        &self,
        request: Request,
        callback: Callback,
    ) -> Result<(), (EngineError, Callback)> {
        let size = request.size();
        let mut state = self.0.state.lock();
        if state.ended {
            return Err((closed(), callback));
        }
        // A single command larger than the queue still passes when nothing else waits.
        let heavy = state.bytes > 0 && state.bytes.saturating_add(size) > self.0.queue_bytes;
        if heavy || state.count >= self.0.queue_commands {
            return Err((EngineError::Overloaded { waiting: state.count }, callback));
        }
        state.bytes += size;
        self.push(&mut state, Message::Command(Box::new(request), callback));
        Ok(())
    }

    /// Why nothing may come of this command now, if it would bring contents to a disk that is nearly full.
    pub(crate) fn no_room(&self, command: &Command) -> Option<EngineError> {
        self.0.room.refusal(command)
    }

    /// Sends a command and waits for its answer.
    pub(crate) fn execute(&self, request: Request) -> Result<Done, EngineError> {
        let (sender, receiver) = crossbeam_channel::bounded(1);
        // The receiver may be gone only if this thread is; then nobody misses the answer.
        let callback = Box::new(move |answer| drop(sender.send(answer)));
        self.submit(request, callback).map_err(|(error, _)| error)?;
        receiver
            .recv()
            .unwrap_or_else(|_| Err(EngineError::Unavailable("the writer has ended".into())))
    }

    /// Sends what is bounded elsewhere; gives it back if the writer has ended.
    pub(crate) fn send(&self, message: Message) -> Result<(), Message> {
        let mut state = self.0.state.lock();
        if state.ended {
            return Err(message);
        }
        self.push(&mut state, message);
        Ok(())
    }

    fn push(&self, state: &mut Waiting, message: Message) {
        state.count += 1;
        state.messages.push(message);
        if state.awaited.is_some() && state.has_reason() {
            // Woken once: it takes all that is there then.
            state.awaited = None;
            self.0.reason.notify_one();
        }
    }

    /// How many messages wait for the writer.
    pub(crate) fn waiting(&self) -> usize {
        self.0.state.lock().count
    }

    /// Tells the writer that a batch is done.
    pub(crate) fn landed(&self, done: Result<(), StoreError>) {
        self.0.room.look();
        self.0.state.lock().landed.push(done);
        self.0.reason.notify_one();
    }
}

/// The writer's side.
impl Intake {
    /// Waits until there is a reason to run. Takes all messages, unless only batches that are done are
    /// waited for, and word of those.
    pub(crate) fn wait(
        &self,
        awaited: Awaited,
        messages: &mut VecDeque<Message>,
    ) -> Vec<Result<(), StoreError>> {
        let mut state = self.0.state.lock();
        state.awaited = Some(awaited);
        while !state.has_reason() && state.awaited.is_some() {
            self.0.reason.wait(&mut state);
        }
        state.awaited = None;
        if awaited != Awaited::Landing {
            messages.extend(state.messages.drain(..));
        }
        std::mem::take(&mut state.landed)
    }

    /// Takes note that the writer begins with a message of this many bytes.
    pub(crate) fn begun(&self, bytes: usize) {
        let mut state = self.0.state.lock();
        state.count -= 1;
        state.bytes = state.bytes.saturating_sub(bytes);
    }

    /// Takes note that a command waits again, of this many bytes.
    pub(crate) fn waits_again(&self, bytes: usize) {
        self.0.state.lock().bytes += bytes;
    }

    /// Ends it: nothing more is taken. Gives what is left.
    pub(crate) fn end(&self) -> Vec<Message> {
        let mut state = self.0.state.lock();
        state.ended = true;
        std::mem::take(&mut state.messages)
    }
}

/// What is sent after the end is answered.
pub(crate) fn closed() -> EngineError {
    EngineError::Unavailable("the journal is closed".into())
}
