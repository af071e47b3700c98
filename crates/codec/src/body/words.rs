//! Numbers of the words in event bodies. Given once, never reused.

use lacuna_core::event::{LiveHandles, RunEnd, Since};
use lacuna_core::{
    Alert, ClaimOrigin, Contract, FindingCode, Origin, PruneMode, Purpose, RejectReason, Rendering,
    Role, SpanKind, SummaryStatus, TokensFrom,
};

use crate::CodecError;

/// A word that is stored as a number.
pub(super) trait Numbered: Sized + Copy + PartialEq + 'static {
    const NAME: &'static str;
    const NUMBERS: &'static [(u8, Self)];

    fn number(self) -> u8 {
        let found = Self::NUMBERS.iter().find(|(_, value)| *value == self);
        found.expect("a test sees to it that every value has a number").0
    }

    fn from_number(number: u8) -> Result<Self, CodecError> {
        let found = Self::NUMBERS.iter().find(|(n, _)| *n == number);
        found
            .map(|(_, value)| *value)
            .ok_or_else(|| CodecError::damaged(Self::NAME, format!("unknown number {number}")))
    }
}

macro_rules! numbered {
    ($type:ident, $name:literal, { $($number:literal = $variant:ident),+ $(,)? }) => {
        impl Numbered for $type {
            const NAME: &'static str = $name;
            const NUMBERS: &'static [(u8, Self)] = &[$(($number, $type::$variant)),+];
        }
    };
}

numbered!(Role, "role", { 1 = System, 2 = Developer, 3 = User, 4 = Assistant, 5 = Tool });
numbered!(Origin, "origin", {
    1 = User, 2 = Tool, 3 = Model, 4 = Harness, 5 = System, 6 = Summary,
});
numbered!(SpanKind, "span kind", {
    1 = Message, 2 = ToolCall, 3 = ToolResult, 4 = Thinking, 5 = File, 6 = Note, 7 = Constraint,
    8 = Summary,
});
numbered!(TokensFrom, "tokens_from", { 1 = Declared, 2 = Counted, 3 = Estimated });
numbered!(Contract, "contract", { 1 = Enforce, 2 = Record });
numbered!(ClaimOrigin, "claim origin", {
    1 = UserSaid, 2 = ToolOutput, 3 = Inferred, 4 = Hedged,
});
numbered!(PruneMode, "prune mode", { 1 = Drop, 2 = Summarize, 3 = Compress });
numbered!(Purpose, "purpose", { 1 = Expand, 2 = Audit, 3 = Reground });
numbered!(RejectReason, "reject reason", {
    1 = NotReversible, 2 = NotInWindow, 3 = UnknownSpan, 4 = AlreadyPruned, 5 = Pinned,
    6 = WouldOrphan, 7 = ContradictionProtected, 8 = DisconfirmingRemoved,
    9 = DurabilityTooShort, 10 = EmptyDirective, 11 = UnknownReplacement,
    12 = SummaryNotAccepted, 13 = SummaryNotAudited,
});
numbered!(SummaryStatus, "summary status", { 1 = Accepted, 2 = NeedsAudit, 3 = Rejected });
numbered!(FindingCode, "finding code", {
    1 = UnsourcedClaim, 2 = UnknownSource, 3 = SourceNotPrimary, 4 = SourceUnrecoverable,
    5 = OriginUpgraded, 6 = HedgeDropped, 7 = AnchorNotInSource, 8 = DisconfirmingRemoved,
    9 = SelfAudited, 10 = AuditorWithoutEvidence, 11 = AuthorWithoutEvidence,
    12 = ReserveBreached, 13 = SummaryGrew, 14 = EmptySummary,
});
numbered!(Alert, "alert", { 1 = SummariesRefused, 2 = RunOverLimit });
numbered!(Since, "since", { 1 = Recorded, 2 = Pruned, 3 = Closed });
numbered!(LiveHandles, "live handles", { 1 = Defer, 2 = Commit });
numbered!(RunEnd, "run end", { 1 = Done, 2 = OverLimit });
numbered!(Rendering, "rendering", { 1 = Entries, 2 = Text, 3 = Openai, 4 = Anthropic });

#[cfg(test)]
mod tests {
    use super::*;

    fn complete<T: Numbered + std::fmt::Debug>(all: &[T]) {
        for value in all {
            assert_eq!(T::from_number(value.number()), Ok(*value));
        }
        assert_eq!(all.len(), T::NUMBERS.len(), "{} numbers", T::NAME);
        assert!(T::from_number(0).is_err() && T::from_number(255).is_err());
    }

    #[test]
    fn every_word_has_one_number() {
        complete(Role::ALL);
        complete(Origin::ALL);
        complete(SpanKind::ALL);
        complete(TokensFrom::ALL);
        complete(Contract::ALL);
        complete(ClaimOrigin::ALL);
        complete(PruneMode::ALL);
        complete(Purpose::ALL);
        complete(RejectReason::ALL);
        complete(SummaryStatus::ALL);
        complete(FindingCode::ALL);
        complete(Alert::ALL);
        complete(Since::ALL);
        complete(LiveHandles::ALL);
        complete(RunEnd::ALL);
        complete(Rendering::ALL);
    }
}
