//! A run: what it looks at is fixed and recorded first; then it announces and removes, in bounded
//! steps; then it says what it did. One that was interrupted goes on where it stopped.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use lacuna_core::event::{RunEnd, RunTally};
use lacuna_core::retention::{ClosedRun, Disposition, OpenRun, RetentionState, standing};
use lacuna_core::{
    CloseRun, Command, CommandStamp, Due, Principal, Refusal, Reply, SessionKey, Tenant,
};

use super::plan::{count, look};
use super::removal::{Slice, Sliced, Target, payloads, remove};
use super::stream_of;
use crate::questions::runtime;
use crate::{EngineError, Journal, Request};
use lacuna_store::step_taken;

/// Spans that one notice names.
const NOTICED: usize = 1_000;
/// Where others write, how much longer than a transaction of a run the pause behind it is, and the
/// longest.
const PAUSES: u32 = 20;
const LONGEST_PAUSE: Duration = Duration::from_millis(60);
/// How often spans are looked at again because somebody changed something meanwhile.
const ROUNDS: usize = 64;

/// How much one run may remove before it stops and raises an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimit {
    /// So many spans always may go.
    pub spans: u64,
    /// More only up to this share of all that the journal keeps for the tenant, in millionths.
    pub share_ppm: u32,
}

impl Default for RunLimit {
    fn default() -> Self {
        Self { spans: 10_000, share_ppm: 500_000 }
    }
}

/// Who asks for a run, and how.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// Who.
    pub principal: Principal,
    /// The command's identity, if it has one.
    pub command_id: Option<CommandStamp>,
    /// The version that the client believes the tenant's retention stream to have.
    pub expected_version: Option<u64>,
    /// Whether it may remove any share.
    pub unlimited: bool,
}

impl RunRequest {
    /// A run that the clock asks for.
    pub fn scheduled() -> Self {
        Self { principal: runtime(), command_id: None, expected_version: None, unlimited: false }
    }
}

impl Journal {
    /// Runs a tenant's policy; the answer says whether this very command was carried out before. Returns
    /// once it is done and the keys of what it removed are destroyed. A run that was interrupted is
    /// brought to its end first.
    ///
    /// After an error it may have begun: the next run goes on with it.
    pub fn run(
        &self,
        tenant: &Tenant,
        request: RunRequest,
    ) -> Result<(ClosedRun, bool), EngineError> {
        let _busy = self.begin_run(tenant)?;
        self.resume(tenant)?;
        let done = self.execute(Request {
            session: stream_of(tenant),
            principal: request.principal,
            command_id: request.command_id,
            expected_version: request.expected_version,
            command: Command::OpenRun(lacuna_core::OpenRun {
                cut: self.head().seq,
                unlimited: request.unlimited,
            }),
        })?;
        let Reply::RunOpened { run, .. } = done.reply else {
            return Err(Refusal::CommandIdReused.into());
        };
        step_taken("run-opened");
        self.resume(tenant)?;
        let (retention, _) = self.retention(tenant)?;
        let closed = retention.closed_runs().iter().find(|closed| closed.run.run == run);
        let forgotten =
            || Refusal::BadRequest(format!("run r{run} ended long ago: see the history"));
        Ok((closed.ok_or_else(forgotten)?.clone(), done.again))
    }

    /// Goes on with the runs that were interrupted, of all tenants.
    pub fn resume_runs(&self) -> Result<(), EngineError> {
        for tenant in self.tenants_with_retention()? {
            let _busy = self.begin_run(&tenant)?;
            self.resume(&tenant)?;
        }
        Ok(())
    }

    /// The tenants that ever asked something of retention.
    pub fn tenants_with_retention(&self) -> Result<Vec<Tenant>, EngineError> {
        let names = self.store.tenants_with(lacuna_core::retention::STREAM)?;
        let parse = |name: String| {
            name.parse().map_err(|error| {
                lacuna_store::StoreError::Damaged(format!("a tenant's name: {error}")).into()
            })
        };
        names.into_iter().map(parse).collect()
    }

    /// Whether a run that would remove so much has to stop.
    pub fn is_over_limit(&self, tally: &RunTally, kept: u64) -> bool {
        let share = u128::from(kept) * u128::from(self.run_limit.share_ppm) / 1_000_000;
        tally.removed_spans > self.run_limit.spans && u128::from(tally.removed_spans) > share
    }

    /// Brings the run that goes on to its end, if there is one.
    fn resume(&self, tenant: &Tenant) -> Result<(), EngineError> {
        let (retention, _) = self.retention(tenant)?;
        let Some(run) = retention.open_run().cloned() else { return Ok(()) };
        let mut pass = Pass { journal: self, tenant, run, tally: RunTally::default() };
        let (end, alert) = pass.go()?;
        // What went before an interruption counts, too.
        let (spans, bytes) = self.removed_by(tenant, &pass.run)?;
        let tally = RunTally { removed_spans: spans, removed_bytes: bytes, ..pass.tally };
        self.store.destroy_keys()?;
        let close = CloseRun { run: pass.run.run, end, tally, alert };
        self.execute(pass.request(stream_of(tenant), Command::CloseRun(close)))?;
        step_taken("run-closed");
        if let Err(error) = self.store.compact_if_worth() {
            tracing::warn!(%error, "the room of what was removed was not given back");
        }
        tracing::info!(
            %tenant,
            run = pass.run.run,
            removed = tally.removed_spans,
            noticed = tally.noticed,
            deferred = tally.deferred,
            held = tally.held,
            "a retention run has ended"
        );
        Ok(())
    }
}

