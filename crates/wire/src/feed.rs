//! The feed: the stream, its subjects, and the ids of its messages.

use lacuna_core::SessionKey;

/// The stream.
pub const FEED_STREAM: &str = "LACUNA_EVENTS";
/// Every subject of the feed, and no deeper one: a request that somebody sends to the tenant `events` by
/// mistake must not be stored, contents and all.
pub const FEED_SUBJECTS: &str = "lacuna.v1.events.*.*.*";
/// The subjects of signed checkpoints, on the same stream. They stand apart from those of the events: whoever
/// follows `lacuna.v1.events.>` and keys on `seq` must not take one for an event.
pub const CHECKPOINT_SUBJECTS: &str = "lacuna.v1.checkpoints.*";
/// The name that stands for the journal itself where a tenant stands in the subjects of the feed. No
/// tenant may have it.
pub const JOURNAL_TENANT: &str = "_journal";
/// The header with a message's id.
pub const MESSAGE_ID: &str = "Nats-Msg-Id";

/// The subject of an event.
pub fn event_subject(key: &SessionKey, kind: &str) -> String {
    format!("lacuna.v1.events.{}.{}.{kind}", key.tenant, key.session)
}

/// The subject of what concerns the journal as a whole.
pub fn journal_subject(journal: &str, kind: &str) -> String {
    format!("lacuna.v1.events.{JOURNAL_TENANT}.{journal}.{kind}")
}

/// The subject of a journal's checkpoints.
pub fn checkpoint_subject(journal: &str) -> String {
    format!("lacuna.v1.checkpoints.{journal}")
}

/// The id of a message on the feed: `<journal>:<seq>` of an event; `<journal>:<seq>:<about>` of what is
/// said about the journal behind that seq.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageId {
    /// The journal's id.
    pub journal: String,
    /// The seq of the event, or the last one that is meant.
    pub seq: u64,
    /// What is said; none for an event.
    pub about: Option<String>,
}

impl MessageId {
    /// The id of an event's message.
    pub fn event(journal: &str, seq: u64) -> Self {
        Self { journal: journal.to_owned(), seq, about: None }
    }

    /// The id of a message about the journal.
    pub fn about(journal: &str, seq: u64, about: &str) -> Self {
        Self { about: Some(about.to_owned()), ..Self::event(journal, seq) }
    }

    /// Reads an id; none if it is not one of the feed's.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, ':');
        let (journal, seq) = (parts.next()?, parts.next()?);
        let plain = seq.bytes().all(|byte| byte.is_ascii_digit()) && !seq.starts_with('0');
        let seq = seq.parse().ok().filter(|_| plain && !journal.is_empty())?;
        Some(Self { journal: journal.to_owned(), seq, about: parts.next().map(str::to_owned) })
    }
}

impl std::fmt::Display for MessageId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.journal, self.seq)?;
        match &self.about {
            Some(about) => write!(f, ":{about}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_read_back_as_themselves_and_nothing_else_is_one() {
        for text in ["0fa9:1", "0fa9:18446744073709551615", "0fa9:7:checkpoint"] {
            assert_eq!(MessageId::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(MessageId::parse("0fa9:7"), Some(MessageId::event("0fa9", 7)));
        for bad in ["", "0fa9", ":1", "0fa9:", "0fa9:x", "0fa9:+1", "0fa9:01", "0fa9:0"] {
            assert_eq!(MessageId::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn subjects_are_those_of_the_contract() {
        let key = SessionKey { tenant: "acme".parse().unwrap(), session: "run_7".parse().unwrap() };
        assert_eq!(event_subject(&key, "run-closed"), "lacuna.v1.events.acme.run_7.run-closed");
        assert_eq!(
            journal_subject("0fa9", "gap-found"),
            "lacuna.v1.events._journal.0fa9.gap-found"
        );
        let tokens = |subject: &str| subject.split('.').count();
        let prefix = FEED_SUBJECTS.strip_suffix("*.*.*").unwrap();
        for subject in [event_subject(&key, "x"), journal_subject("0fa9", "x")] {
            assert!(subject.starts_with(prefix));
            assert_eq!(tokens(&subject), tokens(FEED_SUBJECTS));
        }
    }
}
