//! Event numbers. A number is given once and never reused; a change of a body's shape is a new
//! version with a type of its own, a change of meaning is a new number. The same table stands in
//! `schemas/events.md`, and a test compares the two.

/// A kind of event as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// The number in the header.
    pub number: u16,
    /// The newest version of its body.
    pub version: u16,
    /// The name on the wire.
    pub name: &'static str,
}

macro_rules! kinds {
    ($($name:ident = $number:literal, $version:literal, $word:literal;)+) => {
        $(pub(crate) const $name: Kind =
            Kind { number: $number, version: $version, name: $word };)+
        /// Every kind that this release writes.
        pub const KINDS: &[Kind] = &[$($name),+];
    };
}

kinds! {
    SESSION_OPENED = 1, 1, "session-opened";
    SPAN_RECORDED = 2, 1, "span-recorded";
    SUMMARY_RECORDED = 3, 2, "summary-recorded";
    PRUNE_EXECUTED = 4, 1, "prune-executed";
    PRUNE_REJECTED = 5, 1, "prune-rejected";
    LOSSY_COMMITTED = 6, 2, "lossy-committed";
    SPAN_RESTORED = 7, 1, "span-restored";
    SPAN_READ = 8, 1, "span-read";
    CONTRADICTION_NOTED = 9, 1, "contradiction-noted";
    CONTRADICTION_RESOLVED = 10, 1, "contradiction-resolved";
    SESSION_CLOSED = 11, 1, "session-closed";
    SUMMARY_AUDITED = 12, 1, "summary-audited";
    ALERT_RAISED = 13, 1, "alert-raised";
    POLICY_SET = 14, 1, "policy-set";
    HOLD_PLACED = 15, 1, "hold-placed";
    HOLD_RELEASED = 16, 1, "hold-released";
    NOTICE_GIVEN = 17, 1, "notice-given";
    RUN_OPENED = 18, 1, "run-opened";
    RUN_CLOSED = 19, 1, "run-closed";
    WINDOW_RECEIPTED = 20, 1, "window-receipted";
    SESSION_FORKED = 21, 1, "session-forked";
    EVENT_IMPORTED = 22, 1, "event-imported";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_unique() {
        for (i, a) in KINDS.iter().enumerate() {
            for b in &KINDS[i + 1..] {
                assert!(a.number != b.number && a.name != b.name, "{a:?} and {b:?}");
            }
        }
    }
}
