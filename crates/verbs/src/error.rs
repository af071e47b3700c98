//! Engine errors as the contract's.

use lacuna_engine::{EngineError, StoreError};
use lacuna_wire::{Code, WireError};
use serde_json::json;

pub(crate) fn wire_error(error: EngineError) -> WireError {
    match error {
        EngineError::Refused(refusal) => refusal.into(),
        EngineError::Overloaded { waiting } => {
            let message = EngineError::Overloaded { waiting }.to_string();
            WireError::new(Code::Overloaded, message).with(json!({ "waiting": waiting }))
        }
        EngineError::DiskFull { left, keep_free } => {
            let details = json!({ "free_bytes": left, "keep_free_bytes": keep_free });
            WireError::new(Code::Overloaded, error.to_string()).with(details)
        }
        EngineError::Unavailable(_) => WireError::new(Code::Unavailable, error.to_string()),
        EngineError::Store(error) => {
            tracing::error!(%error, "reading the journal failed");
            let damaged = matches!(error, StoreError::Damaged(_));
            WireError::new(Code::Unavailable, error.to_string()).with(json!({ "damaged": damaged }))
        }
    }
}
