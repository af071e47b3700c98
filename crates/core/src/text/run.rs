//! A run of characters, read as one anchor or taken apart at its strongest separators.

use crate::text::anchor::{Anchor, AnchorKind};
use crate::text::letters::{
    AT, BACK, COLON, COMMA, DASH, DIGIT, DOT, LETTERS, LOWER, SLASH, UPPER, classes,
};
use crate::text::lists::{is_extension, number_word};
use crate::text::moment::{Clock, Moment, clock, moment};
use crate::text::months::half_of_day;
use crate::text::place::{email, ip, ip6, is_base64, is_path, port_of};
use crate::text::shape::{all_digits, extension, number_length};

/// The components from its end by which a longer path or name is still known.
const TAIL: usize = 8;

/// The anchors of runs.
pub(super) struct Runs<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    /// Whether parts are wanted that an anchor supports, too.
    pub(super) parts: bool,
    /// Whether the ends of paths are wanted, too: a search finds them without.
    pub(super) tails: bool,
    /// Whether the run in hand is followed by a call's parentheses.
    pub(super) called: bool,
    /// Whether the run in hand is a component of a path: what looks like a file there is known.
    in_path: bool,
    /// What was found.
    pub(super) found: Vec<Anchor>,
}

impl<'a> Runs<'a> {
    pub(super) fn new(text: &'a str, parts: bool) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            parts,
            tails: parts,
            called: false,
            in_path: false,
            found: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, kind: AnchorKind, start: usize, end: usize) {
        self.found.push(Anchor { kind, start, end });
    }

    /// Records a part that only a source supports.
    pub(super) fn part(&mut self, kind: AnchorKind, start: usize, end: usize) {
        if self.parts && start < end {
            self.push(kind, start, end);
        }
    }

    /// Reads a run in which these classes of bytes occur.
    pub(super) fn run(&mut self, start: usize, end: usize, all: u16) {
        let (start, trimmed) = self.trim(start, end);
        if start >= trimmed {
            return;
        }
        self.called &= trimmed == end;
        let end = trimmed;
        let run = &self.bytes[start..end];
        if all & !LETTERS == 0 {
            if self.parts
                && all & !(LOWER | UPPER) == 0
                && number_word(&self.text[start..end]).is_some()
            {
                self.push(AnchorKind::Number, start, end);
            }
            return self.word(start, end);
        }
        if all & DIGIT != 0
            && (all & (COLON | SLASH | DASH | COMMA | DOT) != 0 || run.get(8) == Some(&b'T'))
            && let Some(found) = moment(run)
        {
            return self.time(start, end, &found);
        }
        self.split_at(start, end);
    }

    /// Cuts the punctuation off that stands around a run but is no part of a name.
    fn trim(&self, mut start: usize, mut end: usize) -> (usize, usize) {
        while end > start
            && matches!(self.bytes[end - 1], b'.' | b':' | b'-' | b'+' | b'~' | b'@' | b',' | b'\\')
        {
            end -= 1;
        }
        while start < end {
            let rest = &self.bytes[start..end];
            let keep = match rest {
                [b'+' | b',' | b':', ..] => {
                    rest.starts_with(b"::") && rest.len() > 2 && rest[2] != b':'
                }
                [b'~', next @ ..] => next.first() == Some(&b'/'),
                [b'.', b'.', b'.', ..] => false,
                [b'.', b'.', next @ ..] => matches!(next.first(), Some(b'/' | b'\\')),
                [b'-', b'-', b'-', ..] => false,
                _ => true,
            };
            if keep {
                break;
            }
            start += 1;
        }
        // `_src/main.rs_` is emphasis, `__init__` is a name.
        if let [b'_', first, .., last, b'_'] = &self.bytes[start..end]
            && *first != b'_'
            && *last != b'_'
        {
            return (start + 1, end - 1);
        }
        (start, end)
    }

