//! `policy-set` and `policy-get`.

use std::collections::BTreeMap;

use lacuna_core::event::{Keep, LiveHandles, Match, Rule, Since};
use lacuna_core::retention::{Period, RetentionState};
use lacuna_core::{Command, Origin, SpanKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::HoldBody;
use crate::WireError;
use crate::common::request;
use crate::session::word;

/// What a rule or a hold applies to. What is left out does not matter; the rest must all fit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MatchBody {
    /// Names of sessions: `*` stands for any characters, `?` for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<String>,
    /// `user`, `tool`, `model`, `harness`, `system`, `summary`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origins: Option<Vec<String>>,
    /// `message`, `tool_call`, `tool_result`, `thinking`, `file`, `note`, `constraint`, `summary`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kinds: Option<Vec<String>>,
    /// Labels that the span or its session bears.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    /// Whether it has left the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pruned: Option<bool>,
}

impl MatchBody {
    /// What it says.
    pub fn matches(&self) -> Result<Match, WireError> {
        Ok(Match {
            sessions: self.sessions.clone(),
            origins: words("origin", self.origins.as_ref(), Origin::from_word)?,
            kinds: words("kind", self.kinds.as_ref(), SpanKind::from_word)?,
            labels: self.labels.clone().unwrap_or_default(),
            pruned: self.pruned,
        })
    }
}

fn words<T>(
    what: &str,
    texts: Option<&Vec<String>>,
    read: fn(&str) -> Option<T>,
) -> Result<Vec<T>, WireError> {
    if texts.is_some_and(Vec::is_empty) {
        return Err(WireError::bad_request(format!(
            "an empty list of {what}s matches nothing: leave it out to match all"
        )));
    }
    texts.into_iter().flatten().map(|text| word(what, text, read)).collect()
}

impl From<&Match> for MatchBody {
    fn from(m: &Match) -> Self {
        let texts = |words: Vec<String>| (!words.is_empty()).then_some(words);
        Self {
            sessions: m.sessions.clone(),
            origins: texts(m.origins.iter().map(ToString::to_string).collect()),
            kinds: texts(m.kinds.iter().map(ToString::to_string).collect()),
            labels: (!m.labels.is_empty()).then(|| m.labels.clone()),
            pruned: m.pruned,
        }
    }
}

/// How long a rule keeps what it applies to. A span goes as soon as one of the bounds says so.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KeepBody {
    /// For this time: `90s`, `72h`, `30d`, `2w`; at most 1,000 years.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub period: Option<String>,
    /// What the time is counted from: `recorded` unless given, `pruned` or `closed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Of each session only the newest that have so many bytes together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// Of each session only so many of the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_spans: Option<u64>,
    /// For ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forever: Option<bool>,
}

impl KeepBody {
    fn keep(&self) -> Result<Keep, WireError> {
        let since = self.since.as_deref().map(|text| word("since", text, Since::from_word));
        let since = since.transpose()?;
        if since.is_some() && self.period.is_none() {
            return Err(WireError::bad_request("since says from when a time counts: give for"));
        }
        let period = self.period.as_deref().map(period).transpose()?;
        Ok(Keep {
            forever: self.forever.unwrap_or(false),
            period: period.map(|period| (period, since.unwrap_or(Since::Recorded))),
            max_bytes: self.max_bytes,
            max_spans: self.max_spans,
        })
    }
}

/// Reads a duration.
pub(crate) fn period(text: &str) -> Result<Period, WireError> {
    text.parse().map_err(|error| WireError::bad_request(format!("{error}")))
}

impl From<&Keep> for KeepBody {
    fn from(keep: &Keep) -> Self {
        Self {
            period: keep.period.map(|(period, _)| period.to_string()),
            since: keep.period.map(|(_, since)| since.to_string()),
            max_bytes: keep.max_bytes,
            max_spans: keep.max_spans,
            forever: keep.forever.then_some(true),
        }
    }
}

