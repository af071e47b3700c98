//! `completions`.

use clap::CommandFactory as _;

use crate::args::{Args, Completions};
use crate::failure::{Exit, Failure};

pub(super) fn run(args: &Completions) -> Result<Exit, Failure> {
    clap_complete::generate(args.shell, &mut Args::command(), "lacuna", &mut std::io::stdout());
    Ok(Exit::Done)
}
