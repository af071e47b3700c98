//! The gate: a prune is reversible if and only if the runtime itself has just established that the
//! copy exists, that the window will hold a handle to it, and that looking it up cannot be
//! confused with "never existed". (PRODUCT, section 2; the first seed document's condition.)
//!
//! What the model says of the span is no input here.

use crate::event::Check;
use crate::state::SpanState;
use crate::{Address, CopyEvidence, SessionState, Storage};

/// What the gate makes of one span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// All three conditions hold.
    Reversible,
    /// One fails, and the directive consented to loss.
    Lossy,
    /// One fails, and it did not.
    Rejected,
}

/// Decides one span. `accept_lossy` is the directive's literal `true`.
pub fn gate(check: &Check, accept_lossy: bool) -> Gate {
    match (check.holds(), accept_lossy) {
        (true, _) => Gate::Reversible,
        (false, true) => Gate::Lossy,
        (false, false) => Gate::Rejected,
    }
}

/// Establishes the three conditions for one span from what reading its copy back has shown.
pub fn check(state: &SessionState, span: &SpanState, evidence: Option<&CopyEvidence>) -> Check {
    let unread = || Err("its copy was not read back".to_owned());
    let stored = || match span.storage {
        // Whatever was read, it was not this span's copy.
        Storage::Withheld { .. } => Err("its content was withheld, never stored".to_owned()),
        Storage::Journal | Storage::External { .. } => Ok(()),
    };
    let existence = evidence.map_or_else(unread, |e| e.existence.clone()).and_then(|()| stored());
    let provenance = evidence.map_or_else(unread, |e| e.provenance.clone());
    let addressability = resolves(state, span);
    let failures = [&existence, &addressability, &provenance];
    let why: Vec<&str> =
        failures.into_iter().filter_map(|r| r.as_ref().err().map(String::as_str)).collect();
    Check {
        existence: existence.is_ok(),
        addressability: addressability.is_ok(),
        provenance: provenance.is_ok(),
        why: (!why.is_empty()).then(|| why.join("; ")),
    }
}

/// Whether the handle that the stub will print leads back to this very span: printed, parsed and
/// looked up as a reader would.
fn resolves(state: &SessionState, span: &SpanState) -> Result<(), String> {
    let printed = span.handle().to_string();
    match printed.parse() {
        Ok(Address::Handle(handle)) => match state.find(&handle.span) {
            Some(found) if found.seq == span.seq && found.digest.prefix() == handle.prefix => {
                Ok(())
            }
            _ => Err(format!("its handle {printed} resolves to something else")),
        },
        _ => Err(format!("its handle {printed} cannot be read back")),
    }
}
