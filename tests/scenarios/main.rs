//! Scenarios over the whole system: the real binary, real brokers, and workers that know nothing
//! but the wire contract. One binary; each module is one promise.
//!
//! `ops/test` installs the brokers that this needs. `LACUNA_NATS_SERVER` and
//! `LACUNA_NATS_SERVER_OLD` name others; what is missing is said, not passed over.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stderr, reason = "seeds, figures, and what is left out")]

mod rig;

mod architecture;
mod tokens;

mod demo;
mod exits;
mod replay;
mod replay_terminal;
mod story;
mod summaries;
mod tail;
mod two_ways;

mod bad_requests;
mod refused_starts;
mod small_broker;

mod away;
mod burst;
mod clocks;
mod disks;
mod example;
mod following;
mod histories;
mod interrupted;
mod kill;
mod limits;
mod network;
mod processes;
mod resent;
mod slow_reader;
mod terminate;

mod feed;
mod feed_bounds;
mod feed_chaos;
mod feed_faults;
mod feed_said;

mod feed_permissions;
mod outside;
mod permissions;
mod proof;
mod quiet;
mod salvage;
mod scrub;
mod secured;
mod service;

mod oracle;
mod oracle_answers;
mod transcripts;
mod transfer;

/// A file that nobody names would never be compiled, and its tests would pass by not running.
#[test]
fn every_file_here_is_a_module() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    for (folder, root) in [(here.clone(), "main.rs"), (here.join("rig"), "mod.rs")] {
        let text = std::fs::read_to_string(folder.join(root)).unwrap();
        let mut seen = 0;
        for entry in std::fs::read_dir(&folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let Some(module) = name.strip_suffix(".rs").filter(|_| name != root) else { continue };
            let named = text.lines().any(|line| line == format!("mod {module};"));
            assert!(named, "{name} is not a module of {root}");
            seen += 1;
        }
        assert!(seen > 5, "{}", folder.display());
    }
}
