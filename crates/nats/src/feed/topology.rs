//! The stream as it should be, and what it costs where it is not.

use std::time::Duration;

use lacuna_wire::{CHECKPOINT_SUBJECTS, FEED_STREAM, FEED_SUBJECTS};
use serde_json::{Map, Value, json};

/// How long the broker knows a message's id. Only a convenience: the chain of expected sequences is what
/// keeps messages from coming twice.
const DUPLICATES: Duration = Duration::from_secs(120);
/// What all subjects of the feed begin with, and the subject that takes all that do.
const EVENTS: &str = "lacuna.v1.events.";
const DEEPER: &str = "lacuna.v1.events.>";
/// The least that a message may be allowed to have, in bytes.
const LEAST: i64 = 4 << 10;

/// A setting that is not as asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    /// What is said about it.
    pub(super) says: String,
    /// Whether following such a stream would be wrong.
    pub(super) wrong: bool,
}

/// A setting that is compared.
struct Setting {
    name: &'static str,
    /// Whether following would be wrong with another value.
    wrong: bool,
    costs: &'static str,
}

const fn setting(name: &'static str, wrong: bool, costs: &'static str) -> Setting {
    Setting { name, wrong, costs }
}

/// What is compared one by one; subjects and sizes are looked at below.
const SETTINGS: &[Setting] = &[
    setting("retention", true, "events go before every follower has seen them"),
    setting("no_ack", true, "the broker never says that it has an event"),
    setting("sealed", true, "the broker takes no events any more"),
    setting("mirror", true, "the broker takes events only from the stream that it mirrors"),
    setting("subject_transform", true, "events do not stand under their own subjects"),
    setting("allow_msg_counter", true, "the broker takes numbers to add up, not events"),
    setting("republish", false, "events are copied to other subjects, where others may read them"),
    setting(
        "persist_mode",
        false,
        "the broker says that it has an event before it has stored it; what it loses is published again",
    ),
    setting(
        "allow_msg_ttl",
        false,
        "single events may be made to go before their time; history has all",
    ),
    setting("allow_atomic", false, "others may publish batches between the events"),
    setting(
        "allow_msg_schedules",
        false,
        "others may have messages published later, between the events",
    ),
    setting("max_consumers", false, "followers beyond that many are refused"),
    setting("sources", false, "messages of other streams stand between the events"),
    setting(
        "storage",
        false,
        "a broker that restarts has lost the feed, and all of it is published again",
    ),
    setting(
        "discard",
        false,
        "a stream that is full refuses new events instead of letting old ones go",
    ),
    setting(
        "max_age",
        false,
        "followers that were away find fewer events, or more, in the stream; history has all",
    ),
    setting(
        "max_bytes",
        false,
        "followers that were away find fewer events, or more, in the stream; history has all",
    ),
    setting(
        "max_msgs",
        false,
        "followers that were away find fewer events in the stream; history has all",
    ),
    setting(
        "max_msgs_per_subject",
        false,
        "events go one by one before others that are older: followers meet holes that only history fills",
    ),
    setting(
        "duplicate_window",
        false,
        "the broker knows a message's id for another time; the feed does not rest on it",
    ),
    setting(
        "deny_delete",
        false,
        "whoever may use the broker's API can take single events out; followers meet holes that only history fills",
    ),
    setting(
        "allow_rollup_hdrs",
        false,
        "whoever may publish to the feed can empty it; followers meet holes that only history fills",
    ),
];

/// The stream as it should be. Every field is one that nats-server 2.9 knows.
pub(super) fn wanted(max_age: Duration, max_bytes: u64) -> Map<String, Value> {
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(i64::MAX as u64);
    let config = json!({
        "name": FEED_STREAM,
        "description": "every event of the Lacuna journal, in order; history has those that are gone here",
        "subjects": [FEED_SUBJECTS, CHECKPOINT_SUBJECTS],
        "retention": "limits",
        "storage": "file",
        "discard": "old",
        "max_age": nanos(max_age),
        "max_bytes": max_bytes,
        "max_msgs": -1,
        "max_msgs_per_subject": -1,
        "max_msg_size": -1,
        "max_consumers": -1,
        "num_replicas": 1,
        "duplicate_window": nanos(DUPLICATES.min(max_age)),
        "deny_delete": true,
        "allow_rollup_hdrs": false,
        "allow_direct": true,
    });
    let Value::Object(config) = config else { return Map::new() };
    config
}

