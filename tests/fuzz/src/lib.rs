//! What the fuzz targets share. Each target is a file in `targets`; `ops/fuzz` runs them.
//!
//! Most stored forms carry a check that no mutation fits by chance. So a target reads its input twice: as
//! it is, and once `forge` has made the checks fit. The same seeds serve for both.

pub mod desk;
pub mod event;
pub mod forge;
pub mod steps;

/// Takes the first byte off; 0 if there is none.
pub fn first(bytes: &[u8]) -> (u8, &[u8]) {
    bytes.split_first().map_or((0, bytes), |(first, rest)| (*first, rest))
}
