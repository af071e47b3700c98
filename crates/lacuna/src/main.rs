//! `lacuna`: the daemon and its command line.

mod args;
mod at;
mod backend;
mod failure;
mod output;

mod config;
mod telemetry;

mod serve;

mod commands;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let args = args::Args::parse();
    let json = args.global.json;
    match commands::run(args) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.print(json);
            failure.exit().into()
        }
    }
}
