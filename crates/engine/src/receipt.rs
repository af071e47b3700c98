//! Receipts and forks: commands that look at the session's past first.

use std::sync::Arc;

use lacuna_core::render::{Shown, rendered_digest, window_digest};
use lacuna_core::{
    Command, CommandStamp, Digest, Fork, Principal, Receipt, Refusal, Rendering, SessionKey,
    SessionState,
};

use crate::{Done, EngineError, Journal, Moment, Request};

/// What a worker tells of a call.
#[derive(Debug, Clone, Default)]
pub struct ReceiptRequest {
    /// The version whose window it sent; the last one unless given.
    pub window_version: Option<u64>,
    /// The turn.
    pub turn: Option<u64>,
    /// How it put the window before the model.
    pub rendering: Option<Rendering>,
    /// What it sent, by its own account.
    pub sent_digest: Option<Digest>,
}

/// Who sends a command that looks at the past first, and under which identity.
#[derive(Debug, Clone)]
pub struct Sender {
    /// Who.
    pub principal: Principal,
    /// The command's identity, if it has one.
    pub command_id: Option<CommandStamp>,
    /// The version that the client believes the session to have.
    pub expected_version: Option<u64>,
}

impl Journal {
    /// Records what was shown to the model at one call.
    ///
    /// Where the worker gives a digest of what it sent, the window is rendered in the form that it names,
    /// or in each if it names none, and compared. A window of more than `byte_limit` bytes is not
    /// rendered but refused.
    pub fn receipt(
        &self,
        key: &SessionKey,
        sender: Sender,
        asked: &ReceiptRequest,
        byte_limit: u64,
    ) -> Result<Done, EngineError> {
        let current = self.state(key)?;
        let state = match asked.window_version {
            Some(version) if version > current.version || version == 0 => {
                return Err(no_window(&current, version));
            }
            Some(version) if version < current.version => {
                self.state_until(key, Moment::version(version))?
            }
            _ => current,
        };
        let forms: &[Rendering] = match (asked.rendering, asked.sent_digest) {
            (Some(form), _) => &[form],
            (None, Some(_)) => Rendering::ALL,
            (None, None) => &[],
        };
        let needs_contents = forms.iter().any(|form| *form != Rendering::Entries);
        let (state, shown) = match needs_contents {
            true => self.whole_window(key, state, byte_limit)?,
            false => (state, Vec::new()),
        };
        let rendered = forms.iter().map(|form| (*form, rendered_digest(&state, &shown, *form)));
        let rendered: Vec<(Rendering, Digest)> = rendered.collect();
        let sent = |(_, digest): &&(Rendering, Digest)| Some(*digest) == asked.sent_digest;
        let rendered = match asked.rendering {
            Some(_) => rendered.first().copied(),
            None => rendered.iter().find(sent).copied(),
        };
        let (entries, entries_digest) = window_digest(&state);
        self.execute(Request {
            session: key.clone(),
            principal: sender.principal,
            command_id: sender.command_id,
            expected_version: sender.expected_version,
            command: Command::Receipt(Receipt {
                window_version: state.version,
                turn: asked.turn,
                entries,
                entries_digest,
                rendered,
                sent_digest: asked.sent_digest,
            }),
        })
    }

    /// The window with all contents that it has; a content that cannot be read now is an error.
    fn whole_window(
        &self,
        key: &SessionKey,
        state: Arc<SessionState>,
        byte_limit: u64,
    ) -> Result<(Arc<SessionState>, Vec<Shown>), EngineError> {
        let (state, shown, cut) = self.window(key, state, byte_limit)?;
        if cut {
            return Err(Refusal::TooLarge {
                what: "the rendered window, in bytes",
                given: state.spans().iter().map(|span| span.bytes).sum(),
                limit: byte_limit,
                advice: "leave rendered and sent_digest out, or name the rendering `entries`",
            }
            .into());
        }
        // What was shown then cannot be compared any more.
        let lost = shown.iter().find_map(|shown| {
            shown.lost_since.as_ref()?;
            Some(state.span(*shown.entry.spans.first()?).id.clone())
        });
        if let Some(span) = lost {
            let why = "it has gone since this window was shown, so what was sent cannot be compared with \
                       it: leave rendered and sent_digest out, or give the digest of the entries";
            return Err(Refusal::NotRecoverable { span, outcome: "lossy", why: why.into() }.into());
        }
        let unreadable = shown.iter().find_map(|shown| {
            let span = state.span(*shown.entry.spans.first()?);
            Some(Refusal::Unanswered { span: span.id.clone(), why: shown.unreadable.clone()? })
        });
        match unreadable {
            Some(refusal) => Err(refusal.into()),
            None => Ok((state, shown)),
        }
    }

    /// Begins a session as a fork of another one of the tenant, at a state of that one's past.
    ///
    /// Nothing is copied: the fork reads the parent's spans, and a payload goes for both or for none.
    pub fn fork(
        &self,
        key: &SessionKey,
        sender: Sender,
        parent: Arc<SessionState>,
    ) -> Result<Done, EngineError> {
        self.execute(Request {
            session: key.clone(),
            principal: sender.principal,
            command_id: sender.command_id,
            expected_version: sender.expected_version,
            command: Command::Fork(Fork { parent }),
        })
    }
}

fn no_window(current: &SessionState, version: u64) -> EngineError {
    Refusal::BadRequest(format!(
        "the session is at version {}: there was no window at {version}",
        current.version
    ))
    .into()
}
