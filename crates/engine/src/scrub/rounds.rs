//! How far the scrub is: the round that goes on and the last one that was completed, kept in a small
//! file beside the journal. Should it be lost, a round begins anew; nothing rests on it but times.
//!
//! ```text
//! lacuna-scrub 1
//! journal <id>
//! now <started> <end> <next> <dropped> <seq,seq,…>      a round that goes on
//! last <started> <end> <next> <dropped> <seq,seq,…>     one that was completed
//! ```

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use lacuna_core::Timestamp;

/// The first line of the file.
const MARK: &str = "lacuna-scrub 1";
/// Copies without an answer that one round remembers; with more, none in external stores counts.
const UNREAD: usize = 1_000;

/// One round over the journal, as it was when the round began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Round {
    /// When it began.
    pub(crate) started: Timestamp,
    /// The last seq that it goes to.
    pub(crate) end: u64,
    /// The next seq to look at.
    pub(crate) next: u64,
    /// Copies whose stores gave no answer.
    unread: BTreeSet<u64>,
    /// Whether there were more of these than are remembered.
    dropped: bool,
}

impl Round {
    pub(crate) fn new(started: Timestamp, end: u64) -> Self {
        Self { started, end, next: 1, unread: BTreeSet::new(), dropped: false }
    }

    /// Remembers a copy that could not be looked at.
    pub(crate) fn unread(&mut self, seq: u64) {
        match self.unread.len() < UNREAD {
            true => drop(self.unread.insert(seq)),
            false => self.dropped = true,
        }
    }

    /// Whether it found the copy of the span at this seq whole, as far as it knows.
    fn verified(&self, seq: u64, outside: bool) -> bool {
        let doubtful = self.unread.contains(&seq) || outside && self.dropped;
        seq < self.next && seq <= self.end && !doubtful
    }

    fn print(&self, name: &str, out: &mut String) {
        let Self { started, end, next, unread, dropped } = self;
        let unread: Vec<String> = unread.iter().map(u64::to_string).collect();
        let (started, dropped, unread) = (started.0, u8::from(*dropped), unread.join(","));
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{name} {started} {end} {next} {dropped} {unread}");
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ').skip(1);
        let mut number = || words.next()?.parse::<u64>().ok();
        let (started, end, next, dropped) = (number()?, number()?, number()?, number()? != 0);
        let unread = words.next()?.split(',').filter(|seq| !seq.is_empty());
        let unread: Option<BTreeSet<u64>> = unread.map(|seq| seq.parse().ok()).collect();
        Some(Self { started: Timestamp(started), end, next, unread: unread?, dropped })
    }
}

/// How far the scrub is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Rounds {
    /// The round that goes on.
    pub(crate) now: Option<Round>,
    /// The last one that was completed.
    pub(crate) last: Option<Round>,
}

impl Rounds {
    /// When the scrub last found the copy of the span at this seq whole; not earlier than that.
    pub(crate) fn verified_at(&self, seq: u64, outside: bool) -> Option<Timestamp> {
        let rounds = [&self.now, &self.last].into_iter().flatten();
        rounds.filter(|round| round.verified(seq, outside)).map(|round| round.started).max()
    }

    pub(crate) fn print(&self, journal: &str) -> String {
        let mut out = format!("{MARK}\njournal {journal}\n");
        for (name, round) in [("now", &self.now), ("last", &self.last)] {
            if let Some(round) = round {
                round.print(name, &mut out);
            }
        }
        out
    }

    /// Reads what [`Rounds::print`] wrote of this journal; none of another one, or of a later state of it
    /// than this last seq.
    pub(crate) fn parse(text: &str, journal: &str, last_seq: u64) -> Option<Self> {
        let mut lines = text.lines();
        let ours = lines.next()? == MARK && lines.next()?.strip_prefix("journal ")? == journal;
        let mut rounds = Self::default();
        for line in lines {
            let round = Round::parse(line)?;
            match line.split(' ').next()? {
                "now" => rounds.now = Some(round),
                "last" => rounds.last = Some(round),
                _ => return None,
            }
        }
        let within = |round: &Option<Round>| round.as_ref().is_none_or(|r| r.end <= last_seq);
        (ours && within(&rounds.now) && within(&rounds.last)).then_some(rounds)
    }

    /// What the file says; the beginning if it says nothing of use.
    pub(crate) fn load(file: &Path, journal: &str, last_seq: u64) -> Self {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let found = Self::parse(&text, journal, last_seq);
        if found.is_none() && !text.is_empty() {
            tracing::warn!(file = %file.display(), "the scrub's place cannot be read: it begins anew");
        }
        found.unwrap_or_default()
    }

    /// Writes the file, in place of what it said before.
    pub(crate) fn save(&self, file: &Path, journal: &str) -> std::io::Result<()> {
        let new = file.with_extension("scrub.new");
        std::fs::write(&new, self.print(journal))?;
        std::fs::rename(&new, file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds() -> Rounds {
        let mut now = Round::new(Timestamp(2_000), 90);
        now.next = 41;
        now.unread(7);
        let mut last = Round::new(Timestamp(1_000), 60);
        last.next = 61;
        Rounds { now: Some(now), last: Some(last) }
    }

    #[test]
    fn what_is_printed_reads_back_and_nothing_else_does() {
        for rounds in [rounds(), Rounds::default()] {
            let text = rounds.print("abc");
            assert_eq!(Rounds::parse(&text, "abc", 90), Some(rounds.clone()));
            assert_eq!(Rounds::parse(&text, "other", 90), None);
        }
        let text = rounds().print("abc");
        assert_eq!(Rounds::parse(&text, "abc", 89), None, "it is of a later state");
        for cut in 1..text.len() {
            // A torn file may lose its place; it must not invent one.
            if let Some(found) = Rounds::parse(&text[..cut], "abc", 90) {
                assert!(found.now.is_none() || found.now == rounds().now || cut < text.len());
            }
        }
        for bad in ["", "lacuna-scrub 2\njournal abc\n", "lacuna-scrub 1\njournal abc\nnow x\n"] {
            assert_eq!(Rounds::parse(bad, "abc", 90), None, "{bad:?}");
        }
    }

    #[test]
    fn the_latest_round_that_passed_counts() {
        let mut rounds = rounds();
        let at = |rounds: &Rounds, seq| rounds.verified_at(seq, true).map(|time| time.0);
        assert_eq!(at(&rounds, 40), Some(2_000));
        assert_eq!(at(&rounds, 41), Some(1_000), "not reached again yet");
        assert_eq!(at(&rounds, 7), Some(1_000), "its store gave no answer this time");
        assert_eq!(at(&rounds, 61), None);
        for seq in 100..2_000 {
            rounds.now.as_mut().unwrap().unread(seq);
        }
        assert_eq!(at(&rounds, 40), Some(1_000), "too many to remember which");
        assert_eq!(rounds.verified_at(40, false), Some(Timestamp(2_000)));
    }
}