    /// Records a moment that begins at `start`. A source supports its year and its day as numbers,
    /// too; what else it supports its form says.
    pub(super) fn time(&mut self, start: usize, end: usize, found: &Moment) {
        self.push(AnchorKind::Time, start, end);
        if let Some((from, to)) = found.day_at {
            self.part(AnchorKind::Number, start + from, start + to);
        }
        if let Some(year) = found.year_at {
            self.part(AnchorKind::Number, start + year, start + year + 4);
        }
    }

    /// Reads `6:30-8:00`, or nothing. Whether `pm` follows, the last of them says.
    fn hours(&mut self, start: usize, end: usize) -> bool {
        let Some(dash) = self.bytes[start..end].iter().position(|b| *b == b'-') else {
            return false;
        };
        let second = start + dash + 1;
        let first = moment(&self.bytes[start..second - 1]).filter(|found| found.clock.is_some());
        let whole = |found: Option<(Clock, usize)>| found.filter(|(_, last)| *last >= end);
        let last =
            whole(half_of_day(self.bytes, second)).or_else(|| whole(clock(self.bytes, second)));
        let (Some(first), Some((last, last_end))) = (first, last) else { return false };
        self.time(start, second - 1, &first);
        self.time(second, last_end, &Moment { clock: Some(last), ..Moment::default() });
        true
    }

    fn split_at(&mut self, start: usize, end: usize) {
        let run = &self.bytes[start..end];
        let all = classes(run);
        if all & AT == 0 {
            return self.colons(start, end, all);
        }
        if email(run) {
            return self.push(AnchorKind::Email, start, end);
        }
        if run[0] == b'@' && all & SLASH != 0 && all & COLON == 0 {
            // A package within a scope: `@scope/name`, `@scope/name@1.2.3`.
            let name = run[1..].iter().position(|b| *b == b'@').map_or(end, |at| start + 1 + at);
            self.push(AnchorKind::Path, start, name);
            self.part(AnchorKind::Path, start + 1, name);
            return self.each(name, end, b"@", Self::colons_of);
        }
        self.each(start, end, b"@", Self::colons_of);
    }

    /// Reads the pieces between these separators, one or two.
    pub(super) fn each(
        &mut self,
        start: usize,
        end: usize,
        separators: &[u8],
        read: fn(&mut Self, usize, usize),
    ) {
        let called = self.called;
        let (one, other) = (separators[0], separators[separators.len() - 1]);
        let mut from = start;
        for at in start..=end {
            if at == end || self.bytes[at] == one || self.bytes[at] == other {
                if at > from {
                    self.called = called && at == end;
                    read(self, from, at);
                }
                from = at + 1;
            }
        }
    }

    fn colons_of(&mut self, start: usize, end: usize) {
        let (start, end) = self.trim(start, end);
        if start < end {
            self.colons(start, end, classes(&self.bytes[start..end]));
        }
    }

    fn colons(&mut self, start: usize, end: usize, all: u16) {
        if all & COLON == 0 {
            return self.slashes(start, end, all);
        }
        let run = &self.bytes[start..end];
        if all & DIGIT != 0
            && let Some(found) = moment(run)
        {
            return self.time(start, end, &found);
        }
        if all & !(DIGIT | COLON | DASH) == 0 && all & DASH != 0 && self.hours(start, end) {
            return;
        }
        if ip6(run) {
            return self.push(AnchorKind::Host, start, end);
        }
        if let [drive, b':', b'\\' | b'/', ..] = run
            && drive.is_ascii_alphabetic()
            && run.len() > 3
        {
            return self.path(start, end);
        }
        if let Some(colon) = port_of(run) {
            let (host_end, port) = (start + colon, start + colon + 1);
            self.push(AnchorKind::Host, start, end);
            self.part(AnchorKind::Host, start, host_end);
            return self.push(AnchorKind::Number, port, end);
        }
        if let Some(at) = run.windows(2).position(|pair| pair == b"::") {
            let head = &run[..at];
            let file = head.contains(&b'/') || extension(head).is_some_and(is_extension);
            if file {
                self.slashes_of(start, start + at);
                return self.colons_of(start + at + 2, end);
            }
            if self.scoped(start, end) {
                return;
            }
        }
        self.each(start, end, b":", Self::slashes_of);
    }

