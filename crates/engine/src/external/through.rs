//! Reading an object through: its digest and length are wanted, and of its bytes one part.

use lacuna_core::Digesting;

use super::{Ask, Found};

/// Takes an object's bytes as they come and keeps only the part that was asked for.
#[derive(Debug)]
pub struct Through {
    ask: Ask,
    digesting: Digesting,
    bytes: u64,
    part: Vec<u8>,
}

impl Through {
    /// Nothing is read yet.
    pub fn new(ask: Ask) -> Self {
        Self { ask, digesting: Digesting::default(), bytes: 0, part: Vec::new() }
    }

    /// Takes the next bytes. False: there are more than may be, and reading on is of no use.
    #[must_use = "an object that is too long must not be read on"]
    pub fn take(&mut self, chunk: &[u8]) -> bool {
        let begin = self.bytes;
        let length = chunk.len() as u64;
        self.bytes = begin.saturating_add(length);
        if self.bytes > self.ask.limit {
            return false;
        }
        self.digesting.take(chunk);
        let within = |at: u64| usize::try_from(at.saturating_sub(begin).min(length)).unwrap_or(0);
        let (from, to) = (within(self.ask.part.start), within(self.ask.part.end));
        self.part.extend_from_slice(chunk.get(from..to).unwrap_or_default());
        true
    }

    /// What was found, once the object has ended or was too long.
    pub fn finish(self) -> Found {
        if self.bytes > self.ask.limit {
            return Found::Longer;
        }
        Found::Whole { digest: self.digesting.finish(), bytes: self.bytes, part: self.part }
    }
}

#[cfg(test)]
mod tests {
    use lacuna_core::Digest;

    use super::*;

    #[test]
    fn the_part_is_that_of_the_whole_however_the_bytes_come() {
        let whole = b"0123456789";
        for part in [0..10, 0..0, 3..7, 9..99, 20..30, 5..u64::MAX] {
            for size in 1..=whole.len() {
                let mut through = Through::new(Ask { limit: 10, part: part.clone() });
                assert!(whole.chunks(size).all(|chunk| through.take(chunk)));
                let end = (part.end as usize).min(10);
                let wanted = whole.get(part.start as usize..end).unwrap_or_default().to_vec();
                let digest = Digest::of(whole);
                assert_eq!(through.finish(), Found::Whole { digest, bytes: 10, part: wanted });
            }
        }
    }

    #[test]
    fn what_is_too_long_is_not_read_on() {
        let mut through = Through::new(Ask { limit: 3, part: 0..3 });
        assert!(through.take(b"abc"));
        assert!(!through.take(b"d"));
        assert_eq!(through.finish(), Found::Longer);
    }
}
