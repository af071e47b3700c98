//! The domain's tests: one binary, a module for each part of the contract.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod choices;
mod given;
mod laws;
mod naive;
mod ops;
mod providers;
mod reached;
mod scenario;
mod telling;

mod anchors;
mod anchors_of_machines;
mod hedges;
mod held;
mod text_clauses;
mod text_codes;
mod text_hostile;
mod text_moments;
mod text_prose;
mod text_values;

mod again;
mod again_summaries;
mod append;
mod attempts;
mod authorship;
mod candidates;
mod corpus;
mod cost;
mod depth;
mod directive;
mod disconfirming;
mod findings;
mod gate;
mod hostile;
mod losses;
mod one_principal;
mod pairing;
mod property;
mod quotes;
mod refusals;
mod rendering;
mod residues;
mod seed;
mod summaries;
mod tags;
mod units;
mod whole;
mod window;

/// A file that nobody names here would never be compiled, and its tests would pass by not running.
#[test]
fn every_file_of_this_folder_is_a_module() {
    let this = include_str!("main.rs");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/all");
    let mut modules: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".rs") && name != "main.rs")
        .collect();
    modules.sort();
    assert!(modules.len() > 10, "{modules:?}");
    for name in modules {
        let module = name.trim_end_matches(".rs");
        assert!(this.contains(&format!("\nmod {module};")), "{name} is not a module of main.rs");
    }
}