/// A run on its way.
struct Pass<'a> {
    journal: &'a Journal,
    tenant: &'a Tenant,
    run: OpenRun,
    tally: RunTally,
}

impl Pass<'_> {
    fn request(&self, session: SessionKey, command: Command) -> Request {
        Request {
            session,
            principal: self.run.by.clone(),
            command_id: None,
            expected_version: None,
            command,
        }
    }

    fn go(&mut self) -> Result<(RunEnd, Option<String>), EngineError> {
        let (retention, _) = self.journal.retention(self.tenant)?;
        let (mut sessions, mut targets, mut kept) = (Vec::new(), Vec::new(), 0);
        let mut planned = RunTally::default();
        let mut notices = Vec::new();
        let (cut, now, number) = (self.run.cut, self.run.effective_now, self.run.run);
        self.journal.each_session(self.tenant, |key, state| {
            let found = look(state, &retention, cut, now);
            kept += found.kept;
            let session = u32::try_from(sessions.len()).unwrap_or(u32::MAX);
            let (before, mut announced) = (targets.len(), Vec::new());
            for (due, _, what) in found.spans {
                let span = state.span(due.span);
                count(&mut planned, what, span.bytes);
                match what {
                    Disposition::Remove => {
                        targets.push(Target { seq: span.seq, bytes: span.bytes, session, due });
                    }
                    Disposition::Notice { .. } => announced.push(due),
                    // Announced by this very run, before it was interrupted.
                    Disposition::Waiting { .. } if state.noticed_by(due.span) == Some(number) => {
                        planned.noticed += 1;
                    }
                    _ => {}
                }
            }
            if !announced.is_empty() {
                notices.push((key.clone(), announced));
            }
            if targets.len() > before || notices.last().is_some_and(|(last, _)| *last == key) {
                sessions.push(key);
            }
            Ok(())
        })?;
        targets.sort_unstable();
        let (targets, shared) = self.journal.let_go(&sessions, targets)?;
        planned.deferred += shared.len() as u64;
        (planned.removed_spans, planned.removed_bytes) = payloads(&targets);
        self.tally = planned;
        for (key, due) in notices {
            self.announce(&key, &due)?;
        }
        if !self.run.unlimited && self.journal.is_over_limit(&planned, kept) {
            let alert = format!(
                "run r{number} would have removed {} of {kept} spans, more than one run may: \
                 nothing was removed. Look at the plan; if it is right, run once with unlimited",
                planned.removed_spans
            );
            return Ok((RunEnd::OverLimit, Some(alert)));
        }
        self.remove(&sessions, targets)?;
        Ok((RunEnd::Done, None))
    }

    fn announce(&self, key: &SessionKey, due: &[Due]) -> Result<(), EngineError> {
        for spans in due.chunks(NOTICED) {
            let command = Command::GiveNotice { spans: spans.to_vec() };
            self.journal.execute(self.request(key.clone(), command))?;
            step_taken("notice-given");
        }
        Ok(())
    }

    fn remove(&self, sessions: &[SessionKey], mut targets: Vec<Target>) -> Result<(), EngineError> {
        let mut rounds = 0;
        let (_, mut commands, _) = self.journal.counters.read();
        let mut at = 0;
        while at < targets.len() {
            if self.journal.closing.load(Ordering::Relaxed) {
                return Err(EngineError::Unavailable("the journal is being closed".into()));
            }
            let request = |session: u32, due: Vec<Due>| {
                self.request(sessions[session as usize].clone(), remove(due))
            };
            let begun = Instant::now();
            let (_, now, _) = self.journal.counters.read();
            let alone = now == commands;
            let slice = if alone { Slice::LARGE } else { Slice::beside(targets.len() - at) };
            commands = now;
            let sliced = self.journal.remove_slice(&targets[at..], slice, request)?;
            if !alone {
                // So few commands of others meet a transaction of the run.
                std::thread::sleep((begun.elapsed() * PAUSES).min(LONGEST_PAUSE));
            }
            match sliced {
                Sliced::Taken(taken) => {
                    step_taken("slice-removed");
                    at += taken;
                    rounds = 0;
                }
                Sliced::Changed(taken) if rounds < ROUNDS => {
                    rounds += 1;
                    let (retention, _) = self.journal.retention(self.tenant)?;
                    let end = at + taken;
                    let mut still = Vec::with_capacity(taken);
                    for target in &targets[at..end] {
                        if self.still_goes(
                            &sessions[target.session as usize],
                            target,
                            &retention,
                        )? {
                            still.push(*target);
                        }
                    }
                    let (still, _) = self.journal.let_go(sessions, still)?;
                    targets.splice(at..end, still);
                }
                Sliced::Changed(_) => return Err(EngineError::Overloaded { waiting: ROUNDS }),
            }
        }
        Ok(())
    }

    /// Whether a payload goes as things stand now.
    fn still_goes(
        &self,
        key: &SessionKey,
        target: &Target,
        retention: &RetentionState,
    ) -> Result<bool, EngineError> {
        let state = self.journal.state(key)?;
        let found = standing(&state, target.due, retention);
        Ok(matches!(found, Some((_, Disposition::Remove))))
    }
}
