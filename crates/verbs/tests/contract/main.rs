//! The verbs of the summary contract as JSON: strict requests, exact shapes, replies that fit.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod answers;
mod past;
mod requests;
mod rig;
mod small;
