//! The retention clock: goes on with interrupted runs when the journal is opened, then runs each tenant's
//! policy when its time has come.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, Sender, bounded};
use lacuna_core::{Tenant, Timestamp};

use super::run::RunRequest;
use crate::{EngineError, Journal};

/// The longest time between two looks at what is due.
const LOOK: Duration = Duration::from_secs(60);

/// A clock that ticks; dropping it stops it, once the step that it is at is done.
#[derive(Debug)]
pub struct RetentionClock {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl RetentionClock {
    /// Starts the clock of a journal. Each tenant's policy runs when `every` has passed since its last
    /// run began, also across restarts; zero only goes on with interrupted runs.
    pub fn start(journal: Arc<Journal>, every: Duration) -> Self {
        let (stop, stopped) = bounded(0);
        let thread = std::thread::Builder::new()
            .name("lacuna-retention".into())
            .spawn(move || {
                if let Err(error) = journal.resume_runs() {
                    tracing::warn!(%error, "an interrupted retention run cannot go on yet");
                }
                let look = LOOK.min(every / 4).max(Duration::from_millis(10));
                while !every.is_zero()
                    && stopped.recv_timeout(look) == Err(RecvTimeoutError::Timeout)
                {
                    if let Err(error) = tick(&journal, every) {
                        tracing::warn!(%error, "a retention run did not end; it is tried again");
                    }
                }
            })
            .expect("a process that opens a journal can start its threads");
        Self { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for RetentionClock {
    fn drop(&mut self) {
        // The other side sees that nobody can send any more.
        self.stop = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the retention clock panicked");
        }
    }
}

fn tick(journal: &Journal, every: Duration) -> Result<(), EngineError> {
    for tenant in journal.tenants_with_retention()? {
        if is_due(journal, &tenant, every)? {
            journal.run(&tenant, RunRequest::scheduled())?;
        }
    }
    Ok(())
}

fn is_due(journal: &Journal, tenant: &Tenant, every: Duration) -> Result<bool, EngineError> {
    let (retention, _) = journal.retention(tenant)?;
    if retention.open_run().is_some() {
        return Ok(true);
    }
    let Some((set, _)) = retention.set.as_ref().filter(|_| !retention.rules.is_empty()) else {
        return Ok(false);
    };
    let last = retention.closed_runs().last().map_or(*set, |closed| closed.run.effective_now);
    let every = u64::try_from(every.as_millis()).unwrap_or(u64::MAX);
    Ok(journal.now() >= Timestamp(last.0.saturating_add(every)))
}
