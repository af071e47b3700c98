//! Subjects: who asks what of which session.

use std::fmt;

use lacuna_core::{InvalidName, Principal, SessionName, Tenant};

use crate::feed::JOURNAL_TENANT;

/// The first tokens of every subject.
const PREFIX: &str = "lacuna.v1";

/// The groups of verbs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Group {
    /// One session.
    Session,
    /// The tenant's retention.
    Retention,
    /// The whole journal.
    Journal,
}

/// What a request is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// One session.
    Session(SessionName),
    /// The tenant's retention.
    Retention,
    /// The whole journal.
    Journal,
}

/// A request's subject, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The namespace.
    pub tenant: Tenant,
    /// Who asks.
    pub principal: Principal,
    /// What it is about.
    pub target: Target,
    /// What is asked.
    pub verb: String,
}

/// A subject that names nothing of the contract.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubjectError {
    /// A token is not allowed.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// The tokens do not form a subject of the contract.
    #[error(
        "{0:?} is no subject of the contract: \
         lacuna.v1.<tenant>.<principal>.session.<session>.<verb>"
    )]
    Form(String),
    /// `events` is the feed.
    #[error("`events` is not a tenant: it is the feed")]
    Events,
    /// On the feed this name stands for the journal itself.
    #[error("`_journal` is not a tenant: on the feed it stands for the journal itself")]
    Journal,
}

impl Subject {
    /// Takes a subject apart.
    pub fn parse(subject: &str) -> Result<Self, SubjectError> {
        let form = || SubjectError::Form(subject.chars().take(200).collect());
        let rest =
            subject.strip_prefix(PREFIX).and_then(|s| s.strip_prefix('.')).ok_or_else(form)?;
        let tokens: Vec<&str> = rest.split('.').collect();
        let (tenant, principal, target, verb) = match tokens.as_slice() {
            [tenant, principal, "session", session, verb] => {
                (tenant, principal, Target::Session(session.parse()?), verb)
            }
            [tenant, principal, "retention", verb] => (tenant, principal, Target::Retention, verb),
            [tenant, principal, "journal", verb] => (tenant, principal, Target::Journal, verb),
            _ => return Err(form()),
        };
        if *tenant == "events" {
            return Err(SubjectError::Events);
        }
        if *tenant == JOURNAL_TENANT {
            return Err(SubjectError::Journal);
        }
        Ok(Self {
            tenant: tenant.parse()?,
            principal: principal.parse()?,
            target,
            verb: (*verb).to_owned(),
        })
    }

    /// The subjects that a daemon listens on: one per group, so that the requests of one client
    /// arrive in the order in which it sent them.
    pub fn patterns() -> [String; 3] {
        [
            format!("{PREFIX}.*.*.session.*.*"),
            format!("{PREFIX}.*.*.retention.*"),
            format!("{PREFIX}.*.*.journal.*"),
        ]
    }

    /// The pattern of one verb's subjects.
    pub fn verb_pattern(group: Group, verb: &str) -> String {
        match group {
            Group::Session => format!("{PREFIX}.*.*.session.*.{verb}"),
            Group::Retention => format!("{PREFIX}.*.*.retention.{verb}"),
            Group::Journal => format!("{PREFIX}.*.*.journal.{verb}"),
        }
    }
}

impl Target {
    /// The group of verbs that go with it.
    pub fn group(&self) -> Group {
        match self {
            Self::Session(_) => Group::Session,
            Self::Retention => Group::Retention,
            Self::Journal => Group::Journal,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}.{}.{}.", self.tenant, self.principal)?;
        match &self.target {
            Target::Session(session) => write!(f, "session.{session}.{}", self.verb),
            Target::Retention => write!(f, "retention.{}", self.verb),
            Target::Journal => write!(f, "journal.{}", self.verb),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_read_back_as_themselves() {
        for text in [
            "lacuna.v1.acme.worker-1.session.run_7.append",
            "lacuna.v1.acme.officer.retention.policy-set",
            "lacuna.v1.acme.cli.journal.head",
        ] {
            assert_eq!(Subject::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_subject_is_refused() {
        for bad in [
            "lacuna.v2.a.b.session.s.open",
            "lacuna.v1.a.b.session.s",
            "lacuna.v1.a.b.session.s.t.open",
            "lacuna.v1.events.b.session.s.open",
            "lacuna.v1._journal.b.session.s.open",
            "lacuna.v1.a b.c.session.s.open",
            "lacuna.v1.a.b.session.é.open",
            "lacuna.v1...session.s.open",
            "",
        ] {
            assert!(Subject::parse(bad).is_err(), "{bad:?} was accepted");
        }
    }
}
