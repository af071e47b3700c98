//! Retention: how long payloads live, who decides it, and what becomes of one now. (PRODUCT,
//! section 4.)
//!
//! Each tenant has a stream of its own for this, which is kept as a session of the reserved name
//! [`STREAM`]: policies, holds and runs are its events. What happens to spans stands in their own
//! sessions.

mod keep;
mod period;
mod residue;
mod rule;
mod state;

pub use keep::{
    Disposition, Until, Verdict, disposition, held, once_pruned, outcome, promise, promised,
    scheduled, standing, survey, until,
};
pub use period::{InvalidPeriod, Period};
pub use residue::{excludes, residue};
pub use rule::Facts;
pub(crate) use rule::fault;
pub use state::{ClosedRun, Hold, OpenRun, RetentionState, hold_name};

/// The name of a tenant's retention stream among its sessions: nobody opens one of this name.
pub const STREAM: &str = "_retention";
