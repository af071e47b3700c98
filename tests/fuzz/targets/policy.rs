//! Policies: rules read from JSON, told again, and applied to things of any age.
//!
//! Input: the name of a session on a line, then the request.
#![no_main]

use lacuna_core::event::Match;
use lacuna_core::retention::{Facts, RetentionState, Until, promise, until};
use lacuna_core::{Command, Origin, SpanKind, Timestamp};
use lacuna_wire::parse;
use lacuna_wire::retention::{PolicySetRequest, RuleBody};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let Ok(name) = std::str::from_utf8(&bytes[..end.min(64)]) else { return };
    let body = bytes.get(end + 1..).unwrap_or_default();
    let Ok(Ok(Command::SetPolicy { rules })) = parse(body).map(|r: PolicySetRequest| r.command())
    else {
        return;
    };
    for rule in &rules {
        let told = RuleBody::from(rule).rule();
        assert_eq!(told.as_ref(), Ok(rule));
        fits(&rule.matches, name);
    }
    let mut retention = RetentionState::default();
    (retention.policy, retention.rules) = (1, rules);
    for pruned_at in [None, Some(Timestamp(u64::MAX))] {
        for displaced in [false, true] {
            applied(&retention, name, pruned_at, displaced);
        }
    }
});

fn applied(retention: &RetentionState, name: &str, pruned_at: Option<Timestamp>, displaced: bool) {
    let labels = [("team".to_owned(), "a".to_owned())].into();
    let facts = Facts {
        session: name,
        session_labels: &labels,
        labels: &labels,
        origin: Origin::Tool,
        kind: SpanKind::ToolResult,
        recorded_at: Timestamp(1_796_018_400_000),
        pruned_at,
        closed_at: None,
    };
    let verdict = until(retention, &facts, displaced);
    assert!(verdict.rule.is_some() || verdict.until == Until::Forever);
    let now = Timestamp(u64::MAX - 1);
    promise(Some(retention), &facts, None, now);
    if verdict.until == Until::Forever {
        assert_eq!(promise(Some(retention), &facts, None, now), None);
    }
}

/// Compares with a matcher that is slow and plain.
fn fits(matches: &Match, name: &str) {
    let Some(glob) = &matches.sessions else { return };
    let glob: Vec<char> = glob.chars().collect();
    if glob.len() > 128 {
        return;
    }
    // Row by row: whether the glob so far fits the name up to here.
    let name_chars: Vec<char> = name.chars().collect();
    let mut row: Vec<bool> = (0..=name_chars.len()).map(|length| length == 0).collect();
    for sign in &glob {
        let above = row.clone();
        for at in 0..row.len() {
            let one = at > 0 && above[at - 1];
            row[at] = match sign {
                '*' => above[at] || at > 0 && row[at - 1],
                '?' => one,
                sign => one && name_chars[at - 1] == *sign,
            };
        }
    }
    assert_eq!(
        matches.takes_session(name),
        row[name_chars.len()],
        "{:?} {name:?}",
        matches.sessions
    );
}
