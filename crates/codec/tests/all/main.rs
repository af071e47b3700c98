//! The codec's tests: what is written is read, what was once written is read for ever, and bytes
//! that may be anything are refused without harm.

#![allow(clippy::unwrap_used, reason = "a test that meets an error fails")]

mod arbitrary;
mod json;
mod samples;
mod samples_imported;
mod samples_past;
mod samples_retention;

mod blocks;
mod claims;
mod found;
mod golden_events;
mod golden_storage;
mod header;
mod hostile;
mod log_records;
mod notes;
mod packs;
mod registry;
mod round_trip;
mod sealed;
mod snapshots;

use std::path::{Path, PathBuf};

/// The folder of schemas and golden files.
fn schemas() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas")
}

/// Whether golden files are to be written anew instead of compared. Doing so is a decision about
/// the stored format, see `schemas/events.md`.
fn blessing() -> bool {
    std::env::var_os("LACUNA_BLESS").is_some_and(|value| value == "1")
}

#[test]
fn every_file_here_is_part_of_the_tests() {
    let main = include_str!("main.rs");
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all");
    for entry in std::fs::read_dir(here).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.strip_suffix(".rs").unwrap();
        let named = main.lines().any(|line| line == format!("mod {module};"));
        assert!(module == "main" || named, "{name} is not compiled");
    }
}
