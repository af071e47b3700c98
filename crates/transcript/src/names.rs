//! Names made from what the source has: span ids and session names within their alphabets.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use lacuna_core::{Digest, SessionName, SpanId};

const SPAN_ID_MAX: usize = 96;
const SESSION_MAX: usize = 64;

/// The text with every character outside the alphabet replaced, cut to `max` bytes. A cut text
/// ends in eight digits of its own digest, so that different long names stay different.
fn fit(text: &str, max: usize, filler: char, allowed: fn(char) -> bool) -> String {
    let mut out: String =
        text.chars().take(max + 1).map(|c| if allowed(c) { c } else { filler }).collect();
    if out.len() > max {
        let digest = Digest::of(text.as_bytes()).to_string();
        out.truncate(max - 9);
        out.push('-');
        out.push_str(&digest[..8]);
    }
    out
}

fn session_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

fn span_char(c: char) -> bool {
    session_char(c) || matches!(c, '.' | ':')
}

/// The ids used so far in one session.
#[derive(Debug, Default)]
pub(crate) struct SpanIds {
    used: HashSet<SpanId>,
    /// Serial numbers already tried per wish, so that many equal wishes stay cheap.
    next: HashMap<String, u64>,
}

impl SpanIds {
    /// The wished id, or a variant of it (`x.d2`, `x.d3` …) if it is taken. The second value says
    /// whether it was.
    pub(crate) fn take(&mut self, wish: &str) -> (SpanId, bool) {
        let base = match fit(wish, SPAN_ID_MAX, '_', span_char) {
            empty if empty.is_empty() => "span".to_owned(),
            base => base,
        };
        if let Some(id) = self.claim(&base) {
            return (id, false);
        }
        let mut serial = self.next.get(&base).copied().unwrap_or(2);
        loop {
            let candidate = format!("{base}.d{serial}");
            serial += 1;
            if let Some(id) = self.claim(&candidate) {
                self.next.insert(base, serial);
                return (id, true);
            }
        }
    }

    fn claim(&mut self, text: &str) -> Option<SpanId> {
        let id: SpanId = text.parse().ok()?;
        self.used.insert(id.clone()).then_some(id)
    }
}

/// The session names given out in one import.
#[derive(Debug, Default)]
pub(crate) struct SessionNames {
    used: HashSet<SessionName>,
    next: HashMap<String, u64>,
}

impl SessionNames {
    /// A session name like the wish, not given out before.
    pub(crate) fn take(&mut self, wish: &str) -> SessionName {
        let fitted = fit(wish, SESSION_MAX, '-', session_char);
        let trimmed = fitted.trim_matches('-');
        let base = if trimmed.is_empty() { "session" } else { trimmed };
        if let Some(name) = self.claim(base) {
            return name;
        }
        let mut serial = self.next.get(base).copied().unwrap_or(2);
        loop {
            let tail = format!("-{serial}");
            serial += 1;
            let head = &base[..base.len().min(SESSION_MAX - tail.len())];
            if let Some(name) = self.claim(&format!("{head}{tail}")) {
                self.next.insert(base.to_owned(), serial);
                return name;
            }
        }
    }

    fn claim(&mut self, text: &str) -> Option<SessionName> {
        let name: SessionName = text.parse().ok()?;
        self.used.insert(name.clone()).then_some(name)
    }
}

/// The id of a record that has none of its own: from its bytes, so that the next part of the same
/// transcript, or a longer copy of it, gives the same record the same id and another one another.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    format!("r-{}", &Digest::of(bytes).to_string()[..12])
}

/// The file's name without folders and extension.
pub(crate) fn stem(path: &str) -> &str {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    match file.rfind('.') {
        Some(dot) if dot > 0 => &file[..dot],
        _ => file,
    }
}

/// Compares names as people count: `part-2` before `part-10`.
pub(crate) fn natural(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a.as_bytes(), b.as_bytes());
    while let (Some(x), Some(y)) = (left.first(), right.first()) {
        if x.is_ascii_digit() && y.is_ascii_digit() {
            let (m, n) = (digits(left), digits(right));
            let (p, q) = (without_zeros(&left[..m]), without_zeros(&right[..n]));
            let order = p.len().cmp(&q.len()).then_with(|| p.cmp(q));
            if order != Ordering::Equal {
                return order;
            }
            (left, right) = (&left[m..], &right[n..]);
        } else if x == y {
            (left, right) = (&left[1..], &right[1..]);
        } else {
            return x.cmp(y);
        }
    }
    left.len().cmp(&right.len()).then_with(|| a.cmp(b))
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|b| b.is_ascii_digit()).count()
}

fn without_zeros(digits: &[u8]) -> &[u8] {
    let zeros = digits.iter().take_while(|b| **b == b'0').count();
    &digits[zeros..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_their_alphabet_and_stay_different() {
        let mut ids = SpanIds::default();
        assert_eq!(ids.take("toolu_1.result").0.as_str(), "toolu_1.result");
        assert_eq!(ids.take("a b/ü").0.as_str(), "a_b__");
        assert_eq!(ids.take("").0.as_str(), "span");
        let long = "x".repeat(500);
        let (first, second) = (ids.take(&format!("{long}1")).0, ids.take(&format!("{long}2")).0);
        assert_ne!(first, second);
        assert_eq!(first.as_str().len(), 96);
        assert_eq!(ids.take("a b/ü"), ("a_b__.d2".parse().unwrap(), true));
        assert_eq!(ids.take("a b/ü"), ("a_b__.d3".parse().unwrap(), true));

        let mut names = SessionNames::default();
        assert_eq!(names.take("../etc passwd").as_str(), "etc-passwd");
        assert_eq!(names.take("..").as_str(), "session");
        assert_eq!(names.take("..").as_str(), "session-2");
        let name = names.take(&long);
        assert_eq!(name.as_str().len(), 64);
        assert_eq!(names.take(name.as_str()).as_str(), format!("{}-2", &name.as_str()[..62]));
    }

    #[test]
    fn numbers_in_names_count() {
        let mut names = ["p10", "p2", "p02", "p", "q1", "p2a"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["p", "p02", "p2", "p2a", "p10", "q1"]);
        assert_eq!(stem("a/b.c/d.e.json"), "d.e");
        assert_eq!(stem(".jsonl"), ".jsonl");
    }
}
