//! How far somebody has read a span as evidence. A reading counts once it has come from the first byte
//! to the last; long contents come in parts, and a part is no reading.

use std::num::NonZeroUsize;

use lacuna_core::{Principal, SessionKey, SpanId};
use lru::LruCache;
use parking_lot::Mutex;

/// Readings that are under way; of more, the one longest untouched begins anew.
const UNDER_WAY: usize = 4_096;

/// Who reads what.
type Reader = (SessionKey, Principal, SpanId);

/// The readings that are under way.
pub(crate) struct Readings(Mutex<LruCache<Reader, u64>>);

impl Readings {
    pub(crate) fn new() -> Self {
        let most = NonZeroUsize::new(UNDER_WAY).expect("it is not zero");
        Self(Mutex::new(LruCache::new(most)))
    }

    /// Notes that somebody was given a part of a content; says whether the whole of it was given by
    /// now, from the first byte on without a gap.
    pub(crate) fn given(&self, reader: Reader, from: u64, to: u64, total: u64) -> bool {
        let mut readings = self.0.lock();
        let so_far = readings.get(&reader).copied().unwrap_or(0);
        let reached = if from <= so_far { so_far.max(to) } else { so_far };
        if reached >= total {
            readings.pop(&reader);
            return true;
        }
        if reached > 0 {
            readings.put(reader, reached);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reader(name: &str) -> Reader {
        let session = SessionKey { tenant: "t".parse().unwrap(), session: "s".parse().unwrap() };
        (session, name.parse().unwrap(), "a".parse().unwrap())
    }

    #[test]
    fn only_parts_without_a_gap_make_a_whole() {
        let readings = Readings::new();
        assert!(readings.given(reader("whole"), 0, 10, 10));
        assert!(!readings.given(reader("tail"), 9, 10, 10), "the last byte is no reading");
        assert!(!readings.given(reader("parts"), 0, 4, 10));
        assert!(!readings.given(reader("parts"), 6, 10, 10), "a gap");
        assert!(!readings.given(reader("other"), 4, 10, 10), "somebody else's beginning");
        assert!(!readings.given(reader("parts"), 2, 8, 10));
        assert!(readings.given(reader("parts"), 8, 10, 10));
        assert!(readings.given(reader("empty"), 0, 0, 0));
    }
}
