//! Deciding: what a command becomes, and what its events make of the staged state.

use std::sync::Arc;

use lacuna_core::retention::RetentionState;
use lacuna_core::{Command, Context, Decision, SessionKey, Tenant, decide};
use lacuna_store::{Anchors, StoreError};

use super::{Staged, Writer};
use crate::batch::Author;
use crate::copies::{Copies, is_outside};
use crate::examine::Examined;
use crate::retention::stream_of;
use crate::{Done, EngineError, Request, evidence};

/// Tenants without retention that are remembered as such.
const TENANTS: usize = 10_000;

impl Writer {
    pub(super) fn decide(
        &mut self,
        key: &SessionKey,
        request: &Request,
        examined: Option<Examined>,
    ) -> Result<Result<Done, EngineError>, StoreError> {
        match self.judge(key, request, examined)? {
            Ok(decision) => self.stage(key, request, decision).map(Ok),
            Err(error) => Ok(Err(error)),
        }
    }

    /// What becomes of a command; nothing is changed yet.
    pub(super) fn judge(
        &mut self,
        key: &SessionKey,
        request: &Request,
        examined: Option<Examined>,
    ) -> Result<Result<Decision, EngineError>, StoreError> {
        let now = self.batch.tick((self.options.clock)());
        let named = request.command.needs_evidence();
        let limits = self.options.limits.clone();
        let store = Arc::clone(&self.store);
        if !self.left.is_empty() {
            self.bring_back(&stream_of(&key.tenant))?;
        }
        let retention = match self.retention(&key.tenant) {
            Ok(retention) => retention,
            Err(error) => return Ok(Err(error.into())),
        };
        // Committing may have thrown the session out of memory: it is looked up again.
        let staged = match self.staged(key) {
            Ok(staged) => staged,
            Err(error) => return Ok(Err(error.into())),
        };
        let (examined, outside) = match examined {
            Some(Examined::Summary { examination, .. }) => (Some(*examination), None),
            Some(Examined::Copies(copies)) => (None, Some(copies)),
            None => (None, None),
        };
        let mut evidence = match &staged {
            Some(Staged { state, .. }) if !named.is_empty() => {
                let here = named.iter().filter(|&id| !state.find(id).is_some_and(is_outside));
                match evidence::gather(&mut Copies::here(&store), state, here) {
                    Ok(evidence) => evidence,
                    Err(error) => return Ok(Err(error)),
                }
            }
            _ => Default::default(),
        };
        evidence.extend(outside.into_iter().flatten());
        let examination = match (&staged, &request.command, examined) {
            (Some(staged), Command::Summarize(summarize), None) => {
                match evidence::examine(&store, None, &staged.state, summarize, None) {
                    Ok(examination) => Some(examination),
                    Err(error) => return Ok(Err(error)),
                }
            }
            (_, _, examined) => examined,
        };
        let begins = staged.is_none();
        let lost_since = match &request.command {
            Command::Fork(fork) if begins => match self.lost_since(&fork.parent) {
                Ok(lost) => lost,
                Err(error) => return Ok(Err(error.into())),
            },
            _ => Vec::new(),
        };
        let context = Context {
            now,
            next_seq: self.batch.next_seq(),
            session: key.clone(),
            principal: request.principal.clone(),
            command: request.command_id.clone(),
            expected_version: request.expected_version,
            limits,
            evidence,
            examination,
            lost_since,
            retention,
        };
        let staged = match self.staged(key) {
            Ok(staged) => staged,
            Err(error) => return Ok(Err(error.into())),
        };
        let state = staged.as_ref().map(|staged| &staged.state);
        let decision = decide(state, &request.command, &context);
        // Only now: what was done already is answered as it was, on a full disk as well.
        if decision.as_ref().is_ok_and(|decision| !decision.events.is_empty())
            && let Some(full) = self.intake.no_room(&request.command)
        {
            return Ok(Err(full));
        }
        Ok(decision.map_err(Into::into))
    }

    /// Takes a decision's events into the batch and folds them into the staged state.
    pub(super) fn stage(
        &mut self,
        key: &SessionKey,
        request: &Request,
        decision: Decision,
    ) -> Result<Done, StoreError> {
        let first_seq = self.batch.next_seq();
        if !decision.events.is_empty() {
            let new = decision.events.len();
            let adopted = match &request.command {
                Command::Adopt { journal, events, .. } => {
                    Some((journal.as_str(), &events[events.len().saturating_sub(new)..]))
                }
                _ => None,
            };
            let command = request.command_id.as_ref();
            let author = Author { principal: &request.principal, command, adopted };
            match self.sessions.get_mut(key) {
                Some(staged) => {
                    let before = staged.state.spans().len();
                    if !self.batch.touches(staged.state.number) {
                        staged.blocks += 1;
                    }
                    self.batch.stage(&mut staged.state, &author, decision.events)?;
                    let grown = staged.state.spans().len() - before;
                    // The staged state is what this batch will make true: its snapshot goes along with it.
                    if staged.anchors.is_due(&staged.state) {
                        self.snapshots.push(staged.snapshot()?);
                    }
                    self.sessions.grown(grown);
                }
                None => {
                    let parent = match &request.command {
                        Command::Fork(fork) => Some(fork.parent.as_ref()),
                        _ => None,
                    };
                    if let Some(state) = self.batch.open(key, &author, decision.events, parent)? {
                        let anchors = Anchors::begun(parent.map_or(0, |parent| parent.version));
                        self.sessions.insert(key.clone(), Staged::new(state, anchors));
                        self.without_retention.remove(&key.tenant);
                    }
                }
            }
            self.batch.file_payloads(&request.command, &decision.reply, first_seq)?;
            for full in self.batch.full() {
                self.committing.seal(full)?;
            }
        }
        Ok(Done { reply: decision.reply, again: false })
    }

    /// The tenant's retention as staged; none if nothing was ever asked of it.
    fn retention(&mut self, tenant: &Tenant) -> Result<Option<Arc<RetentionState>>, StoreError> {
        if self.without_retention.contains(tenant) {
            return Ok(None);
        }
        if let Some(staged) = self.staged(&stream_of(tenant))? {
            return Ok(staged.state.retention().cloned());
        }
        if self.without_retention.len() >= TENANTS {
            self.without_retention.clear();
        }
        self.without_retention.insert(tenant.clone());
        Ok(None)
    }
}
