//! What reaches over white space, and so over more than one run: dates and times of day in words,
//! numbers with a word for thousands.

use crate::text::anchor::{Anchor, AnchorKind};
use crate::text::form::scale_word;
use crate::text::moment::Moment;
use crate::text::months::{clock_and_year, date_in_words, half_of_day, is_verb};
use crate::text::walk::Walk;

impl Walk<'_> {
    /// Whether a look at the first bytes lets one begin here: most words and numbers do not.
    #[inline]
    pub(super) fn may_begin_moment(&self, start: usize) -> bool {
        let first = self.bytes[start];
        if first.is_ascii_digit() {
            let two = self.bytes.get(start + 1).is_some_and(u8::is_ascii_digit);
            let next = self.bytes.get(start + 1 + usize::from(two));
            return next.is_some_and(|b| b" :aApPsnrt".contains(b));
        }
        b"ADFJMNOS".contains(&first)
            && self.bytes.get(start + 2).is_some_and(u8::is_ascii_alphabetic)
    }

    /// Takes the date with the name of a month, or the time of day with `am` or `pm`, that begins
    /// here.
    #[inline(never)]
    pub(super) fn moment_in_words(&mut self, start: usize) -> bool {
        let found = if self.bytes[start].is_ascii_uppercase() {
            let date = date_in_words(self.bytes, start);
            date.filter(|(date, end)| date.year > 0 || !is_verb(self.bytes, start, *end))
        } else {
            self.counted_moment(start)
        };
        let Some((mut found, end)) = found else { return false };
        // `6 pm-8 pm` are two.
        self.at = end + usize::from(self.bytes.get(end) == Some(&b'-'));
        found.day_at = found.day_at.map(|(from, to)| (from - start, to - start));
        found.year_at = found.year_at.map(|year| year - start);
        self.runs.time(start, end, &found);
        if self.runs.parts && found.month > 0 && found.year == 0 {
            self.year_behind(start, end);
        }
        if self.runs.parts && found.clock.is_some_and(|clock| clock.second.is_none()) {
            // `7pm` says 7, too.
            let hour = self.bytes[start..end].iter().take_while(|b| b.is_ascii_digit()).count();
            if self.bytes[start + hour] != b':' {
                self.runs.push(AnchorKind::Number, start, start + hour);
            }
        }
        true
    }

    /// Takes the time of day and the year that follow a date: `Nov 30 09:12:44 2026`. They are found
    /// apart, as in a claim, and the date with its year besides.
    fn year_behind(&mut self, start: usize, end: usize) {
        let Some((clock, place, year)) = clock_and_year(self.bytes, end) else { return };
        self.at = year + 4;
        self.runs.time(place.start, place.end, &Moment { clock: Some(clock), ..Moment::default() });
        self.runs.push(AnchorKind::Number, year, year + 4);
        self.runs.push(AnchorKind::Time, start, year + 4);
    }

    /// The moment in words that begins with a number of at most two digits.
    fn counted_moment(&self, start: usize) -> Option<(Moment, usize)> {
        let length = if self.bytes.get(start + 1)?.is_ascii_digit() { 2 } else { 1 };
        let glued = |b: &u8| b"$.#/+:=@~%&".contains(b);
        if start > 0 && glued(&self.bytes[start - 1]) {
            return None;
        }
        match self.bytes.get(start + length)? {
            b' ' => match self.bytes.get(start + length + 1)? {
                b'A' | b'P' | b'a' | b'p' | b'D' | b'F' | b'J' | b'M' | b'N' | b'O' | b'S'
                | b'o' => {}
                _ => return None,
            },
            b':' | b'a' | b'A' | b'p' | b'P' | b's' | b'n' | b'r' | b't' => {}
            _ => return None,
        }
        let clock = half_of_day(self.bytes, start);
        let clock =
            clock.map(|(clock, end)| (Moment { clock: Some(clock), ..Moment::default() }, end));
        clock.or_else(|| date_in_words(self.bytes, start))
    }

    /// Makes one number of `1 million`, whose digits end here.
    pub(super) fn scaled(&mut self, end: usize) {
        let tail = &self.bytes[end + 1..];
        let length = tail.iter().take(9).take_while(|b| b.is_ascii_lowercase()).count();
        if scale_word(&tail[..length]) == 0 {
            return;
        }
        let number = |anchor: &&mut Anchor| (anchor.kind, anchor.end) == (AnchorKind::Number, end);
        if let Some(number) = self.runs.found.iter_mut().find(number) {
            let digits = *number;
            number.end = end + 1 + length;
            self.at = number.end;
            self.runs.part(digits.kind, digits.start, digits.end);
        }
    }
}
