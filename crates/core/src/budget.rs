//! The window's budget.

use crate::SessionState;

/// How full the window is, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// The size of the model's window.
    pub window_tokens: u64,
    /// The part kept for re-reading primary spans.
    pub reserve_tokens: u64,
    /// What the live window takes.
    pub used_tokens: u64,
    /// What may still be added without eating into the reserve.
    pub free_tokens: u64,
    /// Whether more is used than the window less its reserve.
    pub over: bool,
}

impl Budget {
    /// The budget of a session, should its window take this many tokens.
    pub fn at(state: &SessionState, used_tokens: u64) -> Self {
        let window_tokens = state.window_tokens;
        let reserve =
            u128::from(window_tokens) * u128::from(state.reserve_ppm) / u128::from(1_000_000_u32);
        let reserve_tokens = u64::try_from(reserve).unwrap_or(window_tokens).min(window_tokens);
        let usable = window_tokens - reserve_tokens;
        Self {
            window_tokens,
            reserve_tokens,
            used_tokens,
            free_tokens: usable.saturating_sub(used_tokens),
            over: used_tokens > usable,
        }
    }
}