    /// Reads `a::b::c`, or nothing.
    fn scoped(&mut self, start: usize, end: usize) -> bool {
        let name = &self.text[start..end];
        let named = |part: &str| {
            let tail = part.trim_start_matches('_');
            part.chars().all(|c| c.is_alphanumeric() || c == '_')
                && tail.starts_with(char::is_alphabetic)
        };
        let bare = name.strip_prefix("::").unwrap_or(name);
        if !bare.split("::").all(named) {
            return false;
        }
        self.push(AnchorKind::Identifier, start, end);
        if self.parts {
            self.tails(AnchorKind::Identifier, start, end, b":");
            let called = self.called;
            self.each(start, end, b":", Self::token_of);
            self.called = called;
        }
        true
    }

    /// Records the last components, each with all that follow it.
    pub(super) fn tails(&mut self, kind: AnchorKind, start: usize, end: usize, separators: &[u8]) {
        let mut count = 0;
        for at in (start + 1..end).rev() {
            if separators.contains(&self.bytes[at - 1]) && !separators.contains(&self.bytes[at]) {
                self.part(kind, at, end);
                count += 1;
                if count == TAIL {
                    break;
                }
            }
        }
    }

    fn slashes_of(&mut self, start: usize, end: usize) {
        let (start, end) = self.trim(start, end);
        if start < end {
            self.slashes(start, end, classes(&self.bytes[start..end]));
        }
    }

    fn slashes(&mut self, start: usize, end: usize, all: u16) {
        let run = &self.bytes[start..end];
        if all & (SLASH | BACK) == 0 {
            return self.token(start, end, all);
        }
        if run == b"24/7" {
            return;
        }
        if all & DIGIT != 0 {
            // 10.0.0.0/8
            let slash = run.iter().position(|b| *b == b'/').unwrap_or(0);
            let bits = &run[slash + 1..];
            if ip(&run[..slash]) && matches!(bits.len(), 1 | 2) && number_length(bits) == bits.len()
            {
                self.push(AnchorKind::Host, start, end);
                return self.part(AnchorKind::Host, start, start + slash);
            }
        }
        let closes_a_tag = run[0] == b'/' && start > 0 && self.bytes[start - 1] == b'<';
        if closes_a_tag || is_base64(run, all) {
            // No part of it is a name.
            return;
        }
        if is_path(run, all) {
            return self.path(start, end);
        }
        self.each(start, end, b"/\\", Self::token_of);
    }

    pub(super) fn path(&mut self, start: usize, end: usize) {
        self.push(AnchorKind::Path, start, end);
        if !self.parts || self.in_path {
            return;
        }
        self.in_path = true;
        if self.tails {
            self.tails(AnchorKind::Path, start, end, b"/\\");
        }
        // Ids stand in paths; a number in a path is no number, but for that of a request or an issue.
        let first = self.found.len();
        let slash = |b: &u8| matches!(b, b'/' | b'\\');
        let name = start + self.bytes[start..end].iter().rposition(slash).map_or(0, |at| at + 1);
        self.each(start, name, b"/\\", Self::token_of);
        let ending = extension(&self.bytes[name..end]).filter(|ending| is_extension(ending));
        self.token_of(name, ending.map_or(end, |ending| end - ending.len() - 1));
        let mut kept = first;
        for at in first..self.found.len() {
            if self.found[at].kind != AnchorKind::Number {
                self.found.swap(kept, at);
                kept += 1;
            }
        }
        self.found.truncate(kept);
        self.in_path = false;
        let numbered = all_digits(&self.bytes[name..end]);
        let folder = self.bytes[start..name].strip_suffix(b"/").filter(|_| numbered);
        let folder = folder.and_then(|head| head.rsplit(|b| *b == b'/').next());
        if matches!(folder, Some(b"pull" | b"pulls" | b"issues" | b"merge_requests")) {
            self.push(AnchorKind::Number, name, end);
        }
    }

    pub(super) fn token_of(&mut self, start: usize, end: usize) {
        let (start, end) = self.trim(start, end);
        if start < end {
            self.token(start, end, classes(&self.bytes[start..end]));
        }
    }
}
