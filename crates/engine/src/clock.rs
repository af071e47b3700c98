//! Where record time comes from.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use lacuna_core::Timestamp;

/// Tells the time. The writer never lets record time go backwards, whatever this says.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The machine's clock.
pub fn system_clock() -> Clock {
    Arc::new(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    })
}
