//! The store's tests: what was committed is read back, also after a restart, from a copy, or not at
//! all, and then by name; and damage is found.

#![allow(clippy::unwrap_used, reason = "a test that meets an error fails")]

mod backend;
mod journal;
mod shared;
mod tape;

mod append;
mod backup;
mod bit_rot;
mod damage;
mod durability;
mod gone;
mod io_errors;
mod keyfiles;
mod keytree;
mod leaves;
mod log;
mod log_needed;
mod measure;
mod migration;
mod opening;
mod payloads;
mod power;
mod removal;
mod sessions;
mod snapshots;
mod summaries;
mod tamper;
mod verify;
mod walk;

#[test]
fn every_file_here_is_part_of_the_tests() {
    let main = include_str!("main.rs");
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all");
    for entry in std::fs::read_dir(here).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.strip_suffix(".rs").unwrap();
        let named = main.lines().any(|line| line == format!("mod {module};"));
        assert!(module == "main" || named, "{name} is not compiled");
    }
}
