//! Retention: what the policy says now, what a run would do, and doing it.

mod clock;
mod erase;
mod ledger;
mod plan;
pub(crate) mod removal;
mod run;
mod shared;

use std::sync::Arc;
use std::time::{Duration, Instant};

use lacuna_core::retention::{RetentionState, STREAM};
use lacuna_core::{SessionKey, Tenant};

pub use clock::RetentionClock;
pub use erase::Erased;
pub use ledger::Loss;
pub use plan::{Plan, PlannedSession, PlannedSpan};
pub use run::{RunLimit, RunRequest};

use crate::{EngineError, Journal};

/// The session in which a tenant's retention is kept.
pub(crate) fn stream_of(tenant: &Tenant) -> SessionKey {
    let session = STREAM.parse().expect("the reserved name is a valid one");
    SessionKey { tenant: tenant.clone(), session }
}

/// How long a run waits for the end of another one of the same tenant.
const PATIENCE: Duration = Duration::from_secs(3);

/// That a tenant's run goes on here; ends with it.
pub(crate) struct Busy<'a> {
    journal: &'a Journal,
    tenant: Tenant,
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.journal.running.lock().remove(&self.tenant);
    }
}

impl Journal {
    /// Marks a tenant's run as going on. One at a time: else two would go on with the same.
    pub(crate) fn begin_run(&self, tenant: &Tenant) -> Result<Busy<'_>, EngineError> {
        let begun = Instant::now();
        while !self.running.lock().insert(tenant.clone()) {
            if begun.elapsed() > PATIENCE {
                let why = "another retention run of this tenant goes on".to_owned();
                return Err(EngineError::Unavailable(why));
            }
            std::thread::sleep(PATIENCE / 100);
        }
        Ok(Busy { journal: self, tenant: tenant.clone() })
    }

    /// A tenant's retention as of the last commit, and the version of its stream; the empty one and 0
    /// where nothing was ever asked of it.
    pub fn retention(&self, tenant: &Tenant) -> Result<(Arc<RetentionState>, u64), EngineError> {
        let Some(state) = self.reader.state(&stream_of(tenant))? else {
            return Ok((Arc::default(), 0));
        };
        let version = state.version;
        Ok((state.retention().cloned().unwrap_or_default(), version))
    }
}
