//! A value for each of many things, told once for neighbours that share it.

use serde::{Deserialize, Serialize};

/// Values in order: how many have this one, and it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Runs<T>(Vec<(u32, T)>);

impl<T: PartialEq> FromIterator<T> for Runs<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut runs: Vec<(u32, T)> = Vec::new();
        for value in values {
            match runs.last_mut() {
                Some((count, last)) if *last == value && *count < u32::MAX => *count += 1,
                _ => runs.push((1, value)),
            }
        }
        Self(runs)
    }
}

impl<T> Runs<T> {
    /// Gives each of these things its value. None if they are more or fewer than the values.
    pub(crate) fn give<S>(&self, things: &mut [S], give: impl Fn(&mut S, &T)) -> Option<()> {
        let mut rest = things;
        for (count, value) in &self.0 {
            let (now, later) = rest.split_at_mut_checked(*count as usize)?;
            now.iter_mut().for_each(|thing| give(thing, value));
            rest = later;
        }
        rest.is_empty().then_some(())
    }
}
