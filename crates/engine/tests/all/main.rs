//! The engine as its users see it: a journal in a folder, opened, used, killed, opened again.

mod damage;
mod durable;
mod idempotency;
mod property;
mod rig;
