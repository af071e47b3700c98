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
        EngineError::Unavailable(_) => WireError::new(Code::Unavailable, error.to_string()),
        EngineError::Store(error) => {
            tracing::error!(%error, "reading the journal failed");
            let damaged = matches!(error, StoreError::Damaged(_));
            WireError::new(Code::Unavailable, error.to_string()).with(json!({ "damaged": damaged }))
        }
    }
}