/// What of this stream is not as it should be.
pub(super) fn differences(
    wanted: &Map<String, Value>,
    found: &Map<String, Value>,
) -> Vec<Difference> {
    let mut differences = subjects(found);
    for Setting { name, wrong, costs } in SETTINGS {
        let (asked, given) = (wanted.get(*name), found.get(*name));
        if !same(asked, given) {
            let (asked, given) = (shown(name, asked), shown(name, given));
            let says = format!("{FEED_STREAM} has {name} {given} instead of {asked}: {costs}");
            differences.push(Difference { says, wrong: *wrong });
        }
    }
    if let Some(size) = max_msg_size(found) {
        let says = format!(
            "{FEED_STREAM} has max_msg_size {size} instead of none: larger events come shortened"
        );
        differences.push(Difference { says, wrong: size < LEAST });
    }
    differences
}

/// The most bytes of one message, if the stream bounds it.
pub(super) fn max_msg_size(found: &Map<String, Value>) -> Option<i64> {
    found.get("max_msg_size").and_then(Value::as_i64).filter(|&size| size > 0)
}

/// Whether the stream takes signed checkpoints.
pub(super) fn takes_checkpoints(found: &Map<String, Value>) -> bool {
    let given = found.get("subjects").and_then(Value::as_array).into_iter().flatten();
    given.into_iter().any(|subject| subject == CHECKPOINT_SUBJECTS)
}

fn subjects(found: &Map<String, Value>) -> Vec<Difference> {
    let given = found.get("subjects").and_then(Value::as_array).into_iter().flatten();
    let given: Vec<&str> = given.filter_map(Value::as_str).collect();
    let mut differences = Vec::new();
    let mut differs = |says: String, wrong| differences.push(Difference { says, wrong });
    if !given.iter().any(|subject| [FEED_SUBJECTS, DEEPER].contains(subject)) {
        let says = format!(
            "{FEED_STREAM} has the subjects {given:?}, not {FEED_SUBJECTS}: not every event would be \
             in it"
        );
        differs(says, true);
    }
    if !takes_checkpoints(found) {
        let says = format!(
            "{FEED_STREAM} has the subjects {given:?}, without {CHECKPOINT_SUBJECTS}: signed checkpoints are \
             not on the feed"
        );
        differs(says, false);
    }
    let own = [FEED_SUBJECTS, CHECKPOINT_SUBJECTS];
    for other in given.into_iter().filter(|other| !own.contains(other)) {
        // Requests would be stored and answered by the stream.
        let (costs, wrong) = match other {
            DEEPER => (
                "requests to a tenant `events`, sent by mistake, are stored, contents and all",
                false,
            ),
            other if other.starts_with(EVENTS) => continue,
            other if reaches_requests(other) => {
                ("it takes requests, contents and all, and answers them", true)
            }
            _ => ("other messages stand between the events", false),
        };
        differs(format!("{FEED_STREAM} has the subject {other}: {costs}"), wrong);
    }
    differences
}

/// Whether a subject with wildcards can match one below `lacuna.v1`.
fn reaches_requests(subject: &str) -> bool {
    let mut tokens = subject.split('.');
    for fixed in ["lacuna", "v1"] {
        match tokens.next() {
            Some(">") => return true,
            Some(token) if token == "*" || token == fixed => {}
            _ => return false,
        }
    }
    tokens.next().is_some()
}

/// Whether two settings are the same; one that is left out is none, and so is one that is zero, false,
/// empty, or without a bound.
fn same(asked: Option<&Value>, given: Option<&Value>) -> bool {
    let none = |value: Option<&Value>| match value {
        None | Some(Value::Null | Value::Bool(false)) => true,
        Some(Value::Number(number)) => number.as_i64().is_some_and(|number| number <= 0),
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::String(word)) => word.is_empty() || word == "default",
        Some(_) => false,
    };
    asked == given || none(asked) && none(given)
}