/// One rule of a policy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleBody {
    /// Its name within the policy.
    pub id: String,
    /// What it applies to; everything if nothing is named.
    #[serde(rename = "match", default)]
    pub matches: MatchBody,
    /// How long that is kept.
    pub keep: KeepBody,
    /// How long before the removal it is announced; not at all unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
    /// What becomes of payloads to which an open window points: `defer` (they stay until it is closed)
    /// unless given, or `commit` (they go, and the window shows tombstones).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_handles: Option<String>,
    /// Whether a filter of a payload's identifiers stays when it goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub residue: Option<bool>,
}

impl RuleBody {
    /// What it says.
    pub fn rule(&self) -> Result<Rule, WireError> {
        let named = |error: WireError| {
            let id: String = self.id.chars().take(40).collect();
            WireError::bad_request(format!("rule {id:?}: {}", error.message))
        };
        let live = self.live_handles.as_deref();
        let live = live.map(|text| word("live_handles", text, LiveHandles::from_word));
        Ok(Rule {
            id: self.id.clone(),
            matches: self.matches.matches().map_err(named)?,
            keep: self.keep.keep().map_err(named)?,
            notice: self.notice.as_deref().map_or(Ok(Period(0)), period).map_err(named)?,
            live_handles: live.transpose().map_err(named)?.unwrap_or(LiveHandles::Defer),
            residue: self.residue.unwrap_or(false),
        })
    }
}

impl From<&Rule> for RuleBody {
    fn from(rule: &Rule) -> Self {
        Self {
            id: rule.id.clone(),
            matches: (&rule.matches).into(),
            keep: (&rule.keep).into(),
            notice: (rule.notice.0 > 0).then(|| rule.notice.to_string()),
            live_handles: Some(rule.live_handles.to_string()),
            residue: Some(rule.residue),
        }
    }
}

request! {
    /// Set the tenant's policy: it takes the place of the one before. Of its rules the first that
    /// matches a span decides; what no rule matches is kept for ever.
    PolicySetRequest {
        /// The rules, in order; none to keep everything for ever.
        rules: Vec<RuleBody>,
    }
}

impl PolicySetRequest {
    /// What is asked.
    pub fn command(&self) -> Result<Command, WireError> {
        let rules = self.rules.iter().map(RuleBody::rule).collect::<Result<_, _>>()?;
        Ok(Command::SetPolicy { rules })
    }
}

/// The policy is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicySetReply {
    /// Its name: `policy-1`, `policy-2`, …
    pub policy: String,
    /// The version of the tenant's retention stream.
    pub version: u64,
    /// Set if this is the first reply again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

request! {
    /// Read the policy and the holds in force.
    PolicyGetRequest {
        /// Tell of the holds behind this one: the `next` of the page before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<String>,
    }
}

/// The policy and the holds in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyGetReply {
    /// The policy's name; null if none was ever set: everything is kept for ever.
    pub policy: Option<String>,
    /// The version of the tenant's retention stream; 0 if nothing was ever asked of it.
    pub version: u64,
    /// When it was set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_at: Option<String>,
    /// Who set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_by: Option<String>,
    /// Its rules, in order.
    pub rules: Vec<RuleBody>,
    /// The holds in force.
    pub holds: Vec<HoldBody>,
    /// Set if there are more holds: ask again with `after`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The run that goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// The name of a policy; none for 0, as long as none was set.
pub fn policy_name(number: u32) -> Option<String> {
    (number > 0).then(|| format!("policy-{number}"))
}

impl PolicyGetReply {
    /// What is in force, with the holds behind the one of this number; `version` is that of the stream.
    pub fn of(retention: &RetentionState, version: u64, after: u32) -> Self {
        Self {
            policy: policy_name(retention.policy),
            version,
            set_at: retention.set.as_ref().map(|(at, _)| at.to_string()),
            set_by: retention.set.as_ref().map(|(_, by)| by.to_string()),
            rules: retention.rules.iter().map(Into::into).collect(),
            holds: retention.holds().filter(|hold| hold.number > after).map(Into::into).collect(),
            next: None,
            run: retention.open_run().map(|run| super::run_name(run.run)),
        }
    }
}
