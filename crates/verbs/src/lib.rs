//! The verbs of the contract, carried out on a journal: JSON in, JSON out, whoever brings it. The
//! NATS service and the command line with `--journal` both come through here, so they cannot
//! answer differently.

mod call;
mod error;
mod identity;
mod settings;

mod uploads;
mod work;

mod commands;
mod deeds;
mod fit;
mod journal;
mod queries;
mod readings;
mod retention;

mod service;

pub use call::{Answer, Call, Job, Responder};
pub use fit::{longest_event, shorten};
pub use journal::verify_copy;
pub use service::Service;
pub use settings::Settings;
