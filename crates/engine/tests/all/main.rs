//! The engine as its users see it: a journal in a folder, opened, used, killed, opened again.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod adopted;
mod apart;
mod checkpoints;
mod clock;
mod contract;
mod damage;
mod durable;
mod follow;
mod following;
mod forks;
mod gate_outside;
mod honest;
mod idempotency;
mod interleavings;
mod naive;
mod outside;
mod overlap;
mod property;
mod races;
mod reading_outside;
mod receipts;
mod regressions;
mod rig;
mod room;
mod salvage;
mod scrub;
mod search;
mod two_years;
