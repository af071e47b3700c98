//! What rules and holds apply to, and what a policy may say.

use std::collections::{BTreeMap, BTreeSet};

use wildmatch::WildMatch;

use crate::event::{Keep, Match, Rule};
use crate::state::{Place, SpanState};
use crate::{Origin, SessionState, SpanKind, Timestamp};

/// The most rules of a policy and the most entries of one list in a rule.
const RULES: usize = 1_000;
const ENTRIES: usize = 100;
/// The longest name of a rule, and the longest pattern of session names, in bytes.
const NAME: usize = 128;

/// What rules look at: the attributes of one span, here or elsewhere.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The name of its session.
    pub session: &'a str,
    /// The labels of its session.
    pub session_labels: &'a BTreeMap<String, String>,
    /// Its own labels.
    pub labels: &'a BTreeMap<String, String>,
    /// Where its content came from.
    pub origin: Origin,
    /// What it is.
    pub kind: SpanKind,
    /// When it was recorded.
    pub recorded_at: Timestamp,
    /// When it left the window; none if it has not.
    pub pruned_at: Option<Timestamp>,
    /// When its session was closed; none if it is open.
    pub closed_at: Option<Timestamp>,
}

impl<'a> Facts<'a> {
    /// The facts about a span of a session.
    pub fn of(state: &'a SessionState, span: &'a SpanState) -> Self {
        Self {
            session: state.key.session.as_str(),
            session_labels: &state.labels,
            labels: &span.labels,
            origin: span.origin,
            kind: span.kind,
            recorded_at: span.at,
            pruned_at: pruned_at(state, span),
            closed_at: state.closed_at,
        }
    }
}

/// When a span left the window. One that was recorded without a place in it had left before; a summary
/// without one waits for its use.
fn pruned_at(state: &SessionState, span: &SpanState) -> Option<Timestamp> {
    match span.place {
        Place::Window => None,
        Place::Outside => (!span.is_summary()).then_some(span.at),
        Place::Pruned(directive) => state.directive(directive).map(|directive| directive.at),
    }
}

impl Match {
    /// Whether it applies to a session of this name at all.
    pub fn takes_session(&self, name: &str) -> bool {
        self.sessions.as_ref().is_none_or(|glob| {
            // Most patterns differ in their first letters: then there is no need to read the whole. A
            // policy of a thousand rules is gone through for every span that is recorded.
            let begins = glob.split(['*', '?']).next().unwrap_or_default();
            name.starts_with(begins) && WildMatch::new(glob).matches(name)
        })
    }

    /// Whether it applies to a span.
    pub fn takes(&self, facts: &Facts<'_>) -> bool {
        self.takes_session(facts.session) && self.takes_span(facts)
    }

    /// Whether it applies to a span of a session that it applies to.
    pub(super) fn takes_span(&self, facts: &Facts<'_>) -> bool {
        let bears = |(key, value): (&String, &String)| {
            facts.labels.get(key).or_else(|| facts.session_labels.get(key)) == Some(value)
        };
        (self.origins.is_empty() || self.origins.contains(&facts.origin))
            && (self.kinds.is_empty() || self.kinds.contains(&facts.kind))
            && self.pruned.is_none_or(|pruned| pruned == facts.pruned_at.is_some())
            && self.labels.iter().all(bears)
    }

    /// What is wrong with it, if anything is.
    pub(crate) fn fault(&self) -> Option<String> {
        if let Some(glob) = &self.sessions
            && (glob.is_empty() || glob.len() > NAME)
        {
            return Some(format!("sessions is a pattern of 1 to {NAME} characters, such as run-*"));
        }
        let entries = self.origins.len().max(self.kinds.len()).max(self.labels.len());
        (entries > ENTRIES).then(|| format!("a match names at most {ENTRIES} of a sort"))
    }
}

impl Keep {
    /// What is wrong with it, if anything is.
    fn fault(&self) -> Option<&'static str> {
        let bounds = self.period.is_some() || self.max_bytes.is_some() || self.max_spans.is_some();
        match (self.forever, bounds) {
            (true, true) => Some("it keeps for ever and for less: say one of them"),
            (false, false) => {
                Some("it says nothing: give for, max_bytes, max_spans, or forever: true")
            }
            _ => None,
        }
    }

    /// Whether it keeps only the newest of a session.
    pub(crate) fn is_ranked(&self) -> bool {
        self.max_bytes.is_some() || self.max_spans.is_some()
    }
}

/// What is wrong with the rules of a policy, if anything is.
pub(crate) fn fault(rules: &[Rule]) -> Option<String> {
    if rules.len() > RULES {
        return Some(format!("{} rules are over the limit of {RULES}: merge some", rules.len()));
    }
    let mut names = BTreeSet::new();
    for rule in rules {
        let name: String = rule.id.chars().take(40).collect();
        let say = |why: String| Some(format!("rule {name:?}: {why}"));
        if rule.id.is_empty() || rule.id.len() > NAME {
            return say(format!("its id has 1 to {NAME} characters"));
        }
        if !names.insert(&rule.id) {
            return say("there is another rule of this id".to_owned());
        }
        let fault = rule.keep.fault().map(str::to_owned).or_else(|| rule.matches.fault());
        if let Some(why) = fault {
            return say(why);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_sessions() {
        let fits = |glob: &str, name: &str| {
            Match { sessions: Some(glob.into()), ..Match::default() }.takes_session(name)
        };
        for (glob, name) in [
            ("run-7", "run-7"),
            ("run-*", "run-7"),
            ("run-*", "run-"),
            ("run-?", "run-7"),
            ("*", "run-7"),
            ("*-7", "run-7"),
            ("?un-*", "run-7"),
            ("r*n*7", "run-run-7"),
        ] {
            assert!(fits(glob, name), "{glob} {name}");
        }
        for (glob, name) in [
            ("run-7", "run-77"),
            ("run-7", "run-"),
            ("run-?", "run-"),
            ("run-?", "run-77"),
            ("run-*", "xrun-7"),
            ("*-7", "run-77"),
            ("?", ""),
            ("r*n*8", "run-run-7"),
        ] {
            assert!(!fits(glob, name), "{glob} {name}");
        }
        assert!(Match::default().takes_session("any"));
    }
}