fn shown(name: &str, value: Option<&Value>) -> String {
    let time = name == "max_age" || name == "duplicate_window";
    match value {
        None | Some(Value::Null | Value::Bool(false)) => "none".into(),
        Some(Value::Number(number)) if number.as_i64().is_some_and(|number| number <= 0) => {
            "none".into()
        }
        Some(Value::Number(number)) if time => {
            format!("{:?}", Duration::from_nanos(number.as_u64().unwrap_or(u64::MAX)))
        }
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Map<String, Value> {
        wanted(Duration::from_secs(7 * 86_400), 1 << 30)
    }

    fn with(name: &str, value: Value) -> Vec<Difference> {
        let mut found = asked();
        found.insert(name.to_owned(), value);
        differences(&asked(), &found)
    }

    fn with_own(other: &str) -> Value {
        json!([FEED_SUBJECTS, CHECKPOINT_SUBJECTS, other])
    }

    #[test]
    fn what_was_asked_for_differs_in_nothing() {
        assert_eq!(differences(&asked(), &asked()), []);
        let mut without = asked();
        without.retain(|_, value| *value != json!(-1) && *value != json!(false));
        assert_eq!(differences(&asked(), &without), [], "what is left out is none");
    }

    #[test]
    fn every_difference_is_told_with_its_cost() {
        for (name, value, wrong, says) in [
            ("retention", json!("workqueue"), true, "before every follower"),
            ("no_ack", json!(true), true, "never says"),
            ("sealed", json!(true), true, "takes no events"),
            ("mirror", json!({ "name": "X" }), true, "mirrors"),
            ("subject_transform", json!({ "src": ">" }), true, "their own subjects"),
            (
                "subjects",
                json!(["lacuna.v1.events.acme.>", CHECKPOINT_SUBJECTS]),
                true,
                "not every event",
            ),
            ("subjects", with_own("lacuna.*.acme.>"), true, "takes requests"),
            ("subjects", with_own("other.>"), false, "between the events"),
            ("subjects", json!(["lacuna.v1.events.>", CHECKPOINT_SUBJECTS]), false, "by mistake"),
            ("subjects", json!([FEED_SUBJECTS]), false, "not on the feed"),
            ("republish", json!({ "dest": "x.>" }), false, "copied to other subjects"),
            ("persist_mode", json!("async"), false, "before it has stored it"),
            ("allow_msg_ttl", json!(true), false, "before their time"),
            ("allow_msg_counter", json!(true), true, "numbers to add up"),
            ("max_consumers", json!(1), false, "are refused"),
            ("storage", json!("memory"), false, "published again"),
            ("discard", json!("new"), false, "refuses new events"),
            ("max_age", json!(3_600_000_000_000_u64), false, "3600s instead of 604800s"),
            ("max_bytes", json!(1_000), false, "1000 instead of 1073741824"),
            ("max_msgs", json!(10), false, "10 instead of none"),
            ("max_msgs_per_subject", json!(1), false, "holes"),
            ("deny_delete", json!(false), false, "none instead of true"),
            ("max_msg_size", json!(10_000), false, "shortened"),
            ("max_msg_size", json!(1_000), true, "shortened"),
        ] {
            let found = with(name, value.clone());
            let [difference] = found.as_slice() else { panic!("{name} {value}: {found:?}") };
            assert_eq!(difference.wrong, wrong, "{name} {value}");
            assert!(difference.says.contains(says), "{name} {value}: {}", difference.says);
            assert!(difference.says.contains(name.trim_end_matches('s')), "{}", difference.says);
        }
    }

    #[test]
    fn subjects_that_reach_requests_are_known() {
        for reaching in [">", "lacuna.>", "*.v1.>", "lacuna.v1.acme.>", "lacuna.*.*.*.journal.head"]
        {
            assert!(reaches_requests(reaching), "{reaching}");
        }
        for other in ["other.>", "lacuna.v2.>", "lacuna", "lacuna.v1", "*.v2.x"] {
            assert!(!reaches_requests(other), "{other}");
        }
    }
}
