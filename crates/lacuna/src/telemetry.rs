//! Logs: to standard error, never with content of spans.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use crate::config::{LogConfig, LogFormat};
use crate::failure::Failure;

/// Starts logging as configured; `RUST_LOG` overrides the filter.
pub(crate) fn start(config: &LogConfig) -> Result<(), Failure> {
    let filter = match std::env::var("RUST_LOG") {
        Ok(filter) => EnvFilter::try_new(filter),
        Err(_) => EnvFilter::try_new(&config.filter),
    };
    let filter = filter.map_err(|error| Failure::Usage(format!("log.filter: {error}")))?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let started = match config.format {
        LogFormat::Text => builder.with_target(false).try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    started.map_err(|error| Failure::Other(format!("starting the log: {error}")))
}
