//! Chance that can be repeated: the seed is printed, and `LACUNA_TEST_SEED` sets it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A small generator (splitmix64).
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// A generator with a seed from the environment or the clock.
    pub(crate) fn roll(what: &str) -> Self {
        let given = std::env::var("LACUNA_TEST_SEED").ok();
        let seed = match given {
            Some(text) => text.parse().expect("LACUNA_TEST_SEED is a number"),
            None => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
                u64::from(now.subsec_nanos()) ^ now.as_secs()
            }
        };
        eprintln!("{what}: LACUNA_TEST_SEED={seed}");
        Self(seed)
    }

    /// A generator with this seed.
    pub(crate) fn of(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below another one.
    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A time between two.
    pub(crate) fn between(&mut self, least: Duration, most: Duration) -> Duration {
        let span = u64::try_from((most - least).as_micros()).unwrap();
        least + Duration::from_micros(self.next() % span)
    }
}
