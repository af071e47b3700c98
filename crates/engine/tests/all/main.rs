//! The engine as its users see it: a journal in a folder, opened, used, killed, opened again.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod apart;
mod contract;
mod damage;
mod durable;
mod honest;
mod idempotency;
mod property;
mod regressions;
mod rig;
