//! Policies, holds, notices and runs between the frozen bodies and the domain.

use lacuna_core::Timestamp;
use lacuna_core::event::{
    HoldPlaced, HoldReleased, Keep, Match, NoticeGiven, Noticed, PolicySet, Rule, RunClosed,
    RunOpened, RunTally,
};
use lacuna_core::retention::Period;

use super::domain::{id, pairs};
use super::v1::{
    HoldPlacedV1, HoldReleasedV1, MatchV1, NoticeGivenV1, NoticedV1, PolicySetV1, RuleV1,
    RunClosedV1, RunOpenedV1,
};
use super::words::Numbered;
use crate::CodecError;

impl From<&Match> for MatchV1 {
    fn from(m: &Match) -> Self {
        Self {
            sessions: m.sessions.clone(),
            origins: m.origins.iter().map(|origin| origin.number()).collect(),
            kinds: m.kinds.iter().map(|kind| kind.number()).collect(),
            labels: pairs(&m.labels),
            pruned: m.pruned,
        }
    }
}

impl TryFrom<MatchV1> for Match {
    type Error = CodecError;
    fn try_from(b: MatchV1) -> Result<Self, CodecError> {
        Ok(Self {
            sessions: b.sessions,
            origins: b.origins.into_iter().map(Numbered::from_number).collect::<Result<_, _>>()?,
            kinds: b.kinds.into_iter().map(Numbered::from_number).collect::<Result<_, _>>()?,
            labels: b.labels.into_iter().collect(),
            pruned: b.pruned,
        })
    }
}

impl From<&Rule> for RuleV1 {
    fn from(rule: &Rule) -> Self {
        let Keep { forever, period, max_bytes, max_spans } = rule.keep;
        Self {
            id: rule.id.clone(),
            matches: (&rule.matches).into(),
            forever,
            period_ms: period.map_or(0, |(period, _)| period.0),
            since: period.map_or(0, |(_, since)| since.number()),
            max_bytes,
            max_spans,
            notice_ms: rule.notice.0,
            live_handles: rule.live_handles.number(),
            residue: rule.residue,
        }
    }
}

impl TryFrom<RuleV1> for Rule {
    type Error = CodecError;
    fn try_from(b: RuleV1) -> Result<Self, CodecError> {
        let period = match b.since {
            0 if b.period_ms == 0 => None,
            since => Some((Period(b.period_ms), Numbered::from_number(since)?)),
        };
        Ok(Self {
            id: b.id,
            matches: b.matches.try_into()?,
            keep: Keep {
                forever: b.forever,
                period,
                max_bytes: b.max_bytes,
                max_spans: b.max_spans,
            },
            notice: Period(b.notice_ms),
            live_handles: Numbered::from_number(b.live_handles)?,
            residue: b.residue,
        })
    }
}

impl From<&PolicySet> for PolicySetV1 {
    fn from(e: &PolicySet) -> Self {
        Self { policy: e.policy, rules: e.rules.iter().map(Into::into).collect() }
    }
}

impl TryFrom<PolicySetV1> for PolicySet {
    type Error = CodecError;
    fn try_from(b: PolicySetV1) -> Result<Self, CodecError> {
        let rules = b.rules.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?;
        Ok(Self { policy: b.policy, rules })
    }
}

impl From<&HoldPlaced> for HoldPlacedV1 {
    fn from(e: &HoldPlaced) -> Self {
        Self { hold: e.hold, matches: (&e.matches).into(), reason: e.reason.clone() }
    }
}

impl TryFrom<HoldPlacedV1> for HoldPlaced {
    type Error = CodecError;
    fn try_from(b: HoldPlacedV1) -> Result<Self, CodecError> {
        Ok(Self { hold: b.hold, matches: b.matches.try_into()?, reason: b.reason })
    }
}

impl From<&HoldReleased> for HoldReleasedV1 {
    fn from(e: &HoldReleased) -> Self {
        Self { hold: e.hold, reason: e.reason.clone() }
    }
}

impl From<HoldReleasedV1> for HoldReleased {
    fn from(b: HoldReleasedV1) -> Self {
        Self { hold: b.hold, reason: b.reason }
    }
}

impl From<&NoticeGiven> for NoticeGivenV1 {
    fn from(e: &NoticeGiven) -> Self {
        let noticed = |n: &Noticed| NoticedV1 {
            span: n.span.to_string(),
            rule: n.rule.clone(),
            erases_at: n.erases_at.0,
        };
        Self { run: e.run, policy: e.policy, spans: e.spans.iter().map(noticed).collect() }
    }
}

impl TryFrom<NoticeGivenV1> for NoticeGiven {
    type Error = CodecError;
    fn try_from(b: NoticeGivenV1) -> Result<Self, CodecError> {
        let noticed = |n: NoticedV1| {
            let erases_at = Timestamp(n.erases_at);
            Ok(Noticed { span: id(n.span)?, rule: n.rule, erases_at })
        };
        let spans = b.spans.into_iter().map(noticed).collect::<Result<_, CodecError>>()?;
        Ok(Self { run: b.run, policy: b.policy, spans })
    }
}

impl From<&RunOpened> for RunOpenedV1 {
    fn from(e: &RunOpened) -> Self {
        Self {
            run: e.run,
            cut: e.cut,
            effective_now: e.effective_now.0,
            policy: e.policy,
            unlimited: e.unlimited,
        }
    }
}

impl From<RunOpenedV1> for RunOpened {
    fn from(b: RunOpenedV1) -> Self {
        Self {
            run: b.run,
            cut: b.cut,
            effective_now: Timestamp(b.effective_now),
            policy: b.policy,
            unlimited: b.unlimited,
        }
    }
}

impl From<&RunClosed> for RunClosedV1 {
    fn from(e: &RunClosed) -> Self {
        let RunTally { removed_spans, removed_bytes, noticed, deferred, held } = e.tally;
        let end = e.end.number();
        Self { run: e.run, end, removed_spans, removed_bytes, noticed, deferred, held }
    }
}

impl TryFrom<RunClosedV1> for RunClosed {
    type Error = CodecError;
    fn try_from(b: RunClosedV1) -> Result<Self, CodecError> {
        let RunClosedV1 { run, end, removed_spans, removed_bytes, noticed, deferred, held } = b;
        let tally = RunTally { removed_spans, removed_bytes, noticed, deferred, held };
        Ok(Self { run, end: Numbered::from_number(end)?, tally })
    }
}
